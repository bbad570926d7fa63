"""Summaries in real processes: at once without a model, and after kill -9 in the middle of a call."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx

from tests.feedsite import FeedSite
from tests.modelserver import ModelServer, Reply, summary
from tests.processes import OWNER, PATIENCE, Reedbed, reedbed
from tests.services.writing import MORE, STORY

LEASE_MS = 301_000


async def test_a_summary_without_a_model_feels_instant(site: FeedSite, free_port: int, tmp_path: Path) -> None:
    with await started(free_port, tmp_path) as running:
        async with reader(running.url) as client:
            entry = await _entry(client, site)
            await until(lambda: _ready(client, entry))  # the first one pays for what is loaded only once
            took = [await _seconds_to_write(client, site, name) for name in ("second", "third", "fourth")]
            assert min(took) < 4  # less than the loop sleeps that nobody wakes; the machine may be busy


async def test_a_kill_in_the_middle_of_a_call_repeats_it_once_and_counts_it(
    site: FeedSite, free_port: int, tmp_path: Path
) -> None:
    async with ModelServer() as server:
        settings = {"ai_provider": "openai", "ai_base_url": server.url, "ai_model": "scripted", "ai_max_rpm": "6000"}
        server.say(Reply(text=summary(), wait=60))
        with await started(free_port, tmp_path, **settings) as running:
            async with reader(running.url) as client:
                await client.patch("/api/v1/users/me", json={"preferences": {"remote_ai": True}})
                entry = await _entry(client, site)
                await client.get(f"/api/v1/entries/{entry}/summary")
                await until(lambda: _true(server.calls == 1))
            await asyncio.to_thread(running.kill)
        with closing(sqlite3.connect(tmp_path / "data/reedbed.db")) as db, db:
            reserved = db.execute("SELECT tokens_in + tokens_out FROM ai_usage").fetchone()[0]
            db.execute("UPDATE summary_queue SET locked_at = locked_at - ?", [LEASE_MS])
        with await started(free_port, tmp_path, **settings) as running:
            async with reader(running.url) as client:
                said = await until(lambda: _ready(client, entry))
                assert said["summary"] == "An article called Bridge."
        assert server.calls == 2
        with closing(sqlite3.connect(tmp_path / "data/reedbed.db")) as db:
            calls, tokens = db.execute("SELECT calls, tokens_in + tokens_out FROM ai_usage").fetchone()
            assert db.execute("SELECT count(*) FROM summary_queue").fetchone() == (0,)
        assert calls == 2 and tokens == reserved + 120 and reserved > 500


async def started(port: int, home: Path, **settings: str) -> Any:
    """Entered in a thread, because a process is waited for while this loop serves its feeds and its model."""
    context = reedbed("serve", port=port, cwd=home, **settings)
    running: Reedbed = await asyncio.to_thread(context.__enter__)
    return _Entered(context, running)


class _Entered:
    def __init__(self, context: Any, running: Reedbed) -> None:
        self._context, self._running = context, running

    def __enter__(self) -> Reedbed:
        return self._running

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(None, None, None)


@asynccontextmanager
async def reader(url: str):
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
        who = {"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]}
        answer = await client.post("/api/v1/auth/login", json=who)
        answer.raise_for_status()
        client.cookies.clear()
        client.headers["Authorization"] = f"Bearer {answer.json()['token']}"
        yield client


async def until(check: Callable[[], Awaitable[Any]], *, every: float = 0.1, seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := await check():
            return found
        await asyncio.sleep(every)
    raise AssertionError("never happened")


async def _seconds_to_write(client: httpx.AsyncClient, site: FeedSite, name: str) -> float:
    entry = await _entry(client, site, text=f"{STORY} {MORE} The {name} report.", key=name)
    begun = time.monotonic()
    await until(lambda: _ready(client, entry), every=0.02)
    return time.monotonic() - begun


async def _true(what: bool) -> bool:
    return what


async def _ready(client: httpx.AsyncClient, entry: str) -> Any:
    said = (await client.get(f"/api/v1/entries/{entry}/summary")).json()
    return said if said["status"] == "ready" else None


async def _entry(
    client: httpx.AsyncClient, site: FeedSite, *, text: str = f"{STORY} {MORE}", key: str = "first"
) -> str:
    site.publish("Bridge", key=key, feed=key, content=f"<p>{text}</p>")
    answer = await client.post("/api/v1/subscriptions", json={"url": site.feed_url(key)})
    feed_id = answer.json()["feed"]["id"]

    async def first() -> Any:
        return (await client.get("/api/v1/entries", params={"feed_id": feed_id})).json()["items"]

    return (await until(first))[0]["id"]
