"""What a user opened lately: a short list, newest reading first."""

from sqlalchemy import BigInteger, ColumnElement, bindparam, delete
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.entry_columns import visible
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, read_history

_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)
_ROWS = insert(read_history).from_select(
    ["user_id", "entry_id", "read_at"],
    select(_USER, entries.c.id, bindparam("now", type_=BigInteger)).where(
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
        read_history.c.user_id == _USER, read_history.c.read_at >= bindparam("since")
    )
)
_FORGET = Statement(delete(read_history).where(read_history.c.read_at < bindparam("before")))


async def note(tx: Tx, user_id: int, entry_ids: list[int], now: Instant) -> None:
    await tx.run(_NOTE, {"user_id": user_id, "ids": entry_ids, "now": now})


async def read_since(tx: Tx, user_id: int, moment: Instant) -> list[int]:
    return [row[0] for row in await tx.all(_SINCE, {"user_id": user_id, "since": moment})]


async def forget_before(tx: Tx, moment: Instant) -> int:
    return await tx.run(_FORGET, {"before": moment})
