"""Passkeys in Chromium's virtual authenticator, one-time codes, and the page of security settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reedbed.domain.codes import STEP, code_of, secret_bytes
from reedbed.roles.build import system_clock
from tests.e2e.conftest import DESK, MANY, Visit, Way, every_way, keep_picture, violations
from tests.processes import OWNER, Reedbed, reedbed
from tests.servers import free_port


@pytest.fixture
def named_server(tmp_path: Path) -> Iterator[Reedbed]:
    """At a name: browsers allow no passkeys at an IP address."""
    port = free_port()
    with reedbed("serve", port=port, cwd=tmp_path, base_url=f"http://localhost:{port}", **MANY) as server:
        yield server


def _address(server: Reedbed) -> str:
    return server.url.replace("127.0.0.1", "localhost")


def _authenticator(page: Page) -> tuple[Any, str]:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable", {"enableUI": False})
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    return session, session.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]


def _log_in_with_password(page: Page, address: str) -> None:
    page.goto(f"{address}/login")
    page.fill("#email", OWNER["REEDBED_OWNER_EMAIL"])
    page.fill("#password", OWNER["REEDBED_OWNER_PASSWORD"])
    page.click("main button[data-kind=primary]")
    page.wait_for_url("**/unread")


def _log_out(page: Page, address: str) -> None:
    page.goto(f"{address}/settings/security")
    page.locator("form[action='/logout'] button").first.click()
    page.wait_for_url("**/login")


def test_a_passkey_is_added_logs_in_confirms_and_becomes_the_only_way(visit: Visit, named_server: Reedbed) -> None:
    address = _address(named_server)
    page = visit(f"{address}/login")
    session, authenticator = _authenticator(page)
    _log_in_with_password(page, address)
    page.goto(f"{address}/settings/security")
    page.get_by_label("Name of the device").fill("Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("The passkey is added.")).to_be_visible()
    expect(page.locator(".lines li", has_text="Laptop")).to_be_visible()
    stored = session.send("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]
    assert [(key["rpId"], key["isResidentCredential"]) for key in stored] == [("localhost", True)]

    page.get_by_role("button", name="Do without a password").click()
    page.locator("#ask[open] button[value=yes]").click()
    expect(page.get_by_text("The password is removed.")).to_be_visible()
    page.locator(".lines li", has_text="Laptop").get_by_role("button", name="Remove").click()
    page.locator("#ask[open] button[value=yes]").click()
    expect(page.get_by_text("This is your only way to log in.")).to_be_visible()

    # The virtual authenticator answers the suggestions of the name field at once, as if a passkey was chosen.
    _log_out_and_in_again(page, address)
    expect(page.locator("#tree")).to_be_visible()


def _log_out_and_in_again(page: Page, address: str) -> None:
    page.goto(f"{address}/settings/security")
    page.locator("form[action='/logout'] button").first.click()
    page.wait_for_url("**/unread")


def test_the_button_logs_in(visit: Visit, named_server: Reedbed) -> None:
    address = _address(named_server)
    page = visit(f"{address}/login")
    _authenticator(page)
    _log_in_with_password(page, address)
    page.goto(f"{address}/settings/security")
    page.get_by_label("Name of the device").fill("Key")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.locator(".lines li", has_text="Key")).to_be_visible()
    # A browser without passkeys among its suggestions: else the authenticator answers before the button is pressed.
    page.add_init_script("delete PublicKeyCredential.isConditionalMediationAvailable")
    _log_out(page, address)
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("**/unread")


def test_codes_are_set_up_and_asked_for(visit: Visit, named_server: Reedbed) -> None:
    address = _address(named_server)
    page = visit(f"{address}/login")
    _log_in_with_password(page, address)
    page.goto(f"{address}/settings/security")
    page.get_by_role("button", name="Set up").click()
    expect(page.locator("svg.qr")).to_be_visible()
    keep_picture(page, "security-codes", DESK)
    assert violations(page) == []
    secret = secret_bytes(page.locator(".codes-setup .secret code").inner_text().replace(" ", ""))
    page.get_by_label("Code that the app shows").fill(code_of(secret, system_clock() // STEP))
    page.get_by_role("button", name="Turn on").click()
    codes = page.locator(".recovery-codes code").all_inner_texts()
    assert len(codes) == 10
    keep_picture(page, "security-recovery", DESK)
    assert violations(page) == []
    _log_out(page, address)
    page.fill("#email", OWNER["REEDBED_OWNER_EMAIL"])
    page.fill("#password", OWNER["REEDBED_OWNER_PASSWORD"])
    page.click("main button[data-kind=primary]")
    page.get_by_label("Code").fill(codes[0])
    assert violations(page) == []
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/unread")
    page.goto(f"{address}/settings/security")
    expect(page.get_by_text("9 recovery codes left.")).to_be_visible()


@every_way
def test_the_page_is_accessible_and_fits(visit: Visit, named_server: Reedbed, way: Way) -> None:
    address = _address(named_server)
    page = visit(f"{address}/login", way)
    _authenticator(page)
    keep_picture(page, "login-passkey", way)
    assert violations(page) == []
    _log_in_with_password(page, address)
    page.goto(f"{address}/settings/security")
    page.get_by_label("Name of the device").fill("Fairphone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.locator(".lines li", has_text="Fairphone")).to_be_visible()
    keep_picture(page, "security", way)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(f"{address}/confirm?next=/settings/security")
    assert violations(page) == []
