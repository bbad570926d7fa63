"""No user reads or changes another's data: every endpoint of the OpenAPI document and every address of the page,
tried with another's ids.

Endpoints are taken from the live document, so that a new one is tried by itself; one that needs an id of a kind
not known here fails. The same requests with the owner's token show that the ids are good.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from reedbed.http.auth import SESSION_COOKIE
from reedbed.roles.app import Application
from reedbed.services.auth import open_session
from reedbed.services.runtime import Runtime
from reedbed.store import users
from tests.clients import Client, SignIn, new_client
from tests.harness import RuntimeHarness
from tests.http.web.forms import HTMX, OWN_PAGE
from tests.http.web.routes import page_routes
from tests.user_data import EMAIL, MARK, everything, give_everything

ID_PATTERN = "^[1-9][0-9]{0,15}$"
NOUNS = {
    "address_id": "mail_addresses",
    "sender_id": "mail_senders",
    "mailbox_id": "mail_boxes",
    "icon_id": "blobs",
    "identity_id": "identities",
    "import_id": "jobs",
    "invite_id": "mail_links",
    "published_id": "published_feeds",
    "spoken_id": "spoken",
    "plan_id": "book_plans",
    "shared_id": "shared_stories",
    "device_id": "push_devices",
    "undo_id": "undo_steps",
    "entry_id": "entries",
    "entry_ids": "entries",
    "ids": "entries",
    "read": "entries",
    "target_id": "share_targets",
    "search_id": "searches",
    "story_id": "stories",
    "joined_id": "stories",
    "other_entry_id": "entries",
    "parent_id": "folders",
    "up_to": "entries",
    "above": "entries",
    "below": "entries",
}
# Secrets in an address are not ids: whoever has one may come in, and nobody guesses it.
SECRETS = {"token": "not-the-token", "provider": "nobody"}
# Icons belong to feeds, which are shared.
SHARED = {"/icons/{icon_id}"}
# What they answer is fetched from elsewhere.
FETCHED = {"/api/v1/playback/recordings/{entry_id}/media"}
# Fields that pages read from a form themselves.
READ_BY_HAND = ("ids", "entry_id", "feed_id", "folder_id", "name", "title", "tag", "note", "value")
STRANGERS_WELCOME = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/api/v1/auth/options"),
    ("GET", "/api/v1/auth/oauth"),
    ("GET", "/api/v1/auth/oauth/{provider}"),
    ("GET", "/api/v1/auth/oauth/{provider}/callback"),
    ("POST", "/api/v1/auth/oauth/{provider}/callback"),
    ("GET", "/api/v1/auth/oidc"),
    ("GET", "/api/v1/auth/oidc/callback"),
    ("GET", "/api/v1/auth/oidc/login"),
    ("POST", "/api/v1/auth/setup"),
    ("POST", "/api/v1/auth/login"),
    ("POST", "/api/v1/auth/passkeys/options"),
    ("POST", "/api/v1/auth/passkeys/login"),
    ("POST", "/api/v1/auth/register"),
    ("POST", "/api/v1/auth/verify-email"),
    ("POST", "/api/v1/auth/forgot-password"),
    ("POST", "/api/v1/auth/reset-password"),
    ("GET", "/published/{token}.atom"),
    ("GET", "/published/{token}.json"),
    ("GET", "/podcast/{token}/feed.rss"),
    ("GET", "/podcast/{token}/{spoken_id}/sound"),
    ("GET", "/podcast/{token}/{spoken_id}/chapters.json"),
    ("GET", "/podcast/{token}/{spoken_id}/transcript.vtt"),
    ("GET", "/rss"),
    ("GET", "/api/item"),
    ("GET", "/api/site"),
}


@dataclass(frozen=True)
class Endpoint:
    method: str
    path: str
    operation: dict[str, Any] = field(repr=False)

    @property
    def streams(self) -> bool:
        return any("text/event-stream" in answer.get("content", {}) for answer in self.answers)

    @property
    def answers(self) -> list[dict[str, Any]]:
        return list(self.operation["responses"].values())


@dataclass(frozen=True)
class Knock:
    """One request at an endpoint, with ids of somebody."""

    endpoint: Endpoint
    url: str
    params: dict[str, str]
    body: Any
    names_in_path: bool


@dataclass(frozen=True)
class Alice:
    user_id: int
    ids: dict[str, int]
    client: Client
    token: str


@pytest.fixture
async def alice(runtime: Runtime, app: Application, harness: RuntimeHarness) -> Any:
    async with runtime.db.write() as tx:
        ids = await give_everything(tx, runtime.now())
        user = await users.get(tx, ids["users"])
    assert user is not None
    session = await open_session(runtime, user)
    headers = {"Authorization": f"Bearer {session.token}"}
    async with new_client(app, headers=headers) as client:
        await client.get("/api/v1/users/me")
        yield Alice(user.id, ids, client, session.token)


async def test_no_endpoint_shows_or_changes_what_is_anothers(
    app: Application, alice: Alice, signed_in: SignIn, runtime: Runtime
) -> None:
    before = await _belongings(runtime, alice)

    for number, knock in enumerate(_knocks(app, alice.ids)):
        bob = await signed_in(f"bob{number}@example.org")
        answer = await _send(bob, knock)
        said = f"{knock.endpoint.method} {knock.url} {knock.params} {knock.body}: {answer.status_code}"
        assert answer.status_code < 500, said
        assert MARK not in answer.text and EMAIL not in answer.text, said
        if knock.names_in_path and knock.endpoint.path not in SHARED:
            assert answer.status_code in (400, 403, 404), said

    assert await _belongings(runtime, alice) == before


async def test_no_page_shows_or_changes_what_is_anothers(alice: Alice, by_cookie: SignIn, runtime: Runtime) -> None:
    before = await _belongings(runtime, alice)

    for number, (method, url, form) in enumerate(_page_knocks(alice.ids)):
        for whole, headers in enumerate((HTMX, OWN_PAGE)):
            bob = await by_cookie(f"bob{number}.{whole}@example.org")
            answer = await bob.request(method, url, data=form if method == "POST" else None, headers=headers)
            said = f"{method} {url} {form}: {answer.status_code}"
            assert answer.status_code < 500, said
            assert MARK not in answer.text and EMAIL not in answer.text, said

    assert await _belongings(runtime, alice) == before


async def test_pages_show_their_owner_what_they_hide_from_others(app: Application, alice: Alice) -> None:
    shown = set[str]()
    async with new_client(app, cookies={SESSION_COOKIE: alice.token}) as client:
        for method, url, _ in _page_knocks(alice.ids):
            if method == "GET":
                answer = await client.get(url)
                assert answer.status_code < 500, url
                if MARK in answer.text:
                    shown.add(url)
    assert {f"/entry/{alice.ids['entries']}", "/bookmarks", "/highlights", "/feeds", "/rules"} <= shown


async def test_what_another_may_not_see_is_shown_to_its_owner(app: Application, alice: Alice) -> None:
    shown = 0
    for knock in _knocks(app, alice.ids):
        is_read = knock.endpoint.method == "GET" and not knock.endpoint.path.startswith("/api/v1/admin/")
        by_secret = any(f"{{{name}}}" in knock.endpoint.path for name in SECRETS)
        is_theirs = knock.endpoint.path not in SHARED | FETCHED and not by_secret
        if is_read and knock.names_in_path and is_theirs:
            answer = await _send(alice.client, knock)
            assert answer.status_code == 200, f"{knock.url}: {answer.status_code} {answer.text}"
            shown += 1
    assert shown > 3


async def test_every_endpoint_asks_a_stranger_who_they_are(app: Application, alice: Alice, client: Client) -> None:
    asked = {
        (knock.endpoint.method, knock.endpoint.path)
        for knock in _knocks(app, alice.ids)
        if (await _send(client, knock)).status_code == 401
        and (knock.endpoint.method, knock.endpoint.path) != ("POST", "/api/v1/auth/login")
    }
    endpoints = {(endpoint.method, endpoint.path) for endpoint in _endpoints(app) if not endpoint.streams}
    assert endpoints - asked == STRANGERS_WELCOME


async def test_operators_endpoints_are_shut_for_everybody_else(app: Application, alice: Alice) -> None:
    for knock in _knocks(app, alice.ids):
        if knock.endpoint.path.startswith("/api/v1/admin/"):
            assert (await _send(alice.client, knock)).status_code == 403, knock.url


def test_an_endpoint_without_a_known_id_is_noticed() -> None:
    schema = {"type": "string", "pattern": ID_PATTERN}
    operation = {"parameters": [{"in": "path", "name": "heron_id", "schema": schema}], "responses": {}}
    with pytest.raises(AssertionError, match="heron_id"):
        list(_tries(Endpoint("GET", "/api/v1/herons/{heron_id}", operation), {}, {"users": 1}))


def test_every_endpoint_lists_its_errors_in_the_common_shape(app: Application) -> None:
    answers = app.openapi()["components"]["responses"]
    for endpoint in _endpoints(app):
        for status in ("400", "401", "403", "404", "409", "413", "429", "503"):
            answer = endpoint.operation["responses"][status]
            if "$ref" in answer:
                answer = answers[answer["$ref"].rpartition("/")[2]]
            assert "schemas/ErrorOut" in str(answer), f"{endpoint.method} {endpoint.path} {status}"
        assert "422" not in endpoint.operation["responses"]


def _endpoints(app: Application) -> Iterator[Endpoint]:
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            yield Endpoint(method.upper(), path, operation)


def _knocks(app: Application, ids: dict[str, int]) -> Iterator[Knock]:
    schemas = app.openapi()["components"]["schemas"]
    for endpoint in _endpoints(app):
        if not endpoint.streams:
            yield from _tries(endpoint, schemas, ids)


def _page_knocks(ids: dict[str, int]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Every address of the page, each id in it and in its form somebody's; the other fields say something."""
    for route in page_routes():
        url = re.sub(r"\{(\w+)(:\w+)?\}", lambda found: _page_value(found[1], ids), route.path)
        named = [field.name for field in (*route.dependant.body_params, *route.dependant.query_params)]
        form = {name: _page_value(name, ids) for name in (*named, *READ_BY_HAND)}
        for method in sorted(route.methods):
            yield method, url, form


