"""Guessing secrets: so many tries at an endpoint, by address and by account, and no way around the count."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import md5
from ipaddress import ip_network

import pytest

from reedbed.domain.codes import STEP, code_of, secret_bytes
from reedbed.domain.errors import TooMany
from reedbed.domain.times import MINUTE
from reedbed.domain.users import RateLimits
from reedbed.roles.app import create_app
from reedbed.roles.build import system_clock
from reedbed.services.runtime import HttpPolicy, Runtime
from reedbed.services.security import charge_login, known_device, remember_device
from reedbed.services.users import create_owner
from tests.clients import Client, new_client
from tests.harness import RuntimeHarness, open_harness

OWNER = "owner@example.org"
PASSWORD = "correct horse battery"
BURST = RateLimits().login.burst


@pytest.fixture
async def harness(sqlite_url: str) -> AsyncIterator[RuntimeHarness]:
    """On one engine: the counts are in memory or in Redis, never in the database."""
    async with open_harness(sqlite_url) as harness:
        harness.runtime = replace(harness.runtime, http=HttpPolicy(trusted_proxies=(ip_network("127.0.0.0/8"),)))
        await create_owner(harness.runtime, OWNER, PASSWORD)
        yield harness


@pytest.fixture
def runtime(harness: RuntimeHarness) -> Runtime:
    return harness.runtime


@pytest.fixture
async def client(runtime: Runtime) -> AsyncIterator[Client]:
    """Behind a proxy that says who is calling."""
    async with new_client(create_app(runtime)) as client:
        yield client


def from_(ip: str) -> dict[str, str]:
    return {"X-Forwarded-For": ip}


Try = Callable[[Client, str, str], Awaitable[int]]


async def _log_in(client: Client, ip: str, secret: str) -> int:
    body = {"email": OWNER, "password": secret}
    return (await client.post("/api/v1/auth/login", json=body, headers=from_(ip))).status_code


async def _log_in_by_page(client: Client, ip: str, secret: str) -> int:
    page = await client.get("/login")
    token = page.text.partition('name="csrf_token" value="')[2].partition('"')[0]
    form = {"email": OWNER, "password": secret, "csrf_token": token}
    return (await client.post("/login", data=form, headers=from_(ip))).status_code


async def _google_reader(client: Client, ip: str, secret: str) -> int:
    form = {"Email": OWNER, "Passwd": secret}
    return (await client.post("/accounts/ClientLogin", data=form, headers=from_(ip))).status_code


async def _reset(client: Client, ip: str, secret: str) -> int:
    body = {"token": secret, "password": PASSWORD}
    return (await client.post("/api/v1/auth/reset-password", json=body, headers=from_(ip))).status_code


ENDPOINTS: dict[str, Try] = {"log in": _log_in, "log in by page": _log_in_by_page, "reset": _reset}


@pytest.mark.parametrize("name", ENDPOINTS)
async def test_an_address_gets_only_so_many_tries(name: str, client: Client) -> None:
    tries = [await ENDPOINTS[name](client, "203.0.113.7", f"guess{number}") for number in range(3 * BURST)]
    assert tries.count(429) >= BURST, tries
    assert 200 not in tries


async def test_a_reader_app_that_guesses_is_told_to_stop(client: Client) -> None:
    """App passwords cannot be guessed; an app with an old one asks often, and only noise is bounded."""
    tries = [await _google_reader(client, "203.0.113.7", f"guess{number}") for number in range(90)]
    assert tries.count(429) > 20
    assert 200 not in tries


async def test_an_app_that_guesses_keys_is_told_so_before_it_is_told_to_stop(client: Client) -> None:
    """A wrong key is a good answer in Fever's protocol; only a flood of them is none."""
    answers = [
        await client.post("/fever/?api", data={"api_key": f"{number:032x}"}, headers=from_("203.0.113.7"))
        for number in range(90)
    ]
    assert {answer.status_code for answer in answers[:40]} == {200}
    assert [answer.status_code for answer in answers].count(429) > 20
    assert all(answer.json() == {"api_version": 3, "auth": 0} for answer in answers)
    assert int(answers[-1].headers["Retry-After"]) > 0


