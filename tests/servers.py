"""Finds or starts the real servers the tests talk to, each private to one test process.

`TEST_POSTGRES_URL`, `TEST_REDIS_URL` and `TEST_CHROMIUM` name others to use instead.
"""

import asyncio
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

Result = TypeVar("Result")

START_SECONDS = 120
STOP_SECONDS = 10
PORTS = range(15_000, 32_000)
"""Above those of well-known services, below those that Linux and others give to sockets that ask for any."""
_process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_own = PORTS[_process::_processes]  # tests run in several processes, which must not meet
_first = secrets.randbelow(len(_own))  # nor those of two runs
_ports = cycle([*_own[_first:], *_own[:_first]])
INITDB_OPTIONS = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
# Durability is what a throw-away server does not need.
POSTGRES_OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "autovacuum": "off",
}
LOANS = 60
END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
SHAPE = """
SELECT md5(string_agg(c.relname || '.' || a.attname || a.attnotnull, ',' ORDER BY c.relname, a.attnum))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')
AND a.attnum > 0 AND NOT a.attisdropped
"""
EMPTY_ALL = """
SET session_replication_role = replica;
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT quote_ident(tablename) FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'alembic_version'
    LOOP
        EXECUTE 'DELETE FROM ' || name;
    END LOOP;
    FOR name IN SELECT quote_ident(sequencename) FROM pg_sequences
        WHERE schemaname = 'public' AND last_value IS NOT NULL
    LOOP
        PERFORM setval(name::regclass, 1, false);
    END LOOP;
END $$;
"""
CHROMIUM_OPTIONS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # Nothing leaves.
    "--no-first-run",
]


NEWSBOAT_WITH_FRESHRSS = (2, 24)
OWN_NEWSBOAT = Path(__file__).parents[1] / ".venv" / "newsboat" / "bin" / "newsboat"


class Missing(Exception):
    """A server the tests need is not on this machine; the message says how to get it."""


@dataclass
class PostgresServer:
    admin_url: str
    _numbers: count = field(default_factory=count)
    _idle: list[str] = field(default_factory=list)
    _lent: dict[str, int] = field(default_factory=dict)
    _shape: str = ""

    def create(self, template: str | None = None) -> str:
        """A new database, empty or a copy of the one at `template`; its address."""
        name = f"reedbed_test_{os.getpid()}_{next(self._numbers)}"
        source = f' TEMPLATE "{urlsplit(template).path[1:]}"' if template else ""
        self._execute(f'CREATE DATABASE "{name}"{source}')
        return urlunsplit(urlsplit(self.admin_url)._replace(path=f"/{name}"))

    def lend(self, template: str) -> str:
        """A migrated database without rows: one that was given back, else a new copy of the template."""
        self._shape = self._shape or run_apart(_shape(template))
        return self._idle.pop() if self._idle else self.create(template)

    def undo_last(self, url: str) -> None:
        """Emptied, it serves the next test: that takes a twentieth of what a new copy does."""
        self._lent[url] = self._lent.get(url, 0) + 1
        # Nothing vacuums here: what was deleted would pile up. And a test may have broken it on purpose.
        if self._lent[url] >= LOANS or run_apart(_shape(url)) != self._shape:
            self.drop(url)
            return
        run_apart(_empty(url))
        self._idle.append(url)

    def drop(self, url: str) -> None:
        self._execute(f'DROP DATABASE IF EXISTS "{urlsplit(url).path[1:]}" WITH (FORCE)')

    def _execute(self, statement: str) -> None:
        run_apart(_execute(self.admin_url, statement))


