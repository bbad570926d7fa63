"""Which feeds a list or a bulk act is about, and how much in them is unread."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, bindparam, literal_column

from reedbed.domain.entries import ViewQuery
from reedbed.domain.records import record
from reedbed.store.database import Row, Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Shapes, Statement
from reedbed.store.tables import feeds, folders, subscriptions

ENOUGH = 256
"""So many feeds with something unread hold more than any page asks for."""


@record
class Scope:
    feeds: tuple[int, ...] | None
    """None: every feed, or too many to name them."""
    unread: int | None = None
    """How many entries the list has at most; None: more than a page, or not known."""
    narrowed: bool = False
    """The list is that of a feed or a folder, not of everything."""
    pile: int = 0
    """What these feeds are a part of: all that is unread, or all feeds there are."""


NO_LIMITS = Scope(None)


async def resolve(tx: Tx, user_id: int, query: ViewQuery) -> Scope | None:
    """None when the feed or folder is not this user's."""
    narrowed = query.feed_id is not None or query.folder_id is not None
    listed = query.view in ("unread", "all") and query.tag is None
    if not narrowed and not listed:
        return NO_LIMITS
    rows = await _followed(tx, user_id, query, only_unread=query.view == "unread" and query.feed_id is None)
    if not rows and narrowed and not await _exists(tx, user_id, query):
        return None
    if not narrowed and len(rows) == ENOUGH:
        return NO_LIMITS
    unread = sum(row["unread"] for row in rows) if query.view == "unread" else None
    ids = tuple(row["feed_id"] for row in rows)
    return Scope(ids, unread, narrowed, rows[0]["pile"] if rows else 0)


async def feeds_of(tx: Tx, user_id: int, *, feed_id: int | None, folder_id: int | None) -> list[int] | None:
    """The feeds of a folder with its subfolders, or the one feed; None when it is not this user's."""
    query = ViewQuery(feed_id=feed_id, folder_id=folder_id)
    rows = await tx.all(_FEEDS(_by(query)), _params(user_id, query))
    if not rows and not await _exists(tx, user_id, query):
        return None
    return [row["feed_id"] for row in rows]


async def _followed(tx: Tx, user_id: int, query: ViewQuery, *, only_unread: bool) -> Sequence[Row]:
    return await tx.all(_FOLLOWED(_by(query), query.view, only_unread), _params(user_id, query))


def _by(query: ViewQuery) -> str:
    return "feed" if query.feed_id is not None else "folder" if query.folder_id is not None else "all"


def _params(user_id: int, query: ViewQuery) -> dict[str, Any]:
    return {"user_id": user_id, "feed_id": query.feed_id, "folder_id": query.folder_id, "enough": ENOUGH}


async def _exists(tx: Tx, user_id: int, query: ViewQuery) -> bool:
    if query.folder_id is None:
        return False
    return await tx.value(_FOLDER, {"user_id": user_id, "folder_id": query.folder_id}) is not None


def _within_folder() -> Any:
    """The folder and all below it. UNION and not UNION ALL, so that a circle of folders ends."""
    top = select(folders.c.id).where(
        folders.c.user_id == bindparam("user_id"), folders.c.id == bindparam("folder_id")
    )
    tree = top.cte("tree", recursive=True)
    below = select(folders.c.id).where(
        folders.c.parent_id == tree.c.id, folders.c.user_id == bindparam("user_id")
    )
    return select(tree.union(below).c.id)


def _in_scope(by: str) -> list[ColumnElement[bool]]:
    active = [subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None)]
    if by == "feed":
        return [*active, subscriptions.c.feed_id == bindparam("feed_id")]
    if by == "folder":
        return [*active, subscriptions.c.folder_id.in_(_within_folder())]
    return active


def _select_followed(by: str, view: str, only_unread: bool) -> ClauseElement:
    query = select(subscriptions.c.feed_id, subscriptions.c.unread, _pile(by, view).label("pile"))
    query = query.where(*_in_scope(by))
    if only_unread:
        query = query.where(subscriptions.c.unread > 0)
    return query.limit(bindparam("enough", type_=BigInteger)) if by == "all" else query


def _select_feeds(by: str) -> ClauseElement:
    return select(subscriptions.c.feed_id).where(*_in_scope(by))


def _pile(by: str, view: str) -> ColumnElement[int]:
    if view == "all":
        return select(func.coalesce(func.max(feeds.c.id), 0)).scalar_subquery()
    if view == "unread" and by == "folder":
        whole = subscriptions.alias("whole")
        followed = (whole.c.user_id == bindparam("user_id")) & whole.c.unsubscribed_at.is_(None)
        return select(func.sum(whole.c.unread)).where(followed).scalar_subquery()
    return literal_column("0")


_FOLLOWED = Shapes(_select_followed)
_FEEDS = Shapes(_select_feeds)
_FOLDER = Statement(
    select(folders.c.id).where(
        folders.c.user_id == bindparam("user_id"), folders.c.id == bindparam("folder_id")
    )
)
