"""The browser extension in Chromium, against a real server: connected, followed with, and read through."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Playwright, expect

from tests import servers
from tests.e2e.conftest import PATIENCE
from tests.feedsite import FeedSite
from tests.framing_harness import LONG
from tests.processes import Reedbed, reedbed, run_once, signed_in, wait_for

SOURCE = Path(__file__).parents[2] / "extension"
SETTINGS = {"ai_provider": "mock", "ai_max_rpm": "60000", "login_rate_limit": "1000"}


@pytest.fixture
def server(tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    with reedbed("serve", port=free_port, cwd=tmp_path, **SETTINGS) as running:
        yield running


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    """As it is, but with the permissions given that a person is asked for: nobody clicks here."""
    place = tmp_path / "extension"
    shutil.copytree(SOURCE, place)
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["host_permissions"] = manifest.pop("optional_host_permissions")
    (place / "manifest.json").write_text(json.dumps(manifest))
    return place


@pytest.fixture
def chrome(
    playwright: Playwright, chromium: str, extension: Path, tmp_path: Path, server: Reedbed
) -> Iterator[BrowserContext]:
    context = playwright.chromium.launch_persistent_context(
        str(tmp_path / "profile"),
        executable_path=chromium,
        headless=False,
        args=[
            *servers.chromium_options(),
            "--headless=new",
            f"--disable-extensions-except={extension}",
            f"--load-extension={extension}",
        ],
        ignore_default_args=["--disable-extensions"],
    )
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def home(chrome: BrowserContext) -> str:
    """The address of the extension's own pages."""
    worker = chrome.service_workers[0] if chrome.service_workers else chrome.wait_for_event("serviceworker")
    home = worker.url.removesuffix("/background.js")
    # It opens its options by itself, in whatever tab is still empty: that must not be one of ours.
    wait_for("its options", lambda: chrome.pages[0].wait_for_timeout(50) or _shows(chrome, f"{home}/options.html"))
    return home


def _shows(chrome: BrowserContext, address: str) -> bool:
    return any(page.url == address for page in chrome.pages)


def test_it_connects_follows_a_page_and_says_what_went_wrong(
    chrome: BrowserContext, home: str, server: Reedbed, threaded_site: FeedSite
) -> None:
    threaded_site.publish("Reeds", key="a")
    options = connect(chrome, home, server, token="wrong")
    expect(options.locator("#message.error")).not_to_be_empty()
    with signed_in(server.url) as client:
        made = client.post("/api/v1/users/me/tokens", json={"name": "extension"}).json()
        connect(chrome, home, server, token=made["secret"])
        popup = popup_on(chrome, home, threaded_site.page("/news"))
        popup.get_by_role("button", name="Follow this page").click()
        expect(popup.get_by_role("status")).to_contain_text("You follow")
        followed = client.get("/api/v1/subscriptions").json()["items"]
        assert [one["feed"]["url"] for one in followed] == [threaded_site.feed_url()]
        popup.get_by_role("button", name="Follow this page").click()
        expect(popup.get_by_role("status")).to_have_text("You have already added this feed")
        popup.get_by_role("button", name="Save for later").click()
        expect(popup.get_by_role("status")).to_have_text("Saved for later.")
        kept = client.get("/api/v1/entries", params={"view": "later"}).json()["items"]
        assert [one["url"] for one in kept] == [f"{threaded_site.url}/news"]
        with chrome.expect_page() as opened:
            popup.get_by_role("button", name="Follow the list on this page").click()
        # This browser is not signed in: the sign-in page goes on to it.
        expect(opened.value).to_have_url(re.compile("make-a-feed"))


def test_a_front_page_is_replaced_by_its_calm_items(
    chrome: BrowserContext, home: str, server: Reedbed, threaded_site: FeedSite, tmp_path: Path
) -> None:
    threaded_site.publish("SHOCK at the <b>bridge</b>", key="a", content=LONG)
    front = threaded_site.page("/", body="<h1>Our own front page</h1>")
    deframe(threaded_site, tmp_path, server)
    connect(chrome, home, server, token="any")
    popup = popup_on(chrome, home, front)
    popup.get_by_label("Always, when I open its front page").check()
    expect(popup.get_by_role("status")).to_have_text("From the next visit on.")
    page = chrome.new_page()
    page.goto(f"{threaded_site.url}/", wait_until="commit")  # its place is taken while it loads
    page.wait_for_url(f"{home}/portal.html*")
    expect(page.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("heading", level=2)).not_to_be_empty()
    assert not page.locator("li b").count(), "what a site says is text, never markup"
    page.get_by_role("link", name="The site’s own front page").click()
    expect(page.get_by_role("heading", name="Our own front page")).to_be_visible()


def test_a_site_that_is_not_deframed_says_so(chrome: BrowserContext, home: str, server: Reedbed) -> None:
    connect(chrome, home, server, token="any")
    page = chrome.new_page()
    page.goto(f"{home}/portal.html?site=https%3A%2F%2Fnowhere.example")
    expect(page.get_by_role("status")).to_have_text("Your Reedbed does not deframe this site.")


def connect(chrome: BrowserContext, home: str, server: Reedbed, *, token: str) -> Page:
    page = chrome.new_page()
    page.goto(f"{home}/options.html")
    page.get_by_label("Address").fill(server.url)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).not_to_be_empty()
    return page


def popup_on(chrome: BrowserContext, home: str, address: str) -> Page:
    """What opens under the button while this page is shown."""
    site = chrome.new_page()
    site.goto(address)
    popup = chrome.new_page()
    popup.goto(f"{home}/options.html")
    tab = popup.evaluate("async (url) => (await chrome.tabs.query({})).find((tab) => tab.url === url).id", site.url)
    popup.goto(f"{home}/popup.html?tab={tab}")
    return popup


def deframe(site: FeedSite, home: Path, server: Reedbed) -> None:
    for command in ("add", "enable", "sync"):
        done = run_once("admin", "feed", command, site.feed_url(), cwd=home, **SETTINGS)
        assert done.returncode == 0, done.stderr
    with signed_in(server.url) as client:
        wait_for("a deframed item", lambda: _front_page(client))


def _front_page(client: httpx.Client) -> list[object]:
    answer = client.get("/api/site", params={"root": "127.0.0.1"})
    return answer.json()["items"] if answer.status_code == 200 else []
