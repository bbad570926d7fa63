"""Starting, refusing to start, and stopping: one sentence, the right exit code, no traceback."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import httpx
import pytest

from tests import servers
from tests.processes import PATIENCE, reedbed, run_once, signed_in, wait_for


def test_serve_needs_nothing_and_stops_within_ten_seconds(tmp_path: Path, free_port: int) -> None:
    begun = time.monotonic()
    with reedbed("serve", port=free_port, cwd=tmp_path) as server:
        assert (tmp_path / "data" / "reedbed.db").exists()
        started = time.monotonic()
        assert server.stop() == 0
    # Where the machine is busy, the start says how busy.
    assert time.monotonic() - started < max(10, started - begun)


def test_an_open_stream_does_not_hold_up_the_stop(tmp_path: Path, free_port: int) -> None:
    begun = time.monotonic()
    with (  # noqa: SIM117  the stream must end before the server is looked at
        reedbed("serve", port=free_port, cwd=tmp_path) as server,
        signed_in(server.url) as client,
    ):
        with client.stream("GET", "/api/v1/events") as stream:
            next(stream.iter_lines())
            started = time.monotonic()
            assert server.stop() == 0
    assert time.monotonic() - started < max(6, started - begun)


def test_idle_memory_is_small_at_the_first_start_and_at_the_next(tmp_path: Path, free_port: int) -> None:
    for _ in range(2):
        with reedbed("serve", port=free_port, cwd=tmp_path) as server:
            httpx.get(f"{server.url}/login", timeout=PATIENCE).raise_for_status()
            time.sleep(3)
            wait_for("little memory", lambda: _resident_mb(server.process.pid) < 120)
            server.stop()


def test_the_memory_for_the_hash_of_a_password_is_returned(tmp_path: Path, free_port: int) -> None:
    """19 MB for each login: kept after the second one where the allocator is left to its habits."""
    with reedbed("serve", port=free_port, cwd=tmp_path, login_rate_limit="100") as server:
        httpx.post(f"{server.url}/api/v1/auth/login", json={}, timeout=PATIENCE)  # loads what a login needs
        before = _resident_mb(server.process.pid)
        for _ in range(3):
            _log_in(server.url)
        wait_for("memory that is returned", lambda: _resident_mb(server.process.pid) < before + 12)
        server.stop()


def test_what_is_free_between_blocks_in_use_is_returned() -> None:
    code = """
import os
from pathlib import Path
from reedbed.roles.build import trim_heap

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

blocks = [b"x" * 100_000 for _ in range(500)]
del blocks[:-1]
before = resident()
trim_heap()
print(before - resident())"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert int(done.stdout) > 30_000_000


def _log_in(url: str) -> None:
    with signed_in(url):
        pass


def test_an_upgrade_that_fails_stops_the_start_in_one_sentence(tmp_path: Path, sqlite_url: str) -> None:
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    refused = _serve(cwd=tmp_path, database_url=sqlite_url)
    _assert_one_sentence(refused, "could not be brought to version", "Nothing was changed")
    assert list((tmp_path / "backups").glob("*.db"))


def test_an_occupied_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = run_once("serve", "--port", str(taken.getsockname()[1]), cwd=tmp_path)
    _assert_one_sentence(refused, "Port", "REEDBED_PORT")


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"port": "many"}, "REEDBED_PORT"),
        ({"registration": "maybe"}, "REEDBED_REGISTRATION"),
        ({"database_url": "mysql://x"}, "REEDBED_DATABASE_URL"),
        ({"secret_key": "short"}, "REEDBED_SECRET_KEY"),
        ({"allow_networks": "everything"}, "REEDBED_ALLOW_NETWORKS"),
        ({"owner_password": ""}, "REEDBED_OWNER_EMAIL"),
        ({"fetch_interval": "3600", "fetch_max_backoff": "60"}, "REEDBED_FETCH_MAX_BACKOFF"),
        ({"database_url": "postgresql://nobody@127.0.0.1:1/none"}, "REEDBED_DATABASE_URL"),
        ({"redis_url": "redis://127.0.0.1:1/0"}, "REEDBED_REDIS_URL"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, settings: dict[str, str], names: str) -> None:
    _assert_one_sentence(_serve(cwd=tmp_path, **settings), names)


def test_an_unusable_data_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = _serve("--data-dir", str(tmp_path / "file" / "data"), cwd=tmp_path)
    _assert_one_sentence(refused, "--data-dir")


def test_the_log_goes_to_a_file_where_one_is_named(tmp_path: Path, free_port: int) -> None:
    named = tmp_path / "logs" / "reedbed.log"
    for _ in range(2):
        with reedbed("serve", port=free_port, cwd=tmp_path, log_level="info", log_file=str(named)) as server:
            assert server.stop() == 0
    lines = [json.loads(line) for line in named.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["started", "stopping"] * 2
    assert (tmp_path / "serve.log").read_text() == ""


def test_a_log_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    refused = _serve(cwd=tmp_path, log_file=str(tmp_path))
    _assert_one_sentence(refused, "REEDBED_LOG_FILE", str(tmp_path))


def test_split_roles_wait_for_the_migration(tmp_path: Path, postgres_server) -> None:
    url = postgres_server.create()
    try:
        _assert_one_sentence(run_once("web", cwd=tmp_path, database_url=url), "reedbed admin db migrate")
        assert run_once("admin", "db", "migrate", cwd=tmp_path, database_url=url).returncode == 0
        assert run_once("admin", "db", "migrate", cwd=tmp_path, database_url=url).returncode == 0
    finally:
        postgres_server.drop(url)


def test_config_masks_what_is_secret(tmp_path: Path) -> None:
    shown = run_once(
        "config",
        cwd=tmp_path,
        secret_key="s" * 40,
        database_url="postgresql://me:hidden@db/reedbed",
        smtp_password="alsohidden",
    ).stdout
    assert "REEDBED_DATABASE_URL=postgresql://me:********@db/reedbed" in shown
    assert "s" * 40 not in shown
    assert "hidden" not in shown.replace("********", "")


def test_a_misspelt_setting_is_named_at_start_and_by_config(tmp_path: Path, free_port: int) -> None:
    said = "REEDBED_PROT is not a setting and is ignored. Did you mean REEDBED_PORT?"
    shown = run_once("config", cwd=tmp_path, prot="9")
    assert (shown.returncode, shown.stderr.strip()) == (0, said)
    assert "PROT=" not in shown.stdout
    with reedbed("serve", port=free_port, cwd=tmp_path, prot="9") as server:
        server.stop()
    assert said in (tmp_path / "serve.log").read_text()


def _serve(*arguments: str, cwd: Path, **settings: str) -> CompletedProcess[str]:
    """A start that is refused, on a port that no other program on the machine uses."""
    return run_once("serve", *arguments, cwd=cwd, **{"port": str(servers.free_port()), **settings})


def _assert_one_sentence(refused, *names: str) -> None:
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    for name in names:
        assert name in refused.stderr


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_an_idle_process_loads_neither_cryptography_nor_the_dialect_of_the_other_engine(
    tmp_path: Path, free_port: int
) -> None:
    """The second start decrypts the instance's secret in a process of its own, and signs with the same one."""
    served: list[bool] = []
    for _ in range(2):
        with reedbed("serve", port=free_port, cwd=tmp_path) as server:
            served.append("cryptography" in Path(f"/proc/{server.process.pid}/maps").read_text())
            server.stop()
    assert served[-1] is False
    probe = "import reedbed.store.startup, reedbed.worker, sys; print('sqlalchemy.dialects.postgresql' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stdout.strip() == "False"
