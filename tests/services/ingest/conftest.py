from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest_asyncio

from reedbed.ingest.fetch import Fetcher
from reedbed.ingest.guard import Guard
from tests.misbehaving import MisbehavingServer

LOOPBACK_ALLOWED = Guard([ip_network("127.0.0.0/8")])


@pytest_asyncio.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as running:
        yield running


@pytest_asyncio.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    """Impatient and small, so that limits are reached quickly."""
    made = Fetcher(LOOPBACK_ALLOWED, timeout=2.0, idle_timeout=0.8, max_bytes=512 * 1024)
    yield made
    await made.close()
