"""What the first load of a list costs over the wire, and that nothing moves while it arrives."""

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Visit, Walk, Way, both, keep_picture, until
from tests.e2e.varied_library import ENTRIES, FEEDS, feed_of, varied_sites
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for
from tests.serving import in_thread

MOST_BYTES = 60_000
MOST_REQUESTS = 10
# With the first act, or when the page has rested: menus, palette, styles of articles, and a player with a queue.
MOST_BYTES_LATER = 34_000

SHIFTS = """new PerformanceObserver(list => {
  const moved = list.getEntries().filter(entry => !entry.hadRecentInput);
  for (const { value, sources } of moved) {
    window.shifted = (window.shifted ?? 0) + value;
    window.moved = [...(window.moved ?? []), ...sources.map(({ node }) => node?.outerHTML?.slice(0, 200))];
  }
}).observe({ type: "layout-shift", buffered: true })"""
SHIFTED = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(window.shifted ?? 0))))"

SCRIPTS = """Promise.all(performance.getEntriesByType("resource")
  .filter(({ name }) => name.endsWith(".js"))
  .map(({ name }) => fetch(name).then(answer => answer.text()))).then(texts => texts.join())"""
AT_REST = "new Promise(done => requestIdleCallback(() => setTimeout(done, 500)))"
PICTURES_ARE_THERE = """[...document.querySelectorAll("#rows .row > img")].filter(picture => {
  const { top, bottom } = picture.closest(".row").getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}).every(picture => picture.complete && picture.naturalWidth > 0)"""
SHAPES = [(900, 600), (400, 1200), (1500, 300), (64, 64), (800, 800)]


def test_the_first_list_is_light(walk: Walk) -> None:
    page = walk("/healthz", service_workers="block")
    answers = first_load(page, page.url.replace("/healthz", "/unread"))

    pages = without_pictures(answers)
    assert len(pages) <= MOST_REQUESTS, list(pages)
    assert sum(pages.values()) <= MOST_BYTES, pages
    assert not any("htmx" in url or "pages-" in url for url in pages)
    scripts = page.evaluate(SCRIPTS)
    assert "/list-settings" in scripts
    assert "/api/v1/interest/seen" not in scripts  # only for those who have switched the order by interest on


@pytest.fixture(scope="module")
def varied(server: Reedbed) -> Iterator[Reedbed]:
    """Forty feeds on forty hosts in folders, with icons and texts as varied as the web's."""
    with in_thread(varied_sites()) as sites, signed_in(server.url) as client:
        names = ("Technology", "Science and nature", "Friends")
        folders = [
            client.post("/api/v1/folders", json={"name": name}).raise_for_status().json()["id"] for name in names
        ]
        for number, site in enumerate(sites):
            followed = {"url": feed_of(site), "folder_id": [*folders, None][number % 4]}
            client.post("/api/v1/subscriptions", json=followed).raise_for_status()
        wait_for("entries", lambda: client.get("/api/v1/counts").json()["all"] > FEEDS * ENTRIES, seconds=120)
        position = "{background-position"
        wait_for("icons", lambda: client.get("/icons.css").text.count(position) == FEEDS, seconds=120)
    yield server


def test_the_first_list_of_a_varied_library_is_light(varied: Reedbed, visit: Visit) -> None:
    with signed_in(varied.url) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
        page = visit(f"{varied.url}/healthz", token=token, service_workers="block")
        answers = without_pictures(first_load(page, f"{varied.url}/unread"))
        assert any("/icons.css" in url for url in answers)
        assert len(answers) <= MOST_REQUESTS, list(answers)
        assert sum(answers.values()) <= MOST_BYTES, answers

        (recording,) = client.get("/api/v1/entries?q=%22hour+by+the+water%22&limit=1").json()["items"]
        client.post("/api/v1/playback/queue", json={"entry_id": recording["id"]}).raise_for_status()
        page = visit(f"{varied.url}/healthz", token=token, service_workers="block")
        answers = without_pictures(first_load(page, f"{varied.url}/unread"))
        assert len(answers) <= MOST_REQUESTS, list(answers)
        assert sum(answers.values()) <= MOST_BYTES, answers

        page.evaluate(SHIFTS)
        page.evaluate(f"{SHIFTED}.then(() => (window.shifted = 0))")  # by pictures that cannot be had
        later = without_pictures(loaded_after(page, lambda: page.mouse.move(700, 400)))
        assert any("/playback/bar" in url for url in later)
        assert sum(later.values()) <= MOST_BYTES_LATER, later
        expect(page.locator(".player-bar")).to_be_visible()
        assert page.evaluate(SHIFTED) < 0.001, page.evaluate("window.moved")


