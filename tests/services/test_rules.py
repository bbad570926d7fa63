"""Rules at work, on both engines: on arrival, on request, and what they tell."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.rules import Action, read_action, read_condition
from reedbed.domain.times import HOUR
from reedbed.services import jobs
from reedbed.services.folders import create_folder
from reedbed.services.refresh.check import refresh_feed
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.rules import manage as rule_runs
from reedbed.services.rules import match as rule_arrival
from reedbed.services.rules.manage import RuleDraft, apply_rule, change_rule, create_rule, get_rule, try_rule
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe
from reedbed.store import refresh
from reedbed.store.engine.database import counting
from reedbed.worker.jobs import HANDLERS
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.smtp_server import open_smtp_server, words_of


def draft(*actions: Action, field: str = "title", operator: str = "contains", value: str = "heron") -> RuleDraft:
    return RuleDraft("Herons", "all", [read_condition(field, operator, value)], list(actions))


async def run_jobs(harness: RuntimeHarness) -> list[dict[str, Any]]:
    """Run all jobs that are due; what they reported."""
    reports: list[dict[str, Any]] = []
    while (job := await jobs.claim(harness.runtime, list(HANDLERS))) is not None:
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])
        (text,) = await harness.column("SELECT report FROM jobs WHERE id = :id", id=job.id)
        reports.append(orjson.loads(text))
    return reports


async def unread_of(harness: RuntimeHarness, user_id: int) -> list[str]:
    return await harness.column(
        "SELECT title FROM entries e JOIN unread ON entry_id = e.id WHERE user_id = :user ORDER BY e.id", user=user_id
    )


async def count_of(harness: RuntimeHarness, user_id: int) -> int:
    return (await harness.column("SELECT unread FROM subscriptions WHERE user_id = :user", user=user_id))[0]


async def test_rules_act_on_arrival_for_their_user_alone(site: FeedSite, harness: RuntimeHarness) -> None:
    mine, other = await harness.person(), await harness.person()
    actions = [read_action("star"), read_action("later"), read_action("tag", "birds"), read_action("mark_read")]
    made = await create_rule(harness.runtime, mine, draft(*actions))
    site.publish("A heron")
    site.publish("A duck")
    await harness.follow(site.feed_url(), user_id=mine)
    await harness.follow(site.feed_url(), user_id=other)
    await harness.check()

    assert (await unread_of(harness, mine), await count_of(harness, mine)) == (["A duck"], 1)
    assert (await unread_of(harness, other), await count_of(harness, other)) == (["A heron", "A duck"], 2)
    for table in ("starred", "later", "entry_tags"):
        rows = await harness.rows(f"SELECT user_id, title FROM {table} JOIN entries ON entries.id = entry_id")
        assert [tuple(row) for row in rows] == [(mine, "A heron")]
    assert await harness.column("SELECT name FROM tags") == ["birds"]
    assert (await get_rule(harness.runtime, mine, made.rule.id)).matched == 1


async def test_a_muted_entry_arrives_read_and_no_later_rule_sees_it(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    await create_rule(harness.runtime, user, draft(read_action("mute"), field="content", value="cold water"))
    star = await create_rule(harness.runtime, user, draft(read_action("star")))
    site.publish("A heron", content="<p>It stands in <b>cold</b> water.</p>")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    assert await unread_of(harness, user) == []
    assert await harness.column("SELECT entry_id FROM starred") == []
    assert (await get_rule(harness.runtime, user, star.rule.id)).matched == 0


async def test_a_resting_rule_does_nothing(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    made = await create_rule(harness.runtime, user, draft(read_action("mute")))
    await change_rule(harness.runtime, user, made.rule.id, RuleDraft(enabled=False))
    site.publish("A heron")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    assert await unread_of(harness, user) == ["A heron"]


async def test_rules_know_the_folders_around_a_feed(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    nature = await create_folder(harness.runtime, user, "Nature")
    birds = await create_folder(harness.runtime, user, "Birds", nature.id)
    await create_rule(
        harness.runtime, user, draft(read_action("mute"), field="folder", operator="is", value=str(nature.id))
    )
    site.publish("A duck")
    feed_id = await harness.follow(site.feed_url(), user_id=user)
    await harness.change(
        "UPDATE subscriptions SET folder_id = :folder WHERE feed_id = :feed", folder=birds.id, feed=feed_id
    )
    await harness.check()
    assert await unread_of(harness, user) == []


async def test_feeds_without_rules_cost_one_statement_more(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    site.publish("Two")
    with counting() as without:
        await harness.check_anyway(feed_id)
    user = await harness.person()
    await create_rule(harness.runtime, user, draft(read_action("star")))
    site.publish("Three")
    with counting() as with_a_strangers_rule:
        await harness.check_anyway(feed_id)
    assert with_a_strangers_rule.value == without.value


async def test_many_feeds_arriving_at_once_agree(site: FeedSite, harness: RuntimeHarness) -> None:
    people = [await harness.person() for _ in range(3)]
    for user in people:
        await create_rule(harness.runtime, user, draft(read_action("tag", "birds"), read_action("star")))
    for number in range(8):
        site.publish("A heron", feed=f"f{number}")
        for user in people:
            await harness.follow(site.feed_url(f"f{number}"), user_id=user)
    runtime = harness.runtime
    async with runtime.db.write() as tx:
        claimed = await refresh.claim_due(tx, runtime.name, runtime.now(), limit=50, lease=HOUR)

    async def check(due: DueFeed) -> str:
        async with OutcomeWriter(runtime) as writer:
            return (await refresh_feed(runtime, due, writer)).status

    assert await asyncio.gather(*map(check, claimed)) == ["success"] * 8
    assert await harness.column("SELECT matched FROM rules") == [8, 8, 8]
    assert len(await harness.column("SELECT entry_id FROM starred")) == 24
    assert len(await harness.column("SELECT entry_id FROM entry_tags")) == 24


async def test_a_broken_rule_stops_neither_the_crawl_nor_others(site: FeedSite, harness: RuntimeHarness) -> None:
    mine, other = await harness.person(), await harness.person()
    made = await create_rule(harness.runtime, mine, draft(read_action("mute")))
    await create_rule(harness.runtime, other, draft(read_action("mute")))
    await harness.change("UPDATE rules SET conditions = 'not json' WHERE id = :id", id=made.rule.id)
    site.publish("A heron")
    for user in (mine, other):
        await harness.follow(site.feed_url(), user_id=user)
    (report,) = await harness.check()
    assert report.status == "success"
    assert (await unread_of(harness, mine), await unread_of(harness, other)) == (["A heron"], [])


async def test_rules_without_time_on_arrival_are_applied_right_after(
    site: FeedSite, harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = await harness.person()
    await create_rule(harness.runtime, user, draft(read_action("mark_read"), read_action("star")))
    monkeypatch.setattr(rule_arrival, "SECONDS", -1.0)
    site.publish("A heron")
    site.publish("A duck")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    assert await count_of(harness, user) == 2
    assert await run_jobs(harness) == [{"looked_at": 2, "matched": 1}]
    assert (await unread_of(harness, user), await count_of(harness, user)) == (["A duck"], 1)
    assert len(await harness.column("SELECT entry_id FROM starred")) == 1


async def test_rules_meet_what_a_later_follower_finds(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("A heron")
    site.publish("A duck")
    await harness.follow(site.feed_url())
    await harness.check()
    user = await harness.person()
    await create_rule(harness.runtime, user, draft(read_action("mute"), read_action("notify", "page")))
    await subscribe(harness.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    assert await count_of(harness, user) == 2
    assert await run_jobs(harness) == [{"looked_at": 2, "matched": 1}]
    assert (await unread_of(harness, user), await count_of(harness, user)) == (["A duck"], 1)


async def test_a_dry_run_shows_matches_and_changes_nothing(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    for number in range(3):
        site.publish(f"A heron {number}")
    site.publish("A duck")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    trial = await try_rule(harness.runtime, user, draft(read_action("mute"), operator="regex", value=r"heron [12]$"))
    assert (trial.looked_at, trial.matched, trial.complete) == (4, 2, True)
    assert [entry.title for entry in trial.shown] == ["A heron 2", "A heron 1"]
    assert await count_of(harness, user) == 4


async def test_a_dry_run_ends_in_time(site: FeedSite, harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    user = await harness.person()
    site.publish("A heron")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    monkeypatch.setattr(rule_runs, "DRY_RUN_SECONDS", -1.0)
    trial = await try_rule(harness.runtime, user, draft(read_action("star")))
    assert (trial.looked_at, trial.complete) == (0, False)


async def test_a_rule_is_applied_to_what_is_there_with_progress(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    for number in range(120):
        site.publish(f"A heron {number}" if number % 2 else f"A duck {number}")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    made = await create_rule(harness.runtime, user, draft(read_action("mark_read"), read_action("tag", "birds")))
    await apply_rule(harness.runtime, user, made.rule.id)
    assert await run_jobs(harness) == [{"looked_at": 120, "matched": 60}]
    assert await count_of(harness, user) == 60
    assert len(await unread_of(harness, user)) == 60
    assert len(await harness.column("SELECT entry_id FROM entry_tags")) == 60
    assert (await get_rule(harness.runtime, user, made.rule.id)).matched == 60
    assert [hint.data["done"] for hint in harness.heard("progress")] == [100, 120]
    read = [id_ for hint in harness.heard("state_changed") if hint.data.get("read") for id_ in hint.data["ids"]]
    assert len(read) == 60


async def arrive_later(harness: RuntimeHarness, site: FeedSite, user: int, *titles: str) -> None:
    """A feed that was followed before these entries came: only then there is news to tell."""
    await harness.follow(site.feed_url(), user_id=user)
    site.publish("The first one")
    await harness.check()
    for title in titles:
        site.publish(title)
    await harness.check(at_least=25 * HOUR)


async def test_a_webhook_is_called_with_what_matched(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    hook = f"{site.url}/hook"
    site.put("/hook", "thanks")
    made = await create_rule(harness.runtime, user, draft(read_action("notify", "webhook", hook)))
    await arrive_later(harness, site, user, "A heron", "Another heron", "A duck")
    assert await run_jobs(harness) == [{"named": hook}, {"sent": "webhook"}]
    (call,) = site.seen_at("/hook")
    told = orjson.loads(call.body)
    assert (call.method, told["event"], told["count"]) == ("POST", "rule_match", 2)
    assert told["rule"] == {"id": str(made.rule.id), "name": "Herons"}
    assert [entry["title"] for entry in told["entries"]] == ["A heron", "Another heron"]
    (hint,) = harness.heard("notice")
    assert (hint.user_id, hint.data["count"]) == (user, 2)


async def test_what_a_feed_held_before_is_no_news(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    await create_rule(harness.runtime, user, draft(read_action("notify", "page")))
    site.publish("An old heron")
    await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    assert await run_jobs(harness) == []


async def test_a_mail_tells_what_matched(site: FeedSite, harness: RuntimeHarness) -> None:
    with open_smtp_server() as smtp_server:
        harness.runtime = replace(harness.runtime, mailer=smtp_server.mailer())
        user = await harness.person()
        await create_rule(harness.runtime, user, draft(read_action("notify", "mail")))
        await arrive_later(harness, site, user, "A heron")
        assert await run_jobs(harness) == [{"sent": "mail"}]
    (letter,) = smtp_server.letters
    assert (letter["To"], letter["Subject"]) == ("p1@example.org", "Herons: A heron")
    assert "Your rule “Herons” has matched 1 entry:" in words_of(letter)


async def test_without_a_mail_server_the_page_is_told(site: FeedSite, harness: RuntimeHarness) -> None:
    user = await harness.person()
    await create_rule(harness.runtime, user, draft(read_action("notify", "mail")))
    await arrive_later(harness, site, user, "A heron")
    assert await run_jobs(harness) == [{"shown": "page"}]
    assert len(harness.heard("notice")) == 1
