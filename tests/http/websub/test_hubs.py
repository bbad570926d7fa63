"""Hubs: found, asked, verified, renewed, left, and not missed when gone."""

import asyncio
from dataclasses import replace

import httpx
import pytest

from reedbed.domain.failures import Failure
from reedbed.domain.times import DAY, HOUR, MINUTE, SECOND
from reedbed.services.runtime import HubPolicy
from reedbed.services.websub import renew_hub_subscriptions
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.websub.steps import client_of, followed, name_hub, states, subscribed, take_in, tend, tuples
from tests.hub import Hub


async def test_while_the_hub_sends_the_feed_is_checked_once_a_day(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness
) -> None:
    feed_id = await subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)
    state = await pushed.state(feed_id)
    assert state.next_check_rule == "push"
    assert abs(state.next_check_at - pushed.runtime.now() - DAY) < 3 * HOUR


async def test_a_lease_is_renewed_before_it_ends(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    hub.lease = 3600
    await subscribed(site, hub, pushed)
    (first,) = await pushed.column("SELECT expires_at FROM websub_subscriptions")
    assert first <= pushed.runtime.now() + HOUR
    await tend(pushed, hub)
    assert len(hub.asked) == 1

    pushed.clock.ahead += 46 * MINUTE
    await tend(pushed, hub)

    assert len(hub.asked) == 2
    assert hub.asked[0] == hub.asked[1]
    (second,) = await pushed.column("SELECT expires_at FROM websub_subscriptions")
    assert second > first
    assert await states(pushed) == ["active"]


@pytest.mark.parametrize(("granted", "kept"), [(1, MINUTE), (10**9, 30 * DAY)])
async def test_a_lease_is_held_within_reason(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness, granted: int, kept: int
) -> None:
    hub.lease = granted
    await subscribed(site, hub, pushed)
    (until,) = await pushed.column("SELECT expires_at FROM websub_subscriptions")
    assert abs(until - pushed.runtime.now() - kept) < 20 * SECOND


async def test_nothing_is_verified_that_was_not_asked_for(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    await subscribed(site, hub, pushed)
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
    assert await states(pushed) == ["active"]


async def test_the_challenge_is_plain_text(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    hub.verifies = False
    await followed(site, hub, pushed)
    await pushed.check()
    await tend(pushed, hub)
    said = hub.asked[0]
    params = {"hub.mode": "subscribe", "hub.topic": said["hub.topic"], "hub.challenge": "<b>x</b>"}
    async with httpx.AsyncClient(timeout=60) as client:
        response = await client.get(said["hub.callback"], params=params)
    assert response.text == "<b>x</b>"
    assert response.headers["content-type"].startswith("text/plain")
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_refusal_is_kept_and_the_feed_polled(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    hub.refuses = "not for you"
    feed_id = await followed(site, hub, pushed)
    await pushed.check()
    await tend(pushed, hub)
    states = await pushed.column("SELECT state FROM websub_subscriptions")
    assert list(zip(states, await _errors(pushed), strict=True)) == [("denied", "The hub refused: not for you")]
    await pushed.check_anyway(feed_id)
    assert (await pushed.state(feed_id)).next_check_rule != "push"
    await tend(pushed, hub)
    assert len(hub.asked) == 1
    pushed.clock.ahead += 8 * DAY
    await tend(pushed, hub)
    assert len(hub.asked) == 2


async def test_a_hub_that_fails_or_never_verifies_is_asked_again_later(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness
) -> None:
    hub.status = 500
    await followed(site, hub, pushed)
    await pushed.check()
    await tend(pushed, hub)
    assert await _errors(pushed) == ["The hub answered 500."]
    hub.status, hub.verifies = 202, False
    pushed.clock.ahead += 6 * MINUTE
    await tend(pushed, hub)
    assert await states(pushed) == ["asked"]
    pushed.clock.ahead += 11 * MINUTE
    await tend(pushed, hub)
    assert await states(pushed) == ["failed"]
    hub.verifies = True
    pushed.clock.ahead += HOUR
    await tend(pushed, hub)
    assert await states(pushed) == ["active"]


async def test_when_the_hub_is_gone_the_lease_ends_and_polling_goes_on(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness
) -> None:
    hub.lease = 3600
    feed_id = await subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)
    assert (await pushed.state(feed_id)).next_check_rule == "push"
    hub.status = 503

    for _ in range(14):
        pushed.clock.ahead += 6 * MINUTE
        await tend(pushed, hub)

    assert await states(pushed) == ["failed"]
    site.publish("New")
    assert [report.new for report in await pushed.check()] == [1]
    assert await pushed.titles(feed_id) == ["One", "New"]
    assert (await pushed.state(feed_id)).next_check_rule != "push"


async def test_a_hub_that_falls_silent_is_noticed_and_not_relied_on_until_it_sends(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness
) -> None:
    feed_id = await subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)

    site.publish("Not sent")
    await pushed.check(at_least=27 * HOUR)

    assert await pushed.titles(feed_id) == ["One", "Not sent"]
    assert await tuples(pushed, "SELECT missed, missed_in_row FROM websub_subscriptions") == [(1, 1)]
    state = await pushed.state(feed_id)
    assert state.next_check_rule != "push"
    assert state.next_check_at - pushed.runtime.now() < DAY // 2

    site.publish("Sent")
    await hub.publish(site.feed_url())
    await take_in(pushed)
    await pushed.check_anyway(feed_id)
    assert await pushed.titles(feed_id) == ["One", "Not sent", "Sent"]
    assert (await pushed.state(feed_id)).next_check_rule == "push"


async def test_the_hub_is_left_when_nobody_follows_any_more(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    await subscribed(site, hub, pushed)
    await pushed.change("UPDATE subscriptions SET unsubscribed_at = 1")
    await tend(pushed, hub)
    assert hub.subscribers == {}
    assert hub.asked[-1]["hub.mode"] == "unsubscribe"
    assert await pushed.rows("SELECT * FROM websub_subscriptions") == []


async def test_a_hub_that_ignores_goodbyes_is_forgotten_after_some(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness
) -> None:
    await subscribed(site, hub, pushed)
    await pushed.change("UPDATE subscriptions SET unsubscribed_at = 1")
    hub.status = 500
    for _ in range(5):
        await tend(pushed, hub)
        pushed.clock.ahead += 2 * HOUR
    assert await pushed.rows("SELECT * FROM websub_subscriptions") == []
    assert len(hub.asked) == 4


@pytest.mark.parametrize("status", [307, 308, 301, 302])
async def test_a_hub_that_has_moved_is_asked_there(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness, status: int
) -> None:
    site.publish("One")
    old = site.put("/old-hub", "", status=status, headers={"Location": hub.url})
    site.misbehave(headers={"Link": f'<{old}>; rel="hub"'})
    await pushed.follow(site.feed_url())
    await pushed.check()
    await tend(pushed, hub)
    assert await states(pushed) == ["active"]
    assert site.seen_at("/old-hub")[0].method == "POST"


async def test_a_hub_that_moves_for_ever_is_given_up(site: FeedSite, pushed: RuntimeHarness) -> None:
    site.publish("One")
    for number in range(6):
        site.put(f"/hub{number}", "", status=307, headers={"Location": f"/hub{number + 1}"})
    site.misbehave(headers={"Link": f'<{site.url}/hub0>; rel="hub"'})
    await pushed.follow(site.feed_url())
    await pushed.check()
    await renew_hub_subscriptions(pushed.runtime)
    assert await _errors(pushed) == ["The hub redirects more than 3 times."]
    assert site.seen_at("/hub5") == []


async def test_a_hub_named_in_the_feed_itself_is_found(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    topic = f"{site.url}/own.xml"
    site.put(
        "/own.xml",
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Own</title><id>x</id>'
        f'<link rel="hub" href="{hub.url}"/><link rel="self" href="{topic}?v=1"/></feed>',
        content_type="application/atom+xml",
    )
    await pushed.follow(topic)
    await pushed.check()
    await tend(pushed, hub)
    assert hub.asked[0]["hub.topic"] == f"{topic}?v=1"
    assert await states(pushed) == ["active"]


async def test_a_feed_that_changes_its_hub_moves_there(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    feed_id = await subscribed(site, hub, pushed)
    async with Hub() as other:
        name_hub(site, other)
        site.publish("Two")
        await pushed.check_anyway(feed_id)
        await renew_hub_subscriptions(pushed.runtime)
        await asyncio.gather(hub.settle(), other.settle())
        assert hub.subscribers == {}
        assert len(other.subscribers) == 1


async def test_private_feeds_are_not_told_to_hubs(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    await followed(site, hub, pushed)
    await pushed.change("UPDATE feeds SET owner_id = (SELECT min(id) FROM users)")
    await pushed.check()
    await tend(pushed, hub)
    assert hub.asked == []


async def test_hubs_in_private_networks_are_not_contacted(site: FeedSite, pushed: RuntimeHarness) -> None:
    site.publish("One")
    site.misbehave(headers={"Link": '<http://10.1.2.3/hub>; rel="hub"'})
    await pushed.follow(site.feed_url())
    await pushed.check()
    await renew_hub_subscriptions(pushed.runtime)
    (error,) = await _errors(pushed)
    assert "private network" in error


async def test_without_a_public_address_hubs_are_off_and_the_reason_is_shown(
    site: FeedSite, hub: Hub, pushed: RuntimeHarness
) -> None:
    feed_id = await subscribed(site, hub, pushed)
    await pushed.check_anyway(feed_id)
    pushed.runtime = replace(pushed.runtime, hubs=HubPolicy(off="No public address."))

    await renew_hub_subscriptions(pushed.runtime)

    assert await pushed.rows("SELECT * FROM websub_subscriptions") == []
    assert [report.status for report in await pushed.check()] == ["success"]
    assert (await pushed.state(feed_id)).next_check_rule != "push"


async def test_the_api_shows_the_hub_and_how_reliable_it_is(site: FeedSite, hub: Hub, pushed: RuntimeHarness) -> None:
    await subscribed(site, hub, pushed)
    site.publish("New")
    await hub.publish(site.feed_url())
    await take_in(pushed)
    async with client_of(pushed, "p1@example.org") as client:
        (one,) = (await client.get("/api/v1/subscriptions")).json()["items"]
        shown = (await client.get(f"/api/v1/subscriptions/{one['id']}/push")).json()
        page = await client.get(f"/feeds/{one['id']}/edit")
    assert (shown["hub"], shown["status"], shown["relied_on"]) == (hub.url, "active", True)
    assert (shown["pushes"], shown["entries"], shown["missed"], shown["forged"]) == (1, 1, 0, 0)
    assert shown["expires_at"] is not None
    assert hub.url in page.text
    async with client_of(pushed, "stranger@example.org") as client:
        assert (await client.get(f"/api/v1/subscriptions/{one['id']}/push")).status_code == 404


async def _errors(harness: RuntimeHarness) -> list[str]:
    stored = await harness.column("SELECT last_error FROM websub_subscriptions")
    return [Failure.load(error).message for error in stored]
