"""The event log: what happened to an account, for its owner and the operator."""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import insert

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import event_log

_NOTE = Statement(insert(event_log), columns=["user_id", "kind", "detail", "at"])


async def note(
    tx: Tx, now: Instant, kind: str, user_id: int | None, detail: Mapping[str, Any] | None = None
) -> None:
    await tx.run(
        _NOTE, {"user_id": user_id, "kind": kind, "detail": orjson.dumps(detail or {}).decode(), "at": now}
    )
