"""Feeds of one user alone, filled by what they send in: newsletters and saved pages."""

from reedbed.domain.times import Instant
from reedbed.store import subscriptions, unread
from reedbed.store.database import Tx


async def follow_own(tx: Tx, now: Instant, user_id: int, feed_id: int) -> bool:
    """Whether the user did not follow this feed of theirs until now."""
    known = await subscriptions.by_feed(tx, user_id, feed_id)
    if known is not None and known[1]:
        return False
    if known is None:
        await subscriptions.add(
            tx, user_id, feed_id, folder_id=None, title=None, asked_url="", opml=None, now=now
        )
        await unread.open_for(tx, user_id, feed_id)
    else:
        await subscriptions.come_back(tx, user_id, feed_id, folder_id=None, title=None, asked_url="", now=now)
        await unread.unpark(tx, user_id, feed_id)
    return True
