"""A page without a feed: its list is offered on the add page, its parts are picked by pointing, and it is followed."""

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Walk, Way, both, keep_picture, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in

MENU = "".join(
    f"<li><a href=/{word}>{word.title()} of the harbour</a>" for word in ("berths", "tides", "pilots", "fees")
)
ROWS = "".join(
    f"<li class=entry><a href=/lock/{n}>The river board decides about lock {n}</a> <time datetime=2026-11-0{n}>x</time>"
    f"<p class=standfirst>What was said about lock {n} in the meeting, and by whom.</p><small>Desk {n}</small>"
    for n in range(1, 9)
)
PAGE = f"<h1>Oldham Quay</h1><ul class=menu>{MENU}</ul><ul class=river>{ROWS}</ul>"


def unfollow(home: Reedbed, address: str) -> None:
    with signed_in(home.url) as client:
        followed = client.get("/api/v1/subscriptions").json()["items"]
        made = next(one for one in followed if one["url"] == address)
        client.delete(f"/api/v1/subscriptions/{made['id']}").raise_for_status()


def step(page: Page, way: Way, name: str) -> None:
    """On a phone one step is shown at a time."""
    if way.phone:
        page.locator(f"[data-step={name}]").click()


@both
def test_the_list_of_a_page_is_offered_narrowed_and_followed(
    walk: Walk, home: Reedbed, library: FeedSite, way: Way
) -> None:
    address = library.page("/locks", feeds=(), body=PAGE)
    page = walk("/add", way)
    page.fill("#url", address)
    page.keyboard.press("Enter")
    expect(page.locator(".found .peek li")).to_have_count(6)
    keep_picture(page, "make-a-feed-offered", way)
    assert violations(page) == []
    page.get_by_text("Choose and pick on the page").click()
    step(page, way, "found")
    page.locator("summary", has_text="Choose the list by selectors").click()
    page.fill("#item", "li.entry:nth-child(-n+3)")
    page.get_by_role("button", name="Try them").click()
    expect(page.locator(".maker-preview li")).to_have_count(3)
    expect(page.locator("details.selectors")).to_have_attribute("open", "")
    step(page, way, "preview")
    keep_picture(page, "make-a-feed", way)
    assert violations(page) == []
    page.get_by_role("button", name="Follow").locator("visible=true").click()
    page.wait_for_url("**/feed/*")
    expect(page.locator(".row")).to_have_count(3)
    page.goto(f"{home.url}/make-a-feed?url={address}&mode=watch")
    expect(page.locator(".passages li").first).to_be_visible()
    page.fill("#item", "li.entry:first-child > a")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".passages li")).to_have_count(1)
    keep_picture(page, "make-a-feed-watch", way)
    assert violations(page) == []
    unfollow(home, address)


@both
def test_parts_are_picked_by_pointing_at_an_example(walk: Walk, home: Reedbed, library: FeedSite, way: Way) -> None:
    address = library.page("/quay", feeds=(), body=PAGE)
    page = walk(f"/make-a-feed?url={address}", way)
    expect(page.locator(".paper [data-item]")).to_have_count(8)
    keep_picture(page, "pick-before", way)
    assert violations(page) == []
    step(page, way, "found")
    page.locator("[data-pick=title]").click()
    desk = page.locator(".paper").get_by_text("Desk 3")
    if not way.phone:
        desk.hover()
        expect(page.locator(".pick-tip")).to_have_text("Title · matches 8 of 8")
        keep_picture(page, "pick-pointing", way)
        assert violations(page) == []
    desk.click()
    expect(page.locator(".maker-preview h3").nth(2)).to_have_text("Desk 3")
    expect(page.locator("#title")).to_have_value("small")
    expect(page.locator(".paper [data-field=title]").first).to_have_text("Desk 1")
    keep_picture(page, "pick-picked", way)
    step(page, way, "found")
    page.locator("[data-pick=title]").click()
    page.locator(".paper").get_by_text("Tides of the harbour").click()
    expect(page.locator(".maker-preview li")).to_have_count(4)
    step(page, way, "found")
    page.locator(".choice").first.click()
    expect(page.locator(".maker-preview li")).to_have_count(8)
    page.get_by_role("button", name="Follow").locator("visible=true").click()
    page.wait_for_url("**/feed/*")
    unfollow(home, address)


def test_parts_are_picked_by_keyboard(walk: Walk, library: FeedSite) -> None:
    page = walk(f"/make-a-feed?url={library.page('/jetty', feeds=(), body=PAGE)}")
    page.locator("[data-pick=teaser]").press("Enter")
    expect(page.locator(".paper")).to_be_focused()
    expect(page.locator(".paper [data-here]")).to_contain_text("What was said about lock 1")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".paper [data-here]")).to_have_text("Desk 1")
    page.keyboard.press("[")
    expect(page.locator(".paper [data-here]")).to_have_attribute("data-item", "0")
    page.keyboard.press("]")
    expect(page.locator(".paper [data-here]")).to_have_text("Desk 1")
    expect(page.locator("#polite")).to_contain_text("Teaser · matches 8 of 8: Desk 1")
    page.keyboard.press("Enter")
    expect(page.locator(".maker-preview p", has_text="Desk 2")).to_be_visible()
    expect(page.locator("[data-pick=teaser]")).to_be_focused()
    page.locator("[data-pick=date]").press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator("[data-pick=date]")).to_be_focused()
    expect(page.locator("[data-pick=date]")).to_have_attribute("aria-pressed", "false")
