"""The first walk: a new server, its owner, a feed, an entry read and starred, and out again."""

from playwright.sync_api import expect

from tests.e2e.conftest import Visit, Way, both, keep_picture
from tests.feedsite import FeedSite
from tests.processes import Reedbed


@both
def test_from_the_first_visit_to_logging_out(
    ownerless_server: Reedbed, visit: Visit, threaded_site: FeedSite, way: Way
) -> None:
    server = ownerless_server
    threaded_site.publish("The reeds are back", key="a", content="<p>They stand in the water again.</p>")
    page = visit(server.url, way)
    page.wait_for_url("**/setup")
    assert {one["name"]: one["value"] for one in page.context.cookies()}["reedbed_zone"] == "Europe/Vienna"
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
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Follow").first.click()
    page.goto(f"{server.url}/unread")
    row = page.locator(".row", has_text="The reeds are back")
    expect(row).to_have_count(1)
    keep_picture(page, "first-list", way)

    row.locator("h3 a").click()
    expect(page.locator("#article .prose")).to_contain_text("They stand in the water")
    expect(page).to_have_url(f"{server.url}/unread/entry/1")
    expect(page.locator(".row[data-unread]")).to_have_count(0)
    with page.expect_response(lambda answer: answer.url.endswith("/entry/1/starred")):
        page.locator('#article form[data-mark="starred"] button:visible').first.click()
    expect(page.locator('#article form[data-mark="starred"] button:visible').first).to_have_attribute(
        "aria-pressed", "true"
    )
    keep_picture(page, "first-article", way)
    page.reload()
    expect(page.locator("#article .prose")).to_contain_text("They stand in the water")
    page.goto(f"{server.url}/starred")
    expect(page.locator(".row", has_text="The reeds are back")).to_have_count(1)

    page.goto(f"{server.url}/settings/account")
    page.locator("form[action='/logout'] button").first.click()
    page.wait_for_url("**/login")
    page.goto(f"{server.url}/unread")
    page.wait_for_url("**/login?next=*")
