"""A database with the small world of `library` on it."""

from collections.abc import AsyncIterator

import pytest

from reedbed.store.opening import open_database
from tests.store.library import Library


@pytest.fixture
async def library(database_url: str) -> AsyncIterator[Library]:
    db = await open_database(database_url, pool_size=3)
    yield Library(db)
    await db.close()
