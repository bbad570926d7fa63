"""1. The shape: three panes on a desk, one on a phone, and an address for everything."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.conftest import DESK, PHONE, Walk, Way, every_way, keep_picture, until, violations


@every_way
def test_list_and_article_stand_side_by_side_or_one_behind_the_other(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    link = page.locator(".row h3 a", has_text="Herons return")
    expect(link).to_be_visible()
    keep_picture(page, "list", way)
    address = link.get_attribute("href")
    link.click()
    expect(page.locator("#article h1")).to_have_text("Herons return to the canal")
    expect(page).to_have_url(re.compile(f"{address}$"))
    for pane in ("#nav", "#list"):
        expect(page.locator(pane)).to_be_visible(visible=not way.phone)
    assert _first_headings(page) == 1
    keep_picture(page, "article", way)
    assert violations(page) == []
    page.reload()
    expect(page.locator("#article h1")).to_have_text("Herons return to the canal")
    page.go_back()
    expect(page.locator("#list")).to_be_visible()
    expect(page).to_have_url(re.compile("/all$"))
    expect(page).to_have_title(re.compile(r"^(\(\d+\) )?Everything · Reedbed$"))


def test_a_phone_goes_from_the_views_to_a_list_and_an_article_and_back(walk: Walk) -> None:
    page = walk("/unread", PHONE)
    page.locator("#list-bar [data-act=nav]").click()
    expect(page.locator("#nav")).to_be_visible()
    expect(page.locator("#list")).not_to_be_visible()
    page.locator("#nav a", has_text="The Marrowby Courier").click()
    expect(page.locator("#list-title")).to_have_text("The Marrowby Courier")
    page.locator(".row h3 a").first.click()
    expect(page.locator("#article .prose")).to_be_visible()
    page.locator("#article [data-act=list]").click()
    expect(page.locator("#list")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_one_step_leads_back_to_the_list_however_far_one_read(walk: Walk) -> None:
    page = walk("/all", PHONE)
    page.locator(".row h3 a").first.click()
    forward = page.locator("#article .bar.only-phone [data-act=next]")
    for place in (1, 2):
        title = page.locator(".row h3 a").nth(place).evaluate("link => link.lastChild.textContent")
        expect(forward).to_have_attribute("href", re.compile("/all/entry/"))
        expect(forward).not_to_have_attribute("aria-disabled", "true")
        forward.click()
        expect(page.locator("#article h1")).to_have_text(title)
    page.locator("#article [data-act=list]").click()
    expect(page).to_have_url(re.compile("/all$"))
    expect(page.locator("#list")).to_be_visible()
    page.go_forward()
    expect(page.locator("#article h1")).to_be_visible()
    page.reload()
    page.locator("#article [data-act=list]").click()
    expect(page).to_have_url(re.compile("/all$"))


def test_escape_gives_the_magazine_its_width_again(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.keyboard.press("3")
    expect(page.locator("#app[data-wide-list]")).to_be_visible()
    wide = _width(page)
    for _ in range(2):
        page.keyboard.press("j")
        expect(page.locator("#article h1")).to_be_visible()
    assert _width(page) < wide
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("/all$"))
    assert _width(page) == wide
    page.keyboard.press("2")
    expect(page.locator("#app[data-wide-list]")).to_have_count(0)


def test_an_entry_opens_in_a_new_tab_and_alone(walk: Walk) -> None:
    page = walk("/all", DESK)
    link = page.locator(".row h3 a", has_text="A second look")
    entry = (link.get_attribute("href") or "").rpartition("/")[2]
    with page.context.expect_page() as opened:
        link.click(modifiers=["Control"])
    expect(opened.value.locator("#article h1")).to_have_text("A second look at the canal")
    page.goto(page.url.replace("/all", f"/entry/{entry}"))
    expect(page.locator("#article h1")).to_have_text("A second look at the canal")


def test_the_bars_of_a_tablet_stand_on_one_line(walk: Walk) -> None:
    page = walk("/all", DESK, viewport={"width": 768, "height": 1024}, has_touch=True, is_mobile=True)
    page.locator(".row h3 a", has_text="Herons return").click()
    expect(page.locator("#article h1")).to_have_text("Herons return to the canal")
    bars = page.locator("#article-bar, #list-bar")
    assert len(set(bars.evaluate_all("all => all.map(bar => bar.offsetHeight)"))) == 1
    assert page.locator("#article-bar").evaluate("bar => bar.scrollWidth <= bar.clientWidth")
    page.locator("#article-bar summary[aria-label='More actions']").click()
    expect(page.get_by_role("link", name="Open the original")).to_be_visible()
    assert violations(page) == []


def test_panes_keep_the_width_they_were_given(walk: Walk) -> None:
    page = walk("/all", DESK)
    before = _width(page)
    split = page.locator("#list .split")
    split.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    wider = _width(page)
    assert wider > before + 32
    page.reload()
    assert abs(_width(page) - wider) < 2
    page.locator("#list .split").focus()
    page.keyboard.press("Home")
    assert abs(_width(page) - before) < 2


def test_without_scripts_reading_and_marking_work(walk: Walk) -> None:
    page = walk("/all", DESK, java_script_enabled=False)
    page.get_by_role("link", name="The third morning").click()
    expect(page.locator(".prose")).to_contain_text("The reeds stand")
    _keep_for_later(page)
    page.goto(page.url.partition("/all")[0] + "/later")
    expect(page.locator(".row", has_text="The third morning")).to_have_count(1)
    page.get_by_role("link", name="The third morning").click()
    _keep_for_later(page)


def _keep_for_later(page: Page) -> None:
    """Or no longer."""
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.locator("#article form[data-mark='later'] button:visible").first.click()
    page.wait_for_load_state()


def _width(page: Page) -> float:
    return page.locator("#list").evaluate("pane => pane.getBoundingClientRect().width")


def _first_headings(page: Page) -> int:
    return page.locator("h1:not([aria-level]):visible").count()


def test_on_a_phone_rows_are_swiped_and_the_list_is_pulled(walk: Walk) -> None:
    page = walk("/all", PHONE)
    tabs = page.locator(".tabs a")
    expect(tabs).to_have_text(["Everything", "Stories", "Search", "Feeds", "Later"])
    expect(page.locator(".tabs [aria-current]")).to_have_text("Everything")
    assert min(tabs.evaluate_all("links => links.map(link => link.offsetHeight)")) >= 56
    row = page.locator("#rows .row").nth(2)
    row_id = row.get_attribute("id")
    was_unread = row.get_attribute("data-unread") is not None
    _drag(page, f"#{row_id}", 40, 60)()
    expect(page.locator(".swipe-acts")).to_have_count(0)
    let_go = _drag(page, f"#{row_id}", 120, 4)
    expect(page.locator(".swipe-acts [data-go=read]")).to_have_text("Mark as read" if was_unread else "Keep unread")
    let_go()
    expect(page.locator(f"#{row_id}[data-unread]")).to_have_count(0 if was_unread else 1)
    _drag(page, f"#{row_id}", -120, 4)()
    assert violations(page) == []
    _tap(page, ".swipe-acts [data-go=later]")
    expect(page.locator(f"#{row_id}[data-later]")).to_be_visible()
    page.keyboard.press("z")
    expect(page.locator(f"#{row_id}[data-later]")).to_have_count(0)
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 0)")
    let_go = _drag(page, "#rows .row >> nth=0", 0, 190)
    expect(page.locator(".pull[data-ready]")).to_contain_text("Let go to check")
    expect(page.locator(".pull [data-grown]")).to_have_count(5)
    let_go()
    expect(page.locator(".toast")).to_contain_text("Looking at")
    tabs.nth(3).tap()
    expect(page.locator("#nav")).to_be_visible()
    expect(page.locator(".tabs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []


def _drag(page: Page, selector: str, across: float, down: float) -> Callable[[], None]:
    """Put a finger on the element and move it; the result lets go."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 20
    session = page.context.new_cdp_session(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in (0.2, 0.4, 0.6, 0.8, 1):
        point = {"x": x + across * part, "y": y + down * part}
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})

    def let_go() -> None:
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(400)  # Chromium takes an earlier touch for the end of the fling

    return let_go


