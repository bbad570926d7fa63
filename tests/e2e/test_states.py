"""Every state at widths, in themes and in languages that no other walk takes: no fault, no pan sideways, a picture."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import DESK, PHONE, Walk, keep_picture, violations

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


def _too_wide(page: Page) -> list[str]:
    """The page that pans sideways, and bars and buttons whose words do not fit."""
    return page.evaluate("""() => [
      ...(document.documentElement.scrollWidth > innerWidth ? ["the page"] : []),
      ...[...document.querySelectorAll("button, .btn, summary, .bar")]
        .filter(one => one.checkVisibility() && one.clientWidth && one.scrollWidth > one.clientWidth + 1)
        .map(one => `${one.id || one.textContent.trim()}: ${one.scrollWidth} > ${one.clientWidth}`),
    ]""")
