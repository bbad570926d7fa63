"""Work that outlives a request: rows that workers lease, run and report on."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Text, and_, bindparam, delete, insert, null, or_, update

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.dialect import among, chosen_once
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import jobs


@record
class Job:
    id: int
    user_id: int | None
    kind: str
    payload: Mapping[str, Any]
    state: str
    """pending, running, done or failed."""
    report: Mapping[str, Any]
    progress: float
    """From 0 to 1."""
    attempts: int
    created_at: Instant
    finished_at: Instant | None


@record
class UnderWay:
    kind: str
    progress: float
    created_at: Instant


_UNDER_WAY = Statement(
    select(jobs.c.kind, jobs.c.progress, jobs.c.created_at)
    .where(jobs.c.state == "running")
    .order_by(jobs.c.id)
    .limit(20)
)
_COLUMNS = (
    jobs.c.id,
    jobs.c.user_id,
    jobs.c.kind,
    jobs.c.payload,
    jobs.c.state,
    jobs.c.report,
    jobs.c.progress,
    jobs.c.attempts,
    jobs.c.created_at,
    jobs.c.finished_at,
)
_ADD = Statement(
    insert(jobs).returning(jobs.c.id), columns=["user_id", "kind", "payload", "run_at", "created_at"]
)
_due = (
    select(jobs.c.id)
    .where(
        among(jobs.c.kind, "kinds", Text()),
        jobs.c.run_at <= bindparam("now"),
        or_(
            jobs.c.state == "pending",
            and_(jobs.c.state == "running", jobs.c.leased_until <= bindparam("now")),
        ),
    )
    .order_by(jobs.c.run_at, jobs.c.id)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_CLAIM = Statement(
    update(jobs)
    .where(jobs.c.id.in_(chosen_once(_due)))
    .values(
        state="running",
        attempts=jobs.c.attempts + 1,
        lease_holder=bindparam("holder"),
        leased_until=bindparam("until"),
    )
    .returning(*_COLUMNS)
)
_mine = (jobs.c.id == bindparam("job_id"), jobs.c.lease_holder == bindparam("holder"))
_RENEW = Statement(update(jobs).where(*_mine).values(leased_until=bindparam("until")))
_NOTE = Statement(update(jobs).where(*_mine).values(progress=bindparam("share"), report=bindparam("said")))
_PUT_OFF = Statement(
    update(jobs)
    .where(*_mine)
    .values(state="pending", run_at=bindparam("at"), lease_holder=null(), leased_until=null())
)
_REWIND = Statement(update(jobs).where(*_mine).values(attempts=bindparam("tries")))
_FINISH = Statement(
    update(jobs)
    .where(*_mine)
    .values(
        state=bindparam("end"),
        report=bindparam("said"),
        progress=1.0,
        finished_at=bindparam("now"),
        lease_holder=null(),
        leased_until=null(),
    )
)
_GET = Statement(
    select(*_COLUMNS).where(
        jobs.c.id == bindparam("job_id"),
        jobs.c.user_id == bindparam("user"),
        jobs.c.kind == bindparam("what"),
    )
)
_OPEN = Statement(
    select(func.count())
    .select_from(jobs)
    .where(
        jobs.c.user_id == bindparam("user"),
        jobs.c.kind == bindparam("what"),
        jobs.c.finished_at.is_(None),
    )
)
_START = Statement(
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"))
    .values(run_at=bindparam("at"), payload=bindparam("given"))
)
_FORGET = Statement(delete(jobs).where(jobs.c.finished_at < bindparam("before")))


async def add(
    tx: Tx,
    kind: str,
    payload: Mapping[str, Any],
    *,
    now: Instant,
    user_id: int | None = None,
    run_at: Instant | None = None,
) -> int:
    return await tx.value(
        _ADD,
        {
            "user_id": user_id,
            "kind": kind,
            "payload": _json(payload),
            "run_at": now if run_at is None else run_at,
            "created_at": now,
        },
    )


async def get(tx: Tx, user_id: int, kind: str, job_id: int) -> Job | None:
    row = await tx.one(_GET, {"job_id": job_id, "user": user_id, "what": kind})
    return None if row is None else _job(row)


async def how_many_open(tx: Tx, user_id: int, kind: str) -> int:
    """Of this user's, those that have not ended."""
    return await tx.value(_OPEN, {"user": user_id, "what": kind})


async def start(tx: Tx, job_id: int, payload: Mapping[str, Any], at: Instant) -> None:
    """What it needs is all there."""
    await tx.run(_START, {"job_id": job_id, "given": _json(payload), "at": at})


async def claim(
    tx: Tx, kinds: Sequence[str], holder: str, now: Instant, until: Instant, *, most: int = 1
) -> list[Job]:
    params = {"kinds": list(kinds), "holder": holder, "now": now, "until": until, "most": most}
    return [_job(row) for row in await tx.all(_CLAIM, params)]


async def renew(tx: Tx, job_id: int, holder: str, until: Instant) -> bool:
    """False when the job is no longer ours."""
    return await tx.run(_RENEW, {"job_id": job_id, "holder": holder, "until": until}) == 1


async def note(tx: Tx, job_id: int, holder: str, progress: float, report: Mapping[str, Any]) -> None:
    await tx.run(_NOTE, {"job_id": job_id, "holder": holder, "share": progress, "said": _json(report)})


async def put_off(tx: Tx, job_id: int, holder: str, at: Instant) -> None:
    await tx.run(_PUT_OFF, {"job_id": job_id, "holder": holder, "at": at})


async def forgive(tx: Tx, job_id: int, holder: str, attempts: int) -> None:
    """The attempt under way does not count: the job only waits for something."""
    await tx.run(_REWIND, {"job_id": job_id, "holder": holder, "tries": attempts})


async def finish(
    tx: Tx, job_id: int, holder: str, now: Instant, report: Mapping[str, Any], *, failed: bool = False
) -> None:
    end = "failed" if failed else "done"
    await tx.run(_FINISH, {"job_id": job_id, "holder": holder, "now": now, "said": _json(report), "end": end})


async def forget(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})


def _json(value: Mapping[str, Any]) -> str:
    return orjson.dumps(value).decode()


def _job(row: Row) -> Job:
    id_, user_id, kind, payload, state, report, progress, attempts, created_at, finished_at = row
    return Job(
        id_,
        user_id,
        kind,
        orjson.loads(payload),
        state,
        orjson.loads(report),
        progress,
        attempts,
        created_at,
        finished_at,
    )


async def under_way(tx: Tx) -> list[UnderWay]:
    """What runs just now, at most twenty."""
    return [UnderWay(*row) for row in await tx.all(_UNDER_WAY)]
