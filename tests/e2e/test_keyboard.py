"""4. The keyboard: every act by a letter, every letter explained by the question mark."""

from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import DESK, Walk, Way, both, keep_picture, until, violations
from tests.processes import wait_for

WATCH_REQUESTS = """() => {
  const send = window.fetch;
  window.kept = [];
  window.fetch = (url, request) => (request?.method && kept.push(request.keepalive), send(url, request));
}"""


@both
def test_letters_walk_open_and_mark(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    page.keyboard.press("j")
    expect(page.locator(".row[data-current]")).to_have_count(1)
    first = page.locator("#article h1").inner_text()
    page.keyboard.press("j")
    expect(page.locator("#article h1")).not_to_have_text(first)
    page.keyboard.press("k")
    expect(page.locator("#article h1")).to_have_text(first)
    page.keyboard.press("s")
    expect(page.locator(".row[data-current][data-starred]")).to_have_count(1)
    page.keyboard.press("z")
    expect(page.locator(".row[data-current][data-starred]")).to_have_count(0)
    page.keyboard.press("l")
    expect(page.locator(".row[data-current][data-later]")).to_have_count(1)
    page.keyboard.press("l")
    page.keyboard.press("m")
    expect(page.locator(".row[data-current][data-unread]")).to_have_count(1)
    page.keyboard.press("m")
    page.keyboard.press("?")
    expect(page.locator("#keys[open] .keys")).to_be_visible()
    keep_picture(page, "keys", way)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_space_pages_and_goes_on_and_g_goes_places(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="Herons return").click()
    expect(page.locator("#article h1")).to_have_text("Herons return to the canal")
    page.keyboard.press(" ")
    until(page, "document.getElementById('article-body').scrollTop > 100")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/starred")
    page.keyboard.press("/")
    expect(page.locator("#palette[open]")).to_be_visible()
    page.keyboard.type("reeds")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=reeds")
    expect(page.locator(".row mark").first).to_be_visible()
    page.keyboard.press("Shift+J")
    expect(page.locator("#selection")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#selection")).not_to_be_visible()


def test_a_mark_is_sent_although_the_page_is_left_at_once(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="The third morning").click()
    expect(page.locator("#article h1")).to_have_text("The third morning")
    page.evaluate(WATCH_REQUESTS)
    page.keyboard.press("s")
    expect(page.locator(".row[data-current][data-starred]")).to_have_count(1)
    until(page, "kept.length > 0")
    assert all(page.evaluate("kept"))
    page.keyboard.press("s")
    expect(page.locator(".row[data-current][data-starred]")).to_have_count(0)


def test_quick_marks_reach_the_server_in_order(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="The third morning").click()
    expect(page.locator("#article h1")).to_have_text("The third morning")
    waiting: list[Route] = []
    page.route("**/entry/*/starred", lambda route: waiting.append(route))
    page.keyboard.press("s")
    page.keyboard.press("s")
    until(page, "!document.querySelector('.row[data-current][data-starred]')")
    wait_for("the first mark", lambda: page.evaluate("true") and waiting)
    assert [route.request.post_data for route in waiting] == ["value=true"]
    waiting.pop().continue_()
    wait_for("the second mark", lambda: page.evaluate("true") and waiting)
    assert [route.request.post_data for route in waiting] == ["value=false"]
    with page.expect_response("**/entry/*/starred"):
        waiting.pop().continue_()


def test_looking_for_news_keeps_the_article_open(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="The third morning").click()
    expect(page.locator("#article h1")).to_have_text("The third morning")
    here = page.url
    page.evaluate("window.same = true")
    page.keyboard.press("r")
    expect(page.locator(".toast")).to_contain_text("Looking at")
    expect(page.locator("#article h1")).to_have_text("The third morning")
    assert page.url == here and page.evaluate("window.same"), "nothing was loaded anew"


def test_the_list_has_one_stop_for_tab_and_arrows_within(walk: Walk) -> None:
    page = walk("/all", DESK)
    expect(page.locator(".row h3 a[tabindex='0']")).to_have_count(1)
    page.locator(".row h3 a").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('.row') === document.querySelectorAll('.row')[1]")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.closest('.row') === document.querySelector('.row')")


def test_what_was_read_ahead_tells_what_was_done_since(walk: Walk) -> None:
    """Articles are fetched before they are asked for; marks and tags given between are on them as well."""
    page = walk("/all", DESK)
    page.locator(".row h3 a", has_text="Herons return").focus()
    page.keyboard.press("o")
    expect(page.locator("#article h1")).to_have_text("Herons return to the canal")
    page.evaluate("window.bar = document.getElementById('article-bar')")
    _step(page, "j")
    page.keyboard.press("s")
    page.keyboard.press("t")
    page.fill("#new-tag", "ahead")
    page.locator("#tags button[name=value]").click()
    expect(page.locator("#tags .chip a")).to_have_text(["ahead"])
    page.locator("#article-body").evaluate("body => body.scrollTo(0, 40)")
    _step(page, "j")
    expect(page.locator("#tags .chip a")).to_have_count(0)
    assert page.locator("#article-body").evaluate("body => body.scrollTop") == 0, "a text begins at its top"
    _step(page, "k")
    expect(page.locator("#article-bar form[data-mark=starred] button")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#article-bar form[data-mark=read] button")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#tags .chip a")).to_have_text(["ahead"])
    page.keyboard.press("s")
    page.keyboard.press("t")
    page.locator("#tags button[name=remove_tag]").click()
    expect(page.locator("#tags .chip a")).to_have_count(0)
    assert page.evaluate("bar === document.getElementById('article-bar')"), "the bar is not drawn anew"


def _step(page: Page, key: str) -> None:
    before = page.locator("#article .read").get_attribute("data-entry") or ""
    page.keyboard.press(key)
    expect(page.locator("#article .read")).not_to_have_attribute("data-entry", before)


def test_the_end_of_a_text_leads_to_the_next_however_it_was_opened(walk: Walk) -> None:
    page = walk("/all", DESK)
    page.keyboard.press("j")
    expect(page.locator("#article h1")).to_be_visible()
    title = page.locator(".row h3 a").nth(1).evaluate("link => link.lastChild.textContent")
    after = page.locator(".read-next a")
    expect(after).not_to_contain_text("Unread")
    expect(after).to_have_text(title)
    page.reload()
    expect(after).to_have_text(title)
    after.click()
    expect(page.locator("#article h1")).to_have_text(title)
