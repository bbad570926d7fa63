"""What an article can do while it is read: footnotes, tables, contents, progress, focus, paper, right to left."""

import re

from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import DESK, Walk, Way, both, keep_picture, until, violations


@both
def test_footnotes_open_in_place_and_tables_scroll_inside(walk: Walk, way: Way) -> None:
    page = _essay(walk, way)
    footnote = page.locator(".prose a.fn")
    footnote.click()
    note = page.get_by_role("dialog", name="Footnote 1")
    expect(note).to_contain_text("The hand is a counter.")
    expect(note).not_to_contain_text("\u21a9")
    keep_picture(page, "footnote", way)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    expect(footnote).to_be_focused()
    footnote.click()
    note.get_by_role("button", name="Show it at the end").click()
    expect(page.locator("#prose ol li", has_text="The hand is a counter")).to_be_focused()
    page.get_by_role("link", name="\u21a9").click()
    expect(page.locator("#prose p", has_text="A timing wheel is a ring")).to_be_in_viewport()

    table = page.get_by_role("region", name="Values. 9 columns")
    table.scroll_into_view_if_needed()
    caption = "caption => getComputedStyle(caption).textAlign"
    assert table.locator("caption").evaluate(caption) == "start"  # in view, however wide the table is
    before = table.locator("th").first.bounding_box()
    table.evaluate("box => (box.scrollLeft = 300)")
    after = table.locator("th").first.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["x"] - after["x"]) < 2  # the first column stays
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#prose summary").click()
    expect(page.get_by_text("A million times.")).to_be_visible()
    keep_picture(page, "wide-table", way)


def test_contents_progress_and_focus(walk: Walk) -> None:
    page = _essay(walk, DESK)
    expect(page.get_by_role("progressbar", name="Read so far")).to_have_attribute("aria-valuenow", "0")
    page.locator("#contents > summary").click()
    page.locator("#contents button", has_text="The end of it").click()
    expect(page.locator("#prose h2", has_text="The end of it")).to_be_in_viewport()
    expect(page.locator("#contents .where")).to_have_text("3 of 3")
    until(page, "document.getElementById('read-progress').ariaValueNow > 50")
    page.keyboard.press("F")
    expect(page.locator("#nav")).to_be_hidden()
    expect(page.locator("#toc [aria-current]")).to_have_text("The end of it")
    expect(page.locator("#toc .left")).to_contain_text("min left")
    expect(page.locator(".focus-title[data-shown]")).to_contain_text("Timing wheels, or how to forget alarms")
    keep_picture(page, "focus")
    assert violations(page) == []
    page.keyboard.press("k")
    expect(page.locator("#toc [data-heading]")).to_have_count(3)  # the next article stays in focus
    page.keyboard.press("Escape")
    expect(page.locator("#nav")).to_be_visible()


def test_an_article_is_printed_with_the_addresses_of_its_links(walk: Walk) -> None:
    page = _essay(walk, DESK)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".print-links li")).to_have_text(["https://example.org/paper"])
    expect(page.locator("#nav")).to_be_hidden()
    expect(page.locator("#article-bar")).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(".print-links")).to_have_count(0)


