"""2. The list: endless, in three densities, selected and marked in bulk, with everything taken back."""

from playwright.sync_api import Page, expect

from tests.e2e.conftest import DESK, Walk, Way, both, keep_picture, violations
from tests.processes import Reedbed, signed_in


@both
def test_the_list_goes_on_by_itself_in_every_density(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    shown = page.locator(".row").count()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, body.scrollHeight)")
    expect(page.locator(".row").nth(shown)).to_be_attached()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 0)")
    for density in ("titles", "magazine", "cards"):
        page.locator("#list-bar summary[aria-label='Density and order']").click()
        page.locator(f"#list-bar label:has(input[value={density}])").click()
        page.keyboard.press("Escape")
        expect(page.locator(f"#rows[data-density={density}]")).to_be_visible()
        keep_picture(page, f"list-{density}", way)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []


ONE_LINE = "words => words.offsetHeight < 2 * parseFloat(getComputedStyle(words).fontSize)"


def test_titles_break_and_stay_in_their_direction(walk: Walk) -> None:
    page = walk("/all", Way(phone=True))
    expect(page.locator(".row h3", has_text="Turned gnirts around")).to_be_visible()
    row = page.locator(".row", has_text="Donaudampf")
    assert row.locator("time").evaluate(ONE_LINE)
    row.locator("h3 a").click()
    expect(page.locator("#article h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@both
def test_marking_all_is_undone_by_the_button_and_by_z(walk: Walk, home: Reedbed, way: Way) -> None:
    page = walk(_feed(home, "bulk"), way)
    expect(page.locator(".row[data-unread]")).to_have_count(8)
    _mark_all(page)
    expect(page.locator(".row[data-unread]")).to_have_count(0)
    page.locator(".toast form[action='/undo'] button").click()
    expect(page.locator(".row[data-unread]")).to_have_count(8)
    _mark_all(page)
    expect(page.locator(".row[data-unread]")).to_have_count(0)
    page.evaluate("document.getElementById('toasts').replaceChildren()")  # ten seconds have passed
    page.keyboard.press("z")
    expect(page.locator(".row[data-unread]")).to_have_count(8)
    _mark_all(page)
    expect(page.locator(".toast form[action='/undo']")).to_be_visible()
    page.reload()
    expect(page.locator(".row[data-unread]")).to_have_count(0)
    page.keyboard.press("z")
    expect(page.locator(".row[data-unread]")).to_have_count(8)


def test_marking_again_does_not_cost_the_way_back(walk: Walk, home: Reedbed) -> None:
    page = walk(_feed(home, "bulk"), DESK)
    _mark_all(page)
    page.keyboard.press("A")
    expect(page.locator(".toast")).to_have_text("Nothing was left to mark.")
    page.keyboard.press("z")
    expect(page.locator(".row[data-unread]")).to_have_count(8)


def test_several_are_selected_and_marked(walk: Walk, home: Reedbed) -> None:
    page = walk(_feed(home, "bulk"), DESK)
    rows = page.locator(".row")
    rows.nth(1).locator("h3 a").click(modifiers=["Shift"])
    rows.nth(3).locator("h3 a").click(modifiers=["Shift"])
    expect(page.locator("#selection")).to_contain_text("3 selected")
    assert violations(page) == []
    page.locator("#selection button[value=true]").click()
    expect(page.locator(".toast")).to_contain_text("3 entries marked read")
    expect(page.locator(".row[data-unread]")).to_have_count(5)
    page.locator(".toast form[action='/undo'] button").click()
    expect(page.locator(".row[data-unread]")).to_have_count(8)


def test_scrolling_past_marks_read_when_asked_to(walk: Walk, home: Reedbed) -> None:
    page = walk("/all", DESK)
    page.locator("#list-bar summary[aria-label='Density and order']").click()
    page.locator("#list-bar input[name=scroll]").check()
    page.keyboard.press("Escape")
    first = page.locator(".row[data-unread]").first
    id_ = first.get_attribute("id")
    first.scroll_into_view_if_needed()
    for _ in range(6):
        page.locator("#list-body").evaluate("body => body.scrollBy(0, 500)")
        page.wait_for_timeout(60)
    expect(page.locator(f"#{id_}[data-unread]")).to_have_count(0)


def _mark_all(page: Page) -> None:
    page.locator("[data-act=mark-all]").click()
    page.locator("button[data-all]").click()
    expect(page.locator(".toast")).to_contain_text("marked read")


def _feed(home: Reedbed, name: str) -> str:
    with signed_in(home.url) as client:
        followed = client.get("/api/v1/subscriptions").json()["items"]
    return next(f"/feed/{one['id']}" for one in followed if one["url"].endswith(f"/{name}.feed"))


def test_a_picture_that_cannot_be_had_leaves_no_frame(walk: Walk) -> None:
    page = walk("/all", DESK)
    row = page.locator(".row", has_text="Feed hostile")
    row.scroll_into_view_if_needed()
    expect(row).to_be_visible()
    expect(row.locator("img:not(.fav)")).to_have_count(0)
