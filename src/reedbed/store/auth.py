"""Sessions, API tokens, and one-time links in emails, of which only the SHA-256 is stored."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, bindparam, delete, insert, or_, update

from reedbed.domain.auth import MailLink, Purpose
from reedbed.domain.times import DAY, Instant
from reedbed.domain.users import ApiToken, Caller, Session, TokenScope, User, scope_words
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, optional, select
from reedbed.store.tables import mail_links, sessions, tokens, users
from reedbed.store.users import USER_COLUMNS

# --- Sessions

_own_sessions = sessions.c.user_id == bindparam("user_id")
_now = bindparam("now", type_=BigInteger())
# A session created while the clock was far ahead would be valid until that time has come.
_is_created_in_future = sessions.c.created_at > _now + DAY
_is_active = (
    sessions.c.expires_at > bindparam("now"),
    sessions.c.last_active_at > bindparam("idle_since"),
    ~_is_created_in_future,
)

_INSERT_SESSION = Query(
    insert(sessions).returning(sessions.c.id),
    columns=[
        "user_id",
        "token_hash",
        "user_agent",
        "ip",
        "created_at",
        "last_active_at",
        "expires_at",
        "confirmed_at",
        "new_place",
    ],
    into=int,
)


def _session_caller(*columns: Any) -> tuple[Caller, Instant]:
    *user, session_id, last_active_at = columns
    return Caller(User(*user), session_id=session_id), last_active_at


_CALLER_BY_SESSION = Query(
    select(*USER_COLUMNS, sessions.c.id.label("session_id"), sessions.c.last_active_at)
    .join_from(sessions, users, users.c.id == sessions.c.user_id)
    .where(sessions.c.token_hash == bindparam("token_hash"), *_is_active, users.c.disabled_at.is_(None)),
    into=_session_caller,
)
_ACTIVE_SESSION = Query(
    select(sessions.c.id)
    .join_from(sessions, users, users.c.id == sessions.c.user_id)
    .where(sessions.c.id == bindparam("session_id"), *_is_active, users.c.disabled_at.is_(None)),
    into=int,
)
_LIST_SESSIONS = Query(
    select(
        sessions.c.id,
        sessions.c.user_agent,
        sessions.c.ip,
        sessions.c.created_at,
        sessions.c.last_active_at,
        sessions.c.expires_at,
        sessions.c.new_place,
    )
    .where(_own_sessions, *_is_active)
    .order_by(sessions.c.last_active_at.desc(), sessions.c.id.desc())
    .limit(bindparam("limit")),
    into=Session,
)
_CREATED_IN_FUTURE = Query(
    select(sessions.c.id).where(sessions.c.token_hash == bindparam("token_hash"), _is_created_in_future), into=int
)
_CONFIRMED_AT = Query(
    select(sessions.c.confirmed_at).where(sessions.c.id == bindparam("session_id")), into=optional(int)
)
_SET_CONFIRMED = Command(
    update(sessions).where(sessions.c.id == bindparam("session_id")).values(confirmed_at=bindparam("now"))
)
_TOUCH_SESSION = Command(
    update(sessions).where(sessions.c.id == bindparam("session_id")).values(last_active_at=bindparam("now"))
)
_DELETE_SESSION = Command(delete(sessions).where(sessions.c.id == bindparam("session_id"), _own_sessions))
_DELETE_OTHERS = Command(delete(sessions).where(_own_sessions, sessions.c.id != bindparam("kept_id")))


async def add_session(
    tx: Tx,
    user_id: int,
    *,
    token_hash: str,
    user_agent: str | None,
    ip: str | None,
    now: Instant,
    expires_at: Instant,
    confirmed: bool = True,
    new_place: bool = False,
) -> int:
    return await tx.get(
        _INSERT_SESSION,
        {
            "user_id": user_id,
            "token_hash": token_hash,
            "user_agent": user_agent,
            "ip": ip,
            "created_at": now,
            "last_active_at": now,
            "expires_at": expires_at,
            "confirmed_at": now if confirmed else None,
            "new_place": new_place,
        },
    )


async def get_caller(tx: Tx, token_hash: str, *, now: Instant, idle_since: Instant) -> tuple[Caller, Instant] | None:
    """Return the caller with this session token, and when they were last active."""
    return await tx.one(_CALLER_BY_SESSION, {"token_hash": token_hash, "now": now, "idle_since": idle_since})


async def list_sessions(tx: Tx, user_id: int, *, now: Instant, idle_since: Instant, limit: int) -> Sequence[Session]:
    """Most recently active first."""
    params = {"user_id": user_id, "now": now, "idle_since": idle_since, "limit": limit}
    return await tx.all(_LIST_SESSIONS, params)


async def is_session_open(tx: Tx, session_id: int, *, now: Instant, idle_since: Instant) -> bool:
    params = {"session_id": session_id, "now": now, "idle_since": idle_since}
    return await tx.one(_ACTIVE_SESSION, params) is not None


async def confirmed_at(tx: Tx, session_id: int) -> Instant | None:
    """When the user of this session last proved who they are."""
    return await tx.one(_CONFIRMED_AT, {"session_id": session_id})


async def set_confirmed(tx: Tx, session_id: int, now: Instant) -> None:
    await tx.run(_SET_CONFIRMED, {"session_id": session_id, "now": now})


async def was_session_created_in_future(tx: Tx, token_hash: str, now: Instant) -> bool:
    """Return whether this session was created while the clock was more than a day ahead."""
    return await tx.one(_CREATED_IN_FUTURE, {"token_hash": token_hash, "now": now}) is not None


async def touch_session(tx: Tx, session_id: int, now: Instant) -> None:
    await tx.run(_TOUCH_SESSION, {"session_id": session_id, "now": now})


async def delete_session(tx: Tx, user_id: int, session_id: int) -> bool:
    return await tx.run(_DELETE_SESSION, {"user_id": user_id, "session_id": session_id}) == 1


async def delete_other_sessions(tx: Tx, user_id: int, kept_id: int | None) -> int:
    """Delete all sessions of a user, except `kept_id` if given."""
    return await tx.run(_DELETE_OTHERS, {"user_id": user_id, "kept_id": kept_id or 0})


_DELETE_EXPIRED_SESSIONS = Command(
    delete(sessions).where(
        or_(
            sessions.c.expires_at <= bindparam("now"),
            sessions.c.last_active_at <= bindparam("idle_since"),
            sessions.c.created_at > bindparam("now", type_=BigInteger()) + DAY,
        )
    )
)


async def delete_inactive_sessions(tx: Tx, *, now: Instant, idle_since: Instant) -> int:
    return await tx.run(_DELETE_EXPIRED_SESSIONS, {"now": now, "idle_since": idle_since})


# --- API tokens

_own_tokens = tokens.c.user_id == bindparam("user_id")
_TOKEN_COLUMNS = (
    tokens.c.id,
    tokens.c.kind,
    tokens.c.name,
    tokens.c.scopes,
    tokens.c.created_at,
    tokens.c.last_used_at,
)
_select_callers = (
    select(*USER_COLUMNS, tokens.c.id.label("token_id"), tokens.c.scopes, tokens.c.last_used_at)
    .join_from(tokens, users, users.c.id == tokens.c.user_id)
    .where(users.c.disabled_at.is_(None), tokens.c.kind == bindparam("kind"))
)


def _token(id_: int, kind: str, name: str, scopes: str, created_at: int, last_used_at: int | None) -> ApiToken:
    return ApiToken(id_, kind, name, _parse_scopes(scopes), created_at, last_used_at)


_INSERT_TOKEN = Query(
    insert(tokens).returning(*_TOKEN_COLUMNS),
    columns=["user_id", "kind", "name", "scopes", "secret_hash", "fever_digest", "created_at"],
    into=_token,
)


def _token_caller(*columns: Any) -> tuple[Caller, Instant | None]:
    *user_columns, token_id, scope_names, last_used_at = columns
    user, scopes = User(*user_columns), _parse_scopes(scope_names)
    # The admin scope ends when the user is no longer an admin.
    allowed = scopes if user.operates else scopes - {TokenScope.ADMIN}
    return Caller(user, scopes=allowed, token_id=token_id), last_used_at


def _token_caller_with_hash(*columns: Any) -> tuple[Caller, Instant | None, str]:
    return (*_token_caller(*columns[:-1]), columns[-1])


_TOKEN_BY_SECRET = Query(_select_callers.where(tokens.c.secret_hash == bindparam("secret_hash")), into=_token_caller)
_TOKEN_BY_ID = Query(
    _select_callers.add_columns(tokens.c.secret_hash).where(tokens.c.id == bindparam("token_id")),
    into=_token_caller_with_hash,
)
_TOKEN_BY_FEVER_DIGEST = Query(_select_callers.where(tokens.c.fever_digest == bindparam("digest")), into=_token_caller)
_LIST_TOKENS = Query(select(*_TOKEN_COLUMNS).where(_own_tokens).order_by(tokens.c.id.desc()), into=_token)
_COUNT_TOKENS = Query(select(func.count()).select_from(tokens).where(_own_tokens), into=int)
_TOUCH_TOKEN = Command(update(tokens).where(tokens.c.id == bindparam("token_id")).values(last_used_at=bindparam("now")))
_DELETE_TOKEN = Command(delete(tokens).where(tokens.c.id == bindparam("token_id"), _own_tokens))


async def add_token(
    tx: Tx,
    user_id: int,
    *,
    kind: str,
    name: str,
    scopes: frozenset[TokenScope],
    secret_hash: str,
    fever_digest: str | None,
    now: Instant,
) -> ApiToken:
    return await tx.get(
        _INSERT_TOKEN,
        {
            "user_id": user_id,
            "kind": kind,
            "name": name,
            "scopes": scope_words(scopes),
            "secret_hash": secret_hash,
            "fever_digest": fever_digest,
            "created_at": now,
        },
    )


async def get_token_by_secret(tx: Tx, kind: str, secret_hash: str) -> tuple[Caller, Instant | None] | None:
    """Return the caller with this secret, and when it was last used."""
    return await tx.one(_TOKEN_BY_SECRET, {"kind": kind, "secret_hash": secret_hash})


async def get_token_by_fever_digest(tx: Tx, digest: str) -> tuple[Caller, Instant | None] | None:
    return await tx.one(_TOKEN_BY_FEVER_DIGEST, {"kind": "app_password", "digest": digest})


async def get_token(tx: Tx, kind: str, token_id: int) -> tuple[Caller, Instant | None, str] | None:
    """Return the caller, when the token was last used, and the hash of its secret."""
    return await tx.one(_TOKEN_BY_ID, {"kind": kind, "token_id": token_id})


async def list_tokens(tx: Tx, user_id: int) -> Sequence[ApiToken]:
    return await tx.all(_LIST_TOKENS, {"user_id": user_id})


async def count_tokens(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT_TOKENS, {"user_id": user_id})


async def touch_token(tx: Tx, token_id: int, now: Instant) -> None:
    await tx.run(_TOUCH_TOKEN, {"token_id": token_id, "now": now})


async def delete_token(tx: Tx, user_id: int, token_id: int) -> bool:
    return await tx.run(_DELETE_TOKEN, {"user_id": user_id, "token_id": token_id}) == 1


def _parse_scopes(text: str) -> frozenset[TokenScope]:
    return frozenset(TokenScope(name) for name in text.split())


# --- Links in emails

_LINK_COLUMNS = (
    mail_links.c.id,
    mail_links.c.purpose,
    mail_links.c.email,
    mail_links.c.user_id,
    mail_links.c.created_at,
    mail_links.c.expires_at,
    mail_links.c.used_at,
)
_is_usable = (
    mail_links.c.token_hash == bindparam("token_hash"),
    mail_links.c.purpose == bindparam("purpose"),
    mail_links.c.used_at.is_(None),
    mail_links.c.expires_at > bindparam("now"),
    mail_links.c.created_at <= bindparam("now", type_=BigInteger()) + DAY,  # not created by a wrong clock
)

_INSERT_MAIL_LINK = Command(
    insert(mail_links), columns=["user_id", "purpose", "email", "token_hash", "created_at", "expires_at"]
)
_GET_LINK = Query(select(*_LINK_COLUMNS).where(*_is_usable), into=MailLink)
_USE_LINK = Query(
    update(mail_links).where(*_is_usable).values(used_at=bindparam("now")).returning(*_LINK_COLUMNS), into=MailLink
)
_DELETE_LINKS = Command(
    delete(mail_links).where(mail_links.c.email == bindparam("email"), mail_links.c.purpose == bindparam("purpose"))
)
_INVITES = Query(
    select(*_LINK_COLUMNS)
    .where(mail_links.c.purpose == "invite", mail_links.c.used_at.is_(None), mail_links.c.expires_at > bindparam("now"))
    .order_by(mail_links.c.id.desc())
    .limit(500),
    into=MailLink,
)
_REMOVE_INVITE = Command(delete(mail_links).where(mail_links.c.id == bindparam("id"), mail_links.c.purpose == "invite"))
_DELETE_EXPIRED_LINKS = Command(
    delete(mail_links).where(or_(mail_links.c.expires_at <= bindparam("now"), mail_links.c.used_at.is_not(None)))
)


async def add_mail_link(
    tx: Tx, *, purpose: Purpose, email: str, user_id: int | None, token_hash: str, now: Instant, expires_at: Instant
) -> None:
    """A new link replaces older ones with the same purpose."""
    await tx.run(_DELETE_LINKS, {"email": email, "purpose": purpose})
    await tx.run(
        _INSERT_MAIL_LINK,
        {
            "purpose": purpose,
            "email": email,
            "user_id": user_id,
            "token_hash": token_hash,
            "created_at": now,
            "expires_at": expires_at,
        },
    )


async def get_mail_link(tx: Tx, purpose: Purpose, token_hash: str, now: Instant) -> MailLink | None:
    return await tx.one(_GET_LINK, {"purpose": purpose, "token_hash": token_hash, "now": now})


async def use_mail_link(tx: Tx, purpose: Purpose, token_hash: str, now: Instant) -> MailLink | None:
    """Mark the link as used and return it; None if it was used, has expired or never existed."""
    return await tx.one(_USE_LINK, {"purpose": purpose, "token_hash": token_hash, "now": now})


async def list_invites(tx: Tx, now: Instant) -> Sequence[MailLink]:
    return await tx.all(_INVITES, {"now": now})


async def delete_invite(tx: Tx, link_id: int) -> bool:
    return await tx.run(_REMOVE_INVITE, {"id": link_id}) == 1


async def delete_expired(tx: Tx, now: Instant) -> int:
    return await tx.run(_DELETE_EXPIRED_LINKS, {"now": now})
