"""The endpoints of the API: set up, log in and out, devices, tokens, preferences, status."""

from dataclasses import replace

import pytest

from reedbed.domain.users import Allowance, RateLimits
from reedbed.events.limits import MemoryLimiter
from reedbed.roles.app import Application, create_app
from reedbed.services.auth import app_password_login, fever_login
from reedbed.services.runtime import Runtime
from reedbed.services.security import fever_key
from reedbed.services.users import add_member
from tests.clients import Client, SignIn, new_client

GOOD = "seven herons in the reeds"
OWNER = {"email": "owner@example.org", "password": GOOD}
ME = "/api/v1/users/me"


async def test_a_foreign_name_for_this_machine_sets_up_no_owner(client: Client) -> None:
    """DNS rebinding: the page of evil.example speaks with 127.0.0.1 as with its own server."""
    origin = "http://evil.example:8080"
    headers = {"Host": "evil.example:8080", "Origin": origin, "Sec-Fetch-Site": "same-origin"}
    refused = await client.post("/api/v1/auth/setup", json=OWNER, headers=headers)
    assert (refused.status_code, "REEDBED_BASE_URL" in refused.text) == (403, True)
    assert (await client.get("/api/v1/auth/options")).json()["needs_setup"] is True
    named = await client.post("/api/v1/auth/setup", json=OWNER, headers={"Host": "localhost:8080"})
    assert named.status_code == 201


async def test_the_first_visit_sets_up_the_owner_once(client: Client) -> None:
    assert (await client.get("/api/v1/auth/options")).json() == {
        "needs_setup": True,
        "registration": "closed",
        "can_mail": False,
    }

    made = await client.post("/api/v1/auth/setup", json=OWNER)

    assert made.status_code == 201
    assert made.json()["user"]["role"] == "owner"
    assert (await client.post("/api/v1/auth/setup", json=OWNER)).status_code == 409


async def test_a_login_answers_a_token_and_sets_a_careful_cookie(client: Client, runtime: Runtime) -> None:
    user = await add_member(runtime, "reader@example.org", GOOD)

    answer = await client.post("/api/v1/auth/login", json={"email": user.email, "password": GOOD})

    said = answer.json()
    assert set(said) == {"token", "expires_at", "user"}
    assert said["user"]["id"] == str(user.id)
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith("reedbed_session=")
    assert "httponly" in cookie and "samesite=lax" in cookie and "path=/" in cookie
    assert "secure" not in cookie
    bearer = {"Authorization": f"Bearer {said['token']}"}
    assert (await client.get(ME, headers=bearer)).json()["email"] == user.email


async def test_the_cookie_is_secure_behind_https(runtime: Runtime) -> None:
    await add_member(runtime, "reader@example.org", GOOD)
    https = replace(runtime, accounts=replace(runtime.accounts, base_url="https://reader.example"))
    async with new_client(create_app(https)) as client:
        answer = await client.post("/api/v1/auth/login", json={"email": "reader@example.org", "password": GOOD})
        assert "secure" in answer.headers["set-cookie"].lower()
        assert "strict-transport-security" in answer.headers


async def test_a_wrong_login_is_401_with_the_same_words(client: Client, runtime: Runtime) -> None:
    await add_member(runtime, "reader@example.org", GOOD)
    for email in ("reader@example.org", "nobody@example.org"):
        answer = await client.post("/api/v1/auth/login", json={"email": email, "password": "wrong"})
        assert answer.status_code == 401
        assert answer.json() == {
            "error": {"code": "unauthorized", "message": "Invalid email or password", "details": {}}
        }


