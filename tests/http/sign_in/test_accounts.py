"""Which account opens to whoever logs in with an account elsewhere, against a real provider on loopback."""

import pytest

from reedbed.domain.times import HOUR
from reedbed.services.email import make_link
from tests.clients import BASE_URL
from tests.harness import RuntimeHarness
from tests.http.sign_in.walk import PASSWORD, Browse, go, hidden_fields, link_account, log_in, moments, new_person, send
from tests.http.web.forms import OWN_PAGE
from tests.oidcprovider import CLIENT, SECRET, OidcProvider


async def test_a_linked_account_logs_in(harness: RuntimeHarness, provider: OidcProvider, browse: Browse) -> None:
    await new_person(harness)
    browser = browse()
    await link_account(browser, provider)
    other = browse()

    back = await go(other, provider, "/login/with/oidc?next=/starred")

    assert (back.status_code, back.headers["location"]) == (303, "/starred")
    assert (await other.get("/api/v1/users/me")).json()["email"] == "reader@example.org"
    asked = provider.asked[-1]
    assert (asked["client_id"], asked["response_type"], asked["code_challenge_method"]) == (CLIENT, "code", "S256")
    assert asked["scope"] == "openid email profile"
    assert asked["redirect_uri"] == f"{BASE_URL}/api/v1/auth/oidc/callback"
    assert provider.redeemed[-1]["client_secret"] == SECRET
    kinds = await harness.column("SELECT kind FROM event_log ORDER BY id")
    assert kinds.count("identity_linked") == 1 and kinds[-1] == "user_login"


