"""Jobs and their batches, leases, and the list of running processes."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import orjson
from sqlalchemy import BigInteger, Column, Table, Text, and_, bindparam, delete, insert, null, or_, update

from reedbed.domain.records import record
from reedbed.domain.times import SECOND, Instant, Millis
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Command,
    Query,
    among,
    database_now,
    delete_some,
    func,
    row_of,
    select,
    select_once,
)
from reedbed.store.engine.statements import insert as upsert
from reedbed.store.tables import job_pieces, jobs, leases, metadata, processes

# --- Jobs


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
class RunningJob:
    kind: str
    progress: float
    created_at: Instant


_RUNNING = Query(
    select(jobs.c.kind, jobs.c.progress, jobs.c.created_at)
    .where(jobs.c.state == "running")
    .order_by(jobs.c.id)
    .limit(20),
    into=RunningJob,
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
_ADD = Query(
    insert(jobs).returning(jobs.c.id), columns=["user_id", "kind", "payload", "run_at", "created_at"], into=int
)
_due = (
    select(jobs.c.id)
    .where(
        among(jobs.c.kind, "kinds", Text()),
        jobs.c.run_at <= bindparam("now"),
        or_(jobs.c.state == "pending", and_(jobs.c.state == "running", jobs.c.leased_until <= bindparam("now"))),
    )
    .order_by(jobs.c.run_at, jobs.c.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)


def _job(
    id_: int,
    user_id: int | None,
    kind: str,
    payload: str,
    state: str,
    report: str,
    progress: float,
    attempts: int,
    created_at: int,
    finished_at: int | None,
) -> Job:
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


_CLAIM = Query(
    update(jobs)
    .where(jobs.c.id.in_(select_once(_due)))
    .values(
        state="running", attempts=jobs.c.attempts + 1, lease_holder=bindparam("holder"), leased_until=bindparam("until")
    )
    .returning(*_COLUMNS),
    into=_job,
)
_is_leased_to_us = (jobs.c.id == bindparam("job_id"), jobs.c.lease_holder == bindparam("holder"))
_RENEW = Command(update(jobs).where(*_is_leased_to_us).values(leased_until=bindparam("until")))
_RECORD_PROGRESS = Command(
    update(jobs).where(*_is_leased_to_us).values(progress=bindparam("share"), report=bindparam("text"))
)
_POSTPONE = Command(
    update(jobs)
    .where(*_is_leased_to_us)
    .values(state="pending", run_at=bindparam("at"), lease_holder=null(), leased_until=null())
)
_SET_ATTEMPTS = Command(update(jobs).where(*_is_leased_to_us).values(attempts=bindparam("tries")))
_FINISH = Command(
    update(jobs)
    .where(*_is_leased_to_us)
    .values(
        state=bindparam("end"),
        report=bindparam("text"),
        progress=1.0,
        finished_at=bindparam("now"),
        lease_holder=null(),
        leased_until=null(),
    )
)
_GET = Query(
    select(*_COLUMNS).where(
        jobs.c.id == bindparam("job_id"), jobs.c.user_id == bindparam("user"), jobs.c.kind == bindparam("what")
    ),
    into=_job,
)
_COUNT_OPEN = Query(
    select(func.count())
    .select_from(jobs)
    .where(jobs.c.user_id == bindparam("user"), jobs.c.kind == bindparam("what"), jobs.c.finished_at.is_(None)),
    into=int,
)
_START = Command(
    update(jobs).where(jobs.c.id == bindparam("job_id")).values(run_at=bindparam("at"), payload=bindparam("given"))
)
_DELETE_FINISHED = Command(delete(jobs).where(jobs.c.finished_at < bindparam("before")))


async def add(
    tx: Tx,
    kind: str,
    payload: Mapping[str, object],
    *,
    now: Instant,
    user_id: int | None = None,
    run_at: Instant | None = None,
) -> int:
    return await tx.get(
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
    return await tx.one(_GET, {"job_id": job_id, "user": user_id, "what": kind})


async def count_open(tx: Tx, user_id: int, kind: str) -> int:
    """Count this user's unfinished jobs of this kind."""
    return await tx.get(_COUNT_OPEN, {"user": user_id, "what": kind})


async def start(tx: Tx, job_id: int, payload: Mapping[str, object], at: Instant) -> None:
    """Schedule a job once all its data is stored."""
    await tx.run(_START, {"job_id": job_id, "given": _json(payload), "at": at})


async def claim(
    tx: Tx, kinds: Sequence[str], holder: str, now: Instant, until: Instant, *, limit: int = 1
) -> list[Job]:
    params = {"kinds": list(kinds), "holder": holder, "now": now, "until": until, "limit": limit}
    return await tx.all(_CLAIM, params)


async def renew(tx: Tx, job_id: int, holder: str, until: Instant) -> bool:
    """Return False if the job is leased to another worker now."""
    return await tx.run(_RENEW, {"job_id": job_id, "holder": holder, "until": until}) == 1


