"""Every answer is guarded: headers, sizes, origins, failures."""

import re
from dataclasses import replace
from ipaddress import ip_network

import orjson
import pytest
from fastapi import Request
from starlette.types import Message
from structlog.testing import capture_logs

from reedbed.domain.errors import Unavailable
from reedbed.http.auth import client_ip, form_token, rightmost_untrusted
from reedbed.roles.app import Application, create_app
from reedbed.services.runtime import HttpPolicy, Runtime
from tests.clients import BASE_URL, Client, SignIn, new_client

GUARDS = ("content-security-policy", "x-content-type-options", "x-frame-options", "referrer-policy")
FOLDERS = "/api/v1/folders"


async def test_a_stranger_is_told_to_log_in(client: Client) -> None:
    answer = await client.get(FOLDERS)

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_bearer_token_opens_the_api(signed_in: SignIn) -> None:
    reader = await signed_in("reader@example.org")

    assert (await reader.get(FOLDERS)).status_code == 200


async def test_no_secret_of_an_address_is_logged(runtime: Runtime) -> None:
    app = create_app(runtime)

    @app.programs.get("/api/v1/broken/{token}")
    async def broken(token: str) -> None:
        raise RuntimeError("a fault")

    @app.programs.get("/api/v1/away/{token}")
    async def away(token: str) -> None:
        raise Unavailable("The database does not answer.")

    async with new_client(app) as client:
        with capture_logs() as logged:
            answers = [await client.get(f"/api/v1/{name}/seven-herons") for name in ("broken", "away")]
    assert [answer.status_code for answer in answers] == [500, 503]
    assert [line["route"] for line in logged] == ["/api/v1/broken/{token}", "/api/v1/away/{token}"]
    assert "seven-herons" not in str(logged)


async def test_every_answer_carries_the_guards(runtime: Runtime) -> None:
    app = create_app(runtime)

    @app.programs.get("/api/v1/broken")
    async def broken() -> None:
        raise RuntimeError("a secret detail")

    async with new_client(app) as client:
        await _check_guards(client)


async def _check_guards(client: Client) -> None:
    for path, status in (("/healthz", 200), (FOLDERS, 401), ("/api/nothing", 404), ("/api/v1/broken", 500)):
        answer = await client.get(path)
        assert answer.status_code == status
        assert all(name in answer.headers for name in GUARDS), path
        assert "secret" not in answer.text
    too_large = await client.post(FOLDERS, content=b"x" * 1_000_001)
    assert too_large.status_code == 413
    assert all(name in too_large.headers for name in GUARDS)
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("length", ["9" * 4400, "\u00b2", "-1"])
async def test_an_impossible_length_is_refused(runtime: Runtime, length: str) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"reader.example"), (b"content-length", length.encode("latin-1"))]
    scope = {"type": "http", "method": "POST", "path": FOLDERS, "raw_path": FOLDERS.encode(), "headers": headers}
    whole = {**scope, "query_string": b"", "http_version": "1.1", "scheme": "http", "client": ("192.0.2.1", 1)}
    await create_app(runtime)(whole, receive, send)
    assert sent[0]["status"] == 413


async def test_a_body_too_large_is_refused_announced_or_not(signed_in: SignIn) -> None:
    reader = await signed_in()

    async def unannounced() -> object:
        for _ in range(12):
            yield b"x" * 100_000

    for content in (b"x" * 1_000_001, unannounced()):
        answer = await reader.post(FOLDERS, content=content)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    opml = await reader.post("/api/v1/opml", content=b"x" * 1_000_001)
    assert opml.status_code == 400
    assert (await reader.post("/api/v1/opml", content=b"x" * 10_000_001)).status_code == 413


async def test_head_is_get_without_a_body_and_options_names_the_methods(signed_in: SignIn) -> None:
    reader = await signed_in()

    head = await reader.head(FOLDERS)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == (await reader.get(FOLDERS)).headers["content-length"]
    asked = await reader.options(FOLDERS)
    assert (asked.status_code, asked.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")
    wrong = await reader.put(FOLDERS)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, HEAD, OPTIONS, POST"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Origin": BASE_URL}, 201),
        ({}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": BASE_URL}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"X-CSRF-Token": "0" * 64}, 403),
    ],
)
async def test_a_change_by_cookie_must_come_from_our_own_page(
    by_cookie: SignIn, headers: dict[str, str], status: int
) -> None:
    browser = await by_cookie()

    assert (await browser.post(FOLDERS, json={"name": "Birds"}, headers=headers)).status_code == status
    assert (await browser.get(FOLDERS)).status_code == 200


async def test_a_form_token_is_good_for_its_own_session_only(by_cookie: SignIn, runtime: Runtime) -> None:
    browser, other = await by_cookie(), await by_cookie("other@example.org")
    theirs = {"X-CSRF-Token": form_token(runtime.secret, other.token)}
    own = {"X-CSRF-Token": form_token(runtime.secret, browser.token)}

    assert (await browser.post(FOLDERS, json={"name": "Birds"}, headers=theirs)).status_code == 403
    assert (await browser.post(FOLDERS, json={"name": "Birds"}, headers=own)).status_code == 201


async def test_a_foreign_page_cannot_log_anybody_in(client: Client) -> None:
    body = {"email": "x@example.org", "password": "x"}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = await client.post("/api/v1/auth/login", json=body, headers=headers)
        assert answer.status_code == 403