async def test_guessing_keys_opens_nothing_and_does_not_lock_the_owner_out(client: Client) -> None:
    secret = await _app_password(client)
    key = md5(f"{OWNER}:{secret}".encode(), usedforsecurity=False).hexdigest()
    for number in range(60):
        assert not await _fever(client, "203.0.113.7", f"{number:032x}")
        assert await _google_reader(client, "203.0.113.7", f"guess{number}") in (401, 403, 429)
    assert await _fever(client, "203.0.113.8", key)


async def test_an_address_cannot_be_changed_within_a_network_of_ipv6(client: Client) -> None:
    tries = [await _log_in(client, f"2001:db8:1:2::{number:x}", "guess") for number in range(3 * BURST)]
    assert tries.count(429) >= BURST, tries


async def test_what_stands_left_of_the_proxy_s_word_changes_nothing(client: Client) -> None:
    tries = [
        await _log_in(client, f"198.51.100.{number}, 203.0.113.9", f"guess{number}") for number in range(3 * BURST)
    ]
    assert tries.count(429) >= BURST, tries


async def test_an_account_attacked_from_everywhere_is_guarded_too(client: Client) -> None:
    """A thousand machines with a try each: the account itself has a limit."""
    tries = [await _log_in(client, f"203.0.{number // 250}.{number % 250}", f"guess{number}") for number in range(300)]
    assert tries.count(429) > 100, {status: tries.count(status) for status in set(tries)}


async def test_a_wrong_address_is_told_like_a_wrong_password(client: Client) -> None:
    wrong = await client.post("/api/v1/auth/login", json={"email": OWNER, "password": "nope nope nope"})
    nobody = await client.post("/api/v1/auth/login", json={"email": "no@example.org", "password": "nope"})
    assert (wrong.status_code, wrong.json()) == (nobody.status_code, nobody.json()) == (401, wrong.json())


async def test_tokens_cannot_be_guessed_fast(client: Client) -> None:
    """Thirty-two random bytes cannot be guessed at all; a flood of guesses is still not for free."""
    statuses = {
        (await client.get("/api/v1/entries", headers={"Authorization": f"Bearer {number:043d}"})).status_code
        for number in range(50)
    }
    assert statuses <= {401, 429}


async def _app_password(client: Client) -> str:
    login = {"email": OWNER, "password": PASSWORD}
    answer = await client.post("/api/v1/auth/login", json=login, headers=from_("203.0.113.99"))
    bearer = {"Authorization": f"Bearer {answer.json()['token']}"}
    made = await client.post("/api/v1/users/me/tokens", json={"name": "Phone", "kind": "app_password"}, headers=bearer)
    return made.json()["secret"]


async def _fever(client: Client, ip: str, key: str) -> bool:
    answer = await client.post("/fever/?api", data={"api_key": key}, headers=from_(ip))
    return answer.status_code == 200 and answer.json()["auth"] == 1


async def test_the_right_password_opens_the_account_before_the_limit(client: Client) -> None:
    assert await _log_in(client, "203.0.113.50", PASSWORD) == 200


ATTACKERS = [f"198.51.100.{number}" for number in range(1, 5)]
RIGHT_LOGINS = 15


async def _attack(runtime: Runtime) -> list[int]:
    """Each address guesses until it is stopped, and goes on."""
    async with new_client(create_app(runtime)) as attacker:
        return [await _log_in(attacker, ip, f"guess{n}") for n in range(3 * BURST) for ip in ATTACKERS]


async def test_a_fresh_address_gets_in_while_others_guess(client: Client, runtime: Runtime) -> None:
    statuses: list[int] = []
    for _ in range(RIGHT_LOGINS):
        assert set(await _attack(runtime)) <= {401, 429}
        client.cookies.clear()
        statuses.append(await _log_in(client, "203.0.113.7", PASSWORD))
    assert statuses == [200] * RIGHT_LOGINS


async def test_a_known_device_gets_in_even_from_an_address_that_guesses(client: Client, runtime: Runtime) -> None:
    assert await _log_in_by_page(client, "203.0.113.7", PASSWORD) == 303
    del client.cookies["reedbed_session"]
    statuses: list[int] = []
    for _ in range(RIGHT_LOGINS):
        await _attack(runtime)
        statuses.append(await _log_in(client, ATTACKERS[0], PASSWORD))
    assert statuses == [200] * RIGHT_LOGINS