async def record_progress(tx: Tx, job_id: int, holder: str, progress: float, report: Mapping[str, object]) -> None:
    await tx.run(_RECORD_PROGRESS, {"job_id": job_id, "holder": holder, "share": progress, "text": _json(report)})


async def put_off(tx: Tx, job_id: int, holder: str, at: Instant) -> None:
    await tx.run(_POSTPONE, {"job_id": job_id, "holder": holder, "at": at})


async def uncount_attempt(tx: Tx, job_id: int, holder: str, attempts: int) -> None:
    """Do not count the running attempt: the job only waits for something."""
    await tx.run(_SET_ATTEMPTS, {"job_id": job_id, "holder": holder, "tries": attempts})


async def finish(
    tx: Tx, job_id: int, holder: str, now: Instant, report: Mapping[str, object], *, failed: bool = False
) -> None:
    state = "failed" if failed else "done"
    await tx.run(_FINISH, {"job_id": job_id, "holder": holder, "now": now, "text": _json(report), "end": state})


async def delete_finished(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_FINISHED, {"before": before})


def _json(value: Mapping[str, object]) -> str:
    return orjson.dumps(value).decode()


async def under_way(tx: Tx) -> list[RunningJob]:
    """Return at most twenty running jobs."""
    return await tx.all(_RUNNING)


# --- Batches: the data of a job, in parts

_new_batch = upsert(job_pieces)
_ADD_BATCH = Command(
    _new_batch.on_conflict_do_update(
        index_elements=["job_id", "number"], set_={name: _new_batch.excluded[name] for name in ("kind", "data")}
    ),
    columns=["job_id", "number", "kind", "data"],
)
_of_job = job_pieces.c.job_id == bindparam("job_id")
_GET_BATCH = Query(
    select(job_pieces.c.kind, job_pieces.c.data).where(_of_job, job_pieces.c.number == bindparam("number")),
    into=row_of(str, bytes),
)
_DELETE_BATCH = Command(delete(job_pieces).where(_of_job, job_pieces.c.number == bindparam("number")))
_finished_jobs = select(jobs.c.id).where(jobs.c.finished_at.is_not(None))
_DELETE_OLD_BATCHES = Command(delete_some(job_pieces, job_pieces.c.job_id.in_(_finished_jobs)))


async def add_batch(tx: Tx, job_id: int, number: int, kind: str, data: bytes) -> None:
    await tx.run(_ADD_BATCH, {"job_id": job_id, "number": number, "kind": kind, "data": data})


async def get_batch(tx: Tx, job_id: int, number: int) -> tuple[str, bytes] | None:
    row = await tx.one(_GET_BATCH, {"job_id": job_id, "number": number})
    return None if row is None else (row[0], bytes(row[1]))


async def add_secret(tx: Tx, job_id: int, number: int, kind: str, text: str) -> None:
    await add_batch(tx, job_id, number, kind, tx.vault.encrypt("job_pieces.data", text).encode())


async def get_secret(tx: Tx, job_id: int, number: int, kind: str) -> str | None:
    """Return None if there is none of this kind or it cannot be decrypted here."""
    batch = await get_batch(tx, job_id, number)
    if batch is None or batch[0] != kind:
        return None
    return tx.vault.decrypt("job_pieces.data", batch[1].decode())


async def delete_batches(tx: Tx, job_id: int, number: int) -> None:
    await tx.run(_DELETE_BATCH, {"job_id": job_id, "number": number})


async def delete_old_batches(tx: Tx, *, limit: int) -> int:
    """Delete batches of finished jobs."""
    return await tx.run(_DELETE_OLD_BATCHES, {"limit": limit})


# --- Leases

_new_lease = upsert(leases).values(
    {name: bindparam(name) for name in ("name", "holder", "taken_at", "heartbeat_at", "expires_at")}
)
_ACQUIRE_LEASE = Query(
    _new_lease.on_conflict_do_update(
        index_elements=["name"],
        set_={name: _new_lease.excluded[name] for name in ("holder", "taken_at", "heartbeat_at", "expires_at")},
        where=or_(leases.c.expires_at <= bindparam("taken_at"), leases.c.holder == bindparam("holder")),
    ).returning(leases.c.name),
    into=str,
)
_RENEW_LEASE = Command(
    update(leases)
    .where(leases.c.name == bindparam("lease"), leases.c.holder == bindparam("who"))
    .values(heartbeat_at=bindparam("now"), expires_at=bindparam("until"))
)
_RELEASE_LEASE = Command(delete(leases).where(leases.c.name == bindparam("lease"), leases.c.holder == bindparam("who")))


async def acquire_lease(tx: Tx, name: str, holder: str, now: Instant, ttl: Millis) -> bool:
    """Take the lease if it is free, expired or already ours."""
    row = await tx.one(
        _ACQUIRE_LEASE, {"name": name, "holder": holder, "taken_at": now, "heartbeat_at": now, "expires_at": now + ttl}
    )
    return row is not None


