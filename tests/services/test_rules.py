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
from reedbed.services.job_registry import HANDLERS
from reedbed.services.refresh.check import refresh_feed
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.rules import manage as rule_runs
from reedbed.services.rules import match as rule_arrival
from reedbed.services.rules.manage import RuleDraft, apply_rule, change_rule, create_rule, get_rule, try_rule
from reedbed.services.subscriptions.manage import SubscribeOptions, subscribe
from reedbed.store import refresh
from reedbed.store.engine.database import counting
from tests.crawling import Crawl
from tests.feedsite import FeedSite
from tests.postbox import open_postbox, words_of


def draft(
    *actions: Action, field: str = "title", operator: str = "contains", value: str = "heron"
) -> RuleDraft:
    return RuleDraft("Herons", "all", [read_condition(field, operator, value)], list(actions))


async def run_jobs(crawl: Crawl) -> list[dict[str, Any]]:
    """Run all jobs that are due; what they reported."""
    reports: list[dict[str, Any]] = []
    while (job := await jobs.claim(crawl.runtime, list(HANDLERS))) is not None:
        await jobs.run(crawl.runtime, job, HANDLERS[job.kind])
        (text,) = await crawl.column("SELECT report FROM jobs WHERE id = :id", id=job.id)
        reports.append(orjson.loads(text))
    return reports


async def unread_of(crawl: Crawl, user_id: int) -> list[str]:
    return await crawl.column(
        "SELECT title FROM entries e JOIN unread ON entry_id = e.id WHERE user_id = :user ORDER BY e.id",
        user=user_id,
    )


async def count_of(crawl: Crawl, user_id: int) -> int:
    return (await crawl.column("SELECT unread FROM subscriptions WHERE user_id = :user", user=user_id))[0]


async def test_rules_act_on_arrival_for_their_user_alone(site: FeedSite, crawl: Crawl) -> None:
    mine, other = await crawl.person(), await crawl.person()
    actions = [
        read_action("star"),
        read_action("later"),
        read_action("tag", "birds"),
        read_action("mark_read"),
    ]
    made = await create_rule(crawl.runtime, mine, draft(*actions))
    site.publish("A heron")
    site.publish("A duck")
    await crawl.follow(site.feed_url(), user_id=mine)
    await crawl.follow(site.feed_url(), user_id=other)
    await crawl.check()

    assert (await unread_of(crawl, mine), await count_of(crawl, mine)) == (["A duck"], 1)
    assert (await unread_of(crawl, other), await count_of(crawl, other)) == (["A heron", "A duck"], 2)
    for table in ("starred", "later", "entry_tags"):
        rows = await crawl.rows(f"SELECT user_id, title FROM {table} JOIN entries ON entries.id = entry_id")
        assert [tuple(row) for row in rows] == [(mine, "A heron")]
    assert await crawl.column("SELECT name FROM tags") == ["birds"]
    assert (await get_rule(crawl.runtime, mine, made.rule.id)).matched == 1


