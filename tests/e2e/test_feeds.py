"""6. Managing: feeds and why, folders by key and by drag, rules tried first, searches, tokens, one's data."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import DESK, Walk, Way, both, every_way, keep_picture, until, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in


@both
def test_feeds_are_filtered_changed_and_say_so(walk: Walk, way: Way) -> None:
    page = walk("/feeds", way)
    expect(page.locator(".feedline").first).to_be_visible()
    page.fill("#search", "Marrowby")
    expect(page.locator(".feedline")).to_have_count(1)
    keep_picture(page, "feeds", way)
    page.locator(".feedline summary").click()
    menu, width = page.locator(".feedline .menu-panel").bounding_box(), page.evaluate("innerWidth")
    assert menu and 0 <= menu["x"] < menu["x"] + menu["width"] <= width
    page.get_by_role("link", name="Change").click()
    form = page.locator(".feed-form")
    form.locator("input[name=name]").fill("")
    form.get_by_role("button", name="Save").click()
    expect(form.locator(".error")).to_contain_text("Feed name is required")
    form.locator("input[name=name]").fill("The Marrowby Courier")
    assert violations(page) == []
    form.get_by_role("button", name="Save").click()
    expect(page.locator(".toast")).to_contain_text("Saved")
    expect(page.locator(".feed-form")).to_have_count(0)
    expect(page.locator(".feedline")).to_have_count(1)
    if not way.phone:
        expect(page.locator("#feed-statuses [data-status=all] .count")).not_to_be_empty()


def test_what_is_chosen_high_up_is_changed_without_scrolling(walk: Walk) -> None:
    page = walk("/feeds", DESK)
    page.set_viewport_size({"width": 1440, "height": 420})
    bulk = page.locator("#feeds-bulk")
    expect(bulk).not_to_be_in_viewport()
    page.locator(".feedline input[name=ids]").first.check()
    expect(bulk.get_by_role("button", name="Change them")).to_be_in_viewport()


def test_folders_move_by_keys_and_by_dragging(walk: Walk, home: Reedbed) -> None:
    with signed_in(home.url) as client:
        known = {one["name"] for one in client.get("/api/v1/folders").json()["items"]}
        for name in {"Reeds", "Water", "Birds"} - known:
            client.post("/api/v1/folders", json={"name": name}).raise_for_status()
    page = walk("/folders", DESK)
    _line(page, "Water").focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#polite")).to_contain_text("moved")
    _line(page, "Birds").drag_to(_line(page, "Reeds"), target_position={"x": 300, "y": 40})
    expect(_line(page, "Birds")).to_have_attribute("data-depth", "1")
    _line(page, "Birds").focus()
    page.keyboard.press("Alt+ArrowLeft")
    expect(_line(page, "Birds")).to_have_attribute("data-depth", "0")
    assert violations(page) == []


@both
def test_a_rule_is_tried_kept_and_deleted(walk: Walk, way: Way) -> None:
    page = walk("/rules", way)
    page.fill("input[name=name]", f"Herons {way}")
    page.locator("input[name=value]").first.fill("Herons return")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#dry-run")).to_contain_text("1 entry would match")
    form, result = (page.locator("form.card").last.bounding_box(), page.locator("#dry-run .card").bounding_box())
    assert form is not None and result is not None and result["y"] - form["y"] - form["height"] >= 16
    keep_picture(page, "rules", way)
    assert violations(page) == []
    page.get_by_role("button", name="Keep the rule").click()
    line = page.locator(".lines li", has_text=f"Herons {way}")
    expect(line).to_be_visible()
    line.get_by_role("button", name="Delete").click()
    page.locator("#ask[open] button[value=yes]").click()
    expect(line).to_have_count(0)


@both
def test_a_search_is_suggested_counted_corrected_saved_and_deleted(walk: Walk, way: Way) -> None:
    page = walk("/search?q=canal", way)
    expect(page.locator("#search-count")).to_have_text(re.compile(r"^\d+ (entry|entries) in 1 feed$"))
    page.fill("#q", "canal feed:marr")
    option = page.get_by_role("option", name="The Marrowby Courier")
    expect(option.locator(".count")).to_have_text(re.compile(r"^\d+$"))
    expect(option.locator("b")).to_have_text("Marr")
    keep_picture(page, "search-suggest", way)
    assert violations(page) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("Marrowby"))
    chip = page.locator(".find-chip[aria-current]")
    expect(chip).to_contain_text("The Marrowby Courier")
    keep_picture(page, "search", way)
    assert violations(page) == []
    chip.click()
    expect(chip).to_have_count(0)
    page.fill("#q", "")
    expect(page.get_by_role("option", name='canal feed:"The Marrowby Courier"')).to_be_visible()
    page.fill("#q", "cannal")
    page.keyboard.press("Enter")
    page.locator(".find-meant a").click()
    page.wait_for_url(re.compile(r"q=canal$"))
    page.get_by_role("button", name="Keep this search").click()
    page.wait_for_url(re.compile(r"/saved/\d+$"))
    counted = page.locator("#tree a", has_text="canal").locator(".count")
    expect(counted).to_have_text(re.compile(r"^\d+$"))
    page.goto(page.url.partition("/saved")[0] + "/searches")
    page.get_by_role("button", name="Delete").click()
    if page.locator("#ask[open]").count():
        page.locator("#ask[open] button[value=yes]").click()
    expect(page.locator("#tree a", has_text="canal")).to_have_count(0)


@both
def test_an_app_password_is_shown_once_and_a_reload_does_no_harm(walk: Walk, way: Way) -> None:
    page = walk("/settings/devices", way)
    page.fill("#name", f"Reader {way}")
    page.get_by_role("button", name="Make a password").click()
    expect(page.locator(".secret code").first).to_be_visible()
    keep_picture(page, "devices", way)
    assert violations(page) == []
    page.goto(page.url)
    page.wait_for_url("**/settings/devices")
    expect(page.locator(".secret")).to_have_count(0)
    page.locator(".lines li", has_text=f"Reader {way}").get_by_role("button", name="Revoke").click()
    page.locator("#ask[open] button[value=yes]").click()
    expect(page.locator(".lines li", has_text=f"Reader {way}")).to_have_count(0)


def test_everything_can_be_taken_away(walk: Walk) -> None:
    page = walk("/settings/data", DESK)
    with page.expect_download() as taken:
        page.get_by_role("link", name="Export OPML", exact=True).click()
    assert "xmlUrl" in taken.value.path().read_text()


def _line(page: Page, name: str):
    return page.locator(f"#folders > li[aria-label='{name}']")


def _follow_broken_feeds(home: Reedbed, library: FeedSite) -> str:
    """The address of the folder they are in."""
    for name, status in (("missing", 404), ("asks", 401), ("busy", 503)):
        library.misbehave(feed=name, status=status)
    lines = "".join(
        f'<outline text="{name}" xmlUrl="{library.feed_url(name)}"/>' for name in ("missing", "asks", "busy")
    )
    opml = f'<opml><body><outline text="Broken">{lines}</outline></body></opml>'
    with signed_in(home.url) as client:
        client.post("/api/v1/opml", content=opml.encode()).raise_for_status()
        (folder,) = [one for one in client.get("/api/v1/folders").json()["items"] if one["name"] == "Broken"]
    return f"/folder/{folder['id']}"


@every_way
def test_a_folder_of_broken_feeds_shows_its_marks(home: Reedbed, library: FeedSite, walk: Walk, way: Way) -> None:
    page = walk(_follow_broken_feeds(home, library), way)
    marks = "fetch('/sidebar').then(answer => answer.text()).then(text => text.split('/trouble\"').length)"
    until(page, f"{marks}.then(parts => parts === 4)")
    page.reload()
    expect(page.get_by_text("None of the 3 feeds here can be read")).to_be_visible()
    keep_picture(page, "broken-folder", way)
    if way.phone:
        page.locator(".to-nav:visible").first.click()
    expect(page.locator("#tree a.mark")).to_have_count(3)
    expect(page.locator("#tree a.mark[data-needs]")).to_have_count(2)
    expect(page.locator("#checked")).to_contain_text("2 feeds need you")
    page.locator("#tree a.mark[data-needs]").first.click()
    card = page.locator(".card-pop")
    expect(card).to_contain_text("Its entries stay.")
    expect(card.get_by_role("link", name="Give the password")).to_be_visible()
    keep_picture(page, "broken-sidebar", way)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#tree a.mark:focus")).to_have_count(1)


KEY_NAMED = re.compile(r"\((Esc|.|Control\+K)\)$")
TABLET = {"viewport": {"width": 1180, "height": 820}, "has_touch": True, "is_mobile": True}


def test_menus_and_the_palette_name_keys_where_there_are_some(walk: Walk) -> None:
    for options, visible in (({}, True), (TABLET, False)):
        page = walk("/unread", **options)
        press = Locator.click if visible else Locator.tap
        press(page.get_by_role("button", name="Menu of all feeds"))
        expect(page.get_by_role("menu")).to_be_visible()
        expect(page.locator("[role=menu] kbd").first).to_be_visible(visible=visible)
        page.keyboard.press("Escape")
        press(page.get_by_role("link", name="Jump to or search"))
        page.get_by_role("combobox", name="Jump to or search").fill(">")
        expect(page.locator("#palette-list .mi").first).to_be_visible()
        for named in ("#palette footer kbd", "#palette-list kbd", "[data-press=keys]"):
            expect(page.locator(named).first).to_be_visible(visible=visible)
        assert violations(page) == []


def test_a_wide_touch_screen_names_no_key(walk: Walk) -> None:
    for address in ("/unread", "/folders", "/settings/look"):
        for options, visible in (({}, True), (TABLET, False)):
            page = walk(address, **options)
            expect(page.locator(".only-keys").first).to_be_visible(visible=visible)
            assert page.locator("kbd:visible").count() == (1 if visible and address == "/unread" else 0)
            search = page.locator("[data-act=search]:visible").first
            search.hover() if visible else search.tap()
            assert any(map(KEY_NAMED.search, _titles(page))) is visible


def _titles(page: Page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('[title]')].map(named => named.title)")
