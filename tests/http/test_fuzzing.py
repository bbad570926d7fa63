"""Whatever fits the OpenAPI document, and whatever does not, no endpoint answers with a failure of its own."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from tests import servers
from tests.effort import REPEAT_FACTOR
from tests.processes import Reedbed, reedbed, signed_in

EXAMPLES = 2 * REPEAT_FACTOR
MANY = {
    "api_rate_burst": "1000000",
    "api_rate_per_second": "100000",
    "search_rate_burst": "100000",
    "feeds_refresh_rate_limit": "100000",
    "login_rate_limit": "100000",
    "fetch_timeout": "2",
    "allow_networks": "",
}
STREAM = "/api/v1/events"
"""Its answer does not end, so only the beginning is read."""
ENDS_SESSIONS = ("/api/v1/auth/logout", "/api/v1/users/me/sessions", "DELETE /api/v1/users/me")
"""Asked last, with a new session where the last one was ended."""
METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}
SAID_ELSEWHERE = ("authorization", "content-length", "cookie")


@pytest.fixture(params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reedbed]:
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    with reedbed("serve", port=servers.free_port(), cwd=tmp_path, database_url=url, **MANY) as running:
        yield running


def test_no_endpoint_fails_whatever_is_asked(server: Reedbed) -> None:
    with signed_in(server.url) as client:
        client.timeout = 60
        described = client.get("/api/v1/openapi.json").json()
        found = [one.ok() for one in schemathesis.openapi.from_dict(described).get_all_operations()]
        assert len(found) == sum(len(METHODS & methods.keys()) for methods in described["paths"].values())
        failures: list[str] = []
        for operation in sorted(found, key=_ends_sessions):
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                failures += _ask(server, client, operation, mode)
    assert failures == []
    assert server.process.poll() is None


def _ends_sessions(operation: Any) -> bool:
    return any(part in operation.label for part in ENDS_SESSIONS)


def _ask(server: Reedbed, client: httpx.Client, operation: Any, mode: GenerationMode) -> list[str]:
    failures: list[str] = []
    renew = _ends_sessions(operation)

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        wanted = case.as_transport_kwargs(base_url=str(client.base_url))
        if renew and client.get("/api/v1/users/me").status_code == 401:
            _renew(server, client)
        answer = _send(client, wanted)
        if answer is not None and answer.status_code >= 500:
            failures.append(f"{operation.label}: {answer.status_code} {answer.text[:300]} for {case!r}")

    ask()
    return failures


def _renew(server: Reedbed, client: httpx.Client) -> None:
    """Log in again, as often as an account may."""
    while True:
        try:
            with signed_in(server.url) as renewed:
                client.headers["Authorization"] = renewed.headers["Authorization"]
                return
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 429:
                raise
            time.sleep(int(error.response.headers["Retry-After"]))


def _send(client: httpx.Client, wanted: dict[str, Any]) -> httpx.Response | None:
    """None for what no HTTP client can say."""
    headers = {
        name: value for name, value in (wanted.get("headers") or {}).items() if name.lower() not in SAID_ELSEWHERE
    }
    body: dict[str, Any] = {name: wanted[name] for name in ("json", "files") if wanted.get(name) is not None}
    data = wanted.get("data")
    if data is not None:
        body["content" if isinstance(data, bytes | str) else "data"] = data
    try:
        request = client.build_request(
            wanted["method"], wanted["url"], params=wanted.get("params"), headers=headers, **body
        )
        answer = client.send(request, stream=True)
        try:
            if answer.status_code != 200 or not request.url.path.startswith(STREAM):
                answer.read()
        finally:
            answer.close()
        return answer
    except (UnicodeError, ValueError, TypeError, AttributeError, httpx.InvalidURL, httpx.LocalProtocolError):
        return None
