"""What is pressed before the script of the page has arrived is held, and done once it has."""

from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import Walk, Way, both
from tests.processes import Reedbed, signed_in, wait_for

SCRIPT = "**/assets/app-*.js"


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


def _make_rule(home: Reedbed, name: str) -> None:
    rule = {
        "name": name,
        "conditions": [{"field": "title", "operator": "contains", "value": name}],
        "actions": [{"action": "star"}],
    }
    with signed_in(home.url) as client:
        client.post("/api/v1/rules", json=rule).raise_for_status()


def _load_without_script(page: Page, url: str) -> list[Route]:
    """Show the page while its script is still on the way; how to let it arrive."""
    waiting: list[Route] = []
    page.unroute_all()
    page.route(SCRIPT, lambda route: waiting.append(route))
    page.goto(url, wait_until="commit")
    page.locator("#toasts").wait_for(state="attached")
    wait_for("the request for the script", lambda: page.evaluate("true") and waiting)
    return waiting
