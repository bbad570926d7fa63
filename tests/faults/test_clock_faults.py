"""The machine's clock jumps, ahead and back: nothing is deleted, nobody is locked out, feeds go on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.feedsite import FeedSite
from tests.processes import reedbed, signed_in, wait_for

from .conftest import PATIENT

LIBRARIES = ("/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime", "/usr/lib/faketime")


class Clock:
    """libfaketime reads this file again every second; what only counts on is left alone."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.ahead("+0")

    def ahead(self, offset: str) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_text(offset)
        fresh.replace(self._file)


@contextmanager
def fake_clock(directory: Path) -> Iterator[Clock]:
    library = next(
        (path for folder in LIBRARIES if (path := Path(folder, "libfaketimeMT.so.1")).exists()), None
    )
    if library is None:
        pytest.skip("There is no libfaketime: run 'make test-deps'.")
    file = directory / "clock"
    settings = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    before = {name: os.environ.get(name) for name in settings}
    clock = Clock(file)
    os.environ.update(settings)
    try:
        yield clock
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def test_jumps_of_the_clock_cost_nothing(tmp_path: Path, free_port: int, threaded_site: FeedSite) -> None:
    threaded_site.publish("Before", key="a")
    with (
        fake_clock(tmp_path) as clock,
        reedbed("serve", port=free_port, cwd=tmp_path, host_delay="0.1", **PATIENT) as server,
        signed_in(server.url) as client,
    ):
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("the first entry", lambda: "Before" in _titles(client))
        for number, offset in enumerate(("+3600", "-3600", "+5d", "+0")):
            clock.ahead(offset)
            threaded_site.publish(f"At {offset} {number}", key=f"b{number}")
            assert client.get("/api/v1/entries").status_code == 200
            made = client.post("/api/v1/folders", json={"name": f"Folder {number}"})
            assert made.status_code == 201
            _refresh(client)
            wait_for(
                f"the entry at {offset}", lambda n=number, o=offset: f"At {o} {n}" in _titles(client), 25
            )
        assert server.process.poll() is None


def test_a_clock_years_ahead_deletes_nothing_and_leaves_nothing_waiting_for_years(
    tmp_path: Path, free_port: int, threaded_site: FeedSite
) -> None:
    """Ten years ahead every session has ended; back again, everything is as it was."""
    threaded_site.publish("Before", key="a")
    with (
        fake_clock(tmp_path) as clock,
        reedbed("serve", port=free_port, cwd=tmp_path, **PATIENT) as server,
        signed_in(server.url) as client,
    ):
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("the first entry", lambda: "Before" in _titles(client))
        checks = threaded_site.count()
        clock.ahead("+3650d")
        wait_for("a check in the far future", lambda: threaded_site.count() > checks)
        assert client.get("/api/v1/entries").status_code == 401
        with signed_in(server.url) as later:
            assert _titles(later) == {"Before"}
        clock.ahead("+0")
        assert _titles(client) == {"Before"}
        threaded_site.publish("Back again", key="b")
        _refresh(client)
        wait_for("the crawl goes on", lambda: "Back again" in _titles(client), 25)
        assert server.process.poll() is None


def _refresh(client: httpx.Client) -> None:
    assert client.post("/api/v1/subscriptions/refresh").status_code in (200, 202)


def _titles(client: httpx.Client) -> set[str]:
    answer = client.get("/api/v1/entries", params={"limit": 100})
    answer.raise_for_status()
    return {entry["title"] for entry in answer.json()["items"]}
