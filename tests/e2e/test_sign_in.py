"""Logging in with an account elsewhere, in the browser: the button, the linking password, the way out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import MANY, Visit, Way, every_way, keep_picture, violations
from tests.oidcprovider import CLIENT, SECRET, OidcProvider
from tests.processes import OWNER, Reedbed, reedbed
from tests.servers import free_port
from tests.serving import in_thread


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with in_thread(OidcProvider()) as provider:
        provider.claims["email"] = OWNER["REEDBED_OWNER_EMAIL"]
        yield provider


@pytest.fixture(scope="module")
def linked_server(provider: OidcProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reedbed]:
    place: Path = tmp_path_factory.mktemp("sign-in")
    settings = {
        "oidc_issuer": provider.url,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SECRET,
        "oidc_name": "Reed ID",
        "allow_networks": "",
    }
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    with reedbed("serve", port=port, cwd=place, base_url=base_url, **settings, **MANY) as server:
        yield server


def test_the_button_links_once_and_logs_in_ever_after(visit: Visit, linked_server: Reedbed) -> None:
    page: Page = visit(f"{linked_server.url}/login")
    page.get_by_role("link", name="Continue with Reed ID").click()
    expect(page.get_by_role("heading", name="Link Reed ID")).to_be_visible()
    page.get_by_label("Password").fill(OWNER["REEDBED_OWNER_PASSWORD"])
    page.get_by_role("button", name="Link Reed ID").click()
    expect(page.get_by_role("heading", name="Link Reed ID")).to_be_hidden()
    page.goto(f"{linked_server.url}/settings/security")
    expect(page.get_by_text(f"Reed ID {OWNER['REEDBED_OWNER_EMAIL']}")).to_be_visible()

    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/end?*")
    page.goto(f"{linked_server.url}/login")
    page.get_by_role("link", name="Continue with Reed ID").click()
    page.wait_for_url("**/unread")
    page.goto(f"{linked_server.url}/settings/security")
    expect(page.get_by_role("button", name="Unlink")).to_be_visible()
    page.get_by_role("button", name="Unlink").click()
    expect(page.get_by_role("link", name="Link Reed ID")).to_be_visible()


@every_way
def test_the_pages_of_signing_in_are_accessible(visit: Visit, linked_server: Reedbed, way: Way) -> None:
    page: Page = visit(f"{linked_server.url}/login", way)
    keep_picture(page, "sign-in", way)
    assert violations(page) == []
    page.get_by_role("link", name="Continue with Reed ID").click()
    expect(page.get_by_role("heading", name="Link Reed ID")).to_be_visible()
    keep_picture(page, "sign-in-link", way)
    assert violations(page) == []
