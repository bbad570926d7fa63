from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network

import pytest_asyncio

from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from tests.faulty_servers import MisbehavingServer

LOOPBACK_ALLOWED = Guard([ip_network("127.0.0.0/8")])


@pytest_asyncio.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as running:
        yield running


@pytest_asyncio.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    """Patient, for a busy machine, and small, so that limits of size are reached quickly."""
    async with fetcher_with() as made:
        yield made


@pytest_asyncio.fixture
async def impatient() -> AsyncIterator[Fetcher]:
    """Where nothing but its patience would end a fetch."""
    async with fetcher_with(patience=2.0) as made:
        yield made


@asynccontextmanager
async def fetcher_with(*, patience: float = 30.0) -> AsyncIterator[Fetcher]:
    made = Fetcher(LOOPBACK_ALLOWED, timeout=patience, max_bytes=512 * 1024)
    try:
        yield made
    finally:
        await made.close()
