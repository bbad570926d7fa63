"""What has outlived its use: expired sessions, and those that a wrong clock made."""

from sqlalchemy import BigInteger, bindparam, delete, or_

from reedbed.domain.times import DAY, Instant
from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import sessions

_SESSIONS = Statement(
    delete(sessions).where(
        or_(
            sessions.c.expires_at <= bindparam("now"),
            sessions.c.last_active_at <= bindparam("idle_since"),
            sessions.c.created_at > bindparam("now", type_=BigInteger()) + DAY,
        )
    )
)


async def drop_sessions(tx: Tx, *, now: Instant, idle_since: Instant) -> int:
    return await tx.run(_SESSIONS, {"now": now, "idle_since": idle_since})
