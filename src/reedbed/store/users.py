"""The event log: what happened to an account, for its owner and the operator."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ClauseElement, bindparam, delete, literal, tuple_, update
from sqlalchemy import insert as insert_events
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.users import LoggedEvent, User
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import HIGHEST, Shapes, Statement, func, select
from reedbed.store.tables import (
    event_log,
    jobs,
    mail_links,
    parked_unread,
    sessions,
    subscriptions,
    unread,
    users,
)

USER_COLUMNS = (
    users.c.id,
    users.c.email,
    users.c.role,
    users.c.created_at,
    users.c.preferences,
    users.c.email_verified_at,
    users.c.disabled_at,
)

_mine = users.c.id == bindparam("user_id")

_ANY = Statement(select(users.c.id).limit(1))
_BY_ID = Statement(select(*USER_COLUMNS).where(users.c.id == bindparam("id")))
_BY_EMAIL = Statement(select(*USER_COLUMNS, users.c.password_hash).where(users.c.email == bindparam("email")))
_FIRST_TWO = Statement(select(*USER_COLUMNS).order_by(users.c.id).limit(2))
_ACTIVE = Statement(
    select(func.count(sessions.c.user_id.distinct())).where(sessions.c.last_active_at >= bindparam("moment"))
)
_PASSWORD = Statement(select(users.c.password_hash).where(_mine))
_INSERT = Statement(
    insert(users).on_conflict_do_nothing(index_elements=["email"]).returning(*USER_COLUMNS),
    columns=["email", "password_hash", "role", "created_at", "email_verified_at", "privacy_accepted_at"],
)
_SET_PASSWORD = Statement(update(users).where(_mine).values(password_hash=bindparam("password_hash")))
_SET_PREFERENCES = Statement(update(users).where(_mine).values(preferences=bindparam("preferences")))
_SET_ROLE = Statement(update(users).where(_mine).values(role=bindparam("role")))
_SET_DISABLED = Statement(update(users).where(_mine).values(disabled_at=bindparam("disabled_at")))
_VERIFY = Statement(
    update(users)
    .where(_mine, users.c.email == bindparam("email"))
    .values(email_verified_at=func.coalesce(users.c.email_verified_at, bindparam("now")))
)
_OWNERS = Statement(
    select(users.c.id)
    .where(users.c.role == "owner", users.c.disabled_at.is_(None))
    .order_by(users.c.id)
    .with_for_update()
)
_followed = (
    select(func.count())
    .where(subscriptions.c.user_id == users.c.id, subscriptions.c.unsubscribed_at.is_(None))
    .scalar_subquery()
)
_seen = select(func.max(sessions.c.last_active_at)).where(sessions.c.user_id == users.c.id).scalar_subquery()
_LIST = Statement(
    select(*USER_COLUMNS, _followed.label("feeds"), _seen.label("last_active_at"))
    .where(users.c.id > bindparam("after"))
    .order_by(users.c.id)
    .limit(bindparam("limit"))
)
# These hold no foreign key to the account, or keep their rows without one.
_REMOVE_FIRST = tuple(
    Statement(delete(table).where(table.c.user_id == bindparam("user_id")))
    for table in (unread, parked_unread, event_log)
)
_address = select(users.c.email).where(_mine).scalar_subquery()
_REMOVE_LINKS = Statement(delete(mail_links).where(mail_links.c.email == _address))
# In the JSON of the job, and not as a part of somebody else's address.
_escaped = func.replace(func.replace(_address, "%", r"\%"), "_", r"\_")
_named = literal('"email":"') + _escaped + literal('"')
_REMOVE_LETTERS = Statement(
    delete(jobs).where(jobs.c.kind == "mail", jobs.c.payload.contains(_named, escape="\\"))
)
_REMOVE = Statement(delete(users).where(_mine))


@record
class Member:
    """An account as the operator sees it."""

    user: User
    feeds: int
    last_active_at: Instant | None


async def exists_any(tx: Tx) -> bool:
    return await tx.value(_ANY) is not None


async def list_owners(tx: Tx) -> int:
    """How many owners can log in; locked, because two who leave at once would each count the other."""
    return len(await tx.all(_OWNERS))


async def get(tx: Tx, user_id: int) -> User | None:
    row = await tx.one(_BY_ID, {"id": user_id})
    return event_user(row) if row else None


async def get_only_one(tx: Tx) -> User | None:
    """The user, on a server that has just one."""
    rows = await tx.all(_FIRST_TWO)
    return event_user(rows[0]) if len(rows) == 1 else None


async def get_by_email(tx: Tx, email: str) -> tuple[User, str | None] | None:
    """The user and the password's hash."""
    row = await tx.one(_BY_EMAIL, {"email": email})
    return (event_user(row), row["password_hash"]) if row else None


