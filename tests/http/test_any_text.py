"""Whatever text is sent to whichever endpoint, none answers with a failure of its own."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reedbed.roles.app import Application
from tests.clients import SignIn
from tests.http.web.routes import page_routes

UNSTORABLE = "a\x00\ud800b"
JSON = {"Content-Type": "application/json"}
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
# Those that end the session, and the stream, whose answer never ends.
APART = ("/api/v1/auth/", "/api/v1/users/me/sessions", "/api/v1/events")


async def test_a_sign_no_database_can_hold_breaks_no_endpoint(app: Application, signed_in: SignIn) -> None:
    client = await signed_in("owner@example.org", role="owner")
    broken: list[str] = []
    tried = 0
    for method, path, query, body in _questions(app.openapi()):
        answer = await client.request(method, path, params=query, content=json.dumps(body), headers=JSON)
        tried += answer.status_code not in (401, 405)
        if answer.status_code == 500:
            broken.append(f"{method} {path} {query} {body}")
    assert not broken
    assert tried > 60


@pytest.mark.parametrize("charset", ["undefined", "punycode", "unicode_escape"])
async def test_a_form_in_an_encoding_nobody_uses_breaks_no_endpoint(signed_in: SignIn, charset: str) -> None:
    """Some of Python's encodings fail for everything, and some make signs that no database can hold."""
    client = await signed_in("owner@example.org", role="owner")
    endpoints = [*_forms(), "/fever/", "/accounts/ClientLogin", "/api/v1/opml", "/api/v1/import"]
    part = 'Content-Disposition: form-data; name="{0}"\r\n\r\na\\ud800\\x00b-\r\n'
    names = ("name", "title", "url", "email", "password", "file", "query", "token", "ids")
    body = "".join(f"--x\r\n{part.format(name)}" for name in names) + "--x--\r\n"
    kind = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    for endpoint in endpoints:
        answer = await client.post(endpoint, content=body, headers={**kind, **OWN_PAGE})
        assert answer.status_code != 500, endpoint
    assert len(endpoints) > 80


async def test_such_a_sign_in_an_address_breaks_no_page(signed_in: SignIn) -> None:
    client = await signed_in("owner@example.org", role="owner")
    places = [route.path for route in page_routes() if "GET" in (route.methods or ()) and "{" in route.path]
    for path in places:
        address = "/".join("a%00b" if part.startswith("{") else part for part in path.split("/"))
        assert (await client.get(address)).status_code != 500, address
    assert len(places) > 20


def _forms() -> list[str]:
    """Every endpoint of the page that takes a form, but those that end the session."""
    paths = [route.path for route in page_routes() if "POST" in (route.methods or ())]
    return [
        "/".join("1" if part.startswith("{") else part for part in path.split("/"))
        for path in paths
        if "logout" not in path and "delete" not in path and "password" not in path
    ]


async def test_a_refusal_may_repeat_such_a_sign(signed_in: SignIn) -> None:
    client = await signed_in()
    body = json.dumps({"preferences": {UNSTORABLE: 1}})
    refused = await client.patch("/api/v1/users/me", content=body, headers=JSON)
    assert refused.status_code == 400
    assert refused.json()["error"]["details"] == {"field": "preferences.ab"}


def _questions(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], Any]]:
    """Every endpoint, once for each text it takes; nothing else is sent but what it insists on."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if path.startswith(APART):
                continue
            endpoint = "/".join("1" if part.startswith("{") else part for part in path.split("/"))
            body = _body(described, operation)
            for name in _query_texts(operation):
                yield method, endpoint, {name: "a\x00b"}, _least(described, body)
            for name in body.get("properties", ()):
                value = _hostile(described, body["properties"][name])
                if value is not None:
                    yield method, endpoint, {}, {**_least(described, body), name: value}


def _query_texts(operation: dict[str, Any]) -> list[str]:
    asked = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    return [one["name"] for one in asked if _hostile({}, one["schema"]) is not None]


def _body(described: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    return _resolved(described, content.get("application/json", {}).get("schema", {}))


def _least(described: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _value(described, body["properties"][name], "http://example.org/") for name in body.get("required", ())
    }


def _hostile(described: dict[str, Any], schema: dict[str, Any]) -> Any:
    value = _value(described, schema, UNSTORABLE)
    return value if _holds(value) else None


def _holds(value: Any) -> bool:
    match value:
        case str():
            return value == UNSTORABLE
        case list():
            return any(map(_holds, value))
        case dict():
            return any(map(_holds, value.values()))
        case _:
            return False


def _value(described: dict[str, Any], schema: dict[str, Any], text: str) -> Any:
    schema = _resolved(described, schema)
    match schema.get("type"):
        case "object":
            return {name: _value(described, one, text) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [_value(described, schema.get("items", {}), text)]
        case "string" if "enum" in schema:
            return schema["enum"][0]
        case "string" if "pattern" in schema:
            return "1"
        case "string":
            return text
        case "boolean":
            return True
        case "integer":
            return 900
        case _:
            return None


def _resolved(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return _resolved(described, schema["anyOf"][0])
    return schema
