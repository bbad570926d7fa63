"""2. The list: endless, in four layouts, selected and marked in bulk, with everything taken back."""

from io import BytesIO

from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.conftest import DESK, SETTLED, Walk, Way, both, keep_picture, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for


@both
def test_the_list_goes_on_by_itself_in_every_layout(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    shown = page.locator(".row").count()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, body.scrollHeight)")
    expect(page.locator(".row").nth(shown)).to_be_attached()
    page.locator("#list-body").evaluate("body => body.scrollTo(0, 0)")
    for number, layout in enumerate(("titles", "cards", "magazine", "pictures"), 1):
        page.keyboard.press(str(number))
        expect(page.locator(f"#rows[data-density={layout}]")).to_be_visible()
        expect(page.locator(f"#list-options [value={layout}][aria-pressed=true]")).to_be_attached()
        keep_picture(page, f"list-{layout}", way)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []
    page.reload()
    expect(page.locator("#rows[data-density=pictures]")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator("#rows[data-density=cards]")).to_be_visible()


HEIGHTS = "() => [...document.querySelectorAll('#rows .row')].map(row => row.offsetHeight)"


def test_a_row_keeps_its_height_when_it_is_read_and_acts_where_it_stands(walk: Walk, home: Reedbed) -> None:
    page = walk("/all", DESK)
    row = page.locator(".row:not([data-pictured])").first
    time, text = row.locator("time").bounding_box(), row.locator(".row-text").bounding_box()
    assert time and text and abs(time["x"] + time["width"] - text["x"] - text["width"]) < 1
    page = walk(_feed(home, "rich"), DESK)
    row = page.locator(".row").first
    expect(page.locator("#rows[data-single]")).to_be_visible()
    expect(row.locator(".from")).not_to_be_visible()
    unread = page.evaluate(HEIGHTS)
    row.hover()
    assert page.evaluate(HEIGHTS) == unread
    row.locator("[data-row-act=read]").click()
    expect(row).not_to_have_attribute("data-unread", "")
    row.locator("[data-row-act=starred]").click()
    expect(row.locator("[data-of=starred]")).to_be_attached()
    assert page.evaluate(HEIGHTS) == unread
    row.locator("[data-row-act=starred]").click()
    row.locator("[data-row-act=read]").click()
    assert violations(page) == []


def test_on_a_phone_what_a_list_can_do_is_a_sheet(walk: Walk) -> None:
    page = walk("/all", Way(phone=True))
    for menu in ("#list-bar .menu:has(.menu-acts)", "#list-options .menu"):
        panel = page.locator(f"{menu} > .menu-panel").first
        page.locator(f"{menu} > summary").first.tap()
        expect(panel).to_be_visible()
        page.evaluate(SETTLED)
        box = panel.bounding_box()
        assert box and (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 844)
        assert violations(page) == []
        page.touchscreen.tap(200, 300)
        expect(panel).to_be_hidden()
    page.locator(".row h3 a").first.click()
    page.locator("#tag-menu summary").click()
    box = page.locator("#tag-menu .menu-panel").bounding_box()
    assert box and 0 <= box["x"] < box["x"] + box["width"] <= 390


def test_u_turns_a_list_between_unread_and_all(walk: Walk, home: Reedbed) -> None:
    page = walk("/unread", DESK)
    expect(page.locator("#list-title")).to_have_text("Everything")
    page.keyboard.press("u")
    expect(page.locator("#list-options [value=all][aria-pressed=true]")).to_be_visible()
    expect(page).to_have_url(f"{home.url}/all")
    page.keyboard.press("u")
    expect(page.locator("#list-options [value=unread][aria-pressed=true]")).to_be_visible()
    expect(page).to_have_url(f"{home.url}/unread")
    page.locator("#list-options summary").first.click()
    page.locator("#list-options button[value=shortest]").click()
    expect(page.locator("#list-options .pick-btn").first).to_contain_text("Shortest")
    page.locator("#list-options summary").first.click()
    page.locator("#list-options button[value=newest]").click()
    expect(page.locator("#list-options .pick-btn").first).to_contain_text("Newest")


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
    page.locator("#list-bar summary[aria-label='More for this list']").click()
    page.locator("#list-bar input[name=scroll]").check()
    page.keyboard.press("Escape")
    first = page.locator(".row[data-unread]").first
    id_ = first.get_attribute("id")
    first.scroll_into_view_if_needed()
    for _ in range(6):
        page.locator("#list-body").evaluate("body => body.scrollBy(0, 500)")
        page.wait_for_timeout(60)
    expect(page.locator(f"#{id_}[data-unread]")).to_have_count(0)


