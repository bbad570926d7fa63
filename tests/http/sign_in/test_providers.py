"""What a provider has to prove before it opens an account, and the ways the known ones speak."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest

from reedbed.domain.times import HOUR, MINUTE
from reedbed.domain.users import Allowance, RateLimits
from reedbed.roles.app import create_app
from reedbed.services.runtime import SignInPolicy
from tests.clients import BASE_URL, new_client
from tests.harness import RuntimeHarness
from tests.http.sign_in.walk import PASSWORD, Browse, come_back, go, link_account, log_in, moments, new_person, send
from tests.oidcprovider import CLIENT, OidcProvider


@pytest.mark.parametrize(
    "lies",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": ["another", "third"]},
        {"azp": "another"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"exp": "tomorrow"},
        {"iat": 4_000_000_000},
        {"nbf": 4_000_000_000},
        {"sub": None},
        {"sub": ""},
        {"sub": 42},
    ],
    ids=str,
)
async def test_a_token_that_lies_opens_nothing(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse, lies: dict[str, Any]
) -> None:
    await new_person(harness)
    await link_account(browse(), provider)
    browser = browse()
    provider.lies = lies
    back = await go(browser, provider)
    assert back.status_code == 401
    assert "Logging in with Reed ID did not work" in back.text
    assert (await browser.get("/api/v1/users/me")).status_code == 401


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
async def test_a_token_without_a_real_signature_opens_nothing(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse, algorithm: str
) -> None:
    await new_person(harness)
    await link_account(browse(), provider)
    provider.algorithm = algorithm
    assert (await go(browse(), provider)).status_code == 401


async def test_a_token_of_another_key_opens_nothing_and_a_rotated_one_does(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    await link_account(browse(), provider)
    true_id = provider.key_id
    provider.rotate()
    forged_with, provider.key_id = provider.key_id, true_id
    assert (await go(browse(), provider)).status_code == 401
    provider.key_id = forged_with
    assert (await go(browse(), provider)).status_code == 401  # asked a moment ago: not asked again
    asked = provider.key_requests
    harness.clock.ahead += 2 * MINUTE
    provider.lies = {"iat": None} | moments(harness)
    assert (await go(browse(), provider)).status_code == 303
    assert provider.key_requests == asked + 1


@pytest.mark.parametrize("state", ["", "wrong", "é", "x" * 5_000])
async def test_a_state_that_was_not_given_out_is_refused(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse, state: str
) -> None:
    await new_person(harness)
    browser = browse()
    begun = await browser.get("/login/with/oidc")
    back = dict(parse_qsl(urlsplit(provider.approve(begun.headers["location"])).query))
    answer = await browser.get("/login/back/oidc", params=back | {"state": state})
    assert answer.status_code == 400
    assert provider.redeemed == []


async def test_a_state_is_good_once_for_a_while_and_in_its_own_browser(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    browser, other = browse(), browse()
    begun = await browser.get("/login/with/oidc")
    await other.get("/login/with/oidc")
    back = provider.approve(begun.headers["location"])
    assert (await come_back(other, back)).status_code == 400
    assert (await come_back(browser, back)).status_code == 303
    assert (await come_back(browser, back)).status_code == 400
    late = await browser.get("/login/with/oidc")
    harness.clock.ahead += HOUR
    assert (await come_back(browser, provider.approve(late.headers["location"]))).status_code == 400
    assert len(provider.redeemed) == 1


async def test_a_state_of_one_provider_is_not_good_for_another(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    browser = browse(replace(provider.as_oidc(), key="google", name="Google"))
    begun = await browser.get("/login/with/google")
    back = urlsplit(provider.approve(begun.headers["location"]))
    assert back.path == "/api/v1/auth/oauth/google/callback"
    assert (await come_back(browser, f"/api/v1/auth/oidc/callback?{back.query}")).status_code == 400


async def test_whoever_says_no_is_told_so(harness: RuntimeHarness, provider: OidcProvider, browse: Browse) -> None:
    await new_person(harness)
    browser = browse()
    begun = await browser.get("/login/with/oidc")
    state = dict(parse_qsl(urlsplit(begun.headers["location"]).query))["state"]
    back = await come_back(browser, f"/api/v1/auth/oidc/callback?error=access_denied&state={state}")
    assert back.status_code == 400 and "You cancelled logging in with Reed ID" in back.text


async def test_a_provider_that_is_not_who_it_says_is_not_used(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    provider.metadata = {"issuer": "https://evil.example"}
    begun = await browse().get("/login/with/oidc")
    assert begun.status_code == 503 and "is not responding" in begun.text
    assert await harness.rows("SELECT * FROM sign_ins") == []


async def test_being_sent_back_by_another_issuer_is_refused(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    browser = browse()
    begun = await browser.get("/login/with/oidc")
    back = provider.approve(begun.headers["location"]).replace("&iss=", "&iss=https://evil.example/")
    assert (await come_back(browser, back)).status_code == 401
    assert provider.redeemed == []
    assert (await go(browser, provider)).status_code == 303


async def test_the_address_may_come_from_the_userinfo_endpoint(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    provider.only_userinfo = True
    back = await go(browse(), provider)
    assert back.headers["location"].startswith("/login/finish")


async def test_apple_sends_a_form_and_takes_a_signed_note(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    apple, public_key = provider.as_apple()
    browser = browse(apple)
    begun = await browser.get("/login/with/apple")
    assert provider.approve(begun.headers["location"])
    back = urlsplit(provider.approve(begun.headers["location"]))
    assert provider.asked[-1]["response_mode"] == "form_post"
    sent = {"data": dict(parse_qsl(back.query)), "headers": {"Origin": "https://appleid.apple.com"}}
    on = await browser.post(back.path, **sent)
    assert on.status_code == 307
    answer = await browser.post(on.headers["location"], **sent)
    assert answer.status_code == 303 and answer.headers["location"].startswith("/login/finish")
    note = jwt.decode(provider.redeemed[-1]["client_secret"], public_key, algorithms=["ES256"], audience=provider.url)
    assert (note["iss"], note["sub"]) == ("TEAM", CLIENT)


async def test_facebook_logs_in_who_has_linked_it(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    browser = browse(provider.as_facebook())
    assert (await go(browser, provider, "/login/with/facebook")).status_code == 403  # vouches for no address
    await log_in(browser)
    back = await go(browser, provider, "/settings/account/link/facebook")
    page = await browser.get(back.headers["location"])
    await send(browser, page.text, password=PASSWORD)
    assert (await go(browse(), provider, "/login/with/facebook")).headers["location"] == "/"


async def test_the_endpoints_say_what_there_is(harness: RuntimeHarness, provider: OidcProvider, browse: Browse) -> None:
    await new_person(harness)
    browser = browse()
    (shown,) = (await browser.get("/api/v1/auth/oauth")).json()["items"]
    assert shown["name"] == "Reed ID"
    status = (await browser.get("/api/v1/auth/oidc")).json()
    assert (status["enabled"], status["login_url"]) == (True, f"{BASE_URL}/login/with/oidc")
    for endpoint in ("/api/v1/auth/oidc/login", "/api/v1/auth/oauth/oidc"):
        assert (await browser.get(endpoint)).json()["url"].startswith(f"{provider.url}/authorize?")
    assert (await browser.get("/api/v1/auth/oauth/myspace")).status_code == 404
    assert "Continue with Reed ID" in (await browser.get("/login")).text
    plain = new_client(create_app(replace(harness.runtime, sign_in=SignInPolicy())))
    async with plain:
        assert (await plain.get("/api/v1/auth/oidc")).json()["enabled"] is False
        assert "Continue with" not in (await plain.get("/login")).text


async def test_sign_ins_are_limited(harness: RuntimeHarness, provider: OidcProvider, browse: Browse) -> None:
    await new_person(harness)
    browser = browse(limits=RateLimits(login=Allowance(2, 0.001)))
    statuses = [(await browser.get("/login/with/oidc")).status_code for _ in range(3)]
    assert statuses == [303, 303, 429]
    backs = [(await browser.get("/login/back/oidc?state=x")).status_code for _ in range(3)]
    assert backs == [400, 400, 429]


async def test_another_server_in_a_private_network_is_not_reached_for_the_provider(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    async with OidcProvider() as inner:
        provider.metadata = {"token_endpoint": f"{inner.url}/token"}
        assert (await go(browse(), provider)).status_code == 401
        assert inner.redeemed == []
