"""The player: it stays while one reads, over a change of the page, a reload and on a second device."""

import io
import re
import wave
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests import servers
from tests.e2e.conftest import DESK, MANY, Visit, Way, both, keep_picture, until, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, reedbed, signed_in, wait_for
from tests.serving import in_thread

MINUTES = 5
BAR = "#player"


def sound(seconds: int) -> bytes:
    """Silence that every browser can play."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(1)
        writer.setframerate(4000)
        writer.writeframes(b"\x80" * 4000 * seconds)
    return file.getvalue()


@pytest.fixture(scope="module")
def podcast() -> Iterator[FeedSite]:
    with in_thread(FeedSite()) as site:
        data = sound(MINUTES * 60)
        for title in ("A bench by the water", "How gas light works", "Ninety lamps"):
            site.put(f"files/{title.replace(' ', '-')}.mp3", data, content_type="audio/wav")
            site.publish_episode(title, minutes=MINUTES, kind="audio/wav")
        site.publish("Something to read", content="<p>Words.</p>" * 20)
        yield site


@pytest.fixture
def listening(tmp_path: Any, podcast: FeedSite) -> Iterator[tuple[Reedbed, Any]]:
    """A server whose owner follows the podcast, and a client of the API."""
    with reedbed("serve", port=servers.free_port(), cwd=tmp_path, **MANY) as server, signed_in(server.url) as client:
        client.post("/api/v1/subscriptions", json={"url": podcast.feed_url()}).raise_for_status()
        wait_for("entries", lambda: client.get("/api/v1/counts").json()["all"] >= 4, seconds=60)
        yield server, client


def token_of(client: Any) -> str:
    return client.headers["Authorization"].removeprefix("Bearer ")


def play(page: Page, title: str) -> None:
    page.locator(".row h3 a", has_text=title).click()
    expect(page.locator("#article h1")).to_have_text(title)
    page.locator("#article button[value=now]").click()
    expect(page.locator(f"{BAR}[data-playing]")).to_be_visible()
    until(page, "document.querySelector('#player video').readyState > 0")


def seconds(page: Page) -> float:
    return page.evaluate("document.querySelector('#player video').currentTime")


def position(client: Any) -> int:
    items = client.get("/api/v1/playback/positions").json()["items"]
    return items[-1]["position"] if items else -1


@both
def test_it_plays_on_while_one_reads_and_after_a_reload(
    listening: tuple[Reedbed, Any], visit: Visit, podcast: FeedSite, way: Way
) -> None:
    server, client = listening
    page = visit(f"{server.url}/all", way, token=token_of(client))
    expect(page.locator(".row .length").first).to_have_text("5 min")
    assert podcast.seen_at("/files/Ninety-lamps.mp3") == [] or way is not DESK
    play(page, "Ninety lamps")
    expect(page.locator(f"{BAR} .now-title")).to_have_text("Ninety lamps")
    if way.phone:
        page.locator("#article-bar [data-act=list]").click()
        widths = "['#list', '#player', '.tabs'].map(one => document.querySelector(one).offsetWidth)"
        assert page.evaluate(widths) == [390, 390, 390]
    page.locator(".row h3 a", has_text="Something to read").click()
    expect(page.locator("#article h1")).to_have_text("Something to read")
    until(page, "document.querySelector('#player video').currentTime > 1")
    expect(page.locator(f"{BAR}[data-playing]")).to_be_visible()
    keep_picture(page, "player", way)
    assert violations(page) == []

    page.keyboard.press("Shift+ArrowRight")
    until(page, "document.querySelector('#player video').currentTime > 30")
    # Another page: it goes on where it was.
    page.locator("#article .read-source a").click()
    page.wait_for_url("**/feed/*")
    until(page, "document.querySelector('#player video')?.currentTime > 30")
    # After a reload a browser may want a press; the place is kept.
    page.reload()
    expect(page.locator(f"{BAR} .now-title")).to_have_text("Ninety lamps")
    if page.locator(f"{BAR}[data-playing]").count() == 0:
        page.keyboard.press("Shift+P")
    until(page, "document.querySelector('#player video').currentTime > 30")
    page.keyboard.press("Shift+P")
    expect(page.locator(f"{BAR}:not([data-playing])")).to_be_visible()
    wait_for("the position", lambda: position(client) >= 30)


def test_on_a_phone_the_keys_of_the_open_player_are_free(listening: tuple[Reedbed, Any], visit: Visit) -> None:
    server, client = listening
    page = visit(f"{server.url}/all", Way(phone=True), token=token_of(client))
    play(page, "A bench by the water")
    opener = page.locator(f"{BAR} [data-do=sheet]")
    opener.click()
    expect(opener).to_have_attribute("aria-expanded", "true")
    page.locator(f"{BAR} [data-do=toggle]").click()
    expect(page.locator(f"{BAR}:not([data-playing])")).to_be_visible()
    opener.click()
    expect(opener).to_have_attribute("aria-expanded", "false")


def test_the_chosen_speed_is_kept_and_keys_skip_both_ways(listening: tuple[Reedbed, Any], visit: Visit) -> None:
    server, client = listening
    page = visit(f"{server.url}/all", DESK, token=token_of(client))
    play(page, "A bench by the water")
    page.locator(f"{BAR} [data-speed]").select_option("150")
    until(page, "document.querySelector('#player video').playbackRate === 1.5")
    page.locator("#article h1").click()
    page.keyboard.press("Shift+ArrowRight")
    until(page, "document.querySelector('#player video').currentTime > 25")
    page.keyboard.press("Shift+ArrowLeft")
    until(page, "document.querySelector('#player video').currentTime < 25")
    wait_for("the speed", lambda: client.get("/api/v1/users/me").json()["preferences"]["playback_speed"] == 150)
    page.reload()
    until(page, "document.querySelector('#player video')?.playbackRate === 1.5")


def test_a_kill_loses_at_most_fifteen_seconds(listening: tuple[Reedbed, Any], visit: Visit) -> None:
    server, client = listening
    page = visit(f"{server.url}/all", DESK, token=token_of(client))
    play(page, "A bench by the water")
    page.evaluate("document.querySelector('#player video').playbackRate = 4")
    until(page, "document.querySelector('#player video').currentTime > 60")
    at = seconds(page)
    page.close(run_before_unload=False)
    assert position(client) >= at - 4 * 15


def test_the_queue_is_sorted_and_taken_back(listening: tuple[Reedbed, Any], visit: Visit) -> None:
    server, client = listening
    page = visit(f"{server.url}/all", DESK, token=token_of(client))
    play(page, "A bench by the water")
    for title in ("How gas light works", "Ninety lamps"):
        page.locator(".row h3 a", has_text=title).click()
        expect(page.locator("#article h1")).to_have_text(title)
        page.locator("#article button[value=last]").click()
    page.locator(f"{BAR} [data-do=panel]").click()
    lines = page.locator(f"{BAR} .player-queue li")
    expect(lines).to_have_count(3)
    page.get_by_role("button", name="Move Ninety lamps up").click()
    expect(lines.nth(1)).to_contain_text("Ninety lamps")
    keep_picture(page, "player-queue", DESK)
    page.get_by_role("button", name="Take Ninety lamps out").click()
    expect(lines).to_have_count(2)
    page.locator(".toast button").click()
    expect(lines).to_have_count(3)
    expect(page.locator(f"{BAR}[data-playing]")).to_be_visible()
    page.evaluate("document.querySelector('#player video').currentTime = 299")
    expect(page.locator(f"{BAR} .now-title")).to_have_text("Ninety lamps")
    expect(page.locator(f"{BAR}[data-playing]")).to_be_visible()
    page.goto(f"{server.url}/recordings")
    expect(page.locator(".recordings h2")).to_have_count(2)
    tops = "row => [...row.querySelectorAll('button')].map(one => Math.round(one.getBoundingClientRect().top))"
    assert len(set(page.locator(".recordings li").first.evaluate(tops))) == 1  # all it can do, in one line
    page.goto(f"{server.url}/recordings?show=played")
    expect(page.locator(".recordings h2")).to_have_text(["A bench by the water"])
    assert violations(page) == []


@pytest.mark.parametrize("phone", [False, True])
def test_a_message_stands_above_the_player(listening: tuple[Reedbed, Any], visit: Visit, *, phone: bool) -> None:
    server, client = listening
    page = visit(f"{server.url}/unread", Way(phone=phone), token=token_of(client))
    play(page, "Ninety lamps")
    page.goto(f"{server.url}/recordings")
    expect(page.get_by_role("heading", name="Audio and video")).to_be_visible()
    expect(page.locator(BAR)).to_be_visible()
    page.get_by_role("button", name="Add to the queue").last.click()
    toast = page.locator(".toast")
    expect(toast).to_be_visible()
    message, bar = toast.bounding_box(), page.locator(BAR).bounding_box()
    assert message and bar and message["y"] + message["height"] <= bar["y"]


def test_positions_outlive_a_server_that_was_killed(tmp_path: Any, podcast: FeedSite, visit: Visit) -> None:
    """The server dies in the middle; what it kept is at most fifteen seconds old, and the page goes on."""
    port, speed = servers.free_port(), 2
    with reedbed("serve", port=port, cwd=tmp_path, **MANY) as server, signed_in(server.url) as client:
        token = token_of(client)
        client.post("/api/v1/subscriptions", json={"url": podcast.feed_url()}).raise_for_status()
        wait_for("entries", lambda: client.get("/api/v1/counts").json()["all"] >= 4, seconds=60)
        page = visit(f"{server.url}/all", DESK, token=token)
        play(page, "A bench by the water")
        page.evaluate(f"document.querySelector('#player video').playbackRate = {speed}")
        until(page, "document.querySelector('#player video').currentTime > 50")
        at = seconds(page)
        server.kill()
    with reedbed("serve", port=port, cwd=tmp_path, **MANY) as server, signed_in(server.url) as client:
        # The page plays on meanwhile, and may already have told the new server.
        assert at - speed * 15 <= position(client) <= seconds(page)
        page.wait_for_timeout(200)
        until(page, "!document.querySelector('#player video').paused")
        wait_for("the next position", lambda: position(client) > at)


def test_another_device_sees_queue_and_position_at_once(
    listening: tuple[Reedbed, Any], visit: Visit, podcast: FeedSite
) -> None:
    server, client = listening
    other = visit(f"{server.url}/all", DESK, token=token_of(client))
    expect(other.locator(".row h3 a", has_text="Ninety lamps")).to_be_visible()
    assert other.locator(BAR).count() == 0
    page = visit(f"{server.url}/all", DESK, token=token_of(client))
    play(page, "Ninety lamps")
    expect(other.locator(f"{BAR} .now-title")).to_have_text("Ninety lamps")
    expect(other.locator(f"{BAR}:not([data-playing])")).to_be_visible()
    page.evaluate("document.querySelector('#player video').currentTime = 200")
    page.keyboard.press("Shift+P")
    expect(other.locator(f"{BAR} [data-at]")).to_have_text(re.compile("3:(1[5-9]|2)"))
    page.locator(".row h3 a", has_text="How gas light works").click()
    expect(page.locator("#article h1")).to_have_text("How gas light works")
    page.locator("#article button[value=last]").click()
    other.locator(f"{BAR} [data-do=panel]").click()
    expect(other.locator(f"{BAR} .player-queue li")).to_have_count(2)
    assert any("Range" in request.headers for request in podcast.seen_at("/files/Ninety-lamps.mp3"))
    assert violations(other) == []


def test_a_browser_with_a_wrong_clock_does_not_win(listening: tuple[Reedbed, Any], visit: Visit) -> None:
    """It kept a position, by its own clock of next year, and sends it after this device has played on."""
    server, client = listening
    page = visit(f"{server.url}/all", DESK, token=token_of(client))
    play(page, "Ninety lamps")
    page.evaluate("document.querySelector('#player video').currentTime = 200")
    page.keyboard.press("Shift+P")
    wait_for("the position", lambda: 195 <= position(client) <= 210)
    kept = client.get("/api/v1/playback/positions").json()["items"][-1]
    future = {"position": 5, "total": 300, "played_at": "2099-01-01T00:00:00Z"}
    path = f"/api/v1/playback/positions/{kept['entry_id']}"
    assert client.put(path, json=future).json()["applied"] is False
    late = visit(f"{server.url}/about", DESK, token=token_of(client))
    late.evaluate(
        "([url, at]) => localStorage.setItem('reedbed:position',"
        " JSON.stringify({url, fields: {position: 5, total: 300}, at: Date.now() - at}))",
        [path, 3_600_000],
    )
    late.goto(f"{server.url}/all")
    expect(late.locator(f"{BAR} [data-at]")).to_have_text(re.compile("3:"))
    until(late, "localStorage.getItem('reedbed:position') === null")
    assert 195 <= position(client) <= 210
