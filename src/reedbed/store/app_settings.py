"""Small things the program itself must remember."""

from sqlalchemy import bindparam
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import app_settings

_GET = Statement(select(app_settings.c.value).where(app_settings.c.key == bindparam("key")))
_KEEP_FIRST = Statement(
    insert(app_settings)
    .values(key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now"))
    .on_conflict_do_nothing(index_elements=["key"])
)
_upsert = insert(app_settings).values(
    key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now")
)
_SET = Statement(
    _upsert.on_conflict_do_update(
        index_elements=["key"],
        set_={"value": _upsert.excluded.value, "updated_at": _upsert.excluded.updated_at},
    )
)


async def get(tx: Tx, key: str) -> str | None:
    return await tx.value(_GET, {"key": key})


async def put(tx: Tx, key: str, value: str, now: Instant) -> None:
    await tx.run(_SET, {"key": key, "value": value, "now": now})


async def keep_first(tx: Tx, key: str, value: str, now: Instant) -> str:
    """Store `value` unless there is one already; the one that stays."""
    await tx.run(_KEEP_FIRST, {"key": key, "value": value, "now": now})
    kept = await get(tx, key)
    assert kept is not None
    return kept
