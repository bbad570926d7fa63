"""Who wants summaries of what is new, of which feeds, and which entries those are."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, or_

from reedbed.domain.records import record
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, folders, subscriptions, unread, users

_has_feed = (
    select(subscriptions.c.id)
    .where(subscriptions.c.user_id == users.c.id, subscriptions.c.summary_words >= 0)
    .exists()
)
_has_folder = (
    select(folders.c.id).where(folders.c.user_id == users.c.id, folders.c.summary_words >= 0).exists()
)
# Preferences are JSON without blanks; the few users are sorted out by reading them properly.
_PERHAPS = Statement(
    select(users.c.id)
    .where(
        users.c.disabled_at.is_(None),
        or_(users.c.preferences.like(bindparam("wish")), _has_feed, _has_folder),
    )
    .order_by(users.c.id)
)
_FEEDS = Statement(
    select(subscriptions.c.feed_id, subscriptions.c.folder_id, subscriptions.c.summary_words).where(
        subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None)
    )
)
_mine = (
    select(unread.c.entry_id, unread.c.feed_id, entries.c.words)
    .join_from(unread, entries, entries.c.id == unread.c.entry_id)
    .where(unread.c.user_id == bindparam("user_id"), among(unread.c.feed_id, "feeds"))
    .limit(bindparam("most"))
)
_AFTER = Statement(
    _mine.where(unread.c.entry_id > bindparam("after", type_=BigInteger)).order_by(unread.c.entry_id)
)
_NEWEST = Statement(_mine.order_by(unread.c.entry_id.desc()))


@record
class NewEntry:
    id: int
    feed_id: int
    words: int


@record
class FeedWish:
    feed_id: int
    folder_id: int | None
    summary_words: int | None


async def users_who_may_wish(tx: Tx) -> list[int]:
    return [row[0] for row in await tx.all(_PERHAPS, {"wish": '%"auto_summaries":true%'})]


async def feed_wishes(tx: Tx, user_id: int) -> list[FeedWish]:
    return [FeedWish(*row) for row in await tx.all(_FEEDS, {"user_id": user_id})]


async def new_entries(
    tx: Tx, user_id: int, feeds: Sequence[int], *, after: int | None, most: int
) -> list[NewEntry]:
    """Unread ones of these feeds, the oldest first; without a start, the newest of them."""
    params = {"user_id": user_id, "feeds": list(feeds), "most": most}
    if after is None:
        newest = [NewEntry(*row) for row in await tx.all(_NEWEST, params)]
        return newest[::-1]
    return [NewEntry(*row) for row in await tx.all(_AFTER, {**params, "after": after})]
