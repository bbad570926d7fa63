"""Checks that fail: the status, the words, the wait, the stop; and that nothing is ever lost by one."""

import pytest
from structlog.testing import capture_logs

from reedbed.domain.failures import FailureCode, failure_message
from reedbed.domain.times import HOUR, MINUTE, SECOND
from reedbed.services.refresh.check import request_refresh
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness


async def test_a_failed_check_removes_nothing_and_says_why(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    before = await harness.state(feed_id)
    site.misbehave(status=404)

    report = await harness.check_anyway(feed_id)

    after = await harness.state(feed_id)
    assert (report.status, report.error) == ("permanent_error", "Feed no longer available")
    assert (after.status, failure_message(after.last_error), after.last_http_status) == (
        "permanent_error",
        report.error,
        404,
    )
    assert (after.consecutive_failures, after.next_check_rule) == (1, "backoff")
    assert (after.etag, after.body_hash, after.last_success_at) == (
        before.etag,
        before.body_hash,
        before.last_success_at,
    )
    assert await harness.titles(feed_id) == ["One"]
    assert await harness.column("SELECT title FROM feeds") == ["Feed main"]
    assert await harness.column("SELECT failures FROM feed_history") == [1]


@pytest.mark.parametrize(
    ("status", "word"),
    [(400, "permanent_error"), (401, "unauthorized"), (403, "unauthorized"), (500, "temporary_error")],
)
async def test_every_status_has_its_class(site: FeedSite, sqlite_url: str, status: int, word: str) -> None:
    site.misbehave(status=status)
    async with open_harness(sqlite_url) as harness:
        await harness.follow(site.feed_url())
        (report,) = await harness.check()
    assert report.status == word


async def test_a_page_that_is_no_feed_is_a_permanent_error_in_plain_words(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    await harness.follow(site.page("/home", feeds=()))

    (report,) = await harness.check()

    assert report.status == "permanent_error"
    assert report.error and report.error[0].isupper() and report.error.endswith(".")


async def test_the_wait_grows_by_1_8_with_each_failure(site: FeedSite, harness: RuntimeHarness) -> None:
    site.misbehave(status=500)
    feed_id = await harness.follow(site.feed_url())
    for failures in range(1, 5):
        await harness.check_anyway(feed_id)
        state = await harness.state(feed_id)
        assert state.next_check_delay == int(30 * MINUTE * 1.8**failures)
        assert state.consecutive_failures == failures


async def test_a_feed_stops_after_so_many_failures_and_comes_back_by_a_refresh(
    site: FeedSite, database_url: str
) -> None:
    async with open_harness(database_url, max_failures=3) as harness:
        site.misbehave(status=500)
        feed_id = await harness.follow(site.feed_url())
        for _ in range(3):
            await harness.check(at_least=49 * HOUR)
        stopped = await harness.state(feed_id)
        assert (stopped.next_check_at, stopped.consecutive_failures) == (None, 3)
        assert stopped.stop_reason and "3 failures in a row" in stopped.stop_reason.message
        assert await harness.check(at_least=1000 * HOUR) == []

        site.behave()
        site.publish("Back again")
        assert await request_refresh(harness.runtime, [feed_id]) == [feed_id]
        (report,) = await harness.check()

        assert report.new == 1
        healed = await harness.state(feed_id)
        assert (healed.status, healed.stopped_at, healed.consecutive_failures) == ("success", None, 0)


async def test_gone_stops_a_feed_at_once(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    site.misbehave(status=410)

    await harness.check_anyway(feed_id)

    state = await harness.state(feed_id)
    assert (state.next_check_at, state.last_http_status) == (None, 410)
    assert state.stop_reason and state.stop_reason.code is FailureCode.FEED_GONE
    assert await harness.titles(feed_id) == ["One"]


async def test_the_log_tells_what_a_check_came_to(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    with capture_logs() as logged:
        await harness.check()
        await harness.check_anyway(feed_id)
        site.misbehave(status=404)
        await harness.check_anyway(feed_id)
    told = [(line["log_level"], line["event"], line["status"]) for line in logged]
    assert told == [
        ("info", "feed checked", "success"),
        ("debug", "feed checked", "success"),
        ("info", "feed failed", "permanent_error"),
    ]
    assert (logged[0]["new"], logged[2]["error"]) == (1, "Feed no longer available")


async def test_a_feed_that_cannot_be_stored_is_logged_by_its_id_alone(site: FeedSite, harness: RuntimeHarness) -> None:
    """Its address may be one reader's secret."""
    site.publish("One", feed="seven-herons")
    feed_id = await harness.follow(site.feed_url("seven-herons"))
    await harness.change("ALTER TABLE entry_bodies RENAME TO lost_bodies")
    with capture_logs() as logged:
        await harness.check()
    await harness.change("ALTER TABLE lost_bodies RENAME TO entry_bodies")
    troubles = [line for line in logged if line["log_level"] == "error"]
    assert [line["feed"] for line in troubles] == [feed_id, feed_id]
    assert "seven-herons" not in str(logged)


async def test_a_disabled_feed_is_not_fetched_whoever_asks(site: FeedSite, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow(site.feed_url())
    await harness.change("UPDATE feeds SET enabled = false")

    assert await request_refresh(harness.runtime, [feed_id]) == []
    assert await harness.check() == []
    assert site.count() == 0


async def test_retry_after_is_kept_even_when_a_person_asks(site: FeedSite, harness: RuntimeHarness) -> None:
    site.misbehave(status=429, retry_after=7200)
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    state = await harness.state(feed_id)
    assert (state.status, state.next_check_rule) == ("temporary_error", "retry_after")
    assert abs(state.retry_after_until - state.last_checked_at - 2 * HOUR) < 2 * SECOND

    assert await request_refresh(harness.runtime, [feed_id]) == []

    assert await harness.check() == []
    assert len(await harness.check(at_least=2 * HOUR + SECOND)) == 1


async def test_a_retry_after_of_years_ends_at_the_cap(site: FeedSite, harness: RuntimeHarness) -> None:
    site.misbehave(status=503, retry_after=10**9)
    feed_id = await harness.follow(site.feed_url())

    await harness.check()

    state = await harness.state(feed_id)
    assert state.next_check_at - state.last_checked_at == 48 * HOUR
    assert state.retry_after_until - state.last_checked_at == 48 * HOUR


async def test_a_feed_nobody_follows_any_more_is_put_to_rest(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    await harness.change("UPDATE subscriptions SET unsubscribed_at = 1")

    assert await harness.check(at_least=25 * HOUR) == []
    assert (await harness.state(feed_id)).next_check_at is None


async def test_a_feed_rests_only_when_all_its_followers_pause_it(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.follow(site.feed_url())
    await harness.check()
    await harness.change("UPDATE subscriptions SET paused = true WHERE id = (SELECT min(id) FROM subscriptions)")
    assert len(await harness.check(at_least=25 * HOUR)) == 1

    await harness.change("UPDATE subscriptions SET paused = true")
    assert await harness.check(at_least=25 * HOUR) == []
    assert (await harness.state(feed_id)).next_check_at is None


async def test_an_operators_feed_is_polled_without_followers(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.change("DELETE FROM subscriptions")
    await harness.change("UPDATE feeds SET operator_added = true")
    await harness.check()

    assert len(await harness.check(at_least=25 * HOUR)) == 1
    assert (await harness.state(feed_id)).next_check_at is not None


async def test_the_shortest_wish_of_a_follower_wins_and_the_operator_over_all(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.follow(site.feed_url())
    await harness.change("UPDATE subscriptions SET interval = 3600000 * id")
    await harness.check()
    shortest = min(await harness.column("SELECT interval FROM subscriptions"))
    state = await harness.state(feed_id)
    assert (state.next_check_rule, state.next_check_delay) == ("wish", shortest)

    await harness.change("UPDATE feeds SET interval = 120000")
    await harness.check_anyway(feed_id)
    state = await harness.state(feed_id)
    assert (state.next_check_rule, state.next_check_delay) == ("operator", 2 * MINUTE)
