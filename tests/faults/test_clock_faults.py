"""The machine's clock jumps, ahead and back: nothing is deleted, nobody is locked out, feeds go on."""

import sys
from pathlib import Path

import httpx

from reedbed.domain.times import DAY, HOUR, Millis
from tests.feedsite import FeedSite
from tests.processes import reedbed, signed_in, wait_for

from .conftest import PATIENT

SHIFTED = str(Path(__file__).with_name("shifted.py"))


class Clock:
    """The clock of a process, set while it runs; what only counts on goes as it should."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.program = (sys.executable, SHIFTED, str(file))
        self.set(0)

    def set(self, ahead: Millis) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(str(ahead))
        fresh.replace(self._file)


def test_jumps_of_the_clock_cost_nothing(tmp_path: Path, free_port: int, threaded_site: FeedSite) -> None:
    threaded_site.publish("Before", key="a")
    clock = Clock(tmp_path / "clock")
    settings = {**PATIENT, "host_delay": "0.1"}
    with (
        reedbed("serve", port=free_port, cwd=tmp_path, program=clock.program, **settings) as server,
        signed_in(server.url) as client,
    ):
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("the first entry", lambda: "Before" in _titles(client))
        for number, offset in enumerate((HOUR, -HOUR, 5 * DAY, 0)):
            clock.set(offset)
            threaded_site.publish(f"At {offset} {number}", key=f"b{number}")
            assert client.get("/api/v1/entries").status_code == 200
            made = client.post("/api/v1/folders", json={"name": f"Folder {number}"})
            assert made.status_code == 201
            _refresh(client)
            wait_for(f"the entry at {offset}", lambda n=number, o=offset: f"At {o} {n}" in _titles(client))
        assert server.process.poll() is None


def test_a_clock_years_ahead_deletes_nothing_and_leaves_nothing_waiting_for_years(
    tmp_path: Path, free_port: int, threaded_site: FeedSite
) -> None:
    """Ten years ahead every session has ended; back again, everything is as it was."""
    threaded_site.publish("Before", key="a")
    clock = Clock(tmp_path / "clock")
    with (
        reedbed("serve", port=free_port, cwd=tmp_path, program=clock.program, **PATIENT) as server,
        signed_in(server.url) as client,
    ):
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("the first entry", lambda: "Before" in _titles(client))
        checks = threaded_site.count()
        clock.set(3650 * DAY)
        wait_for("a check in the far future", lambda: threaded_site.count() > checks)
        # Who has just called is known for a moment more.
        wait_for("the end of the session", lambda: client.get("/api/v1/entries").status_code == 401)
        with signed_in(server.url) as later:
            assert _titles(later) == {"Before"}
        clock.set(0)
        assert _titles(client) == {"Before"}
        threaded_site.publish("Back again", key="b")
        _refresh(client)
        wait_for("the crawl goes on", lambda: "Back again" in _titles(client))
        assert server.process.poll() is None


def _refresh(client: httpx.Client) -> None:
    assert client.post("/api/v1/subscriptions/refresh").status_code in (200, 202)


def _titles(client: httpx.Client) -> set[str]:
    answer = client.get("/api/v1/entries", params={"limit": 100})
    answer.raise_for_status()
    return {entry["title"] for entry in answer.json()["items"]}
