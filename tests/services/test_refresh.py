"""A feed is checked, on both engines, against a real site."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.times import HOUR, SECOND
from reedbed.services.refresh import write as outcome_writer
from reedbed.services.refresh.check import refresh_feed, request_refresh
from reedbed.services.refresh.write import OutcomeWriter, write_check_results
from reedbed.store import refresh
from reedbed.store.engine.database import counting
from reedbed.store.entries.write import MAX_VERSIONS
from reedbed.store.refresh import CheckResult, WriteResult
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness

_ANALYZED = "SELECT reltuples::int FROM pg_class WHERE relname = 'unread'"


async def test_a_first_fetch_stores_what_the_feed_holds_and_tells_its_followers(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("One", content="<p>Hello <script>bad()</script>there</p>")
    site.publish("Two")
    feed_id = await harness.follow(site.feed_url())

    (report,) = await harness.check()

    assert (report.status, report.new, report.changed) == ("success", 2, 0)
    assert await harness.titles(feed_id) == ["One", "Two"]
    assert await harness.column("SELECT content FROM entry_bodies ORDER BY entry_id LIMIT 1") == ["<p>Hello there</p>"]
    assert await harness.column("SELECT unread FROM subscriptions") == [2]
    assert await harness.column("SELECT title FROM feeds") == ["Feed main"]
    (hint,) = harness.heard("new_entry")
    ids = await harness.column("SELECT id FROM entries ORDER BY id")
    assert (hint.feed_id, hint.data["ids"]) == (feed_id, [str(id_) for id_ in ids])


async def test_a_304_parses_nothing_and_keeps_the_validators(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    before = await harness.state(feed_id)

    (report,) = await harness.check(at_least=25 * HOUR)

    after = await harness.state(feed_id)
    assert (report.status, report.new) == ("success", 0)
    assert site.count(status=304) == 1
    assert (after.etag, after.last_modified, after.body_hash) == (before.etag, before.last_modified, before.body_hash)
    assert after.last_http_status == 304
    assert after.next_check_at > before.next_check_at
    assert await harness.titles(feed_id) == ["One"]
    assert len(harness.heard("new_entry")) == 1


async def test_the_same_document_without_validators_is_not_read_again(site: FeedSite, harness: RuntimeHarness) -> None:
    site.feed(validators=False)
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    before = await harness.state(feed_id)

    await harness.check(at_least=25 * HOUR)

    after = await harness.state(feed_id)
    assert site.count(status=200) == 2
    assert after.last_changed_at == before.last_changed_at
    assert await harness.rows("SELECT checks, unchanged, new_entries FROM feed_history ORDER BY hour") == Rows(
        (1, 0, 1), (1, 1, 0)
    )


async def test_an_unchanged_check_costs_no_statement_of_its_own(site: FeedSite, harness: RuntimeHarness) -> None:
    for name in ("a", "b", "c", "d"):
        site.publish("One", feed=name)
        await harness.follow(site.feed_url(name))
    await harness.check()
    harness.clock.ahead += 25 * HOUR

    with counting() as count:
        await harness.check()

    assert count.value == 4  # claim, read, states, totals: for all four feeds


async def test_news_of_many_feeds_cost_as_many_statements_as_of_one(site: FeedSite, harness: RuntimeHarness) -> None:
    """Of those that are written together; each alone costs nothing but its locks."""
    findings = [await _news_of(harness, site, name) for name in "abcde"]

    with counting() as one:
        await write_check_results(harness.runtime, findings[:1])
    with counting() as four:
        await write_check_results(harness.runtime, findings[1:])

    locks = 2 if harness.runtime.db.engine == "postgresql" else 0
    assert four.value <= one.value + 3 * locks
    assert await harness.column("SELECT unread FROM subscriptions") == [1] * 5


async def _news_of(harness: RuntimeHarness, site: FeedSite, name: str) -> CheckResult:
    site.publish("One", feed=name)
    await harness.follow(site.feed_url(name))
    runtime, caught = harness.runtime, _Caught()
    async with runtime.db.write() as tx:
        (due,) = await refresh.claim_due(tx, runtime.name, runtime.now(), limit=1, lease=HOUR)
    await refresh_feed(runtime, due, caught)
    return caught.findings[0]


class _Caught(OutcomeWriter):
    """Keeps what was found instead of writing it."""

    def __init__(self) -> None:
        self.findings: list[CheckResult] = []

    async def store(self, finding: CheckResult) -> WriteResult:
        self.findings.append(finding)
        return WriteResult(feed_id=finding.due.id)


async def test_a_changed_entry_keeps_its_old_version(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One", key="a", content="<p>before</p>")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    (entry_id,) = await harness.column("SELECT id FROM entries")
    site.publish("One!", key="a", content="<p>after</p>")

    (report,) = await harness.check(at_least=25 * HOUR)

    assert (report.new, report.changed) == (0, 1)
    assert await harness.rows("SELECT id, title, version FROM entries") == Rows((entry_id, "One!", 2))
    assert await harness.column("SELECT content FROM entry_bodies") == ["<p>after</p>"]
    assert await harness.rows("SELECT entry_id, version, title, content FROM entry_versions") == Rows(
        (entry_id, 1, "One", "<p>before</p>")
    )
    (hint,) = harness.heard("entry_updated")
    assert (hint.feed_id, hint.data["ids"]) == (feed_id, [str(entry_id)])
    assert await harness.column("SELECT unread FROM subscriptions") == [1]


async def test_an_entry_that_changes_for_ever_keeps_only_its_last_versions(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    feed_id = await harness.follow(site.feed_url())
    for number in range(MAX_VERSIONS + 5):
        site.publish(f"Visited {number} times", key="a")
        await harness.check_anyway(feed_id)

    assert await harness.column("SELECT count(*) FROM entry_versions") == [MAX_VERSIONS]
    assert await harness.column("SELECT version FROM entries") == [MAX_VERSIONS + 5]


async def test_what_vanishes_from_the_document_stays(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One", key="a")
    site.publish("Two", key="b")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    site.withdraw("a")
    site.publish("Three", key="c")

    await harness.check(at_least=25 * HOUR)

    assert await harness.titles(feed_id) == ["One", "Two", "Three"]
    state = await harness.state(feed_id)
    assert [state.oldest_listed_id, state.newest_entry_id] == await harness.column(
        "SELECT id FROM entries WHERE title != 'One' ORDER BY id"
    )


async def test_ids_follow_the_order_of_publication(site: FeedSite, harness: RuntimeHarness) -> None:
    for number in range(5):
        site.publish(f"Entry {number}")
    feed_id = await harness.follow(site.feed_url())

    await harness.check()

    assert await harness.titles(feed_id) == [f"Entry {number}" for number in range(5)]


async def test_an_entry_seen_twice_is_announced_once(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Hello", key="a")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    site.publish("Another", key="b")

    await harness.check_anyway(feed_id)

    hello, another = harness.heard("new_entry")
    assert set(hello.data["ids"]).isdisjoint(another.data["ids"])


async def test_two_entries_with_one_guid_in_a_document_are_one(site: FeedSite, harness: RuntimeHarness) -> None:
    site.put("/twice", _rss(_item("same", "First", "/1"), _item("same", "First", "/1")), content_type=RSS)
    feed_id = await harness.follow(f"{site.url}/twice")

    await harness.check()

    assert await harness.titles(feed_id) == ["First"]


async def test_guids_that_change_with_every_fetch_do_not_double_entries(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    feed_id = await harness.follow(f"{site.url}/fresh")
    for round_ in range(3):
        items = [_item(f"guid-{round_}-{number}", f"Entry {number}", f"/e/{number}") for number in range(4)]
        site.put("/fresh", _rss(*items), content_type=RSS)
        await harness.check_anyway(feed_id)

    assert sorted(await harness.titles(feed_id)) == [f"Entry {number}" for number in range(4)]


@pytest.mark.parametrize(
    ("guid", "text"), [("guid-{0}", "Same"), ("guid-{0}", "Round {1}"), ("feed", "Same"), ("guid-{0}-{1}", "Same {0}")]
)
async def test_addresses_that_change_with_every_fetch_do_not_double_entries(
    site: FeedSite, harness: RuntimeHarness, guid: str, text: str
) -> None:
    feed_id = await harness.follow(f"{site.url}/moving")
    for round_ in range(4):
        items = [
            _item(
                guid.format(number, round_), f"Entry {number}", f"/e/{number}?r={round_}", text.format(number, round_)
            )
            for number in range(30)
        ]
        site.put("/moving", _rss(*items), content_type=RSS)
        await harness.check_anyway(feed_id)
        assert len(await harness.titles(feed_id)) == 30
    assert await harness.column("SELECT unread FROM subscriptions") == [30]


async def test_white_space_makes_no_second_entry(site: FeedSite, harness: RuntimeHarness) -> None:
    feed_id = await harness.follow(f"{site.url}/spaced")
    for text in ("<p>One two</p><p>three</p>", "<p>One  two</p>\n <p>three</p>", "<p>One\ttwo</p>\r\n<p>three</p>"):
        item = f"<item><title>Same</title><description><![CDATA[{text}]]></description></item>"
        site.put("/spaced", _rss(item), content_type=RSS)
        await harness.check_anyway(feed_id)
    assert await harness.titles(feed_id) == ["Same"]


async def test_a_feed_that_gives_every_entry_one_guid_is_not_trusted_and_loses_none(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    items = [_item("feed", f"Entry {number}", f"/e/{number}") for number in range(5)]
    site.put("/one-guid", _rss(*items), content_type=RSS)
    feed_id = await harness.follow(f"{site.url}/one-guid")
    await harness.check()
    site.put("/one-guid", _rss(_item("feed", "Entry 5", "/e/5"), *items), content_type=RSS)

    await harness.check_anyway(feed_id)

    assert sorted(await harness.titles(feed_id)) == [f"Entry {number}" for number in range(6)]
    assert [bool(value) for value in await harness.column("SELECT guid_unreliable FROM feeds")] == [True]


async def test_entries_without_guid_and_link_are_known_by_their_words(site: FeedSite, harness: RuntimeHarness) -> None:
    items = ["<item><description>Only words</description></item>", "<item><description>Others</description></item>"]
    site.put("/bare", _rss(*items), content_type=RSS)
    feed_id = await harness.follow(f"{site.url}/bare")
    await harness.check()
    site.put("/bare", _rss("<item><description>New ones</description></item>", *items), content_type=RSS)

    report = await harness.check_anyway(feed_id)

    assert report.new == 1
    assert sorted(await harness.titles(feed_id)) == ["New ones", "Only words", "Others"]


async def test_keys_too_long_for_an_index_are_stored_and_known_again(site: FeedSite, harness: RuntimeHarness) -> None:
    guid, link = "é" * 990, "/" + "x" * 4_000
    items = [_item(guid, "Long guid", "/1"), f"<item><title>Long link</title><link>{site.url}{link}</link></item>"]
    site.put("/long", _rss(*items), content_type=RSS)
    feed_id = await harness.follow(f"{site.url}/long")
    await harness.check()
    site.put("/long", _rss(_item("new", "New", "/2"), *items), content_type=RSS)

    report = await harness.check_anyway(feed_id)

    assert report.new == 1
    assert sorted(await harness.titles(feed_id)) == ["Long guid", "Long link", "New"]


async def test_a_lost_lease_writes_nothing(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    async with harness.runtime.db.write() as tx:
        (due,) = await refresh.claim_due(tx, harness.runtime.name, harness.runtime.now(), limit=1, lease=1)
    await harness.change("UPDATE feed_fetch_state SET lease_holder = 'another worker'")

    async with OutcomeWriter(harness.runtime) as writer:
        report = await refresh_feed(harness.runtime, due, writer)

    assert report.new == 0
    assert await harness.titles(feed_id) == []
    assert (await harness.state(feed_id)).status == "pending"


async def test_a_first_fetch_of_many_entries_refreshes_the_statistics_of_plans(
    site: FeedSite, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome_writer, "ANALYZE_AFTER", 30)
    for number in range(40):
        site.publish(f"Entry {number}")
    async with open_harness(postgres_url) as harness:
        await harness.follow(site.feed_url())
        await harness.check()
        for number in range(2):
            site.publish(f"Later entry {number}")
            await harness.check(at_least=25 * HOUR)

        assert (await harness.column(_ANALYZED))[0] >= 40
        assert await harness.runtime.db.analyze_after(1) is False, "the statistics know a larger collection"


async def test_a_wish_that_comes_while_a_check_is_under_way_is_kept(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()

    await _check_and_ask_meanwhile(harness, feed_id)
    site.publish("Two")
    (report,) = await harness.check()

    assert report.new == 1
    assert await harness.check() == []


async def test_a_wish_that_comes_while_a_check_is_under_way_waits_for_retry_after(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("One")
    feed_id = await harness.follow(site.feed_url())
    await harness.check()
    site.misbehave(status=429, retry_after=7200)

    await _check_and_ask_meanwhile(harness, feed_id)

    state = await harness.state(feed_id)
    assert state.next_check_at == state.retry_after_until
    assert await harness.check() == []
    assert len(await harness.check(at_least=2 * HOUR)) == 1


async def _check_and_ask_meanwhile(harness: RuntimeHarness, feed_id: int) -> None:
    """The person asks a second after the feed was taken in hand; its answer is written after that."""
    runtime = harness.runtime
    await request_refresh(runtime, [feed_id])
    async with runtime.db.write() as tx:
        (due,) = await refresh.claim_due(tx, runtime.name, runtime.now(), limit=1, lease=HOUR)
    harness.clock.ahead += SECOND
    async with OutcomeWriter(runtime) as writer:
        await refresh_feed(runtime, due, writer)
        assert await request_refresh(runtime, [feed_id]) == [feed_id]


async def test_one_feed_that_cannot_be_stored_does_not_hold_up_the_others(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    due: list[DueFeed] = []
    for name in ("good", "poison", "fine"):
        site.publish(f"From {name}", feed=name)
        await harness.follow(site.feed_url(name))
    async with harness.runtime.db.write() as tx:
        due = await refresh.claim_due(tx, harness.runtime.name, harness.runtime.now(), limit=9, lease=10_000)
    await harness.change("DELETE FROM feeds WHERE url LIKE '%poison%'")

    async with OutcomeWriter(harness.runtime) as writer:
        await asyncio.gather(*(refresh_feed(harness.runtime, each, writer) for each in due))

    assert sorted(await harness.column("SELECT title FROM entries")) == ["From fine", "From good"]


async def test_the_schedule_says_its_rule_and_learns_the_feeds_rhythm(site: FeedSite, harness: RuntimeHarness) -> None:
    now = datetime.now(UTC)
    for hours in range(10):
        site.publish(f"Entry {hours}", published=now - timedelta(hours=4 * hours))
    feed_id = await harness.follow(site.feed_url())

    await harness.check()

    state = await harness.state(feed_id)
    assert (state.next_check_rule, state.average_gap, state.next_check_delay) == ("rhythm", 4 * HOUR, 2 * HOUR)
    assert abs(state.next_check_at - state.last_checked_at - 2 * HOUR) <= 0.1 * 2 * HOUR


RSS = "application/rss+xml"


def _rss(*items: str) -> str:
    return f'<rss version="2.0"><channel><title>T</title><link>http://s.test/</link>{"".join(items)}</channel></rss>'


def _item(guid: str, title: str, path: str, text: str = "") -> str:
    link = f"<link>http://s.test{path}</link>"
    return f"<item><guid>{guid}</guid><title>{title}</title>{link}<description>{text}</description></item>"


class Rows(list[tuple[object, ...]]):
    """Equal to rows of either driver."""

    def __init__(self, *rows: tuple[object, ...]) -> None:
        super().__init__(rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and list.__eq__(self, [tuple(row) for row in other])

    __hash__ = None
