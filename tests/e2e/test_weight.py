"""What the first load of a list costs over the wire, and that nothing moves while it arrives."""

from typing import Any

from playwright.sync_api import Page

from tests.e2e.conftest import Walk, Way, both, until

MOST_BYTES = 60_000
MOST_REQUESTS = 10

SHIFTS = """new PerformanceObserver(list => {
  const moved = list.getEntries().filter(entry => !entry.hadRecentInput);
  for (const { value } of moved) window.shifted = (window.shifted ?? 0) + value;
}).observe({ type: "layout-shift", buffered: true })"""
SHIFTED = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(window.shifted ?? 0))))"


def test_the_first_list_is_light(walk: Walk) -> None:
    page = walk("/healthz", service_workers="block")
    answers = first_load(page, page.url.replace("/healthz", "/unread"))

    pages = {url: size for url, size in answers.items() if "/images/" not in url}
    assert len(pages) <= MOST_REQUESTS, pages
    assert sum(pages.values()) <= MOST_BYTES, pages
    assert not any("htmx" in url or "pages-" in url for url in pages)


@both
def test_nothing_moves_while_a_list_arrives(walk: Walk, way: Way) -> None:
    page = walk("/all", way)
    page.goto(page.locator("#tree .line > a", has_text="Feed main").evaluate("link => link.href"))
    page.locator("#rows .row").first.wait_for()
    page.evaluate(SHIFTS)
    assert page.evaluate(SHIFTED) < 0.001


def test_htmx_comes_with_the_first_article_and_answers_whoever_is_quicker(walk: Walk) -> None:
    page = walk("/all")
    assert page.evaluate("window.htmx") is None
    page.locator(".row h3 a").first.click()
    page.locator("#article .read").wait_for()
    until(page, "!!window.htmx")


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
    return {url: size for url, size in sizes.items() if url.startswith("http")}
