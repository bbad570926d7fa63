"""A hub on loopback, and a server that it can call."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from reedbed.roles.app import create_app
from reedbed.services.runtime import AccountPolicy, HubPolicy
from tests.harness import RuntimeHarness
from tests.hub import Hub
from tests.serving import listener, served, url_of


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with Hub() as hub:
        yield hub


@pytest.fixture
async def pushed(harness: RuntimeHarness) -> AsyncIterator[RuntimeHarness]:
    """The crawl of a server that hubs can call."""
    bound = listener()
    harness.runtime = replace(harness.runtime, hubs=HubPolicy(off=None), accounts=AccountPolicy(base_url=url_of(bound)))
    async with served(create_app(harness.runtime), bound):
        yield harness
