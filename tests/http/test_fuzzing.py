"""Whatever fits the OpenAPI document, and whatever does not, no door answers with a failure of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from tests import servers
from tests.effort import EFFORT
from tests.processes import Reedbed, reedbed, signed_in

EXAMPLES = 2 * EFFORT
MANY = {
    "api_rate_burst": "1000000",
    "api_rate_per_second": "100000",
    "search_rate_burst": "100000",
    "feeds_refresh_rate_limit": "100000",
    "login_rate_limit": "100000",
    "fetch_timeout": "2",
    "allow_networks": "",
}
# What ends the session or the account, and the stream, whose answer never ends.
APART = ("/api/v1/events", "/api/v1/auth/logout", "/api/v1/users/me/sessions", "DELETE /api/v1/users/me")
SAID_ELSEWHERE = ("authorization", "content-length", "cookie")


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reedbed]:
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    with reedbed("serve", port=servers.free_port(), cwd=tmp_path, database_url=url, **MANY) as running:
        yield running


def test_no_door_fails_whatever_is_asked(server: Reedbed) -> None:
    with signed_in(server.url) as client:
        client.timeout = 60
        described = client.get("/api/v1/openapi.json").json()
        failures: list[str] = []
        asked = 0
        for found in schemathesis.openapi.from_dict(described).get_all_operations():
            operation = found.ok()
            if any(part in operation.label for part in APART):
                continue
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                failures += _ask(client, operation, mode)
                asked += 1
    assert failures == []
    assert asked > 150
    assert server.process.poll() is None


def _ask(client: httpx.Client, operation: Any, mode: GenerationMode) -> list[str]:
    failures: list[str] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=EFFORT == 1,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = _send(client, case.as_transport_kwargs(base_url=str(client.base_url)))
        if answer is not None and answer.status_code >= 500:
            failures.append(f"{operation.label}: {answer.status_code} {answer.text[:300]} for {case!r}")

    ask()
    return failures


def _send(client: httpx.Client, wanted: dict[str, Any]) -> httpx.Response | None:
    """None for what no HTTP client can say."""
    headers = {
        name: value
        for name, value in (wanted.get("headers") or {}).items()
        if name.lower() not in SAID_ELSEWHERE
    }
    body: dict[str, Any] = {name: wanted[name] for name in ("json", "files") if wanted.get(name) is not None}
    data = wanted.get("data")
    if data is not None:
        body["content" if isinstance(data, bytes | str) else "data"] = data
    try:
        return client.request(
            wanted["method"], wanted["url"], params=wanted.get("params"), headers=headers, **body
        )
    except (UnicodeError, ValueError, TypeError, AttributeError, httpx.InvalidURL, httpx.LocalProtocolError):
        return None
