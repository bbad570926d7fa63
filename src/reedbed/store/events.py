"""The event log: what happened to an account, for its owner and the operator."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ClauseElement, bindparam, delete, insert, tuple_

from reedbed.domain.accounts import LoggedEvent
from reedbed.domain.paging import Cursor
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.keyset import HIGHEST
from reedbed.store.sql import select
from reedbed.store.statements import Shapes, Statement
from reedbed.store.tables import event_log

_NOTE = Statement(insert(event_log), columns=["user_id", "kind", "detail", "at"])


def _page(whose: str, kinds: str) -> ClauseElement:
    columns = (event_log.c.id, event_log.c.user_id, event_log.c.kind, event_log.c.detail, event_log.c.at)
    before = tuple_(event_log.c.at, event_log.c.id) < tuple_(bindparam("before_at"), bindparam("before_id"))
    query = select(*columns).where(before)
    if whose == "one":
        query = query.where(event_log.c.user_id == bindparam("user_id"))
    if kinds == "one":
        query = query.where(event_log.c.kind == bindparam("kind"))
    return query.order_by(event_log.c.at.desc(), event_log.c.id.desc()).limit(bindparam("limit"))


_PAGE = Shapes(_page)
_FORGET = Statement(delete(event_log).where(event_log.c.at < bindparam("before")))


async def note(
    tx: Tx, now: Instant, kind: str, user_id: int | None, detail: Mapping[str, Any] | None = None
) -> None:
    await tx.run(
        _NOTE, {"user_id": user_id, "kind": kind, "detail": orjson.dumps(detail or {}).decode(), "at": now}
    )


async def newest(
    tx: Tx, *, limit: int, user_id: int | None = None, kind: str | None = None, before: Cursor | None = None
) -> Sequence[LoggedEvent]:
    """`user_id` None is everybody's, for operators."""
    place = before or Cursor(HIGHEST, HIGHEST)
    params = {
        "user_id": user_id,
        "kind": kind,
        "before_at": place.sort_at,
        "before_id": place.id,
        "limit": limit,
    }
    rows = await tx.all(_PAGE(_how_many(user_id), _how_many(kind)), params)
    return [LoggedEvent(*row) for row in rows]


async def forget(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})


def _how_many(wanted: object) -> str:
    return "all" if wanted is None else "one"
