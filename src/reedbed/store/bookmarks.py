"""A user's bookmarks: snapshots of entries."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ClauseElement, ColumnElement, bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.bookmarks import Bookmark, BookmarkRow, Snapshot
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import HIGHEST, Statement, StatementFamily, containing, func, select
from reedbed.store.tables import bookmarks

_ROW_COLUMNS = (
    bookmarks.c.id,
    bookmarks.c.entry_id,
    bookmarks.c.url,
    bookmarks.c.title,
    bookmarks.c.feed_title,
    bookmarks.c.published_at,
    bookmarks.c.created_at,
)
_FULL_COLUMNS = (*_ROW_COLUMNS, bookmarks.c.content)
_mine = bookmarks.c.user_id == bindparam("owner")

_new = insert(bookmarks)
_SAVE = Statement(
    _new.on_conflict_do_update(
        index_elements=["user_id", "url"],
        set_={
            name: _new.excluded[name]
            for name in ("entry_id", "title", "content", "feed_title", "published_at")
        },
    ).returning(*_FULL_COLUMNS),
    columns=["user_id", "entry_id", "url", "title", "content", "feed_title", "published_at", "created_at"],
)
_FIND_ID = Statement(select(bookmarks.c.id).where(_mine, bookmarks.c.url == bindparam("key")))
_COUNT = Statement(select(func.count()).select_from(bookmarks).where(_mine))
_GET = Statement(select(*_FULL_COLUMNS).where(_mine, bookmarks.c.id == bindparam("bookmark")))
_DELETE = Statement(delete(bookmarks).where(_mine, bookmarks.c.id == bindparam("bookmark")))


def _filters(search: bool, of_entry: bool) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if search:
        conditions.append(func.lower(bookmarks.c.title).like(bindparam("pattern"), escape="\\"))
    if of_entry:
        conditions.append(bookmarks.c.entry_id == bindparam("entry_id"))
    return conditions


def _select_newest(with_content: bool, search: bool, of_entry: bool) -> ClauseElement:
    return (
        select(*(_FULL_COLUMNS if with_content else _ROW_COLUMNS))
        .where(_mine, bookmarks.c.id < bindparam("before"), *_filters(search, of_entry))
        .order_by(bookmarks.c.id.desc())
        .limit(bindparam("limit"))
    )


_NEWEST = StatementFamily(_select_newest)


async def put(tx: Tx, user_id: int, snapshot: Snapshot, now: Instant) -> Bookmark:
    """Save a snapshot, or replace the one with the same URL."""
    row = await tx.one(
        _SAVE,
        {
            "user_id": user_id,
            "entry_id": snapshot.entry_id,
            "url": snapshot.key,
            "title": snapshot.title,
            "content": snapshot.content,
            "feed_title": snapshot.feed_title,
            "published_at": snapshot.published_at,
            "created_at": now,
        },
    )
    assert row is not None
    return _bookmark(row)


async def is_known(tx: Tx, user_id: int, key: str) -> bool:
    return await known_as(tx, user_id, key) is not None


async def known_as(tx: Tx, user_id: int, key: str) -> int | None:
    """Return the id of the bookmark with this key."""
    return await tx.value(_FIND_ID, {"owner": user_id, "key": key})


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"owner": user_id})


async def get(tx: Tx, user_id: int, bookmark_id: int) -> Bookmark | None:
    row = await tx.one(_GET, {"owner": user_id, "bookmark": bookmark_id})
    return _bookmark(row) if row else None


async def remove(tx: Tx, user_id: int, bookmark_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "bookmark": bookmark_id}) == 1


async def newest(
    tx: Tx,
    user_id: int,
    *,
    before: int | None = None,
    limit: int,
    search: str = "",
    entry_id: int | None = None,
) -> list[BookmarkRow]:
    """Return bookmarks without content, with ids below `before`; `search` matches part of the title."""
    statement = _NEWEST(False, bool(search), entry_id is not None)
    params = {**_page_params(user_id, before, limit), "pattern": containing(search), "entry_id": entry_id}
    return [_row(row) for row in await tx.all(statement, params)]


async def newest_with_content(
    tx: Tx, user_id: int, *, before: int | None = None, limit: int
) -> Sequence[Bookmark]:
    statement = _NEWEST(True, False, False)
    return [_bookmark(row) for row in await tx.all(statement, _page_params(user_id, before, limit))]


def _page_params(user_id: int, before: int | None, limit: int) -> dict[str, Any]:
    return {"owner": user_id, "before": HIGHEST if before is None else before, "limit": limit}


def _row(row: Row) -> BookmarkRow:
    return BookmarkRow(*row)


def _bookmark(row: Row) -> Bookmark:
    *columns, content = row
    return Bookmark(BookmarkRow(*columns), content)
