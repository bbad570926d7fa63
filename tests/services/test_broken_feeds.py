"""Those who want it are told that a feed has stopped, and weekly which feeds need them."""

from dataclasses import replace
from typing import Any

from reedbed.services import jobs
from reedbed.services.refresh.notify import enqueue_broken_lists
from reedbed.worker.jobs import HANDLERS
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.smtp_server import open_smtp_server, words_of


async def run_jobs(harness: RuntimeHarness) -> None:
    while (job := await jobs.claim(harness.runtime, list(HANDLERS))) is not None:
        await jobs.run(harness.runtime, job, HANDLERS[job.kind])


async def wish(harness: RuntimeHarness, user_id: int, preferences: str) -> None:
    sql = "UPDATE users SET preferences = :preferences WHERE id = :user"
    await harness.change(sql, preferences=preferences, user=user_id)


async def follow_a_feed_that_stops(harness: RuntimeHarness, site: FeedSite, *users: int) -> None:
    site.publish("One")
    for user in users:
        feed = await harness.follow(site.feed_url(), user_id=user)
    await harness.check()
    site.misbehave(status=410)
    await harness.check_anyway(feed)


def letters_to(letters: list[Any]) -> list[tuple[str, str]]:
    return [(letter["To"], letter["Subject"]) for letter in letters]


async def test_who_wants_it_gets_one_message_when_a_feed_has_stopped(site: FeedSite, harness: RuntimeHarness) -> None:
    with open_smtp_server() as smtp_server:
        harness.runtime = replace(harness.runtime, mailer=smtp_server.mailer())
        ann, bob = await harness.person(), await harness.person()
        await wish(harness, ann, '{"stopped_feeds": "mail"}')
        await follow_a_feed_that_stops(harness, site, ann, bob)
        await run_jobs(harness)
    assert [to for to, _ in letters_to(smtp_server.letters)] == ["p1@example.org"]
    (letter,) = smtp_server.letters
    assert letter["Subject"].startswith("A feed has stopped: ")
    assert "/feed/" in words_of(letter)
    assert await harness.column("SELECT count(*) FROM jobs WHERE kind = 'feed_stopped' AND user_id = :b", b=bob) == [0]


async def test_the_weekly_list_goes_to_who_wants_it_and_has_broken_feeds(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    with open_smtp_server() as smtp_server:
        harness.runtime = replace(harness.runtime, mailer=smtp_server.mailer())
        ann, bob, eve = [await harness.person() for _ in range(3)]
        for user in (ann, eve):
            await wish(harness, user, '{"broken_feeds_weekly": true}')
        await follow_a_feed_that_stops(harness, site, ann, bob)
        assert await enqueue_broken_lists(harness.runtime) == 2
        await run_jobs(harness)
    assert letters_to(smtp_server.letters) == [("p1@example.org", "1 feed needs you")]
