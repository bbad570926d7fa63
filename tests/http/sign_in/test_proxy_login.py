"""Logging in by the header of a trusted proxy: who is believed, who gets an account, and how it ends."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network

import pytest

from reedbed.roles.app import create_app
from reedbed.services.runtime import HttpPolicy, ProxyLogin, Runtime
from reedbed.services.users import add_member, create_owner
from reedbed.settings import Settings
from tests.clients import Client, new_client
from tests.harness import RuntimeHarness

OWNER, ANN = "owner@example.org", "ann@example.org"
LOGIN = ProxyLogin(
    "Remote-Email", groups_header="Remote-Groups", admins="admins", logout_url="https://portal.example/bye"
)


@asynccontextmanager
async def behind(runtime: Runtime, login: ProxyLogin, *, trusted: str = "127.0.0.0/8") -> AsyncIterator[Client]:
    policy = HttpPolicy((ip_network(trusted),), proxy_login=login)
    async with new_client(create_app(replace(runtime, http=policy))) as client:
        yield client


@pytest.fixture
async def runtime(harness: RuntimeHarness) -> Runtime:
    await create_owner(harness.runtime, OWNER, "correct horse battery")
    await add_member(harness.runtime, ANN, "seven herons in the reeds")
    return harness.runtime


async def role_of(client: Client) -> tuple[int, str]:
    me = await client.get("/api/v1/users/me")
    return me.status_code, me.json().get("role", "")


async def test_a_session_is_opened_once_and_then_counts_by_itself(runtime: Runtime) -> None:
    async with behind(runtime, LOGIN) as client:
        named = {"Remote-Email": "Ann@Example.org"}
        first = await client.get("/unread", headers=named)
        assert first.headers["location"].startswith("/login?")
        opened = await client.get(first.headers["location"], headers=named)
        assert (opened.status_code, opened.headers["location"]) == (303, "/unread")
        assert (await client.get("/unread")).status_code == 200
        refused = await client.post("/add", data={"url": "https://example.org"}, headers=named)
        assert refused.status_code == 403, "a header proves nothing about a form"


@pytest.mark.parametrize(
    ("headers", "trusted"),
    [
        ({"Remote-Email": ANN}, "10.0.0.0/8"),
        ({"Remote-Email": ANN, "X-Forwarded-For": "127.0.0.1"}, "10.0.0.0/8"),
        ([("Remote-Email", ANN), ("Remote-Email", OWNER)], "127.0.0.0/8"),
        ([("Remote-Email", ANN), ("Remote_Email", OWNER)], "127.0.0.0/8"),
        ({"Remote_Email": ANN}, "127.0.0.0/8"),
        ({"Remote-Email": "  "}, "127.0.0.0/8"),
        ({"Remote-User": ANN}, "127.0.0.0/8"),
    ],
)
async def test_nobody_else_is_believed(runtime: Runtime, headers: dict, trusted: str) -> None:
    async with behind(runtime, LOGIN, trusted=trusted) as client:
        shown = await client.get("/login", headers=headers)
        assert shown.status_code == 200 and 'name="password"' in shown.text
        assert "reedbed_session" not in shown.headers.get("set-cookie", "")


@pytest.mark.parametrize("name", ["not an address", "a@b\u00e9".encode().decode("latin-1"), "x" * 400 + "@example.org"])
async def test_what_is_no_address_finds_nobody(runtime: Runtime, name: str) -> None:
    async with behind(runtime, replace(LOGIN, create=True)) as client:
        refused = await client.get("/login", headers=[(b"Remote-Email", name.encode("latin-1"))])
        assert refused.status_code == 400


async def test_strangers_get_an_account_only_where_the_operator_wishes(runtime: Runtime) -> None:
    stranger = {"Remote-Email": "new@example.org"}
    async with behind(runtime, LOGIN) as client:
        refused = await client.get("/login", headers=stranger)
        assert refused.status_code == 403 and "There is no account for new@example.org" in refused.text
    async with behind(runtime, replace(LOGIN, create=True)) as client:
        assert (await client.get("/login", headers=stranger)).status_code == 303
        assert await role_of(client) == (200, "user")


async def test_groups_make_admins_and_take_it_away_again(runtime: Runtime) -> None:
    async with behind(runtime, LOGIN) as client:
        for groups, role in (
            ("users, admins", "admin"),
            ("users|admins", "admin"),
            ("administrators", "user"),
            ("", "user"),
        ):
            client.cookies.clear()
            await client.get("/login", headers={"Remote-Email": ANN, "Remote-Groups": groups})
            assert await role_of(client) == (200, role)
        client.cookies.clear()
        await client.get("/login", headers={"Remote-Email": OWNER, "Remote-Groups": "users"})
        assert await role_of(client) == (200, "owner")


async def test_a_disabled_account_stays_out(runtime: Runtime, harness: RuntimeHarness) -> None:
    await harness.change("UPDATE users SET disabled_at = 1 WHERE email = :ann", ann=ANN)
    async with behind(runtime, LOGIN) as client:
        assert (await client.get("/login", headers={"Remote-Email": ANN})).status_code == 403


async def test_another_person_at_the_portal_ends_the_session_of_the_first(runtime: Runtime) -> None:
    async with behind(runtime, LOGIN) as client:
        await client.get("/login", headers={"Remote-Email": ANN})
        assert (await client.get("/api/v1/users/me", headers={"Remote-Email": OWNER})).status_code == 401
        again = await client.get("/unread", headers={"Remote-Email": OWNER})
        await client.get(again.headers["location"], headers={"Remote-Email": OWNER})
        assert await role_of(client) == (200, "owner")


@pytest.mark.parametrize(
    ("login", "leads_to"),
    [
        (LOGIN, lambda answer: "https://portal.example/bye" in answer.headers["refresh"]),
        (replace(LOGIN, logout_url=""), lambda answer: answer.headers["location"] == "/login?logged_out=true"),
    ],
    ids=["to the portal", "without one"],
)
async def test_logging_out_does_not_log_in_again(runtime: Runtime, login: ProxyLogin, leads_to: Callable) -> None:
    named = {"Remote-Email": ANN}
    async with behind(runtime, login) as client:
        await client.get("/login", headers=named)
        home = (await client.get("/settings/account", headers=named)).text
        token = home.split('name="csrf_token" value="')[1].split('"')[0]
        left = await client.post("/logout", data={"csrf_token": token}, headers=named)
        assert leads_to(left)
        assert (await client.get("/login?logged_out=true", headers=named)).status_code == 200


def test_unsafe_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="needs REEDBED_TRUSTED_PROXIES"):
        Settings.model_validate({"proxy_login_header": "Remote-Email"})
    with pytest.raises(ValueError, match="go together"):
        Settings.model_validate({"trusted_proxies": "127.0.0.1", "proxy_login_admins": "x"})
