"""Reedbed as real processes: started with settings, waited for, stopped or killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

START_SECONDS = 120
PATIENCE = 60.0
"""Seconds for an answer, which the first page after a start takes on a busy machine."""
LOG_SHOWN = 4_000
OWNER = {"REEDBED_OWNER_EMAIL": "owner@example.org", "REEDBED_OWNER_PASSWORD": "correct horse battery"}
COMMAND = str(Path(sys.executable).with_name("reedbed"))


@dataclass
class Reedbed:
    process: subprocess.Popen[str]
    port: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"ended with {self.process.returncode}"
            try:
                if httpx.get(f"{self.url}/readyz", timeout=10).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise AssertionError("did not answer in time")


@contextmanager
def reedbed(
    role: str,
    *,
    port: int | None = None,
    cwd: Path,
    wait: bool = True,
    program: Sequence[str] = (COMMAND,),
    **settings: str,
) -> Iterator[Reedbed]:
    """Run a role; settings are given without their prefix: `database_url=…`. A failing test shows its log."""
    command = [*program, role, *(["--port", str(port)] if port else [])]
    with (cwd / f"{role}.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=cwd, env=environment(**settings), stderr=log, text=True)
    running = Reedbed(process, port)
    try:
        if port and wait:
            running.wait_until_ready()
        yield running
    except BaseException:
        print(f"--- {role}, ended with {process.poll()}, its log ---")
        print(Path(log.name).read_text()[-LOG_SHOWN:])
        raise
    finally:
        if process.poll() is None:
            running.kill()


def run_once(*arguments: str, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=cwd,
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )


def environment(**settings: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("REEDBED_")}
    local = {"REEDBED_ALLOW_NETWORKS": "127.0.0.0/8", "REEDBED_HOST_DELAY": "0", "REEDBED_LOG_LEVEL": "warning"}
    return {**plain, **local, **OWNER, **{f"REEDBED_{name.upper()}": value for name, value in settings.items()}}


@contextmanager
def signed_in(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=PATIENCE) as client:
        _sign_in(client)
        yield client


def _sign_in(client: httpx.Client) -> None:
    answer = client.post(
        "/api/v1/auth/login", json={"email": OWNER["REEDBED_OWNER_EMAIL"], "password": OWNER["REEDBED_OWNER_PASSWORD"]}
    )
    answer.raise_for_status()
    client.cookies.clear()
    client.headers["Authorization"] = f"Bearer {answer.json()['token']}"


def wait_for(what: str, check, seconds: float = 60):
    """Ask again until `check` gives something true; that."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := check():
            return found
        time.sleep(0.05)
    raise AssertionError(f"never happened: {what}")
