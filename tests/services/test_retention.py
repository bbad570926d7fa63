"""What retention takes and what it leaves, on both engines."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from reedbed.domain.failures import Failure, FailureCode, load_failure
from reedbed.domain.retention import RetentionLimits, RetentionPolicy
from reedbed.domain.times import DAY, HOUR, SECOND
from reedbed.services.retention import KEYS_PER_BATCH, clean_up, clean_up_when_due
from reedbed.services.search.find import search_entries
from reedbed.store import instance, transfer
from reedbed.store.entries import write as removed
from reedbed.store.read_state import rows as reading
from reedbed.store.retention import cleanups, deletion
from reedbed.store.search import texts
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


def keep(harness: RuntimeHarness, **limits: Any) -> None:
    """Only these limits, nothing else."""
    kept = RetentionLimits(**{"entries": None, "age": None, "unread_age": None, **limits})
    harness.runtime = replace(harness.runtime, keeping=RetentionPolicy(kept, size=None, unfollowed=None))


async def followed(harness: RuntimeHarness, site: FeedSite, *titles: str, people: int = 1) -> tuple[int, list[int]]:
    """A feed with these entries and so many followers; its id and theirs."""
    for title in titles:
        site.publish(title)
    readers = [await harness.person() for _ in range(people)]
    for reader in readers:
        feed_id = await harness.follow(site.feed_url(), user_id=reader)
    await harness.check()
    return feed_id, readers


async def read(harness: RuntimeHarness, user_id: int, *titles: str) -> None:
    async with harness.runtime.db.write() as tx:
        await reading.mark_read(tx, user_id, [await entry(harness, title) for title in titles])


async def entry(harness: RuntimeHarness, title: str) -> int:
    (found,) = await harness.column("SELECT id FROM entries WHERE title = :title", title=title)
    return found


async def test_what_was_read_and_is_old_goes(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "old and read", "old and unread")
    await read(harness, reader, "old and read")
    harness.clock.ahead += 11 * DAY
    site.publish("young and read")
    await harness.check_anyway(feed)
    await read(harness, reader, "young and read")
    keep(harness, age=10 * DAY)

    done = await clean_up(harness.runtime)

    assert await harness.titles(feed) == ["old and unread", "young and read"]
    assert (done.entries_removed, done.unread_removed) == (1, 0)
    assert done.finished_at is not None


async def test_an_entry_is_read_when_everybody_has_read_it(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, readers = await followed(harness, site, "shared", people=2)
    keep(harness, age=DAY)
    harness.clock.ahead += 2 * DAY
    await read(harness, readers[0], "shared")
    await clean_up(harness.runtime)
    assert await harness.titles(feed) == ["shared"]
    await read(harness, readers[1], "shared")
    await clean_up(harness.runtime)
    assert await harness.titles(feed) == []


@pytest.mark.parametrize(
    "keepsake",
    [
        "INSERT INTO starred (user_id, sort_at, entry_id, marked_at) VALUES (:user, 1, :entry, 1)",
        "INSERT INTO later (user_id, sort_at, entry_id, marked_at) VALUES (:user, 1, :entry, 1)",
        "INSERT INTO bookmarks (user_id, entry_id, url, title, content, feed_title, created_at)"
        " VALUES (:user, :entry, 'u', 't', 'c', 'f', 1)",
        "INSERT INTO highlights (user_id, entry_id, entry_title, quote, created_at, updated_at)"
        " VALUES (:user, :entry, 't', 'q', 1, 1)",
        "INSERT INTO entry_tags (user_id, tag_id, sort_at, entry_id) SELECT :user, id, 1, :entry FROM tags",
    ],
    ids=["starred", "later", "bookmarked", "highlighted", "tagged"],
)
async def test_what_somebody_keeps_stays(site: FeedSite, harness: RuntimeHarness, keepsake: str) -> None:
    feed, (reader,) = await followed(harness, site, "kept", "not kept")
    await harness.change("INSERT INTO tags (user_id, name, created_at) VALUES (:user, 'red', 1)", user=reader)
    await harness.change(keepsake, user=reader, entry=await entry(harness, "kept"))
    await read(harness, reader, "kept", "not kept")
    harness.clock.ahead += 400 * DAY
    keep(harness, age=DAY, unread_age=DAY, entries=1)

    await clean_up(harness.runtime)

    assert await harness.titles(feed) == ["kept"]


async def test_a_feed_keeps_its_newest_and_what_is_unread(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "one", "two", "three", "four", "five")
    await read(harness, reader, "one", "three", "four", "five")
    keep(harness, entries=2)

    await clean_up(harness.runtime)

    assert await harness.titles(feed) == ["two", "four", "five"]


async def test_unread_entries_that_go_are_told_to_who_had_them(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, readers = await followed(harness, site, "one", "two", people=2)
    await read(harness, readers[0], "one")
    harness.clock.ahead += 91 * DAY
    keep(harness, unread_age=90 * DAY)

    done = await clean_up(harness.runtime)

    assert await harness.titles(feed) == []
    assert (done.entries_removed, done.unread_removed) == (2, 2)
    async with harness.runtime.db.read() as tx:
        told = [await cleanups.get_notice(tx, reader) for reader in readers]
    assert [one and one.unread_removed for one in told] == [1, 2]
    assert await harness.column("SELECT unread FROM subscriptions ORDER BY user_id") == [0, 0]
    assert await harness.column("SELECT count(*) FROM unread") == [0]
    assert {hint.user_id for hint in harness.heard("counts")} == set(readers)


async def test_what_was_removed_does_not_come_back(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "gone")
    await read(harness, reader, "gone")
    harness.clock.ahead += 2 * DAY
    keep(harness, age=DAY)
    await clean_up(harness.runtime)

    site.publish("new")
    report = await harness.check_anyway(feed)

    assert report.new == 1
    assert await harness.titles(feed) == ["new"]


async def test_what_no_document_lists_is_forgotten_in_time(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("gone", key="gone")
    feed, (reader,) = await followed(harness, site)
    await read(harness, reader, "gone")
    harness.clock.ahead += 2 * DAY
    keep(harness, age=DAY)
    await clean_up(harness.runtime)
    harness.clock.ahead += 100 * DAY
    await clean_up(harness.runtime)
    assert await harness.column("SELECT count(*) FROM removed_keys") != [0]

    site.withdraw("gone")
    site.publish("new")
    await harness.check_anyway(feed)
    harness.clock.ahead += 31 * DAY
    await clean_up(harness.runtime)

    assert await harness.column("SELECT count(*) FROM removed_keys") == [0]


async def test_followers_may_wish_for_more_or_less(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, readers = await followed(harness, site, "one", people=2)
    for reader in readers:
        await read(harness, reader, "one")
    wish = "UPDATE subscriptions SET keep_days = :days WHERE user_id = :user"
    await harness.change(wish, user=readers[0], days=5)
    harness.clock.ahead += 8 * DAY
    keep(harness, age=10 * DAY)
    await clean_up(harness.runtime)
    assert await harness.titles(feed) == ["one"], "the other has the server's ten days"

    await harness.change(wish, user=readers[1], days=7)
    await clean_up(harness.runtime)
    assert await harness.titles(feed) == []


async def test_zero_days_is_for_ever(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "one")
    await read(harness, reader, "one")
    await harness.change("UPDATE subscriptions SET keep_days = 0")
    harness.clock.ahead += 4_000 * DAY
    keep(harness, age=10 * DAY)
    await clean_up(harness.runtime)
    assert await harness.titles(feed) == ["one"]


async def test_whole_articles_long_read_are_let_go(site: FeedSite, harness: RuntimeHarness) -> None:
    _, (reader,) = await followed(harness, site, "read", "unread")
    await harness.change("UPDATE entry_bodies SET full_content = '<p>whole</p>', full_attempted_at = 1")
    await read(harness, reader, "read")
    harness.clock.ahead += 31 * DAY
    keep(harness)

    done = await clean_up(harness.runtime)

    assert done.articles_cleared == 1
    whole = "SELECT title FROM entries JOIN entry_bodies ON entry_id = id WHERE full_content IS NOT NULL"
    assert await harness.column(whole) == ["unread"]


async def test_an_article_starred_just_before_it_would_go_stays(site: FeedSite, harness: RuntimeHarness) -> None:
    _, (reader,) = await followed(harness, site, "read", "starred")
    await harness.change("UPDATE entry_bodies SET full_content = '<p>whole</p>', full_attempted_at = 1")
    await read(harness, reader, "read", "starred")
    ids = await harness.column("SELECT id FROM entries ORDER BY title")
    star = "INSERT INTO starred (user_id, sort_at, entry_id, marked_at) VALUES (:user, 1, :entry, 1)"
    await harness.change(star, user=reader, entry=ids[1])
    async with harness.runtime.db.write() as tx:
        assert await deletion.clear_articles(tx, ids) == {ids[0]}


async def test_a_feed_that_changes_while_articles_are_cleared_is_found_by_its_new_words(
    site: FeedSite, harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (reader,) = await followed(harness, site, "heron")
    await harness.change("UPDATE entry_bodies SET full_content = '<p>whole</p>', full_attempted_at = 1")
    await read(harness, reader, "heron")
    harness.clock.ahead += 31 * DAY
    keep(harness)
    look = texts.possibly_indexed

    async def look_and_be_overtaken(*given: Any) -> list[texts.IndexedText]:
        found = await look(*given)
        await harness.change("UPDATE entry_bodies SET content = '<p>egret</p>'")
        return found

    monkeypatch.setattr(texts, "possibly_indexed", look_and_be_overtaken)
    assert (await clean_up(harness.runtime)).articles_cleared == 1
    found = await search_entries(harness.runtime, reader, "egret")
    assert [row.title for row in found.rows] == ["heron"]


async def test_feeds_that_nobody_follows_go_after_a_while(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, _ = await followed(harness, site, "one")
    async with harness.runtime.db.write() as tx:
        await removed.remember(tx, [(feed, key) for key in range(KEYS_PER_BATCH + 1)])
    harness.runtime = replace(harness.runtime, keeping=RetentionPolicy(unfollowed=30 * DAY))
    left = harness.runtime.now()
    await harness.change("UPDATE subscriptions SET unsubscribed_at = :now", now=left)
    harness.clock.ahead += 20 * DAY
    assert (await clean_up(harness.runtime)).feeds_removed == 0
    harness.clock.ahead += 20 * DAY
    assert (await clean_up(harness.runtime)).feeds_removed == 1
    gone = ("feeds", "entries", "entry_bodies", "subscriptions", "unread", "parked_unread", "removed_keys")
    for table in gone:
        assert await harness.column(f"SELECT count(*) FROM {table}") == [0], table


async def test_a_feed_with_a_keepsake_waits(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "starred", "plain")
    star = "INSERT INTO starred (user_id, sort_at, entry_id, marked_at) VALUES (:user, 1, :entry, 1)"
    await harness.change(star, user=reader, entry=await entry(harness, "starred"))
    await harness.change("UPDATE subscriptions SET unsubscribed_at = 1")
    harness.clock.ahead += 400 * DAY
    await clean_up(harness.runtime)
    assert await harness.titles(feed) == ["starred"]
    assert await harness.column("SELECT count(DISTINCT feed_id) FROM removed_keys") == [1], "plain stays gone"


async def test_what_is_removed_is_not_found_again(site: FeedSite, harness: RuntimeHarness) -> None:
    _, (reader,) = await followed(harness, site, "heron", "bittern")
    await read(harness, reader, "heron")
    harness.clock.ahead += 2 * DAY
    keep(harness, age=DAY)
    await clean_up(harness.runtime)
    if harness.runtime.db.engine == "sqlite":
        assert await harness.column("SELECT count(*) FROM search_keys") == [1]
        assert await harness.column("SELECT rowid FROM search_words WHERE search_words MATCH 'heron'") == []
        assert len(await harness.column("SELECT rowid FROM search_words WHERE search_words MATCH 'bittern'")) == 1
    else:
        assert await harness.column("SELECT count(*) FROM search_entries") == [1]


async def test_a_database_that_is_too_large_keeps_less(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "old", "less old")
    await read(harness, reader, "old", "less old")
    age = "UPDATE entries SET fetched_at = :at WHERE title = :title"
    await harness.change(age, at=harness.runtime.now() - 300 * DAY, title="old")
    await harness.change(age, at=harness.runtime.now() - 20 * DAY, title="less old")
    harness.runtime = replace(harness.runtime, keeping=RetentionPolicy(size=1))

    done = await clean_up(harness.runtime)

    assert await harness.titles(feed) == ["less old"], "what arrived in the last 30 days stays"
    assert done.age_days == 30
    assert done.problems == (Failure(FailureCode.DATABASE_TOO_LARGE),)
    assert done.notes.startswith("Only 30 days of read entries are kept. The database is larger than")
    assert await _warning(harness) == Failure(FailureCode.DATABASE_TOO_LARGE)

    harness.runtime = replace(harness.runtime, keeping=RetentionPolicy())
    await clean_up(harness.runtime)
    assert not await _warning(harness)


async def test_a_cleanup_that_was_broken_off_goes_on(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "one")
    await read(harness, reader, "one")
    keep(harness, age=DAY)
    async with harness.runtime.db.write() as tx:
        cleanup = await cleanups.begin_cleanup(tx, harness.runtime.now())
        await cleanups.add_to_cleanup(tx, cleanup.id, entries_removed=5)
    harness.clock.ahead += 2 * DAY

    done = await clean_up_when_due(harness.runtime)

    assert done is not None
    assert (done.id, done.entries_removed) == (cleanup.id, 6)
    assert await harness.titles(feed) == []


async def test_a_cleanup_is_due_once_a_day(harness: RuntimeHarness) -> None:
    assert await clean_up(harness.runtime)
    assert await clean_up_when_due(harness.runtime) is None
    harness.clock.ahead += 25 * HOUR
    assert await clean_up_when_due(harness.runtime)
    assert await clean_up_when_due(harness.runtime) is None


async def test_a_cleanup_by_a_wrong_clock_does_not_end_the_others(harness: RuntimeHarness) -> None:
    assert await clean_up(harness.runtime)
    harness.clock.ahead += 3650 * DAY
    assert await clean_up(harness.runtime)
    harness.clock.ahead -= 3649 * DAY
    hour = datetime.fromtimestamp(harness.runtime.now() / SECOND).astimezone().hour
    harness.runtime = replace(harness.runtime, keeping=replace(harness.runtime.keeping, hour=hour))
    assert await clean_up_when_due(harness.runtime)
    assert await clean_up_when_due(harness.runtime) is None


async def test_files_that_nothing_names_go(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, _ = await followed(harness, site, "one")
    for name in ("used", "left"):
        await harness.change(
            "INSERT INTO blobs (hash, media_type, data, created_at) VALUES (:name, 't', :data, 1)", name=name, data=b"x"
        )
    used = "(SELECT id FROM blobs WHERE hash = 'used')"
    await harness.change(f"UPDATE feeds SET icon_id = {used} WHERE id = :id", id=feed)

    await clean_up(harness.runtime)

    assert await harness.column("SELECT hash FROM blobs") == ["used"]


async def test_marks_of_another_reader_are_forgotten_however_many(site: FeedSite, harness: RuntimeHarness) -> None:
    feed, (reader,) = await followed(harness, site, "one")
    async with harness.runtime.db.write() as tx:
        await transfer.remember_imported(tx, reader, feed, range(KEYS_PER_BATCH * 2 + 1), 1)
        await transfer.remember_imported(tx, reader, feed, [-1], harness.runtime.now())

    await clean_up(harness.runtime)

    assert await harness.column("SELECT key FROM imported_reads") == [-1]


async def _warning(harness: RuntimeHarness) -> Failure | None:
    async with harness.runtime.db.read() as tx:
        return load_failure(await instance.get_setting(tx, "db_size_warning"))