async def password_hash(tx: Tx, user_id: int) -> str | None:
    return await tx.value(_PASSWORD, {"user_id": user_id})


async def active_since(tx: Tx, moment: Instant) -> int:
    """How many people had a session in use since then."""
    return await tx.value(_ACTIVE, {"moment": moment})


async def list_members(tx: Tx, *, after: int, limit: int) -> Sequence[Member]:
    rows = await tx.all(_LIST, {"after": after, "limit": limit})
    return [Member(event_user(row), row["feeds"], row["last_active_at"]) for row in rows]


async def add_if_new(
    tx: Tx,
    *,
    email: str,
    password_hash: str | None,
    role: str,
    now: Instant,
    verified: bool,
    privacy_accepted: bool = False,
) -> User | None:
    """None when the address has an account already."""
    row = await tx.one(
        _INSERT,
        {
            "email": email,
            "password_hash": password_hash,
            "role": role,
            "created_at": now,
            "email_verified_at": now if verified else None,
            "privacy_accepted_at": now if privacy_accepted else None,
        },
    )
    return event_user(row) if row else None


async def add(
    tx: Tx, *, email: str, password_hash: str | None, role: str, now: Instant, verified: bool
) -> User:
    """For an address that is known to be new."""
    made = await add_if_new(
        tx, email=email, password_hash=password_hash, role=role, now=now, verified=verified
    )
    assert made is not None
    return made


async def set_password(tx: Tx, user_id: int, password_hash: str) -> None:
    await tx.run(_SET_PASSWORD, {"user_id": user_id, "password_hash": password_hash})


async def set_preferences(tx: Tx, user_id: int, preferences: str) -> None:
    await tx.run(_SET_PREFERENCES, {"user_id": user_id, "preferences": preferences})


async def set_role(tx: Tx, user_id: int, role: str) -> None:
    await tx.run(_SET_ROLE, {"user_id": user_id, "role": role})


async def set_disabled(tx: Tx, user_id: int, at: Instant | None) -> None:
    await tx.run(_SET_DISABLED, {"user_id": user_id, "disabled_at": at})


async def verify(tx: Tx, user_id: int, email: str, now: Instant) -> bool:
    """The address is theirs; False when the account has another by now."""
    return await tx.run(_VERIFY, {"user_id": user_id, "email": email, "now": now}) == 1


async def delete_user(tx: Tx, user_id: int) -> None:
    """The account and everything it owns."""
    for statement in (*_REMOVE_FIRST, _REMOVE_LINKS, _REMOVE_LETTERS, _REMOVE):
        await tx.run(statement, {"user_id": user_id})


def event_user(row: Row) -> User:
    return User(row[0], row[1], row[2], row[3], row[4], row[5], row[6])


_NOTE = Statement(insert_events(event_log), columns=["user_id", "kind", "detail", "at"])


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


async def record_event(
    tx: Tx, now: Instant, kind: str, user_id: int | None, detail: Mapping[str, Any] | None = None
) -> None:
    await tx.run(
        _NOTE, {"user_id": user_id, "kind": kind, "detail": orjson.dumps(detail or {}).decode(), "at": now}
    )


async def list_events(
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


async def delete_old_events(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})


def _how_many(wanted: object) -> str:
    return "all" if wanted is None else "one"
