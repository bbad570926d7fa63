"""A user's highlights in entries, and the notes on them."""

from typing import Any

from sqlalchemy import ClauseElement, bindparam, delete, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.highlights import Highlight, Passage
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import HIGHEST, Statement, StatementFamily, func, select
from reedbed.store.tables import highlights

_COLUMNS = (
    highlights.c.id,
    highlights.c.entry_id,
    highlights.c.entry_title,
    highlights.c.entry_url,
    highlights.c.quote,
    highlights.c.prefix,
    highlights.c.suffix,
    highlights.c.note,
    highlights.c.created_at,
    highlights.c.updated_at,
)
_is_own = highlights.c.user_id == bindparam("owner")

_ADD = Statement(
    insert(highlights).returning(*_COLUMNS),
    columns=[
        "user_id",
        "entry_id",
        "entry_title",
        "entry_url",
        "quote",
        "prefix",
        "suffix",
        "note",
        "created_at",
        "updated_at",
    ],
)
_COUNT = Statement(select(func.count()).select_from(highlights).where(_is_own))
_GET = Statement(select(*_COLUMNS).where(_is_own, highlights.c.id == bindparam("highlight")))
_SET_NOTE = Statement(
    update(highlights)
    .where(_is_own, highlights.c.id == bindparam("highlight"))
    .values(note=bindparam("new_note"), updated_at=bindparam("now"))
    .returning(*_COLUMNS)
)
_DELETE = Statement(delete(highlights).where(_is_own, highlights.c.id == bindparam("highlight")))


def _select_newest(of_entry: bool) -> ClauseElement:
    conditions = [highlights.c.entry_id == bindparam("entry_id")] if of_entry else []
    return (
        select(*_COLUMNS)
        .where(_is_own, highlights.c.id < bindparam("before"), *conditions)
        .order_by(highlights.c.id.desc())
        .limit(bindparam("limit"))
    )


_NEWEST = StatementFamily(_select_newest)


async def add(
    tx: Tx,
    user_id: int,
    entry: tuple[int, str, str | None],
    passage: Passage,
    note: str,
    now: Instant,
) -> Highlight:
    """`entry` is its id, title and URL."""
    entry_id, title, url = entry
    row = await tx.one(
        _ADD,
        {
            "user_id": user_id,
            "entry_id": entry_id,
            "entry_title": title,
            "entry_url": url,
            "quote": passage.quote,
            "prefix": passage.prefix,
            "suffix": passage.suffix,
            "note": note,
            "created_at": now,
            "updated_at": now,
        },
    )
    assert row is not None
    return _highlight(row)


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"owner": user_id})


async def get(tx: Tx, user_id: int, highlight_id: int) -> Highlight | None:
    row = await tx.one(_GET, {"owner": user_id, "highlight": highlight_id})
    return _highlight(row) if row else None


async def set_note(tx: Tx, user_id: int, highlight_id: int, note: str, now: Instant) -> Highlight | None:
    params: dict[str, Any] = {"owner": user_id, "highlight": highlight_id, "new_note": note, "now": now}
    row = await tx.one(_SET_NOTE, params)
    return _highlight(row) if row else None


async def remove(tx: Tx, user_id: int, highlight_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "highlight": highlight_id}) == 1


async def newest(
    tx: Tx, user_id: int, *, before: int | None = None, limit: int, entry_id: int | None = None
) -> list[Highlight]:
    """Return highlights with ids below `before`, of one entry or of all."""
    params = {
        "owner": user_id,
        "before": HIGHEST if before is None else before,
        "limit": limit,
        "entry_id": entry_id,
    }
    return [_highlight(row) for row in await tx.all(_NEWEST(entry_id is not None), params)]


def _highlight(row: Row) -> Highlight:
    id_, entry_id, title, url, quote, prefix, suffix, note, created_at, updated_at = row
    return Highlight(id_, entry_id, title, url, Passage(quote, prefix, suffix), note, created_at, updated_at)
