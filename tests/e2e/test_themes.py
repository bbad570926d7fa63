"""7. Looks: themes, text, reduced motion, and WCAG 2.2 AA on every page."""

from playwright.sync_api import expect

from tests.e2e.conftest import DESK, Visit, Walk, Way, both, every_way, keep_picture, violations
from tests.processes import Reedbed

PAGES = (
    *("/starred", "/search?q=reeds", "/feeds", "/folders", "/rules", "/searches", "/bookmarks"),
    *("/summaries", "/ask", "/admin", "/admin/feeds", "/admin/feeds/1", "/admin/database", "/admin/people"),
    *(
        f"/settings/{part}"
        for part in ("look", "reading", "framing", "account", "devices", "notifications", "tokens", "published", "data")
    ),
    "/settings/keyboard",
)


SHELL = ("#nav", "#keys")
"""The same on every page."""


@both
def test_every_page_is_accessible(walk: Walk, way: Way) -> None:
    page = walk("/unread", way)
    assert violations(page) == []
    origin = page.url.partition("/unread")[0]
    for address in PAGES:
        page.goto(f"{origin}{address}")
        assert (address, violations(page, without=SHELL)) == (address, [])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


@every_way
def test_the_login_page_is_accessible(home: Reedbed, visit: Visit, way: Way) -> None:
    page = visit(f"{home.url}/login", way)
    keep_picture(page, "login", way)
    assert violations(page) == []


def test_themes_sizes_and_fonts_are_chosen_and_kept(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="A fourth").click()
    expect(page.locator("#article .prose")).to_be_visible()
    size = page.locator(".prose p").first.evaluate("p => parseFloat(getComputedStyle(p).fontSize)")
    page.goto(page.url.partition("/all")[0] + "/settings/look")
    for name, value in (("theme", "sepia"), ("size", "l"), ("font", "sans")):
        page.locator(f"main label:has(input[name={name}][value='{value}'])").first.click()
    expect(page.locator("html[data-theme=sepia][data-size=l][data-font=sans]")).to_have_count(1)
    page.go_back()
    page.reload()
    expect(page.locator("html[data-theme=sepia]")).to_have_count(1)
    expect(page.locator("#article .prose")).to_be_visible()
    assert page.locator(".prose p").first.evaluate("p => parseFloat(getComputedStyle(p).fontSize)") > size
    keep_picture(page, "article-sepia")
    assert violations(page) == []


def test_nothing_moves_where_motion_is_unwanted(walk: Walk) -> None:
    page = walk("/unread", DESK, reduced_motion="reduce")
    quick = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--quick')")
    assert float(quick.strip().removesuffix("ms").removesuffix("s")) == 0
