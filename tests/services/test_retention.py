"""What retention takes and what it leaves, on both engines."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from reedbed.domain.retention import RetentionLimits, RetentionPolicy
from reedbed.domain.times import DAY, HOUR, SECOND
from reedbed.services.retention import KEYS_AT_ONCE, clean_up, clean_up_when_due
from reedbed.services.search import search_entries
from reedbed.store import instance, retention, transfer
from reedbed.store.entries import write as removed
from reedbed.store.read_state import rows as reading
from reedbed.store.search import texts
from tests.crawling import Crawl
from tests.feedsite import FeedSite


def keep(crawl: Crawl, **limits: Any) -> None:
    """Only these limits, nothing else."""
    kept = RetentionLimits(**{"entries": None, "age": None, "unread_age": None, **limits})
    crawl.runtime = replace(crawl.runtime, keeping=RetentionPolicy(kept, size=None, unfollowed=None))


async def followed(crawl: Crawl, site: FeedSite, *titles: str, people: int = 1) -> tuple[int, list[int]]:
    """A feed with these entries and so many followers; its id and theirs."""
    for title in titles:
        site.publish(title)
    readers = [await crawl.person() for _ in range(people)]
    for reader in readers:
        feed_id = await crawl.follow(site.feed_url(), user_id=reader)
    await crawl.check()
    return feed_id, readers


async def read(crawl: Crawl, user_id: int, *titles: str) -> None:
    async with crawl.runtime.db.write() as tx:
        await reading.read(tx, user_id, [await entry(crawl, title) for title in titles])


async def entry(crawl: Crawl, title: str) -> int:
    (found,) = await crawl.column("SELECT id FROM entries WHERE title = :title", title=title)
    return found


async def test_what_was_read_and_is_old_goes(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "old and read", "old and unread")
    await read(crawl, reader, "old and read")
    crawl.clock.ahead += 11 * DAY
    site.publish("young and read")
    await crawl.check_anyway(feed)
    await read(crawl, reader, "young and read")
    keep(crawl, age=10 * DAY)

    done = await clean_up(crawl.runtime)

    assert await crawl.titles(feed) == ["old and unread", "young and read"]
    assert (done.entries_removed, done.unread_removed) == (1, 0)
    assert done.finished_at is not None


async def test_an_entry_is_read_when_everybody_has_read_it(site: FeedSite, crawl: Crawl) -> None:
    feed, readers = await followed(crawl, site, "shared", people=2)
    keep(crawl, age=DAY)
    crawl.clock.ahead += 2 * DAY
    await read(crawl, readers[0], "shared")
    await clean_up(crawl.runtime)
    assert await crawl.titles(feed) == ["shared"]
    await read(crawl, readers[1], "shared")
    await clean_up(crawl.runtime)
    assert await crawl.titles(feed) == []


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
async def test_what_somebody_keeps_stays(site: FeedSite, crawl: Crawl, keepsake: str) -> None:
    feed, (reader,) = await followed(crawl, site, "kept", "not kept")
    await crawl.change("INSERT INTO tags (user_id, name, created_at) VALUES (:user, 'red', 1)", user=reader)
    await crawl.change(keepsake, user=reader, entry=await entry(crawl, "kept"))
    await read(crawl, reader, "kept", "not kept")
    crawl.clock.ahead += 400 * DAY
    keep(crawl, age=DAY, unread_age=DAY, entries=1)

    await clean_up(crawl.runtime)

    assert await crawl.titles(feed) == ["kept"]


async def test_a_feed_keeps_its_newest_and_what_is_unread(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "one", "two", "three", "four", "five")
    await read(crawl, reader, "one", "three", "four", "five")
    keep(crawl, entries=2)

    await clean_up(crawl.runtime)

    assert await crawl.titles(feed) == ["two", "four", "five"]


async def test_unread_entries_that_go_are_told_to_who_had_them(site: FeedSite, crawl: Crawl) -> None:
    feed, readers = await followed(crawl, site, "one", "two", people=2)
    await read(crawl, readers[0], "one")
    crawl.clock.ahead += 91 * DAY
    keep(crawl, unread_age=90 * DAY)

    done = await clean_up(crawl.runtime)

    assert await crawl.titles(feed) == []
    assert (done.entries_removed, done.unread_removed) == (2, 2)
    async with crawl.runtime.db.read() as tx:
        told = [await retention.get_notice(tx, reader) for reader in readers]
    assert [one and one.unread_removed for one in told] == [1, 2]
    assert await crawl.column("SELECT unread FROM subscriptions ORDER BY user_id") == [0, 0]
    assert await crawl.column("SELECT count(*) FROM unread") == [0]
    assert {hint.user_id for hint in crawl.heard("counts")} == set(readers)


async def test_what_was_removed_does_not_come_back(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "gone")
    await read(crawl, reader, "gone")
    crawl.clock.ahead += 2 * DAY
    keep(crawl, age=DAY)
    await clean_up(crawl.runtime)

    site.publish("new")
    report = await crawl.check_anyway(feed)

    assert report.new == 1
    assert await crawl.titles(feed) == ["new"]


async def test_what_no_document_lists_is_forgotten_in_time(site: FeedSite, crawl: Crawl) -> None:
    site.publish("gone", key="gone")
    feed, (reader,) = await followed(crawl, site)
    await read(crawl, reader, "gone")
    crawl.clock.ahead += 2 * DAY
    keep(crawl, age=DAY)
    await clean_up(crawl.runtime)
    crawl.clock.ahead += 100 * DAY
    await clean_up(crawl.runtime)
    assert await crawl.column("SELECT count(*) FROM removed_keys") != [0]

    site.withdraw("gone")
    site.publish("new")
    await crawl.check_anyway(feed)
    crawl.clock.ahead += 31 * DAY
    await clean_up(crawl.runtime)

    assert await crawl.column("SELECT count(*) FROM removed_keys") == [0]


async def test_followers_may_wish_for_more_or_less(site: FeedSite, crawl: Crawl) -> None:
    feed, readers = await followed(crawl, site, "one", people=2)
    for reader in readers:
        await read(crawl, reader, "one")
    wish = "UPDATE subscriptions SET keep_days = :days WHERE user_id = :user"
    await crawl.change(wish, user=readers[0], days=5)
    crawl.clock.ahead += 8 * DAY
    keep(crawl, age=10 * DAY)
    await clean_up(crawl.runtime)
    assert await crawl.titles(feed) == ["one"], "the other has the server's ten days"

    await crawl.change(wish, user=readers[1], days=7)
    await clean_up(crawl.runtime)
    assert await crawl.titles(feed) == []


async def test_zero_days_is_for_ever(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "one")
    await read(crawl, reader, "one")
    await crawl.change("UPDATE subscriptions SET keep_days = 0")
    crawl.clock.ahead += 4_000 * DAY
    keep(crawl, age=10 * DAY)
    await clean_up(crawl.runtime)
    assert await crawl.titles(feed) == ["one"]


async def test_whole_articles_long_read_are_let_go(site: FeedSite, crawl: Crawl) -> None:
    _, (reader,) = await followed(crawl, site, "read", "unread")
    await crawl.change("UPDATE entry_bodies SET full_content = '<p>whole</p>', full_attempted_at = 1")
    await read(crawl, reader, "read")
    crawl.clock.ahead += 31 * DAY
    keep(crawl)

    done = await clean_up(crawl.runtime)

    assert done.articles_cleared == 1
    whole = "SELECT title FROM entries JOIN entry_bodies ON entry_id = id WHERE full_content IS NOT NULL"
    assert await crawl.column(whole) == ["unread"]


async def test_an_article_starred_just_before_it_would_go_stays(site: FeedSite, crawl: Crawl) -> None:
    _, (reader,) = await followed(crawl, site, "read", "starred")
    await crawl.change("UPDATE entry_bodies SET full_content = '<p>whole</p>', full_attempted_at = 1")
    await read(crawl, reader, "read", "starred")
    ids = await crawl.column("SELECT id FROM entries ORDER BY title")
    star = "INSERT INTO starred (user_id, sort_at, entry_id, marked_at) VALUES (:user, 1, :entry, 1)"
    await crawl.change(star, user=reader, entry=ids[1])
    async with crawl.runtime.db.write() as tx:
        assert await retention.clear_articles(tx, ids) == {ids[0]}


async def test_a_feed_that_changes_while_articles_are_cleared_is_found_by_its_new_words(
    site: FeedSite, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (reader,) = await followed(crawl, site, "heron")
    await crawl.change("UPDATE entry_bodies SET full_content = '<p>whole</p>', full_attempted_at = 1")
    await read(crawl, reader, "heron")
    crawl.clock.ahead += 31 * DAY
    keep(crawl)
    look = texts.possibly_indexed

    async def look_and_be_overtaken(*given: Any) -> list[texts.Unindexed]:
        found = await look(*given)
        await crawl.change("UPDATE entry_bodies SET content = '<p>egret</p>'")
        return found

    monkeypatch.setattr(texts, "possibly_indexed", look_and_be_overtaken)
    assert (await clean_up(crawl.runtime)).articles_cleared == 1
    found = await search_entries(crawl.runtime, reader, "egret")
    assert [row.title for row in found.rows] == ["heron"]


async def test_feeds_that_nobody_follows_go_after_a_while(site: FeedSite, crawl: Crawl) -> None:
    feed, _ = await followed(crawl, site, "one")
    async with crawl.runtime.db.write() as tx:
        await removed.remember(tx, [(feed, key) for key in range(KEYS_AT_ONCE + 1)])
    crawl.runtime = replace(crawl.runtime, keeping=RetentionPolicy(unfollowed=30 * DAY))
    left = crawl.runtime.now()
    await crawl.change("UPDATE subscriptions SET unsubscribed_at = :now", now=left)
    crawl.clock.ahead += 20 * DAY
    assert (await clean_up(crawl.runtime)).feeds_removed == 0
    crawl.clock.ahead += 20 * DAY
    assert (await clean_up(crawl.runtime)).feeds_removed == 1
    gone = ("feeds", "entries", "entry_bodies", "subscriptions", "unread", "parked_unread", "removed_keys")
    for table in gone:
        assert await crawl.column(f"SELECT count(*) FROM {table}") == [0], table


async def test_a_feed_with_a_keepsake_waits(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "starred", "plain")
    star = "INSERT INTO starred (user_id, sort_at, entry_id, marked_at) VALUES (:user, 1, :entry, 1)"
    await crawl.change(star, user=reader, entry=await entry(crawl, "starred"))
    await crawl.change("UPDATE subscriptions SET unsubscribed_at = 1")
    crawl.clock.ahead += 400 * DAY
    await clean_up(crawl.runtime)
    assert await crawl.titles(feed) == ["starred"]
    assert await crawl.column("SELECT count(DISTINCT feed_id) FROM removed_keys") == [1], "plain stays gone"


async def test_what_is_removed_is_not_found_again(site: FeedSite, crawl: Crawl) -> None:
    _, (reader,) = await followed(crawl, site, "heron", "bittern")
    await read(crawl, reader, "heron")
    crawl.clock.ahead += 2 * DAY
    keep(crawl, age=DAY)
    await clean_up(crawl.runtime)
    if crawl.runtime.db.engine == "sqlite":
        assert await crawl.column("SELECT count(*) FROM search_keys") == [1]
        assert await crawl.column("SELECT rowid FROM search_words WHERE search_words MATCH 'heron'") == []
        assert (
            len(await crawl.column("SELECT rowid FROM search_words WHERE search_words MATCH 'bittern'")) == 1
        )
    else:
        assert await crawl.column("SELECT count(*) FROM search_entries") == [1]


async def test_a_database_that_is_too_large_keeps_less(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "old", "less old")
    await read(crawl, reader, "old", "less old")
    age = "UPDATE entries SET fetched_at = :at WHERE title = :title"
    await crawl.change(age, at=crawl.runtime.now() - 300 * DAY, title="old")
    await crawl.change(age, at=crawl.runtime.now() - 20 * DAY, title="less old")
    crawl.runtime = replace(crawl.runtime, keeping=RetentionPolicy(size=1))

    done = await clean_up(crawl.runtime)

    assert await crawl.titles(feed) == ["less old"], "what arrived in the last 30 days stays"
    assert done.age_days == 30
    assert "DB exceeds configured limit" in done.notes
    assert await _warning(crawl) == "DB exceeds configured limit"

    crawl.runtime = replace(crawl.runtime, keeping=RetentionPolicy())
    await clean_up(crawl.runtime)
    assert not await _warning(crawl)


async def test_a_cleanup_that_was_broken_off_goes_on(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "one")
    await read(crawl, reader, "one")
    keep(crawl, age=DAY)
    async with crawl.runtime.db.write() as tx:
        begun = await retention.begin_cleanup(tx, crawl.runtime.now())
        await retention.add_to_cleanup(tx, begun.id, entries_removed=5)
    crawl.clock.ahead += 2 * DAY

    done = await clean_up_when_due(crawl.runtime)

    assert done is not None
    assert (done.id, done.entries_removed) == (begun.id, 6)
    assert await crawl.titles(feed) == []


async def test_a_cleanup_is_due_once_a_day(crawl: Crawl) -> None:
    assert await clean_up(crawl.runtime)
    assert await clean_up_when_due(crawl.runtime) is None
    crawl.clock.ahead += 25 * HOUR
    assert await clean_up_when_due(crawl.runtime)
    assert await clean_up_when_due(crawl.runtime) is None


async def test_a_cleanup_by_a_wrong_clock_does_not_end_the_others(crawl: Crawl) -> None:
    assert await clean_up(crawl.runtime)
    crawl.clock.ahead += 3650 * DAY
    assert await clean_up(crawl.runtime)
    crawl.clock.ahead -= 3649 * DAY
    hour = datetime.fromtimestamp(crawl.runtime.now() / SECOND).astimezone().hour
    crawl.runtime = replace(crawl.runtime, keeping=replace(crawl.runtime.keeping, hour=hour))
    assert await clean_up_when_due(crawl.runtime)
    assert await clean_up_when_due(crawl.runtime) is None


async def test_files_that_nothing_names_go(site: FeedSite, crawl: Crawl) -> None:
    feed, _ = await followed(crawl, site, "one")
    for name in ("used", "left"):
        await crawl.change(
            "INSERT INTO blobs (hash, media_type, data, created_at) VALUES (:name, 't', :data, 1)",
            name=name,
            data=b"x",
        )
    used = "(SELECT id FROM blobs WHERE hash = 'used')"
    await crawl.change(f"UPDATE feeds SET icon_id = {used} WHERE id = :id", id=feed)

    await clean_up(crawl.runtime)

    assert await crawl.column("SELECT hash FROM blobs") == ["used"]


async def test_marks_of_another_reader_are_forgotten_however_many(site: FeedSite, crawl: Crawl) -> None:
    feed, (reader,) = await followed(crawl, site, "one")
    async with crawl.runtime.db.write() as tx:
        await transfer.remember_imported(tx, reader, feed, range(KEYS_AT_ONCE * 2 + 1), 1)
        await transfer.remember_imported(tx, reader, feed, [-1], crawl.runtime.now())

    await clean_up(crawl.runtime)

    assert await crawl.column("SELECT key FROM imported_reads") == [-1]


async def _warning(crawl: Crawl) -> str | None:
    async with crawl.runtime.db.read() as tx:
        return await instance.get_setting(tx, "db_size_warning")
