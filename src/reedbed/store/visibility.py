"""Who can see which entries: visibility conditions, subscription locks and the feeds of a view.

- `alive`, `above_read_marker`: an unread row counts above its subscription's read marker (`read_to`), or if
  it was marked unread by hand (`kept`).
- `shows`: an entry is visible to a subscription.
- `lock_*`: locks for transactions that change unread counts.
- `resolve`, `feeds_of`: the feeds of a view, and how much is unread in them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, Select, bindparam, case, false, literal_column, true
from sqlalchemy.sql.selectable import FromClause

from reedbed.domain.entries import ViewQuery
from reedbed.domain.records import record
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Param, Query, QueryFamily, among, func, row_of, select, total
from reedbed.store.tables import (
    audience_members,
    entries,
    feeds,
    folders,
    muted,
    repeated_entries,
    subscription_folders,
    subscriptions,
)

# --- Conditions


def alive(row: FromClause, subscription: FromClause) -> ColumnElement[bool]:
    """The `unread` row still counts: it is above the read marker or was marked unread by hand."""
    return _kept_or_above(row, subscription.c.read_to)


def follows(row: FromClause, subscription: FromClause) -> ColumnElement[bool]:
    """The row (with `user_id` and `feed_id`) belongs to this subscription."""
    return (subscription.c.user_id == row.c.user_id) & (subscription.c.feed_id == row.c.feed_id)


def shows(subscription: FromClause, entry: FromClause, *, with_muted: bool = False) -> ColumnElement[bool]:
    """The entry (of this subscription's feed) is newer than the subscription's `since_id` and not muted.

    For an entry that came from a merged feed, the user must have been in its audience, and the `since_id`
    the user had there counts.
    """
    audience_since_id = (
        select(audience_members.c.since_id)
        .where(
            audience_members.c.user_id == subscription.c.user_id, audience_members.c.audience_id == entry.c.audience_id
        )
        .correlate(subscription, entry)
        .scalar_subquery()
    )
    since_id = case((entry.c.audience_id.is_(None), subscription.c.since_id), else_=audience_since_id)
    if with_muted:
        return entry.c.id > since_id
    hidden = (
        select(muted.c.entry_id)
        .where(muted.c.user_id == subscription.c.user_id, muted.c.entry_id == entry.c.id)
        .correlate(subscription, entry)
        .exists()
    )
    return (entry.c.id > since_id) & ~hidden


def above_read_marker(row: FromClause) -> ColumnElement[bool]:
    """Like `alive`, with the read marker looked up for each row.

    If the marker comes from a join, PostgreSQL sorts all unread rows; with a scalar subquery it walks the
    index.
    """
    read_to = select(subscriptions.c.read_to).where(follows(row, subscriptions)).correlate(row).scalar_subquery()
    return _kept_or_above(row, read_to)


def _kept_or_above(row: FromClause, read_to: ColumnElement[int]) -> ColumnElement[bool]:
    # Not an OR: PostgreSQL would collect the rows of each side and lose the order of the index.
    return case((row.c.kept, true()), else_=row.c.entry_id > read_to) == true()


# --- Locks

_OF_FEED = Command(
    select(subscriptions.c.id)
    .where(subscriptions.c.feed_id == bindparam("feed_id"), subscriptions.c.unsubscribed_at.is_(None))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_USER_AND_FEEDS = Command(
    select(subscriptions.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), among(subscriptions.c.feed_id, "feed_ids"))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_USER = Command(
    select(subscriptions.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_USER_AND_ENTRIES = Command(
    select(subscriptions.c.id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.feed_id.in_(select(entries.c.feed_id).where(among(entries.c.id, "ids"))),
    )
    .order_by(subscriptions.c.id)
    .with_for_update()
)
_OF_ENTRIES = Command(
    select(subscriptions.c.id)
    .where(subscriptions.c.feed_id.in_(select(entries.c.feed_id).where(among(entries.c.id, "ids"))))
    .order_by(subscriptions.c.id)
    .with_for_update()
)
# NO KEY UPDATE: a transaction that inserts an entry or a subscription already holds KEY SHARE on the feed.
_FEED = Command(select(feeds.c.id).where(feeds.c.id == bindparam("feed_id")).with_for_update(key_share=True))
_HOLD_ENTRY = Query(
    select(entries.c.id).where(entries.c.id == bindparam("id")).with_for_update(read=True, key_share=True), into=int
)


# A change of states locks the subscriptions whose counts it changes, always in the order of their ids, to
# avoid deadlocks. SQLite has one writer and needs no locks.


async def lock_feed(tx: Tx, feed_id: int) -> None:
    """Serialize new entries and new subscribers of a feed, so that neither misses the other.

    Without a lease on the feed, take this lock before storing entries of it.
    """
    if tx.engine == "postgresql":
        await tx.run(_FEED, {"feed_id": feed_id})


async def lock_subscribers(tx: Tx, feed_id: int) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_FEED, {"feed_id": feed_id})


async def lock_subscribers_of_entries(tx: Tx, entry_ids: list[int]) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_ENTRIES, {"ids": entry_ids})


async def lock_entry(tx: Tx, entry_id: int) -> bool:
    """Protect an entry from deletion until the transaction ends; False if it is already deleted."""
    return await tx.one(_HOLD_ENTRY, {"id": entry_id}) is not None


async def lock_user(tx: Tx, user_id: int) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_USER, {"user_id": user_id})


async def lock_subscriptions(tx: Tx, user_id: int, feed_ids: list[int]) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_USER_AND_FEEDS, {"user_id": user_id, "feed_ids": feed_ids})


async def lock_user_entries(tx: Tx, user_id: int, entry_ids: list[int]) -> None:
    if tx.engine == "postgresql":
        await tx.run(_OF_USER_AND_ENTRIES, {"user_id": user_id, "ids": entry_ids})


# --- The feeds of a view

ENOUGH = 256
"""This many feeds with unread entries fill any page."""


@record
class VisibleScope:
    feeds: tuple[int, ...] | None
    """None: all feeds, or too many to list."""
    unread: int | None = None
    """An upper limit of the entries in the list; None if it is more than a page, or unknown."""
    narrowed: bool = False
    """The list is limited to a feed or a folder."""
    total: int = 0
    """The total these feeds are a part of: all unread entries, or all feeds on the server."""
    has_hidden: bool = False
    """The list is one of all feeds, and leaves out some: muted ones, or those kept out of Unread."""
    has_repeats: bool = False
    """Some entries repeat the address of one in another feed: see `repeated_entries`."""


NO_LIMITS = VisibleScope(None)


async def resolve(tx: Tx, user_id: int, query: ViewQuery) -> VisibleScope | None:
    """None if the feed or folder does not belong to this user."""
    narrowed = query.feed_id is not None or query.folder_id is not None
    listed = query.view in ("unread", "all") and query.tag is None
    if not narrowed and not listed:
        return NO_LIMITS
    rows = await _subscribed_feeds(tx, user_id, query, only_unread=query.view == "unread" and query.feed_id is None)
    if not rows and narrowed and not await _exists(tx, user_id, query):
        return None
    has_hidden = not narrowed and bool(rows) and rows[0][3]
    if not narrowed and len(rows) == ENOUGH:
        return replace(NO_LIMITS, has_hidden=has_hidden, has_repeats=rows[0][4])
    unread = sum(unread for _, unread, _, _, _ in rows) if query.view == "unread" else None
    ids = tuple(feed_id for feed_id, _, _, _, _ in rows)
    return VisibleScope(ids, unread, narrowed, rows[0][2] if rows else 0, has_hidden, bool(rows) and rows[0][4])


async def feeds_of(
    tx: Tx,
    user_id: int,
    *,
    feed_id: int | None,
    folder_id: int | None,
    with_muted: bool = False,
    of_unread: bool = False,
) -> list[int] | None:
    """The feeds of a folder and its subfolders, the one feed, or all feeds; None if it is not this user's.

    Muted feeds are left out of all feeds and of a folder, unless asked for. With `of_unread`, all feeds are those
    that the list of everything unread shows.
    """
    query = ViewQuery(feed_id=feed_id, folder_id=folder_id)
    rows = await tx.all(_FEEDS(_by(query), with_muted, of_unread), _params(user_id, query))
    if not rows and not await _exists(tx, user_id, query):
        return None
    return rows


async def _subscribed_feeds(
    tx: Tx, user_id: int, query: ViewQuery, *, only_unread: bool
) -> Sequence[tuple[int, int, int, bool, bool]]:
    return await tx.all(_SUBSCRIBED(_by(query), query.view, only_unread), _params(user_id, query))


async def has_hidden_feeds(tx: Tx, user_id: int, view: str) -> bool:
    """Whether the list of all feeds with this view leaves out some: muted ones, or those kept out of Unread."""
    return await tx.get(_HAS_HIDDEN(view), {"user_id": user_id})


def _by(query: ViewQuery) -> str:
    return "feed" if query.feed_id is not None else "folder" if query.folder_id is not None else "all"


def _params(user_id: int, query: ViewQuery) -> dict[str, Param]:
    return {"user_id": user_id, "feed_id": query.feed_id, "folder_id": query.folder_id, "enough": ENOUGH}


async def _exists(tx: Tx, user_id: int, query: ViewQuery) -> bool:
    if query.folder_id is None:
        return False
    return await tx.one(_FOLDER, {"user_id": user_id, "folder_id": query.folder_id}) is not None


def _within_folder() -> Select[Any]:
    """The folder and all its subfolders. UNION, not UNION ALL, so that a cycle of folders terminates."""
    top = select(folders.c.id).where(folders.c.user_id == bindparam("user_id"), folders.c.id == bindparam("folder_id"))
    tree = top.cte("tree", recursive=True)
    below = select(folders.c.id).where(folders.c.parent_id == tree.c.id, folders.c.user_id == bindparam("user_id"))
    return select(tree.union(below).c.id)


def _lies_within_folder() -> ColumnElement[bool]:
    """The first folder of the feed, or another one, is in the tree. The tree is built once for both."""
    tree = _within_folder().subquery("tree")
    others = select(subscription_folders.c.subscription_id).where(
        subscription_folders.c.user_id == bindparam("user_id"), subscription_folders.c.folder_id.in_(select(tree.c.id))
    )
    return subscriptions.c.folder_id.in_(select(tree.c.id)) | subscriptions.c.id.in_(others)


def in_hidden_feed(feed_id: ColumnElement[int], view: str) -> ColumnElement[bool]:
    """A list of all feeds with this view leaves the feed out. The subquery depends on no row, so it runs once."""
    left_out = subscriptions.alias("left_out")
    return feed_id.in_(select(left_out.c.feed_id).where(*_is_hidden(left_out, view)))


def _has_hidden(view: str) -> ColumnElement[bool]:
    left_out = subscriptions.alias("left_out")
    return select(left_out.c.id).where(*_is_hidden(left_out, view)).exists()


def _is_hidden(subscription: FromClause, view: str) -> list[ColumnElement[bool]]:
    is_own = subscription.c.user_id == bindparam("user_id", type_=BigInteger)
    is_muted = subscription.c.muted_until.is_not(None)
    return [is_own, is_muted | _out_of_unread(subscription) if view == "unread" else is_muted]


def _out_of_unread(subscription: FromClause) -> ColumnElement[bool]:
    """The feed, or a folder around it, is kept out of the list of everything unread."""
    return ~subscription.c.in_unread | func.coalesce(subscription.c.folder_id, 0).in_(_KEPT_OUT_FOLDERS)


def _kept_out_folders() -> Select[Any]:
    is_own = folders.c.user_id == bindparam("user_id", type_=BigInteger)
    tree = select(folders.c.id).where(is_own, ~folders.c.in_unread).cte("kept_out", recursive=True)
    below = select(folders.c.id).where(folders.c.parent_id == tree.c.id, is_own)
    return select(tree.union(below).c.id)


_KEPT_OUT_FOLDERS = _kept_out_folders()
"""Built once: a statement may use it twice, and the names of its parts must not collide."""


def _in_scope(by: str, *, with_muted: bool = False, of_unread: bool = False) -> list[ColumnElement[bool]]:
    active = [subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None)]
    if by == "feed":
        return [*active, subscriptions.c.feed_id == bindparam("feed_id")]
    if not with_muted:
        active.append(subscriptions.c.muted_until.is_(None))
    if by == "folder":
        return [*active, _lies_within_folder()]
    return [*active, ~_out_of_unread(subscriptions)] if of_unread else active


def _select_subscribed(by: str, view: str, only_unread: bool) -> ClauseElement:
    has_hidden = _has_hidden(view) if by == "all" else false()
    own_repeats = select(repeated_entries.c.entry_id).where(repeated_entries.c.user_id == bindparam("user_id"))
    query = select(
        subscriptions.c.feed_id,
        subscriptions.c.unread,
        _total(by, view).label("total"),
        has_hidden.label("has_hidden"),
        own_repeats.exists().label("has_repeats"),
    )
    query = query.where(*_in_scope(by, with_muted=view not in ("unread", "all"), of_unread=view == "unread"))
    if only_unread:
        query = query.where(subscriptions.c.unread > 0)
    return query.limit(bindparam("enough", type_=BigInteger)) if by == "all" else query


def _select_feeds(by: str, with_muted: bool, of_unread: bool) -> ClauseElement:
    return select(subscriptions.c.feed_id).where(*_in_scope(by, with_muted=with_muted, of_unread=of_unread))


def _select_has_hidden(view: str) -> ClauseElement:
    return select(_has_hidden(view))


def _total(by: str, view: str) -> ColumnElement[int]:
    if view == "all":
        return select(func.coalesce(func.max(feeds.c.id), 0)).scalar_subquery()
    if view == "unread" and by == "folder":
        whole = subscriptions.alias("whole")
        followed = (whole.c.user_id == bindparam("user_id")) & whole.c.unsubscribed_at.is_(None)
        return select(total(whole.c.unread)).where(followed).scalar_subquery()
    return literal_column("0")


_SUBSCRIBED = QueryFamily(_select_subscribed, into=row_of(int, int, int, bool, bool))
_FEEDS = QueryFamily(_select_feeds, into=int)
_HAS_HIDDEN = QueryFamily(_select_has_hidden, into=bool)
_FOLDER = Query(
    select(folders.c.id).where(folders.c.user_id == bindparam("user_id"), folders.c.id == bindparam("folder_id")),
    into=int,
)
