"""Redis is flushed, dies and stands still: nobody notices more than a moment, and no work is lost."""

import threading
import time

import httpx
import pytest
from redis import Redis

from tests.effort import REPEAT_FACTOR
from tests.processes import PATIENCE, wait_for

from .conftest import Fleet
from .load import people

SOON = 10.0
"""Seconds; Redis is given up after one, and this machine may be busy; who waits for it waits for ever."""

WAYS = {
    "flushed": (lambda fleet: Redis.from_url(fleet.redis.url).flushall(), lambda fleet: None),
    "killed": (lambda fleet: fleet.redis.kill(), lambda fleet: fleet.redis.start()),
    "frozen": (lambda fleet: fleet.redis.freeze(), lambda fleet: fleet.redis.thaw()),
}


@pytest.mark.parametrize("way", list(WAYS) * max(1, REPEAT_FACTOR // 2))
def test_without_redis_people_read_and_write_and_feeds_are_fetched(fleet: Fleet, way: str) -> None:
    lose, bring_back = WAYS[way]
    name = f"redis-{way}-{time.monotonic_ns()}"
    fleet.wait_until_well()
    with people(fleet.clients) as told:
        wait_for("some folders", lambda: len(told.acknowledged) > 5)
        lose(fleet)
        try:
            fleet.site.publish(f"While {name}", feed=name)
            fleet.follow(name)
            wait_for("the crawl goes on", lambda: f"While {name}" in fleet.titles())
            assert fleet.client.get("/readyz").status_code == 200
            _assert_revoked_within_a_second(fleet)
        finally:
            bring_back(fleet)
        before = told.answers
        wait_for("requests", lambda: told.answers > before + 20)
    told.assert_only(200, 201)
    assert told.broken == []
    assert told.slowest < SOON
    fleet.assert_all_alive()
    assert told.acknowledged <= fleet.folders()
    wait_for("hints pass again", lambda: _is_heard_across(fleet))


def test_a_session_revoked_at_one_process_is_dead_at_the_other_within_a_second(fleet: Fleet) -> None:
    fleet.wait_until_well()
    for _ in range(3):
        _assert_revoked_within_a_second(fleet)


def test_rate_limits_count_across_processes(fleet: Fleet) -> None:
    """One bucket for both: what one process let through the other counts."""
    fleet.wait_until_well()
    with Redis.from_url(fleet.redis.url) as redis:
        # A process that just missed an answer of Redis counts for itself, for a moment.
        wait_for("one bucket for both", lambda: _is_counted_together(fleet, redis))


def _is_counted_together(fleet: Fleet, redis: Redis) -> bool:
    redis.flushall()
    for client in fleet.clients * 5:
        assert client.post("/api/v1/subscriptions/refresh").status_code in (200, 202, 429)
    tokens = [float(redis.hget(key, "tokens")) for key in redis.keys("reedbed:limit:refresh:*")]
    # One alone would leave five of ten; one comes back every six seconds.
    return len(tokens) == 1 and tokens[0] < 5


def _assert_revoked_within_a_second(fleet: Fleet) -> None:
    here, there = fleet.web
    token = _log_in(here.url)
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=there.url, headers=headers, timeout=PATIENCE) as other:
        assert other.get("/api/v1/users/me").status_code == 200
        left = httpx.post(f"{here.url}/api/v1/auth/logout", headers=headers, timeout=PATIENCE)
        assert left.status_code in (200, 204)
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline and other.get("/api/v1/users/me").status_code == 200:
            time.sleep(0.05)
        assert other.get("/api/v1/users/me").status_code == 401


def _is_heard_across(fleet: Fleet) -> bool:
    """A change made at one process reaches a stream at the other."""
    heard = threading.Event()
    opened = threading.Event()

    def listen() -> None:
        headers = dict(fleet.clients[1].headers)
        try:
            with httpx.stream("GET", f"{fleet.web[1].url}/api/v1/events", headers=headers, timeout=5) as stream:
                opened.set()
                for line in stream.iter_lines():
                    if line.startswith("event: ") and "resync" not in line:
                        heard.set()
                        return
        except httpx.HTTPError:
            opened.set()

    thread = threading.Thread(target=listen)
    thread.start()
    opened.wait(5)
    fleet.client.post("/api/v1/folders", json={"name": f"Heard {time.monotonic_ns()}"}).raise_for_status()
    heard.wait(3)
    thread.join(6)
    return heard.is_set()


def _log_in(url: str) -> str:
    from tests.processes import OWNER

    answer = httpx.post(
        f"{url}/api/v1/auth/login",
        json={"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]},
        timeout=PATIENCE,
    )
    answer.raise_for_status()
    return answer.json()["token"]