@both
def test_nothing_moves_while_a_list_arrives(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    page.goto(page.locator("#tree .line > a", has_text="Feed main").evaluate("link => link.href"))
    page.locator("#rows .row").first.wait_for()
    page.evaluate(SHIFTS)
    assert page.evaluate(SHIFTED) < 0.001, page.evaluate("window.moved")


@both
def test_nothing_moves_while_pictures_of_any_size_arrive(
    walk: Walk, library: FeedSite, home: Reedbed, way: Way
) -> None:
    with signed_in(home.url) as client:
        followed = {"url": gallery(library, f"gallery-{way}")}
        feed = client.post("/api/v1/subscriptions", json=followed).raise_for_status().json()["feed_id"]
        entries = f"/api/v1/entries?feed_id={feed}&limit=50"
        wait_for("the drawings", lambda: len(client.get(entries).json()["items"]) == 24, seconds=60)
    page = walk(f"/feed/{feed}", way)
    expect(page.locator("#rows[data-density=pictures] .row").first).to_be_visible()
    page.evaluate(SHIFTS)
    until(page, PICTURES_ARE_THERE)
    keep_picture(page, "drawings", way)
    title, time = (page.locator(f"#rows .row {part}").first.bounding_box() for part in ("h3", "time"))
    assert title
    assert time
    assert abs(title["y"] + title["height"] / 2 - time["y"] - time["height"] / 2) < 4  # the source need not be named
    page.locator("#list-body").evaluate("body => body.scrollBy(0, body.clientHeight)")
    until(page, PICTURES_ARE_THERE)
    assert page.evaluate(SHIFTED) < 0.001, page.evaluate("window.moved")


def test_htmx_comes_with_the_first_article_and_answers_whoever_is_quicker(walk: Walk) -> None:
    page = walk("/all")
    assert page.evaluate("window.htmx") is None
    page.locator(".row h3 a").first.click()
    page.locator("#article .read").wait_for()
    until(page, "!!window.htmx")


def gallery(site: FeedSite, name: str) -> str:
    """A feed whose entries are one picture each, of every shape; its address."""
    site.feed(name, title=f"Drawings {name.removeprefix('gallery-')}")
    for number in range(24):
        data = BytesIO()
        Image.new("RGB", SHAPES[number % len(SHAPES)], (90, 10 * number, 140)).save(data, "PNG")
        url = site.put(f"{name}/{number}.png", data.getvalue(), content_type="image/png")
        site.publish(f"Drawing {number}", feed=name, content=f"<p><img src='{url}' alt=''></p>")
    return site.feed_url(name)


def without_pictures(answers: dict[str, int]) -> dict[str, int]:
    """Without those of entries, which the web makes as large as they are."""
    return {url: size for url, size in answers.items() if "/images/" not in url}


def first_load(page: Page, url: str) -> dict[str, int]:
    """Addresses and bytes of what a browser loads that has nothing in its cache and no worker."""

    def open_list() -> None:
        page.goto(url)
        until(page, "document.readyState === 'complete' && !!document.querySelector('#rows .row')")

    return loaded_after(page, open_list)


def loaded_after(page: Page, act: Callable[[], None]) -> dict[str, int]:
    """Addresses and bytes of what is loaded by an act, until the page is at rest."""
    watch = page.context.new_cdp_session(page)
    watch.send("Network.enable")
    watch.send("Network.setCacheDisabled", {"cacheDisabled": True})
    watch.send("Network.setBypassServiceWorker", {"bypass": True})
    urls: dict[str, str] = {}
    sizes: dict[str, int] = {}

    def note(event: dict[str, Any]) -> None:
        urls[event["requestId"]] = event["request"]["url"]

    def measure(event: dict[str, Any]) -> None:
        url = urls.get(event["requestId"], "")
        sizes[url] = sizes.get(url, 0) + int(event["encodedDataLength"])

    watch.on("Network.requestWillBeSent", note)
    watch.on("Network.loadingFinished", measure)
    act()
    page.evaluate(AT_REST)
    watch.detach()
    # The icon of the page before, /healthz, may be asked for only now.
    return {url: size for url, size in sizes.items() if url.startswith("http") and not url.endswith("/favicon.ico")}
