"""5. Adding: one field for anything, a look before following, lists of feeds by drop."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import DESK, Walk, Way, both, keep_picture, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in


@both
def test_a_page_is_looked_at_followed_and_left(walk: Walk, home: Reedbed, library: FeedSite, way: Way) -> None:
    page = walk("/add", way)
    site = library.page("/a-site", feeds=("quiet",))
    page.fill("#url", site)
    page.keyboard.press("Enter")
    found = page.locator(".found")
    expect(found).to_contain_text("The Quiet Page")
    expect(found).to_contain_text("Nothing happened")
    keep_picture(page, "add", way)
    assert violations(page) == []
    found.get_by_role("button", name="Follow").click()
    page.wait_for_url("**/feed/*")
    expect(page.locator("#list-title")).to_have_text("The Quiet Page")
    expect(page.locator(".row", has_text="Nothing happened")).to_have_count(1)
    with signed_in(home.url) as client:
        followed = client.get("/api/v1/subscriptions").json()["items"]
        quiet = next(one for one in followed if one["title"] == "The Quiet Page")
        client.delete(f"/api/v1/subscriptions/{quiet['id']}").raise_for_status()


def test_words_search_and_wrong_addresses_say_what_is_wrong(walk: Walk, library: FeedSite) -> None:
    page = walk("/add", DESK)
    page.fill("#url", "reeds canal")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_contain_text("have these words")
    page.fill("#url", f"{library.url}/nowhere")
    page.keyboard.press("Enter")
    expect(page.locator("#found .error")).to_contain_text("nothing at this address")
    expect(page.locator("#url")).to_have_value(f"{library.url}/nowhere")


def test_the_date_beside_a_very_long_title_stays_on_its_line(walk: Walk, library: FeedSite) -> None:
    library.publish("Donaudampfschifffahrtsgesellschaft " * 20, feed="wordy")
    page = walk(f"/add?url={library.feed_url('wordy')}", DESK)
    box = page.locator(".peek time").bounding_box()
    assert box is not None and box["width"] > 30


@pytest.mark.parametrize("large", [False, True], ids=["small", "too-large"])
def test_a_list_of_feeds_is_dropped(walk: Walk, library: FeedSite, large: bool) -> None:
    page = walk("/add", DESK)
    feed = library.feed_url("main")
    body = f'<opml version="2.0"><body><outline type="rss" xmlUrl="{feed}" text="Known"/></body></opml>'
    page.set_input_files(
        "#file", {"name": "l.opml", "mimeType": "text/xml", "buffer": body.encode() + b" " * (10_000_001 * large)}
    )
    if large:
        expect(page.locator(".toast")).to_contain_text("larger than 10 MB")
    else:
        expect(page.locator("#import")).to_contain_text("there already")
