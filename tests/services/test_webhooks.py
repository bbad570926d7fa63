"""Webhooks: what they are told, how it is signed, and what happens when nobody answers."""

import hmac
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Any

import orjson
import pytest

from reedbed.domain.errors import Conflict
from reedbed.domain.failures import failure_sentence
from reedbed.domain.rules import read_action
from reedbed.domain.times import DAY, HOUR, MINUTE
from reedbed.domain.webhooks import CHOOSABLE, Webhook, WebhookEvent
from reedbed.services import jobs
from reedbed.services.digests import ask_digest
from reedbed.services.rules.manage import create_rule
from reedbed.services.webhooks import (
    MAX_WEBHOOKS,
    Changes,
    change_webhook,
    create_webhook,
    delete_old_webhook_calls,
    get_webhook,
    list_deliveries,
    list_webhooks,
    try_webhook,
)
from reedbed.store import users
from reedbed.store.engine.database import counting
from reedbed.worker.jobs import HANDLERS
from tests.feedsite import FeedSite, RecordedRequest
from tests.harness import RuntimeHarness
from tests.services.test_rules import draft


@pytest.fixture
async def user(harness: RuntimeHarness) -> int:
    return await harness.person()


@pytest.fixture
async def hook(harness: RuntimeHarness, site: FeedSite, user: int) -> Webhook:
    site.put("/hook", "thanks")
    return await create_webhook(harness.runtime, user, f"{site.url}/hook", frozenset(CHOOSABLE))


async def run_jobs(harness: RuntimeHarness) -> None:
    while (job := await jobs.claim(harness.runtime, list(HANDLERS))) is not None:
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])


async def arrive(harness: RuntimeHarness, site: FeedSite, user: int, *titles: str) -> None:
    await harness.follow(site.feed_url(), user_id=user)
    site.publish("The first one")
    await harness.check()
    await run_jobs(harness)
    for title in titles:
        site.publish(title)
    await harness.check(at_least=25 * HOUR)
    await run_jobs(harness)


def told(site: FeedSite, path: str = "/hook") -> list[dict[str, Any]]:
    return [orjson.loads(call.body) for call in site.seen_at(path)]


def is_signed(call: RecordedRequest, secret: str) -> bool:
    """As a receiver checks it, by the words of the specification alone."""
    name, second = call.headers["webhook-id"], call.headers["webhook-timestamp"]
    key = b64decode(secret.removeprefix("whsec_"))
    signed = hmac.new(key, b".".join([name.encode(), second.encode(), call.body]), sha256).digest()
    return call.headers["webhook-signature"] == f"v1,{b64encode(signed).decode()}"


