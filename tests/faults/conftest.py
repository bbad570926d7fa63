"""A small fleet on servers of its own: two web processes, two workers, PostgreSQL and Redis, a site to crawl.

It is started once for all tests, and each test leaves it as it was: that it comes back by itself is
half of what they show.
"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from tests import servers
from tests.conftest import enter
from tests.feedsite import FeedSite
from tests.processes import Reedbed, reedbed, run_once, signed_in, wait_for
from tests.servers import run_apart
from tests.serving import in_thread

from .breakable import Breakable, breakable_postgres, breakable_redis

PATIENT = {"login_rate_limit": "10000", "api_rate_burst": "100000", "api_rate_per_second": "10000"}


@dataclass
class Fleet:
    postgres: Breakable
    redis: Breakable
    web: list[Reedbed]
    workers: list[Reedbed]
    clients: list[httpx.Client]
    site: FeedSite
    settings: dict[str, str]
    cwd: Path
    running: ExitStack

    def start(self, role: str, port: int | None = None) -> Reedbed:
        """One more process, which ends with the fleet, and is at work."""
        started = self.running.enter_context(reedbed(role, port=port, cwd=self.cwd, **self.settings))
        self.wait_until_at_work(started)
        return started

    def wait_until_at_work(self, *processes: Reedbed) -> None:
        """Who still starts when a server is lost cannot start, and ends."""
        known = "SELECT count(*) FROM processes WHERE name LIKE $1"
        for each in processes:
            mine = f"%:{each.process.pid}:%"
            wait_for("a sign of life", lambda mine=mine: self.value(known, mine), 120)

    def value(self, statement: str, *values: str) -> Any:
        """What the database says."""
        return run_apart(_value(self.postgres.url, statement, *values))

    @property
    def client(self) -> httpx.Client:
        return self.clients[0]

    def assert_all_alive(self) -> None:
        for part in (*self.web, *self.workers):
            assert part.process.poll() is None, "a process ended by itself"

    def wait_until_well(self) -> None:
        for client in self.clients:
            wait_for("ready again", lambda client=client: _is_ready(client))

    def titles(self, client: httpx.Client | None = None) -> set[str]:
        answer = (client or self.client).get("/api/v1/entries", params={"limit": 200})
        answer.raise_for_status()
        return {entry["title"] for entry in answer.json()["items"]}

    def follow(self, name: str) -> None:
        answer = self.client.post("/api/v1/subscriptions/batch", json={"items": [{"url": self.site.feed_url(name)}]})
        answer.raise_for_status()

    def folders(self, client: httpx.Client | None = None) -> set[str]:
        answer = (client or self.client).get("/api/v1/folders")
        answer.raise_for_status()
        return {folder["name"] for folder in answer.json()["items"]}

    def remove_folders(self) -> None:
        """A reader may have a thousand, which the people of a few tests would make on a quick machine."""
        self.value("DELETE FROM folders")


@pytest.fixture
def fleet(running_fleet: Fleet) -> Iterator[Fleet]:
    yield running_fleet
    running_fleet.remove_folders()


@pytest.fixture(scope="session")
def running_fleet(running_servers: ExitStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with ExitStack() as stack:
        postgres = enter(stack, breakable_postgres)
        redis = enter(stack, breakable_redis)
        site = stack.enter_context(in_thread(FeedSite()))
        cwd = tmp_path_factory.mktemp("fleet")
        settings = {"database_url": postgres.url, "redis_url": redis.url, **PATIENT}
        assert run_once("admin", "db", "migrate", cwd=cwd, **settings).returncode == 0
        web = [
            stack.enter_context(reedbed("web", port=servers.free_port(), cwd=cwd, wait=False, **settings))
            for _ in range(2)
        ]
        workers = [stack.enter_context(reedbed("worker", cwd=cwd, **settings)) for _ in range(2)]
        for each in web:
            each.wait_until_ready()
        clients = [stack.enter_context(signed_in(each.url)) for each in web]
        fleet = Fleet(postgres, redis, web, workers, clients, site, settings, cwd, stack)
        fleet.wait_until_at_work(*web, *workers)
        yield fleet


async def _value(url: str, statement: str, *values: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement, *values)
    finally:
        await connection.close()


def _is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except (httpx.HTTPError, subprocess.SubprocessError):
        return False