async def test_an_account_is_linked_only_by_its_password(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    browser = browse()
    back = await go(browser, provider)
    assert back.headers["location"].startswith("/login/finish?ticket=")
    assert (await browser.get("/api/v1/users/me")).status_code == 401

    page = await browser.get(back.headers["location"])
    assert "reader@example.org" in page.text and "Reed ID" in page.text
    wrong = await send(browser, page.text, password="not the password")
    assert wrong.status_code == 400 and "not your password" in wrong.text
    assert await harness.rows("SELECT * FROM identities") == []

    right = await send(browser, page.text, password=PASSWORD)
    assert right.status_code == 303
    assert (await browser.get("/api/v1/users/me")).json()["email"] == "reader@example.org"
    again = await send(browser, page.text, password=PASSWORD)
    assert again.status_code == 400


async def test_a_ticket_is_good_in_its_own_browser_only(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    browser, thief = browse(), browse()
    back = await go(browser, provider)
    page = await browser.get(back.headers["location"])
    assert (await thief.get(back.headers["location"])).status_code == 400
    await thief.get("/login")
    stolen = await thief.post(
        "/login/finish",
        data={
            **hidden_fields((await thief.get("/login")).text),
            "ticket": hidden_fields(page.text)["ticket"],
            "act": "link",
        },
    )
    assert stolen.status_code == 400
    assert await harness.rows("SELECT * FROM identities") == []


async def test_an_unverified_address_finds_no_account(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    for verified in (False, None, "false", 1.5):
        provider.claims["email_verified"] = verified
        back = await go(browse(registration="open"), provider)
        assert back.status_code == 403 and "has not verified" in back.text
    assert await harness.rows("SELECT * FROM identities") == []


@pytest.mark.parametrize("registration", ["closed", "invite"])
async def test_strangers_come_in_as_the_policy_says(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse, registration: str
) -> None:
    await new_person(harness)
    provider.claims |= {"sub": "7", "email": "new@example.org"}
    browser = browse(registration=registration)
    assert (await go(browser, provider)).status_code == 403
    assert await harness.column("SELECT count(*) FROM users") == [1]


async def test_an_open_server_makes_an_account_after_the_privacy_note(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    provider.claims |= {"sub": "7", "email": "New@Example.org"}
    browser = browse(registration="open")
    back = await go(browser, provider)
    page = await browser.get(back.headers["location"])
    assert (await send(browser, page.text)).status_code == 400
    assert await harness.column("SELECT count(*) FROM users") == [1]
    made = await send(browser, page.text, privacy="true")
    assert made.status_code == 303
    me = (await browser.get("/api/v1/users/me")).json()
    assert (me["email"], me["role"]) == ("new@example.org", "user")
    (link,) = (await browser.get("/api/v1/users/me/identities")).json()["items"]
    refused = await browser.delete(f"/api/v1/users/me/identities/{link['id']}", headers=OWN_PAGE)
    assert refused.status_code == 409  # the only way in


async def test_an_account_without_a_password_is_proved_by_a_fresh_login(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    provider.claims |= {"sub": "7", "email": "new@example.org"}
    browser = browse(registration="open")
    back = await go(browser, provider)
    await send(browser, (await browser.get(back.headers["location"])).text, privacy="true")
    shown = await browser.get("/settings/security")
    assert "current_password" not in shown.text and "delete_password" not in shown.text
    harness.clock.ahead += HOUR
    typed = {"password": PASSWORD}
    late = await browser.post("/settings/password", data=typed, headers=OWN_PAGE)
    assert late.status_code == 403 and "log in again" in late.text
    provider.lies = moments(harness)
    await go(browser, provider)
    assert (await browser.post("/settings/password", data=typed, headers=OWN_PAGE)).status_code == 303
    await log_in(browse(), "new@example.org")


async def test_an_invitation_is_for_its_own_address(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    provider.claims |= {"sub": "7", "email": "new@example.org"}
    browser = browse(registration="invite")
    for address, status in (("other@example.org", 400), ("new@example.org", 303)):
        invite = (await make_link(harness.runtime, "invite", address, None)).rpartition("=")[2]
        back = await go(browser, provider, f"/login/with/oidc?invite={invite}")
        page = await browser.get(back.headers["location"])
        assert (await send(browser, page.text, privacy="true")).status_code == status


async def test_who_is_logged_in_links_another_address_with_their_password(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    provider.claims |= {"email": "elsewhere@example.org", "email_verified": False}
    browser = browse()
    await log_in(browser)
    back = await go(browser, provider, "/settings/account/link/oidc")
    page = await browser.get(back.headers["location"])
    assert (await send(browser, page.text, password="wrong")).status_code == 400
    assert (await send(browser, page.text, password=PASSWORD)).headers["location"] == "/settings/security"
    shown = await browser.get("/settings/security")
    assert "Reed ID elsewhere@example.org" in shown.text
    (link,) = (await browser.get("/api/v1/users/me/identities")).json()["items"]
    unlinked = await browser.post(
        "/settings/account/unlink", data={"csrf_token": hidden_fields(shown.text)["csrf_token"], "provider": link["id"]}
    )
    assert unlinked.status_code == 303
    assert await harness.rows("SELECT * FROM identities") == []


async def test_a_link_is_only_for_who_began_it(harness: RuntimeHarness, provider: OidcProvider, browse: Browse) -> None:
    await new_person(harness)
    await new_person(harness, "other@example.org")
    browser = browse()
    await log_in(browser)
    back = await go(browser, provider, "/settings/account/link/oidc")
    page = await browser.get(back.headers["location"])
    browser.cookies.delete("reedbed_session")
    await log_in(browser, "other@example.org")
    fresh = await browser.get(back.headers["location"])
    assert (await send(browser, fresh.text, password=PASSWORD)).status_code == 401
    assert page.status_code == 200
    assert await harness.rows("SELECT * FROM identities") == []


async def test_an_identity_opens_one_account_only(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    await new_person(harness, "other@example.org")
    await link_account(browse(), provider)
    browser = browse()
    await log_in(browser, "other@example.org")
    back = await go(browser, provider, "/settings/account/link/oidc")
    page = await browser.get(back.headers["location"])
    assert (await send(browser, page.text, password=PASSWORD)).status_code == 409
    assert len(await harness.rows("SELECT * FROM identities")) == 1


async def test_a_disabled_account_stays_closed(harness: RuntimeHarness, provider: OidcProvider, browse: Browse) -> None:
    await new_person(harness)
    await link_account(browse(), provider)
    await harness.change("UPDATE users SET disabled_at = 1")
    assert (await go(browse(), provider)).status_code == 403


async def test_logging_out_leads_to_the_provider_as_well(
    harness: RuntimeHarness, provider: OidcProvider, browse: Browse
) -> None:
    await new_person(harness)
    browser = browse()
    await link_account(browser, provider)
    gone = await browser.post("/logout", headers=OWN_PAGE)
    assert gone.headers["refresh"].startswith(f"0; url={provider.url}/end?client_id=reedbed&")
    assert (await browser.get("/api/v1/users/me")).status_code == 401
    await log_in(browser)
    plain = await browser.post("/logout", headers=OWN_PAGE)
    assert plain.headers["location"] == "/login"
