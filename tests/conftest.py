"""Fixtures for every floor: databases, Redis, the browser and a feed site.

| fixture | what a test gets |
|---|---|
| `database_url` | a migrated database without rows; the test runs twice, on SQLite and on PostgreSQL |
| `sqlite_url`, `postgres_url` | the same on one engine |
| `blank_database_url` | twice as well, but nothing in it yet: for migrations |
| `harness` | a runtime on `database_url` with a clock that moves, a bus that remembers and feeds on demand |
| `redis_url` | a Redis with nothing in it |
| `site` | a `FeedSite` on loopback, in the loop of the test |
| `threaded_site` | the same in a thread of its own, for tests without a loop or with real processes |
| `free_port` | a port nobody listens on |

A server is started when the first test asks for it. Where one is missing, a laptop skips the test and names
`make test-deps`; with CI=true the test fails.
"""

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import hypothesis
import pytest
from redis import Redis

from reedbed.store.migrations import migrate
from tests import servers
from tests.effort import REPEAT_FACTOR
from tests.feedsite import FeedSite
from tests.serving import in_thread

if TYPE_CHECKING:
    from tests.harness import RuntimeHarness

hypothesis.settings.register_profile(
    "reedbed", deadline=None, max_examples=50 * REPEAT_FACTOR, derandomize=REPEAT_FACTOR == 1, database=None
)
hypothesis.settings.load_profile("reedbed")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


@pytest.fixture(params=["sqlite", "postgresql"])
def blank_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/blank.db"
        return
    server: servers.PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create()
    yield url
    server.drop(url)


@pytest.fixture
async def harness(database_url: str) -> "AsyncIterator[RuntimeHarness]":
    from tests.harness import open_harness  # loads the services, which tests of plain values do without

    async with open_harness(database_url) as harness:
        yield harness


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    copy = tmp_path / "reedbed.db"
    shutil.copyfile(sqlite_template, copy)
    return f"sqlite:///{copy}"


@pytest.fixture
def postgres_url(postgres_server: servers.PostgresServer, postgres_template: str) -> Iterator[str]:
    url = postgres_server.lend(postgres_template)
    yield url
    postgres_server.undo_last(url)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once; every test copies it, because migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("template") / "reedbed.db"
    servers.run_apart(migrate(f"sqlite:///{path}"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres_server: servers.PostgresServer) -> str:
    url = postgres_server.create()
    servers.run_apart(migrate(url))
    return url


@pytest.fixture(scope="session")
def postgres_server(running_servers: ExitStack) -> servers.PostgresServer:
    return enter(running_servers, servers.postgres_server)


@pytest.fixture(scope="session")
def redis_server(running_servers: ExitStack) -> str:
    return enter(running_servers, servers.redis_server)


@pytest.fixture
def redis_url(redis_server: str) -> str:
    with closing(Redis.from_url(redis_server)) as client:
        client.flushall()
    return redis_server


@pytest.fixture(scope="session")
def running_servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def chromium() -> str:
    try:
        return servers.chromium()
    except servers.Missing as missing:
        give_up(missing)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any], chromium: str) -> dict[str, Any]:
    """What pytest-playwright starts the browser with."""
    return {**browser_type_launch_args, "executable_path": chromium, "args": servers.chromium_options()}


@pytest.fixture(scope="session")
def base_url() -> str | None:
    """Walks name whole addresses. pytest-playwright's own is a method, which pytest 9.2 warns about."""
    return None


@pytest.fixture
def free_port() -> int:
    return servers.free_port()


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


@pytest.fixture
def threaded_site() -> Iterator[FeedSite]:
    with in_thread(FeedSite()) as site:
        yield site


@pytest.fixture(scope="session")
def newsboat_program() -> str:
    try:
        return servers.newsboat()
    except servers.Missing as missing:
        give_up(missing)


def enter(stack: ExitStack, start: Any) -> Any:
    """Start a server, or skip the test and say how to get it."""
    server: AbstractContextManager[Any] = start()
    try:
        return stack.enter_context(server)
    except servers.Missing as missing:
        give_up(missing)


def give_up(missing: servers.Missing) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))
