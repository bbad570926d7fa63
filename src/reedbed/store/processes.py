"""Which processes run and what each has in hand; what the dead held is set free."""

from collections.abc import Sequence
from dataclasses import field

from sqlalchemy import BigInteger, Column, Table, Text, bindparam, delete, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import Instant, Millis
from reedbed.store.database import Tx
from reedbed.store.dialect import among, database_now
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import leases, metadata, processes

ENDED = 0
"""The end of a lease that was taken away: whoever claims next counts it as run out."""


@record
class Process:
    name: str
    role: str
    version: str
    started_at: Instant
    silent_for: Millis
    in_hand: dict[str, int] = field(default_factory=dict[str, int])
    """How many rows of which table it has leased."""
    chores: tuple[str, ...] = ()
    """What it does for all."""


def _leased() -> list[tuple[Table, Column[int]]]:
    """Every table whose rows are worked on by lease, and the column that says until or since when."""
    found: list[tuple[Table, Column[int]]] = []
    for table in metadata.tables.values():
        if "lease_holder" in table.c:
            found.append((table, table.c.leased_until if "leased_until" in table.c else table.c.locked_at))
    return found


_LEASED = _leased()
_new = insert(processes).values(
    name=bindparam("name"),
    role=bindparam("role"),
    version=bindparam("version"),
    started_at=bindparam("started_at"),
    heartbeat_at=database_now(),
)
_BEAT = Statement(
    _new.on_conflict_do_update(index_elements=["name"], set_={"heartbeat_at": _new.excluded.heartbeat_at})
)
_LEAVE = Statement(delete(processes).where(processes.c.name == bindparam("gone")))
_BURY = Statement(
    delete(processes)
    .where(processes.c.heartbeat_at < database_now() - bindparam("patience", type_=BigInteger()))
    .returning(processes.c.name)
)
_FREE = [
    Statement(
        update(table)
        .where(among(table.c.lease_holder, "dead", Text()), since_or_until.is_not(None))
        .values({since_or_until.name: ENDED})
    )
    for table, since_or_until in _LEASED
]
_FREE_CHORES = Statement(delete(leases).where(among(leases.c.holder, "dead", Text())))
_ALL = Statement(
    select(
        processes.c.name,
        processes.c.role,
        processes.c.version,
        processes.c.started_at,
        (database_now() - processes.c.heartbeat_at).label("silent_for"),
    ).order_by(processes.c.role, processes.c.started_at)
)
_IN_HAND = {
    table.name: Statement(
        select(table.c.lease_holder, func.count())
        .where(table.c.lease_holder.is_not(None), since_or_until > ENDED)
        .group_by(table.c.lease_holder)
    )
    for table, since_or_until in _LEASED
}
_CHORES = Statement(select(leases.c.holder, leases.c.name).order_by(leases.c.name))


async def beat(tx: Tx, name: str, *, role: str, version: str, started_at: Instant) -> None:
    await tx.run(_BEAT, {"name": name, "role": role, "version": version, "started_at": started_at})


async def leave(tx: Tx, name: str) -> None:
    await tx.run(_LEAVE, {"gone": name})
    await _free(tx, [name])


async def bury(tx: Tx, patience: Millis) -> list[str]:
    """Forget who was not heard of for so long and end their leases; their names."""
    dead = [row[0] for row in await tx.all(_BURY, {"patience": patience})]
    if dead:
        await _free(tx, dead)
    return dead


async def everyone(tx: Tx) -> list[Process]:
    in_hand: dict[str, dict[str, int]] = {}
    for table, statement in _IN_HAND.items():
        for holder, count in await tx.all(statement):
            in_hand.setdefault(holder, {})[table] = count
    chores: dict[str, list[str]] = {}
    for holder, chore in await tx.all(_CHORES):
        chores.setdefault(holder, []).append(chore)
    return [
        Process(*row, in_hand=in_hand.get(row["name"], {}), chores=tuple(chores.get(row["name"], ())))
        for row in await tx.all(_ALL)
    ]


async def _free(tx: Tx, names: Sequence[str]) -> None:
    for statement in _FREE:
        await tx.run(statement, {"dead": list(names)})
    await tx.run(_FREE_CHORES, {"dead": list(names)})
