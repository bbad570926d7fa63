"""The sidebar: menus by mouse, key and finger, muting, names in place, feeds in trouble, moving by drag and by key."""

from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import DESK, Walk, Way, keep_picture, violations
from tests.processes import Reedbed, signed_in


def test_a_feed_is_muted_renamed_and_moved_from_its_menu(walk: Walk, home: Reedbed) -> None:
    with signed_in(home.url) as client:
        client.post("/api/v1/folders", json={"name": "Menus"}).raise_for_status()
    page = walk("/unread", DESK)
    _line(page, "Marrowby").hover()
    expect(page.get_by_role("button", name="Menu of The Marrowby Courier")).to_be_visible()
    _line(page, "Marrowby").click(button="right")
    menu = page.get_by_role("menu", name="The Marrowby Courier")
    expect(menu).to_contain_text("checked")
    assert violations(page) == []
    page.keyboard.press("m")
    page.keyboard.press("m")
    expect(page.get_by_role("menuitem", name="Mute for a while")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("menuitem", name="Until tomorrow, 07:00")).to_be_focused()
    keep_picture(page, "sidebar-feed-menu")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("is muted")
    expect(page.locator("#tree .line[data-muted]")).to_contain_text("Marrowby")
    expect(_line(page, "Marrowby")).to_be_focused()
    page.locator(".toast button").click()
    expect(page.locator("#tree .line[data-muted]")).to_have_count(0)
    _line(page, "Marrowby").focus()
    page.keyboard.press("F2")
    page.get_by_label("New name").fill("The Courier")
    page.keyboard.press("Enter")
    expect(_line(page, "The Courier")).to_be_focused()
    page.keyboard.press(".")
    page.get_by_role("menuitem", name="Move to folder").press("ArrowRight")
    page.get_by_role("menuitemradio", name="Menus").click()
    expect(page.locator(".folder", has_text="Menus").locator(".line")).to_contain_text("The Courier")
    page.locator(".toast button").click()
    expect(page.locator(".folder", has_text="Menus").locator(".line")).to_have_count(0)
    _line(page, "The Courier").focus()
    page.keyboard.press(".")
    page.keyboard.press("Escape")
    expect(_line(page, "The Courier")).to_be_focused()
    page.keyboard.press("F2")
    page.get_by_label("New name").fill("The Marrowby Courier")
    page.keyboard.press("Enter")
    expect(_line(page, "Marrowby")).to_be_visible()


