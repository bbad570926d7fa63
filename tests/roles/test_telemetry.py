"""Traces and reports leave the machine only when asked to, and nothing of anybody's leaves with them."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.collectors import collector
from tests.feedsite import FeedSite
from tests.processes import COMMAND, PATIENCE, environment, reedbed, signed_in, wait_for

SECRET = "nobody-may-know"

BREAKS = f"""
import logging
import structlog
from reedbed.roles.observability import reporting, set_up_logs
from reedbed.settings import load

def read(letter):
    raise ValueError(letter)

with reporting(load()) as reports:
    set_up_logs("info", "json", also=reports)
    log = structlog.get_logger()
    log.warning("only a warning")
    logging.getLogger("uvicorn.error").error("Invalid request %s", "{SECRET}")
    log.error("the disk is full", path="/{SECRET}")
    try:
        read("{SECRET}")
    except ValueError:
        log.exception("unexpected error", request="0a1b", url="https://example.org/{SECRET}")
"""

WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from reedbed.cli import main
sys.exit(main())
"""


def test_requests_checks_and_jobs_are_traced_without_what_they_were_about(
    tmp_path: Path, free_port: int, threaded_site: FeedSite
) -> None:
    threaded_site.publish(SECRET, key="a", feed=SECRET)
    with collector() as taken:
        settings = {"otel_endpoint": taken.url, "otel_headers": "Api-Key=for-the-collector"}
        with reedbed("serve", port=free_port, cwd=tmp_path, **settings) as server, signed_in(server.url) as client:
            client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url(SECRET)})
            wait_for("the entry", lambda: client.get("/api/v1/entries", params={"q": SECRET}).json()["items"])
            client.get(f"/api/v1/nothing/{SECRET}", headers={"User-Agent": SECRET, "Cookie": SECRET})
            token = client.headers["Authorization"].split()[1]
            assert server.stop() == 0
        spans = taken.spans()

    listed = spans["GET /api/v1/entries"]
    assert listed["http.response.status_code"] == 200
    assert listed["reedbed.statements"] > 0
    assert listed["reedbed.request"]
    assert spans["check"]["reedbed.status"] == "success"
    assert spans["GET unknown"]["http.response.status_code"] == 404
    assert SECRET.encode() not in taken.everything
    assert token.encode() not in taken.everything
    assert b"127.0.0.1" not in b"".join(body for _, _, body in taken.received)
    path, headers, _ = taken.received[0]
    assert path == "/v1/traces"
    assert headers["api-key"] == "for-the-collector"


def test_a_collector_that_is_away_is_not_missed(tmp_path: Path, free_port: int) -> None:
    with reedbed("serve", port=free_port, cwd=tmp_path, otel_endpoint="http://127.0.0.1:1") as server:
        httpx.get(f"{server.url}/api/v1/auth/options", timeout=PATIENCE)
        assert server.stop() == 0


def test_errors_are_reported_by_kind_and_place_alone(tmp_path: Path) -> None:
    with collector() as taken:
        dsn = taken.url.replace("http://", "http://key@") + "/7"
        subprocess.run(
            [sys.executable, "-c", BREAKS],
            env=environment(sentry_dsn=dsn, sentry_environment="trial"),
            cwd=tmp_path,
            check=True,
            capture_output=True,
            timeout=60,
        )
        plain, raised = sorted(taken.reports(), key=lambda event: "exception" in event)

    assert plain["logentry"]["message"] == "the disk is full"
    assert raised["tags"] == {"request": "0a1b"}
    assert raised["environment"] == "trial"
    (exception,) = raised["exception"]["values"]
    assert exception["type"] == "ValueError"
    assert exception["stacktrace"]["frames"][-1]["function"] == "read"
    assert SECRET.encode() not in taken.everything


@pytest.mark.parametrize(
    ("package", "setting", "extra"),
    [
        ("opentelemetry.sdk.trace", {"otel_endpoint": "http://127.0.0.1:1"}, "reedbed[otel]"),
        ("sentry_sdk", {"sentry_dsn": "http://key@127.0.0.1:1/7"}, "reedbed[sentry]"),
    ],
)
def test_what_is_asked_for_but_not_installed_is_named(
    tmp_path: Path, free_port: int, package: str, setting: dict[str, str], extra: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT, package, "serve", "--port", str(free_port)],
        env=environment(**setting),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert extra in ended.stderr
    assert "Traceback" not in ended.stderr


def test_who_asks_for_neither_loads_neither(tmp_path: Path) -> None:
    code = (
        "import sys, reedbed.roles.run, reedbed.roles.observability, reedbed.roles.app, reedbed.api.routes\n"
        "assert not {'sentry_sdk', 'opentelemetry.sdk', 'google.protobuf'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)


def test_an_address_that_is_none_is_named(tmp_path: Path) -> None:
    ended = subprocess.run(
        [COMMAND, "serve"],
        env=environment(sentry_dsn="nonsense"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "REEDBED_SENTRY_DSN" in ended.stderr


LIBRARIES = """
import logging
from reedbed.roles.observability import set_up_logs

set_up_logs("info", "json")
log = logging.getLogger("uvicorn.error")
log.info("not worth a line")
log.warning("Invalid HTTP request %s", "received.")
try:
    raise ValueError("broken")
except ValueError:
    log.exception("Exception in ASGI application")
"""


def test_what_libraries_log_is_json_too() -> None:
    ended = subprocess.run([sys.executable, "-c", LIBRARIES], capture_output=True, text=True, timeout=60, check=True)
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [(line["level"], line["event"], line["library"]) for line in lines] == [
        ("warning", "Invalid HTTP request received.", "uvicorn.error"),
        ("error", "Exception in ASGI application", "uvicorn.error"),
    ]
    assert "ValueError: broken" in lines[1]["exception"]
