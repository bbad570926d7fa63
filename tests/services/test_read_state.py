"""Marking under concurrency, sweeping and recounting, on both engines."""

import asyncio

from reedbed.domain.entries import Selection, StateChange, ViewQuery
from reedbed.domain.times import HOUR
from reedbed.services.entries import change_entry
from reedbed.services.read_state import delete_expired_undo, mark, recount_everyone, undo_last
from tests.harness import RuntimeHarness
from tests.store.library import Library


async def test_counts_stay_exact_when_everything_happens_at_once(harness: RuntimeHarness) -> None:
    library, runtime = Library(harness.runtime.db), harness.runtime
    feeds = [await library.feed() for _ in range(3)]
    ann, ben = await library.reader(*feeds), await library.reader(*feeds)
    entries = [await library.entry(feed) for feed in feeds for _ in range(6)]

    async def read_and_unread(user: int, start: int) -> None:
        for entry in entries[start::3]:
            await change_entry(runtime, user, entry, StateChange(read=True))
            await change_entry(runtime, user, entry, StateChange(read=entry % 2 == 0))

    async def mark_and_undo(user: int) -> None:
        for _ in range(3):
            marked = await mark(runtime, user, Selection())
            await asyncio.sleep(0.01)
            await undo_last(runtime, user, marked.undo)

    async def arrive(feed: int) -> None:
        for _ in range(5):
            await library.entry(feed)

    users = (ann, ben)
    await asyncio.gather(
        *(read_and_unread(user, start) for user in users for start in range(3)),
        *(mark_and_undo(user) for user in users),
        *(arrive(feed) for feed in feeds),
    )
    assert await recount_everyone(runtime) == 0
    for user in users:
        counted = sum([await library.unread_count(user, feed) for feed in feeds])
        assert len(await library.listed(user, ViewQuery("unread"))) == counted


async def test_a_count_that_drifted_is_set_right(harness: RuntimeHarness) -> None:
    library = Library(harness.runtime.db)
    feed = await library.feed()
    ann = await library.reader(feed)
    await library.entry(feed)
    await harness.change("UPDATE subscriptions SET unread = 7")
    assert await recount_everyone(harness.runtime) == 1
    assert await library.unread_count(ann, feed) == 1
    assert await recount_everyone(harness.runtime) == 0


async def test_dead_rows_are_swept_when_the_undo_has_expired(harness: RuntimeHarness) -> None:
    library, runtime = Library(harness.runtime.db), harness.runtime
    feed = await library.feed()
    ann = await library.reader(feed)
    for _ in range(4):
        await library.entry(feed)
    await mark(runtime, ann, Selection())
    fresh = await library.entry(feed)
    await delete_expired_undo(runtime)
    assert len(await harness.column("SELECT entry_id FROM unread")) == 5
    harness.clock.ahead += HOUR
    await delete_expired_undo(runtime)
    assert await harness.column("SELECT entry_id FROM unread") == [fresh]
    assert await harness.column("SELECT id FROM undo_steps") == []