def test_feeds_without_unread_entries_are_hidden_and_shown(walk: Walk, home: Reedbed) -> None:
    with signed_in(home.url) as client:
        feed = next(one for one in client.get("/api/v1/subscriptions").json()["items"] if "Marrowby" in one["title"])
        marked = client.post("/api/v1/entries/mark-read", json={"feed_id": feed["feed_id"]}).json()
        page = walk("/unread", DESK)
        expect(_line(page, "Marrowby")).to_be_visible()
        page.keyboard.press("Shift+H")
        expect(_line(page, "Marrowby")).to_be_hidden()
        expect(page.locator("#hide-read")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Shift+H")
        expect(_line(page, "Marrowby")).to_be_visible()
        client.post("/api/v1/undo", json={"undo": marked["undo"]}).raise_for_status()


def test_the_menu_of_a_folder_leads_to_a_digest_and_a_published_feed(walk: Walk, home: Reedbed) -> None:
    with signed_in(home.url) as client:
        client.post("/api/v1/folders", json={"name": "Reports"}).raise_for_status()
    page = walk("/unread", DESK)
    _line(page, "Reports").click(button="right")
    expect(page.get_by_role("menu", name="Reports").locator("[data-facts]")).to_have_text("0 unread")
    page.get_by_role("menuitem", name="Publish as one feed…").click()
    expect(page.locator("#view option:checked")).to_have_text("Reports")
    page.goto(f"{home.url}/unread")
    _line(page, "Reports").click(button="right")
    page.get_by_role("menuitem", name="Make a digest…").click()
    expect(page.locator("#about option:checked")).to_have_text("Folder: Reports")
    page.goto(f"{home.url}/unread")
    _line(page, "Marrowby").click(button="right")
    expect(page.get_by_role("menuitem", name="Show unread as")).to_contain_text("Number")


def test_on_a_phone_a_menu_is_a_sheet(walk: Walk) -> None:
    page = walk("/unread", Way(phone=True, dark=True))
    page.locator("#list-bar .to-nav").click()
    _line(page, "Marrowby").dispatch_event("contextmenu")
    sheet = page.get_by_role("menu", name="The Marrowby Courier")
    expect(sheet).to_be_visible()
    assert violations(page) == []
    keep_picture(page, "sidebar-sheet")
    box = sheet.bounding_box()
    assert box and (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 844)
    page.mouse.click(200, 100)
    expect(sheet).to_have_count(0)


def test_a_feed_is_dragged_into_a_folder_and_moved_by_key(walk: Walk, home: Reedbed) -> None:
    with signed_in(home.url) as client:
        client.post("/api/v1/folders", json={"name": "Drawer"}).raise_for_status()
    page = walk("/unread", DESK)
    inside = page.locator(".folder", has_text="Drawer").locator(".line")
    feed, folder = _line(page, "Feed bulk").bounding_box(), _line(page, "Drawer").bounding_box()
    assert feed and folder
    page.mouse.move(feed["x"] + 60, feed["y"] + 10)
    page.mouse.down()
    page.mouse.move(folder["x"] + 60, folder["y"] + 12, steps=8)
    expect(page.locator(".toast")).to_contain_text("Drop to move Feed bulk to Drawer")
    expect(page.locator("#tree .over")).to_contain_text("Drawer")
    keep_picture(page, "sidebar-drag")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.locator(".ghost")).to_have_count(0)
    expect(inside).to_have_count(0)
    assert page.url.endswith("/unread")
    page.mouse.move(feed["x"] + 60, feed["y"] + 10)
    page.mouse.down()
    page.mouse.move(folder["x"] + 60, folder["y"] + 12, steps=8)
    page.mouse.up()
    expect(inside).to_contain_text("Feed bulk")
    expect(page.locator("#polite")).to_contain_text("Feed bulk moved to Drawer")
    assert page.url.endswith("/unread")
    page.locator(".toast button").click()
    expect(inside).to_have_count(0)
    _line(page, "Feed bulk").focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator(".folder .line", has_text="Feed bulk")).to_have_count(1)
    expect(_line(page, "Feed bulk")).to_be_focused()
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator(".folder .line", has_text="Feed bulk")).to_have_count(0)


def test_a_feed_stands_in_two_folders(walk: Walk, home: Reedbed) -> None:
    with signed_in(home.url) as client:
        ids = [client.post("/api/v1/folders", json={"name": name}).json()["id"] for name in ("Left", "Right")]
        unread = client.get("/api/v1/counts").json()["all"]
        page = walk("/unread", DESK)

        def inside(name: str) -> Locator:
            return page.locator(".folder", has_text=name).locator(".line", has_text="Feed bulk")

        _also_in(page, "Left")
        expect(inside("Left")).to_have_count(1)
        feed, folder = _line(page, "Feed bulk").first.bounding_box(), _line(page, "Right").bounding_box()
        assert feed and folder
        page.mouse.move(feed["x"] + 60, feed["y"] + 10)
        page.mouse.down()
        page.keyboard.down("Control")
        page.mouse.move(folder["x"] + 60, folder["y"] + 12, steps=8)
        expect(page.locator(".toast")).to_contain_text("Drop to put Feed bulk into Right too")
        page.mouse.up()
        page.keyboard.up("Control")
        expect(inside("Right")).to_have_count(1)
        expect(inside("Left")).to_have_count(1)
        expect(page.locator('#tree [data-count="unread"]')).to_have_text(str(unread))
        _also_in(page, "Left")
        expect(inside("Left")).to_have_count(0)
        page.locator(".toast button").click()
        expect(inside("Left")).to_have_count(1)
        for id_ in ids:
            client.delete(f"/api/v1/folders/{id_}").raise_for_status()


