"""A fresh confirmation before dangerous changes, on the page and in the API, on both engines."""

import re
from collections.abc import AsyncIterator
from html import unescape
from urllib.parse import urlencode

import pytest

from reedbed.domain.times import MINUTE
from reedbed.roles.app import Application
from reedbed.services.users import add_member, log_in
from tests.clients import Client, new_client
from tests.harness import RuntimeHarness
from tests.http.web.forms import OWN_PAGE, tokens

EMAIL, PASSWORD = "reader@example.org", "seven herons in the reeds"


@pytest.fixture
async def person(harness: RuntimeHarness, app: Application) -> AsyncIterator[Client]:
    """Logged in with a password, eleven minutes ago."""
    await add_member(harness.runtime, EMAIL, PASSWORD)
    session = await log_in(harness.runtime, EMAIL, PASSWORD)
    harness.clock.ahead += 11 * MINUTE
    async with new_client(app, headers={"Authorization": f"Bearer {session.token}"}) as client:
        client.token = session.token
        yield client


@pytest.fixture
async def browser(person: Client, app: Application) -> AsyncIterator[Client]:
    async with new_client(app, cookies={"reedbed_session": person.token}, headers=OWN_PAGE) as client:
        yield client


TOKEN = {"name": "Script", "kind": "api"}
ACTS = {
    "a token": ("POST", "/api/v1/users/me/tokens", TOKEN),
    "an app password": ("POST", "/api/v1/users/me/tokens", {**TOKEN, "kind": "app_password"}),
    "the archive": ("GET", "/api/v1/export", None),
    "passwords of feeds": ("GET", "/api/v1/opml?credentials=true", None),
    "deletion": ("DELETE", "/api/v1/users/me", {}),
}


@pytest.mark.parametrize("act", ACTS)
async def test_a_dangerous_act_needs_a_confirmation_within_ten_minutes(
    act: str, person: Client, harness: RuntimeHarness
) -> None:
    method, address, body = ACTS[act]
    refused = await person.request(method, address, json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "confirmation_required")
    before = (await person.get("/api/v1/auth/confirm")).json()
    assert (before["confirmed_until"], before["ways"]) == (None, ["password"])
    wrong = await person.post("/api/v1/auth/confirm", json={"password": "not this one"})
    assert (wrong.status_code, wrong.json()["error"]["details"]) == (400, {"field": "password"})
    assert (await person.post("/api/v1/auth/confirm", json={})).status_code == 400
    assert (await person.request(method, address, json=body)).status_code == 403
    assert (await person.post("/api/v1/auth/confirm", json={"password": PASSWORD})).json()["confirmed_until"]
    harness.clock.ahead += 9 * MINUTE
    assert (await person.request(method, address, json=body)).status_code < 300


async def test_a_confirmation_holds_for_one_session_only(person: Client, harness: RuntimeHarness) -> None:
    other = (await log_in(harness.runtime, EMAIL, PASSWORD)).token
    harness.clock.ahead += 11 * MINUTE
    await person.post("/api/v1/auth/confirm", json={"password": PASSWORD})
    elsewhere = await person.post("/api/v1/users/me/tokens", json=TOKEN, headers={"Authorization": f"Bearer {other}"})
    assert elsewhere.status_code == 403


async def test_a_token_exports_as_its_scopes_allow_and_cannot_confirm(person: Client) -> None:
    await person.post("/api/v1/auth/confirm", json={"password": PASSWORD})
    secret = (await person.post("/api/v1/users/me/tokens", json=TOKEN)).json()["secret"]
    bearer = {"Authorization": f"Bearer {secret}"}
    assert (await person.get("/api/v1/export", headers=bearer)).status_code == 200
    assert (await person.get("/api/v1/auth/confirm", headers=bearer)).status_code == 403


async def test_guessing_at_the_confirmation_is_bounded(person: Client) -> None:
    tries = [
        (await person.post("/api/v1/auth/confirm", json={"password": f"guess {n}"})).status_code for n in range(15)
    ]
    assert tries.count(429) >= 8 and 200 not in tries


async def test_the_page_asks_and_sends_the_form_again(browser: Client) -> None:
    asked = await browser.post("/settings/tokens", data={"name": "Häns & <Söhne>", "scope": ["read", "write"]})
    assert asked.status_code == 403 and 'action="/confirm"' in asked.text
    form = _fields(asked.text)
    assert [value for name, value in form if name == "scope"] == ["read", "write"]
    wrong = await browser.post("/confirm", content=_encoded([*form, ("confirm_password", "wrong")]), headers=_FORM)
    assert wrong.status_code == 400 and _fields(wrong.text)[1:] == form[1:]
    typed = _encoded([*form, ("confirm_password", PASSWORD)])
    again = await browser.post("/confirm", content=typed, headers=_FORM)
    assert (again.status_code, again.headers["location"]) == (307, "/settings/tokens")
    made = await browser.post(again.headers["location"], content=typed, headers=_FORM)
    assert made.status_code == 200 and "rb_" in made.text and "Häns &amp; &lt;Söhne&gt;" in made.text


async def test_a_download_that_was_asked_for_comes_after_the_confirmation(browser: Client) -> None:
    asked = await browser.get("/settings/data/export")
    assert asked.status_code == 403
    form = dict(_fields(asked.text))
    done = await browser.post("/confirm", data={**form, "confirm_password": PASSWORD})
    assert (done.status_code, done.headers["location"]) == (303, "/settings/data/export")
    assert (await browser.get("/settings/data/export")).headers["location"] == "/api/v1/export"


async def test_the_confirmation_leads_nowhere_else(browser: Client) -> None:
    asked = await browser.get("/confirm?next=https://evil.example/")
    form = {**dict(_fields(asked.text)), "confirm_then": "//evil.example", "confirm_password": PASSWORD}
    assert (await browser.post("/confirm", data=form)).headers["location"] == "/"


async def test_the_account_is_deleted_with_the_password_or_after_a_confirmation(browser: Client) -> None:
    assert (await browser.post("/settings/account/delete", data={"delete_password": "wrong"})).status_code == 400
    asked = await browser.post("/settings/account/delete", data={"delete_password": ""})
    assert asked.status_code == 403 and tokens(asked.text)
    typed = {**dict(_fields(asked.text)), "confirm_password": PASSWORD}
    assert (await browser.post("/confirm", data=typed)).status_code == 307
    gone = await browser.post("/settings/account/delete", data=typed)
    assert (gone.status_code, gone.headers["location"]) == (303, "/login")


_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _fields(html: str) -> list[tuple[str, str]]:
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', html)
    return [(unescape(name), unescape(value)) for name, value in found]


def _encoded(fields: list[tuple[str, str]]) -> str:
    return urlencode(fields)
