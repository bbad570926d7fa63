"""The walks in Chromium: a real server, a feed site, and a page that may not complain.

Any console error, failed script or violation of the content policy fails the test that caused it.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from tests import servers
from tests.processes import OWNER, Reedbed, reedbed

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
ARTEFACTS = Path(__file__).parents[2] / "artifacts"

MANY = {"login_rate_limit": "1000", "api_rate_burst": "10000"}  # one browser walks as many people would

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reedbed]:
    """One server for the walks of a file; its owner exists."""
    with reedbed(
        "serve", port=servers.free_port(), cwd=tmp_path_factory.mktemp("reedbed"), **MANY
    ) as running:
        yield running


@pytest.fixture
def fresh_server(tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    """A server of one's own; name it before `visit`, so that the page closes first."""
    with reedbed("serve", port=free_port, cwd=tmp_path) as running:
        yield running


@pytest.fixture
def ownerless_server(tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    with reedbed("serve", port=free_port, cwd=tmp_path, owner_email="", owner_password="") as running:
        yield running


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """`visit(url, phone=True, dark=True)`: a page of a new visitor that is watched for complaints."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(url: str, *, phone: bool = False, dark: bool = False, scripts: bool = True) -> Page:
        context = browser.new_context(
            viewport=PHONE if phone else DESK,
            has_touch=phone,
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            timezone_id="Europe/Vienna",
            locale="en-GB",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: _note(message, complaints))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def _note(message: ConsoleMessage, complaints: list[str]) -> None:
    # Chromium also reports a form that was refused, as some walks want it to be.
    refused = re.search(r"status of (400|401|403|409)", message.text)
    if message.type == "error" and not refused:
        complaints.append(f"{message.text} ({message.location.get('url')})")


def log_in(page: Page, server: Reedbed) -> None:
    page.goto(f"{server.url}/login")
    page.fill("#email", OWNER["REEDBED_OWNER_EMAIL"])
    page.fill("#password", OWNER["REEDBED_OWNER_PASSWORD"])
    page.click("main button[data-kind=primary]")
    page.wait_for_url("**/unread")


def keep_picture(page: Page, name: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}.png")
