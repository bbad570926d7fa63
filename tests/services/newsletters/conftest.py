"""A server that takes mail for one domain."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from reedbed.domain.newsletters import MailPolicy
from tests.harness import RuntimeHarness, open_harness
from tests.services.newsletters.letters import DOMAIN


@pytest.fixture
async def harness(database_url: str) -> AsyncIterator[RuntimeHarness]:
    async with open_harness(database_url) as harness:
        harness.runtime = replace(harness.runtime, mail=MailPolicy(domain=DOMAIN, max_bytes=600_000))
        yield harness