async def _shape(url: str) -> str:
    """All tables, indexes and their columns in one word."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(SHAPE)
    finally:
        await connection.close()


async def _empty(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(END_OTHERS)
        await connection.execute(EMPTY_ALL)
    finally:
        await connection.close()


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def run_apart(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end in a loop of its own, whether or not one is running here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@contextmanager
def postgres_server(**other: str) -> Iterator[PostgresServer]:
    """With these settings instead of those of the tests."""
    if url := os.environ.get("TEST_POSTGRES_URL"):
        yield PostgresServer(url)
        return
    binaries = postgres_binaries()
    with work_directory("rbpg") as directory:
        port = free_port()
        create_cluster(binaries, directory)
        command = postgres_command(binaries, directory, port, **other)
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
        with _running(command, directory, stop=signal.SIGINT) as process:
            url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            wait_until(lambda: postgres_answers(url), process, directory)
            yield PostgresServer(url)


def postgres_binaries() -> Path:
    newest_first = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]), reverse=True
    )
    found = newest_first[0] if newest_first else shutil.which("initdb")
    if not found:
        raise Missing("There is no PostgreSQL server: run 'make test-deps' or set TEST_POSTGRES_URL.")
    return Path(found).resolve().parent


def create_cluster(binaries: Path, directory: Path) -> None:
    subprocess.run(
        [binaries / "initdb", "-D", directory / "data", *INITDB_OPTIONS],
        check=True,
        cwd=directory,
        stdout=subprocess.DEVNULL,
        **unprivileged(),
    )


def postgres_command(binaries: Path, directory: Path, port: int, **other: str) -> list[str | Path]:
    """The server of the cluster in this directory, with these settings instead of those of the tests."""
    settings = POSTGRES_OPTIONS | other
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    places = ["-D", directory / "data", "-k", directory, "-p", str(port)]
    return [binaries / "postgres", *places, *options]


def postgres_answers(url: str) -> bool:
    with suppress(OSError, asyncpg.CannotConnectNowError):
        run_apart(_execute(url, "SELECT 1"))
        return True
    return False


@contextmanager
def redis_server() -> Iterator[str]:
    """The address of a Redis; keep to the commands of 7.0."""
    if url := os.environ.get("TEST_REDIS_URL"):
        yield url
        return
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if not program:
        raise Missing("There is no Redis server: run 'make test-deps' or set TEST_REDIS_URL.")
    with work_directory("rbredis") as directory:
        port = free_port()
        options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
        with _running([program, *options, "--dir", directory], directory) as process:
            wait_until(lambda: redis_answers(port), process, directory)
            yield f"redis://127.0.0.1:{port}/0"


def redis_answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(7).startswith(b"+PONG")
    return False


def chromium() -> str:
    """The path of a Chromium that Playwright can drive."""
    names = [os.environ.get("TEST_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if not found:
        raise Missing("There is no Chromium: run 'make test-deps' or set TEST_CHROMIUM.")
    return found


def chromium_options() -> list[str]:
    """Chromium's sandbox refuses to run as root, and only there is it given up."""
    return [*CHROMIUM_OPTIONS, "--no-sandbox"] if os.geteuid() == 0 else CHROMIUM_OPTIONS


def newsboat() -> str:
    """The path of a newsboat that knows FreshRSS."""
    for name in (os.environ.get("TEST_NEWSBOAT"), "newsboat", str(OWN_NEWSBOAT)):
        path = shutil.which(name) if name else None
        if path and _newsboat_version(path) >= NEWSBOAT_WITH_FRESHRSS:
            return path
    raise Missing("There is no newsboat that knows FreshRSS: run 'make test-deps' or set TEST_NEWSBOAT.")


def _newsboat_version(path: str) -> tuple[int, ...]:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0,)


def free_port() -> int:
    """A port nobody listens on, for a server that is seconds away from its start.

    Not one that the system would choose: it gives those to every other socket of the machine meanwhile.
    """
    for _ in PORTS:
        with socket.socket() as probe, suppress(OSError):
            port = next(_ports)
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"None of the ports from {PORTS.start} to {PORTS.stop} is free.")


@contextmanager
def work_directory(prefix: str) -> Iterator[Path]:
    """A directory with a short path, because that of a Unix socket may have at most 107 bytes."""
    directory = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    try:
        if drop := unprivileged():
            os.chown(directory, drop["user"], drop["group"])
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def unprivileged() -> dict[str, Any]:
    """Arguments of Popen that give up root, which PostgreSQL refuses to run as."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise Missing("The tests run as root and there is no user 'postgres' or 'nobody' to run servers as.")


@contextmanager
def _running(
    command: list[Any], directory: Path, *, stop: signal.Signals = signal.SIGTERM
) -> Iterator[subprocess.Popen[Any]]:
    with (directory / "log").open("wb") as log:
        process: subprocess.Popen[Any] = subprocess.Popen(
            command, cwd=directory, stdout=log, stderr=log, start_new_session=True, **unprivileged()
        )
    try:
        yield process
    finally:
        process.send_signal(stop)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until(ready: Any, process: subprocess.Popen[Any], directory: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args} did not start:\n{(directory / 'log').read_text()}")
        time.sleep(0.02)