def test_a_menu_under_a_mouse_that_lies_still_is_for_the_keys(walk: Walk) -> None:
    page = walk("/unread", DESK)
    box = _line(page, "Feed bulk").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 80, box["y"] + 60)
    _line(page, "Feed bulk").first.focus()
    page.keyboard.press(".")
    page.get_by_role("menuitem", name="Mute for a while").press("ArrowRight")
    page.wait_for_timeout(500)  # longer than a mouse rests before it opens or closes something
    expect(page.get_by_role("menuitem", name="For a week")).to_be_visible()
    page.mouse.move(box["x"] + 90, box["y"] + 110, steps=4)
    expect(page.get_by_role("menuitem", name="For a week")).to_have_count(0)
    page.keyboard.press("Escape")


def _also_in(page: Page, folder: str) -> None:
    _line(page, "Feed bulk").first.focus()
    page.keyboard.press(".")
    page.get_by_role("menuitem", name="Also in folders").press("ArrowRight")
    page.get_by_role("menuitemcheckbox", name=folder).click()


def test_the_palette_jumps_acts_and_finds(walk: Walk) -> None:
    page = walk("/starred", DESK)
    page.keyboard.press("Control+k")
    chosen = page.locator("#palette-list [aria-selected=true]")
    expect(chosen).to_have_count(1)
    page.keyboard.type("reed")
    expect(chosen).to_contain_text("All words of the water")
    expect(page.locator("#palette-list [role=group][aria-label=Entries]")).to_be_visible()
    expect(chosen).to_contain_text("All words of the water")
    assert violations(page) == []
    keep_picture(page, "palette")
    page.keyboard.press("Enter")
    page.wait_for_url("**/feed/*")
    page.keyboard.press("Control+k")
    page.keyboard.type(">keyb")
    page.keyboard.press("Enter")
    expect(page.locator("#keys[open] .keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("herons")
    expect(page.locator("#palette-list mark").first).to_be_visible()
    expect(chosen).to_contain_text("Search for “herons”")
    page.locator("#palette-list .hit").first.click()
    expect(page.locator("#article h1")).to_be_visible()


def test_a_phrase_that_is_typed_without_a_rest_is_searched_once(walk: Walk) -> None:
    page = walk("/starred", DESK)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/v1/entries?" in request.url else None)
    page.keyboard.press("/")
    page.locator("#palette input").press_sequentially("herons in the reed at noon", delay=60)
    page.wait_for_timeout(1_000)
    assert 1 <= len(asked) < 6, asked
    assert asked[-1].endswith("noon*")


def test_the_key_of_undo_takes_back_what_the_sidebar_did_last(walk: Walk) -> None:
    page = walk("/unread", DESK)
    _line(page, "Feed bulk").first.focus()
    page.keyboard.press(".")
    page.get_by_role("menuitem", name="Unsubscribe").click()
    expect(_line(page, "Feed bulk")).to_have_count(0)
    page.locator("#list").focus()
    page.keyboard.press("z")
    expect(page.locator(".toast")).to_have_count(0)
    expect(_line(page, "Feed bulk")).to_have_count(1)


def test_the_palette_fills_a_phone(walk: Walk) -> None:
    page = walk("/unread", Way(phone=True, dark=True))
    page.locator("#list-bar .to-nav").click()
    page.get_by_role("link", name="Jump to or search").click()
    expect(page.locator("#palette-list [role=option]")).to_have_count(5)
    keep_picture(page, "palette-phone")
    assert violations(page) == []
    box = page.locator("#palette").bounding_box()
    assert box and (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 390, 844)


def _line(page: Page, name: str) -> Locator:
    return page.locator("#tree .line > a:first-child", has_text=name)