async def test_new_entries_are_told_by_a_signed_call(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    await arrive(harness, site, user, "A heron", "A duck")
    (call,) = site.seen_at("/hook")
    (said,) = told(site)
    assert (call.method, said["event"], said["count"]) == ("POST", "new_entries", 2)
    assert [entry["title"] for entry in said["entries"]] == ["A heron", "A duck"]
    assert said["feed"]["title"] == "Feed main"
    assert is_signed(call, hook.secret)
    assert not is_signed(call, "whsec_" + b64encode(b"another").decode())
    assert abs(int(call.headers["webhook-timestamp"]) - harness.runtime.now() // 1_000) < 60
    (delivery,) = await list_deliveries(harness.runtime, user, hook.id, limit=10)
    assert (delivery.state, delivery.tries, delivery.status) == ("delivered", 1, 200)


async def test_what_a_rule_mutes_is_neither_told_nor_counted(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    await create_rule(harness.runtime, user, draft(read_action("mute")))
    await arrive(harness, site, user, "A heron", "A duck")
    (said,) = told(site)
    assert ([entry["title"] for entry in said["entries"]], said["count"]) == (["A duck"], 1)


async def test_only_the_followers_who_asked_are_told(site: FeedSite, harness: RuntimeHarness, user: int) -> None:
    site.put("/other", "thanks")
    other = await harness.person()
    await create_webhook(harness.runtime, other, f"{site.url}/other", frozenset(CHOOSABLE))
    await create_webhook(harness.runtime, user, f"{site.url}/hook", frozenset({WebhookEvent.DIGEST}))
    await arrive(harness, site, user, "A heron")
    assert told(site) == told(site, "/other") == []


async def test_a_match_of_a_rule_is_told_once_however_many_ways_it_has(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    await change_webhook(harness.runtime, user, hook.id, Changes(events=frozenset({WebhookEvent.RULE_MATCH})))
    ways = [read_action("notify", "page"), read_action("notify", "webhook", hook.url)]
    made = await create_rule(harness.runtime, user, draft(*ways))
    await arrive(harness, site, user, "A heron", "A duck")
    (said,) = told(site)
    assert (said["event"], said["count"]) == ("rule_match", 1)
    assert said["rule"] == {"id": str(made.rule.id), "name": "Herons"}


async def test_the_address_in_a_rule_is_a_webhook_like_any_other(
    site: FeedSite, harness: RuntimeHarness, user: int
) -> None:
    site.put("/named", "thanks")
    await create_rule(harness.runtime, user, draft(read_action("notify", "webhook", f"{site.url}/named")))
    await arrive(harness, site, user, "A heron")
    (made,) = await list_webhooks(harness.runtime, user)
    assert (made.url, made.events) == (f"{site.url}/named", frozenset())
    (call,) = site.seen_at("/named")
    assert is_signed(call, made.secret)


async def test_a_digest_is_told_with_its_words(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    await change_webhook(harness.runtime, user, hook.id, Changes(events=frozenset({WebhookEvent.DIGEST})))
    site.publish("A heron was seen in the reeds")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    async with harness.runtime.db.read() as tx:
        reader = await users.get(tx, user)
    assert reader is not None
    await ask_digest(harness.runtime, reader)
    await run_jobs(harness)
    (said,) = told(site)
    assert said["event"] == "digest"
    assert "heron" in said["digest"]["markdown"]


async def test_a_call_that_fails_is_made_again_with_ever_longer_waits(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    site.put("/hook", "no", status=503)
    delivery = await try_webhook(harness.runtime, user, hook.id)
    waits: list[int] = []
    for _ in range(4):
        await run_jobs(harness)
        (delivery,) = await list_deliveries(harness.runtime, user, hook.id, limit=1)
        assert delivery.next_at is not None
        waits.append(delivery.next_at - harness.runtime.now())
        harness.clock.ahead += waits[-1] + 1
    assert [round(wait / MINUTE) for wait in waits] == [1, 1, 2, 4]
    assert (delivery.state, delivery.tries, delivery.status) == ("waiting", 4, 503)
    site.put("/hook", "thanks")
    await run_jobs(harness)
    (delivery,) = await list_deliveries(harness.runtime, user, hook.id, limit=1)
    assert (delivery.state, delivery.tries, delivery.answer) == ("delivered", 5, None)
    assert len({call.headers["webhook-id"] for call in site.seen_at("/hook")}) == 1
    assert (await get_webhook(harness.runtime, user, hook.id)).failing_since is None


async def test_a_call_is_given_up_after_a_day(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    site.put("/hook", "no", status=500)
    await try_webhook(harness.runtime, user, hook.id)
    await run_jobs(harness)
    harness.clock.ahead += DAY
    await run_jobs(harness)
    (delivery,) = await list_deliveries(harness.runtime, user, hook.id, limit=1)
    assert (delivery.state, delivery.tries, delivery.next_at) == ("failed", 2, None)
    assert "500" in failure_sentence(delivery.answer)


@pytest.mark.parametrize(("status", "state"), [(400, "failed"), (404, "failed"), (429, "waiting")])
async def test_a_refusal_is_final_and_a_plea_for_patience_is_not(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook, status: int, state: str
) -> None:
    site.put("/hook", "no", status=status)
    await try_webhook(harness.runtime, user, hook.id)
    await run_jobs(harness)
    (delivery,) = await list_deliveries(harness.runtime, user, hook.id, limit=1)
    assert (delivery.state, delivery.status) == (state, status)


async def test_a_webhook_that_fails_for_long_is_switched_off_and_its_user_is_told(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    site.put("/hook", "no", status=500)
    for _ in range(4):
        await try_webhook(harness.runtime, user, hook.id)
        await run_jobs(harness)
        harness.clock.ahead += DAY
    now = await get_webhook(harness.runtime, user, hook.id)
    assert (now.enabled, now.disabled_at is not None) == (False, True)
    assert [hint.data["event"] for hint in harness.heard("notice")] == ["webhook_switched_off"]
    assert await harness.column("SELECT kind FROM event_log WHERE kind = 'webhook_switched_off'")
    with pytest.raises(Conflict):
        await try_webhook(harness.runtime, user, hook.id)
    calls = len(site.seen_at("/hook"))
    harness.clock.ahead += HOUR
    await run_jobs(harness)
    assert len(site.seen_at("/hook")) == calls
    again = await change_webhook(harness.runtime, user, hook.id, Changes(enabled=True))
    assert (again.enabled, again.failing_since, again.disabled_at) == (True, None, None)


async def test_a_webhook_that_says_it_is_gone_is_switched_off_at_once(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    site.put("/hook", "no", status=410)
    await try_webhook(harness.runtime, user, hook.id)
    await run_jobs(harness)
    assert not (await get_webhook(harness.runtime, user, hook.id)).enabled


async def test_no_call_reaches_a_private_network_or_follows_a_redirect(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    inside = await create_webhook(harness.runtime, user, "http://10.0.0.1/hook", frozenset())
    site.put("/hook", "", status=307, headers={"Location": f"{site.url}/elsewhere"})
    await try_webhook(harness.runtime, user, inside.id)
    await try_webhook(harness.runtime, user, hook.id)
    await run_jobs(harness)
    assert site.seen_at("/elsewhere") == []
    (delivery,) = await list_deliveries(harness.runtime, user, inside.id, limit=1)
    assert delivery.state == "failed"
    assert "private" in failure_sentence(delivery.answer)


async def test_deleting_what_was_to_be_told_ends_the_call(
    site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook
) -> None:
    site.put("/hook", "no", status=503)
    await arrive(harness, site, user, "A heron")
    await harness.change("DELETE FROM entries WHERE title = 'A heron'")
    harness.clock.ahead += 2 * MINUTE
    await run_jobs(harness)
    (delivery,) = await list_deliveries(harness.runtime, user, hook.id, limit=1)
    assert (delivery.state, delivery.tries) == ("failed", 1)


async def test_there_are_so_many_webhooks_and_no_more(harness: RuntimeHarness, user: int) -> None:
    for number in range(MAX_WEBHOOKS):
        await create_webhook(harness.runtime, user, f"https://example.org/{number}", frozenset())
    with pytest.raises(Conflict):
        await create_webhook(harness.runtime, user, "https://example.org/more", frozenset())


async def test_the_log_goes_back_a_month(site: FeedSite, harness: RuntimeHarness, user: int, hook: Webhook) -> None:
    await try_webhook(harness.runtime, user, hook.id)
    await run_jobs(harness)
    assert await delete_old_webhook_calls(harness.runtime) == 0
    harness.clock.ahead += 31 * DAY
    assert await delete_old_webhook_calls(harness.runtime) == 1


async def test_arrival_costs_one_statement_when_nobody_has_webhooks(
    site: FeedSite, harness: RuntimeHarness, user: int
) -> None:
    from reedbed.services.webhooks import enqueue_new_entries_webhooks

    async with harness.runtime.db.write() as tx:
        with counting() as count:
            await enqueue_new_entries_webhooks(tx, {feed: [1, 2, 3] for feed in range(1, 100)}, harness.runtime.now())
        assert count.value == 1
        with counting() as count:
            await enqueue_new_entries_webhooks(tx, {}, harness.runtime.now())
        assert count.value == 0


async def test_a_mail_tells_that_a_webhook_was_switched_off(hook: Webhook) -> None:
    from reedbed.domain.webhooks import switched_off_email

    letter = switched_off_email("a@example.org", replace(hook, name="Mine"), None, "https://reader.example")
    assert "Mine" in letter.subject
    assert f"https://reader.example/settings/webhooks/{hook.id}" in letter.text
