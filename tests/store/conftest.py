"""A database with the small world of `library` on it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from reedbed.store.engine.connect import open_database
from tests import servers
from tests.store.library import Library


@pytest.fixture
def postgres_url(postgres_server: servers.PostgresServer, postgres_template: str) -> Iterator[str]:
    """New for each test: these look at plans, which what lay there before would change."""
    url = postgres_server.create(template=postgres_template)
    yield url
    postgres_server.drop(url)


@pytest.fixture
async def library(database_url: str) -> AsyncIterator[Library]:
    db = await open_database(database_url, pool_size=3)
    yield Library(db)
    await db.close()
