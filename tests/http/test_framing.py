"""Framing through the API: switching a feed on, what was read, having it read again."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from reedbed.domain.times import DAY
from reedbed.roles.app import create_app
from reedbed.services.feeds import FeedSettings, add_feed
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.framing import settings as store
from tests.clients import Client, new_client, session_of
from tests.feedsite import FeedSite
from tests.framing_harness import LONG, FramingHarness, open_framing_harness
from tests.harness import RuntimeHarness
from tests.modelserver import Reply, framing


@pytest.fixture
async def room(harness: RuntimeHarness, site: FeedSite) -> AsyncIterator[FramingHarness]:
    async with open_framing_harness(harness, site) as room:
        yield room


@pytest.fixture
async def reader(room: FramingHarness) -> AsyncIterator[Client]:
    """Follows the site's main feed, and lets texts be sent to the model."""
    user_id, token = await session_of(room.runtime, "reader@example.org", "user")
    app = create_app(room.runtime)
    async with new_client(app, headers={"Authorization": f"Bearer {token}"}) as client:
        client.user_id = user_id
        await client.patch("/api/v1/users/me", json={"preferences": {"remote_ai": True}})
        yield client


async def follow(reader: Client, room: FramingHarness) -> str:
    made = await reader.post("/api/v1/subscriptions", json={"url": room.site.feed_url()})
    await room.work()
    return made.json()["id"]


async def framing_of(reader: Client, entry_id: int) -> dict[str, Any]:
    answer = await reader.get(f"/api/v1/entries/{entry_id}/framing")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_reader_has_a_feed_read_for_themselves_alone(
    room: FramingHarness, site: FeedSite, reader: Client
) -> None:
    site.publish("SHOCK", content=LONG)
    subscription = await follow(reader, room)
    (entry,) = await room.entries()
    assert (await framing_of(reader, entry))["status"] == "none"
    assert room.model.calls == 0
    switched = await reader.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": True})
    assert (switched.status_code, switched.json()["enabled"]) == (200, True)
    await room.run_jobs()
    assert (await framing_of(reader, entry))["status"] == "pending"
    await room.write()
    found = await framing_of(reader, entry)
    assert (found["status"], found["analysis"]["title"], found["outdated"]) == ("ready", "Calm: SHOCK", False)
    assert found["analysis"]["framing"]["quote"] == "SHOCK" and "not a check of the facts" in found["caveat"]
    assert (await reader.get("/rss", params={"url": site.feed_url()})).status_code == 404, "not for strangers"
    usage = await room.harness.column("SELECT calls FROM ai_user_usage WHERE user_id = :id", id=reader.user_id)
    assert usage == [1]

    await reader.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": False})
    site.publish("PANIC", content=LONG)
    await reader.post(f"/api/v1/subscriptions/{subscription}/refresh")
    await room.work()
    assert room.model.calls == 1


async def test_nothing_is_sent_before_the_reader_has_said_so(
    room: FramingHarness, site: FeedSite, reader: Client
) -> None:
    await reader.patch("/api/v1/users/me", json={"preferences": {"remote_ai": False}})
    site.publish("SHOCK", content=LONG)
    subscription = await follow(reader, room)
    refused = await reader.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": True})
    assert refused.status_code == 409 and "sent to the model scripted" in refused.json()["error"]["message"]
    shown = (await reader.get(f"/api/v1/subscriptions/{subscription}/framing")).json()
    assert (shown["enabled"], shown["sends_texts"], shown["allowed"]) == (False, True, False)

    await reader.patch("/api/v1/users/me", json={"preferences": {"remote_ai": True}})
    await reader.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": True})
    await reader.patch("/api/v1/users/me", json={"preferences": {"remote_ai": False}})
    await room.work()
    assert room.model.calls == 0, "the mind was changed before the worker came"


async def test_without_a_model_the_switch_says_so(room: FramingHarness, site: FeedSite, reader: Client) -> None:
    subscription = await follow(reader, room)
    app = create_app(replace(room.runtime, ai=replace(room.runtime.ai, model=None)))
    async with new_client(app, headers=dict(reader.headers)) as client:
        refused = await client.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": True})
        assert refused.status_code == 409 and "none set up" in refused.json()["error"]["message"]


