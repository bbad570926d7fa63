"""9. Live: news are announced and do not push, other devices are heard, a lost session leads back."""

import re

from playwright.sync_api import expect

from tests.e2e.conftest import DESK, Visit, Walk, Way, both, keep_picture, log_in
from tests.feedsite import FeedSite
from tests.processes import OWNER, Reedbed, signed_in


@both
def test_news_wait_to_be_asked_in(fresh_server: Reedbed, visit: Visit, threaded_site: FeedSite, way: Way) -> None:
    with signed_in(fresh_server.url) as client:
        page = visit(f"{fresh_server.url}/login", way)
        log_in(page, fresh_server)
        threaded_site.publish("Fresh from the water", key="a")
        made = client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).json()
        # Nothing can jump in an empty list: it fills by itself.
        expect(page.locator(".row", has_text="Fresh from the water")).to_have_count(1)
        threaded_site.publish("And another", key="b")
        client.post(f"/api/v1/subscriptions/{made['id']}/refresh").raise_for_status()
        expect(page.locator("#fresh a")).to_have_text("Show 1 new entry")
        expect(page.locator(".row")).to_have_count(1)
        keep_picture(page, "fresh", way)
        expect(page).to_have_title(re.compile(r"^\(2\) "))
        page.locator("#fresh a").click()
        expect(page.locator(".row")).to_have_count(2)

        other = page.locator(".row").first.get_attribute("id") or ""
        client.patch(f"/api/v1/entries/{other[1:]}", json={"read": True, "starred": True}).raise_for_status()
        expect(page.locator(f"#{other}[data-starred]:not([data-unread])")).to_have_count(1)
        expect(page).to_have_title(re.compile(r"^\(1\) "))

        undo = client.post("/api/v1/entries/mark-read", json={"all": True}).json()["undo"]
        expect(page.locator(".row:not([data-unread])")).to_have_count(2)
        expect(page.locator(".row")).to_have_count(2)
        client.post("/api/v1/undo", json={"undo": undo}).raise_for_status()
        expect(page.locator(".row[data-unread]")).to_have_count(1)


def test_a_lost_session_leads_to_the_login_page_and_back(walk: Walk, home: Reedbed) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="Herons return").click()
    expect(page.locator("#article h1")).to_have_text("Herons return to the canal")
    here = page.url
    page.context.clear_cookies()
    page.keyboard.press("s")
    expect(page.locator(".toast")).to_contain_text("logged out")
    page.locator("#tag-menu > summary").click()
    page.fill("#new-tag", "typed")
    page.locator("#tags button[name=value]").click()
    expect(page.locator(".toast")).to_contain_text("logged out")
    expect(page.locator("#new-tag")).to_have_value("typed")
    page.locator(".toast button").click()
    page.wait_for_url("**/login?next=*")
    page.fill("#email", OWNER["REEDBED_OWNER_EMAIL"])
    page.fill("#password", OWNER["REEDBED_OWNER_PASSWORD"])
    page.click("main button[data-kind=primary]")
    page.wait_for_url(here)
    expect(page.locator("#article h1")).to_have_text("Herons return to the canal")


def test_an_entry_that_cannot_be_had_is_not_mistaken_for_another(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="The third morning").click()
    expect(page.locator("#article h1")).to_have_text("The third morning")
    page.context.clear_cookies()
    never = page.locator(".row").nth(20)
    never.locator("h3 a").click()
    expect(page.locator(".toast")).to_be_visible()
    expect(page.locator("#article h1")).to_have_count(0)
    expect(never).to_have_attribute("data-current", "")