async def test_a_listed_origin_speaks_with_a_token_and_never_with_a_cookie(runtime: Runtime, by_cookie: SignIn) -> None:
    token = (await by_cookie()).token
    app = create_app(replace(runtime, http=HttpPolicy(cors_origins=("https://app.example",))))
    origin = {"Origin": "https://app.example"}
    async with new_client(app) as client:
        bearer = await client.get(FOLDERS, headers={**origin, "Authorization": f"Bearer {token}"})
        cookie = await client.get(FOLDERS, headers={**origin, "Cookie": f"reedbed_session={token}"})
        asked = await client.options(FOLDERS, headers={**origin, "Access-Control-Request-Method": "POST"})
        stranger = await client.options(
            FOLDERS, headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        )

    assert bearer.status_code == 200
    assert bearer.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-credentials" not in bearer.headers
    assert cookie.status_code == 401
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, "https://app.example")
    assert "authorization" in asked.headers["access-control-allow-headers"]
    assert "access-control-allow-origin" not in stranger.headers


@pytest.mark.parametrize(
    ("forwarded", "seen"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("1.1.1.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"),
        ("203.0.113.9:5555, 10.1.2.3", "203.0.113.9"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("nonsense", "127.0.0.1"),
        ("nonsense, 10.1.2.3", "10.1.2.3"),
        ("10.0.0.1, 10.0.0.2", "10.0.0.1"),
    ],
)
def test_the_client_is_the_rightmost_hop_nobody_vouches_for(forwarded: str, seen: str) -> None:
    trusted = [ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8")]
    assert rightmost_untrusted([*forwarded.split(","), "127.0.0.1"], trusted) == seen


@pytest.mark.parametrize(("trusted", "seen"), [((), "127.0.0.1 http"), (("127.0.0.0/8",), "1.2.3.4 https")])
async def test_forwarded_headers_count_only_from_trusted_proxies(
    runtime: Runtime, trusted: tuple[str, ...], seen: str
) -> None:
    policy = HttpPolicy(trusted_proxies=tuple(ip_network(network) for network in trusted))
    app = create_app(replace(runtime, http=policy))

    @app.programs.get("/api/v1/whoami")
    async def whoami(request: Request) -> str:
        return f"{client_ip(request)} {request.url.scheme}"

    headers = {"X-Forwarded-For": "9.9.9.9, 1.2.3.4", "X-Forwarded-Proto": "https"}
    async with new_client(app) as client:
        assert (await client.get("/api/v1/whoami", headers=headers)).json() == seen


@pytest.mark.parametrize(
    ("sent", "kind", "message"),
    [
        (b"{", "application/json", "The body is not valid JSON."),
        (b"{}", "application/json", "email is required."),
        (b"", "application/json", "Send a JSON object as the body, with Content-Type: application/json."),
        (b"{}", "text/plain", "Send a JSON object as the body, with Content-Type: application/json."),
        (b"[]", "application/json", "Send a JSON object as the body, with Content-Type: application/json."),
    ],
)
async def test_a_body_that_is_no_object_is_said_to_be_so(client: Client, sent: bytes, kind: str, message: str) -> None:
    answer = await client.post("/api/v1/auth/login", content=sent, headers={"Content-Type": kind})

    assert (answer.status_code, answer.json()["error"]["message"]) == (400, message)


FOR_EVERYBODY = ("/published/", "/rss", "/api/item", "/api/site", "/websub/")


async def test_no_answer_to_one_user_may_be_stored(signed_in: SignIn, app: Application) -> None:
    reader = await signed_in("reader@example.org")
    documented = [path for path, methods in app.openapi()["paths"].items() if "get" in methods]
    asked = [re.sub(r"{[^}]*}", "1", path) for path in documented if not path.startswith(FOR_EVERYBODY)]
    asked = [path for path in asked if path != "/api/v1/events"]
    assert len(asked) > 50
    reader_app = ["/reader/api/0/subscription/list", "/reader/api/0/tag/list", "/fever/?api", "/mcp"]
    for path in (*asked, *reader_app, "/unread", "/settings", "/nothing", "/login", "/api/proxy?url=x"):
        answer = await reader.get(path)
        assert "no-store" in answer.headers["cache-control"], (path, answer.status_code)


async def test_what_is_the_same_for_everybody_may_be_kept(client: Client) -> None:
    page = (await client.get("/setup")).text
    asset = re.search(r'"(/assets/app[^"]*)"', page)
    assert asset is not None
    assert "immutable" in (await client.get(asset[1])).headers["cache-control"]


@pytest.mark.parametrize(
    ("hosts", "version", "path", "status"),
    [
        (["reader.example.org"], "1.1", "/healthz", 200),
        (["[::1]:8080"], "1.1", "/healthz", 200),
        ([], "1.1", "/healthz", 400),
        ([], "1.0", "/login", 400),
        ([], "1.0", "/healthz", 200),
        (["a.example.org", "b.example.org"], "1.1", "/healthz", 400),
        (["a.example.org", "a.example.org"], "1.0", "/healthz", 400),
        ([""], "1.1", "/healthz", 400),
        (["a.example.org, b.example.org"], "1.1", "/healthz", 400),
        (["a.example.org/path"], "1.1", "/healthz", 400),
        (["user@a.example.org"], "1.1", "/healthz", 400),
    ],
)
async def test_a_request_has_one_host(app: Application, hosts: list[str], version: str, path: str, status: int) -> None:
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "http_version": version,
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80),
        "headers": [(b"host", host.encode()) for host in hosts],
    }
    await app(scope, receive, send)
    assert messages[0]["status"] == status
    if status == 400:
        assert orjson.loads(messages[1]["body"])["error"]["code"] == "invalid"
