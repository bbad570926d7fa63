"""Turns at hosts, shared by all processes. Only on PostgreSQL; the times are those of its clock."""

from sqlalchemy import BigInteger, bindparam, delete, text

from reedbed.domain.times import Millis
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, database_now
from reedbed.store.tables import host_turns

_NOW = "CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint)"


_TURN = f"least(greatest(host_turns.next_at, {_NOW}), {_NOW} + CAST(:longest_wait AS bigint)) + CAST(:delay AS bigint)"


_RESERVE_TURN = Query(
    text(f"""
    INSERT INTO host_turns (host, next_at) VALUES (:host, {_NOW} + CAST(:delay AS bigint))
    ON CONFLICT (host) DO UPDATE SET next_at = {_TURN}
    RETURNING next_at - CAST(:delay AS bigint) - {_NOW}
    """),  # noqa: S608  constants of this module
    into=int,
)


_ENTER_HOST = Query(
    text(f"""
    INSERT INTO host_turns (host, next_at, in_flight) VALUES (
        :host,
        {_NOW} + CAST(:delay AS bigint),
        CAST(jsonb_build_object(CAST(:token AS text), {_NOW} + CAST(:lease AS bigint)) AS text)
    )
    ON CONFLICT (host) DO UPDATE SET
        next_at = {_TURN},
        in_flight = (
            SELECT CAST(jsonb_object_agg(turn.key, turn.value) AS text)
            FROM jsonb_each(CAST(host_turns.in_flight AS jsonb) || CAST(excluded.in_flight AS jsonb)) AS turn
            WHERE CAST(turn.value AS bigint) > {_NOW}
        )
    WHERE (
        SELECT count(*) FROM jsonb_each(CAST(host_turns.in_flight AS jsonb)) AS turn
        WHERE CAST(turn.value AS bigint) > {_NOW}
    ) < CAST(:limit AS bigint)
    RETURNING next_at - CAST(:delay AS bigint) - {_NOW}
    """),  # noqa: S608  constants of this module
    into=int,
)


_LEAVE_HOST = Command(
    text(
        "UPDATE host_turns SET in_flight = CAST(CAST(in_flight AS jsonb) - CAST(:token AS text) AS text)"
        " WHERE host = :host"
    )
)


_DELETE_OLD_TURNS = Command(
    delete(host_turns).where(host_turns.c.next_at < database_now() - bindparam("age", type_=BigInteger()))
)


async def reserve_turn(tx: Tx, host: str, delay: Millis, *, longest_wait: Millis) -> Millis:
    """How long to wait for a turn at this host; the next turn is `delay` later."""
    return await tx.get(_RESERVE_TURN, {"host": host, "delay": delay, "longest_wait": longest_wait})


async def enter_host(
    tx: Tx, host: str, token: str, *, limit: int, lease: Millis, delay: Millis, longest_wait: Millis
) -> Millis | None:
    """Take one of `limit` turns and return how long to wait for it; None if all are in use."""
    params = {"host": host, "token": token, "limit": limit, "lease": lease, "delay": delay}
    return await tx.one(_ENTER_HOST, {**params, "longest_wait": longest_wait})


async def leave_host(tx: Tx, host: str, token: str) -> None:
    await tx.run(_LEAVE_HOST, {"host": host, "token": token})


async def delete_old_turns(tx: Tx, age: Millis) -> int:
    """Delete hosts without a request for so long."""
    return await tx.run(_DELETE_OLD_TURNS, {"age": age})
