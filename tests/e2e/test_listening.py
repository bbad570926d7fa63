"""Listening: press *Listen*, hear that it is ready, play it at the foot of the page, and get the podcast's address."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests import servers
from tests.conftest import give_up
from tests.e2e.conftest import DESK, MANY, Visit, Way, both, keep_picture, until, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, reedbed, signed_in, wait_for

TITLE = "The ferry is late again"
TEXT = "<p>The ferry will be mended in May. Until then a small boat goes over twice an hour.</p>" * 4
BAR = "#player"


@pytest.fixture
def reader(tmp_path: Path, free_port: int) -> Iterator[Reedbed]:
    if shutil.which("espeak-ng") is None:
        give_up(servers.Missing("espeak-ng is not installed: make test-deps"))
    settings = {"speech_command": "espeak-ng --stdin --stdout -v {voice}"}
    with reedbed("serve", port=free_port, cwd=tmp_path, **MANY, **settings) as running:
        yield running


def _follow(reader: Reedbed, site: FeedSite) -> str:
    """The token of the owner, who has the entry in the list."""
    site.publish(TITLE, key="ferry", content=TEXT)
    with signed_in(reader.url) as client:
        client.post("/api/v1/subscriptions", json={"url": site.feed_url()}).raise_for_status()
        wait_for("the entry", lambda: client.get("/api/v1/counts").json()["all"] == 1)
        return client.headers["Authorization"].removeprefix("Bearer ")


@both
def test_an_article_is_read_aloud_and_played_at_the_foot_of_the_page(
    reader: Reedbed, visit: Visit, threaded_site: FeedSite, way: Way
) -> None:
    page = visit(f"{reader.url}/all", way, token=_follow(reader, threaded_site))
    page.locator(".row h3 a").click()
    expect(page.locator("#article h1")).to_have_text(TITLE)
    article = page.url
    page.locator("#article summary[aria-label='More actions']").click()
    page.get_by_role("button", name="Listen", exact=True).click()
    toast = page.locator(".toast")
    expect(toast).to_contain_text(f"Read aloud: {TITLE}")
    assert page.url == article
    assert violations(page) == []
    keep_picture(page, "listening-ready", way)
    toast.get_by_role("button", name="Play").click()
    expect(page.locator(f"{BAR}[data-playing]")).to_be_visible()
    expect(page.locator(f"{BAR} .now-title")).to_have_text(TITLE)
    until(page, "document.querySelector('#player video').currentTime > 0.5")
    assert violations(page) == []
    keep_picture(page, "listening-plays", way)
    # It can be sought: the sound is sent in ranges.
    page.evaluate("document.querySelector('#player video').currentTime = 10")
    until(page, "document.querySelector('#player video').currentTime > 10.2")


def test_what_is_read_aloud_already_is_played_at_once(reader: Reedbed, visit: Visit, threaded_site: FeedSite) -> None:
    token = _follow(reader, threaded_site)
    with signed_in(reader.url) as client:
        (entry,) = client.get("/api/v1/entries?view=all").json()["items"]
        asked = {"kind": "entry", "id": entry["id"]}
        client.post("/api/v1/listening", json=asked).raise_for_status()
        wait_for("the sound", lambda: client.get("/api/v1/listening").json()["items"])
    page = visit(f"{reader.url}/entry/{entry['id']}", DESK, token=token)
    page.locator("#article summary[aria-label='More actions']").click()
    page.get_by_role("button", name="Listen", exact=True).click()
    expect(page.locator(f"{BAR}[data-playing]")).to_be_visible()
    page.goto(f"{reader.url}/recordings")
    expect(page.locator(".recordings h2")).to_have_text([TITLE])
    assert violations(page) == []


@both
def test_the_podcasts_address_is_shown_copied_renewed_and_switched_off(
    reader: Reedbed, visit: Visit, threaded_site: FeedSite, way: Way
) -> None:
    page = visit(f"{reader.url}/settings/reading", way, token=_follow(reader, threaded_site))
    place = page.locator("#podcast")
    place.get_by_role("button", name="Make an address").click()
    address = place.locator(".secret code")
    expect(address).to_contain_text("/feed.rss")
    expect(place.get_by_role("button", name="Copy")).to_be_visible()
    first = address.inner_text()
    assert httpx.get(first).status_code == 200
    assert violations(page) == []
    place.scroll_into_view_if_needed()
    keep_picture(page, "listening-podcast", way)
    place.get_by_role("button", name="New address").click()
    page.locator("#ask[open] button[value=yes]").click()
    expect(address).not_to_have_text(first)
    assert httpx.get(first).status_code == 404
    place.get_by_role("button", name="Switch off").click()
    page.locator("#ask[open] button[value=yes]").click()
    expect(place.get_by_role("button", name="Make an address")).to_be_visible()
