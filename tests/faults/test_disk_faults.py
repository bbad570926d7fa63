"""The disk fills up: writing is refused in plain words, reading goes on, and with room all is well again."""

import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.effort import REPEAT_FACTOR
from tests.feedsite import FeedSite
from tests.privileges import may_mount
from tests.processes import PATIENCE, Reedbed, reedbed, signed_in, wait_for

from .conftest import PATIENT


@dataclass
class Disk:
    path: Path
    fill: Callable[[Reedbed], None]
    free: Callable[[Reedbed], None]


@contextmanager
def small_disk(path: Path) -> Iterator[Disk]:
    """A file system of its own, filled by somebody else's file."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(path)], check=True)
    ballast = path / "ballast"

    def fill(_: Reedbed) -> None:
        with ballast.open("wb") as file:
            try:
                while True:
                    os.write(file.fileno(), bytes(4096))
            except OSError:
                pass

    try:
        yield Disk(path, fill, lambda _: ballast.unlink())
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@contextmanager
def limited_files(path: Path) -> Iterator[Disk]:
    """No file of the process may grow any more."""
    path.mkdir()
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def fill(server: Reedbed) -> None:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, unlimited[1]))

    def free(server: Reedbed) -> None:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)

    yield Disk(path, fill, free)


# A file system of its own needs root; the quota shows the same to everybody.
DISKS = {"a quota": limited_files, **({"a full disk": small_disk} if may_mount() else {})}


@pytest.mark.parametrize("kind", DISKS)
def test_on_a_full_disk_reading_goes_on_and_writing_is_refused(
    kind: str, tmp_path: Path, free_port: int, threaded_site: FeedSite
) -> None:
    threaded_site.publish("Before", key="a")
    with (
        DISKS[kind](tmp_path / "disk") as disk,
        reedbed("serve", port=free_port, cwd=tmp_path, data_dir=str(disk.path), **PATIENT) as server,
        signed_in(server.url) as client,
    ):
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("the first entry", lambda: "Before" in _titles(client))
        kept = _write_until_refused(client, 20)
        for number in range(REPEAT_FACTOR):
            disk.fill(server)
            kept |= _write_until_refused(client, 400)
            _assert_readable(client)
            _log_in_is_refused_plainly(server)
            threaded_site.publish(f"In need {number}", key=f"b{number}")
            client.post("/api/v1/subscriptions/refresh")
            time.sleep(0.5)
            assert server.process.poll() is None
            disk.free(server)
            wait_for("a folder again", lambda: _make_folder(client, f"After {time.monotonic_ns()}"))
        assert kept <= _folders(client)
        client.post("/api/v1/subscriptions/refresh")
        wait_for("the crawl goes on", lambda: f"In need {REPEAT_FACTOR - 1}" in _titles(client))
        assert server.stop() == 0


def _write_until_refused(client: httpx.Client, most: int) -> set[str]:
    """What was acknowledged; notes are long, so that the last free page goes soon."""
    kept: set[str] = set()
    for _ in range(most):
        name = f"Folder {time.monotonic_ns()}"
        answer = client.post("/api/v1/folders", json={"name": name})
        if answer.status_code == 503:
            assert answer.json()["error"]["code"] == "unavailable"
            assert "retry-after" in answer.headers
            return kept
        assert answer.status_code == 201, answer.text
        kept.add(name)
    return kept


def _assert_readable(client: httpx.Client) -> None:
    for path in ("/api/v1/entries", "/api/v1/folders", "/api/v1/counts", "/readyz", "/healthz"):
        assert client.get(path).status_code == 200, path
    assert "Before" in _titles(client)


def _log_in_is_refused_plainly(server: Reedbed) -> None:
    from tests.processes import OWNER

    answer = httpx.post(
        f"{server.url}/api/v1/auth/login",
        json={"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]},
        timeout=PATIENCE,
    )
    assert answer.status_code in (200, 503)


def _make_folder(client: httpx.Client, name: str) -> bool:
    return client.post("/api/v1/folders", json={"name": name}).status_code == 201


def _folders(client: httpx.Client) -> set[str]:
    return {folder["name"] for folder in client.get("/api/v1/folders").json()["items"]}


def _titles(client: httpx.Client) -> set[str]:
    return {entry["title"] for entry in client.get("/api/v1/entries").json()["items"]}
