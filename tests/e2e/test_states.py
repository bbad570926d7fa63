"""Every state at widths, in themes and in languages that no other walk takes: no fault, no pan sideways, a picture."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import DESK, PHONE, WANTED, Walk, keep_picture, violations
from tests.e2e.every_page import NOT_A_PAGE
from tests.http.web.routes import page_routes

FILES = {"/opml"}
"""Addresses that are saved, not shown."""

TABLET = {"viewport": {"width": 820, "height": 1180}, "has_touch": True, "is_mobile": True}


@dataclass(frozen=True)
class Look:
    size: str
    theme: str
    language: str

    def __str__(self) -> str:
        return f"{self.size}-{self.theme}-{self.language[:2]}"

    def open(self, walk: Walk) -> Page:
        way = PHONE if self.size == "phone" else DESK
        extra = TABLET if self.size == "tablet" else {}
        page = walk("/offline", way, locale=self.language, **extra)
        origin = page.url.removesuffix("/offline")
        page.context.add_cookies([{"name": "reedbed_look", "value": quote(f"theme={self.theme}"), "url": origin}])
        return page


LOOKS = [
    Look("desk", "sepia", "de-AT"),
    Look("tablet", "dark", "en-GB"),
    Look("tablet", "light", "de-AT"),
    Look("phone", "sepia", "de-AT"),
]


def show_cards(page: Page) -> None:
    _go(page, "/all")
    page.locator("#rows .row").first.wait_for()


def show_order(page: Page) -> None:
    show_cards(page)
    page.locator("#list-options summary").first.click()
    page.locator("#list-options details[open] [role=menuitemradio]").first.wait_for()


def show_search(page: Page) -> None:
    _go(page, "/search?q=canal")
    page.locator(".find-chip").first.wait_for()


def show_palette(page: Page) -> None:
    _go(page, "/unread")
    page.keyboard.press("Control+k")
    page.locator("#palette input").fill("he")
    page.locator("#palette .hit").first.wait_for()


def show_article(page: Page) -> None:
    _go(page, "/search?q=" + quote("timing wheels once"))
    page.locator(".row h3 a", has_text="Timing wheels, once").click()
    page.locator("#article .prose a.fn").wait_for()


def show_footnote(page: Page) -> None:
    show_article(page)
    page.locator("#article .prose a.fn").click()
    page.locator(".fn-pop, dialog[open]").first.wait_for()


def show_right_to_left(page: Page) -> None:
    _go(page, "/search?q=" + quote("الصيادون"))
    page.locator(".row h3 a", has_text="الصيادون").click()
    expect(page.locator("#article .read")).to_have_attribute("dir", "rtl")


def show_feed_menu(page: Page) -> None:
    _go(page, "/all")
    if not page.locator("#nav").is_visible():
        page.locator("#list-bar [data-act=nav]").click()
    page.locator("#tree .line", has_text="The Marrowby Courier").first.click(button="right")
    page.locator("[role=menu]:visible [role=menuitem]").first.wait_for()


def _visit(address: str) -> Callable[[Page], None]:
    def show(page: Page) -> None:
        _go(page, address)
        page.locator("main, [role=main]").first.wait_for()

    return show


def _go(page: Page, address: str) -> None:
    page.goto("/".join(page.url.split("/")[:3]) + address)


STATES: dict[str, Callable[[Page], None]] = {
    "cards": show_cards,
    "order": show_order,
    "search": show_search,
    "palette": show_palette,
    "article": show_article,
    "footnote": show_footnote,
    "right-to-left": show_right_to_left,
    "feed-menu": show_feed_menu,
    "ask": _visit("/ask"),
    "digests": _visit("/summaries"),
    "books": _visit("/books"),
    "recordings": _visit("/recordings"),
    "security": _visit("/settings/security"),
    "add": _visit("/add"),
    "make-a-feed": _visit("/make-a-feed"),
    "feeds": _visit("/feeds"),
    "highlights": _visit("/highlights"),
    "stories": _visit("/stories"),
    "not-found": _visit("/nothing-here"),
    "settings": _visit("/settings"),
    "devices": _visit("/settings/devices"),
}


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_every_state_has_no_fault_and_no_pan(walk: Walk, look: Look) -> None:
    page = look.open(walk)
    faults: dict[str, object] = {}
    for name, show in STATES.items():
        show(page)
        keep_picture(page, f"{name}-{look}")
        found = [*violations(page), *_too_wide(page)]
        if found:
            faults[name] = found
    assert faults == {}


def test_no_page_writes_to_the_console(walk: Walk) -> None:
    """Not even a warning, such as one of the policy for a style on an element."""
    page = walk("/all")
    messages: list[str] = []
    page.on("console", lambda message: messages.append(f"{page.url}: {message.type}: {message.text}"))
    paths = {route.path for route in page_routes() if "GET" in route.methods and "{" not in route.path}
    addresses = [path for path in sorted(paths) if not NOT_A_PAGE.search(path) and path not in FILES]
    assert len(addresses) > 50
    for address in addresses:
        _go(page, address)
    assert [message for message in messages if not WANTED.search(message)] == []


def _too_wide(page: Page) -> list[str]:
    """The page that pans sideways, and bars and buttons whose words do not fit."""
    return page.evaluate("""() => [
      ...(document.documentElement.scrollWidth > innerWidth ? ["the page"] : []),
      ...[...document.querySelectorAll("button, .btn, summary, .bar")]
        .filter(one => one.checkVisibility() && one.clientWidth && one.scrollWidth > one.clientWidth + 1)
        .map(one => `${one.id || one.textContent.trim()}: ${one.scrollWidth} > ${one.clientWidth}`),
    ]""")
