"""What the first load of a list costs over the wire, and that nothing moves while it arrives."""

from io import BytesIO
from typing import Any

from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Walk, Way, both, keep_picture, until
from tests.feedsite import FeedSite
from tests.processes import Reedbed, signed_in, wait_for

MOST_BYTES = 60_000
MOST_REQUESTS = 10

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

    pages = {url: size for url, size in answers.items() if "/images/" not in url}
    assert len(pages) <= MOST_REQUESTS, list(pages)
    assert sum(pages.values()) <= MOST_BYTES, pages
    assert not any("htmx" in url or "pages-" in url for url in pages)
    scripts = page.evaluate(SCRIPTS)
    assert "/list-settings" in scripts
    assert "/api/v1/interest/seen" not in scripts  # only for those who have switched the order by interest on


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


def first_load(page: Page, url: str) -> dict[str, int]:
    """Addresses and bytes of what a browser loads that has nothing in its cache and no worker."""
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
    page.goto(url)
    until(page, "document.readyState === 'complete' && !!document.querySelector('#rows .row')")
    page.evaluate(AT_REST)
    # The icon of the page before, /healthz, may be asked for only now.
    return {url: size for url, size in sizes.items() if url.startswith("http") and not url.endswith("/favicon.ico")}
