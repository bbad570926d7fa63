"""Stars and the later list: small tables of their own, with the entry's place in the order of lists."""

from typing import Literal

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.entry_columns import visible
from reedbed.store.sql import select
from reedbed.store.statements import Shapes
from reedbed.store.tables import entries, later, starred

Mark = Literal["starred", "later"]

_TABLES = {"starred": starred, "later": later}
_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)


async def put(tx: Tx, user_id: int, mark: Mark, entry_ids: list[int], now: Instant) -> int:
    """Mark those of the entries that this user can see; how many had not been."""
    return await tx.run(_PUT(mark), {"user_id": user_id, "ids": entry_ids, "now": now})


async def take(tx: Tx, user_id: int, mark: Mark, entry_ids: list[int]) -> int:
    return await tx.run(_TAKE(mark), {"user_id": user_id, "ids": entry_ids})


def _put(mark: Mark) -> ClauseElement:
    seen = select(_USER, entries.c.sort_at, entries.c.id, bindparam("now", type_=BigInteger)).where(
        among(entries.c.id, "ids"), visible()
    )
    # One that is being removed at this moment is waited for, and left out.
    held = seen.with_for_update(read=True, key_share=True, of=entries)
    rows = insert(_TABLES[mark]).from_select(["user_id", "sort_at", "entry_id", "marked_at"], held)
    return rows.on_conflict_do_nothing()


def _take(mark: Mark) -> ClauseElement:
    table = _TABLES[mark]
    return delete(table).where(table.c.user_id == _USER, among(table.c.entry_id, "ids"))


_PUT = Shapes(_put)
_TAKE = Shapes(_take)
