"""Passkeys by the API and the page, with an authenticator that also answers wrongly, on both engines."""

import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from reedbed.domain.passkeys import relying_party
from reedbed.domain.times import MINUTE
from reedbed.roles.app import Application, create_app
from reedbed.services.passkeys import reset_passkeys
from reedbed.services.users import add_member, disable_member, find_member
from tests.authenticator import ORIGIN, PRESENT, SYNCABLE, SYNCED, VERIFIED, Authenticator
from tests.clients import Client, new_client
from tests.harness import RuntimeHarness
from tests.http.web.forms import OWN_PAGE

EMAIL, PASSWORD = "reader@example.org", "seven herons in the reeds"
PASSKEYS = "/api/v1/users/me/passkeys"


@pytest.fixture
def site(harness: RuntimeHarness) -> Application:
    """At an address where browsers allow passkeys."""
    accounts = replace(harness.runtime.accounts, base_url=ORIGIN)
    harness.runtime = replace(harness.runtime, accounts=accounts)
    return create_app(harness.runtime)


def _client(site: Application, **options: Any) -> Client:
    client = new_client(site, **options)
    client.base_url = ORIGIN
    return client


@pytest.fixture
async def owner(harness: RuntimeHarness, site: Application) -> AsyncIterator[Client]:
    await add_member(harness.runtime, EMAIL, PASSWORD)
    async with _client(site) as client:
        answer = await client.post("/api/v1/auth/login", json={"email": EMAIL, "password": PASSWORD})
        client.cookies.clear()
        client.headers["Authorization"] = f"Bearer {answer.json()['token']}"
        yield client


@pytest.fixture
async def visitor(site: Application) -> AsyncIterator[Client]:
    async with _client(site) as client:
        yield client


async def _add(owner: Client, device: Authenticator, name: str = "Phone") -> Any:
    options = (await owner.post(f"{PASSKEYS}/options")).json()["options"]
    return await owner.post(PASSKEYS, json={"name": name, "credential": device.create(options)})


async def _log_in(visitor: Client, device: Authenticator) -> Any:
    options = (await visitor.post("/api/v1/auth/passkeys/options")).json()["options"]
    return await visitor.post("/api/v1/auth/passkeys/login", json={"credential": device.get(options)})


@pytest.mark.parametrize("algorithm", [-7, -8, -257])
async def test_a_passkey_logs_in_without_a_name_or_a_password(owner: Client, visitor: Client, algorithm: int) -> None:
    device = Authenticator(algorithm=algorithm, counts=True)
    added = await _add(owner, device)
    assert (added.status_code, added.json()["host"], added.json()["last_used_at"]) == (201, "reeds.example", None)
    opened = await _log_in(visitor, device)
    assert (opened.status_code, opened.json()["user"]["email"]) == (200, EMAIL)
    assert (await _log_in(visitor, device)).status_code == 200
    (shown,) = (await owner.get(PASSKEYS)).json()["items"]
    assert shown["last_used_at"] and shown["name"] == "Phone"


async def test_what_is_asked_of_the_browser(owner: Client, visitor: Client) -> None:
    options = (await owner.post(f"{PASSKEYS}/options")).json()["options"]
    chosen = options["authenticatorSelection"]
    assert (chosen["residentKey"], chosen["userVerification"]) == ("required", "required")
    assert (options["attestation"], options["rp"]["id"]) == ("none", "reeds.example")
    assert EMAIL not in options["user"]["id"] and len(options["user"]["id"]) == 43
    await _add(owner, Authenticator())
    again = (await owner.post(f"{PASSKEYS}/options")).json()["options"]
    assert len(again["excludeCredentials"]) == 1
    handles = {(await owner.post(f"{PASSKEYS}/options")).json()["options"]["user"]["id"] for _ in range(2)}
    assert len(handles) == 1  # one for all passkeys of a user
    asked = (await visitor.post("/api/v1/auth/passkeys/options")).json()["options"]
    assert asked["allowCredentials"] == [] and asked["userVerification"] == "required"


