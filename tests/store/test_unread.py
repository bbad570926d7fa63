"""Arrivals, subscribing, leaving and coming back: who has what unread."""

from reedbed.store.read_state import undo, unread
from reedbed.store.read_state.mark import mark_all
from reedbed.store.read_state.unread import Arrival
from tests.store.library import Library


async def test_a_new_entry_is_unread_for_everyone_who_follows_the_feed(library: Library) -> None:
    feed = await library.feed()
    ann, ben = await library.reader(feed), await library.reader(feed)
    entry = await library.entry(feed)
    assert await library.unread_ids(ann) == [entry]
    assert await library.unread_ids(ben) == [entry]
    assert await library.unread_count(ann, feed) == 1


async def test_a_paused_subscription_gets_nothing(library: Library) -> None:
    feed = await library.feed()
    ann = await library.reader(feed)
    await library.pause(ann, feed, paused=True)
    await library.entry(feed)
    assert await library.unread_ids(ann) == []
    assert await library.unread_count(ann, feed) == 0


async def test_what_a_rule_marked_read_arrives_as_read(library: Library) -> None:
    feed = await library.feed()
    ann, ben = await library.reader(feed), await library.reader(feed)
    loud, hushed = await library.entry(feed, arrive=False), await library.entry(feed, arrive=False)
    async with library.db.write() as tx:
        reached = await unread.fan_out(tx, [Arrival(feed, [loud, hushed], silent={ann: {hushed}})])
    assert reached == {feed: {ann, ben}}
    assert await library.unread_ids(ann) == [loud]
    assert await library.unread_count(ann, feed) == 1
    assert await library.unread_count(ben, feed) == 2


async def test_an_entry_that_fans_out_twice_counts_once(library: Library) -> None:
    feed = await library.feed()
    ann = await library.reader(feed)
    entry = await library.entry(feed)
    async with library.db.write() as tx:
        await unread.fan_out(tx, [Arrival(feed, [entry])])
    assert await library.unread_count(ann, feed) == 1


async def test_a_later_subscriber_sees_the_newest_fifty(library: Library) -> None:
    feed = await library.feed()
    entries = [await library.entry(feed) for _ in range(60)]
    ann = await library.reader(feed)
    assert sorted(await library.unread_ids(ann)) == entries[-50:]
    assert await library.unread_count(ann, feed) == 50


async def test_a_later_subscriber_sees_only_what_the_document_still_lists(library: Library) -> None:
    feed = await library.feed()
    entries = [await library.entry(feed) for _ in range(10)]
    await library.lists_from(feed, entries[4])
    ann = await library.reader(feed)
    assert sorted(await library.unread_ids(ann)) == entries[4:]


async def test_leaving_and_coming_back_keeps_what_was_read_and_what_was_not(library: Library) -> None:
    feed = await library.feed()
    ann = await library.reader(feed)
    first, second = await library.entry(feed), await library.entry(feed)
    await library.read(ann, first)
    await library.leave(ann, feed)
    missed = await library.entry(feed)
    assert await library.unread_ids(ann) == []
    await library.come_back(ann, feed)
    assert sorted(await library.unread_ids(ann)) == [second, missed]
    assert await library.unread_count(ann, feed) == 2


async def test_a_forgotten_entry_leaves_every_count(library: Library) -> None:
    feed = await library.feed()
    ann, ben = await library.reader(feed), await library.reader(feed)
    old, new = await library.entry(feed), await library.entry(feed)
    await library.leave(ben, feed)
    async with library.db.write() as tx:
        await unread.delete_rows_of(tx, [old])
    assert await library.unread_ids(ann) == [new]
    assert await library.unread_count(ann, feed) == 1
    await library.come_back(ben, feed)
    assert await library.unread_count(ben, feed) == 1


async def test_an_entry_marked_unread_below_the_mark_is_marked_read_with_the_rest(library: Library) -> None:
    feed = await library.feed()
    ann = await library.reader(feed)
    entry = await library.entry(feed)
    async with library.db.write() as tx:
        await mark_all(tx, ann, None, None, token_hash="first", now=0)
    await library.unread_again(ann, entry)
    assert await library.unread_ids(ann) == [entry]
    async with library.db.write() as tx:
        assert await mark_all(tx, ann, None, None, token_hash="second", now=0) == 1
    assert await library.unread_ids(ann) == []
    async with library.db.write() as tx:
        step = await undo.find(tx, ann, "second", 1)
        assert step
        assert await undo.apply_undo(tx, step)
    assert await library.unread_ids(ann) == [entry]
    assert await library.unread_count(ann, feed) == 1


async def test_an_entry_that_commits_late_is_not_dead_on_arrival(library: Library) -> None:
    feed = await library.feed()
    ann = await library.reader(feed)
    late, early = await library.entry(feed, arrive=False), await library.entry(feed)
    async with library.db.write() as tx:
        await mark_all(tx, ann, None, early, token_hash="mark", now=0)
        await unread.fan_out(tx, [Arrival(feed, [late])])
    assert await library.unread_ids(ann) == [late]
    assert await library.unread_count(ann, feed) == 1
