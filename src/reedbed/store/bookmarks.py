"""A user's bookmarks."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ClauseElement, ColumnElement, bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.bookmarks import Bookmark, BookmarkRow, Snapshot
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import HIGHEST, Shapes, Statement, containing, func, select
from reedbed.store.tables import bookmarks

_ROW = (
    bookmarks.c.id,
    bookmarks.c.entry_id,
    bookmarks.c.url,
    bookmarks.c.title,
    bookmarks.c.feed_title,
    bookmarks.c.published_at,
    bookmarks.c.created_at,
)
_WHOLE = (*_ROW, bookmarks.c.content)
_mine = bookmarks.c.user_id == bindparam("owner")

_written = insert(bookmarks)
_PUT = Statement(
    _written.on_conflict_do_update(
        index_elements=["user_id", "url"],
        set_={
            name: _written.excluded[name]
            for name in ("entry_id", "title", "content", "feed_title", "published_at")
        },
    ).returning(*_WHOLE),
    columns=["user_id", "entry_id", "url", "title", "content", "feed_title", "published_at", "created_at"],
)
_KNOWN = Statement(select(bookmarks.c.id).where(_mine, bookmarks.c.url == bindparam("key")))
_COUNT = Statement(select(func.count()).select_from(bookmarks).where(_mine))
_GET = Statement(select(*_WHOLE).where(_mine, bookmarks.c.id == bindparam("bookmark")))
_DELETE = Statement(delete(bookmarks).where(_mine, bookmarks.c.id == bindparam("bookmark")))


def _filters(search: bool, of_entry: bool) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if search:
        wanted.append(func.lower(bookmarks.c.title).like(bindparam("pattern"), escape="\\"))
    if of_entry:
        wanted.append(bookmarks.c.entry_id == bindparam("entry_id"))
    return wanted


def _newest(whole: bool, search: bool, of_entry: bool) -> ClauseElement:
    return (
        select(*(_WHOLE if whole else _ROW))
        .where(_mine, bookmarks.c.id < bindparam("before"), *_filters(search, of_entry))
        .order_by(bookmarks.c.id.desc())
        .limit(bindparam("limit"))
    )


_NEWEST = Shapes(_newest)


async def put(tx: Tx, user_id: int, kept: Snapshot, now: Instant) -> Bookmark:
    """Keep a snapshot, or renew the one with the same address."""
    row = await tx.one(
        _PUT,
        {
            "user_id": user_id,
            "entry_id": kept.entry_id,
            "url": kept.key,
            "title": kept.title,
            "content": kept.content,
            "feed_title": kept.feed_title,
            "published_at": kept.published_at,
            "created_at": now,
        },
    )
    assert row is not None
    return _bookmark(row)


async def is_known(tx: Tx, user_id: int, key: str) -> bool:
    return await known_as(tx, user_id, key) is not None


async def known_as(tx: Tx, user_id: int, key: str) -> int | None:
    """The id of the bookmark with this key."""
    return await tx.value(_KNOWN, {"owner": user_id, "key": key})


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
    """Without their texts, below the id `before`; `search` is part of a title."""
    statement = _NEWEST(False, bool(search), entry_id is not None)
    params = {**_place(user_id, before, limit), "pattern": containing(search), "entry_id": entry_id}
    return [_row(row) for row in await tx.all(statement, params)]


async def newest_whole(tx: Tx, user_id: int, *, before: int | None = None, limit: int) -> Sequence[Bookmark]:
    statement = _NEWEST(True, False, False)
    return [_bookmark(row) for row in await tx.all(statement, _place(user_id, before, limit))]


def _place(user_id: int, before: int | None, limit: int) -> dict[str, Any]:
    return {"owner": user_id, "before": HIGHEST if before is None else before, "limit": limit}


def _row(row: Row) -> BookmarkRow:
    return BookmarkRow(*row)


def _bookmark(row: Row) -> Bookmark:
    *plain, content = row
    return Bookmark(BookmarkRow(*plain), content)
