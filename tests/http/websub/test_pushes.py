"""What a hub sends: believed only with a signature, read once, and no check of the feed."""

import asyncio

import pytest

from reedbed.domain.times import MINUTE
from reedbed.domain.users import Allowance
from reedbed.services import websub
from reedbed.worker.loops import work
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.websub.steps import followed, subscribed, take_in, until
from tests.hub import Hub, Subscriber


async def test_a_push_is_in_the_reader_at_once(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    site.publish("Old")
    feed_id = await followed(site, hub, pushed)
    await pushed.check()
    stop = asyncio.Event()
    working = asyncio.create_task(work(pushed.runtime, stop, grace=20))
    await until(lambda: bool(hub.subscribers))

    site.publish("Just happened")
    statuses = await hub.publish(site.feed_url())
    async with asyncio.timeout(60):  # a check by the schedule is an hour away
        while await pushed.titles(feed_id) != ["Old", "Just happened"]:  # noqa: ASYNC110  in a database
            await asyncio.sleep(0.01)

    stop.set()
    await working
    assert statuses == [202]
    assert hub.answers == [(200, "echoed")]
    assert len(pushed.heard("new_entry")) == 2
    assert await pushed.column("SELECT unread FROM subscriptions") == [2]


async def test_a_push_is_no_check(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    feed_id = await subscribed(site, hub, pushed)
    before = await pushed.state(feed_id)
    checks = await pushed.column("SELECT sum(checks) FROM feed_history")

    site.publish("New")
    await hub.publish(site.feed_url())
    await take_in(pushed)

    after = await pushed.state(feed_id)
    assert await pushed.titles(feed_id) == ["One", "New"]
    assert (after.last_checked_at, after.next_check_at, after.etag, after.body_hash) == (
        before.last_checked_at,
        before.next_check_at,
        before.etag,
        before.body_hash,
    )
    assert after.oldest_listed_id == before.oldest_listed_id
    assert after.newest_entry_id > before.newest_entry_id
    assert await pushed.column("SELECT sum(checks) FROM feed_history") == checks
    assert await pushed.column("SELECT count(*) FROM websub_deliveries") == [0]
    assert await pushed.column("SELECT lease_holder FROM feed_fetch_state") == [None]


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
async def test_every_method_of_the_protocol_proves_the_sender(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness, method: str
) -> None:
    feed_id = await subscribed(site, hub, pushed)
    hub.method = method
    site.publish("New")
    await hub.publish(site.feed_url())
    await take_in(pushed)
    assert await pushed.titles(feed_id) == ["One", "New"]


@pytest.mark.parametrize("signature", ["", "sha256=" + "0" * 64, "sha1=", "md5=00", "sha256", "=", "sha256=é"])
async def test_a_forged_push_is_counted_and_nothing_of_it_is_kept(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness, signature: str
) -> None:
    feed_id = await subscribed(site, hub, pushed)
    (one,) = hub.subscribers.values()
    site.publish("Forged")

    status = await hub.send(one, b"<rss><channel><item><title>x</title></item></channel></rss>", signature=signature)

    await take_in(pushed)
    assert status == 202  # whoever guesses learns nothing
    assert await pushed.titles(feed_id) == ["One"]
    assert await pushed.rows("SELECT * FROM websub_deliveries") == []
    assert await pushed.column("SELECT forged FROM websub_subscriptions") == [1]
    assert await pushed.column("SELECT pushes FROM websub_subscriptions") == [0]


async def test_the_same_push_twice_is_read_once(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    await subscribed(site, hub, pushed)
    site.publish("New")
    await hub.publish(site.feed_url())
    await hub.publish(site.feed_url())
    assert await pushed.column("SELECT count(*) FROM websub_deliveries") == [1]
    await take_in(pushed)
    await hub.publish(site.feed_url())
    assert await pushed.column("SELECT count(*) FROM websub_deliveries") == [0]
    assert await pushed.column("SELECT entries FROM websub_subscriptions") == [1]


async def test_a_push_that_is_no_feed_only_rings_the_bell(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    feed_id = await subscribed(site, hub, pushed)
    (one,) = hub.subscribers.values()
    site.publish("New")
    await hub.send(one, b"ping", "text/plain")
    await take_in(pushed)
    assert await pushed.titles(feed_id) == ["One"]
    await pushed.check()
    assert await pushed.titles(feed_id) == ["One", "New"]


async def test_a_push_waits_while_a_check_has_the_feed_in_hand(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness
) -> None:
    feed_id = await subscribed(site, hub, pushed)
    await pushed.change(
        "UPDATE feed_fetch_state SET lease_holder = 'another', leased_until = :until",
        until=pushed.runtime.now() + MINUTE,
    )
    site.publish("New")
    await hub.publish(site.feed_url())
    await take_in(pushed)
    assert await pushed.titles(feed_id) == ["One"]
    pushed.clock.ahead += 2 * MINUTE
    await take_in(pushed)
    assert await pushed.titles(feed_id) == ["One", "New"]


async def test_pushes_beyond_the_limits_are_refused(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await subscribed(site, hub, pushed)
    (one,) = hub.subscribers.values()
    assert await hub.send(one, b"x" * 10_000_001) == 413
    assert await pushed.rows("SELECT * FROM websub_deliveries") == []
    statuses = [await hub.send(one, f"<rss>{n}</rss>".encode()) for n in range(22)]
    assert statuses == [202] * 20 + [429] * 2
    monkeypatch.setattr(websub, "FROM_HUB", Allowance(1, 0.001))
    assert await hub.send(one, b"<rss/>") == 429
    monkeypatch.setattr(websub, "UNKNOWN_CALLERS", Allowance(1, 0.001))
    unknown = Subscriber(one.topic, f"{pushed.runtime.accounts.base_url}/websub/none", "", 1)
    assert [await hub.send(unknown, b"x") for _ in range(2)] == [404, 429]
