"""The log of cleanups, and the word to those whose unread entries went."""

from collections.abc import Mapping

from sqlalchemy import BigInteger, Text, bindparam, delete, update
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import LEEWAY, Instant
from reedbed.store.database import Tx
from reedbed.store.keyset import HIGHEST
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import cleanup_notices, cleanups


@record
class Cleanup:
    id: int
    started_at: Instant
    finished_at: Instant | None = None
    entries_removed: int = 0
    unread_removed: int = 0
    articles_cleared: int = 0
    failures_removed: int = 0
    feeds_removed: int = 0
    bytes_freed: int = 0
    age_days: int | None = None
    """How far the size of the database made it go; None: no further than set."""
    notes: str = ""


@record
class Notice:
    unread_removed: int
    removed_at: Instant


_COUNTED = (
    "entries_removed",
    "unread_removed",
    "articles_cleared",
    "failures_removed",
    "feeds_removed",
    "bytes_freed",
)
_COLUMNS = (
    cleanups.c.id,
    cleanups.c.started_at,
    cleanups.c.finished_at,
    *(cleanups.c[name] for name in _COUNTED),
    cleanups.c.age_days,
    cleanups.c.notes,
)
_BEGIN = Statement(plain_insert(cleanups).returning(cleanups.c.id), columns=["started_at"])
_UNFINISHED = Statement(
    select(*_COLUMNS).where(cleanups.c.finished_at.is_(None)).order_by(cleanups.c.id.desc()).limit(1)
)
_LATEST = Statement(
    select(func.max(cleanups.c.started_at)).where(
        cleanups.c.finished_at.is_not(None), cleanups.c.started_at <= bindparam("limit")
    )
)
_ADD = Statement(
    update(cleanups)
    .where(cleanups.c.id == bindparam("cleanup"))
    .values({name: cleanups.c[name] + bindparam(f"more_{name}", type_=BigInteger) for name in _COUNTED})
)
_FINISH = Statement(
    update(cleanups)
    .where(cleanups.c.id == bindparam("cleanup"))
    .values(
        finished_at=bindparam("now"),
        age_days=bindparam("days", type_=BigInteger),
        notes=bindparam("said", type_=Text()),
    )
)
_NEWEST = Statement(
    select(*_COLUMNS)
    .where(cleanups.c.id < bindparam("before"))
    .order_by(cleanups.c.id.desc())
    .limit(bindparam("most"))
)
_GET = Statement(select(*_COLUMNS).where(cleanups.c.id == bindparam("id")))
_FORGET = Statement(delete(cleanups).where(cleanups.c.started_at < bindparam("before")))

_notice = insert(cleanup_notices).values(
    {name: bindparam(name) for name in ("user_id", "unread_removed", "removed_at")}
)
_TELL = Statement(
    _notice.on_conflict_do_update(
        index_elements=["user_id"],
        set_={
            "unread_removed": cleanup_notices.c.unread_removed + _notice.excluded.unread_removed,
            "removed_at": _notice.excluded.removed_at,
        },
    )
)
_NOTICE = Statement(
    select(cleanup_notices.c.unread_removed, cleanup_notices.c.removed_at).where(
        cleanup_notices.c.user_id == bindparam("user_id")
    )
)
_DISMISS = Statement(delete(cleanup_notices).where(cleanup_notices.c.user_id == bindparam("user_id")))


async def begin(tx: Tx, now: Instant) -> Cleanup:
    """A new cleanup, or the one that was broken off."""
    row = await tx.one(_UNFINISHED)
    return Cleanup(*row) if row else Cleanup(await tx.value(_BEGIN, {"started_at": now}), now)


async def latest(tx: Tx, now: Instant) -> Instant | None:
    """When the last one that came to its end began; what only a wrong clock has written does not count."""
    return await tx.value(_LATEST, {"limit": now + LEEWAY})


async def is_unfinished(tx: Tx) -> bool:
    return await tx.one(_UNFINISHED) is not None


async def add(tx: Tx, cleanup_id: int, **more: int) -> None:
    """Count what was done, in the transaction that does it."""
    counted = {f"more_{name}": more.get(name, 0) for name in _COUNTED}
    await tx.run(_ADD, {"cleanup": cleanup_id, **counted})


async def finish(tx: Tx, cleanup_id: int, now: Instant, *, age_days: int | None, notes: str) -> Cleanup:
    await tx.run(_FINISH, {"cleanup": cleanup_id, "now": now, "days": age_days, "said": notes})
    row = await tx.one(_GET, {"id": cleanup_id})
    assert row is not None
    return Cleanup(*row)


async def newest(tx: Tx, *, limit: int, before: int | None = None) -> list[Cleanup]:
    params = {"before": HIGHEST if before is None else before, "most": limit}
    return [Cleanup(*row) for row in await tx.all(_NEWEST, params)]


async def forget(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})


async def tell(tx: Tx, lost: Mapping[int, int], now: Instant) -> None:
    """Note for each user how many of their unread entries went."""
    await tx.run_each(
        _TELL,
        [
            {"user_id": user_id, "unread_removed": count, "removed_at": now}
            for user_id, count in sorted(lost.items())
        ],
    )


async def notice(tx: Tx, user_id: int) -> Notice | None:
    row = await tx.one(_NOTICE, {"user_id": user_id})
    return Notice(*row) if row else None


async def dismiss(tx: Tx, user_id: int) -> bool:
    return await tx.run(_DISMISS, {"user_id": user_id}) > 0
