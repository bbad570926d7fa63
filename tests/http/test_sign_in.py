"""Logging in with an account elsewhere, against a real provider on loopback."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest

from reedbed.domain.accounts import User
from reedbed.domain.identities import Provider
from reedbed.domain.limits import Allowance, Limits
from reedbed.domain.times import HOUR, MINUTE
from reedbed.ingest.exchange import Exchanger
from reedbed.ingest.oidc import OidcClient
from reedbed.roles.app import create_app
from reedbed.services.mail_links import make_link
from reedbed.services.runtime import AccountPolicy, SignInPolicy
from reedbed.services.secrets import hash_password
from reedbed.store import users
from tests.clients import BASE_URL, Client, new_client
from tests.crawling import Crawl
from tests.oidcprovider import CLIENT, SECRET, OidcProvider

PASSWORD = "seven herons in the reeds"
PLENTY = Allowance(1_000, 1_000)
Browse = Callable[..., Client]


@pytest.fixture
async def provider() -> AsyncIterator[OidcProvider]:
    async with OidcProvider() as provider:
        yield provider


@pytest.fixture
async def browse(crawl: Crawl, provider: OidcProvider) -> AsyncIterator[Browse]:
    """A new browser at a server that knows this provider."""
    opened: list[Client] = []
    exchanger = Exchanger([provider.url], user_agent="tests", timeout=5)
    crawl.runtime = replace(
        crawl.runtime,
        limits=Limits(PLENTY, PLENTY, PLENTY, PLENTY),
        sign_in=SignInPolicy({"oidc": provider.as_oidc()}, OidcClient(exchanger, crawl.clock)),
    )

    def browse(*others: Provider, registration: str = "closed", **changes: Any) -> Client:
        known = crawl.runtime.sign_in.providers | {each.key: each for each in others}
        crawl.runtime = replace(
            crawl.runtime,
            accounts=AccountPolicy(registration=registration),
            sign_in=replace(crawl.runtime.sign_in, providers=known),
            **changes,
        )
        opened.append(new_client(create_app(crawl.runtime)))
        return opened[-1]

    yield browse
    for client in opened:
        await client.aclose()
    await exchanger.close()


async def test_a_linked_account_logs_in(crawl: Crawl, provider: OidcProvider, browse: Browse) -> None:
    await _person(crawl)
    browser = browse()
    await _link(browser, provider)
    other = browse()

    back = await _go(other, provider, "/login/with/oidc?next=/starred")

    assert (back.status_code, back.headers["location"]) == (303, "/starred")
    assert (await other.get("/api/v1/users/me")).json()["email"] == "reader@example.org"
    asked = provider.asked[-1]
    assert (asked["client_id"], asked["response_type"], asked["code_challenge_method"]) == (
        CLIENT,
        "code",
        "S256",
    )
    assert asked["scope"] == "openid email profile"
    assert asked["redirect_uri"] == f"{BASE_URL}/api/v1/auth/oidc/callback"
    assert provider.redeemed[-1]["client_secret"] == SECRET
    kinds = await crawl.column("SELECT kind FROM event_log ORDER BY id")
    assert kinds.count("identity_linked") == 1 and kinds[-1] == "user_login"


async def test_an_account_is_linked_only_by_its_password(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    browser = browse()
    back = await _go(browser, provider)
    assert back.headers["location"].startswith("/login/finish?ticket=")
    assert (await browser.get("/api/v1/users/me")).status_code == 401

    page = await browser.get(back.headers["location"])
    assert "reader@example.org" in page.text and "Reed ID" in page.text
    wrong = await _send(browser, page.text, password="not the password")
    assert wrong.status_code == 400 and "not your password" in wrong.text
    assert await crawl.rows("SELECT * FROM identities") == []

    right = await _send(browser, page.text, password=PASSWORD)
    assert right.status_code == 303
    assert (await browser.get("/api/v1/users/me")).json()["email"] == "reader@example.org"
    again = await _send(browser, page.text, password=PASSWORD)
    assert again.status_code == 400


async def test_a_ticket_is_good_in_its_own_browser_only(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    browser, thief = browse(), browse()
    back = await _go(browser, provider)
    page = await browser.get(back.headers["location"])
    assert (await thief.get(back.headers["location"])).status_code == 400
    await thief.get("/login")
    stolen = await thief.post(
        "/login/finish",
        data={
            **_fields((await thief.get("/login")).text),
            "ticket": _fields(page.text)["ticket"],
            "act": "link",
        },
    )
    assert stolen.status_code == 400
    assert await crawl.rows("SELECT * FROM identities") == []


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
    crawl: Crawl, provider: OidcProvider, browse: Browse, lies: dict[str, Any]
) -> None:
    await _person(crawl)
    await _link(browse(), provider)
    browser = browse()
    provider.lies = lies
    back = await _go(browser, provider)
    assert back.status_code == 401
    assert "Logging in with Reed ID did not work" in back.text
    assert (await browser.get("/api/v1/users/me")).status_code == 401


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
async def test_a_token_without_a_real_signature_opens_nothing(
    crawl: Crawl, provider: OidcProvider, browse: Browse, algorithm: str
) -> None:
    await _person(crawl)
    await _link(browse(), provider)
    provider.algorithm = algorithm
    assert (await _go(browse(), provider)).status_code == 401


async def test_a_token_of_another_key_opens_nothing_and_a_rotated_one_does(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    await _link(browse(), provider)
    true_id = provider.key_id
    provider.rotate()
    forged_with, provider.key_id = provider.key_id, true_id
    assert (await _go(browse(), provider)).status_code == 401
    provider.key_id = forged_with
    assert (await _go(browse(), provider)).status_code == 401  # asked a moment ago: not asked again
    asked = provider.key_requests
    crawl.clock.ahead += 2 * MINUTE
    provider.lies = {"iat": None} | _moments(crawl)
    assert (await _go(browse(), provider)).status_code == 303
    assert provider.key_requests == asked + 1


@pytest.mark.parametrize("state", ["", "wrong", "é", "x" * 5_000])
async def test_a_state_that_was_not_given_out_is_refused(
    crawl: Crawl, provider: OidcProvider, browse: Browse, state: str
) -> None:
    await _person(crawl)
    browser = browse()
    begun = await browser.get("/login/with/oidc")
    back = dict(parse_qsl(urlsplit(provider.approve(begun.headers["location"])).query))
    answer = await browser.get("/login/back/oidc", params=back | {"state": state})
    assert answer.status_code == 400
    assert provider.redeemed == []


async def test_a_state_is_good_once_for_a_while_and_in_its_own_browser(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    browser, other = browse(), browse()
    begun = await browser.get("/login/with/oidc")
    await other.get("/login/with/oidc")
    back = provider.approve(begun.headers["location"])
    assert (await _back(other, back)).status_code == 400
    assert (await _back(browser, back)).status_code == 303
    assert (await _back(browser, back)).status_code == 400
    late = await browser.get("/login/with/oidc")
    crawl.clock.ahead += HOUR
    assert (await _back(browser, provider.approve(late.headers["location"]))).status_code == 400
    assert len(provider.redeemed) == 1


async def test_a_state_of_one_provider_is_not_good_for_another(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    browser = browse(replace(provider.as_oidc(), key="google", name="Google"))
    begun = await browser.get("/login/with/google")
    back = urlsplit(provider.approve(begun.headers["location"]))
    assert back.path == "/api/v1/auth/oauth/google/callback"
    assert (await _back(browser, f"/api/v1/auth/oidc/callback?{back.query}")).status_code == 400


async def test_whoever_says_no_is_told_so(crawl: Crawl, provider: OidcProvider, browse: Browse) -> None:
    await _person(crawl)
    browser = browse()
    begun = await browser.get("/login/with/oidc")
    state = dict(parse_qsl(urlsplit(begun.headers["location"]).query))["state"]
    back = await _back(browser, f"/api/v1/auth/oidc/callback?error=access_denied&state={state}")
    assert back.status_code == 400 and "Reed ID was told no" in back.text


async def test_an_unverified_address_finds_no_account(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    for verified in (False, None, "false", 1.5):
        provider.claims["email_verified"] = verified
        back = await _go(browse(registration="open"), provider)
        assert back.status_code == 403 and "does not vouch" in back.text
    assert await crawl.rows("SELECT * FROM identities") == []


@pytest.mark.parametrize("registration", ["closed", "invite"])
async def test_strangers_come_in_as_the_policy_says(
    crawl: Crawl, provider: OidcProvider, browse: Browse, registration: str
) -> None:
    await _person(crawl)
    provider.claims |= {"sub": "7", "email": "new@example.org"}
    browser = browse(registration=registration)
    assert (await _go(browser, provider)).status_code == 403
    assert await crawl.column("SELECT count(*) FROM users") == [1]


async def test_an_open_server_makes_an_account_after_the_privacy_note(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    provider.claims |= {"sub": "7", "email": "New@Example.org"}
    browser = browse(registration="open")
    back = await _go(browser, provider)
    page = await browser.get(back.headers["location"])
    assert (await _send(browser, page.text)).status_code == 400
    assert await crawl.column("SELECT count(*) FROM users") == [1]
    made = await _send(browser, page.text, privacy="true")
    assert made.status_code == 303
    me = (await browser.get("/api/v1/users/me")).json()
    assert (me["email"], me["role"]) == ("new@example.org", "user")
    (link,) = (await browser.get("/api/v1/users/me/identities")).json()["items"]
    refused = await browser.delete(f"/api/v1/users/me/identities/{link['id']}", headers=_own_page())
    assert refused.status_code == 409  # the only way in


async def test_an_account_without_a_password_is_proved_by_a_fresh_login(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    provider.claims |= {"sub": "7", "email": "new@example.org"}
    browser = browse(registration="open")
    back = await _go(browser, provider)
    await _send(browser, (await browser.get(back.headers["location"])).text, privacy="true")
    shown = await browser.get("/settings/account")
    assert "current_password" not in shown.text and "delete_password" not in shown.text
    crawl.clock.ahead += HOUR
    typed = {"password": PASSWORD}
    late = await browser.post("/settings/password", data=typed, headers=_own_page())
    assert late.status_code == 400 and "log in again" in late.text
    provider.lies = _moments(crawl)
    await _go(browser, provider)
    assert (await browser.post("/settings/password", data=typed, headers=_own_page())).status_code == 303
    await _log_in(browse(), "new@example.org")


async def test_an_invitation_is_for_its_own_address(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    provider.claims |= {"sub": "7", "email": "new@example.org"}
    browser = browse(registration="invite")
    for address, status in (("other@example.org", 400), ("new@example.org", 303)):
        invite = (await make_link(crawl.runtime, "invite", address, None)).rpartition("=")[2]
        back = await _go(browser, provider, f"/login/with/oidc?invite={invite}")
        page = await browser.get(back.headers["location"])
        assert (await _send(browser, page.text, privacy="true")).status_code == status


async def test_who_is_logged_in_links_another_address_with_their_password(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    provider.claims |= {"email": "elsewhere@example.org", "email_verified": False}
    browser = browse()
    await _log_in(browser)
    back = await _go(browser, provider, "/settings/account/link/oidc")
    page = await browser.get(back.headers["location"])
    assert (await _send(browser, page.text, password="wrong")).status_code == 400
    assert (await _send(browser, page.text, password=PASSWORD)).headers["location"] == "/settings/account"
    shown = await browser.get("/settings/account")
    assert "Reed ID elsewhere@example.org" in shown.text
    (link,) = (await browser.get("/api/v1/users/me/identities")).json()["items"]
    unlinked = await browser.post(
        "/settings/account/unlink",
        data={"csrf_token": _fields(shown.text)["csrf_token"], "provider": link["id"]},
    )
    assert unlinked.status_code == 303
    assert await crawl.rows("SELECT * FROM identities") == []


async def test_a_link_is_only_for_who_began_it(crawl: Crawl, provider: OidcProvider, browse: Browse) -> None:
    await _person(crawl)
    await _person(crawl, "other@example.org")
    browser = browse()
    await _log_in(browser)
    back = await _go(browser, provider, "/settings/account/link/oidc")
    page = await browser.get(back.headers["location"])
    browser.cookies.delete("reedbed_session")
    await _log_in(browser, "other@example.org")
    fresh = await browser.get(back.headers["location"])
    assert (await _send(browser, fresh.text, password=PASSWORD)).status_code == 401
    assert page.status_code == 200
    assert await crawl.rows("SELECT * FROM identities") == []


async def test_an_identity_opens_one_account_only(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    await _person(crawl, "other@example.org")
    await _link(browse(), provider)
    browser = browse()
    await _log_in(browser, "other@example.org")
    back = await _go(browser, provider, "/settings/account/link/oidc")
    page = await browser.get(back.headers["location"])
    assert (await _send(browser, page.text, password=PASSWORD)).status_code == 409
    assert len(await crawl.rows("SELECT * FROM identities")) == 1


async def test_a_disabled_account_stays_closed(crawl: Crawl, provider: OidcProvider, browse: Browse) -> None:
    await _person(crawl)
    await _link(browse(), provider)
    await crawl.change("UPDATE users SET disabled_at = 1")
    assert (await _go(browse(), provider)).status_code == 403


async def test_logging_out_leads_to_the_provider_as_well(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    browser = browse()
    await _link(browser, provider)
    gone = await browser.post("/logout", headers=_own_page())
    assert gone.headers["refresh"].startswith(f"0; url={provider.url}/end?client_id=reedbed&")
    assert (await browser.get("/api/v1/users/me")).status_code == 401
    await _log_in(browser)
    plain = await browser.post("/logout", headers=_own_page())
    assert plain.headers["location"] == "/login"


async def test_a_provider_that_is_not_who_it_says_is_not_used(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    provider.metadata = {"issuer": "https://evil.example"}
    begun = await browse().get("/login/with/oidc")
    assert begun.status_code == 503 and "does not answer" in begun.text
    assert await crawl.rows("SELECT * FROM sign_ins") == []


async def test_being_sent_back_by_another_issuer_is_refused(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    browser = browse()
    begun = await browser.get("/login/with/oidc")
    back = provider.approve(begun.headers["location"]).replace("&iss=", "&iss=https://evil.example/")
    assert (await _back(browser, back)).status_code == 401
    assert provider.redeemed == []
    assert (await _go(browser, provider)).status_code == 303


async def test_the_address_may_come_from_the_userinfo_endpoint(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    provider.only_userinfo = True
    back = await _go(browse(), provider)
    assert back.headers["location"].startswith("/login/finish")


async def test_apple_sends_a_form_and_takes_a_signed_note(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
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
    note = jwt.decode(
        provider.redeemed[-1]["client_secret"], public_key, algorithms=["ES256"], audience=provider.url
    )
    assert (note["iss"], note["sub"]) == ("TEAM", CLIENT)


async def test_facebook_logs_in_who_has_linked_it(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    browser = browse(provider.as_facebook())
    assert (await _go(browser, provider, "/login/with/facebook")).status_code == 403  # vouches for no address
    await _log_in(browser)
    back = await _go(browser, provider, "/settings/account/link/facebook")
    page = await browser.get(back.headers["location"])
    await _send(browser, page.text, password=PASSWORD)
    assert (await _go(browse(), provider, "/login/with/facebook")).headers["location"] == "/"


async def test_the_doors_say_what_there_is(crawl: Crawl, provider: OidcProvider, browse: Browse) -> None:
    await _person(crawl)
    browser = browse()
    (shown,) = (await browser.get("/api/v1/auth/oauth")).json()["items"]
    assert shown["name"] == "Reed ID"
    status = (await browser.get("/api/v1/auth/oidc")).json()
    assert (status["enabled"], status["login_url"]) == (True, f"{BASE_URL}/login/with/oidc")
    for door in ("/api/v1/auth/oidc/login", "/api/v1/auth/oauth/oidc"):
        assert (await browser.get(door)).json()["url"].startswith(f"{provider.url}/authorize?")
    assert (await browser.get("/api/v1/auth/oauth/myspace")).status_code == 404
    assert "Continue with Reed ID" in (await browser.get("/login")).text
    plain = new_client(create_app(replace(crawl.runtime, sign_in=SignInPolicy())))
    async with plain:
        assert (await plain.get("/api/v1/auth/oidc")).json()["enabled"] is False
        assert "Continue with" not in (await plain.get("/login")).text


async def test_sign_ins_are_limited(crawl: Crawl, provider: OidcProvider, browse: Browse) -> None:
    await _person(crawl)
    browser = browse(limits=Limits(login=Allowance(2, 0.001)))
    statuses = [(await browser.get("/login/with/oidc")).status_code for _ in range(3)]
    assert statuses == [303, 303, 429]
    backs = [(await browser.get("/login/back/oidc?state=x")).status_code for _ in range(3)]
    assert backs == [400, 400, 429]


async def test_another_server_in_a_private_network_is_not_reached_for_the_provider(
    crawl: Crawl, provider: OidcProvider, browse: Browse
) -> None:
    await _person(crawl)
    async with OidcProvider() as inner:
        provider.metadata = {"token_endpoint": f"{inner.url}/token"}
        assert (await _go(browse(), provider)).status_code == 401
        assert inner.redeemed == []


async def _person(crawl: Crawl, email: str = "reader@example.org") -> User:
    hashed = await hash_password(PASSWORD)
    async with crawl.runtime.db.write() as tx:
        return await users.add(tx, email=email, password_hash=hashed, role="user", now=1, verified=True)


async def _log_in(browser: Client, email: str = "reader@example.org") -> None:
    page = await browser.get("/login")
    token = _fields(page.text)["csrf_token"]
    answer = await browser.post("/login", data={"email": email, "password": PASSWORD, "csrf_token": token})
    assert answer.status_code == 303


async def _go(browser: Client, provider: OidcProvider, door: str = "/login/with/oidc") -> Any:
    """To the provider and back, as somebody who says yes."""
    begun = await browser.get(door)
    assert begun.status_code == 303, begun.text
    return await _back(browser, provider.approve(begun.headers["location"]))


async def _back(browser: Client, url: str) -> Any:
    """Our callback leads on to a page."""
    on = await browser.get(_path(url))
    return await browser.get(on.headers["location"])


async def _link(browser: Client, provider: OidcProvider) -> None:
    back = await _go(browser, provider)
    page = await browser.get(back.headers["location"])
    assert (await _send(browser, page.text, password=PASSWORD)).status_code == 303


async def _send(browser: Client, page: str, **typed: str) -> Any:
    act = "register" if 'value="register"' in page else "link"
    return await browser.post("/login/finish", data={**_fields(page), "act": act, **typed})


def _own_page() -> dict[str, str]:
    return {"Sec-Fetch-Site": "same-origin"}


def _moments(crawl: Crawl) -> dict[str, int]:
    now = crawl.runtime.now() // 1000
    return {"iat": now, "exp": now + 300}


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


class _Hidden(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input" and given.get("type") == "hidden":
            self.fields.setdefault(str(given["name"]), given.get("value") or "")


def _fields(page: str) -> dict[str, str]:
    reader = _Hidden()
    reader.feed(page)
    return reader.fields
