"""Bulk acts that can be taken back within the hour.

A step remembers what to put back: the marks it moved (`marks`, JSON) and the rows it took away or brought
(`undo_rows`). Only the hash of its token is stored.
"""

from collections.abc import Sequence
from typing import Any, Literal

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Statement, among, func, select, unindexed
from reedbed.store.read_state import rows as reading
from reedbed.store.tables import subscriptions, undo_rows, undo_steps, unread
from reedbed.store.visibility import lock_user_feeds

LIFE = HOUR

Kind = Literal["mark", "read", "unread"]
"""What the step did: moved marks, read rows, or made entries unread."""


@record
class MovedMark:
    feed_id: int
    before: int
    after: int


@record
class Step:
    id: int
    user_id: int
    kind: Kind
    marks: tuple[MovedMark, ...]


_ADD = Statement(
    insert(undo_steps).returning(undo_steps.c.id),
    columns=["user_id", "token_hash", "marks", "marked", "created_at", "expires_at"],
)
_FIND = Statement(
    select(undo_steps.c.id, undo_steps.c.user_id, undo_steps.c.marks)
    .where(
        undo_steps.c.user_id == bindparam("user_id"),
        undo_steps.c.token_hash == bindparam("token_hash"),
        undo_steps.c.expires_at > bindparam("now"),
    )
    .with_for_update()
)
_KEEP = Statement(
    update(undo_steps).where(undo_steps.c.id == bindparam("id")).values(marks=bindparam("marks"))
)
_LATEST = Statement(
    select(undo_steps.c.id, undo_steps.c.user_id, undo_steps.c.marks)
    .where(undo_steps.c.user_id == bindparam("user_id"), undo_steps.c.created_at >= bindparam("since"))
    .order_by(undo_steps.c.id.desc())
    .limit(1)
    .with_for_update()
)
_REMOVE = Statement(delete(undo_steps).where(undo_steps.c.id == bindparam("id")))
_FEEDS = Statement(select(undo_rows.c.feed_id).where(undo_rows.c.undo_id == bindparam("id")).distinct())


async def add(
    tx: Tx, user_id: int, token_hash: str, kind: Kind, now: Instant, marks: Sequence[MovedMark] = ()
) -> int:
    return await tx.value(
        _ADD,
        {
            "user_id": user_id,
            "token_hash": token_hash,
            "marks": _written(kind, marks),
            "marked": 0,
            "created_at": now,
            "expires_at": now + LIFE,
        },
    )


async def find(tx: Tx, user_id: int, token_hash: str, now: Instant) -> Step | None:
    row = await tx.one(_FIND, {"user_id": user_id, "token_hash": token_hash, "now": now})
    return step_of(*row) if row else None


def _written(kind: Kind, marks: Sequence[MovedMark]) -> str:
    moved = [(mark.feed_id, mark.before, mark.after) for mark in marks]
    return orjson.dumps({"kind": kind, "marks": moved}).decode()


async def latest(tx: Tx, user_id: int, since: Instant) -> Step | None:
    """The last thing done, for programs that know no tokens."""
    row = await tx.one(_LATEST, {"user_id": user_id, "since": since})
    return step_of(*row) if row else None


def step_of(id: int, user_id: int, marks: str) -> Step:
    said: dict[str, Any] = orjson.loads(marks)
    return Step(id, user_id, said["kind"], tuple(MovedMark(*moved) for moved in said["marks"]))


async def remove(tx: Tx, step_id: int) -> None:
    await tx.run(_REMOVE, {"id": step_id})


async def keep_only(tx: Tx, step: Step, marks: Sequence[MovedMark]) -> None:
    """Of a step that has expired, keep what is not swept yet; nothing left ends it."""
    if marks:
        await tx.run(_KEEP, {"id": step.id, "marks": _written(step.kind, marks)})
    else:
        await remove(tx, step.id)


async def apply_undo(tx: Tx, step: Step) -> bool:
    """Put back what the step changed; False when a newer act moved one of its marks since."""
    rows_in = [row["feed_id"] for row in await tx.all(_FEEDS, {"id": step.id})]
    await lock_user_feeds(tx, step.user_id, [*rows_in, *(mark.feed_id for mark in step.marks)])
    if not await _marks_back(tx, step):
        return False
    if step.kind == "unread":
        await reading.read_rows_of(tx, step.user_id, step.id)
    else:
        await reading.unread_rows_of(tx, step.user_id, step.id)
    await remove(tx, step.id)
    return True


_MARKS_NOW = Statement(
    select(subscriptions.c.feed_id, subscriptions.c.read_to).where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        among(subscriptions.c.feed_id, "feed_ids"),
    )
)


async def _marks_back(tx: Tx, step: Step) -> bool:
    """What was unsubscribed since is left as it is."""
    if not step.marks:
        return True
    feed_ids = [mark.feed_id for mark in step.marks]
    now: dict[int, int] = dict(
        tuple(row) for row in await tx.all(_MARKS_NOW, {"user_id": step.user_id, "feed_ids": feed_ids})
    )
    if any(now.get(mark.feed_id, mark.after) != mark.after for mark in step.marks):
        return False
    put_back = [
        {"user_id": step.user_id, "feed_id": mark.feed_id, "before": mark.before, "after": mark.after}
        for mark in step.marks
        if mark.feed_id in now
    ]
    await tx.run_many(_MARK_BACK, put_back)
    return True


_RISEN = (
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
_MARK_BACK = Statement(
    update(subscriptions)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == bindparam("feed_id"))
    .values(unread=subscriptions.c.unread + _RISEN, read_to=bindparam("before"))
)
