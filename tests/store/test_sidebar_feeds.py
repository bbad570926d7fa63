"""What the sidebar reads: the busiest feeds, and totals that leave none out."""

from reedbed.store import subscriptions
from reedbed.store.read_state import counts
from tests.store.library import Library


async def test_the_busiest_feeds_come_in_the_order_of_all(library: Library) -> None:
    feeds = [await library.feed() for _ in range(4)]
    ann = await library.reader(*feeds)
    for feed in (feeds[3], feeds[3], feeds[1]):
        await library.entry(feed)
    async with library.db.read() as tx:
        all_of_them = await subscriptions.sidebar_feeds(tx, ann)
        few, checked_at = await subscriptions.busiest_feeds(tx, ann, 2)
    assert few == [one for one in all_of_them if one.feed_id in (feeds[1], feeds[3])]
    assert checked_at == 0


async def test_totals_count_every_feed_in_its_folder_and_those_above(library: Library) -> None:
    loose, inner = await library.feed(), await library.feed()
    ann = await library.reader(loose)
    above = await library.folder(ann)
    below = await library.folder(ann, above)
    await library.follow(ann, inner, below)
    for feed in (loose, inner, inner):
        await library.entry(feed)
    async with library.db.read() as tx:
        found = await counts.totals(tx, ann, {above: None, below: above})
        every = await counts.counts(tx, ann)
    assert (found.unread, found.folders) == (3, {above: 2, below: 2})
    assert (every.unread, every.folders) == (found.unread, found.folders)
