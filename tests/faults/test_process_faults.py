"""Processes die and are replaced under load; a fleet is restarted one by one without a failed request."""

import threading
import time

import httpx
import orjson

from tests import servers
from tests.effort import REPEAT_FACTOR
from tests.processes import Reedbed, reedbed, run_once, wait_for

from .conftest import Fleet
from .load import people

TAKEN_OVER = 120
"""Seconds after which the work of a dead worker is somebody else's, even where the machine is busy: see
`services/processes.py`. Its lease ends after ten minutes."""


def test_a_web_process_killed_under_load_has_kept_all_it_acknowledged(fleet: Fleet) -> None:
    for _ in range(REPEAT_FACTOR):
        port = servers.free_port()
        with reedbed("web", port=port, cwd=fleet.cwd, **fleet.settings) as doomed:
            headers = dict(fleet.client.headers)
            with httpx.Client(base_url=doomed.url, headers=headers) as client, people([client], each=2) as told:
                wait_for("some folders", lambda told=told: len(told.acknowledged) > 20)
                doomed.kill()
                time.sleep(0.3)
        assert told.acknowledged <= fleet.folders()
        told.assert_only(200, 201)


def test_a_worker_killed_in_the_middle_of_a_fetch_is_replaced_within_seconds(fleet: Fleet) -> None:
    """No lease has to run out: the others notice that it fell silent."""
    name = f"orphan-{time.monotonic_ns()}"
    fleet.site.publish(f"Survives {name}", feed=name)
    fleet.site.misbehave(feed=name, delay=25, times=1)
    fleet.follow(name)
    wait_for("the first request", lambda: f"/{name}.feed" in fleet.site.arrived)
    victim = _holder(fleet, name)
    wait_for("its name", lambda: any(each["process"] == victim and each["feeds"] for each in _processes(fleet)))
    running = next(each for each in fleet.workers if f":{each.process.pid}:" in victim)
    place = fleet.workers.index(running)
    running.kill()
    try:
        wait_for("the other worker's fetch", lambda: f"Survives {name}" in fleet.titles(), TAKEN_OVER)
        assert all(victim != each["process"] for each in _processes(fleet))
    finally:
        fleet.workers[place] = _start_worker(fleet)


def test_the_fleet_is_restarted_one_by_one_without_a_failed_request(fleet: Fleet) -> None:
    """A proxy in front tries another when one refuses connections; nothing else may be seen from outside."""
    fleet.wait_until_well()
    front = Front([each.url for each in fleet.web], dict(fleet.client.headers))
    with front:
        for place in range(len(fleet.web)):
            fleet.web[place] = _replace_web(fleet, fleet.web[place])
            fleet.clients[place].base_url = fleet.web[place].url
            front.urls[place] = fleet.web[place].url
        for place, worker in enumerate(fleet.workers):
            fleet.workers[place] = _start_worker(fleet)
            assert worker.stop() == 0
        seen = front.answers
        wait_for("requests", lambda: front.answers > seen + 10)
    assert front.failures == []
    wait_for("all four", lambda: len(_processes(fleet)) == 4)


def test_admin_workers_shows_who_does_what(fleet: Fleet) -> None:
    wait_for("all four", lambda: len(_processes(fleet)) == 4)
    shown = run_once("admin", "workers", cwd=fleet.cwd, **fleet.settings)
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert lines[0].split()[:3] == ["process", "role", "version"]
    roles = sorted(line.split()[1] for line in lines[1:])
    assert roles == ["web", "web", "worker", "worker"]


class Front:
    """The smallest load balancer: the next one when a connection is refused, twice round."""

    def __init__(self, urls: list[str], headers: dict[str, str]) -> None:
        self.urls = urls
        self.failures: list[str] = []
        self.answers = 0
        self._headers = headers
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(3)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _ask(self, turn: int) -> None:
        while not self._stop.is_set():
            turn += 1
            self._ask_one(turn)
            time.sleep(0.02)

    def _ask_one(self, turn: int) -> None:
        for attempt in range(2 * len(self.urls)):
            url = self.urls[(turn + attempt) % len(self.urls)]
            try:
                answer = httpx.get(f"{url}/api/v1/entries", headers=self._headers, timeout=20)
            except httpx.ConnectError:
                continue
            except httpx.HTTPError as error:
                self.failures.append(repr(error))
                return
            self.answers += 1
            if answer.status_code != 200:
                self.failures.append(f"{answer.status_code} {answer.text}")
            return
        self.failures.append("nobody was there")


def _replace_web(fleet: Fleet, old: Reedbed) -> Reedbed:
    assert old.stop() == 0
    assert old.port is not None
    return fleet.start("web", port=old.port)


def _start_worker(fleet: Fleet) -> Reedbed:
    return fleet.start("worker")


def _holder(fleet: Fleet, name: str) -> str:
    """Who has this feed in hand."""
    held = "SELECT lease_holder FROM feed_fetch_state JOIN feeds ON feeds.id = feed_id WHERE url = $1"
    return fleet.value(held, fleet.site.feed_url(name))


def _processes(fleet: Fleet) -> list[dict]:
    shown = run_once("admin", "workers", "--json", cwd=fleet.cwd, **fleet.settings)
    assert shown.returncode == 0, shown.stderr
    return orjson.loads(shown.stdout)
