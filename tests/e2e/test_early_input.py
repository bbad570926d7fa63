"""What is pressed before the script of the page has arrived is held, and done once it has."""

import re

from playwright.sync_api import APIResponse, Page, Route, expect

from reedbed.web.assets import asset
from tests.e2e.conftest import Walk, Way, both
from tests.processes import Reedbed, signed_in, wait_for

ACTS = f"**{asset('acts.js')}"
SCRIPT = f"**{asset('app.js')}"


@both
def test_a_click_before_the_script_is_asked_about(home: Reedbed, walk: Walk, way: Way) -> None:
    name = f"Egrets {way}"
    _make_rule(home, name)
    page = walk("/searches", way, service_workers="block")
    waiting = _load_without_script(page, f"{home.url}/rules")
    line = page.locator(".lines li", has_text=name)
    line.get_by_role("button", name="Delete").click()
    expect(page.locator("#ask")).to_be_hidden()
    waiting.pop().continue_()
    page.locator("#ask[open] button[value=yes]").click()
    expect(line).to_have_count(0)


def test_a_key_and_a_button_that_need_the_script_wait_for_it(home: Reedbed, walk: Walk) -> None:
    page = walk("/searches", service_workers="block")
    waiting = _load_without_script(page, f"{home.url}/unread")
    page.keyboard.press("?")
    waiting.pop().continue_()
    expect(page.locator("#keys")).to_be_visible()
    waiting = _load_without_script(page, f"{home.url}/unread")
    page.locator("[data-act=search]:visible").first.click()
    waiting.pop().continue_()
    expect(page.locator("#palette")).to_be_visible()


def test_without_the_script_forms_work_alone(home: Reedbed, walk: Walk) -> None:
    _make_rule(home, "Bitterns")
    page = walk("/searches", service_workers="block")
    waiting = _load_without_script(page, f"{home.url}/rules")
    line = page.locator(".lines li", has_text="Bitterns")
    line.get_by_role("button", name="Rest").click()
    page.route(SCRIPT, lambda route: route.fulfill(status=404))
    waiting.pop().fulfill(status=404)
    expect(line.locator(".chip")).to_have_text("resting")
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    line.get_by_role("button", name="Delete").click()
    expect(line).to_be_visible()
    assert asked == ["Delete this rule?"]


def test_what_has_just_arrived_takes_a_click(walk: Walk) -> None:
    page = walk("/feeds")
    page.fill("#search", "Marrowby")
    expect(page.locator(".feedline")).to_have_count(1)
    page.locator(".feedline summary").click()
    page.evaluate(SAVE_AT_ONCE)
    page.get_by_role("link", name="Change").click()
    expect(page.locator(".toast")).to_contain_text("Saved")
    assert page.evaluate("window.same"), "the form was sent as on a page without a script"


SAVE_AT_ONCE = """() => {
  window.same = true;
  document.addEventListener("htmx:afterSwap", () => {
    setTimeout(() => document.querySelector(".feed-form button[data-kind=primary]").click());
  }, { once: true });
}"""


def test_a_key_waits_for_the_part_of_the_script_that_highlights(walk: Walk) -> None:
    page = walk("/all", service_workers="block")
    waiting: list[Route] = []
    page.route("**/assets/*.js", lambda route: waiting.append(route))
    page.locator(".row h3 a", has_text="The third morning").click()
    expect(page.locator("#article h1")).to_have_text("The third morning")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#prose p'))")
    page.keyboard.press("h")
    wait_for("the request for the script", lambda: page.evaluate("true") and waiting)
    page.route("**/assets/*.js", lambda route: route.continue_())
    for route in waiting:
        route.continue_()
    expect(page.locator("#article [data-highlight]")).to_have_count(1)


def test_acts_wait_for_the_part_of_the_script_that_knows_them(home: Reedbed, walk: Walk) -> None:
    page = walk("/healthz", service_workers="block")
    waiting = _load_without_acts(page, f"{home.url}/unread")
    page.keyboard.press("/")
    page.keyboard.type("jam")  # "a" and "j" alone would leave the list
    _arrive(page, waiting)
    expect(page.locator("#palette input")).to_have_value("jam")
    expect(page).to_have_url(f"{home.url}/unread")

    waiting = _load_without_acts(page, f"{home.url}/unread")
    page.keyboard.press("Control+k")
    page.keyboard.type("settings")
    page.keyboard.press("Enter")
    _arrive(page, waiting)
    expect(page).to_have_url(re.compile("/settings"))

    waiting = _load_without_acts(page, f"{home.url}/unread")
    line = page.locator("#tree .line > a:first-child", has_text="The Marrowby Courier")
    line.click(button="right")
    _arrive(page, waiting)
    expect(page.locator("[role=menu][data-floating] strong")).to_have_text("The Marrowby Courier")

    waiting = _load_without_acts(page, f"{home.url}/unread")
    line.focus()
    page.keyboard.press("F2")
    _arrive(page, waiting)
    expect(page.get_by_label("New name")).to_be_focused()

    waiting = _load_without_acts(page, f"{home.url}/unread")
    page.locator("#list-options summary").first.click()
    page.keyboard.press("ArrowDown")
    _arrive(page, waiting)
    expect(page.locator("#list-options details[open] [role^=menuitem]").nth(1)).to_be_focused()


