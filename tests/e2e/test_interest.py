"""The order by interest: switched on, learnt from what the page notices, explained and corrected."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import DESK, Walk, Way, both, keep_picture, until, violations
from tests.processes import Reedbed, signed_in, wait_for

INTEREST = "/api/v1/interest"
LEARNS = """Promise.all(performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
  .map(({ name }) => fetch(name).then((answer) => answer.text())))
  .then((texts) => texts.some((text) => text.includes("/api/v1/interest/seen")))"""
"""The script that notices what is read comes when the page is at rest."""


@pytest.fixture(scope="module", autouse=True)
def client(home: Reedbed) -> Iterator[httpx.Client]:
    """The owner has switched it on, reads what has an author, and passes by the feed of many entries."""
    with signed_in(home.url) as client:
        preferences = {"interest": True, "interest_marks": True}
        client.patch("/api/v1/users/me", json={"preferences": preferences}).raise_for_status()
        items = client.get("/api/v1/entries?limit=200").json()["items"]
        read = [item["id"] for item in items if item["author"]]
        passed = [item["id"] for item in items if "about reeds" in item["title"]][40:80]
        seen = {"read": read, "passed": [{"entry_id": id_, "ms": 2_000} for id_ in passed]}
        client.post(f"{INTEREST}/seen", json=seen).raise_for_status()
        yield client


@both
def test_priority_lists_by_interest_and_says_why(walk: Walk, way: Way) -> None:
    page = walk("/priority", way)
    expect(page.locator("#list-title")).to_have_text("Priority")
    expect(page.locator(".order-note")).to_contain_text("Nothing is hidden.")
    first = page.locator("#rows .row .from").all_inner_texts()[:8]
    assert sum(name in ("The Marrowby Courier", "Small Machines") for name in first) >= 4
    expect(page.locator("[data-interest]").first).to_have_text("Something else")
    keep_picture(page, "priority", way)
    assert violations(page) == []
    page.locator(".row", has_text="The Marrowby Courier").first.locator("h3 a").click()
    why = page.locator("#why")
    expect(why.locator("summary")).to_contain_text("Because you often read")
    why.locator("summary").click()
    expect(why.locator("li", has_text="Tobin Ferrow")).to_be_visible()
    keep_picture(page, "priority-why", way)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_reason_is_corrected_at_once_and_taken_back(walk: Walk) -> None:
    page = walk("/priority", DESK)
    page.locator(".row", has_text="The Marrowby Courier").first.locator("h3 a").click()
    page.locator("#why summary").focus()
    page.keyboard.press("Enter")
    less = page.get_by_role("button", name="Less: Tobin Ferrow")
    less.click()
    expect(less).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#why [role=status]")).to_contain_text("You will see less of Tobin Ferrow.")
    page.locator("#why [role=status] button").click()
    expect(less).to_have_attribute("aria-pressed", "false")


def test_what_is_passed_by_and_what_stays_open_is_told(walk: Walk, client: httpx.Client) -> None:
    page = walk("/unread?order=oldest", DESK)
    before = client.get(INTEREST).json()
    until(page, LEARNS)
    _scroll_slowly(page)
    page.locator(".row[data-unread]").nth(30).locator("h3 a").click()
    expect(page.locator("#article .read")).to_be_visible()
    page.wait_for_timeout(11_000)
    page.goto("about:blank")
    wait_for("what was passed by", lambda: client.get(INTEREST).json()["passed"] > before["passed"], seconds=20)
    wait_for("what was read", lambda: client.get(INTEREST).json()["chosen"] > before["chosen"], seconds=20)


def _scroll_slowly(page: Page) -> None:
    for _ in range(3):
        page.wait_for_timeout(1_200)
        page.locator("#list-body").evaluate("body => body.scrollBy(0, body.clientHeight)")
    page.wait_for_timeout(1_200)


@both
def test_the_page_of_beliefs_lists_switches_and_forgets(walk: Walk, way: Way) -> None:
    page = walk("/interest", way)
    expect(page.get_by_role("heading", name="What Reedbed believes")).to_be_visible()
    expect(page.locator("section", has=page.locator("#likes")).locator("li").first).to_be_visible()
    keep_picture(page, "interest", way)
    assert violations(page) == []
    button = page.locator("section", has=page.locator("#likes")).get_by_role("button", name="Never use this").first
    button.click()
    expect(page.locator("#pinned")).to_be_visible()
    page.locator("section", has=page.locator("#pinned")).get_by_role("button", pressed=True).first.click()
    expect(page.locator("#pinned")).not_to_be_attached()
