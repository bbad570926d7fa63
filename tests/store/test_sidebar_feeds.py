"""What the sidebar reads: the busiest feeds, and totals that leave none out."""

from sqlalchemy import text

from reedbed.domain.folders import FolderRow
from reedbed.store import sidebar
from reedbed.store.engine.statements import Command
from reedbed.store.read_state import counts
from tests.store.library import Library


async def test_the_busiest_feeds_come_in_the_order_of_all(library: Library) -> None:
    feeds = [await library.feed() for _ in range(4)]
    ann = await library.reader(*feeds)
    for feed in (feeds[3], feeds[3], feeds[1]):
        await library.entry(feed)
    async with library.db.read() as tx:
        all_of_them = await sidebar.sidebar_feeds(tx, ann)
        few, checked_at = await sidebar.busiest_feeds(tx, ann, 2)
    assert few == [one for one in all_of_them if one.feed_id in (feeds[1], feeds[3])]
    assert checked_at == 0


async def test_failing_feeds_are_listed_however_quiet_they_are(library: Library) -> None:
    busy, quiet, failing, stopped, paused = [await library.feed() for _ in range(5)]
    ann = await library.reader(busy, quiet, failing, stopped, paused)
    await library.entry(busy)
    async with library.db.write() as tx:
        for feed, column in ((failing, "last_error"), (stopped, "stop_reason"), (paused, "last_error")):
            await tx.run(Command(text(f"UPDATE feed_fetch_state SET {column} = 'x' WHERE feed_id = {feed}")))
        await tx.run(Command(text(f"UPDATE subscriptions SET paused = true WHERE feed_id = {paused}")))
    async with library.db.read() as tx:
        few, _ = await sidebar.busiest_feeds(tx, ann, 1, 9)
        fewer, _ = await sidebar.busiest_feeds(tx, ann, 1, 1)
        _, total = await counts.totals(tx, ann, [])
    assert {feed.feed_id for feed in few} == {busy, failing, stopped}
    assert (len(fewer), total) == (2, 5)


async def test_totals_count_every_feed_in_its_folder_and_those_above(library: Library) -> None:
    loose, inner = await library.feed(), await library.feed()
    ann = await library.reader(loose)
    above = await library.folder(ann)
    below = await library.folder(ann, above)
    await library.follow(ann, inner, below)
    for feed in (loose, inner, inner):
        await library.entry(feed)
    async with library.db.read() as tx:
        found, _ = await counts.totals(tx, ann, [FolderRow(above, None, "a"), FolderRow(below, above, "b")])
        every = await counts.counts(tx, ann)
    assert (found.unread, found.folders) == (3, {above: 2, below: 2})
    assert (every.unread, every.folders) == (found.unread, found.folders)
