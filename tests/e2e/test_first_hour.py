"""What helps in the first hour: progress, the way from an import to reading, hints, settings on a phone."""

from playwright.sync_api import expect

from tests.e2e.conftest import DESK, PHONE, Walk, keep_picture, until, violations
from tests.e2e.library import FEEDS
from tests.feedsite import FeedSite

OPML = """<opml version="2.0"><body><outline text="Quiet" type="rss" xmlUrl="{url}"/></body></opml>"""


def test_looking_for_new_entries_tells_how_far_it_is(walk: Walk) -> None:
    page = walk("/unread")
    page.evaluate("""() => {
      window.seen = [];
      const foot = document.getElementById("refresh-progress");
      new MutationObserver(() => seen.push(foot.textContent)).observe(foot, { childList: true, characterData: true });
    }""")
    page.keyboard.press("r")
    expect(page.locator(".toast")).to_contain_text("Looking at")
    total = len(FEEDS)
    until(page, f"seen.some(text => text.endsWith(' of {total}'))")
    assert page.evaluate("""() => {
      const foot = document.getElementById("refresh-progress");
      return !foot.textContent || !document.getElementById("checked").checkVisibility();
    }""")
    until(page, "seen.at(-1) === ''")


def test_an_import_leads_to_reading(walk: Walk, library: FeedSite) -> None:
    page = walk("/add")
    page.get_by_role("link", name="Move in from another reader").click()
    expect(page.get_by_role("heading", name="Move in from another reader")).to_be_in_viewport()
    page.go_back()
    file = OPML.format(url=library.feed_url("main")).encode()
    page.set_input_files("#drop input[type=file]", {"name": "mine.opml", "mimeType": "text/x-opml", "buffer": file})
    expect(page.locator(".report")).to_have_text("Report: 0 added, 1 was there already")
    page.get_by_role("link", name="Start reading").click()
    page.wait_for_url("**/unread")


def test_a_hint_for_the_keys_appears_once(walk: Walk) -> None:
    page = walk("/all")
    hint = page.locator(".toast", has_text="The keys j and k")
    titles = page.locator(".row h3 a")
    for place in range(5):
        expect(hint).to_have_count(0)
        titles.nth(place).click()
        page.wait_for_url("**/entry/*")
    expect(hint).to_have_count(1)
    page.reload()
    titles.first.click()
    page.keyboard.press("j")
    until(page, "new Map(JSON.parse(localStorage['reedbed:hints'])).get('keys') === 5")
    expect(hint).to_have_count(0)


def test_settings_on_a_phone_are_a_list_and_pages_with_a_way_back(walk: Walk) -> None:
    page = walk("/settings", PHONE)
    sections = page.get_by_role("navigation", name="Settings")
    expect(sections.get_by_role("link", name="Newsletters")).to_be_visible()
    assert violations(page) == []
    keep_picture(page, "settings", PHONE)
    sections.get_by_role("link", name="Newsletters").click()
    expect(page.get_by_role("heading", name="Newsletters", level=1)).to_be_visible()
    expect(sections).to_be_hidden()
    page.get_by_role("link", name="All settings").click()
    page.wait_for_url("**/settings")
    expect(sections).to_be_visible()


def test_settings_on_a_desk_show_the_list_beside_a_section(walk: Walk) -> None:
    page = walk("/settings", DESK)
    expect(page.get_by_role("navigation", name="Settings")).to_be_visible()
    expect(page.get_by_role("heading", name="Look", level=1)).to_be_visible()
