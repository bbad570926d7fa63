"""8. Installed and offline: what was opened stays readable, marks wait, notes arrive by push."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import DESK, Visit, Walk, Way, both, keep_picture, log_in, until, violations
from tests.feedsite import FeedSite
from tests.processes import Reedbed, reedbed, signed_in, wait_for
from tests.pushservice import PushService
from tests.serving import in_thread


@both
def test_what_was_opened_is_read_offline_and_marks_are_sent_later(walk: Walk, home: Reedbed, way: Way) -> None:
    page = walk("/all", way)
    _wait_for_worker(page)
    page.reload()
    row = page.locator(".row", has_text="The third morning")
    row.locator("h3 a").click()
    expect(page.locator("#article h1")).to_have_text("The third morning")
    address, entry = page.url, page.url.rpartition("/")[2]
    page.context.set_offline(True)
    page.keyboard.press("s")
    expect(page.locator(".banner[data-offline]:visible")).to_contain_text("1 mark waits")
    keep_picture(page, "offline", way)
    page.goto(address)
    expect(page.locator("#article h1")).to_have_text("The third morning")
    page.goto(address.partition("/all")[0] + "/history")
    expect(page.locator("#kept a", has_text="The third morning")).to_be_visible()
    assert violations(page) == []
    page.context.set_offline(False)
    expect(page.locator("#list-title")).to_have_text("Recently read")  # the page that was asked for
    with signed_in(home.url) as client:
        wait_for("the mark", lambda: client.get(f"/api/v1/entries/{entry}").json()["starred"])
        client.patch(f"/api/v1/entries/{entry}", json={"starred": False})


def test_the_first_page_on_a_device_is_read_offline_too(walk: Walk) -> None:
    page = walk("/all", DESK)
    _wait_for_worker(page)
    until(page, "caches.match('/all').then(Boolean)")
    page.locator(".row", has_text="The third morning").locator("h3 a").click()
    expect(page.locator("#article h1")).to_have_text("The third morning")
    address = page.url
    page.context.set_offline(True)
    page.goto(address)
    expect(page.locator("#article h1")).to_have_text("The third morning")


def test_a_summary_that_is_awaited_is_not_asked_for_while_offline(
    fresh_server: Reedbed, visit: Visit, threaded_site: FeedSite
) -> None:
    for number in (1, 2):
        birds = ("heron", "egret", "bittern", "grebe", "teal", "coot", "rail", "swan", "goose", "crane", "stork")
        lines = (
            f"The {bird} came to pond {number * place} with {place + 3} others of its kind, as the ringers say, "
            f"and stayed among the reeds until the ice went out."
            for place, bird in enumerate(birds, 1)
        )
        text = f"<p>{' '.join(lines)}</p>"
        threaded_site.publish(f"Entry {number}", key=str(number), content=text)
    with signed_in(fresh_server.url) as client:
        client.post("/api/v1/subscriptions", json={"url": threaded_site.feed_url()}).raise_for_status()
        wait_for("entries", lambda: len(client.get("/api/v1/entries").json()["items"]) == 2)
        token = client.headers["Authorization"].removeprefix("Bearer ")
    page = visit(f"{fresh_server.url}/all", token=token)
    # A live update drops the entries that were made ready, also while this test goes offline.
    page.route("**/api/v1/events*", lambda route: route.fulfill(content_type="text/event-stream", body=""))
    page.reload()
    second = page.locator(".row h3 a").nth(1).get_attribute("href") or ""
    with page.expect_request_finished(lambda asked: asked.url.endswith(second)):
        page.keyboard.press("j")  # and the one after it is made ready
    expect(page.locator("#summary[data-state=ready]")).to_be_visible()
    page.context.set_offline(True)
    expect(page.locator(".banner[data-offline]")).to_be_visible()
    page.keyboard.press("j")
    summary = page.locator("#summary[data-state=pending]")
    expect(summary).to_be_visible()
    seconds = int(re.findall(r"every (\d+)s", summary.get_attribute("hx-trigger") or "")[0])
    poll = summary.get_attribute("hx-get") or "it asks for nothing"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3_000 * seconds)
    assert [url for url in asked if poll in url] == []
    expect(page.locator(".toast")).to_have_count(0)
    page.context.set_offline(False)
    expect(page.locator("#summary[data-state=ready]")).to_be_visible()


def test_a_kept_list_shows_what_was_marked_after_it_was_kept(walk: Walk, home: Reedbed) -> None:
    page = walk("/all", DESK)
    _wait_for_worker(page)
    page.reload()  # this list is kept
    rows = page.locator("#rows .row")
    with signed_in(home.url) as client:
        ids = [(rows.nth(place).get_attribute("id") or "")[1:] for place in range(4)]
        for id_ in ids:
            client.patch(f"/api/v1/entries/{id_}", json={"read": False, "starred": False})
    page.reload()
    opened, offline, marked_elsewhere, untouched = (page.locator(f"#e{id_}") for id_ in ids)
    unread = page.locator("#nav [data-count=unread]").first
    before = _number(unread)
    with (
        page.expect_response(lambda response: response.url.endswith(f"/entry/{ids[0]}/read")),
        page.expect_response(lambda response: response.url.endswith(f"/all/entry/{ids[1]}")),
    ):
        opened.locator("h3 a").click()  # and the one after it is made ready
    with page.expect_response(lambda response: response.url.endswith(f"/entry/{ids[0]}/starred")):
        page.keyboard.press("s")
    with signed_in(home.url) as client:
        client.patch(f"/api/v1/entries/{ids[2]}", json={"read": True})
    expect(marked_elsewhere).not_to_have_attribute("data-unread", "")
    page.context.set_offline(True)
    page.goto(f"{home.url}/all")
    expect(opened).not_to_have_attribute("data-unread", "")
    expect(opened).to_have_attribute("data-starred", "")
    expect(marked_elsewhere).not_to_have_attribute("data-unread", "")
    expect(untouched).to_have_attribute("data-unread", "")
    wait_for("the count", lambda: _number(unread) == before - 2)
    offline.locator("h3 a").click()
    expect(page.locator(".banner[data-offline]:visible").first).to_contain_text("1 mark waits")
    page.goto(f"{home.url}/all")
    expect(offline).not_to_have_attribute("data-unread", "")
    page.context.set_offline(False)
    with signed_in(home.url) as client:
        wait_for("the mark", lambda: client.get(f"/api/v1/entries/{ids[1]}").json()["read"])
        # What the server says later counts more than what this device knew.
        for id_ in ids:
            client.patch(f"/api/v1/entries/{id_}", json={"read": False, "starred": False})
    page.reload()
    expect(opened).to_have_attribute("data-unread", "")
    expect(opened).not_to_have_attribute("data-starred", "")


def test_a_page_that_could_not_be_loaded_appears_when_the_server_is_back(
    fresh_server: Reedbed, visit: Visit, tmp_path: Path
) -> None:
    """The device is online all the time, so the browser gives no sign."""
    with signed_in(fresh_server.url) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
    page = visit(f"{fresh_server.url}/all", token=token)
    _wait_for_worker(page)
    fresh_server.stop()
    page.goto(f"{fresh_server.url}/history")
    expect(page.locator("#kept")).to_be_visible()
    with reedbed("serve", port=fresh_server.port, cwd=tmp_path):
        expect(page.locator("#list-title")).to_have_text("Recently read")


def test_the_page_can_be_installed(walk: Walk) -> None:
    page = walk("/unread", DESK)
    manifest = page.evaluate("fetch(document.querySelector('link[rel=manifest]').href).then(r => r.json())")
    assert manifest["display"] == "standalone"
    assert {"192x192", "512x512"} <= {size for icon in manifest["icons"] for size in icon["sizes"].split()}


@pytest.fixture
def push_service() -> Iterator[PushService]:
    with in_thread(PushService()) as service:
        yield service


def test_a_device_asks_for_notes_and_shows_them(
    fresh_server: Reedbed, visit: Visit, threaded_site: FeedSite, push_service: PushService
) -> None:
    """The browser's own push service is out of reach; the one on loopback takes its place."""
    page = visit(f"{fresh_server.url}/login")
    page.context.grant_permissions(["notifications"])
    handed_out = json.dumps(push_service.subscription())
    page.add_init_script(f"PushManager.prototype.subscribe = async () => ({{toJSON: () => ({handed_out})}})")
    log_in(page, fresh_server)
    _wait_for_worker(page)
    page.goto(f"{fresh_server.url}/settings/notifications")
    page.get_by_role("button", name="Tell this device").click()
    expect(page.locator(".lines .chip", has_text="this one")).to_be_visible()
    keep_picture(page, "notifications")
    assert violations(page) == []
    page.get_by_role("button", name="Send a test").click()
    note = wait_for("a note", lambda: push_service.notes)[0]
    _deliver(page, fresh_server, note)
    shown = until(page, "navigator.serviceWorker.ready.then(r => r.getNotifications()).then(all => all[0]?.body)")
    assert shown == note["body"]


def _deliver(page: Page, server: Reedbed, note: dict[str, str]) -> None:
    """As the browser's push service hands a note to the worker of a page."""
    session = page.context.new_cdp_session(page)
    found: list[str] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: found.extend(one["registrationId"] for one in event["registrations"]),
    )
    session.send("ServiceWorker.enable")
    wait_for("the worker's name", lambda: page.wait_for_timeout(50) or found)
    message = {"origin": server.url, "registrationId": found[0], "data": json.dumps(note)}
    session.send("ServiceWorker.deliverPushMessage", message)


def _number(place: Locator) -> int:
    return int(re.sub(r"\D", "", place.text_content() or "") or 0)


def _wait_for_worker(page: Page) -> None:
    """Until it has kept the page's own files and the scripts that are loaded later."""
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    chunks = page.evaluate("fetch('/sw.js').then(answer => answer.text())")
    names = json.loads(chunks.partition("const CHUNKS = ")[2].partition(";")[0])
    assert len(names) > 3
    for name in names:
        until(page, f"caches.match('/assets/{name}').then(Boolean)")
