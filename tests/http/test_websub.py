"""Hubs: found, asked, verified, believed only with a signature, renewed, left, and not missed when gone."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest

from reedbed.domain.limits import Allowance
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND
from reedbed.roles.app import create_app
from reedbed.services import websub_callbacks
from reedbed.services.outcome_writer import OutcomeWriter
from reedbed.services.runtime import AccountPolicy, HubPolicy
from reedbed.services.websub import tend_hubs
from reedbed.services.websub_pushes import read_pushes
from reedbed.worker.loops import work
from tests.clients import session_of
from tests.crawling import Crawl
from tests.feedsite import FeedSite
from tests.hub import Hub, Subscriber
from tests.serving import listener, served, url_of


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with Hub() as hub:
        yield hub


@pytest.fixture
async def pushed(crawl: Crawl) -> AsyncIterator[Crawl]:
    """The crawl of a server that hubs can call."""
    bound = listener()
    crawl.runtime = replace(
        crawl.runtime, hubs=HubPolicy(off=None), accounts=AccountPolicy(base_url=url_of(bound))
    )
    async with served(create_app(crawl.runtime), bound):
        yield crawl


async def test_a_push_is_in_the_reader_at_once(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    site.publish("Old")
    feed_id = await _followed(site, hub, pushed)
    await pushed.check()
    stop = asyncio.Event()
    working = asyncio.create_task(work(pushed.runtime, stop, grace=2))
    await _until(lambda: bool(hub.subscribers))

    site.publish("Just happened")
    began = time.monotonic()
    statuses = await hub.publish(site.feed_url())
    while await pushed.titles(feed_id) != ["Old", "Just happened"]:  # noqa: ASYNC110  in a database
        await asyncio.sleep(0.01)
    took = time.monotonic() - began

    stop.set()
    await working
    assert statuses == [202]
    assert took < 10  # a check by the schedule is an hour away
    assert hub.answers == [(200, "echoed")]
    assert len(pushed.heard("new_entry")) == 2
    assert await pushed.column("SELECT unread FROM subscriptions") == [2]


async def test_a_push_is_no_check(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    before = await pushed.state(feed_id)
    checks = await pushed.column("SELECT sum(checks) FROM feed_history")

    site.publish("New")
    await hub.publish(site.feed_url())
    await _read(pushed)

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


async def test_while_the_hub_sends_the_feed_is_checked_once_a_day(
    site: FeedSite, hub: Hub, pushed: Crawl
) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)
    state = await pushed.state(feed_id)
    assert state.next_check_rule == "push"
    assert abs(state.next_check_at - pushed.runtime.now() - DAY) < 3 * HOUR


async def test_a_lease_is_renewed_before_it_ends(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    hub.lease = 3600
    await _subscribed(site, hub, pushed)
    (first,) = await pushed.column("SELECT expires_at FROM websub_subscriptions")
    assert first <= pushed.runtime.now() + HOUR
    await _tend(pushed, hub)
    assert len(hub.asked) == 1

    pushed.clock.ahead += 46 * MINUTE
    await _tend(pushed, hub)

    assert len(hub.asked) == 2
    assert hub.asked[0] == hub.asked[1]
    (second,) = await pushed.column("SELECT expires_at FROM websub_subscriptions")
    assert second > first
    assert await _states(pushed) == ["active"]


@pytest.mark.parametrize(("granted", "kept"), [(1, MINUTE), (10**9, 30 * DAY)])
async def test_a_lease_is_held_within_reason(
    site: FeedSite, hub: Hub, pushed: Crawl, granted: int, kept: int
) -> None:
    hub.lease = granted
    await _subscribed(site, hub, pushed)
    (until,) = await pushed.column("SELECT expires_at FROM websub_subscriptions")
    assert abs(until - pushed.runtime.now() - kept) < 20 * SECOND


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
async def test_every_method_of_the_protocol_proves_the_sender(
    site: FeedSite, hub: Hub, pushed: Crawl, method: str
) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    hub.method = method
    site.publish("New")
    await hub.publish(site.feed_url())
    await _read(pushed)
    assert await pushed.titles(feed_id) == ["One", "New"]


@pytest.mark.parametrize(
    "signature", ["", "sha256=" + "0" * 64, "sha1=", "md5=00", "sha256", "=", "sha256=é"]
)
async def test_a_forged_push_is_counted_and_nothing_of_it_is_kept(
    site: FeedSite, hub: Hub, pushed: Crawl, signature: str
) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    (one,) = hub.subscribers.values()
    site.publish("Forged")

    status = await hub.send(
        one, b"<rss><channel><item><title>x</title></item></channel></rss>", signature=signature
    )

    await _read(pushed)
    assert status == 202  # whoever guesses learns nothing
    assert await pushed.titles(feed_id) == ["One"]
    assert await pushed.rows("SELECT * FROM websub_deliveries") == []
    assert await pushed.column("SELECT forged FROM websub_subscriptions") == [1]
    assert await pushed.column("SELECT pushes FROM websub_subscriptions") == [0]


async def test_the_same_push_twice_is_read_once(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    await _subscribed(site, hub, pushed)
    site.publish("New")
    await hub.publish(site.feed_url())
    await hub.publish(site.feed_url())
    assert await pushed.column("SELECT count(*) FROM websub_deliveries") == [1]
    await _read(pushed)
    await hub.publish(site.feed_url())
    assert await pushed.column("SELECT count(*) FROM websub_deliveries") == [0]
    assert await pushed.column("SELECT entries FROM websub_subscriptions") == [1]


async def test_a_push_that_is_no_feed_only_rings_the_bell(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    (one,) = hub.subscribers.values()
    site.publish("New")
    await hub.send(one, b"ping", "text/plain")
    await _read(pushed)
    assert await pushed.titles(feed_id) == ["One"]
    await pushed.check()
    assert await pushed.titles(feed_id) == ["One", "New"]


async def test_a_push_waits_while_a_check_has_the_feed_in_hand(
    site: FeedSite, hub: Hub, pushed: Crawl
) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    await pushed.change(
        "UPDATE feed_fetch_state SET lease_holder = 'another', leased_until = :until",
        until=pushed.runtime.now() + MINUTE,
    )
    site.publish("New")
    await hub.publish(site.feed_url())
    await _read(pushed)
    assert await pushed.titles(feed_id) == ["One"]
    pushed.clock.ahead += 2 * MINUTE
    await _read(pushed)
    assert await pushed.titles(feed_id) == ["One", "New"]


async def test_nothing_is_verified_that_was_not_asked_for(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    await _subscribed(site, hub, pushed)
    (one,) = hub.subscribers.values()
    topic, base = one.topic, pushed.runtime.accounts.base_url
    for callback, said in [
        (one.callback, {"mode": "subscribe", "topic": topic, "challenge": "x"}),  # no longer pending
        (one.callback, {"mode": "unsubscribe", "topic": topic, "challenge": "x"}),
        (one.callback, {"mode": "subscribe", "topic": f"{topic}?other", "challenge": "x"}),
        (one.callback, {"mode": "denied", "topic": "http://other.example/"}),
        (one.callback, {}),
        (f"{base}/websub/unknown", {"mode": "subscribe", "topic": topic, "challenge": "x"}),
    ]:
        status, text = await hub.say(callback, **said)
        assert status == 404
        assert text != "x"
    assert await _states(pushed) == ["active"]


async def test_the_challenge_is_plain_text(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    hub.verifies = False
    await _followed(site, hub, pushed)
    await pushed.check()
    await _tend(pushed, hub)
    said = hub.asked[0]
    params = {"hub.mode": "subscribe", "hub.topic": said["hub.topic"], "hub.challenge": "<b>x</b>"}
    async with httpx.AsyncClient(timeout=60) as client:
        response = await client.get(said["hub.callback"], params=params)
    assert response.text == "<b>x</b>"
    assert response.headers["content-type"].startswith("text/plain")
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_refusal_is_kept_and_the_feed_polled(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    hub.refuses = "not for you"
    feed_id = await _followed(site, hub, pushed)
    await pushed.check()
    await _tend(pushed, hub)
    assert await _tuples(pushed, "SELECT state, last_error FROM websub_subscriptions") == [
        ("denied", "The hub refused: not for you")
    ]
    await pushed.check_anyway(feed_id)
    assert (await pushed.state(feed_id)).next_check_rule != "push"
    await _tend(pushed, hub)
    assert len(hub.asked) == 1
    pushed.clock.ahead += 8 * DAY
    await _tend(pushed, hub)
    assert len(hub.asked) == 2


async def test_a_hub_that_fails_or_never_verifies_is_asked_again_later(
    site: FeedSite, hub: Hub, pushed: Crawl
) -> None:
    hub.status = 500
    await _followed(site, hub, pushed)
    await pushed.check()
    await _tend(pushed, hub)
    assert await pushed.column("SELECT last_error FROM websub_subscriptions") == ["The hub answered 500."]
    hub.status, hub.verifies = 202, False
    pushed.clock.ahead += 6 * MINUTE
    await _tend(pushed, hub)
    assert await _states(pushed) == ["asked"]
    pushed.clock.ahead += 11 * MINUTE
    await _tend(pushed, hub)
    assert await _states(pushed) == ["failed"]
    hub.verifies = True
    pushed.clock.ahead += HOUR
    await _tend(pushed, hub)
    assert await _states(pushed) == ["active"]


async def test_when_the_hub_is_gone_the_lease_ends_and_polling_goes_on(
    site: FeedSite, hub: Hub, pushed: Crawl
) -> None:
    hub.lease = 3600
    feed_id = await _subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)
    assert (await pushed.state(feed_id)).next_check_rule == "push"
    hub.status = 503

    for _ in range(14):
        pushed.clock.ahead += 6 * MINUTE
        await _tend(pushed, hub)

    assert await _states(pushed) == ["failed"]
    site.publish("New")
    assert [report.new for report in await pushed.check()] == [1]
    assert await pushed.titles(feed_id) == ["One", "New"]
    assert (await pushed.state(feed_id)).next_check_rule != "push"


async def test_a_hub_that_falls_silent_is_noticed_and_not_relied_on_until_it_sends(
    site: FeedSite, hub: Hub, pushed: Crawl
) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)

    site.publish("Not sent")
    await pushed.check(at_least=27 * HOUR)

    assert await pushed.titles(feed_id) == ["One", "Not sent"]
    assert await _tuples(pushed, "SELECT missed, missed_in_row FROM websub_subscriptions") == [(1, 1)]
    state = await pushed.state(feed_id)
    assert state.next_check_rule != "push"
    assert state.next_check_at - pushed.runtime.now() < DAY // 2

    site.publish("Sent")
    await hub.publish(site.feed_url())
    await _read(pushed)
    await pushed.check_anyway(feed_id)
    assert await pushed.titles(feed_id) == ["One", "Not sent", "Sent"]
    assert (await pushed.state(feed_id)).next_check_rule == "push"


async def test_the_hub_is_left_when_nobody_follows_any_more(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    await _subscribed(site, hub, pushed)
    await pushed.change("UPDATE subscriptions SET unsubscribed_at = 1")
    await _tend(pushed, hub)
    assert hub.subscribers == {}
    assert hub.asked[-1]["hub.mode"] == "unsubscribe"
    assert await pushed.rows("SELECT * FROM websub_subscriptions") == []


async def test_a_hub_that_ignores_goodbyes_is_forgotten_after_some(
    site: FeedSite, hub: Hub, pushed: Crawl
) -> None:
    await _subscribed(site, hub, pushed)
    await pushed.change("UPDATE subscriptions SET unsubscribed_at = 1")
    hub.status = 500
    for _ in range(5):
        await _tend(pushed, hub)
        pushed.clock.ahead += 2 * HOUR
    assert await pushed.rows("SELECT * FROM websub_subscriptions") == []
    assert len(hub.asked) == 4


@pytest.mark.parametrize("status", [307, 308, 301, 302])
async def test_a_hub_that_has_moved_is_asked_there(
    site: FeedSite, hub: Hub, pushed: Crawl, status: int
) -> None:
    site.publish("One")
    old = site.put("/old-hub", "", status=status, headers={"Location": hub.url})
    site.misbehave(headers={"Link": f'<{old}>; rel="hub"'})
    await pushed.follow(site.feed_url())
    await pushed.check()
    await _tend(pushed, hub)
    assert await _states(pushed) == ["active"]
    assert site.seen_at("/old-hub")[0].method == "POST"


async def test_a_hub_that_moves_for_ever_is_given_up(site: FeedSite, pushed: Crawl) -> None:
    site.publish("One")
    for number in range(6):
        site.put(f"/hub{number}", "", status=307, headers={"Location": f"/hub{number + 1}"})
    site.misbehave(headers={"Link": f'<{site.url}/hub0>; rel="hub"'})
    await pushed.follow(site.feed_url())
    await pushed.check()
    await tend_hubs(pushed.runtime)
    assert await pushed.column("SELECT last_error FROM websub_subscriptions") == [
        "The hub redirects more than 3 times."
    ]
    assert site.seen_at("/hub5") == []


async def test_a_hub_named_in_the_feed_itself_is_found(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    topic = f"{site.url}/own.xml"
    site.put(
        "/own.xml",
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Own</title><id>x</id>'
        f'<link rel="hub" href="{hub.url}"/><link rel="self" href="{topic}?v=1"/></feed>',
        content_type="application/atom+xml",
    )
    await pushed.follow(topic)
    await pushed.check()
    await _tend(pushed, hub)
    assert hub.asked[0]["hub.topic"] == f"{topic}?v=1"
    assert await _states(pushed) == ["active"]


async def test_a_feed_that_changes_its_hub_moves_there(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    async with Hub() as other:
        _name_hub(site, other)
        site.publish("Two")
        await pushed.check_anyway(feed_id)
        await tend_hubs(pushed.runtime)
        await asyncio.gather(hub.settle(), other.settle())
        assert hub.subscribers == {}
        assert len(other.subscribers) == 1


async def test_private_feeds_are_not_told_to_hubs(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    await _followed(site, hub, pushed)
    await pushed.change("UPDATE feeds SET owner_id = (SELECT min(id) FROM users)")
    await pushed.check()
    await _tend(pushed, hub)
    assert hub.asked == []


async def test_hubs_in_private_networks_are_not_contacted(site: FeedSite, pushed: Crawl) -> None:
    site.publish("One")
    site.misbehave(headers={"Link": '<http://10.1.2.3/hub>; rel="hub"'})
    await pushed.follow(site.feed_url())
    await pushed.check()
    await tend_hubs(pushed.runtime)
    (error,) = await pushed.column("SELECT last_error FROM websub_subscriptions")
    assert "private network" in error


async def test_without_a_public_address_hubs_are_off_and_the_reason_is_shown(
    site: FeedSite, hub: Hub, pushed: Crawl
) -> None:
    feed_id = await _subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)
    pushed.runtime = replace(pushed.runtime, hubs=HubPolicy(off="No public address."))

    await tend_hubs(pushed.runtime)

    assert await pushed.rows("SELECT * FROM websub_subscriptions") == []
    assert [report.status for report in await pushed.check()] == ["success"]
    assert (await pushed.state(feed_id)).next_check_rule != "push"


async def test_the_api_shows_the_hub_and_how_reliable_it_is(site: FeedSite, hub: Hub, pushed: Crawl) -> None:
    await _subscribed(site, hub, pushed)
    site.publish("New")
    await hub.publish(site.feed_url())
    await _read(pushed)
    async with _client(pushed, "p1@example.org") as client:
        (one,) = (await client.get("/api/v1/subscriptions")).json()["items"]
        shown = (await client.get(f"/api/v1/subscriptions/{one['id']}/push")).json()
        page = await client.get(f"/feeds/{one['id']}/edit")
    assert (shown["hub"], shown["status"], shown["relied_on"]) == (hub.url, "active", True)
    assert (shown["pushes"], shown["entries"], shown["missed"], shown["forged"]) == (1, 1, 0, 0)
    assert shown["expires_at"] is not None
    assert hub.url in page.text
    async with _client(pushed, "stranger@example.org") as client:
        assert (await client.get(f"/api/v1/subscriptions/{one['id']}/push")).status_code == 404


async def test_pushes_beyond_the_limits_are_refused(
    site: FeedSite, hub: Hub, pushed: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _subscribed(site, hub, pushed)
    (one,) = hub.subscribers.values()
    assert await hub.send(one, b"x" * 10_000_001) == 413
    assert await pushed.rows("SELECT * FROM websub_deliveries") == []
    statuses = [await hub.send(one, f"<rss>{n}</rss>".encode()) for n in range(22)]
    assert statuses == [202] * 20 + [429] * 2
    monkeypatch.setattr(websub_callbacks, "FROM_HUB", Allowance(1, 0.001))
    assert await hub.send(one, b"<rss/>") == 429
    monkeypatch.setattr(websub_callbacks, "STRANGERS", Allowance(1, 0.001))
    unknown = Subscriber(one.topic, f"{pushed.runtime.accounts.base_url}/websub/none", "", 1)
    assert [await hub.send(unknown, b"x") for _ in range(2)] == [404, 429]


async def _followed(site: FeedSite, hub: Hub, crawl: Crawl) -> int:
    _name_hub(site, hub)
    return await crawl.follow(site.feed_url())


async def _subscribed(site: FeedSite, hub: Hub, crawl: Crawl) -> int:
    """A feed with one entry, checked, and its hub's confirmation."""
    site.publish("One")
    feed_id = await _followed(site, hub, crawl)
    await crawl.check()
    await _tend(crawl, hub)
    assert await _states(crawl) == ["active"]
    return feed_id


def _name_hub(site: FeedSite, hub: Hub) -> None:
    links = f'<{hub.url}>; rel="hub", <{site.feed_url()}>; rel="self"'
    site.misbehave(headers={"Link": links})


async def _tend(crawl: Crawl, hub: Hub) -> None:
    await tend_hubs(crawl.runtime)
    await hub.settle()


async def _read(crawl: Crawl) -> None:
    async with OutcomeWriter(crawl.runtime) as writer:
        await read_pushes(crawl.runtime, writer)


async def _tuples(crawl: Crawl, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await crawl.rows(sql)]


@asynccontextmanager
async def _client(crawl: Crawl, email: str) -> AsyncIterator[httpx.AsyncClient]:
    _, token = await session_of(crawl.runtime, email, "user")
    headers = {"Authorization": f"Bearer {token}"}
    url = crawl.runtime.accounts.base_url
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        yield client


async def _states(crawl: Crawl) -> list[str]:
    return await crawl.column("SELECT state FROM websub_subscriptions")


async def _until(true, seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  what is waited for happens elsewhere
            await asyncio.sleep(0.02)
