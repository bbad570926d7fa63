"""A user's bookmarks: snapshots of entries."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ClauseElement, ColumnElement, bindparam, delete

from reedbed.domain.bookmarks import Bookmark, BookmarkRow, Snapshot
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    HIGHEST,
    Command,
    Param,
    Query,
    QueryFamily,
    containing,
    func,
    insert,
    select,
)
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


def _bookmark(*row: Any) -> Bookmark:
    *columns, content = row
    return Bookmark(BookmarkRow(*columns), content)


_SAVE = Query(
    _new.on_conflict_do_update(
        index_elements=["user_id", "url"],
        set_={name: _new.excluded[name] for name in ("entry_id", "title", "content", "feed_title", "published_at")},
    ).returning(*_FULL_COLUMNS),
    columns=["user_id", "entry_id", "url", "title", "content", "feed_title", "published_at", "created_at"],
    into=_bookmark,
)
_FIND_ID = Query(select(bookmarks.c.id).where(_mine, bookmarks.c.url == bindparam("key")), into=int)
_COUNT = Query(select(func.count()).select_from(bookmarks).where(_mine), into=int)
_GET = Query(select(*_FULL_COLUMNS).where(_mine, bookmarks.c.id == bindparam("bookmark")), into=_bookmark)
_DELETE = Command(delete(bookmarks).where(_mine, bookmarks.c.id == bindparam("bookmark")))


def _filters(search: bool, of_entry: bool) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if search:
        conditions.append(func.lower(bookmarks.c.title).like(bindparam("pattern"), escape="\\"))
    if of_entry:
        conditions.append(bookmarks.c.entry_id == bindparam("entry_id"))
    return conditions


def _select_newest(columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> ClauseElement:
    return (
        select(*columns)
        .where(_mine, bookmarks.c.id < bindparam("before"), *conditions)
        .order_by(bookmarks.c.id.desc())
        .limit(bindparam("limit"))
    )


def _select_filtered(search: bool, of_entry: bool) -> ClauseElement:
    return _select_newest(_ROW_COLUMNS, *_filters(search, of_entry))


_NEWEST = QueryFamily(_select_filtered, into=BookmarkRow)
_NEWEST_WITH_CONTENT = Query(_select_newest(_FULL_COLUMNS), into=_bookmark)


async def put(tx: Tx, user_id: int, snapshot: Snapshot, now: Instant) -> Bookmark:
    """Save a snapshot, or replace the one with the same URL."""
    return await tx.get(
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


async def is_known(tx: Tx, user_id: int, key: str) -> bool:
    return await known_as(tx, user_id, key) is not None


async def known_as(tx: Tx, user_id: int, key: str) -> int | None:
    """Return the id of the bookmark with this key."""
    return await tx.one(_FIND_ID, {"owner": user_id, "key": key})


async def count(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"owner": user_id})


async def get(tx: Tx, user_id: int, bookmark_id: int) -> Bookmark | None:
    return await tx.one(_GET, {"owner": user_id, "bookmark": bookmark_id})


async def remove(tx: Tx, user_id: int, bookmark_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "bookmark": bookmark_id}) == 1


async def newest(
    tx: Tx, user_id: int, *, before: int | None = None, limit: int, search: str = "", entry_id: int | None = None
) -> list[BookmarkRow]:
    """Return bookmarks without content, with ids below `before`; `search` matches part of the title."""
    params = {**_page_params(user_id, before, limit), "pattern": containing(search), "entry_id": entry_id}
    return await tx.all(_NEWEST(bool(search), entry_id is not None), params)


async def newest_with_content(tx: Tx, user_id: int, *, before: int | None = None, limit: int) -> Sequence[Bookmark]:
    return await tx.all(_NEWEST_WITH_CONTENT, _page_params(user_id, before, limit))


def _page_params(user_id: int, before: int | None, limit: int) -> dict[str, Param]:
    return {"owner": user_id, "before": HIGHEST if before is None else before, "limit": limit}
