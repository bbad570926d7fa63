"""What the tests of summaries, digests and questions start from.

| fixture | what a test gets |
|---|---|
| `desk` | a user with a feed, on both engines, and no model |
| `server` | a model on loopback that answers what the test wants |
| `modelled` | the desk with that model, and a user who agreed to it |
"""

from collections.abc import AsyncIterator

import pytest

from reedbed.services import ai
from tests.harness import RuntimeHarness
from tests.modelserver import ModelServer
from tests.services.writing import Desk, new_desk


@pytest.fixture
async def desk(harness: RuntimeHarness) -> Desk:
    return await new_desk(harness)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def modelled(desk: Desk, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    desk.use(server)
    await desk.opt_in()
    monkeypatch.setattr(ai, "TRY_AGAIN_SECONDS", 0.01)
    yield desk
    assert desk.runtime.ai.model is not None
    await desk.runtime.ai.model.close()