def test_opening_marks_nothing_read_for_whoever_wants_that(walk: Walk, home: Reedbed) -> None:
    with signed_in(home.url) as client:
        client.patch("/api/v1/users/me", json={"preferences": {"open_marks": False}}).raise_for_status()
        try:
            page = walk("/unread", DESK)
            row = page.locator(".row[data-unread]").first
            id_ = row.get_attribute("id")
            row.locator("h3 a").click()
            expect(page.locator("#article h1")).to_be_visible()
            page.reload()
            expect(page.locator(f"#{id_}[data-unread]")).to_have_count(1)
        finally:
            client.patch("/api/v1/users/me", json={"preferences": {"open_marks": True}}).raise_for_status()


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


def test_posts_show_their_link_as_a_card_and_who_wrote_a_boost(walk: Walk, home: Reedbed, library: FeedSite) -> None:
    text = "Good long piece on why lock keepers still keep paper books."
    link = "<a href='https://ledger.example/a-very-long/address/of-the-lock-keepers'>https://ledger.example/a-very</a>"
    library.publish("", feed="@petra", content=f"<p>{text} {link}</p>", url=f"{library.url}/@petra/1")
    library.publish("", feed="@petra", content="<p>Feeds are letters.</p>", url="https://marsh.example/@ada/2")
    library.publish("", feed="@petra", content="<p>Three herons on the weir.</p>", url=f"{library.url}/@petra/3")
    address = _follow(home, library.feed_url("@petra"), 3)
    for way in (DESK, Way(phone=True, dark=True)):
        page = walk(address, way)
        row = page.locator(".row", has_text=text)
        card = row.locator(".post-link")
        expect(card).to_have_text("ledger.example/a-very-long/address/of-the-lock-keepers")
        expect(row.locator("h3")).to_have_text(f"Unread. {text}")
        inside, around = card.bounding_box(), row.bounding_box()
        assert inside and around and inside["x"] + inside["width"] <= around["x"] + around["width"]
        assert inside["height"] >= (44 if way.phone else 24)
        row.hover()
        acts = row.locator(".row-acts").bounding_box()
        assert not acts or acts["y"] + acts["height"] <= inside["y"]
        expect(page.locator(".post-boost")).to_have_text("Boosted from @ada@marsh.example")
        keep_picture(page, "list-posts", way)
        assert violations(page) == []
        page.keyboard.press("1")
        expect(card).to_be_hidden()
        page.keyboard.press("2")
        expect(card).to_be_visible()
        with page.expect_popup() as opened:
            card.click()
        opened.value.close()
        expect(row).to_have_attribute("data-unread", "")


LOAD = """async () => {
  const heights = () => [...document.querySelectorAll(".row")].map(row => row.offsetHeight).join();
  const before = heights(), pictures = [...document.querySelectorAll(".row > img")];
  for (const picture of pictures) {
    picture.loading = "eager";
    await picture.decode();
  }
  return [before, heights()];
}"""


def test_a_strip_spans_two_columns_and_pictures_move_nothing(walk: Walk, home: Reedbed, library: FeedSite) -> None:
    for name, width, height in (("page", 600, 800), ("strip", 1500, 480), ("square", 640, 640), ("photo", 900, 600)):
        data = BytesIO()
        Image.new("RGB", (width, height), "white").save(data, "PNG")
        url = library.put(f"art/{name}.png", data.getvalue(), content_type="image/png")
        picture = f"<img src='{url}' width='{width}' height='{height}' alt=''>"
        library.publish(name, feed="panels", content=picture)
    address = _follow(home, library.feed_url("panels"), 4)
    page = walk(address, DESK)
    expect(page.locator("#rows[data-density=pictures]")).to_be_visible()
    before, after = page.evaluate(LOAD)
    assert before == after
    expect(page.locator(".row > img[data-loaded]")).to_have_count(4)
    strip, photo = (page.locator(".row", has_text=name).bounding_box() for name in ("strip", "photo"))
    assert strip and photo and strip["width"] > 2 * photo["width"]
    assert violations(page) == []
    phone = walk(address, Way(phone=True))
    before, after = phone.evaluate(LOAD)
    assert before == after
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


def _follow(home: Reedbed, url: str, entries: int) -> str:
    with signed_in(home.url) as client:
        feed = client.post("/api/v1/subscriptions", json={"url": url}).raise_for_status().json()
        place = {"feed_id": feed["feed_id"], "view": "all"}
        wait_for("entries", lambda: len(client.get("/api/v1/entries", params=place).json()["items"]) == entries)
    return f"/feed/{feed['id']}"
