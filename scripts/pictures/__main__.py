"""Take the pictures of the page for the README and the documentation anew.

python -m scripts.pictures
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import httpx
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from reedbed.http.auth import SESSION_COOKIE
from reedbed.web.formats import ZONE_COOKIE
from scripts.pictures.library import OUTLETS, PIECES, write_library
from tests import servers
from tests.feedsite import FeedSite
from tests.processes import Reedbed, reedbed, signed_in, wait_for
from tests.serving import in_thread

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
ZONE = "Europe/Vienna"
STORY_SECONDS = 90

Scheme = Literal["light", "dark"]
PICTURES: tuple[tuple[str, str, ViewportSize, Scheme], ...] = (
    ("reading-desk", "/all", DESK, "light"),
    ("magazine-desk", "/all", DESK, "light"),
    ("list-phone", "/all", PHONE, "dark"),
    ("story-desk", "/stories", DESK, "light"),
)


def main() -> int:
    with shelf() as (server, token), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=servers.chromium(), args=servers.chromium_options())
        for name, address, viewport, scheme in PICTURES:
            page = open_page(browser, f"{server.url}{address}", token, viewport, scheme)
            _prepare(name, page)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=IMAGES / f"{name}.png", caret="initial")
            page.context.close()
        browser.close()
    return 0


@contextmanager
def shelf() -> Iterator[tuple[Reedbed, str]]:
    """A server whose owner follows all of it, and a session of theirs."""
    with (
        tempfile.TemporaryDirectory(prefix="reedbed-pictures-") as directory,
        in_thread(FeedSite()) as site,
        reedbed(
            "serve", port=servers.free_port(), cwd=Path(directory), image_proxy="all", feeds_refresh_rate_limit="1000"
        ) as server,
        signed_in(server.url) as client,
    ):
        write_library(site)
        _follow(client, {one.key: site.feed_url(one.key) for one in OUTLETS})
        _mark(client)
        wait_for("the story", lambda: _is_told(client), STORY_SECONDS)
        yield server, client.headers["Authorization"].removeprefix("Bearer ")


def open_page(browser: Browser, url: str, token: str, viewport: ViewportSize, scheme: Scheme) -> Page:
    context = browser.new_context(
        viewport=viewport, color_scheme=scheme, has_touch=viewport is PHONE, locale="en-GB", timezone_id=ZONE
    )
    origin = "/".join(url.split("/")[:3])
    for name, value in ((SESSION_COOKIE, token), (ZONE_COOKIE, ZONE)):
        context.add_cookies([{"name": name, "value": value, "url": origin}])
    page = context.new_page()
    page.goto(url)
    return page


def _follow(client: httpx.Client, addresses: dict[str, str]) -> None:
    folders: dict[str, str] = {}
    for outlet in OUTLETS:
        if outlet.folder not in folders:
            made = client.post("/api/v1/folders", json={"name": outlet.folder}).raise_for_status()
            folders[outlet.folder] = made.json()["id"]
        wanted = {"url": addresses[outlet.key], "folder_id": folders[outlet.folder]}
        client.post("/api/v1/subscriptions", json=wanted).raise_for_status()
    wait_for("entries", lambda: client.get("/api/v1/counts").json()["all"] >= len(PIECES), 60)


def _is_told(client: httpx.Client) -> bool:
    answer = client.get("/api/v1/stories")
    return answer.status_code != httpx.codes.TOO_MANY_REQUESTS and any(
        one["feeds"] > 2 for one in answer.json()["items"]
    )


def _mark(client: httpx.Client) -> None:
    """As somebody leaves it who reads a little every morning."""
    found = client.get("/api/v1/entries", params={"view": "all", "limit": "50"}).json()["items"]
    by_title = {one["title"]: one["id"] for one in found}
    for piece in PIECES[-4:]:
        client.patch(f"/api/v1/entries/{by_title[piece.title]}", json={"read": True}).raise_for_status()
    client.patch(f"/api/v1/entries/{by_title[PIECES[3].title]}", json={"starred": True}).raise_for_status()
    client.patch(f"/api/v1/entries/{by_title[PIECES[4].title]}", json={"later": True}).raise_for_status()


def _prepare(name: str, page: Page) -> None:
    match name:
        case "reading-desk":
            page.locator(".row h3 a", has_text=PIECES[0].title).click()
            page.locator("#article .prose img").wait_for()
        case "magazine-desk":
            page.keyboard.press("3")
            page.locator(".row img").first.wait_for()
        case "story-desk":
            page.locator(".stories h2 a").first.click()
            page.locator(".outlet").first.wait_for()
        case _:
            page.locator(".row img").first.wait_for()


if __name__ == "__main__":
    sys.exit(main())
