"""From question to answer: the unread list and the counts through the API, over 300,000 entries on SQLite.

Three readers who differ in how much is unread, because that is where other readers slow down.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

from bench.process_cpu import cost_of
from bench.table import record
from reedbed.roles.build import running
from reedbed.services.auth import open_session
from reedbed.settings import Settings
from reedbed.store import users
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.statements import Command
from reedbed.store.migrations import migrate
from reedbed.store.read_state.mark import mark_all
from tests import large_library, servers
from tests.processes import reedbed

DESCRIPTION = "the unread list and the counts through the API, over 300,000 entries"

SIZE = large_library.LibrarySize(users=1, feeds=1_000, entries=300_000, followed=1_000)
PROMISED_MS = 10.0
READERS = {"hoarder": 1, "every second read": 2, "tidy": 1}
"""Every n-th entry is unread; the tidy one has marked all but the newest three read."""
ADDRESSES = {
    "unread list": "/api/v1/entries?view=unread",
    "unread list, oldest first": "/api/v1/entries?view=unread&order=oldest",
    "whole list": "/api/v1/entries?view=all",
    "counts": "/api/v1/counts",
}
MANY: dict[str, Any] = {"api_rate_burst": "1000000", "api_rate_per_second": "100000"}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="reedbed-asking-") as directory:
        for name in READERS:
            url = f"sqlite:///{Path(directory) / name.replace(' ', '-')}.db"
            token = asyncio.run(_prepare(url, name))
            _measure(name, url, token, Path(directory))


async def _prepare(url: str, name: str) -> str:
    """The library, and a session of its reader."""
    await migrate(url)
    db = await open_database(url, pool_size=1)
    await large_library.fill(db, SIZE)
    await large_library.make_unread(db, 1, every=READERS[name])
    async with db.write() as tx:
        if name == "tidy":
            await mark_all(tx, 1, None, SIZE.entries - 3, token_hash="tidy", now=0)
        await tx.run(Command(text("UPDATE feeds SET title = 'The feed number ' || id")))
    await db.close()
    async with running(Settings.model_validate({"database_url": url}), may_migrate=False) as runtime:
        async with runtime.db.read() as tx:
            user = await users.get(tx, 1)
        assert user is not None
        return (await open_session(runtime, user, user_agent="bench", ip=None)).token


def _measure(name: str, url: str, token: str, folder: Path) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    with (
        reedbed("web", port=servers.free_port(), cwd=folder, database_url=url, **MANY) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=60) as client,
    ):
        for what, address in ADDRESSES.items():
            cost = cost_of(server.process.pid, lambda address=address: client.get(address))
            label = f"{name}: {what}"
            record(f"{label}, CPU", cost.cpu * 1_000, "ms", compared_to="promised", other=PROMISED_MS)
            record(f"{label}, clock", cost.clock * 1_000, "ms", compared_to="promised", other=PROMISED_MS)
