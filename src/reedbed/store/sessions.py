"""Sessions: opaque tokens, only their SHA-256 stored."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, insert, update

from reedbed.domain.accounts import Caller, Session
from reedbed.domain.times import DAY, Instant
from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import sessions, users
from reedbed.store.users import USER_COLUMNS, user_of

_mine = sessions.c.user_id == bindparam("user_id")
_now = bindparam("now", type_=BigInteger())
# One that was made by a clock far ahead would live until that moment has come.
_made_ahead = sessions.c.created_at > _now + DAY
_alive = (
    sessions.c.expires_at > bindparam("now"),
    sessions.c.last_active_at > bindparam("idle_since"),
    ~_made_ahead,
)

_INSERT = Statement(
    insert(sessions).returning(sessions.c.id),
    columns=["user_id", "token_hash", "user_agent", "ip", "created_at", "last_active_at", "expires_at"],
)
_CALLER = Statement(
    select(*USER_COLUMNS, sessions.c.id.label("session_id"), sessions.c.last_active_at)
    .join_from(sessions, users, users.c.id == sessions.c.user_id)
    .where(sessions.c.token_hash == bindparam("token_hash"), *_alive, users.c.disabled_at.is_(None))
)
_OPEN = Statement(
    select(sessions.c.id)
    .join_from(sessions, users, users.c.id == sessions.c.user_id)
    .where(sessions.c.id == bindparam("session_id"), *_alive, users.c.disabled_at.is_(None))
)
_LIST = Statement(
    select(
        sessions.c.id,
        sessions.c.user_agent,
        sessions.c.ip,
        sessions.c.created_at,
        sessions.c.last_active_at,
        sessions.c.expires_at,
    )
    .where(_mine, *_alive)
    .order_by(sessions.c.last_active_at.desc(), sessions.c.id.desc())
    .limit(bindparam("limit"))
)
_MADE_AHEAD = Statement(
    select(sessions.c.id).where(sessions.c.token_hash == bindparam("token_hash"), _made_ahead)
)
_OPENED_AT = Statement(select(sessions.c.created_at).where(sessions.c.id == bindparam("session_id")))
_TOUCH = Statement(
    update(sessions).where(sessions.c.id == bindparam("session_id")).values(last_active_at=bindparam("now"))
)
_DELETE = Statement(delete(sessions).where(sessions.c.id == bindparam("session_id"), _mine))
_DELETE_OTHERS = Statement(delete(sessions).where(_mine, sessions.c.id != bindparam("kept_id")))


async def add(
    tx: Tx,
    user_id: int,
    *,
    token_hash: str,
    user_agent: str | None,
    ip: str | None,
    now: Instant,
    expires_at: Instant,
) -> int:
    return await tx.value(
        _INSERT,
        {
            "user_id": user_id,
            "token_hash": token_hash,
            "user_agent": user_agent,
            "ip": ip,
            "created_at": now,
            "last_active_at": now,
            "expires_at": expires_at,
        },
    )


async def caller(
    tx: Tx, token_hash: str, *, now: Instant, idle_since: Instant
) -> tuple[Caller, Instant] | None:
    """Who holds this token, and when they were last seen."""
    row = await tx.one(_CALLER, {"token_hash": token_hash, "now": now, "idle_since": idle_since})
    if row is None:
        return None
    return Caller(user_of(row), session_id=row["session_id"]), row["last_active_at"]


async def of_user(
    tx: Tx, user_id: int, *, now: Instant, idle_since: Instant, limit: int
) -> Sequence[Session]:
    """The last active first."""
    params = {"user_id": user_id, "now": now, "idle_since": idle_since, "limit": limit}
    return [Session(*row) for row in await tx.all(_LIST, params)]


async def is_open(tx: Tx, session_id: int, *, now: Instant, idle_since: Instant) -> bool:
    params = {"session_id": session_id, "now": now, "idle_since": idle_since}
    return await tx.value(_OPEN, params) is not None


async def opened_at(tx: Tx, session_id: int) -> Instant | None:
    return await tx.value(_OPENED_AT, {"session_id": session_id})


async def was_made_ahead(tx: Tx, token_hash: str, now: Instant) -> bool:
    """Whether this session was opened while the clock was more than a day ahead of now."""
    return await tx.value(_MADE_AHEAD, {"token_hash": token_hash, "now": now}) is not None


async def touch(tx: Tx, session_id: int, now: Instant) -> None:
    await tx.run(_TOUCH, {"session_id": session_id, "now": now})


async def remove(tx: Tx, user_id: int, session_id: int) -> bool:
    return await tx.run(_DELETE, {"user_id": user_id, "session_id": session_id}) == 1


async def remove_others(tx: Tx, user_id: int, kept_id: int | None) -> int:
    """All sessions of a user but one, or all."""
    return await tx.run(_DELETE_OTHERS, {"user_id": user_id, "kept_id": kept_id or 0})
