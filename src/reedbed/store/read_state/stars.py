"""What a user opened lately: a short list, newest reading first."""

from typing import Literal

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Shapes, Statement, among, select
from reedbed.store.entries.columns import has_mark, visible
from reedbed.store.tables import entries, entry_tags, later, muted, read_history, starred

Mark = Literal["starred", "later"]

_TABLES = {"starred": starred, "later": later, "muted": muted}
_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)


async def set_flag(tx: Tx, user_id: int, mark: Mark, entry_ids: list[int], now: Instant) -> int:
    """Mark those of the entries that this user can see; how many had not been."""
    return await tx.run(_PUT(mark), {"user_id": user_id, "ids": entry_ids, "now": now})


async def clear_flag(tx: Tx, user_id: int, mark: Mark, entry_ids: list[int]) -> int:
    return await tx.run(_TAKE(mark), {"user_id": user_id, "ids": entry_ids})


async def mute(tx: Tx, user_id: int, entry_ids: list[int], now: Instant) -> None:
    """Hide those of the entries that this user can see and keeps by no star, for later or by a tag.

    They have to be read already.
    """
    await tx.run(_PUT("muted"), {"user_id": user_id, "ids": entry_ids, "now": now})
    await tx.run(_FORGET_READING, {"user_id": user_id, "ids": entry_ids})


async def unmute(tx: Tx, user_id: int, entry_ids: list[int]) -> None:
    await tx.run(_TAKE("muted"), {"user_id": user_id, "ids": entry_ids})


def _put(mark: str) -> ClauseElement:
    seen = select(_USER, entries.c.sort_at, entries.c.id, bindparam("now", type_=BigInteger)).where(
        among(entries.c.id, "ids"), visible()
    )
    if mark == "muted":
        seen = seen.where(*(~has_mark(table, entries.c.id) for table in (starred, later, entry_tags)))
    # One that is being removed at this moment is waited for, and left out.
    held = seen.with_for_update(read=True, key_share=True, of=entries)
    rows = insert(_TABLES[mark]).from_select(["user_id", "sort_at", "entry_id", "marked_at"], held)
    return rows.on_conflict_do_nothing()


def _take(mark: str) -> ClauseElement:
    table = _TABLES[mark]
    return delete(table).where(table.c.user_id == _USER, among(table.c.entry_id, "ids"))


_FORGET_READING = Statement(
    delete(read_history).where(
        read_history.c.user_id == _USER,
        among(read_history.c.entry_id, "ids"),
        has_mark(muted, read_history.c.entry_id),
    )
)
_PUT = Shapes(_put)
_TAKE = Shapes(_take)


_READER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)
_ROWS = insert(read_history).from_select(
    ["user_id", "entry_id", "read_at"],
    select(_READER, entries.c.id, bindparam("now", type_=BigInteger)).where(
        among(entries.c.id, "ids"), visible()
    ),
)
_NOTE = Statement(
    _ROWS.on_conflict_do_update(
        index_elements=["user_id", "entry_id"], set_={"read_at": _ROWS.excluded.read_at}
    )
)
_SINCE = Statement(
    select(read_history.c.entry_id).where(
        read_history.c.user_id == _READER, read_history.c.read_at >= bindparam("since")
    )
)
_FORGET = Statement(delete(read_history).where(read_history.c.read_at < bindparam("before")))


async def record_reads(tx: Tx, user_id: int, entry_ids: list[int], now: Instant) -> None:
    await tx.run(_NOTE, {"user_id": user_id, "ids": entry_ids, "now": now})


async def read_since(tx: Tx, user_id: int, moment: Instant) -> list[int]:
    return [row[0] for row in await tx.all(_SINCE, {"user_id": user_id, "since": moment})]


async def delete_reads_before(tx: Tx, moment: Instant) -> int:
    return await tx.run(_FORGET, {"before": moment})