async def test_a_new_phone_may_mistype_while_others_guess(client: Client, runtime: Runtime) -> None:
    await _attack(runtime)
    tries = [await _log_in(client, "203.0.113.7", password) for password in ("wrong", "wrogn", PASSWORD)]
    assert tries == [401, 401, 200]


async def test_a_device_is_known_to_the_accounts_that_were_opened_in_it_and_to_no_other(
    client: Client, runtime: Runtime
) -> None:
    await _log_in(client, "203.0.113.7", PASSWORD)
    cookie = client.cookies["reedbed_device"]
    assert known_device(runtime.secret, cookie, OWNER)
    assert known_device(runtime.secret, cookie, "other@example.org") is None
    both = remember_device(runtime.secret, cookie, "other@example.org")
    assert known_device(runtime.secret, both, OWNER) == known_device(runtime.secret, both, "other@example.org")
    for forged in ("", ".", "a.b", f"x{cookie}", cookie[:-1], cookie.partition(".")[0], "a." * 500, "ä.ö"):
        assert known_device(runtime.secret, forged, OWNER) is None


async def test_a_stolen_device_cookie_gets_only_so_many_tries(runtime: Runtime) -> None:
    tried = 0
    for number in range(300):
        with suppress(TooMany):
            await charge_login(runtime, OWNER, f"203.0.{number // 250}.{number % 250}", "stolen")
            tried += 1
    assert tried <= 10 + 130 + 2  # what a second or two adds


async def test_one_time_codes_are_guessed_slowly_from_everywhere_and_lock_nobody_out(
    client: Client, harness: RuntimeHarness
) -> None:
    """By somebody who knows the password: ten tries, then one in six minutes."""
    secret, recovery = await _turn_codes_on(client)
    harness.clock.ahead += MINUTE
    assert await _log_in_with(client, "203.0.113.99", _code(harness, secret)) == 200
    device = client.cookies["reedbed_device"]
    client.cookies.clear()
    right = {_code(harness, secret, drift) for drift in range(-1, 5)}
    guesses = [code for code in (f"{number:06}" for number in range(60)) if code not in right]
    tries = [await _log_in_with(client, f"198.51.{n % 200}.7", code) for n, code in enumerate(guesses)]
    assert tries.count(401) <= 11 and tries.count(429) >= len(guesses) - 11 and 200 not in tries
    harness.clock.ahead += MINUTE
    assert await _log_in_with(client, "203.0.113.50", recovery) == 200
    client.cookies.clear()
    client.cookies.set("reedbed_device", device)
    assert await _log_in_with(client, "203.0.113.51", _code(harness, secret)) == 200


async def test_the_limit_of_codes_holds_on_the_page_too(client: Client) -> None:
    await _turn_codes_on(client)
    page = await client.get("/login")
    token = page.text.partition('name="csrf_token" value="')[2].partition('"')[0]
    form = {"email": OWNER, "password": PASSWORD, "csrf_token": token}
    ticket = (await client.post("/login", data=form)).text.partition('name="ticket" value="')[2].partition('"')[0]
    tries = [
        (
            await client.post(
                "/login/code", data={**form, "ticket": ticket, "code": f"{n:06}"}, headers=from_(f"198.51.{n}.7")
            )
        ).status_code
        for n in range(40)
    ]
    assert tries.count(401) <= 11 and set(tries) == {401, 429}


def _code(harness: RuntimeHarness, secret: bytes, drift: int = 0) -> str:
    return code_of(secret, harness.runtime.now() // STEP + drift)


async def _log_in_with(client: Client, ip: str, code: str) -> int:
    body = {"email": OWNER, "password": PASSWORD, "code": code}
    return (await client.post("/api/v1/auth/login", json=body, headers=from_(ip))).status_code


async def _turn_codes_on(client: Client) -> tuple[bytes, str]:
    login = {"email": OWNER, "password": PASSWORD}
    token = (await client.post("/api/v1/auth/login", json=login, headers=from_("203.0.113.99"))).json()["token"]
    client.cookies.clear()
    bearer = {"Authorization": f"Bearer {token}"}
    secret = secret_bytes((await client.post("/api/v1/users/me/codes", headers=bearer)).json()["secret"])
    code = {"code": code_of(secret, system_clock() // STEP)}
    made = await client.post("/api/v1/users/me/codes/enable", json=code, headers=bearer)
    return secret, made.json()["recovery_codes"][0]
