"""2. A long list: what is far away leaves the page, and is still there for keys, marks and the reader."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import DESK, PHONE, Visit, Way, until
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for
from tests.serving import in_thread

ENTRIES = 800
IN_PAGE = 400
"""Far fewer than there are, far more than a window shows."""
MOST_STYLED = 1_500
"""Elements whose styles may be computed when an entry is opened."""


@pytest.fixture(scope="module")
def long_list(server: Reedbed) -> Iterator[Reedbed]:
    with in_thread(FeedSite()) as site, signed_in(server.url) as client:
        for number in range(ENTRIES):
            feed = "older" if number < ENTRIES // 2 else "newer"
            site.publish(f"Entry {number} of many", key=str(number), feed=feed)
        for feed in ("older", "newer"):
            client.post("/api/v1/subscriptions", json={"url": site.feed_url(feed)}).raise_for_status()
        wait_for("entries", lambda: client.get("/api/v1/counts").json()["all"] >= ENTRIES, seconds=90)
        yield server


@pytest.fixture
def token(long_list: Reedbed) -> str:
    with signed_in(long_list.url) as client:
        return client.headers["Authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("way", [DESK, PHONE], ids=str)
def test_what_is_far_away_leaves_the_page_and_comes_back(
    long_list: Reedbed, token: str, visit: Visit, way: Way
) -> None:
    page = visit(f"{long_list.url}/all", way, token=token)
    _load_all(page)
    until(page, f"document.querySelectorAll('.row').length < {IN_PAGE}")
    expect(page.locator(".row h3 a", has_text="Entry 0 of many")).to_be_visible()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, body.scrollHeight / 2)")
    until(page, SHOWS_A_ROW)
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 0)")
    expect(page.locator(".row h3 a", has_text=f"Entry {ENTRIES - 1} of many")).to_be_in_viewport()


def test_keys_walk_through_what_is_away(long_list: Reedbed, token: str, visit: Visit) -> None:
    page = visit(f"{long_list.url}/all", token=token)
    _load_all(page)
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 0)")
    page.locator(".row h3 a", has_text=f"Entry {ENTRIES - 1} of many").focus()
    page.keyboard.press("End")
    expect(page.locator(".row h3 a:focus", has_text="Entry 0 of many")).to_be_in_viewport()
    page.keyboard.press("Shift+Home")
    expect(page.locator("#selection")).to_contain_text(f"{ENTRIES} selected")
    expect(page.locator(".row h3 a:focus", has_text=f"Entry {ENTRIES - 1} of many")).to_be_in_viewport()


def test_marks_reach_what_is_away(long_list: Reedbed, token: str, visit: Visit) -> None:
    page = visit(f"{long_list.url}/all", token=token)
    _load_all(page)
    page.keyboard.press("A")
    expect(page.locator(".toast")).to_contain_text("marked read")
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 0)")
    expect(page.locator(".row h3 a", has_text=f"Entry {ENTRIES - 1} of many")).to_be_in_viewport()
    expect(page.locator(".row[data-unread]")).to_have_count(0)
    page.keyboard.press("z")
    expect(page.locator(".row[data-unread]").first).to_be_visible()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, body.scrollHeight)")
    expect(page.locator(".day-rows").nth(1)).to_be_attached()  # a list that was loaded again goes on as well


def test_opening_an_entry_leaves_the_styles_of_the_rows_alone(
    long_list: Reedbed, token: str, visit: Visit, browser: Browser
) -> None:
    """A rule with `:has` can make the browser look at each row of the list whenever an article is shown."""
    page = visit(f"{long_list.url}/all", token=token)
    _load_all(page)
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 0)")
    page.locator(".row h3 a", has_text=f"Entry {ENTRIES - 1} of many").focus()
    for number in range(2, 5):  # the first ones load what articles need
        _open_next(page, number)
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline", "devtools.timeline"])
    for number in range(5, 10):
        _open_next(page, number)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    styled = sum(event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree")
    assert 0 < styled / 5 < MOST_STYLED


def _open_next(page: Page, number: int) -> None:
    page.keyboard.press("j")
    expect(page.locator("#article h1", has_text=f"Entry {ENTRIES - number} of many")).to_be_visible()


def _load_all(page: Page) -> None:
    until(page, TO_THE_END, seconds=90)


TO_THE_END = """(() => {
  const body = document.getElementById("list-body");
  body.scrollTo(0, body.scrollHeight);
  return document.querySelector(".more[data-end]") !== null;
})()"""
SHOWS_A_ROW = """(() => {
  const frame = document.getElementById("list-body").getBoundingClientRect();
  return document.elementFromPoint(frame.x + 100, frame.y + frame.height / 2)?.closest(".row") != null;
})()"""
