"""One-time codes and recovery codes, on the page and in the API, on both engines."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from reedbed.domain.codes import STEP, code_of, secret_bytes
from reedbed.domain.times import HOUR, MINUTE
from reedbed.roles.app import Application
from reedbed.services.codes import reset_codes
from reedbed.services.email import make_link
from reedbed.services.users import add_member, find_member, log_in
from tests.clients import Client, new_client
from tests.harness import RuntimeHarness
from tests.http.web.forms import OWN_PAGE, tokens

EMAIL, PASSWORD = "reader@example.org", "seven herons in the reeds"


class Person:
    """Somebody with an authenticator app."""

    def __init__(self, harness: RuntimeHarness, app: Application) -> None:
        self.harness, self.app = harness, app
        self.secret, self.recovery = b"", [""]

    def code(self, drift: int = 0) -> str:
        return code_of(self.secret, self.harness.runtime.now() // STEP + drift)

    async def log_in(self, client: Client, **more: Any) -> Any:
        return await client.post("/api/v1/auth/login", json={"email": EMAIL, "password": PASSWORD, **more})

    async def turn_on(self, client: Client) -> None:
        begun = (await client.post("/api/v1/users/me/codes")).json()
        self.secret = secret_bytes(begun["secret"])
        wrong = await client.post("/api/v1/users/me/codes/enable", json={"code": "000000"})
        assert wrong.status_code == 400
        assert (await client.get("/api/v1/users/me/codes")).json()["enabled_at"] is None
        made = await client.post("/api/v1/users/me/codes/enable", json={"code": self.code()})
        self.recovery = made.json()["recovery_codes"]
        assert len(self.recovery) == 10


@pytest.fixture
async def person(harness: RuntimeHarness, app: Application, client: Client) -> AsyncIterator[Person]:
    await add_member(harness.runtime, EMAIL, PASSWORD)
    person = Person(harness, app)
    token = (await person.log_in(client)).json()["token"]
    client.cookies.clear()
    async with new_client(app, headers={"Authorization": f"Bearer {token}"}) as owner:
        await person.turn_on(owner)
        person.owner = owner  # type: ignore[attr-defined]
        harness.clock.ahead += MINUTE
        yield person


def _owner(person: Person) -> Client:
    return person.owner  # type: ignore[attr-defined]


async def test_the_password_alone_opens_nothing(person: Person, client: Client) -> None:
    halfway = await person.log_in(client)
    assert (halfway.status_code, halfway.json()["error"]["code"]) == (401, "code_required")
    assert "reedbed_session" not in client.cookies and "reedbed_device" not in client.cookies
    wrong = await person.log_in(client, code="123456" if person.code() != "123456" else "654321")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "unauthorized")
    assert (await person.log_in(client, code=person.code())).status_code == 200


async def test_a_code_is_taken_once(person: Person, client: Client) -> None:
    code = person.code()
    assert (await person.log_in(client, code=code)).status_code == 200
    assert (await person.log_in(client, code=code)).status_code == 401
    earlier = person.code(-1)
    assert (await person.log_in(client, code=earlier)).status_code == 401
    assert (await person.log_in(client, code=person.code(1))).status_code == 200


async def test_a_recovery_code_is_taken_once_and_counted(person: Person, client: Client) -> None:
    typed = person.recovery[3].upper().replace("-", " ")
    assert (await person.log_in(client, code=typed)).status_code == 200
    assert (await person.log_in(client, code=typed)).status_code == 401
    state = (await _owner(person).get("/api/v1/users/me/codes")).json()
    assert state["recovery_left"] == 9
    stored = await person.harness.column("SELECT code_hash FROM recovery_codes")
    assert len(stored) == 10 and not any(code.replace("-", "") in stored for code in person.recovery)
    assert all("-" not in row and len(row) == 64 for row in stored)


async def test_new_recovery_codes_replace_the_earlier_ones(person: Person, client: Client) -> None:
    made = (await _owner(person).post("/api/v1/users/me/codes/recovery")).json()["recovery_codes"]
    assert (await person.log_in(client, code=person.recovery[0])).status_code == 401
    assert (await person.log_in(client, code=made[0])).status_code == 200


async def test_the_secret_is_not_shown_again(person: Person) -> None:
    assert (await _owner(person).post("/api/v1/users/me/codes")).status_code == 409  # on already; nothing is shown


async def test_turning_codes_off_and_on_needs_a_confirmation(person: Person, client: Client) -> None:
    person.harness.clock.ahead += 11 * MINUTE
    owner = _owner(person)
    for method, path in (("DELETE", ""), ("POST", "/recovery"), ("POST", "")):
        refused = await owner.request(method, f"/api/v1/users/me/codes{path}")
        assert refused.json()["error"]["code"] == "confirmation_required"
    assert (await owner.get("/api/v1/auth/confirm")).json()["ways"] == ["password", "code"]
    wrong = await owner.post("/api/v1/auth/confirm", json={"code": "nonsense"})
    assert (wrong.status_code, wrong.json()["error"]["details"]) == (400, {"field": "code"})
    assert (await owner.post("/api/v1/auth/confirm", json={"code": person.code()})).status_code == 200
    assert (await owner.delete("/api/v1/users/me/codes")).status_code == 204
    assert (await person.log_in(client)).status_code == 200


async def test_a_new_password_by_mail_keeps_codes_on(person: Person, client: Client) -> None:
    runtime = person.harness.runtime
    user = await find_member(runtime, EMAIL)
    link = (await make_link(runtime, "reset", EMAIL, user.id)).rpartition("/")[2]
    done = await client.post("/api/v1/auth/reset-password", json={"token": link, "password": PASSWORD})
    assert done.status_code == 204
    assert (await person.log_in(client)).json()["error"]["code"] == "code_required"
    await reset_codes(runtime, user)
    assert (await person.log_in(client)).status_code == 200


async def test_app_passwords_go_on_working(person: Person, client: Client) -> None:
    body = {"name": "Phone", "kind": "app_password"}
    secret = (await _owner(person).post("/api/v1/users/me/tokens", json=body)).json()["secret"]
    form = {"Email": EMAIL, "Passwd": secret}
    assert (await client.post("/accounts/ClientLogin", data=form)).status_code == 200


async def test_the_page_asks_for_the_code_in_a_second_step(person: Person, client: Client) -> None:
    halfway = await _password_step(client)
    assert halfway.status_code == 200 and 'autocomplete="one-time-code"' in halfway.text
    assert (await client.get("/unread")).status_code == 303  # no session yet
    form = _hidden(halfway.text)
    wrong = await client.post("/login/code", data={**form, "code": "nonsense"})
    assert wrong.status_code == 401 and _hidden(wrong.text)["ticket"] == form["ticket"]
    done = await client.post("/login/code", data={**form, "code": person.code()})
    assert (done.status_code, done.headers["location"]) == (303, "/starred")
    assert (await client.get("/starred")).status_code == 200


async def test_a_ticket_is_for_one_browser_one_use_and_ten_minutes(
    person: Person, client: Client, app: Application
) -> None:
    form = _hidden((await _password_step(client)).text)
    async with new_client(app) as other:
        token = tokens((await other.get("/login")).text).pop()
        stolen = await other.post("/login/code", data={**form, "csrf_token": token, "code": person.code()})
        assert stolen.status_code == 400 and "reedbed_session" not in other.cookies
    assert (await client.post("/login/code", data={**form, "code": person.code()})).status_code == 303
    del client.cookies["reedbed_session"]
    person.harness.clock.ahead += MINUTE
    again = await client.post("/login/code", data={**form, "code": person.code()})
    assert again.status_code == 400
    form = _hidden((await _password_step(client)).text)
    person.harness.clock.ahead += HOUR
    assert (await client.post("/login/code", data={**form, "code": person.code()})).status_code == 400


async def test_codes_are_set_up_on_the_page(harness: RuntimeHarness, app: Application, client: Client) -> None:
    await add_member(harness.runtime, EMAIL, PASSWORD)
    await _password_step(client)
    begun = await client.post("/settings/codes", headers=OWN_PAGE)
    shown = (await client.get(begun.headers["location"])).text
    secret = re.search(r"<code>([A-Z2-7 ]{39})</code>", shown)
    assert secret is not None and '<svg class="qr"' in shown and "otpauth://totp/" in shown
    key = secret_bytes(secret[1].replace(" ", ""))
    wrong = await client.post("/settings/codes/enable", data={"code": "nope"}, headers=OWN_PAGE)
    assert wrong.status_code == 400 and secret[1] in wrong.text
    code = code_of(key, harness.runtime.now() // STEP)
    done = await client.post("/settings/codes/enable", data={"code": code}, headers=OWN_PAGE)
    codes = re.findall(r"<li><code>([a-z2-7-]{19})</code></li>", done.text)
    assert len(codes) == 10
    later = (await client.get("/settings/security")).text
    assert codes[0] not in later and "10 recovery codes left" in later and secret[1] not in later
    off = await client.post("/settings/codes/delete", headers=OWN_PAGE)
    assert off.status_code == 303 and await harness.column("SELECT count(*) FROM recovery_codes") == [0]


async def test_a_login_from_a_new_place_is_marked(
    person: Person, app: Application, client: Client, harness: RuntimeHarness
) -> None:
    await person.log_in(client, code=person.code())
    harness.clock.ahead += MINUTE
    assert "New place" not in (await client.get("/settings/security")).text
    await log_in(
        harness.runtime, EMAIL, PASSWORD, code=person.code(), ip="198.51.100.20", user_agent="Firefox/9 Windows"
    )
    page = (await client.get("/settings/security")).text
    assert page.count("New place") == 2 and "198.51.100.20" in page  # the session and the login


async def _password_step(client: Client) -> Any:
    page = await client.get("/login?next=/starred")
    form = {**_hidden(page.text), "email": EMAIL, "password": PASSWORD}
    return await client.post("/login", data=form)


def _hidden(html: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)"\s+value="([^"]*)"', html))
