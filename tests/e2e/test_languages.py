"""The page in another language: asked for by the browser, or chosen in the settings."""

from playwright.sync_api import expect

from reedbed.web.i18n import languages
from tests.e2e.conftest import DESK, PHONE, Visit, Walk, Way, both, keep_picture, violations
from tests.processes import Reedbed, signed_in

TABLET = {"width": 820, "height": 1180}
WHOLE = "box => box.scrollWidth <= box.clientWidth"


@both
def test_the_page_speaks_the_language_of_the_browser(home: Reedbed, owner_token: str, visit: Visit, way: Way) -> None:
    page = visit(f"{home.url}/all", way, token=owner_token, locale="de-AT")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#list-title")).to_have_text("Alles")
    page.locator(".row h3 a", has_text="Herons return").click()
    expect(page.locator("#article .tags")).to_contain_text("Schlagwort hinzufügen")
    page.keyboard.press("s")
    expect(page.locator("#polite")).to_have_text("Mit Stern")
    page.keyboard.press("s")
    expect(page.locator("#polite")).to_have_text("Stern entfernt")
    page.goto(f"{home.url}/settings/look")
    expect(page.locator("h1")).to_have_text("Aussehen")
    keep_picture(page, "german", way)
    assert violations(page) == []


def test_the_lines_of_a_menu_are_whole_where_words_are_long(home: Reedbed, owner_token: str, visit: Visit) -> None:
    page = visit(f"{home.url}/all", PHONE, token=owner_token, locale="de-DE")
    page.locator("[data-act=mark-all]").click()
    expect(page.get_by_role("button", name="älter ist als eine Woche")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_pages_keep_to_a_phone_where_words_are_long(home: Reedbed, owner_token: str, visit: Visit) -> None:
    with signed_in(home.url) as client:
        name = "reeds and water in autumn"
        search = client.post("/api/v1/searches", json={"name": name, "query": "reeds"}).json()["id"]
        page = visit(f"{home.url}/searches", PHONE, token=owner_token, locale="de-DE")
        assert page.locator(f"#search-{search}").evaluate(WHOLE)
        client.delete(f"/api/v1/searches/{search}")
    page.goto(f"{home.url}/settings/keyboard")
    assert page.locator("#page .pane-body").evaluate(WHOLE)
    keys = page.locator("#page .keys kbd").evaluate_all("all => all.map(key => key.offsetHeight)")
    assert max(keys) == min(keys)


def test_the_bar_of_a_list_fits_a_phone_where_words_are_long(home: Reedbed, owner_token: str, visit: Visit) -> None:
    page = visit(f"{home.url}/all", PHONE, token=owner_token, locale="pl-PL")
    bar = page.locator("#list-options")
    for order in ("Od najstarszych", "Od najnowszych"):
        bar.locator(".pick-btn").first.click()
        bar.get_by_role("menuitemradio", name=order).click()
        expect(bar.locator(".pick-btn").first).to_have_attribute("aria-label", f"Kolejność: {order}")
        assert bar.evaluate(WHOLE)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_bar_of_a_list_is_whole_on_a_tablet_in_every_language(
    home: Reedbed, owner_token: str, visit: Visit
) -> None:
    for language in languages():
        locale = language.replace("_", "-")
        page = visit(f"{home.url}/all", token=owner_token, locale=locale, viewport=TABLET)
        words = page.locator("#list-options :is(button, .pick-btn, .pick-btn span)")
        assert words.evaluate_all(f"all => all.every({WHOLE})"), language
        page.context.close()


def test_an_error_is_told_in_the_same_language(home: Reedbed, visit: Visit) -> None:
    page = visit(f"{home.url}/login", DESK, locale="de-DE")
    page.fill("#email", "nobody@example.org")
    page.fill("#password", "not the password")
    page.click("main button[data-kind=primary]")
    expect(page.locator(".error").first).to_contain_text("E-Mail oder Passwort stimmt nicht")


def test_the_language_is_chosen_in_the_settings(walk: Walk) -> None:
    page = walk("/settings/look", DESK)
    try:
        _choose(page, "de")
        expect(page.locator("h1")).to_have_text("Aussehen")
        expect(page.locator("#tree")).to_contain_text("Alles")
    finally:
        _choose(page, "")
    expect(page.locator("h1")).to_have_text("Look")


def _choose(page, language: str) -> None:
    page.select_option("select[name=language]", language)
    page.locator("form:has(select[name=language]) button").last.click()
