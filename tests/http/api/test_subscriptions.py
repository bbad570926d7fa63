"""Following through the API."""

import pytest

from reedbed.store.database import counting
from tests.clients import SignIn
from tests.crawling import Crawl
from tests.feedsite import FeedSite


async def test_a_feed_is_followed_fetched_and_shown_with_its_state(
    signed_in: SignIn, crawl: Crawl, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    client = await signed_in()
    made = await client.post("/api/v1/subscriptions", json={"url": site.feed_url(), "title": "Mine"})
    assert made.status_code == 201
    await crawl.check()
    shown = (await client.get(f"/api/v1/subscriptions/{made.json()['id']}")).json()
    assert (shown["title"], shown["unread_count"], shown["url"]) == ("Mine", 1, site.feed_url())
    state = shown["feed"]["fetch_state"]
    assert (state["status"], state["last_http_status"], state["consecutive_failures"]) == ("success", 200, 0)
    assert state["next_check_at"].endswith("Z")
    assert state["next_check_reason"]


@pytest.mark.parametrize("door", ["enable", "refresh"])
async def test_a_stopped_feed_comes_back_when_it_is_asked_for(
    signed_in: SignIn, crawl: Crawl, site: FeedSite, door: str
) -> None:
    site.publish("Hello", key="a")
    client = await signed_in()
    made = await client.post("/api/v1/subscriptions", json={"url": site.feed_url()})
    site.misbehave(status=410)
    await crawl.check()
    mine = f"/api/v1/subscriptions/{made.json()['id']}"
    assert (await client.get(mine)).json()["feed"]["fetch_state"]["stopped_at"]
    site.behave()
    asked = await client.post(f"{mine}/{door}")
    assert (asked.status_code, asked.json()) == (202, {"refreshing": True})
    await crawl.check()
    state = (await client.get(mine)).json()["feed"]["fetch_state"]
    assert (state["status"], state["stopped_at"], state["consecutive_failures"]) == ("success", None, 0)


async def test_wrong_addresses_are_400_and_a_second_time_is_409(signed_in: SignIn, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    client = await signed_in()
    wrong = await client.post("/api/v1/subscriptions", json={"url": "example"})
    assert wrong.status_code == 400
    assert wrong.json()["error"] == {
        "code": "invalid",
        "message": "Invalid URL format. Must start with http:// or https://",
        "details": {"field": "url"},
    }
    assert (await client.post("/api/v1/subscriptions", json={"url": site.feed_url()})).status_code == 201
    again = await client.post("/api/v1/subscriptions", json={"url": site.feed_url()})
    assert (again.status_code, again.json()["error"]["message"]) == (409, "You have already added this feed")


@pytest.mark.parametrize(
    ("sent", "field", "message"),
    [
        ({}, "url", "Feed URL is required"),
        ({"url": " "}, "url", "Feed URL is required"),
        ({"url": "http://127.0.0.1:9/", "title": " "}, "title", "Feed name is required"),
        (
            {"url": "http://127.0.0.1:9/", "title": "x" * 256},
            "title",
            "Feed name must be less than 255 characters",
        ),
    ],
)
async def test_what_is_missing_or_too_long_is_named(
    signed_in: SignIn, sent: dict[str, str], field: str, message: str
) -> None:
    client = await signed_in()
    refused = await client.post("/api/v1/subscriptions", json=sent)
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert (error["message"], error["details"]) == (message, {"field": field})


async def test_a_private_address_is_refused_at_once(signed_in: SignIn) -> None:
    client = await signed_in()
    refused = await client.post("/api/v1/subscriptions", json={"url": "http://10.0.0.1/feed"})
    assert refused.status_code == 400
    assert "REEDBED_ALLOW_NETWORKS" in refused.json()["error"]["message"]


async def test_pages_follow_each_other_and_the_list_is_one_statement(signed_in: SignIn) -> None:
    client = await signed_in()
    items = [{"url": f"http://127.0.0.1:9/{number}", "title": f"F{number:02}"} for number in range(30)]
    assert (await client.post("/api/v1/subscriptions/batch", json={"items": items})).status_code == 200
    titles: list[str] = []
    cursor: str | None = None
    with counting() as count:
        first = await client.get("/api/v1/subscriptions", params={"limit": 20})
    assert count.value <= 2
    while True:
        params = {"limit": 20, **({"cursor": cursor} if cursor else {})}
        page = (await client.get("/api/v1/subscriptions", params=params)).json()
        titles += [item["title"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert titles == [item["title"] for item in items]
    assert len(first.json()["items"]) == 20


async def test_a_batch_reports_each_address(signed_in: SignIn) -> None:
    client = await signed_in()
    body = {"items": [{"url": "http://127.0.0.1:9/a"}, {"url": "no"}, {"url": "http://127.0.0.1:9/a"}]}
    items = (await client.post("/api/v1/subscriptions/batch", json=body)).json()["items"]
    assert ["subscription" in item for item in items] == [True, False, False]
    assert items[2]["error"]["message"] == "You have already added this feed"


async def test_what_is_not_sent_stays(signed_in: SignIn) -> None:
    client = await signed_in()
    folder = (await client.post("/api/v1/folders", json={"name": "News"})).json()
    made = await client.post(
        "/api/v1/subscriptions/batch",
        json={"items": [{"url": "http://127.0.0.1:9/a", "folder_id": folder["id"]}]},
    )
    address = f"/api/v1/subscriptions/{made.json()['items'][0]['subscription']['id']}"
    changed = (await client.patch(address, json={"paused": True, "interval": 3600})).json()
    assert (changed["paused"], changed["interval"], changed["folder_id"]) == (True, 3600, folder["id"])
    cleared = (await client.patch(address, json={"folder_id": None, "interval": None})).json()
    assert (cleared["paused"], cleared["interval"], cleared["folder_id"]) == (True, None, None)
    assert (await client.patch(address, json={"interval": 5})).status_code == 400
    assert (await client.delete(address)).status_code == 204
    assert (await client.get(address)).status_code == 404


async def test_impossible_ids_are_404_in_a_path_and_400_in_a_body(signed_in: SignIn) -> None:
    client = await signed_in()
    for wrong in ("0", "-1", "abc", "99999999999999999999", "1.5"):
        assert (await client.get(f"/api/v1/subscriptions/{wrong}")).status_code == 404
    assert (await client.post("/api/v1/folders", json={"name": "x", "parent_id": "abc"})).status_code == 400


async def test_preview_discover_and_validate_look_before_subscribing(
    signed_in: SignIn, site: FeedSite
) -> None:
    site.publish("Hello", key="a", content="<p>Some words</p>")
    page, empty = site.page("/home"), site.page("/empty", feeds=())
    client = await signed_in()
    preview = (await client.get("/api/v1/feeds/preview", params={"url": page})).json()
    assert (preview["url"], preview["entries"][0]["title"]) == (site.feed_url(), "Hello")
    found = (await client.get("/api/v1/feeds/discover", params={"url": page})).json()
    assert [item["url"] for item in found["items"]] == [site.feed_url()]
    assert (await client.post("/api/v1/feeds/validate", json={"url": page})).json()["valid"] is True
    no_feed = (await client.post("/api/v1/feeds/validate", json={"url": empty})).json()
    assert no_feed["valid"] is False
    assert no_feed["reason"]


async def test_opml_goes_in_by_file_and_by_body_and_comes_out(signed_in: SignIn) -> None:
    client = await signed_in()
    opml = b'<opml><body><outline text="A" xmlUrl="http://127.0.0.1:9/a"/></body></opml>'
    by_file = await client.post("/api/v1/opml", files={"file": ("mine.opml", opml)})
    by_body = await client.post("/api/v1/opml", content=opml, headers={"Content-Type": "text/x-opml"})
    assert by_file.json() == {"imported": 1, "skipped": 0, "errors": []}
    assert by_body.json() == {"imported": 0, "skipped": 1, "errors": []}
    assert b'xmlUrl="http://127.0.0.1:9/a"' in (await client.get("/api/v1/opml")).content
    assert (await client.post("/api/v1/opml", content=b"no")).status_code == 400