def test_a_line_that_is_dragged_before_the_script_is_moved(home: Reedbed, walk: Walk) -> None:
    with signed_in(home.url) as client:
        client.post("/api/v1/folders", json={"name": "Early drawer"}).raise_for_status()
    page = walk("/healthz", service_workers="block")
    waiting = _load_without_acts(page, f"{home.url}/unread")
    feed = page.locator("#tree .line", has_text="The Marrowby Courier").last.bounding_box()
    folder = page.locator("#tree .line.folder, #tree .folder .line, #tree .folder").filter(has_text="Early drawer")
    place = folder.first.bounding_box()
    assert feed
    assert place
    page.mouse.move(feed["x"] + 60, feed["y"] + 10)
    page.mouse.down()
    page.mouse.move(place["x"] + 60, place["y"] + 12, steps=8)
    _arrive(page, waiting)
    expect(page.locator(".toast")).to_contain_text("Drop to move The Marrowby Courier to Early drawer")
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.locator(".ghost")).to_have_count(0)


def test_a_finger_that_rests_before_the_script_opens_the_menu(home: Reedbed, walk: Walk) -> None:
    page = walk("/healthz", Way(phone=True), service_workers="block")
    waiting = _load_without_acts(page, f"{home.url}/unread?pane=nav")
    line = page.locator("#tree .line > a:first-child", has_text="The Marrowby Courier")
    line.scroll_into_view_if_needed()
    place = line.bounding_box()
    assert place
    finger = page.context.new_cdp_session(page)
    point = {"x": place["x"] + 40, "y": place["y"] + 10}
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    _arrive(page, waiting)
    expect(page.locator("[role=menu][data-floating] strong")).to_have_text("The Marrowby Courier")
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.locator("[role=menu][data-floating]")).to_be_visible()


def test_without_that_part_the_page_says_so(home: Reedbed, walk: Walk) -> None:
    page = walk("/healthz", service_workers="block")
    waiting = _load_without_acts(page, f"{home.url}/unread")
    page.keyboard.press("/")
    wait_for("the request for the script", lambda: page.evaluate("true") and waiting)
    waiting.pop().abort("connectionrefused")
    expect(page.locator(".toast")).to_be_visible()
    page.unroute_all()
    page.locator(".toast button").click()
    page.keyboard.press("/")
    expect(page.locator("#palette")).to_be_visible()


def test_a_name_that_is_being_written_outlives_news_of_the_sidebar(walk: Walk, home: Reedbed) -> None:
    page = walk("/unread", service_workers="block")
    line = page.locator("#tree .line > a:first-child", has_text="The Marrowby Courier")
    waiting: list[Route] = []
    page.route("**/sidebar?here=*", lambda route: waiting.append(route))
    with signed_in(home.url) as client:
        client.post("/api/v1/folders", json={"name": "News of the sidebar"}).raise_for_status()
    wait_for("the question for the sidebar", lambda: page.evaluate("true") and waiting)
    line.focus()
    page.keyboard.press("F2")
    field = page.get_by_label("New name")
    field.fill("The Courier")
    page.route("**/sidebar?here=*", lambda route: route.continue_())
    with page.expect_response("**/sidebar?here=*"):
        waiting.pop().continue_()
    page.evaluate(TWO_FRAMES)
    expect(field).to_have_value("The Courier")
    page.keyboard.press("Escape")
    expect(page.locator("#tree .folder", has_text="News of the sidebar")).to_be_visible()


def test_an_older_answer_replaces_no_newer_list(walk: Walk) -> None:
    page = walk("/unread", service_workers="block")
    late: list[tuple[Route, APIResponse]] = []

    def answer(route: Route) -> None:
        if late or route.request.headers.get("hx-target") != "list":
            route.continue_()
        else:
            late.append((route, route.fetch()))

    page.route("**/unread", answer)
    page.keyboard.press("1")
    wait_for("the first answer", lambda: page.evaluate("true") and late)
    page.keyboard.press("3")
    expect(page.locator("#rows[data-density=magazine]")).to_be_visible()
    route, response = late[0]
    with page.expect_response("**/unread"):
        route.fulfill(response=response)
    page.evaluate(TWO_FRAMES)
    expect(page.locator("#rows[data-density=magazine]")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator("#rows[data-density=cards]")).to_be_visible()


TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def test_a_search_typed_before_htmx_is_there_is_made(home: Reedbed, walk: Walk) -> None:
    page = walk("/searches", service_workers="block")
    waiting: list[Route] = []
    page.route(f"**{asset('htmx-library.js')}", lambda route: waiting.append(route))
    page.goto(f"{home.url}/feeds")
    expect(page.locator(".feedline").nth(1)).to_be_visible()
    page.fill("#search", "Marrowby")
    waiting.pop().continue_()
    expect(page.locator(".feedline")).to_have_count(1)


def _make_rule(home: Reedbed, name: str) -> None:
    rule = {
        "name": name,
        "conditions": [{"field": "title", "operator": "contains", "value": name}],
        "actions": [{"action": "star"}],
    }
    with signed_in(home.url) as client:
        client.post("/api/v1/rules", json=rule).raise_for_status()


def _load_without_acts(page: Page, url: str) -> list[Route]:
    """Show the page while the part of the script that comes with the first act is still on the way."""
    waiting: list[Route] = []
    page.unroute_all()
    page.route(ACTS, lambda route: waiting.append(route))
    page.goto(url)
    return waiting


def _arrive(page: Page, waiting: list[Route]) -> None:
    wait_for("the request for the script", lambda: page.evaluate("true") and waiting)
    waiting.pop().continue_()


def _load_without_script(page: Page, url: str) -> list[Route]:
    """Show the page while its script is still on the way; how to let it arrive."""
    waiting: list[Route] = []
    page.unroute_all()
    page.route(SCRIPT, lambda route: waiting.append(route))
    page.goto(url, wait_until="commit")
    page.locator("#toasts").wait_for(state="attached")
    wait_for("the request for the script", lambda: page.evaluate("true") and waiting)
    return waiting