async def test_a_muted_entry_arrives_read_and_no_later_rule_sees_it(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    await create_rule(crawl.runtime, user, draft(read_action("mute"), field="content", value="cold water"))
    star = await create_rule(crawl.runtime, user, draft(read_action("star")))
    site.publish("A heron", content="<p>It stands in <b>cold</b> water.</p>")
    await crawl.follow(site.feed_url(), user_id=user)
    await crawl.check()
    assert await unread_of(crawl, user) == []
    assert await crawl.column("SELECT entry_id FROM starred") == []
    assert (await get_rule(crawl.runtime, user, star.rule.id)).matched == 0


async def test_a_resting_rule_does_nothing(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    made = await create_rule(crawl.runtime, user, draft(read_action("mute")))
    await change_rule(crawl.runtime, user, made.rule.id, RuleDraft(enabled=False))
    site.publish("A heron")
    await crawl.follow(site.feed_url(), user_id=user)
    await crawl.check()
    assert await unread_of(crawl, user) == ["A heron"]


async def test_rules_know_the_folders_around_a_feed(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    nature = await create_folder(crawl.runtime, user, "Nature")
    birds = await create_folder(crawl.runtime, user, "Birds", nature.id)
    await create_rule(
        crawl.runtime, user, draft(read_action("mute"), field="folder", operator="is", value=str(nature.id))
    )
    site.publish("A duck")
    feed_id = await crawl.follow(site.feed_url(), user_id=user)
    await crawl.change(
        "UPDATE subscriptions SET folder_id = :folder WHERE feed_id = :feed", folder=birds.id, feed=feed_id
    )
    await crawl.check()
    assert await unread_of(crawl, user) == []


async def test_feeds_without_rules_cost_one_statement_more(site: FeedSite, crawl: Crawl) -> None:
    site.publish("One")
    feed_id = await crawl.follow(site.feed_url())
    await crawl.check()
    site.publish("Two")
    with counting() as without:
        await crawl.check_anyway(feed_id)
    user = await crawl.person()
    await create_rule(crawl.runtime, user, draft(read_action("star")))
    site.publish("Three")
    with counting() as with_a_strangers_rule:
        await crawl.check_anyway(feed_id)
    assert with_a_strangers_rule.value == without.value


async def test_many_feeds_arriving_at_once_agree(site: FeedSite, crawl: Crawl) -> None:
    people = [await crawl.person() for _ in range(3)]
    for user in people:
        await create_rule(crawl.runtime, user, draft(read_action("tag", "birds"), read_action("star")))
    for number in range(8):
        site.publish("A heron", feed=f"f{number}")
        for user in people:
            await crawl.follow(site.feed_url(f"f{number}"), user_id=user)
    runtime = crawl.runtime
    async with runtime.db.write() as tx:
        claimed = await refresh.claim_due(tx, runtime.name, runtime.now(), limit=50, lease=HOUR)

    async def check(due: DueFeed) -> str:
        async with OutcomeWriter(runtime) as writer:
            return (await refresh_feed(runtime, due, writer)).status

    assert await asyncio.gather(*map(check, claimed)) == ["success"] * 8
    assert await crawl.column("SELECT matched FROM rules") == [8, 8, 8]
    assert len(await crawl.column("SELECT entry_id FROM starred")) == 24
    assert len(await crawl.column("SELECT entry_id FROM entry_tags")) == 24


async def test_a_broken_rule_stops_neither_the_crawl_nor_others(site: FeedSite, crawl: Crawl) -> None:
    mine, other = await crawl.person(), await crawl.person()
    made = await create_rule(crawl.runtime, mine, draft(read_action("mute")))
    await create_rule(crawl.runtime, other, draft(read_action("mute")))
    await crawl.change("UPDATE rules SET conditions = 'not json' WHERE id = :id", id=made.rule.id)
    site.publish("A heron")
    for user in (mine, other):
        await crawl.follow(site.feed_url(), user_id=user)
    (report,) = await crawl.check()
    assert report.status == "success"
    assert (await unread_of(crawl, mine), await unread_of(crawl, other)) == (["A heron"], [])


async def test_rules_without_time_on_arrival_are_applied_right_after(
    site: FeedSite, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = await crawl.person()
    await create_rule(crawl.runtime, user, draft(read_action("mark_read"), read_action("star")))
    monkeypatch.setattr(rule_arrival, "SECONDS", -1.0)
    site.publish("A heron")
    site.publish("A duck")
    await crawl.follow(site.feed_url(), user_id=user)
    await crawl.check()
    assert await count_of(crawl, user) == 2
    assert await run_jobs(crawl) == [{"looked_at": 2, "matched": 1}]
    assert (await unread_of(crawl, user), await count_of(crawl, user)) == (["A duck"], 1)
    assert len(await crawl.column("SELECT entry_id FROM starred")) == 1


async def test_rules_meet_what_a_later_follower_finds(site: FeedSite, crawl: Crawl) -> None:
    site.publish("A heron")
    site.publish("A duck")
    await crawl.follow(site.feed_url())
    await crawl.check()
    user = await crawl.person()
    await create_rule(crawl.runtime, user, draft(read_action("mute"), read_action("notify", "page")))
    await subscribe(crawl.runtime, user, SubscribeOptions(site.feed_url(), looked=True))
    assert await count_of(crawl, user) == 2
    assert await run_jobs(crawl) == [{"looked_at": 2, "matched": 1}]
    assert (await unread_of(crawl, user), await count_of(crawl, user)) == (["A duck"], 1)


async def test_a_dry_run_shows_matches_and_changes_nothing(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    for number in range(3):
        site.publish(f"A heron {number}")
    site.publish("A duck")
    await crawl.follow(site.feed_url(), user_id=user)
    await crawl.check()
    trial = await try_rule(
        crawl.runtime, user, draft(read_action("mute"), operator="regex", value=r"heron [12]$")
    )
    assert (trial.looked_at, trial.matched, trial.complete) == (4, 2, True)
    assert [entry.title for entry in trial.shown] == ["A heron 2", "A heron 1"]
    assert await count_of(crawl, user) == 4


async def test_a_dry_run_ends_in_time(site: FeedSite, crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    user = await crawl.person()
    site.publish("A heron")
    await crawl.follow(site.feed_url(), user_id=user)
    await crawl.check()
    monkeypatch.setattr(rule_runs, "DRY_RUN_SECONDS", -1.0)
    trial = await try_rule(crawl.runtime, user, draft(read_action("star")))
    assert (trial.looked_at, trial.complete) == (0, False)


async def test_a_rule_is_applied_to_what_is_there_with_progress(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    for number in range(120):
        site.publish(f"A heron {number}" if number % 2 else f"A duck {number}")
    await crawl.follow(site.feed_url(), user_id=user)
    await crawl.check()
    made = await create_rule(
        crawl.runtime, user, draft(read_action("mark_read"), read_action("tag", "birds"))
    )
    await apply_rule(crawl.runtime, user, made.rule.id)
    assert await run_jobs(crawl) == [{"looked_at": 120, "matched": 60}]
    assert await count_of(crawl, user) == 60
    assert len(await unread_of(crawl, user)) == 60
    assert len(await crawl.column("SELECT entry_id FROM entry_tags")) == 60
    assert (await get_rule(crawl.runtime, user, made.rule.id)).matched == 60
    assert [hint.data["done"] for hint in crawl.heard("progress")] == [100, 120]
    read = [id_ for hint in crawl.heard("state_changed") if hint.data.get("read") for id_ in hint.data["ids"]]
    assert len(read) == 60


async def arrive_later(crawl: Crawl, site: FeedSite, user: int, *titles: str) -> None:
    """A feed that was followed before these entries came: only then there is news to tell."""
    await crawl.follow(site.feed_url(), user_id=user)
    site.publish("The first one")
    await crawl.check()
    for title in titles:
        site.publish(title)
    await crawl.check(at_least=25 * HOUR)


async def test_a_webhook_is_called_with_what_matched(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    hook = f"{site.url}/hook"
    site.put("/hook", "thanks")
    made = await create_rule(crawl.runtime, user, draft(read_action("notify", "webhook", hook)))
    await arrive_later(crawl, site, user, "A heron", "Another heron", "A duck")
    assert await run_jobs(crawl) == [{"named": hook}, {"sent": "webhook"}]
    (call,) = site.seen_at("/hook")
    told = orjson.loads(call.body)
    assert (call.method, told["event"], told["count"]) == ("POST", "rule_match", 2)
    assert told["rule"] == {"id": str(made.rule.id), "name": "Herons"}
    assert [entry["title"] for entry in told["entries"]] == ["A heron", "Another heron"]
    (hint,) = crawl.heard("notice")
    assert (hint.user_id, hint.data["count"]) == (user, 2)


async def test_what_a_feed_held_before_is_no_news(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    await create_rule(crawl.runtime, user, draft(read_action("notify", "page")))
    site.publish("An old heron")
    await crawl.follow(site.feed_url(), user_id=user)
    await crawl.check()
    assert await run_jobs(crawl) == []


async def test_a_mail_tells_what_matched(site: FeedSite, crawl: Crawl) -> None:
    with open_postbox() as postbox:
        crawl.runtime = replace(crawl.runtime, mailer=postbox.mailer())
        user = await crawl.person()
        await create_rule(crawl.runtime, user, draft(read_action("notify", "mail")))
        await arrive_later(crawl, site, user, "A heron")
        assert await run_jobs(crawl) == [{"sent": "mail"}]
    (letter,) = postbox.letters
    assert (letter["To"], letter["Subject"]) == ("p1@example.org", "Herons: A heron")
    assert "Your rule “Herons” has matched one entry:" in words_of(letter)


async def test_without_a_mail_server_the_page_is_told(site: FeedSite, crawl: Crawl) -> None:
    user = await crawl.person()
    await create_rule(crawl.runtime, user, draft(read_action("notify", "mail")))
    await arrive_later(crawl, site, user, "A heron")
    assert await run_jobs(crawl) == [{"shown": "page"}]
    assert len(crawl.heard("notice")) == 1