@both
def test_a_text_from_right_to_left_is_so_in_every_part(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    page.locator(".row h3 a", has_text="الصيادون").click()
    expect(page.locator("#article h1")).to_contain_text("الصيادون")
    for part in (".read", ".read-source", ".read-by", ".prose p"):
        direction = page.locator(f"#article {part}").first.evaluate("part => getComputedStyle(part).direction")
        assert (part, direction) == (part, "rtl")
    keep_picture(page, "right-to-left", way)
    page = _essay(walk, way)
    expect(page.locator("#prose blockquote")).to_have_css("direction", "rtl")


def test_a_face_is_loaded_once_it_is_chosen(walk: Walk) -> None:
    page = _essay(walk, DESK)
    loaded = "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.woff2')).length"
    assert page.evaluate(loaded) == 0
    page.locator("#article-bar summary[title^='Text size']").click()
    page.locator("#article-bar label", has_text="Literata").click()
    until(page, f"{loaded} > 0")
    assert page.evaluate("document.fonts.check('16px Literata')")


def _essay(walk: Walk, way: Way, title: str = "Timing wheels, or") -> Page:
    page = walk("/all", way)
    page.locator(".row h3 a", has_text=title).click()
    expect(page.locator("#article h1")).to_contain_text(title)
    expect(page.locator("#article .prose a.fn")).to_have_count(1)
    return page


@both
def test_highlights_have_colours_notes_and_a_page(walk: Walk, way: Way) -> None:
    page = _essay(walk, way, "Timing wheels, once more")
    words = "bucket that is due" if way.phone else "empties the bucket"
    _select(page, words)
    bar = page.get_by_role("toolbar", name="Highlight")
    expect(bar).to_be_visible()
    bar.get_by_role("button", name="Blue").click()
    expect(page.locator("#highlights li[data-color=blue] [data-highlight]", has_text=words)).to_have_count(1)
    until(page, "CSS.highlights.get('kept-blue').size >= 1")
    _click_at(page, words)
    note = page.locator("li.note[data-open]")
    note.get_by_label("Note", exact=True).fill(f"Compare with the queue ({way})")
    keep_picture(page, "note", way)
    assert violations(page) == []
    note.get_by_role("button", name="Green").click()  # keeps the note too
    kept = page.locator("#highlights li[data-color=green]", has_text=words)
    expect(kept.locator("textarea")).to_have_value(f"Compare with the queue ({way})")
    keep_picture(page, "notes-beside", way)

    page.goto(page.url.partition("/all")[0] + "/highlights?color=green&q=compare")
    expect(page.locator("li.note", has_text=words)).to_contain_text(f"Compare with the queue ({way})")
    assert violations(page) == []
    keep_picture(page, "highlights", way)


def test_n_writes_a_note_on_the_selection_and_else_goes_on(walk: Walk) -> None:
    page = _essay(walk, DESK, "Timing wheels, once more")
    _select(page, "timing wheel is a ring")
    page.keyboard.press("n")
    note = page.locator("#highlights li[data-open] textarea")
    expect(note).to_be_focused()
    note.fill("A ring")
    page.locator("#highlights li[data-open]").get_by_role("button", name="Keep the note").click()
    expect(page.locator("#highlights textarea", has_text="A ring")).to_have_count(1)
    again = page.locator("#highlights textarea", has_text="A ring")
    with page.expect_response("**/highlights/*"):
        _click_at(page, "timing wheel is a ring")
        again.fill("A ring of buckets")
        page.locator("#article h1").click()  # going on keeps it
    page.reload()
    expect(page.locator("#highlights textarea", has_text="A ring of buckets")).to_have_count(1)
    until(page, "CSS.highlights.get('kept-yellow')?.size >= 1")
    _click_at(page, "timing wheel is a ring")
    page.locator("#highlights li[data-open] textarea").fill("A ring, after all")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#highlights li:not([data-open]) textarea", has_text="A ring, after all")).to_have_count(1)
    expect(page.locator("#highlights textarea:focus")).to_have_count(0)  # it is text again, and keys are keys
    expect(page.locator("#highlights .note-acts:visible")).to_have_count(0)
    before = page.locator("#article h1").inner_text()
    page.keyboard.press("n")
    expect(page.locator("#article h1")).not_to_have_text(before)


MOVED = """new Promise(done => new PerformanceObserver(list => done(
  list.getEntries().flatMap(entry => entry.sources).map(({ node }) => node)
    .filter(node => node?.parentElement?.closest("#article")).map(node => (node.outerHTML ?? node.data).slice(0, 200)),
)).observe({ type: "layout-shift", buffered: true }) || setTimeout(() => done([]), 500))"""


def test_the_text_stays_in_place_with_notes_beside_it(walk: Walk) -> None:
    page = _essay(walk, DESK, "Timing wheels, once more")
    _select(page, "It has")
    page.keyboard.press("h")
    expect(page.locator("#highlights li")).not_to_have_count(0)
    address = page.locator("#article .read").get_attribute("data-entry")
    page.goto(f"{page.url.partition('/all')[0]}/entry/{address}")
    until(page, "CSS.highlights.get('kept-yellow')?.size >= 1")
    assert page.evaluate(MOVED) == []
    page.keyboard.press("F")
    expect(page.locator("#nav")).to_be_hidden()
    box = page.locator("#prose").bounding_box()
    assert box is not None and abs(2 * box["x"] + box["width"] - 1440) < 40


def test_nothing_of_a_video_site_is_loaded_before_play_is_pressed(walk: Walk) -> None:
    page = walk("/all", DESK)
    foreign: list[str] = []

    def answer(route: Route) -> None:
        foreign.append(route.request.url)
        route.fulfill(status=200, content_type="text/html", body="<!doctype html><title>film</title><p>playing</p>")

    page.route(re.compile(r"^https://"), answer)
    page.locator(".row h3 a", has_text="A marble run").click()
    play = page.get_by_role("button", name="Play the video")
    expect(play).to_be_visible()
    expect(page.get_by_text("Nothing is loaded from the video site until you press play.")).to_be_visible()
    assert violations(page) == []
    keep_picture(page, "video")
    assert foreign == []
    play.click()
    film = page.frame_locator(".video iframe").frame_locator("iframe")
    expect(film.get_by_text("playing")).to_be_visible()
    assert [url.partition("?")[0] for url in foreign] == ["https://www.youtube-nocookie.com/embed/abcdefghijk"]


SELECT = """words => {
  const prose = document.getElementById("prose");
  const walker = document.createTreeWalker(prose, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.indexOf(words);
    if (at < 0) continue;
    const range = new Range();
    range.setStart(node, at);
    range.setEnd(node, at + words.length);
    node.parentElement.scrollIntoView({ block: "center" });
    return range;
  }
}"""


TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def _select(page: Page, words: str) -> None:
    page.evaluate(
        f"words => {{ const range = ({SELECT})(words); getSelection().removeAllRanges(); "
        "getSelection().addRange(range); }",
        words,
    )
    page.evaluate(TWO_FRAMES)  # scrolling hides the bar, and is told with the next frame
    page.evaluate("document.dispatchEvent(new PointerEvent('pointerup'))")


def _click_at(page: Page, words: str) -> None:
    """In the middle of these words."""
    x, y = page.evaluate(
        f"words => {{ const box = ({SELECT})(words).getClientRects()[0];"
        " return [box.left + box.width / 2, box.top + box.height / 2]; }",
        words,
    )
    page.mouse.click(x, y)
