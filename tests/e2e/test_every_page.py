"""Every page in every language and in two pseudo-locales: nothing is wider than the screen, no text stays in English.

The pages are fetched in the process and laid out in one browser, a hundred in a few seconds, without their scripts.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import Page as BrowserPage

from reedbed.domain.languages import Conventions, direction_of
from reedbed.domain.sharing.services import SERVICES
from reedbed.web.assets import DIST
from reedbed.web.i18n import languages
from reedbed.web.tokens import APPS
from tests.e2e.every_page import LONG, MIRRORED, SEVERE, SHOW, UNTRANSLATED, WIDE, Page, collect, pseudo_locales

PHONE, DESK = (360, 740), (1280, 800)
ENGLISH = Conventions()
NAMES = """Reedbed OPML JSON RSS Atom EPUB OPDS API URL CSS HTML HTTP HTTPS Markdown ZIP TLS STARTTLS UTC XS XL GB MB KB
ms PostgreSQL SQLite Redis YouTube Vimeo Kindle Literata Atkinson Hyperlegible newsboat Tests Obsidian
Logseq"""
WORDS = {
    *NAMES.split(),
    *(word for app in APPS for word in re.findall(r"\w+", " ".join(app.names))),
    *(word for service in SERVICES.values() for word in re.findall(r"\w+", service.name)),
    *(word for words in (ENGLISH.months, ENGLISH.days, ENGLISH.long_days) for word in words),
}
"""Names, and the dates of English, which the pseudo-locales have."""
EXAMPLE = re.compile(
    r"\S*example\.(?:org|com)\S*|127\.0\.0\.1\S*|article \.body|article\.news|\.related, \.newsletter|https://"
    r"|\b(?:is|has|after):\w+"
)
"""Addresses, selectors and what is typed into a search."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> list[Page]:
    folder = tmp_path_factory.mktemp("pages")
    database = folder / "reedbed.db"
    database.write_bytes(sqlite_template.read_bytes())
    (folder / "locale").mkdir()
    with pseudo_locales(folder / "locale"):
        return collect(f"sqlite:///{database}", languages())


@pytest.fixture(scope="module")
def sheet(browser: Browser) -> Iterator[BrowserPage]:
    """A page with the style sheets and nothing else."""
    context = browser.new_context(java_script_enabled=True, bypass_csp=True)
    page = context.new_page()
    styles = "".join(
        f"<style>{file.read_text()}</style>" for file in sorted(DIST.glob("*.css")) if not file.name.startswith("fonts")
    )
    page.set_content(f"<!doctype html><html><head>{styles}</head><body></body></html>")
    yield page
    context.close()


def _faults(sheet: BrowserPage, pages: Sequence[Page], size: tuple[int, int]) -> dict[str, list[str]]:
    sheet.set_viewport_size({"width": size[0], "height": size[1]})
    faults: dict[str, list[str]] = defaultdict(list)
    for page in pages:
        sheet.evaluate(SHOW, {"html": page.html, "width": size[0]})
        for fault in sheet.evaluate(WIDE):
            faults[f"{page.path}: {fault}"].append(page.language)
    return dict(faults)


def test_the_walk_knows_the_pages(pages: list[Page]) -> None:
    """Else the other tests would pass by looking at nothing."""
    paths = {page.path for page in pages}
    assert len(paths) > 95, sorted(paths)
    assert {page.language for page in pages} == {*languages(), LONG, MIRRORED}
    for page in pages:
        assert f'lang="{page.language}"' in page.html, page.path
        assert ('dir="rtl"' in page.html.partition("<body")[0]) == (page.language == MIRRORED), page.path


def test_no_page_is_wider_than_a_phone(sheet: BrowserPage, pages: list[Page]) -> None:
    assert _faults(sheet, pages, PHONE) == {}


def test_no_page_is_wider_than_a_desk(sheet: BrowserPage, pages: list[Page]) -> None:
    assert _faults(sheet, [page for page in pages if page.language in SEVERE], DESK) == {}


def test_no_text_stays_in_english(sheet: BrowserPage, pages: list[Page]) -> None:
    faults: dict[str, list[str]] = defaultdict(list)
    for page in pages:
        if page.language == LONG:
            sheet.evaluate(SHOW, {"html": page.html, "width": PHONE[0]})
            for text in sheet.evaluate(UNTRANSLATED):
                if set(re.findall(r"[A-Za-z]+", EXAMPLE.sub("", text))) - WORDS:
                    faults[text].append(page.path)
    assert dict(faults) == {}


def test_a_mirrored_page_is_mirrored(sheet: BrowserPage, pages: list[Page]) -> None:
    """The bar of the views stands on the right, and texts begin there."""
    assert direction_of("he") == "ltr", "no real language is written from right to left yet"
    sheet.set_viewport_size({"width": DESK[0], "height": DESK[1]})
    (page,) = (page for page in pages if page.language == MIRRORED and page.path == "/settings/reading")
    sheet.evaluate(SHOW, {"html": page.html, "width": DESK[0]})
    assert sheet.evaluate("document.getElementById('nav').getBoundingClientRect().right") == DESK[0]
    assert sheet.evaluate("getComputedStyle(document.querySelector('h1')).direction") == "rtl"


BUTTONS = """() => [...document.querySelectorAll("button, form, input, select, nav, .bar, .btn")]
  .filter(one => one.checkVisibility() && one.getBoundingClientRect().height > 0)
  .map(one => one.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("start", ["/digests/", "/entry/1"])
def test_paper_shows_what_is_to_be_read_and_nothing_to_press(sheet: BrowserPage, pages: list[Page], start: str) -> None:
    found = [page for page in pages if page.language in (LONG, MIRRORED) and re.fullmatch(rf"{start}\d*", page.path)]
    assert len(found) == 2
    sheet.set_viewport_size({"width": 720, "height": 1000})
    sheet.emulate_media(media="print")
    try:
        for page in found:
            sheet.evaluate(SHOW, {"html": page.html, "width": 720})
            assert sheet.evaluate(BUTTONS) == []
            assert sheet.evaluate("document.querySelector('h1').checkVisibility()")
            assert "Цапля" in sheet.locator("body").inner_text()
            assert sheet.evaluate(WIDE) == []
    finally:
        sheet.emulate_media(media="screen")