def _page_value(name: str, ids: dict[str, int]) -> str:
    if name in SECRETS:
        return SECRETS[name]
    table = NOUNS.get(name) or f"{name[:-3]}s"
    return str(ids[table]) if table in ids else "true" if name == "value" else "1"


def _tries(endpoint: Endpoint, schemas: dict[str, Any], ids: dict[str, int]) -> Iterator[Knock]:
    """The plain request, and one more for each id that may be sent beside the path."""
    parameters = endpoint.operation.get("parameters", [])
    url = endpoint.path
    for parameter in parameters:
        if parameter["in"] == "path":
            url = url.replace(f"{{{parameter['name']}}}", _id_for(endpoint, parameter["name"], ids))
    assert "{" not in url, f"no id for {url}"
    named = url != endpoint.path
    queries = [p for p in parameters if p["in"] == "query"]
    needed = {p["name"]: _query_value(p) for p in queries if p.get("required")}
    bodies = list(_bodies(endpoint, schemas, ids))
    yield Knock(endpoint, url, needed, bodies[0], named)
    for body in bodies[1:]:
        yield Knock(endpoint, url, needed, body, named)
    for parameter in queries:
        if _is_id(parameter["schema"], schemas):
            asked = {**needed, parameter["name"]: _id_for(endpoint, parameter["name"], ids)}
            yield Knock(endpoint, url, asked, bodies[0], named)


