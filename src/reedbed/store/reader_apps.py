"""What reader apps show about the feeds of a user: titles, newest entries and former addresses."""

from typing import Any

from sqlalchemy import and_, bindparam

from reedbed.domain.subscriptions import Followed
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Query, func, row_of, select
from reedbed.store.folders import other_folders, parse_folders, with_other_folders
from reedbed.store.subscriptions import feed_title, is_followed
from reedbed.store.tables import entries, entry_tags, feed_fetch_state, feeds, subscriptions, tags


def _followed(*columns: Any) -> Followed:
    *known, others = columns
    return Followed(*known, other_folders=parse_folders(others))


_FOLLOWED = Query(
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        feed_title,
        func.coalesce(func.nullif(subscriptions.c.asked_url, ""), feeds.c.url),
        feeds.c.url,
        func.coalesce(feeds.c.site_url, ""),
        feeds.c.icon_id,
        subscriptions.c.full_text,
        subscriptions.c.position,
        subscriptions.c.subscribed_at,
        feed_fetch_state.c.last_changed_at,
        subscriptions.c.muted_until.is_not(None),
        other_folders.c.ids,
    )
    .select_from(with_other_folders)
    .join(feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(is_followed)
    .order_by(subscriptions.c.position, func.lower(feed_title), subscriptions.c.id),
    into=_followed,
)
_NEWEST_ENTRIES = Query(
    select(subscriptions.c.feed_id, entries.c.id, entries.c.fetched_at)
    .join_from(subscriptions, entries, entries.c.id == subscriptions.c.newest_id)
    .where(is_followed),
    into=row_of(int, int, int),
)
_NEWEST_TAGGED = Query(
    select(tags.c.name, func.max(entries.c.fetched_at))
    .join_from(tags, entry_tags, and_(entry_tags.c.user_id == bindparam("user_id"), entry_tags.c.tag_id == tags.c.id))
    .join(entries, entries.c.id == entry_tags.c.entry_id)
    .where(tags.c.user_id == bindparam("user_id"))
    .group_by(tags.c.name),
    into=row_of(str, int),
)
_UNSUBSCRIBED_URL = Query(
    select(feeds.c.url)
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_not(None),
    ),
    into=str,
)


async def list_followed(tx: Tx, user_id: int) -> list[Followed]:
    return await tx.all(_FOLLOWED, {"user_id": user_id})


async def newest_arrivals(tx: Tx, user_id: int) -> dict[int, tuple[int, Instant]]:
    """Return each feed's newest entry and when it arrived."""
    return {row[0]: (row[1], row[2]) for row in await tx.all(_NEWEST_ENTRIES, {"user_id": user_id})}


async def newest_tagged(tx: Tx, user_id: int) -> dict[str, Instant]:
    """Return when the newest entry of each tag arrived."""
    return dict(await tx.all(_NEWEST_TAGGED, {"user_id": user_id}))


async def unsubscribed_url(tx: Tx, user_id: int, feed_id: int) -> str | None:
    """Return the URL of a feed that this user unsubscribed from; None if subscribed or never was."""
    return await tx.one(_UNSUBSCRIBED_URL, {"user_id": user_id, "feed_id": feed_id})
