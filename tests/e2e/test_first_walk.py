"""The first walk: a new server, its owner, a feed, an entry read and starred, and out again."""

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Visit, keep_picture, log_in
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_from_the_first_visit_to_logging_out(
    ownerless_server: Reedbed, visit: Visit, threaded_site: FeedSite, phone: bool
) -> None:
    server = ownerless_server
    threaded_site.publish("The reeds are back", key="a", content="<p>They stand in the water again.</p>")
    page = visit(server.url, phone=phone)
    page.wait_for_url("**/setup")
    page.fill("#email", "owner@example.org")
    page.fill("#password", "short")
    page.evaluate("document.querySelector('form').noValidate = true")
    page.click("main button[data-kind=primary]")
    expect(page.locator("#password-error")).to_contain_text("10 characters")
    expect(page.locator("#email")).to_have_value("owner@example.org")
    page.fill("#password", "three calm words")
    page.check("input[name=start][value=nothing]")
    page.click("main button[data-kind=primary]")
    page.wait_for_url("**/unread")

    page.goto(f"{server.url}/add")
    page.fill("input[name=url]", threaded_site.feed_url())
    page.keyboard.press("Enter")
    expect(page.get_by_text("The reeds are back").first).to_be_visible()
    page.get_by_role("button", name="Follow").first.click()
    page.goto(f"{server.url}/unread")
    row = page.locator(".row", has_text="The reeds are back")
    expect(row).to_have_count(1)
    keep_picture(page, f"first-list-{'phone' if phone else 'desk'}")

    row.locator("h3 a").click()
    expect(page.locator("#article .prose")).to_contain_text("They stand in the water")
    expect(page).to_have_url(f"{server.url}/unread/entry/1")
    expect(page.locator(".row[data-unread]")).to_have_count(0)
    page.locator('#article form[data-mark="starred"] button:visible').first.click()
    expect(page.locator('#article form[data-mark="starred"] button:visible').first).to_have_attribute(
        "aria-pressed", "true"
    )
    keep_picture(page, f"first-article-{'phone' if phone else 'desk'}")
    page.reload()
    expect(page.locator("#article .prose")).to_contain_text("They stand in the water")
    page.goto(f"{server.url}/starred")
    expect(page.locator(".row", has_text="The reeds are back")).to_have_count(1)

    page.goto(f"{server.url}/settings/account")
    page.locator("form[action='/logout'] button").first.click()
    page.wait_for_url("**/login")
    page.goto(f"{server.url}/unread")
    page.wait_for_url("**/login?next=*")


def test_a_new_entry_appears_by_itself(fresh_server: Reedbed, visit: Visit, threaded_site: FeedSite) -> None:
    server = fresh_server
    with signed_in(server.url) as client:
        page = visit(f"{server.url}/login")
        log_in(page, server)
        threaded_site.publish("Fresh from the water", key="a")
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        expect(page.locator(".row", has_text="Fresh from the water")).to_have_count(1, timeout=20_000)


def test_without_scripts_reading_and_marking_work(
    fresh_server: Reedbed, visit: Visit, threaded_site: FeedSite
) -> None:
    server = fresh_server
    threaded_site.publish("Plain as paper", key="a", content="<p>Nothing moves.</p>")
    with signed_in(server.url) as client:
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("the entry", lambda: client.get("/api/v1/entries").json()["items"])
        page = visit(f"{server.url}/login", scripts=False)
        log_in(page, server)
        page.get_by_role("link", name="Plain as paper").click()
        expect(page.locator(".prose")).to_contain_text("Nothing moves.")
        page.locator("#article form[data-mark='starred'] button:visible").first.click()
        page.locator("#article form[data-mark='read'] button:visible").first.click()
        page.goto(f"{server.url}/starred")
        expect(page.locator(".row", has_text="Plain as paper")).to_have_count(1)
        page.goto(f"{server.url}/unread")
        expect(page.locator(".row")).to_have_count(0)
