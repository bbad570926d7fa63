"""A sidebar of many feeds is not sent with every page: the browser keeps its lines, a page brings their counts."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import DESK, Walk, keep_picture, until, violations
from tests.e2e.test_weight import MOST_BYTES, MOST_REQUESTS, first_load
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for

MANY = 65


def test_lines_are_asked_for_once_and_counts_come_with_the_page(walk: Walk, home: Reedbed, library: FeedSite) -> None:
    folder = _follow_many(home, library)
    page = walk("/unread", DESK)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/sidebar?" in request.url else None)
    lines = page.locator("#tree-feeds .line")
    expect(lines.nth(MANY)).to_be_visible()
    shown = lines.count()
    assert violations(page) == []

    page.goto(f"{home.url}/folder/{folder}")
    expect(page.locator("#tree-feeds [aria-current=page]")).to_contain_text("Shelf")
    assert lines.count() == shown and asked == []
    expect(_count(page, "Feed main")).to_have_text(str(_unread(home, "Feed main")))
    page.locator(".folder summary").click()
    until(page, "document.cookie.includes('folded')")
    page.reload()
    expect(page.locator(".folder details")).not_to_have_attribute("open", "")
    assert asked == []
    keep_picture(page, "many-feeds")

    with signed_in(home.url) as client:
        feed = _subscription(home, "Feed main")["feed"]["id"]
        (entry,) = client.get(f"/api/v1/entries?view=unread&feed_id={feed}&limit=1").json()["items"]
        client.patch(f"/api/v1/entries/{entry['id']}", json={"read": True}).raise_for_status()
    page.reload()
    expect(_count(page, "Feed main")).to_have_text(str(_unread(home, "Feed main")))
    assert asked == [], "a count is no change of the lines"

    with signed_in(home.url) as client:
        client.patch(f"/api/v1/folders/{folder}", json={"name": "Drawer"}).raise_for_status()
    page.reload()
    expect(page.locator("#tree-feeds .folder > a")).to_contain_text("Drawer")
    assert len(asked) == 1


def test_the_first_list_is_light_with_many_feeds(walk: Walk, home: Reedbed, library: FeedSite) -> None:
    _follow_many(home, library)
    page = walk("/healthz", service_workers="block")
    answers = first_load(page, f"{home.url}/unread")
    pages = {url: size for url, size in answers.items() if "/images/" not in url}
    assert len(pages) <= MOST_REQUESTS, list(pages)
    assert sum(pages.values()) <= MOST_BYTES, pages


def test_without_a_script_feeds_are_reached_by_their_page(walk: Walk, home: Reedbed, library: FeedSite) -> None:
    _follow_many(home, library)
    page = walk("/unread", DESK, java_script_enabled=False)
    page.locator("#tree-feeds").get_by_role("link", name="All feeds").click()
    page.locator(".feedline a", has_text="Feed main").first.click()
    expect(page.locator("#list-title")).to_have_text("Feed main")


def _follow_many(home: Reedbed, library: FeedSite) -> str:
    with signed_in(home.url) as client:
        have = client.get("/api/v1/subscriptions").json()["items"]
        folders = client.get("/api/v1/folders").json()["items"]
        if folders:
            return folders[0]["id"]
        folder = client.post("/api/v1/folders", json={"name": "Shelf"}).raise_for_status().json()["id"]
        added = MANY - len(have) + 1
        wanted = client.get("/api/v1/counts").json()["all"] + added
        for number in range(added):
            library.publish(f"Entry of {number}", key=f"many-{number}", feed=f"many-{number}")
            body = {"url": library.feed_url(f"many-{number}"), "folder_id": folder if number < 3 else None}
            client.post("/api/v1/subscriptions", json=body).raise_for_status()
        wait_for("the entries of all feeds", lambda: client.get("/api/v1/counts").json()["all"] >= wanted, seconds=60)
        return folder


def _unread(home: Reedbed, title: str) -> int:
    return _subscription(home, title)["unread_count"]


def _subscription(home: Reedbed, title: str) -> dict[str, Any]:
    with signed_in(home.url) as client:
        items = client.get("/api/v1/subscriptions").json()["items"]
    return next(item for item in items if item["feed"]["title"] == title)


def _count(page: Page, name: str) -> Locator:
    return page.locator("#tree .line > a:first-child", has_text=name).locator(".count")
