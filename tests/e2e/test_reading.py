"""Living with the page: keys, many rows, undo, hostile content, and names for everything."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Visit, keep_picture, log_in
from tests.feedsite import FeedSite, serve_in_thread
from tests.processes import Reedbed, signed_in, wait_for

HOSTILE = (
    "<p onclick='window.hurt=1'>Text</p><script>window.hurt=1</script><img src=x onerror='window.hurt=1'>"
    "<a href='javascript:window.hurt=1'>go</a><svg onload='window.hurt=1'></svg>"
    "<iframe src='javascript:window.hurt=1'></iframe><style>body{display:none}</style>"
    "<form action='/logout' method=post><button>press</button></form>"
)
PAGES = (
    *("/unread", "/all", "/starred", "/search?q=reeds", "/add", "/feeds", "/folders", "/rules"),
    *("/searches", "/bookmarks", "/highlights"),
    *(
        f"/settings/{part}"
        for part in ("look", "reading", "account", "devices", "tokens", "published", "data")
    ),
)
# Colours, names, roles and structure; what a person must judge is not here.
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}


@pytest.fixture(scope="module")
def library() -> Iterator[FeedSite]:
    with serve_in_thread() as site:
        for number in range(60):
            site.publish(
                f"Entry {number} about reeds", key=str(number), content=f"<p>Words {number}.</p>" * 8
            )
        site.publish("Hostile", key="h", feed="hostile", content=HOSTILE)
        yield site


@pytest.fixture(scope="module", autouse=True)
def followed(server: Reedbed, library: FeedSite) -> None:
    with signed_in(server.url) as client:
        for feed in ("main", "hostile"):
            client.post("/api/v1/subscriptions", json={"url": library.feed_url(feed)}).raise_for_status()
        wait_for("all entries", lambda: client.get("/api/v1/counts").json()["all"] >= 61, seconds=60)


def test_keys_walk_mark_and_undo(server: Reedbed, visit: Visit) -> None:
    page = visit(f"{server.url}/login")
    log_in(page, server)
    page.keyboard.press("j")
    expect(page.locator(".row[data-current]")).to_have_count(1)
    first = page.locator("#article h1").inner_text()
    page.keyboard.press("j")
    expect(page.locator("#article h1")).not_to_have_text(first)
    page.keyboard.press("k")
    expect(page.locator("#article h1")).to_have_text(first)
    page.keyboard.press("s")
    expect(page.locator(".row[data-current][data-starred]")).to_have_count(1)
    page.keyboard.press("m")
    expect(page.locator(".row[data-current][data-unread]")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_mark_all_read_can_be_taken_back(server: Reedbed, visit: Visit) -> None:
    page = visit(f"{server.url}/login")
    log_in(page, server)
    before = page.locator(".row[data-unread]").count()
    page.locator("[data-act=mark-all]").click()
    page.locator("button[data-all]").click()
    expect(page.locator(".toast")).to_contain_text("marked read")
    expect(page.locator(".row[data-unread]")).to_have_count(0)
    page.locator(".toast form[action='/undo'] button").click()
    expect(page.locator(".row[data-unread]")).to_have_count(before)


def test_the_list_goes_on_by_itself(server: Reedbed, visit: Visit) -> None:
    page = visit(f"{server.url}/login")
    log_in(page, server)
    page.goto(f"{server.url}/all")
    shown = page.locator(".row").count()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, body.scrollHeight)")
    expect(page.locator(".row").nth(shown)).to_be_attached()


def test_hostile_content_does_nothing(server: Reedbed, visit: Visit) -> None:
    page = visit(f"{server.url}/login")
    log_in(page, server)
    page.goto(f"{server.url}/all")
    page.locator(".row h3 a", has_text="Hostile").click()
    expect(page.locator("#article .prose")).to_contain_text("Text")
    page.locator("#article .prose p").first.click()
    page.wait_for_timeout(300)
    assert page.evaluate("window.hurt") is None
    assert page.locator("#article .prose :is(script, style, iframe, form, svg)").count() == 0


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_is_accessible(server: Reedbed, visit: Visit, phone: bool, dark: bool) -> None:
    page = visit(f"{server.url}/login", phone=phone, dark=dark)
    assert _violations(page) == []
    log_in(page, server)
    for address in PAGES:
        page.goto(f"{server.url}{address}")
        assert (address, _violations(page)) == (address, [])
    page.goto(f"{server.url}/all")
    page.locator(".row h3 a").first.click()
    expect(page.locator("#article .prose")).to_be_visible()
    assert _violations(page) == []
    keep_picture(page, f"article-{'phone' if phone else 'desk'}-{'dark' if dark else 'light'}")


def _violations(page: Page) -> list[tuple[str, str]]:
    found = Axe().run(page, options=RULES).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