async def test_the_sixth_login_in_a_minute_is_429_and_says_when(runtime: Runtime) -> None:
    still = replace(runtime, limiter=MemoryLimiter(clock=lambda: 0.0))
    wrong = {"email": "nobody@example.org", "password": "wrong"}
    async with new_client(create_app(still)) as client:
        answers = [await client.post("/api/v1/auth/login", json=wrong) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [401, 401, 401, 401, 401, 429]
    assert answers[-1].headers["retry-after"] == "12"


async def test_logging_out_ends_the_session(signed_in: SignIn) -> None:
    reader = await signed_in()
    other_device = await signed_in()

    assert (await reader.post("/api/v1/auth/logout")).status_code == 204

    assert (await reader.get(ME)).status_code == 401
    assert (await other_device.get(ME)).status_code == 200


async def test_logging_out_everywhere_ends_all_of_them(signed_in: SignIn) -> None:
    devices = [await signed_in() for _ in range(3)]

    assert (await devices[0].post("/api/v1/auth/logout-everywhere")).status_code == 204

    assert [(await device.get(ME)).status_code for device in devices] == [401, 401, 401]


async def test_devices_are_listed_in_plain_words_and_logged_out_one_by_one(signed_in: SignIn) -> None:
    here, there = await signed_in(), await signed_in()

    listed = (await here.get(f"{ME}/sessions")).json()["items"]
    assert [device["current"] for device in listed].count(True) == 1
    assert {device["device"] for device in listed} == {"Tests"}

    other = next(device for device in listed if not device["current"])
    assert (await here.delete(f"{ME}/sessions/{other['id']}")).status_code == 204
    assert (await there.get(ME)).status_code == 401
    assert (await here.delete(f"{ME}/sessions/{other['id']}")).status_code == 404


async def test_a_changed_password_keeps_this_device_alone(client: Client, signed_in: SignIn, runtime: Runtime) -> None:
    await add_member(runtime, "reader@example.org", GOOD)
    here, there = await signed_in(), await signed_in()
    change = {"current_password": GOOD, "new_password": "eight herons in the reeds"}

    assert (await here.post(f"{ME}/password", json=change)).status_code == 204

    assert ((await here.get(ME)).status_code, (await there.get(ME)).status_code) == (200, 401)
    kinds = [event["kind"] for event in (await here.get(f"{ME}/events")).json()["items"]]
    assert kinds == ["password_changed", "user_registered"]


async def test_an_account_is_deleted_with_its_password(signed_in: SignIn, runtime: Runtime) -> None:
    await add_member(runtime, "reader@example.org", GOOD)
    reader = await signed_in()

    assert (await reader.request("DELETE", ME, json={"password": "wrong"})).status_code == 400
    assert (await reader.request("DELETE", ME, json={"password": GOOD})).status_code == 204

    assert (await reader.get(ME)).status_code == 401


async def test_a_token_does_what_its_scopes_say_and_its_secret_is_shown_once(client: Client, signed_in: SignIn) -> None:
    reader = await signed_in()
    made = (await reader.post(f"{ME}/tokens", json={"name": "script", "scopes": ["read"]})).json()
    bearer = {"Authorization": f"Bearer {made['secret']}"}

    assert (await client.get("/api/v1/folders", headers=bearer)).status_code == 200
    refused = await client.post("/api/v1/folders", json={"name": "x"}, headers=bearer)
    assert refused.status_code == 403
    (listed,) = (await reader.get(f"{ME}/tokens")).json()["items"]
    assert "secret" not in listed and listed["last_used_at"] is not None

    assert (await reader.delete(f"{ME}/tokens/{made['id']}")).status_code == 204
    assert (await client.get("/api/v1/folders", headers=bearer)).status_code == 401


async def test_a_token_opens_no_further_endpoints(client: Client, signed_in: SignIn) -> None:
    reader = await signed_in()
    made = (await reader.post(f"{ME}/tokens", json={"name": "script", "scopes": ["write"]})).json()
    bearer = {"Authorization": f"Bearer {made['secret']}"}

    for method, path, body in (
        ("POST", f"{ME}/tokens", {"name": "more"}),
        ("POST", f"{ME}/password", {"current_password": "x", "new_password": "y"}),
        ("DELETE", ME, {"password": "x"}),
        ("DELETE", f"{ME}/sessions", None),
    ):
        answer = await client.request(method, path, json=body, headers=bearer)
        assert answer.status_code == 403, path
    assert (await reader.post(f"{ME}/tokens", json={"name": "x", "scopes": ["admin"]})).status_code == 403
    assert (await reader.post(f"{ME}/tokens", json={"name": "x", "scopes": ["all"]})).status_code == 400


async def test_an_app_password_serves_reader_apps_and_nothing_else(
    client: Client, signed_in: SignIn, runtime: Runtime
) -> None:
    reader = await signed_in()
    made = (await reader.post(f"{ME}/tokens", json={"name": "phone", "kind": "app_password"})).json()
    secret = made["secret"]
    assert [len(part) for part in secret.split("-")] == [6, 6, 6, 6]

    caller = await app_password_login(runtime, "Reader@example.org", secret.replace("-", "").upper())
    assert caller is not None and caller.user_id == reader.user_id
    key = fever_key("reader@example.org", secret)
    assert await fever_login(runtime, key.upper()) == replace(caller)
    assert await app_password_login(runtime, "other@example.org", secret) is None
    assert await fever_login(runtime, "0" * 32) is None
    bearer = {"Authorization": f"Bearer {secret}"}
    assert (await client.get(ME, headers=bearer)).status_code == 401

    await reader.delete(f"{ME}/tokens/{made['id']}")
    assert await fever_login(runtime, key) is None


async def test_preferences_are_changed_choice_by_choice_and_unknown_ones_refused(signed_in: SignIn) -> None:
    reader = await signed_in()

    changed = await reader.patch(ME, json={"preferences": {"theme": "sepia", "scroll_marks": True}})
    assert changed.json()["preferences"]["theme"] == "sepia"
    kept = (await reader.patch(ME, json={"preferences": {"density": "titles"}})).json()["preferences"]
    assert (kept["theme"], kept["density"], kept["scroll_marks"]) == ("sepia", "titles", True)

    for wrong in ({"heron": 1}, {"theme": "pink"}, {"scroll_marks": "yes"}, {"language": "x'y"}):
        answer = await reader.patch(ME, json={"preferences": wrong})
        assert answer.status_code == 400
        assert answer.json()["error"]["details"]["field"].startswith("preferences.")


async def test_status_counts_what_is_the_users(signed_in: SignIn, harness: object) -> None:
    owner, reader = await signed_in("owner@example.org", role="owner"), await signed_in()

    said = (await reader.get("/api/v1/status")).json()

    assert said["db_size_mb"] is None
    assert {name: said[name] for name in ("feeds_count", "posts_count", "unread_count", "queue_size")} == {
        "feeds_count": 0,
        "posts_count": 0,
        "unread_count": 0,
        "queue_size": 0,
    }
    assert (said["circuit_breaker"], said["health_warning"]) == ("CLOSED", None)
    assert (await owner.get("/api/v1/status")).json()["db_size_mb"] > 0


async def test_a_user_in_a_hurry_is_told_to_wait(runtime: Runtime, signed_in: SignIn) -> None:
    hurried = replace(runtime, limits=RateLimits(requests=Allowance(3, 0.1)))
    token = (await signed_in()).token
    async with new_client(create_app(hurried), headers={"Authorization": f"Bearer {token}"}) as reader:
        answers = [await reader.get("/api/v1/folders") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "10"
    assert answers[-1].json()["error"]["code"] == "too_many_requests"


async def test_operators_look_after_people(app: Application, signed_in: SignIn) -> None:
    owner = await signed_in("owner@example.org", role="owner")
    admin = await signed_in("admin@example.org", role="admin")
    reader = await signed_in()
    people = (await owner.get("/api/v1/admin/users?limit=2")).json()
    assert [person["email"] for person in people["items"]] == ["owner@example.org", "admin@example.org"]
    rest = (await owner.get(f"/api/v1/admin/users?limit=2&cursor={people['next_cursor']}")).json()
    assert [person["email"] for person in rest["items"]] == ["reader@example.org"]

    them = f"/api/v1/admin/users/{reader.user_id}"
    assert (await admin.patch(them, json={"role": "admin"})).status_code == 403
    assert (await admin.patch(them, json={"disabled": True})).json()["disabled"] is True
    assert (await reader.get(ME)).status_code == 401
    assert (await admin.delete(f"/api/v1/admin/users/{owner.user_id}")).status_code == 403
    assert (await owner.post(f"{them}/reset-link")).json()["url"].startswith("http://127.0.0.1:8080/reset/")
    assert (await owner.delete(them)).status_code == 204
    log = (await owner.get("/api/v1/admin/events")).json()["items"]
    assert [event["kind"] for event in log[:1]] == ["user_deleted"]


@pytest.mark.parametrize("body", ['{"email": 1}', "[]", "nonsense", '{"email": "a", "password": "\\ud800"}'])
async def test_a_malformed_body_is_400_in_the_common_shape(client: Client, body: str) -> None:
    answer = await client.post("/api/v1/auth/login", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"code", "message", "details"}
