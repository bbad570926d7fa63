"""The log of cleanups, and the notices about them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import BigInteger, Text, bindparam, delete, update
from sqlalchemy import insert as plain_insert

from reedbed.domain.failures import Failure, untranslated
from reedbed.domain.records import record
from reedbed.domain.times import LEEWAY, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Command, Query, func, insert, optional, select
from reedbed.store.tables import cleanup_notices, cleanups

_SHORTENED = "Only %s days of read entries are kept."


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
    """Age limit that the database size forced; None if the configured limits were enough."""
    problems: tuple[Failure, ...] = ()

    @property
    def notes(self) -> str:
        """What is unusual about it, in English: for the API and the command line."""
        kept = [] if self.age_days is None else [_SHORTENED % self.age_days]
        return " ".join((*kept, *(problem.message for problem in self.problems)))


def _cleanup(*columns: Any) -> Cleanup:
    *values, notes = columns
    cleanup = Cleanup(*values)
    return replace(cleanup, problems=_load_problems(notes, cleanup.age_days))


def _load_problems(stored: str, age_days: int | None) -> tuple[Failure, ...]:
    """Version 0.1 stored sentences."""
    if stored.startswith("["):
        return tuple(map(Failure.load, orjson.loads(stored)))
    text = stored if age_days is None else stored.removeprefix(_SHORTENED % age_days).strip()
    return (untranslated(text),) if text else ()


@record
class CleanupNotice:
    unread_removed: int
    removed_at: Instant


_COUNTERS = (
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
    *(cleanups.c[name] for name in _COUNTERS),
    cleanups.c.age_days,
    cleanups.c.notes,
)
_BEGIN = Query(plain_insert(cleanups).returning(cleanups.c.id), columns=["started_at"], into=int)
_UNFINISHED = Query(
    select(*_COLUMNS).where(cleanups.c.finished_at.is_(None)).order_by(cleanups.c.id.desc()).limit(1), into=_cleanup
)
_LATEST = Query(
    select(func.max(cleanups.c.started_at)).where(
        cleanups.c.finished_at.is_not(None), cleanups.c.started_at <= bindparam("limit")
    ),
    into=optional(int),
)
_ADD_COUNTS = Command(
    update(cleanups)
    .where(cleanups.c.id == bindparam("cleanup"))
    .values({name: cleanups.c[name] + bindparam(f"more_{name}", type_=BigInteger) for name in _COUNTERS})
)
_FINISH = Command(
    update(cleanups)
    .where(cleanups.c.id == bindparam("cleanup"))
    .values(
        finished_at=bindparam("now"),
        age_days=bindparam("days", type_=BigInteger),
        notes=bindparam("text", type_=Text()),
    )
)
_NEWEST = Query(
    select(*_COLUMNS)
    .where(cleanups.c.id < bindparam("before"))
    .order_by(cleanups.c.id.desc())
    .limit(bindparam("limit")),
    into=_cleanup,
)
_GET = Query(select(*_COLUMNS).where(cleanups.c.id == bindparam("id")), into=_cleanup)
_DELETE_OLD = Command(delete(cleanups).where(cleanups.c.started_at < bindparam("before")))
_notice = insert(cleanup_notices).values(
    {name: bindparam(name) for name in ("user_id", "unread_removed", "removed_at")}
)
_ADD_NOTICE = Command(
    _notice.on_conflict_do_update(
        index_elements=["user_id"],
        set_={
            "unread_removed": cleanup_notices.c.unread_removed + _notice.excluded.unread_removed,
            "removed_at": _notice.excluded.removed_at,
        },
    )
)
_GET_NOTICE = Query(
    select(cleanup_notices.c.unread_removed, cleanup_notices.c.removed_at).where(
        cleanup_notices.c.user_id == bindparam("user_id")
    ),
    into=CleanupNotice,
)
_DISMISS = Command(delete(cleanup_notices).where(cleanup_notices.c.user_id == bindparam("user_id")))


async def begin_cleanup(tx: Tx, now: Instant) -> Cleanup:
    """Return the unfinished cleanup if there is one, else start a new one."""
    return await tx.one(_UNFINISHED) or Cleanup(await tx.get(_BEGIN, {"started_at": now}), now)


async def latest_cleanup(tx: Tx, now: Instant) -> Instant | None:
    """Return when the last finished cleanup began. Ignores times in the future, written by a wrong clock."""
    return await tx.one(_LATEST, {"limit": now + LEEWAY})


async def is_cleanup_unfinished(tx: Tx) -> bool:
    return await tx.one(_UNFINISHED) is not None


async def add_to_cleanup(tx: Tx, cleanup_id: int, **more: int) -> None:
    """Add to the cleanup's counters; call it in the transaction that does the work."""
    params = {f"more_{name}": more.get(name, 0) for name in _COUNTERS}
    await tx.run(_ADD_COUNTS, {"cleanup": cleanup_id, **params})


async def finish_cleanup(
    tx: Tx, cleanup_id: int, now: Instant, *, age_days: int | None, problems: Sequence[Failure]
) -> Cleanup:
    stored = orjson.dumps([problem.dump() for problem in problems]).decode()
    await tx.run(_FINISH, {"cleanup": cleanup_id, "now": now, "days": age_days, "text": stored})
    return await tx.get(_GET, {"id": cleanup_id})


async def list_cleanups(tx: Tx, *, limit: int, before: int | None = None) -> list[Cleanup]:
    params = {"before": HIGHEST if before is None else before, "limit": limit}
    return await tx.all(_NEWEST, params)


async def delete_old_cleanups(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD, {"before": before})


async def add_notice(tx: Tx, lost: Mapping[int, int], now: Instant) -> None:
    """Record for each user how many of their unread entries were deleted."""
    await tx.run_many(
        _ADD_NOTICE,
        [{"user_id": user_id, "unread_removed": count, "removed_at": now} for user_id, count in sorted(lost.items())],
    )


async def get_notice(tx: Tx, user_id: int) -> CleanupNotice | None:
    return await tx.one(_GET_NOTICE, {"user_id": user_id})


async def dismiss_notice(tx: Tx, user_id: int) -> bool:
    return await tx.run(_DISMISS, {"user_id": user_id}) > 0
