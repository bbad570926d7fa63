"""Following through the API."""

import pytest

from reedbed.domain.times import DAY, rfc3339
from reedbed.services.maintenance import unmute_due
from reedbed.store.engine.database import counting
from tests.clients import SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def test_a_feed_is_followed_fetched_and_shown_with_its_state(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    site.publish("Hello", key="a")
    client = await signed_in()
    made = await client.post("/api/v1/subscriptions", json={"url": site.feed_url(), "title": "Mine"})
    assert made.status_code == 201
    await harness.check()
    shown = (await client.get(f"/api/v1/subscriptions/{made.json()['id']}")).json()
    assert (shown["title"], shown["unread_count"], shown["url"]) == ("Mine", 1, site.feed_url())
    state = shown["feed"]["fetch_state"]
    assert (state["status"], state["last_http_status"], state["consecutive_failures"]) == ("success", 200, 0)
    assert state["next_check_at"].endswith("Z")
    assert state["next_check_reason"]


async def test_credentials_are_kept_and_never_shown(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    site.protect("ann", "s3cret")
    site.publish("Hello", key="a")
    client = await signed_in()
    address = site.feed_url().replace("://", "://ann:s3cret@")
    made = await client.post("/api/v1/subscriptions", json={"url": address})
    shown = made.json()
    assert (made.status_code, shown["url"], shown["unread_count"]) == (201, site.feed_url(), 1)
    feed = shown["feed"]
    assert (feed["private"], feed["username"], feed["has_password"]) == (True, "ann", True)
    assert "s3cret" not in made.text
    plain = await client.get("/api/v1/opml")
    whole = await client.get("/api/v1/opml", params={"credentials": True})
    assert "s3cret" not in plain.text and "ann:s3cret@" in whole.text
    token = await client.post("/api/v1/users/me/tokens", json={"name": "x", "kind": "api"})
    headers = {"Authorization": f"Bearer {token.json()['secret']}"}
    refused = await client.get("/api/v1/opml", params={"credentials": True}, headers=headers)
    assert refused.status_code == 403
    site.publish("Again", key="b")
    await harness.check(at_least=DAY)
    mine = f"/api/v1/subscriptions/{shown['id']}"
    assert (await client.get(mine)).json()["unread_count"] == 2
    late = await client.get("/api/v1/opml", params={"credentials": True})
    assert late.status_code == 403, "nobody has confirmed for a day"
    changed = (await client.patch(mine, json={"username": None})).json()
    assert (changed["feed"]["username"], changed["feed"]["has_password"]) == (None, False)


async def test_an_address_needs_no_scheme(signed_in: SignIn, site: FeedSite) -> None:
    site.publish("Hello", key="a")
    client = await signed_in()
    bare = site.feed_url().removeprefix("http://")
    preview = await client.get("/api/v1/feeds/preview", params={"url": bare})
    assert preview.json()["url"] == site.feed_url()
    made = await client.post("/api/v1/subscriptions", json={"url": bare})
    assert (made.status_code, made.json()["url"]) == (201, site.feed_url())
    assert site.count() == 1
    for wrong in ("ftp://example.org/feed", "javascript:alert(1)", "mailto:ann@example.org"):
        refused = await client.post("/api/v1/subscriptions", json={"url": wrong})
        assert refused.status_code == 400
        message = refused.json()["error"]["message"]
        assert message == "Invalid URL format. Must start with http:// or https://"


async def test_a_search_names_the_feeds_that_do_not_exist(signed_in: SignIn) -> None:
    client = await signed_in()
    found = (await client.get("/api/v1/entries", params={"q": "feed:nothing x"})).json()
    assert (found["items"], found["unknown"]) == ([], ["feed:nothing"])
    for name in ("is:bogus", "has:bogus"):
        states = (await client.get("/api/v1/entries", params={"q": name})).json()
        assert (states["items"], states["unknown"]) == ([], [name])


@pytest.mark.parametrize("endpoint", ["enable", "refresh"])
async def test_a_stopped_feed_comes_back_when_it_is_asked_for(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite, endpoint: str
) -> None:
    site.publish("Hello", key="a")
    client = await signed_in()
    made = await client.post("/api/v1/subscriptions", json={"url": site.feed_url()})
    site.misbehave(status=410)
    await harness.check(at_least=DAY)
    mine = f"/api/v1/subscriptions/{made.json()['id']}"
    assert (await client.get(mine)).json()["feed"]["fetch_state"]["stopped_at"]
    site.behave()
    asked = await client.post(f"{mine}/{endpoint}")
    assert (asked.status_code, asked.json()) == (202, {"refreshing": True})
    await harness.check()
    state = (await client.get(mine)).json()["feed"]["fetch_state"]
    assert (state["status"], state["stopped_at"], state["consecutive_failures"]) == ("success", None, 0)


async def test_a_refresh_that_is_refused_says_why(signed_in: SignIn, harness: RuntimeHarness, site: FeedSite) -> None:
    site.misbehave(status=429, headers={"Retry-After": "3600"})
    client = await signed_in()
    await harness.follow(site.feed_url(), user_id=client.user_id)
    await harness.check()
    (mine,) = (await client.get("/api/v1/subscriptions")).json()["items"]

    one = (await client.post(f"/api/v1/subscriptions/{mine['id']}/refresh")).json()
    every = (await client.post("/api/v1/subscriptions/refresh")).json()

    assert (one["refreshing"], one["reason"]) == (False, "The site has asked for a pause.")
    assert one["retry_at"] == mine["feed"]["fetch_state"]["retry_after_until"]
    refused = {"id": mine["id"], **{name: one[name] for name in ("reason", "reason_code", "retry_at")}}
    assert every == {"refreshing": 0, "refused": [refused]}

    await harness.change("UPDATE feeds SET enabled = false")
    off = (await client.post(f"/api/v1/subscriptions/{mine['id']}/refresh")).json()
    assert "operator" in off["reason"] and off["retry_at"] is None


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
        ({"url": "http://127.0.0.1:9/", "title": "x" * 256}, "title", "Feed name must be less than 255 characters"),
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
        "/api/v1/subscriptions/batch", json={"items": [{"url": "http://127.0.0.1:9/a", "folder_id": folder["id"]}]}
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


async def test_preview_discover_and_validate_look_before_subscribing(signed_in: SignIn, site: FeedSite) -> None:
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
    line = {"title": "A", "url": "http://127.0.0.1:9/a"}
    added = {**line, "status": "added", "message": "", "code": None}
    followed = {**line, "status": "followed", "message": "You follow this feed already.", "code": "already_followed"}
    assert by_file.json() == {"imported": 1, "skipped": 0, "errors": [], "lines": [added]}
    assert by_body.json() == {"imported": 0, "skipped": 1, "errors": [], "lines": [followed]}
    assert b'xmlUrl="http://127.0.0.1:9/a"' in (await client.get("/api/v1/opml")).content
    assert (await client.post("/api/v1/opml", content=b"no")).status_code == 400


async def test_a_muted_feed_is_missing_from_everything_but_not_from_its_own_list(
    signed_in: SignIn, harness: RuntimeHarness, site: FeedSite
) -> None:
    client = await signed_in()
    ids: dict[str, str] = {}
    folder = (await client.post("/api/v1/folders", json={"name": "News"})).json()["id"]
    for name in ("loud", "calm"):
        site.publish(f"From {name}", key=name, feed=name)
        body = {"url": site.feed_url(name), "folder_id": folder}
        ids[name] = (await client.post("/api/v1/subscriptions", json=body)).json()["id"]

    async def shown(**query: str) -> list[str]:
        return [entry["title"] for entry in (await client.get("/api/v1/entries", params=query)).json()["items"]]

    async def counts() -> tuple[int, int]:
        counted = (await client.get("/api/v1/counts")).json()
        return counted["all"], counted["folders"][folder]

    until = rfc3339(harness.runtime.now() + DAY)
    loud = f"/api/v1/subscriptions/{ids['loud']}"
    changed = (await client.patch(loud, json={"muted_until": until, "unread_display": "dot"})).json()
    assert (changed["muted_until"], changed["unread_display"], changed["unread_count"]) == (until, "dot", 1)
    for view in ("unread", "all"):
        assert await shown(view=view) == await shown(view=view, folder_id=folder) == ["From calm"]
        assert await shown(view=view, feed_id=changed["feed_id"]) == ["From loud"]
    assert await counts() == (1, 1)
    await client.post("/api/v1/entries/mark-read", json={"all": True})
    assert await shown(view="unread", feed_id=changed["feed_id"]) == ["From loud"]
    harness.clock.ahead += 2 * DAY
    await unmute_due(harness.runtime)
    assert await shown(view="unread") == ["From loud"] and await counts() == (1, 1)
    assert (await client.post(f"/api/v1/folders/{folder}/mute", json={"until": until})).status_code == 204
    assert await counts() == (1, 1), "a time that has passed mutes nothing"
    await client.post(f"/api/v1/folders/{folder}/mute", json={"until": "9999-01-01T00:00:00Z"})
    assert await counts() == (0, 0) and await shown(view="all") == []
    other = await signed_in("other@example.org")
    assert (await other.post(f"/api/v1/folders/{folder}/mute", json={"until": None})).status_code == 404
    assert (await client.patch(loud, json={"unread_display": "loud"})).status_code == 400