def _tap(page: Page, selector: str) -> None:
    """Tap what goes away then. On a busy machine Chromium takes the first tap for the end of the fling before it."""
    button = page.locator(selector)
    button.tap()
    page.wait_for_timeout(400)
    if button.count():
        button.tap()


def test_j_goes_on_from_where_one_scrolled(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.keyboard.press("j")
    expect(page.locator(".row[data-current]")).to_be_visible()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 2000)")
    top = page.locator("#list-body").bounding_box()
    assert top is not None
    page.keyboard.press("j")
    until(
        page,
        "document.querySelector('.row[data-current]').offsetTop > 1000 || "
        "document.querySelector('#list-body').scrollTop > 1500",
    )
    current = page.locator(".row[data-current]").bounding_box()
    assert current is not None and top["y"] - 200 < current["y"] < top["y"] + 250


def test_on_a_tablet_the_layouts_of_a_list_are_a_menu_where_buttons_do_not_fit(walk: Walk) -> None:
    page = walk("/all", DESK, viewport={"width": 768, "height": 1024}, has_touch=True, is_mobile=True)
    bar = page.locator("#list-options")
    assert bar.evaluate("bar => bar.scrollWidth <= bar.clientWidth")
    bar.locator(".layout-menu summary").click()
    bar.get_by_role("menuitemradio", name="Titles").click()
    expect(page.locator('#rows[data-density="titles"]')).to_be_visible()
    bar.locator(".layout-menu summary").click()
    bar.get_by_role("menuitemradio", name="Cards").click()
    expect(page.locator('#rows[data-density="cards"]')).to_be_visible()


def test_a_page_says_its_title_once(walk: Walk) -> None:
    page = walk("/feeds", PHONE)
    in_bar = page.locator(".pane-page .bar-title")
    expect(in_bar).to_have_css("opacity", "0")
    page.locator(".feedline").first.wait_for()
    page.locator(".pane-page .pane-body").evaluate("body => (body.scrollTop = body.scrollHeight)")
    expect(in_bar).to_have_css("opacity", "1")
