"""Undo steps: bulk changes of the read state that can be undone for an hour.

A step stores the read markers it moved (`marks`, JSON) and the rows it deleted or inserted (`undo_rows`).
Only the hash of its token is stored.
"""

from collections.abc import Sequence
from typing import Any, Literal

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, row_of, select, unindexed
from reedbed.store.read_state.rows import read_rows_of, unread_rows_of
from reedbed.store.tables import subscriptions, undo_rows, undo_steps, unread
from reedbed.store.visibility import lock_subscriptions

TTL = HOUR

Kind = Literal["mark", "read", "unread"]
"""What the step did: moved read markers, marked rows read, or marked entries unread."""


@record
class MovedMarker:
    feed_id: int
    before: int
    after: int


@record
class Step:
    id: int
    user_id: int
    kind: Kind
    marks: tuple[MovedMarker, ...]


_ADD = Query(
    insert(undo_steps).returning(undo_steps.c.id),
    columns=["user_id", "token_hash", "marks", "marked", "created_at", "expires_at"],
    into=int,
)


def parse_step(id: int, user_id: int, marks: str) -> Step:
    fields: dict[str, Any] = orjson.loads(marks)
    return Step(id, user_id, fields["kind"], tuple(MovedMarker(*moved) for moved in fields["marks"]))


_FIND = Query(
    select(undo_steps.c.id, undo_steps.c.user_id, undo_steps.c.marks)
    .where(
        undo_steps.c.user_id == bindparam("user_id"),
        undo_steps.c.token_hash == bindparam("token_hash"),
        undo_steps.c.expires_at > bindparam("now"),
    )
    .with_for_update(),
    into=parse_step,
)
_SET_MARKS = Command(update(undo_steps).where(undo_steps.c.id == bindparam("id")).values(marks=bindparam("marks")))
_LATEST = Query(
    select(undo_steps.c.id, undo_steps.c.user_id, undo_steps.c.marks)
    .where(undo_steps.c.user_id == bindparam("user_id"), undo_steps.c.created_at >= bindparam("since"))
    .order_by(undo_steps.c.id.desc())
    .limit(1)
    .with_for_update(),
    into=parse_step,
)
_REMOVE = Command(delete(undo_steps).where(undo_steps.c.id == bindparam("id")))
_FEEDS = Query(select(undo_rows.c.feed_id).where(undo_rows.c.undo_id == bindparam("id")).distinct(), into=int)


async def add(
    tx: Tx, user_id: int, token_hash: str, kind: Kind, now: Instant, marks: Sequence[MovedMarker] = ()
) -> int:
    return await tx.get(
        _ADD,
        {
            "user_id": user_id,
            "token_hash": token_hash,
            "marks": _to_json(kind, marks),
            "marked": 0,
            "created_at": now,
            "expires_at": now + TTL,
        },
    )


async def find(tx: Tx, user_id: int, token_hash: str, now: Instant) -> Step | None:
    return await tx.one(_FIND, {"user_id": user_id, "token_hash": token_hash, "now": now})


def _to_json(kind: Kind, marks: Sequence[MovedMarker]) -> str:
    moved = [(mark.feed_id, mark.before, mark.after) for mark in marks]
    return orjson.dumps({"kind": kind, "marks": moved}).decode()


async def latest(tx: Tx, user_id: int, since: Instant) -> Step | None:
    """The latest step, for clients that have no undo tokens."""
    return await tx.one(_LATEST, {"user_id": user_id, "since": since})


async def remove(tx: Tx, step_id: int) -> None:
    await tx.run(_REMOVE, {"id": step_id})


async def retain_marks(tx: Tx, step: Step, marks: Sequence[MovedMarker]) -> None:
    """Reduce an expired step to the marks whose rows are not deleted yet; without any, delete the step."""
    if marks:
        await tx.run(_SET_MARKS, {"id": step.id, "marks": _to_json(step.kind, marks)})
    else:
        await remove(tx, step.id)


async def apply_undo(tx: Tx, step: Step) -> bool:
    """Undo the step; False if a later change moved one of its read markers."""
    row_feeds = await tx.all(_FEEDS, {"id": step.id})
    await lock_subscriptions(tx, step.user_id, [*row_feeds, *(mark.feed_id for mark in step.marks)])
    if not await _restore_marks(tx, step):
        return False
    if step.kind == "unread":
        await read_rows_of(tx, step.user_id, step.id)
    else:
        await unread_rows_of(tx, step.user_id, step.id)
    await remove(tx, step.id)
    return True


_CURRENT_MARKS = Query(
    select(subscriptions.c.feed_id, subscriptions.c.read_to).where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        among(subscriptions.c.feed_id, "feed_ids"),
    ),
    into=row_of(int, int),
)


async def _restore_marks(tx: Tx, step: Step) -> bool:
    """Feeds that were unsubscribed meanwhile are skipped."""
    if not step.marks:
        return True
    feed_ids = [mark.feed_id for mark in step.marks]
    current = dict(await tx.all(_CURRENT_MARKS, {"user_id": step.user_id, "feed_ids": feed_ids}))
    if any(current.get(mark.feed_id, mark.after) != mark.after for mark in step.marks):
        return False
    restored = [
        {"user_id": step.user_id, "feed_id": mark.feed_id, "before": mark.before, "after": mark.after}
        for mark in step.marks
        if mark.feed_id in current
    ]
    await tx.run_many(_MARK_BACK, restored)
    return True


_UNREAD_AGAIN = (
    select(func.count())
    .where(
        unread.c.user_id == bindparam("user_id"),
        unread.c.feed_id == bindparam("feed_id"),
        unindexed(unread.c.entry_id) > bindparam("before"),
        unindexed(unread.c.entry_id) <= bindparam("after"),
        ~unread.c.kept,
    )
    .scalar_subquery()
)
_MARK_BACK = Command(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(unread=subscriptions.c.unread + _UNREAD_AGAIN, read_to=bindparam("before"))
)