async def test_an_entry_is_read_again_when_the_model_changed_or_the_first_try_failed(
    room: FramingHarness, site: FeedSite, reader: Client
) -> None:
    site.publish("SHOCK", content=LONG)
    room.model.say(Reply(text="nonsense"))
    subscription = await follow(reader, room)
    await reader.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": True})
    await room.work()
    (entry,) = await room.entries()
    failed = await framing_of(reader, entry)
    assert (failed["status"], failed["error"]) == ("failed", "The model's answer does not have the requested form.")
    assert (await reader.post(f"/api/v1/entries/{entry}/framing")).json()["status"] == "pending"
    await room.write()
    assert (await reader.post(f"/api/v1/entries/{entry}/framing")).json()["status"] == "ready"
    assert room.model.calls == 2, "what is ready and current is not read again"

    room.use("newer")
    async with new_client(create_app(room.runtime), headers=dict(reader.headers)) as client:
        assert (await framing_of(client, entry))["outdated"] is True
        room.model.say(Reply(text=framing("Newer words")))
        pending = (await client.post(f"/api/v1/entries/{entry}/framing")).json()
        assert (pending["status"], pending["analysis"]["model"]) == ("pending", "scripted")
        await room.write()
        found = await framing_of(client, entry)
        assert (found["analysis"]["title"], found["analysis"]["model"]) == ("Newer words", "newer")
        assert found["outdated"] is False


async def test_reading_again_needs_the_switch(room: FramingHarness, site: FeedSite, reader: Client) -> None:
    site.publish("SHOCK", content=LONG)
    await follow(reader, room)
    (entry,) = await room.entries()
    refused = await reader.post(f"/api/v1/entries/{entry}/framing")
    assert refused.status_code == 409 and "Switch it on" in refused.json()["error"]["message"]


async def test_averages_come_by_week_with_the_number_behind_them(
    room: FramingHarness, site: FeedSite, reader: Client
) -> None:
    for number, overall in enumerate((0.2, 0.4, 0.9)):
        site.publish(f"N{number}", content=LONG + f"<p>{number}</p>")
        room.model.say(Reply(text=framing(overall=overall)))
    subscription = await follow(reader, room)
    await room.harness.change(
        "UPDATE entries SET sort_at = sort_at - :weeks WHERE title = 'N2' RETURNING 1", weeks=21 * DAY
    )
    await reader.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": True})
    await room.work()
    shown = (await reader.get(f"/api/v1/subscriptions/{subscription}/framing")).json()
    assert shown["articles"] == 3
    assert sorted((week["articles"]) for week in shown["averages"]) in ([1, 2], [1, 1, 1])
    total = sum(week["overall"] * week["articles"] for week in shown["averages"])
    assert total == pytest.approx(1.5, abs=0.01)


async def test_what_others_follow_is_not_found(room: FramingHarness, site: FeedSite, reader: Client) -> None:
    site.publish("SHOCK", content=LONG)
    subscription = await follow(reader, room)
    (entry,) = await room.entries()
    _, token = await session_of(room.runtime, "other@example.org", "user")
    async with new_client(create_app(room.runtime), headers={"Authorization": f"Bearer {token}"}) as other:
        for path in (f"entries/{entry}", f"subscriptions/{subscription}"):
            assert (await other.get(f"/api/v1/{path}/framing")).status_code == 404
        assert (await other.get("/api/v1/framing", params={"entry_ids": entry})).json()["items"] == []


async def test_the_rows_of_a_list_are_asked_for_together(room: FramingHarness, site: FeedSite, reader: Client) -> None:
    site.publish("SHOCK", content=LONG)
    site.publish("PANIC", content=LONG + "<p>2</p>")
    subscription = await follow(reader, room)
    await reader.put(f"/api/v1/subscriptions/{subscription}/framing", json={"enabled": True})
    await room.work()
    ids = await room.entries()
    items = (await reader.get("/api/v1/framing", params={"entry_ids": [*ids, 999]})).json()["items"]
    assert {item["entry_id"]: item["title"] for item in items} == {
        str(ids[0]): "Calm: SHOCK",
        str(ids[1]): "Calm: PANIC",
    }
    assert (items[0]["overall"], items[0]["framing"], items[0]["band"]) == (0.5, 0.25, "mixed")
    assert (await reader.get("/api/v1/framing", params={"entry_ids": range(1, 300)})).status_code == 400


async def test_a_feed_that_joins_another_brings_its_switch_and_settings(
    room: FramingHarness, site: FeedSite, reader: Client
) -> None:
    await follow(reader, room)
    await reader.put("/api/v1/subscriptions/1/framing", json={"enabled": True})
    await add_feed(room.runtime, site.feed_url(), FeedSettings(prompt="Mind the adjectives."))
    other = await room.harness.follow(site.feed_url("other"), user_id=await room.harness.person())
    async with room.runtime.db.write() as tx:
        await feed_merge.merge(tx, 1, other)
        assert await store.is_analysis_requested(tx, reader.user_id, other)
        kept = await store.settings_of(tx, other)
    assert kept is not None and kept.prompt == "Mind the adjectives." and kept.deframe