async def renew_lease(tx: Tx, name: str, holder: str, now: Instant, ttl: Millis) -> bool:
    """Return False if another process has taken it."""
    return await tx.run(_RENEW_LEASE, {"lease": name, "who": holder, "now": now, "until": now + ttl}) == 1


async def release_lease(tx: Tx, name: str, holder: str) -> None:
    await tx.run(_RELEASE_LEASE, {"lease": name, "who": holder})


# --- Processes

ENDED = 0
"""Expiry time of a revoked lease: the next claim treats it as expired."""


@record
class Process:
    name: str
    role: str
    version: str
    started_at: Instant
    silent_for: Millis
    in_hand: dict[str, int] = field(default_factory=dict[str, int])
    """Number of leased rows by table."""
    chores: tuple[str, ...] = ()
    """Periodic chores whose lease it holds."""


def _leased_tables() -> list[tuple[Table, Column[int]]]:
    """Return every table with leased rows, and its column for the lease's expiry or start."""
    tables: list[tuple[Table, Column[int]]] = []
    for table in metadata.tables.values():
        if "lease_holder" in table.c:
            tables.append((table, table.c.leased_until if "leased_until" in table.c else table.c.locked_at))
    return tables


_LEASED_TABLES = _leased_tables()
SILENT_FOR: Millis = 20 * SECOND
"""A process without a heartbeat for so long is dead. If it only slept, its lease rejects its late results."""

_new_process = upsert(processes).values(
    name=bindparam("name"),
    role=bindparam("role"),
    version=bindparam("version"),
    started_at=bindparam("started_at"),
    heartbeat_at=database_now(),
)
_HEARTBEAT = Command(
    _new_process.on_conflict_do_update(
        index_elements=["name"], set_={"heartbeat_at": _new_process.excluded.heartbeat_at}
    )
)
_REMOVE_PROCESS = Command(delete(processes).where(processes.c.name == bindparam("gone")))
_REMOVE_DEAD = Query(
    delete(processes)
    .where(processes.c.heartbeat_at < database_now() - bindparam("patience", type_=BigInteger()))
    .returning(processes.c.name),
    into=str,
)
_END_LEASES = [
    Command(
        update(table)
        .where(among(table.c.lease_holder, "dead", Text()), since_or_until.is_not(None))
        .values({since_or_until.name: ENDED})
    )
    for table, since_or_until in _LEASED_TABLES
]
_DELETE_CHORE_LEASES = Command(delete(leases).where(among(leases.c.holder, "dead", Text())))


def _process(*columns: Any) -> Process:
    return Process(*columns, in_hand={}, chores=())


_LIST_PROCESSES = Query(
    select(
        processes.c.name,
        processes.c.role,
        processes.c.version,
        processes.c.started_at,
        (database_now() - processes.c.heartbeat_at).label("silent_for"),
    ).order_by(processes.c.role, processes.c.started_at),
    into=_process,
)
_COUNT_LEASED = {
    table.name: Query(
        select(table.c.lease_holder, func.count())
        .where(table.c.lease_holder.is_not(None), since_or_until > ENDED)
        .group_by(table.c.lease_holder),
        into=row_of(str, int),
    )
    for table, since_or_until in _LEASED_TABLES
}
_CHORES = Query(select(leases.c.holder, leases.c.name).order_by(leases.c.name), into=row_of(str, str))


async def record_heartbeat(tx: Tx, name: str, *, role: str, version: str, started_at: Instant) -> None:
    await tx.run(_HEARTBEAT, {"name": name, "role": role, "version": version, "started_at": started_at})


async def remove_process(tx: Tx, name: str) -> None:
    await tx.run(_REMOVE_PROCESS, {"gone": name})
    await _end_leases(tx, [name])


async def remove_dead_processes(tx: Tx, patience: Millis) -> list[str]:
    """Remove processes without a heartbeat for `patience` and end their leases; return their names."""
    dead = await tx.all(_REMOVE_DEAD, {"patience": patience})
    if dead:
        await _end_leases(tx, dead)
    return dead


async def list_processes(tx: Tx) -> list[Process]:
    in_hand: dict[str, dict[str, int]] = {}
    for table, statement in _COUNT_LEASED.items():
        for holder, count in await tx.all(statement):
            in_hand.setdefault(holder, {})[table] = count
    chores: dict[str, list[str]] = {}
    for holder, chore in await tx.all(_CHORES):
        chores.setdefault(holder, []).append(chore)
    return [
        replace(process, in_hand=in_hand.get(process.name, {}), chores=tuple(chores.get(process.name, ())))
        for process in await tx.all(_LIST_PROCESSES)
    ]


async def _end_leases(tx: Tx, names: Sequence[str]) -> None:
    for statement in _END_LEASES:
        await tx.run(statement, {"dead": list(names)})
    await tx.run(_DELETE_CHORE_LEASES, {"dead": list(names)})
