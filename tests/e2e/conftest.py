"""The walks in Chromium: a real server, a feed site, and a page that may not complain.

Any console error, failed script or violation of the content policy fails the test that caused it.

| fixture | what a test gets |
|---|---|
| `walk` | `walk("/unread", way)`: a page of the owner, logged in, on the server that all walks share |
| `visit` | `visit(url)`: a page of a stranger, on any server |
| `home`, `library` | the shared server and the site it reads; nobody follows the feed `quiet` |
| `server` | one for the walks of a file |
| `fresh_server`, `ownerless_server` | one for a single walk |

Walks share one library, so each looks only at entries of its own feed or its own doing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from reedbed.http.auth import SESSION_COOKIE
from tests import servers
from tests.e2e.library import FEEDS, write_library
from tests.feedsite import FeedSite
from tests.processes import OWNER, Reedbed, reedbed, signed_in, wait_for
from tests.serving import in_thread

ARTEFACTS = Path(__file__).parents[2] / "artifacts"

PATIENCE = 30_000
"""Milliseconds, for a machine that runs three browsers and their servers on two cores."""
expect.set_options(timeout=PATIENCE)

MANY = {  # one browser walks as many people would
    "login_rate_limit": "1000",
    "api_rate_burst": "10000",
    "search_rate_burst": "1000",
    "feeds_refresh_rate_limit": "1000",
}
WANTED = re.compile(
    r"status of (400|401|403|404|409|504)|ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED"
    r"|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET"
    r"|^htmx:(afterRequest|sendError)|^Response Status Error Code 401"
)
# Colours, names, roles and structure; what a person must judge is not here.
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "resultTypes": ["violations"],  # What passes need not be described: it takes as long as looking.
}

SETTLED = """Promise.race([
  Promise.allSettled(document.getAnimations().map(one => one.finished)),
  new Promise(done => setTimeout(done, 500)),
])"""


@dataclass(frozen=True)
class Way:
    """How somebody looks at the page."""

    phone: bool = False
    dark: bool = False

    def __str__(self) -> str:
        return f"{'phone' if self.phone else 'desk'}-{'dark' if self.dark else 'light'}"

    def options(self) -> dict[str, Any]:
        return {
            "viewport": {"width": 390, "height": 844} if self.phone else {"width": 1440, "height": 900},
            "has_touch": self.phone,
            "color_scheme": "dark" if self.dark else "light",
        }


DESK = Way()
PHONE = Way(phone=True)
WAYS = [DESK, Way(phone=True, dark=True)]
ALL_WAYS = [DESK, Way(dark=True), PHONE, Way(phone=True, dark=True)]

both = pytest.mark.parametrize("way", WAYS, ids=str)
every_way = pytest.mark.parametrize("way", ALL_WAYS, ids=str)

Visit = Callable[..., Page]
Walk = Callable[..., Page]


@pytest.fixture(scope="module")
def library() -> Iterator[FeedSite]:
    with in_thread(FeedSite()) as site:
        write_library(site)
        yield site


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, library: FeedSite) -> Iterator[Reedbed]:
    """The server that the walks of one file share; its owner follows the library."""
    place = tmp_path_factory.mktemp("reedbed")
    with reedbed("serve", port=servers.free_port(), cwd=place, **MANY) as running:
        with signed_in(running.url) as client:
            for feed in FEEDS:
                client.post("/api/v1/subscriptions", json={"url": library.feed_url(feed)}).raise_for_status()
            wanted = sum(FEEDS.values())
            wait_for("all entries", lambda: client.get("/api/v1/counts").json()["all"] >= wanted, seconds=90)
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reedbed]:
    """A server for the walks of one file; its owner follows nothing yet."""
    place = tmp_path_factory.mktemp("reedbed")
    with reedbed("serve", port=servers.free_port(), cwd=place, **MANY) as running:
        yield running


@pytest.fixture(scope="module")
def owner_token(home: Reedbed) -> str:
    with signed_in(home.url) as client:
        return client.headers["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def fresh_server(tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    """A server of one's own; name it before `visit`, so that the page closes first."""
    with reedbed("serve", port=free_port, cwd=tmp_path, **MANY) as running:
        yield running


@pytest.fixture
def ownerless_server(tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    with reedbed("serve", port=free_port, cwd=tmp_path, owner_email="", owner_password="") as running:
        yield running


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """`visit(url, way)`: a page of a new visitor that is watched for complaints."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(url: str, way: Way = DESK, *, token: str = "", **options: Any) -> Page:
        wanted = {"timezone_id": "Europe/Vienna", "locale": "en-GB", **way.options(), **options}
        context = browser.new_context(**wanted)
        contexts.append(context)
        if token:
            origin = "/".join(url.split("/")[:3])  # the cookie is for all of it
            context.add_cookies([{"name": SESSION_COOKIE, "value": token, "url": origin}])
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: _note(message, complaints))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def walk(home: Reedbed, owner_token: str, visit: Visit) -> Walk:
    def open_page(address: str = "/unread", way: Way = DESK, **options: Any) -> Page:
        return visit(f"{home.url}{address}", way, token=owner_token, **options)

    return open_page


def _note(message: ConsoleMessage, complaints: list[str]) -> None:
    # Chromium also reports a form that was refused, and a network that is away, as some walks want it to be.
    if message.type == "error" and not WANTED.search(message.text):
        complaints.append(f"{message.text} ({message.location})")


def log_in(page: Page, server: Reedbed) -> None:
    page.goto(f"{server.url}/login")
    page.fill("#email", OWNER["REEDBED_OWNER_EMAIL"])
    page.fill("#password", OWNER["REEDBED_OWNER_PASSWORD"])
    page.click("main button[data-kind=primary]")
    page.wait_for_url("**/unread")


def keep_picture(page: Page, name: str, way: Way | None = None) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    # Hiding the caret would write a style into the page, which the policy forbids.
    page.screenshot(path=ARTEFACTS / (f"{name}-{way}.png" if way else f"{name}.png"), caret="initial")


def violations(page: Page, *, without: Sequence[str] = ()) -> list[tuple[str, str]]:
    """What axe finds against WCAG 2.2 AA, once no colour is on its way; not in some parts of it."""
    page.evaluate(SETTLED)
    looked_at = {"exclude": [[part] for part in without]} if without else None
    found = Axe().run(page, looked_at, options=RULES).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


def until(page: Page, expression: str, seconds: float = 60) -> Any:
    """Ask the page until the answer is true. Playwright's own way needs `eval`, which the policy forbids."""
    return wait_for(expression, lambda: page.evaluate(expression), seconds)
