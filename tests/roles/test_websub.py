"""A hub, a publisher and Reedbed as processes of their own: subscribe, verify, push, and go on without."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.feedsite import FeedSite
from tests.processes import PATIENCE, Reedbed, reedbed, run_once, signed_in, wait_for
from tests.servers import free_port

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["serve on SQLite", "web and worker on PostgreSQL and Redis"])
def server(request: pytest.FixtureRequest, tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    settings = {"websub": "on", "base_url": f"http://127.0.0.1:{free_port}"}
    with ExitStack() as running:
        if request.param == "serve on SQLite":
            yield running.enter_context(reedbed("serve", port=free_port, cwd=tmp_path, **settings))
            return
        settings |= {
            "database_url": request.getfixturevalue("postgres_url"),
            "redis_url": request.getfixturevalue("redis_url"),
        }
        run_once("admin", "db", "migrate", cwd=tmp_path, **settings)
        web = running.enter_context(reedbed("web", port=free_port, cwd=tmp_path, **settings))
        running.enter_context(reedbed("worker", cwd=tmp_path, **settings))
        yield web


def test_news_come_by_push_and_without_the_hub_by_polling(server: Reedbed, threaded_site: FeedSite) -> None:
    site = threaded_site
    with _hub() as (hub, process), signed_in(server.url) as client:
        site.publish("Old")
        site.misbehave(headers={"Link": f'<{hub}>; rel="hub", <{site.feed_url()}>; rel="self"'})
        made = client.post("/api/v1/subscriptions", json={"url": site.feed_url()}).json()
        endpoint = f"/api/v1/subscriptions/{made['id']}/push"
        wait_for("the hub's confirmation", lambda: client.get(endpoint).json()["status"] == "active")
        client.post(f"/api/v1/subscriptions/{made['id']}/refresh").raise_for_status()
        wait_for("one check more", lambda: "its hub sends new entries" in _reason(client, made["id"]))
        before = site.count()

        site.publish("Just happened")
        news = {"hub.mode": "publish", "hub.url": site.feed_url()}
        assert httpx.post(hub, data=news, timeout=PATIENCE).json() == [202]
        # A check by the schedule is an hour away.
        wait_for("the pushed entry", lambda: "Just happened" in _titles(client))
        assert site.count() == before + 1  # the hub's own look

        process.kill()
        process.wait()
        site.publish("Without the hub")
        client.post(f"/api/v1/subscriptions/{made['id']}/refresh").raise_for_status()
        wait_for("the polled entry", lambda: "Without the hub" in _titles(client))
        assert client.get(endpoint).json()["missed"] == 1
        assert not client.get(endpoint).json()["relied_on"]
        assert "its hub sends new entries" not in _reason(client, made["id"])


@contextmanager
def _hub() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.hub", str(port)], cwd=ROOT)
    url = f"http://127.0.0.1:{port}/"
    try:
        wait_for("the hub", lambda: _answers(url))
        yield url, process
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(url).status_code == 405
    return False


def _reason(client: httpx.Client, subscription_id: str) -> str:
    shown = client.get(f"/api/v1/subscriptions/{subscription_id}").json()
    return shown["feed"]["fetch_state"]["next_check_reason"] or ""


def _titles(client: httpx.Client) -> list[str]:
    answer = client.get("/api/v1/entries", params={"view": "unread"})
    return [entry["title"] for entry in answer.raise_for_status().json()["items"]]
