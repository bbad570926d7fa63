"""A story is read side by side, set right and marked, in the browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from reedbed.worker import scheduler
from tests.e2e.conftest import DESK, PHONE, WAYS, Visit, keep_picture, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for

SHARED = "The council voted 31 to 28 to close the swing bridge to cars from September."
NAMES = {"kiosk": "The Marrowby Kiosk at the Long Canal"}
OUTLETS = {
    "courier": ("Marrowby council closes swing bridge to cars", "Buses and cyclists keep one lane over the water."),
    "post": (
        "SCANDAL: Marrowby council SLAMS swing bridge shut",
        "Insiders whisper that lorries may never return there.",
    ),
    "kiosk": (
        "Marrowby swing bridge closed to cars by council",
        "“The ferries sail every ten minutes until winter,” said Ada Quill.",
    ),
}


@pytest.fixture
def told(fresh_server: Reedbed, threaded_site: FeedSite) -> Iterator[str]:
    """A token of who follows three outlets of one event."""
    with signed_in(fresh_server.url) as client:
        for feed, (title, own) in OUTLETS.items():
            threaded_site.feed(feed, title=NAMES.get(feed))
            threaded_site.publish(title, key="a", feed=feed, content=f"<p>{SHARED} {own}</p>")
            url = threaded_site.feed_url(feed)
            client.post("/api/v1/subscriptions", json={"url": url}).raise_for_status()

        def is_whole() -> bool:
            items = client.get("/api/v1/stories").json()["items"]
            return bool(items) and items[0]["feeds"] == len(OUTLETS)

        wait_for("the story", is_whole, seconds=3 * scheduler.STORY_SECONDS + 20)
        yield client.headers["Authorization"].removeprefix("Bearer ")


def test_a_story_is_compared_set_right_and_marked(fresh_server: Reedbed, told: str, visit: Visit) -> None:
    for way in WAYS:
        page = visit(f"{fresh_server.url}/stories", way, token=told)
        assert violations(page) == []
        page.locator(".stories h2 a").click()
        expect(page.locator(".outlet")).to_have_count(3)
        assert violations(page) == []
        keep_picture(page, "story", way)
    page = visit(page.url, PHONE, token=told, locale="de-DE")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    bar, button = (page.locator(f"#page .bar{part}").bounding_box() for part in ("", " form button"))
    assert bar and button and button["y"] > bar["y"] and button["height"] < bar["height"]
    page = visit(f"{fresh_server.url}/stories", DESK, token=told)
    page.locator(".stories h2 a").click()
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("SCANDAL")
    for _, own in OUTLETS.values():
        expect(page.locator(".agree", has=page.get_by_role("heading", name="Said by one outlet only"))).to_contain_text(
            own
        )
    shared = page.locator("section", has=page.get_by_role("heading", name="Sentences they share")).last
    expect(shared.locator("li", has_text=SHARED).locator(".favs a")).to_have_count(3)
    expect(page.locator("mark.loud")).to_have_text(["SCANDAL (loud word)", "SLAMS (loud word)"])
    expect(page.locator(".when li")).to_have_count(3)
    assert (
        page.locator(".when bdi").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length")
        == 0
    )
    expect(page.locator(".tale .acts button").first).to_have_text("Share this page")
    page.get_by_role("button", name="Follow the story").click()
    page.get_by_role("button", name="No longer follow").click()
    expect(page.get_by_role("button", name="Follow the story")).to_be_visible()
    page.get_by_role("button", name="Not this story Feed post").click()
    expect(page.locator(".outlet")).to_have_count(2)
    page.get_by_role("button", name="The same story after all").click()
    expect(page.locator(".outlet")).to_have_count(3)
    page.get_by_role("button", name="Mark all read").click()
    expect(page.get_by_text("3 entries marked read")).to_be_visible()
    with page.expect_response("**/undo"):
        page.get_by_role("button", name="Undo").click()
    page.goto(f"{fresh_server.url}/stories?unread=1")
    expect(page.get_by_text("3 sources, 3 unread")).to_be_visible()
    page.locator(".stories h2 a").click()
    page.get_by_role("button", name="Not this story Feed post").click()
    expect(page.locator(".outlet")).to_have_count(2)
    page.locator(".outlet h3 a").first.click()
    related = page.locator(".related", has=page.get_by_role("heading", name="Related entries"))
    related.scroll_into_view_if_needed()
    expect(related.get_by_role("button", name="Same story")).to_have_count(1)
    assert violations(page) == []


def test_a_story_is_shared_read_by_a_stranger_and_taken_back(fresh_server: Reedbed, told: str, visit: Visit) -> None:
    page = visit(f"{fresh_server.url}/stories", DESK, token=told)
    page.locator(".stories h2 a").click()
    page.get_by_role("button", name="Share this page").click()
    page.get_by_role("button", name="Yes, do it").click()
    url = page.locator(".new-pass code").inner_text()
    assert violations(page) == []
    for way in WAYS:
        public = visit(url, way)
        expect(public.locator(".reports h3 a")).to_have_count(3)
        assert violations(public) == []
        assert public.evaluate("document.scripts.length") == 0
        assert public.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert public.context.cookies() == []
        keep_picture(public, "story-shared", way)
    page.goto(f"{fresh_server.url}/settings/published")
    page.locator("li", has_text="Last opened").get_by_role("button", name="Take back").click()
    page.get_by_role("button", name="Yes, do it").click()
    expect(page.get_by_text("No story is shared.")).to_be_visible()
    assert visit(url, DESK).get_by_role("heading").inner_text() == "There is nothing at this address."


def test_a_digest_without_pictures_shows_what_is_on_top_and_why(fresh_server: Reedbed, told: str, visit: Visit) -> None:
    page = visit(f"{fresh_server.url}/summaries", DESK, token=told)
    page.get_by_role("button", name="New digest").click()
    expect(page.locator(".front-top h3").first).to_be_visible()
    expect(page.locator(".front-top .lead a").first).to_be_visible()
    expect(page.locator(".mast-head")).to_contain_text("1 min to read")
    page.get_by_text("How this order was made").click()
    expect(page.locator(".order-why li").first).to_contain_text("3 outlets")
    assert violations(page) == []
    page = visit(page.url, PHONE, token=told, locale="de-DE")
    expect(page.locator(".front-top h3").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