def _bodies(endpoint: Endpoint, schemas: dict[str, Any], ids: dict[str, int]) -> Iterator[Any]:
    content = endpoint.operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        yield None
        return
    schema = _resolved(content["application/json"]["schema"], schemas)
    properties = schema.get("properties", {})
    required = {name: _filled(endpoint, name, properties[name], schemas, ids) for name in schema.get("required", [])}
    yield required
    for name, wanted in properties.items():
        if name not in required and _is_id(wanted, schemas):
            yield {**required, name: _filled(endpoint, name, wanted, schemas, ids)}


def _filled(endpoint: Endpoint, name: str, schema: dict[str, Any], schemas: Any, ids: dict[str, int]) -> Any:
    wanted = _resolved(schema, schemas)
    if "pattern" in wanted and wanted["pattern"] == ID_PATTERN:
        return _id_for(endpoint, name, ids)
    if wanted.get("examples"):
        return wanted["examples"][0]
    if "enum" in wanted or "const" in wanted:
        return wanted.get("const", wanted.get("enum", [None])[0])
    match wanted.get("type"):
        case "array":
            return [_filled(endpoint, name, wanted.get("items", {}), schemas, ids)]
        case "object":
            properties = wanted.get("properties", {})
            return {key: _filled(endpoint, key, properties[key], schemas, ids) for key in wanted.get("required", [])}
        case "boolean":
            return True
        case "integer" | "number":
            return 1
        case _:
            return "heron"


def _is_id(schema: dict[str, Any], schemas: dict[str, Any]) -> bool:
    wanted = _resolved(schema, schemas)
    if wanted.get("type") == "array":
        return _is_id(wanted.get("items", {}), schemas)
    return wanted.get("pattern") == ID_PATTERN


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _resolved(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    for choice in schema.get("anyOf", []):
        if choice.get("type") != "null":
            return _resolved(choice, schemas)
    return schema


def _id_for(endpoint: Endpoint, name: str, ids: dict[str, int]) -> str:
    """By the parameter's name; `ids` and the like mean the noun in the path."""
    if name in SECRETS:
        return SECRETS[name]
    noun = re.sub(r"^/api/v1/|/.*$", "", endpoint.path)
    noun = "entries" if noun == "listening" and name == "id" else noun
    table = NOUNS.get(name) or (f"{name[:-3]}s" if name.endswith("_id") else noun)
    assert table in ids, f"no id known for {name} of {endpoint.method} {endpoint.path}"
    return str(ids[table])


def _query_value(parameter: dict[str, Any]) -> str:
    return str((parameter["schema"].get("examples") or ["heron"])[0])


async def _send(client: Client, knock: Knock) -> Any:
    return await client.request(knock.endpoint.method, knock.url, params=knock.params, json=knock.body)


async def _belongings(runtime: Runtime, alice: Alice) -> Any:
    async with runtime.db.read() as tx:
        return await everything(tx, alice.user_id, alice.ids["feeds"])
