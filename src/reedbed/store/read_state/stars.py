"""Stars, saved for later and muted entries, and the history of what a user opened recently."""

from typing import Literal

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, bindparam, delete

from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, CommandFamily, Query, among, insert, select
from reedbed.store.entries.columns import has_flag, visible
from reedbed.store.tables import entries, entry_tags, later, muted, read_history, starred

Mark = Literal["starred", "later"]

_TABLES = {"starred": starred, "later": later, "muted": muted}
_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)


async def set_flag(tx: Tx, user_id: int, mark: Mark, entry_ids: list[int], now: Instant) -> int:
    """Flag those entries that this user can see; returns how many were not flagged before."""
    return await tx.run(_SET_FLAG(mark), {"user_id": user_id, "ids": entry_ids, "now": now})


async def clear_flag(tx: Tx, user_id: int, mark: Mark, entry_ids: list[int]) -> int:
    return await tx.run(_CLEAR_FLAG(mark), {"user_id": user_id, "ids": entry_ids})


async def mute(tx: Tx, user_id: int, entry_ids: list[int], now: Instant) -> None:
    """Hide those entries that this user can see and has not starred, saved for later or tagged.

    They must have been marked read before.
    """
    await tx.run(_SET_FLAG("muted"), {"user_id": user_id, "ids": entry_ids, "now": now})
    await tx.run(_DELETE_MUTED_READS, {"user_id": user_id, "ids": entry_ids})


async def unmute(tx: Tx, user_id: int, entry_ids: list[int]) -> None:
    await tx.run(_CLEAR_FLAG("muted"), {"user_id": user_id, "ids": entry_ids})


def _insert_flags(mark: str) -> ClauseElement:
    visible_entries = select(_USER, entries.c.sort_at, entries.c.id, bindparam("now", type_=BigInteger)).where(
        among(entries.c.id, "ids"), visible()
    )
    if mark == "muted":
        visible_entries = visible_entries.where(
            *(~has_flag(table, entries.c.id) for table in (starred, later, entry_tags))
        )
    # Waits for a concurrent delete of an entry, and then leaves it out.
    locked = visible_entries.with_for_update(read=True, key_share=True, of=entries)
    rows = insert(_TABLES[mark]).from_select(["user_id", "sort_at", "entry_id", "marked_at"], locked)
    return rows.on_conflict_do_nothing()


def _delete_flags(mark: str) -> ClauseElement:
    table = _TABLES[mark]
    return delete(table).where(table.c.user_id == _USER, among(table.c.entry_id, "ids"))


_DELETE_MUTED_READS = Command(
    delete(read_history).where(
        read_history.c.user_id == _USER, among(read_history.c.entry_id, "ids"), has_flag(muted, read_history.c.entry_id)
    )
)
_SET_FLAG = CommandFamily(_insert_flags)
_CLEAR_FLAG = CommandFamily(_delete_flags)


# --- History

_ROWS = insert(read_history).from_select(
    ["user_id", "entry_id", "read_at"],
    select(_USER, entries.c.id, bindparam("now", type_=BigInteger)).where(among(entries.c.id, "ids"), visible()),
)
_RECORD_READS = Command(
    _ROWS.on_conflict_do_update(index_elements=["user_id", "entry_id"], set_={"read_at": _ROWS.excluded.read_at})
)
_SINCE = Query(
    select(read_history.c.entry_id).where(
        read_history.c.user_id == _USER, read_history.c.read_at >= bindparam("since")
    ),
    into=int,
)
_DELETE_READS = Command(delete(read_history).where(read_history.c.read_at < bindparam("before")))


async def record_reads(tx: Tx, user_id: int, entry_ids: list[int], now: Instant) -> None:
    await tx.run(_RECORD_READS, {"user_id": user_id, "ids": entry_ids, "now": now})


async def read_since(tx: Tx, user_id: int, since: Instant) -> list[int]:
    return await tx.all(_SINCE, {"user_id": user_id, "since": since})


async def delete_reads_before(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_READS, {"before": before})