WRONG: dict[str, Callable[[Authenticator], None]] = {
    "another site": lambda device: setattr(device, "origin", "https://evil.example"),
    "the same site without https": lambda device: setattr(device, "origin", "http://reeds.example"),
    "another port": lambda device: setattr(device, "origin", "https://reeds.example:8443"),
    "another relying party": lambda device: setattr(device, "rp_id", "evil.example"),
    "a user who was not verified": lambda device: setattr(device, "flags", PRESENT),
    "a user who was not there": lambda device: setattr(device, "flags", VERIFIED),
    "backed up without being able to": lambda device: setattr(device, "flags", PRESENT | VERIFIED | SYNCED),
    "a frame of another site": lambda device: device.client.update(crossOrigin=True),
    "an answer for something else": lambda device: device.client.update(type="payment.get"),
    "another challenge": lambda device: device.client.update(challenge="AAAA"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_wrong_answer_adds_and_opens_nothing(what: str, owner: Client, visitor: Client) -> None:
    right, wrong = Authenticator(), Authenticator(credential_id=b"\x02" * 32)
    assert (await _add(owner, right)).status_code == 201
    WRONG[what](wrong)
    assert (await _add(owner, wrong)).status_code == 400
    WRONG[what](right)
    refused = await _log_in(visitor, right)
    assert (refused.status_code, "reedbed_session" in visitor.cookies) == (401, False)


@pytest.mark.parametrize(
    "what", ["another key", "another user's handle", "a copy", "a passkey that nobody has", "a change of its kind"]
)
async def test_a_foreign_answer_opens_nothing(what: str, owner: Client, visitor: Client) -> None:
    device = Authenticator(counts=True, counter=5)
    await _add(owner, device)
    assert (await _log_in(visitor, device)).status_code == 200
    match what:
        case "another key":
            device.key = Authenticator().key
        case "another user's handle":
            device.user_handle = "AAAA"
        case "a copy":
            device.counter = 3
        case "a passkey that nobody has":
            device.credential_id = b"\x03" * 32
        case _:
            device.flags |= SYNCABLE
    assert (await _log_in(visitor, device)).status_code == 401


async def test_an_answer_counts_once_in_its_browser_and_for_five_minutes(
    owner: Client, visitor: Client, site: Application, harness: RuntimeHarness
) -> None:
    device = Authenticator()
    await _add(owner, device)
    options = (await visitor.post("/api/v1/auth/passkeys/options")).json()["options"]
    answer = {"credential": device.get(options)}
    async with _client(site) as other:
        await other.post("/api/v1/auth/passkeys/options")
        assert (await other.post("/api/v1/auth/passkeys/login", json=answer)).status_code == 401
    assert (await visitor.post("/api/v1/auth/passkeys/login", json=answer)).status_code == 200
    assert (await visitor.post("/api/v1/auth/passkeys/login", json=answer)).status_code == 401
    options = (await visitor.post("/api/v1/auth/passkeys/options")).json()["options"]
    harness.clock.ahead += 6 * MINUTE
    late = {"credential": device.get(options)}
    assert (await visitor.post("/api/v1/auth/passkeys/login", json=late)).status_code == 401
    assert await harness.column("SELECT count(*) FROM challenges WHERE purpose = 'passkey_add'") == [0]


async def test_a_refused_answer_uses_its_challenge_up(owner: Client) -> None:
    device = Authenticator()
    options = (await owner.post(f"{PASSKEYS}/options")).json()["options"]
    device.flags = PRESENT
    assert (await owner.post(PASSKEYS, json={"name": "x", "credential": device.create(options)})).status_code == 400
    device.flags = PRESENT | VERIFIED
    assert (await owner.post(PASSKEYS, json={"name": "x", "credential": device.create(options)})).status_code == 400


@pytest.mark.parametrize(
    "credential",
    [
        {},
        {"id": "AAAA"},
        {"id": "AAAA", "response": {}},
        {"id": "AAAA", "response": {"clientDataJSON": "bm90IGpzb24", "attestationObject": "oA"}},
        {"id": "AAAA", "response": {"clientDataJSON": "e30", "attestationObject": "n" * 30_000}},
        {"id": "AAAA", "response": {"clientDataJSON": "e30", "attestationObject": "gYGBgYGBgYGBgYGB"}},
        {"id": 7, "response": [1]},
    ],
)
async def test_nonsense_is_refused_in_one_sentence(credential: Any, owner: Client, visitor: Client) -> None:
    body = {"name": "x", "credential": credential}
    refused = await owner.post(PASSKEYS, json=body)
    assert (refused.status_code, refused.json()["error"]["details"]) == (400, {"field": "passkey"})
    assert (await visitor.post("/api/v1/auth/passkeys/login", json=body)).status_code == 401


async def test_a_passkey_can_be_the_only_way_in_and_the_last_way_stays(owner: Client, visitor: Client) -> None:
    assert (await owner.delete("/api/v1/users/me/password")).status_code == 409
    device = Authenticator()
    added = (await _add(owner, device)).json()
    assert (await owner.delete("/api/v1/users/me/password")).status_code == 204
    login = {"email": EMAIL, "password": PASSWORD}
    assert (await visitor.post("/api/v1/auth/login", json=login)).status_code == 401
    assert (await _log_in(visitor, device)).status_code == 200
    refused = await owner.delete(f"{PASSKEYS}/{added['id']}")
    assert refused.status_code == 409 and "only way" in refused.json()["error"]["message"]
    other = Authenticator(credential_id=b"\x05" * 16)
    assert (await _add(owner, other, "Key")).status_code == 201
    assert (await owner.delete(f"{PASSKEYS}/{added['id']}")).status_code == 204
    assert (await _log_in(visitor, device)).status_code == 401


async def test_adding_and_removing_need_a_confirmation_which_a_passkey_gives(
    owner: Client, harness: RuntimeHarness
) -> None:
    device = Authenticator()
    added = (await _add(owner, device)).json()
    harness.clock.ahead += 11 * MINUTE
    for method, path in (("POST", "/options"), ("DELETE", f"/{added['id']}")):
        refused = await owner.request(method, f"{PASSKEYS}{path}")
        assert refused.json()["error"]["code"] == "confirmation_required"
    assert (await owner.get("/api/v1/auth/confirm")).json()["ways"] == ["password", "passkey"]
    options = (await owner.post("/api/v1/auth/confirm/options")).json()["options"]
    assert len(options["allowCredentials"]) == 1
    answer = {"passkey": device.get(options)}
    assert (await owner.post("/api/v1/auth/confirm", json=answer)).status_code == 200
    assert (await owner.post("/api/v1/auth/confirm", json=answer)).status_code == 400
    assert (await owner.delete(f"{PASSKEYS}/{added['id']}")).status_code == 204


async def test_a_passkey_of_another_user_confirms_nothing(
    owner: Client, site: Application, harness: RuntimeHarness
) -> None:
    await _add(owner, Authenticator())
    await add_member(harness.runtime, "other@example.org", PASSWORD)
    theirs = Authenticator(credential_id=b"\x09" * 16)
    async with _client(site) as other:
        login = {"email": "other@example.org", "password": PASSWORD}
        token = (await other.post("/api/v1/auth/login", json=login)).json()["token"]
        other.cookies.clear()
        other.headers["Authorization"] = f"Bearer {token}"
        assert (await _add(other, theirs)).status_code == 201
        assert (await _add(other, Authenticator())).status_code == 409  # the id is taken
    options = (await owner.post("/api/v1/auth/confirm/options")).json()["options"]
    assert (await owner.post("/api/v1/auth/confirm", json={"passkey": theirs.get(options)})).status_code == 400


async def test_an_operator_removes_the_passkeys_of_a_lost_device(
    owner: Client, visitor: Client, harness: RuntimeHarness
) -> None:
    device = Authenticator()
    await _add(owner, device)
    assert await reset_passkeys(harness.runtime, await find_member(harness.runtime, EMAIL)) == 1
    assert (await _log_in(visitor, device)).status_code == 401


async def test_a_disabled_account_is_not_opened(owner: Client, visitor: Client, harness: RuntimeHarness) -> None:
    device = Authenticator()
    await _add(owner, device)
    await disable_member(harness.runtime, await find_member(harness.runtime, EMAIL))
    assert (await _log_in(visitor, device)).status_code == 403


async def test_the_page_lists_renames_and_removes(owner: Client, site: Application) -> None:
    device = Authenticator()
    added = (await _add(owner, device)).json()
    token = owner.headers["Authorization"].removeprefix("Bearer ")
    async with _client(site, cookies={"reedbed_session": token}, headers=OWN_PAGE) as page:
        assert "<bdi>Phone</bdi>" in (await page.get("/settings/security")).text
        renamed = await page.post(f"/settings/passkeys/{added['id']}/rename", data={"name": " <b>Blue</b> key "})
        assert renamed.status_code == 303
        assert "<bdi>&lt;b&gt;Blue&lt;/b&gt; key</bdi>" in (await page.get("/settings/security")).text
        assert (await page.post(f"/settings/passkeys/{added['id']}/rename", data={"name": " "})).status_code == 400
        assert (await page.post("/settings/passkeys/999/rename", data={"name": "x"})).status_code == 404
        assert (await page.post("/settings/password/delete")).status_code == 303
        kept = await page.post(f"/settings/passkeys/{added['id']}/delete")
        assert kept.status_code == 409 and "only way to log in" in kept.text


async def test_the_login_page_takes_the_answer_as_a_plain_form(owner: Client, visitor: Client) -> None:
    device = Authenticator()
    await _add(owner, device)
    page = (await visitor.get("/login?next=/starred")).text
    assert 'autocomplete="username webauthn"' in page
    form = dict(re.findall(r'<input type="hidden" name="(\w+)"\s+value="([^"]*)"', page))
    options = (await visitor.post("/api/v1/auth/passkeys/options")).json()["options"]
    opened = await visitor.post("/login/passkey", data={**form, "passkey": json.dumps(device.get(options))})
    assert (opened.status_code, opened.headers["location"]) == (303, "/starred")
    del visitor.cookies["reedbed_session"]
    assert (await visitor.post("/login/passkey", data={**form, "passkey": "{}"})).status_code == 401


@pytest.mark.parametrize(
    ("base_url", "party"),
    [
        ("https://reeds.example", ("reeds.example", "https://reeds.example")),
        ("https://reeds.example:8443", ("reeds.example", "https://reeds.example:8443")),
        ("https://reeds.example:443", ("reeds.example", "https://reeds.example")),
        ("http://localhost:8080", ("localhost", "http://localhost:8080")),
        ("http://reeds.example", None),
        ("https://192.0.2.1", None),
        ("http://127.0.0.1:8080", None),
        ("https://[2001:db8::1]", None),
    ],
)
def test_browsers_allow_passkeys_at_names_with_https(base_url: str, party: tuple[str, str] | None) -> None:
    found = relying_party(base_url)
    assert (found and (found.id, found.origin)) == party
