"""A real replica: lists come from it, one's own changes never wait for it, and its death goes unnoticed."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace

import asyncpg
import pytest

from reedbed.domain.errors import Unavailable
from reedbed.http.auth import LISTS
from reedbed.services.runtime import WINDOW_SECONDS, RecentChanges
from reedbed.store import instance
from reedbed.store.engine.connect import open_with_replica
from reedbed.store.engine.database import Database
from reedbed.store.engine.replica import allow_stale_reads
from reedbed.store.migrations import migrate
from tests import servers
from tests.conftest import enter

from .breakable import DURABLE, Breakable, breakable_postgres


@contextmanager
def following(primary: Breakable) -> Iterator[Breakable]:
    """A replica made by copying the primary."""
    binaries = servers.postgres_binaries()
    with servers.work_directory("rbreplica") as directory:
        copy = [binaries / "pg_basebackup", "-D", directory / "data", "-R", "-X", "stream", "-c", "fast"]
        subprocess.run(
            [*copy, "-d", primary.url], check=True, capture_output=True, cwd=directory, **servers.unprivileged()
        )
        port = servers.free_port()
        command = servers.postgres_command(binaries, directory, port, **DURABLE)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        replica = replace(
            primary,
            url=url,
            command=command,
            directory=directory,
            answers=lambda: servers.postgres_answers(url),
            process=None,
        )
        replica.start()
        try:
            yield replica
        finally:
            replica.thaw()
            replica.stop()


@pytest.fixture(scope="module")
def pair(running_servers) -> Iterator[tuple[Breakable, Breakable]]:
    from contextlib import ExitStack

    with ExitStack() as stack:
        primary = enter(stack, breakable_postgres)
        servers.run_apart(migrate(primary.url))
        replica = stack.enter_context(following(primary))
        yield primary, replica


@pytest.fixture
async def db(pair: tuple[Breakable, Breakable]) -> AsyncIterator[Database]:
    primary, replica = pair
    database = await open_with_replica(primary.url, replica.url, pool_size=3)
    yield database
    await database.close()


async def test_only_who_may_lag_reads_from_the_replica(pair: tuple[Breakable, Breakable], db: Database) -> None:
    await _put(db, "before")
    await _until_seen(db, "before")
    await _on(pair[1], "SELECT pg_wal_replay_pause()")
    try:
        await _put(db, "after")
        assert await _get(db, lag=False) == "after"
        await _until_seen(db, "before")  # the first would never say it again
    finally:
        await _on(pair[1], "SELECT pg_wal_replay_resume()")
    await _until_seen(db, "after")


async def test_a_replica_that_dies_is_left_out_and_comes_back(pair: tuple[Breakable, Breakable], db: Database) -> None:
    await _put(db, "one")
    await _until_seen(db, "one")
    for lose, bring_back in ((pair[1].kill, pair[1].start), (pair[1].freeze, pair[1].thaw)):
        await asyncio.to_thread(lose)
        await _put(db, lose.__name__)
        assert await _seen_in_the_end(db, lose.__name__)
        await asyncio.to_thread(bring_back)
        await _until_seen(db, lose.__name__)


def test_who_changed_something_reads_from_the_first_for_a_while() -> None:
    now = 100.0
    recent = RecentChanges(lambda: now)
    assert not recent.of(1)
    recent.note(1)
    assert recent.of(1) and not recent.of(2)
    now += WINDOW_SECONDS
    assert not recent.of(1)


@pytest.mark.parametrize(
    ("path", "may_lag"),
    [
        ("/api/v1/entries", True),
        ("/api/v1/counts", True),
        ("/unread", True),
        ("/search", True),
        ("/folder/7", True),
        ("/reader/api/0/stream/contents/feed/7", True),
        ("/api/v1/entries/7", False),
        ("/entry/7", False),
        ("/unread/entry/7", False),
        ("/api/v1/users/me", False),
        ("/settings/account", False),
    ],
)
def test_lists_may_lag_and_nothing_else(path: str, may_lag: bool) -> None:
    assert bool(LISTS.fullmatch(path)) == may_lag


async def _put(db: Database, value: str) -> None:
    async with db.write() as tx:
        await instance.set_setting(tx, "word", value, 1)


async def _get(db: Database, *, lag: bool) -> str | None:
    async def read() -> str | None:
        allow_stale_reads(allowed=lag)
        async with db.read() as tx:
            return await instance.get_setting(tx, "word")

    return await asyncio.create_task(read())


async def _until_seen(db: Database, value: str) -> None:
    async with asyncio.timeout(60):
        while not await _says(db, value):  # noqa: ASYNC110  it happens in another process
            await asyncio.sleep(0.05)


async def _says(db: Database, value: str) -> bool:
    try:
        return await _get(db, lag=True) == value
    except Unavailable:  # it was lost while it was asked
        return False


async def _seen_in_the_end(db: Database, value: str) -> bool:
    """The first read may fail, when it was under way; from then on the first database answers."""
    for _ in range(4):
        try:
            return await _get(db, lag=True) == value
        except Unavailable:
            await asyncio.sleep(0.1)
    return False


async def _on(server: Breakable, statement: str) -> None:
    connection = await asyncpg.connect(server.url)
    await connection.execute(statement)
    await connection.close()
