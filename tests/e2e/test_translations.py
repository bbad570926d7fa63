"""Translation: ask for it, read it beside the original, and go back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import MANY, Visit, Way, both, keep_picture, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, reedbed, signed_in, wait_for
from tests.serving import in_thread
from tests.translationserver import TranslationServer

TITLE = "The boats and the nets of the harbour"
CONTENT = (
    '<p>The three boats left the <a href="https://harbour.example/">old harbour</a> before dawn with 12 nets that '
    "their grandfathers had made from cotton, and they were happy about it.</p>"
    "<h2>What the others have said about this</h2>"
    "<p>They came back with less fish than the others, and with <b>cleaner hands</b> than in the year before.</p>"
    "<ul><li>Cotton rots, and that is the point of it.</li><li><code>knot --reef</code> is for all of them.</li></ul>"
    "<pre>a net is a net</pre><p>This one has 7 nets and will not be translated by the machine at all.</p>"
)


APART = """Math.max(...[...document.querySelectorAll('#translated .pair')].map((pair) => {
  const [one, other] = [pair.firstElementChild, pair.lastElementChild].map((cell) => {
    const line = document.createRange();
    line.selectNodeContents(cell);
    return line.getClientRects()[0].bottom;
  });
  return Math.abs(one - other);
}))"""
"""By how many pixels the first lines of two paragraphs beside each other are apart, at most."""


@pytest.fixture
def translator() -> Iterator[TranslationServer]:
    with in_thread(TranslationServer()) as translator:
        translator.spoil = lambda text, good: None if "7 nets" in text else good
        yield translator


@pytest.fixture
def reader(translator: TranslationServer, tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    settings = {
        "ai_provider": "openai",
        "ai_base_url": f"{translator.url}/v1",
        "ai_model": "babel",
        "ai_max_rpm": "60000",
    }
    with reedbed("serve", port=free_port, cwd=tmp_path, **MANY, **settings) as running:
        yield running


@both
def test_an_article_is_translated_and_read_beside_its_original(
    reader: Reedbed, visit: Visit, threaded_site: FeedSite, way: Way
) -> None:
    threaded_site.publish(TITLE, key="boats", content=CONTENT)
    with signed_in(reader.url) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()})
        wait_for("the entry", lambda: client.get("/api/v1/counts").json()["all"] == 1)
        preferences = {"remote_ai": True, "translation_language": "de"}
        client.patch("/api/v1/users/me", json={"preferences": preferences})
    page = visit(f"{reader.url}/all", way, token=token)
    page.locator(".row h3 a").click()
    page.get_by_role("button", name="Translate into Deutsch").click()
    shown = page.locator("#translated")
    expect(shown).to_be_visible()
    expect(page.locator("article.read")).to_have_attribute("lang", "de")
    expect(page.locator("h1").last).not_to_have_text(TITLE)
    expect(shown.locator('a[href="https://harbour.example/"]')).to_have_count(1)
    expect(shown.locator("code, pre")).to_have_text(["knot --reef", "a net is a net"])
    expect(shown.locator(".kept")).to_contain_text("This one has 7 nets")
    expect(page.locator(".lang-note")).to_contain_text("1 paragraph stays in the original.")
    assert violations(page) == []
    keep_picture(page, f"translated-{way}")

    page.get_by_role("button", name="Both").click()
    expect(page.locator("#translated .pair")).to_have_count(5)
    expect(page.locator('#translated .pair > [lang="en"]').first).to_contain_text("old harbour")
    if not way.phone:
        assert page.evaluate(APART) < 1
    assert violations(page) == []
    keep_picture(page, f"translated-both-{way}")

    page.get_by_role("button", name="English").click()
    expect(page.locator("#prose")).to_contain_text("old harbour")
    page.keyboard.press("Shift+T")
    expect(page.locator("#translated")).to_be_visible()
    page.goto(f"{reader.url}/all")
    expect(page.locator(".row h3")).to_have_attribute("lang", "de")


def test_what_is_translated_is_chosen_in_the_settings(reader: Reedbed, visit: Visit, threaded_site: FeedSite) -> None:
    threaded_site.publish(TITLE, key="boats", content=CONTENT)
    with signed_in(reader.url) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
        made = client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).json()
        page = visit(f"{reader.url}/settings/reading", Way(), token=token)
        form = page.locator("form#translation")
        form.get_by_label("Translate into").select_option("fr")
        form.get_by_label("Languages that need no translation").fill("de, en")
        form.get_by_label("Use babel").check()
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        preferences = client.get("/api/v1/users/me").json()["preferences"]
        assert (preferences["translation_language"], preferences["languages_read"]) == ("fr", "de, en")
        assert violations(page) == []
        page.goto(f"{reader.url}/feeds/{made['id']}/edit")
        page.get_by_label("Translate its entries").select_option("always")
        page.locator("section", has=page.locator("#translation")).get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        mode = client.get(f"/api/v1/subscriptions/{made['id']}/translation").json()
        assert mode == {"mode": "always"}
