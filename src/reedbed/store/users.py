"""User accounts, and the event log for their owners and the admins."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ClauseElement, Text, bindparam, delete, literal, tuple_, update
from sqlalchemy import insert as plain_insert

from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.domain.users import LoggedEvent, User
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Command, Query, QueryFamily, among, func, insert, optional, select
from reedbed.store.tables import (
    app_settings,
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

_is_this = users.c.id == bindparam("user_id")

_ANY = Query(select(users.c.id).limit(1), into=int)


_BY_ID = Query(select(*USER_COLUMNS).where(users.c.id == bindparam("id")), into=User)


def _user_and_password(*columns: Any) -> tuple[User, str | None]:
    *user, password_hash = columns
    return User(*user), password_hash


_BY_EMAIL = Query(
    select(*USER_COLUMNS, users.c.password_hash).where(users.c.email == bindparam("email")), into=_user_and_password
)
_ACTIVE = Query(select(*USER_COLUMNS).where(users.c.disabled_at.is_(None)).order_by(users.c.id), into=User)
_SUBSCRIBERS = Query(
    select(*USER_COLUMNS)
    .join_from(subscriptions, users, users.c.id == subscriptions.c.user_id)
    .where(
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        ~subscriptions.c.paused,
        users.c.disabled_at.is_(None),
    )
    .order_by(users.c.id),
    into=User,
)
_FIRST_TWO = Query(select(*USER_COLUMNS).order_by(users.c.id).limit(2), into=User)
_COUNT_ACTIVE = Query(
    select(func.count(sessions.c.user_id.distinct())).where(sessions.c.last_active_at >= bindparam("moment")), into=int
)
_PASSWORD = Query(select(users.c.password_hash).where(_is_this), into=optional(str))
_INSERT = Query(
    insert(users).on_conflict_do_nothing(index_elements=["email"]).returning(*USER_COLUMNS),
    columns=["email", "password_hash", "role", "created_at", "email_verified_at", "privacy_accepted_at"],
    into=User,
)
_SET_PASSWORD = Command(update(users).where(_is_this).values(password_hash=bindparam("password_hash")))
_SET_PREFERENCES = Command(update(users).where(_is_this).values(preferences=bindparam("preferences")))
_SET_ROLE = Command(update(users).where(_is_this).values(role=bindparam("role")))
_SET_DISABLED = Command(update(users).where(_is_this).values(disabled_at=bindparam("disabled_at")))
_VERIFY = Command(
    update(users)
    .where(_is_this, users.c.email == bindparam("email"))
    .values(email_verified_at=func.coalesce(users.c.email_verified_at, bindparam("now")))
)
_OWNERS = Query(
    select(users.c.id)
    .where(users.c.role == "owner", users.c.disabled_at.is_(None))
    .order_by(users.c.id)
    .with_for_update(),
    into=int,
)
_feed_count = (
    select(func.count())
    .where(subscriptions.c.user_id == users.c.id, subscriptions.c.unsubscribed_at.is_(None))
    .scalar_subquery()
)
_last_active = select(func.max(sessions.c.last_active_at)).where(sessions.c.user_id == users.c.id).scalar_subquery()


@record
class Member:
    """An account as admins see it."""

    user: User
    feeds: int
    last_active_at: Instant | None


def _member(*columns: Any) -> Member:
    *user, feeds, last_active_at = columns
    return Member(User(*user), feeds, last_active_at)


_LIST = Query(
    select(*USER_COLUMNS, _feed_count.label("feeds"), _last_active.label("last_active_at"))
    .where(users.c.id > bindparam("after"))
    .order_by(users.c.id)
    .limit(bindparam("limit")),
    into=_member,
)
# These tables have no foreign key to the account, or keep their rows when it is deleted.
_REMOVE_FIRST = tuple(
    Command(delete(table).where(table.c.user_id == bindparam("user_id")))
    for table in (unread, parked_unread, event_log)
)
_email = select(users.c.email).where(_is_this).scalar_subquery()
_REMOVE_LINKS = Command(delete(mail_links).where(mail_links.c.email == _email))
# Match the whole JSON field of the job, not a part of another user's address.
_escaped_email = func.replace(func.replace(_email, "%", r"\%"), "_", r"\_")
_recipient_json = literal('"email":"') + _escaped_email + literal('"')
_REMOVE_EMAIL_JOBS = Command(
    delete(jobs).where(jobs.c.kind == "mail", jobs.c.payload.contains(_recipient_json, escape="\\"))
)
_REMOVE_SETTINGS = Command(delete(app_settings).where(among(app_settings.c.key, "keys", Text())))
_SETTINGS = ("auto_summaries", "one_lines", "translations")
"""In `app_settings`, with the id of the user: up to which entry they were looked at."""
_REMOVE = Command(delete(users).where(_is_this))


async def exists_any(tx: Tx) -> bool:
    return await tx.one(_ANY) is not None


async def lock_and_count_owners(tx: Tx) -> int:
    """Count the owners who can log in. Locks them: two who leave at once would each count the other."""
    return len(await tx.all(_OWNERS))


async def get(tx: Tx, user_id: int) -> User | None:
    return await tx.one(_BY_ID, {"id": user_id})


async def active(tx: Tx) -> list[User]:
    """All users who may log in."""
    return await tx.all(_ACTIVE)


async def subscribers_of(tx: Tx, feed_id: int) -> list[User]:
    """Those who follow the feed and have not paused it."""
    return await tx.all(_SUBSCRIBERS, {"feed_id": feed_id})


async def get_only_one(tx: Tx) -> User | None:
    """Return the user of a server that has exactly one."""
    rows = await tx.all(_FIRST_TWO)
    return rows[0] if len(rows) == 1 else None


async def get_by_email(tx: Tx, email: str) -> tuple[User, str | None] | None:
    """Return the user and their password hash."""
    return await tx.one(_BY_EMAIL, {"email": email})


async def password_hash(tx: Tx, user_id: int) -> str | None:
    return await tx.one(_PASSWORD, {"user_id": user_id})


async def active_since(tx: Tx, moment: Instant) -> int:
    """Count the users with a session used since `moment`."""
    return await tx.get(_COUNT_ACTIVE, {"moment": moment})


async def list_members(tx: Tx, *, after: int, limit: int) -> Sequence[Member]:
    return await tx.all(_LIST, {"after": after, "limit": limit})


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
    """Return None if the email address already has an account."""
    return await tx.one(
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


async def add(tx: Tx, *, email: str, password_hash: str | None, role: str, now: Instant, verified: bool) -> User:
    """For an email address that is known to be new."""
    user = await add_if_new(tx, email=email, password_hash=password_hash, role=role, now=now, verified=verified)
    assert user is not None
    return user


async def set_password(tx: Tx, user_id: int, password_hash: str | None) -> None:
    await tx.run(_SET_PASSWORD, {"user_id": user_id, "password_hash": password_hash})


async def set_preferences(tx: Tx, user_id: int, preferences: str) -> None:
    await tx.run(_SET_PREFERENCES, {"user_id": user_id, "preferences": preferences})


async def set_role(tx: Tx, user_id: int, role: str) -> None:
    await tx.run(_SET_ROLE, {"user_id": user_id, "role": role})


async def set_disabled(tx: Tx, user_id: int, at: Instant | None) -> None:
    await tx.run(_SET_DISABLED, {"user_id": user_id, "disabled_at": at})


async def verify(tx: Tx, user_id: int, email: str, now: Instant) -> bool:
    """Mark the email address as verified; return False if the account has a different one now."""
    return await tx.run(_VERIFY, {"user_id": user_id, "email": email, "now": now}) == 1


async def delete_user(tx: Tx, user_id: int) -> None:
    """Delete the account and everything it owns."""
    await tx.run(_REMOVE_SETTINGS, {"keys": [f"{name}:{user_id}" for name in _SETTINGS]})
    for statement in (*_REMOVE_FIRST, _REMOVE_LINKS, _REMOVE_EMAIL_JOBS, _REMOVE):
        await tx.run(statement, {"user_id": user_id})


# --- Event log

_RECORD_EVENT = Command(plain_insert(event_log), columns=["user_id", "kind", "detail", "at"])


def _select_events(whose: str, kinds: str) -> ClauseElement:
    columns = (event_log.c.id, event_log.c.user_id, event_log.c.kind, event_log.c.detail, event_log.c.at)
    before = tuple_(event_log.c.at, event_log.c.id) < tuple_(bindparam("before_at"), bindparam("before_id"))
    query = select(*columns).where(before)
    if whose == "one":
        query = query.where(event_log.c.user_id == bindparam("user_id"))
    if kinds == "one":
        query = query.where(event_log.c.kind == bindparam("kind"))
    return query.order_by(event_log.c.at.desc(), event_log.c.id.desc()).limit(bindparam("limit"))


_LIST_EVENTS = QueryFamily(_select_events, into=LoggedEvent)
_DELETE_OLD_EVENTS = Command(delete(event_log).where(event_log.c.at < bindparam("before")))


async def record_event(
    tx: Tx, now: Instant, kind: str, user_id: int | None, detail: Mapping[str, object] | None = None
) -> None:
    await tx.run(
        _RECORD_EVENT, {"user_id": user_id, "kind": kind, "detail": orjson.dumps(detail or {}).decode(), "at": now}
    )


async def list_events(
    tx: Tx, *, limit: int, user_id: int | None = None, kind: str | None = None, before: Cursor | None = None
) -> Sequence[LoggedEvent]:
    """`user_id` None returns the events of all users, for admins."""
    cursor = before or Cursor(HIGHEST, HIGHEST)
    params = {"user_id": user_id, "kind": kind, "before_at": cursor.sort_at, "before_id": cursor.id, "limit": limit}
    return await tx.all(_LIST_EVENTS(_shape(user_id), _shape(kind)), params)


async def delete_old_events(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD_EVENTS, {"before": before})


def _shape(filter_: object) -> str:
    return "all" if filter_ is None else "one"
