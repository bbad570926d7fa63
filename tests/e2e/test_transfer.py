"""Moving in from another reader, and putting right what a feed's whole articles are made of."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import DESK, PHONE, Visit, Way, keep_picture, until, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for

ways = pytest.mark.parametrize("way", [DESK, PHONE, Way(phone=True, dark=True)], ids=str)
SENTENCE = "Reeds clean the water of a lake slowly and thoroughly, season after season."
PAGE = (
    f"<title>Reeds</title><div class=story><p>{SENTENCE}</p><p>{SENTENCE} They do.</p><p>{SENTENCE} Yes.</p>"
    "<p class=plea>Please support us with a subscription, dear reader, it helps a lot.</p></div>"
)


def open_as_owner(server: Reedbed, visit: Visit, address: str, way: Way) -> Page:
    with signed_in(server.url) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
    return visit(f"{server.url}{address}", way, token=token)


NOTE_PROGRESS = """() => {
  new MutationObserver(() => (window.progressed ||= document.querySelector("#import progress") !== null))
    .observe(document.body, { childList: true, subtree: true });
}"""
"""It may be gone before anybody looks."""


@ways
def test_an_import_shows_how_far_it_is_and_then_its_report(server: Reedbed, visit: Visit, way: Way) -> None:
    items = [{"title": f"Kept {n}", "canonicalUrl": f"https://x.example/{way}/{n}"} for n in range(600)]
    page = open_as_owner(server, visit, "/settings/data", way)
    file = {"name": "starred.json", "mimeType": "application/json", "buffer": json.dumps({"items": items}).encode()}
    page.evaluate(NOTE_PROGRESS)
    page.set_input_files("#file", file)
    until(page, "window.progressed")
    keep_picture(page, "import-under-way", way)
    expect(page.locator("#import")).to_contain_text("600 entries starred")
    expect(page.locator("#import [hx-get]")).to_have_count(0)
    assert violations(page) == []
    keep_picture(page, "import-report", way)


@ways
def test_selectors_put_the_whole_article_right(server: Reedbed, library: FeedSite, visit: Visit, way: Way) -> None:
    feed = f"pleading-{way}"
    library.publish("Reeds", feed=feed, key="reeds", content="<p>Short.</p>")
    library.put(f"/{feed}/reeds", PAGE, content_type="text/html")
    with signed_in(server.url) as client:
        made = client.post("/api/v1/subscriptions", json={"url": library.feed_url(feed)}).json()
        seen = f"/api/v1/entries?feed_id={made['feed_id']}"
        wait_for("the entry", lambda: client.get(seen).json()["items"])
    page = open_as_owner(server, visit, f"/feeds/{made['id']}/edit", way)

    page.fill("#drop", "p[[")
    page.click("form[action$=selectors] button[data-kind=primary]")
    expect(page.locator("#drop-error")).to_contain_text("is not a CSS selector")
    keep_picture(page, "selectors-refused", way)
    page.fill("#keep", ".story")
    page.fill("#drop", ".plea")
    page.click("form[action$=selectors] button[data-kind=primary]")
    expect(page.locator("#drop")).to_have_value(".plea")
    assert violations(page) == []
    page.locator("#articles").scroll_into_view_if_needed()
    keep_picture(page, "selectors", way)

    page.get_by_role("button", name="Look at the newest article").click()
    expect(page.locator("#article")).to_contain_text("season after season")
    expect(page.locator("#article")).not_to_contain_text("support us")
    keep_picture(page, "selectors-article", way)
