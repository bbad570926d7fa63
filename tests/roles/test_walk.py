"""The first walk through the API on real processes: one process on SQLite, three on PostgreSQL and Redis."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.feedsite import FeedSite
from tests.processes import Reedbed, reedbed, run_once, signed_in, wait_for


@pytest.fixture(params=["serve on SQLite", "web and two workers on PostgreSQL and Redis"])
def server(request: pytest.FixtureRequest, tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    with ExitStack() as running:
        if request.param == "serve on SQLite":
            yield running.enter_context(reedbed("serve", port=free_port, cwd=tmp_path))
            return
        parts = {
            "database_url": request.getfixturevalue("postgres_url"),
            "redis_url": request.getfixturevalue("redis_url"),
        }
        run_once("admin", "db", "migrate", cwd=tmp_path, **parts)
        web = running.enter_context(reedbed("web", port=free_port, cwd=tmp_path, **parts))
        for _ in range(2):
            running.enter_context(reedbed("worker", cwd=tmp_path, **parts))
        yield web


def test_the_first_walk(server: Reedbed, threaded_site: FeedSite) -> None:
    threaded_site.publish("Hello, reader", key="a", content="<p>Some words</p>")
    with signed_in(server.url) as client:
        with client.stream("GET", "/api/v1/events", timeout=30) as stream:
            lines = stream.iter_lines()
            next(lines)
            made = client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()})
            assert made.status_code == 201
            assert "event: new_entry" in _until(lines, "event: new_entry")
        (entry,) = wait_for("the entry", lambda: _entries(client, "unread"))
        assert entry["title"] == "Hello, reader"
        assert client.get("/api/v1/counts").json()["all"] == 1
        opened = client.get(f"/api/v1/entries/{entry['id']}").json()
        assert "Some words" in opened["content"]
        changed = client.patch(f"/api/v1/entries/{entry['id']}", json={"read": True, "starred": True})
        assert changed.status_code == 200
        assert _entries(client, "unread") == []
        assert [one["id"] for one in _entries(client, "starred")] == [entry["id"]]
        assert client.post("/api/v1/auth/logout").status_code in (200, 204)
        assert client.get("/api/v1/entries").status_code == 401


def test_a_killed_worker_s_feed_is_fetched_by_the_other(
    tmp_path: Path, free_port: int, postgres_url: str, redis_url: str, threaded_site: FeedSite
) -> None:
    parts = {"database_url": postgres_url, "redis_url": redis_url}
    threaded_site.publish("Survives", key="a")
    with ExitStack() as running:
        web = running.enter_context(reedbed("web", port=free_port, cwd=tmp_path, **parts))
        client = running.enter_context(signed_in(web.url))
        first = running.enter_context(reedbed("worker", cwd=tmp_path, **parts))
        threaded_site.misbehave(delay=30, times=1)
        batch = {"items": [{"url": threaded_site.feed_url()}]}
        client.post("/api/v1/subscriptions/batch", json=batch).raise_for_status()
        wait_for("the first worker's request", lambda: threaded_site.arrived)
        first.kill()
        running.enter_context(reedbed("worker", cwd=tmp_path, **parts))
        _let_leases_expire(postgres_url)
        entries = wait_for("the other worker's fetch", lambda: _entries(client, "unread"))
    assert [entry["title"] for entry in entries] == ["Survives"]


def _entries(client: httpx.Client, view: str) -> list[dict[str, object]]:
    answer = client.get("/api/v1/entries", params={"view": view})
    answer.raise_for_status()
    return answer.json()["items"]


def _until(lines: Iterator[str], wanted: str) -> list[str]:
    seen: list[str] = []
    for line in lines:
        seen.append(line)
        if line == wanted:
            return seen
    raise AssertionError(f"the stream ended after {seen}")


def _let_leases_expire(postgres_url: str) -> None:
    """Ten minutes are long in a test: the dead worker's lease is made to end now."""
    import asyncpg

    from tests.servers import run_apart

    async def expire() -> None:
        connection = await asyncpg.connect(postgres_url)
        await connection.execute("UPDATE feed_fetch_state SET leased_until = 0 WHERE leased_until IS NOT NULL")
        await connection.close()

    run_apart(expire())
