"""A page without a feed: its list is offered on the add page, narrowed by selectors, and followed."""

from playwright.sync_api import expect

from tests.e2e.conftest import Walk, Way, both, keep_picture, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in

ROWS = "".join(
    f"<li class=entry><a href=/lock/{n}>The river board decides about lock {n}</a> <time datetime=2026-11-0{n}>x</time>"
    for n in range(1, 9)
)


@both
def test_the_list_of_a_page_is_offered_narrowed_and_followed(
    walk: Walk, home: Reedbed, library: FeedSite, way: Way
) -> None:
    address = library.page("/locks", feeds=(), body=f"<ul class=river>{ROWS}</ul>")
    page = walk("/add", way)
    page.fill("#url", address)
    page.keyboard.press("Enter")
    expect(page.locator(".found .peek li")).to_have_count(6)
    keep_picture(page, "make-a-feed-offered", way)
    assert violations(page) == []
    page.goto(f"{home.url}/make-a-feed?url={address}")
    page.locator("summary", has_text="Choose the list by selectors").click()
    page.fill("#item", "li.entry:nth-child(-n+3)")
    page.get_by_role("button", name="Try them").click()
    expect(page.locator(".found .peek li")).to_have_count(3)
    keep_picture(page, "make-a-feed", way)
    assert violations(page) == []
    page.get_by_role("button", name="Follow this list").click()
    page.wait_for_url("**/feed/*")
    expect(page.locator(".row")).to_have_count(3)
    page.goto(f"{home.url}/make-a-feed?url={address}")
    page.get_by_text("Watch this page for changes").first.click()
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".passages li")).to_have_count(8)
    page.fill("#item", "li.entry:first-child")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".passages li")).to_have_count(1)
    keep_picture(page, "make-a-feed-watch", way)
    assert violations(page) == []
    with signed_in(home.url) as client:
        followed = client.get("/api/v1/subscriptions").json()["items"]
        made = next(one for one in followed if one["url"] == address)
        client.delete(f"/api/v1/subscriptions/{made['id']}").raise_for_status()
