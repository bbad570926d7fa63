"""Sessions, API tokens, and one-time links in emails, of which only the SHA-256 is stored."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, insert, or_, update

from reedbed.domain.auth import MailLink, Purpose
from reedbed.domain.times import DAY, Instant
from reedbed.domain.users import ApiToken, Caller, Session, TokenScope, scope_words
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, func, select
from reedbed.store.tables import mail_links, sessions, tokens, users
from reedbed.store.users import USER_COLUMNS, user_from_row

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

_INSERT_SESSION = Statement(
    insert(sessions).returning(sessions.c.id),
    columns=["user_id", "token_hash", "user_agent", "ip", "created_at", "last_active_at", "expires_at"],
)
_CALLER_BY_SESSION = Statement(
    select(*USER_COLUMNS, sessions.c.id.label("session_id"), sessions.c.last_active_at)
    .join_from(sessions, users, users.c.id == sessions.c.user_id)
    .where(sessions.c.token_hash == bindparam("token_hash"), *_is_active, users.c.disabled_at.is_(None))
)
_ACTIVE_SESSION = Statement(
    select(sessions.c.id)
    .join_from(sessions, users, users.c.id == sessions.c.user_id)
    .where(sessions.c.id == bindparam("session_id"), *_is_active, users.c.disabled_at.is_(None))
)
_LIST_SESSIONS = Statement(
    select(
        sessions.c.id,
        sessions.c.user_agent,
        sessions.c.ip,
        sessions.c.created_at,
        sessions.c.last_active_at,
        sessions.c.expires_at,
    )
    .where(_own_sessions, *_is_active)
    .order_by(sessions.c.last_active_at.desc(), sessions.c.id.desc())
    .limit(bindparam("limit"))
)
_CREATED_IN_FUTURE = Statement(
    select(sessions.c.id).where(sessions.c.token_hash == bindparam("token_hash"), _is_created_in_future)
)
_OPENED_AT = Statement(select(sessions.c.created_at).where(sessions.c.id == bindparam("session_id")))
_TOUCH_SESSION = Statement(
    update(sessions).where(sessions.c.id == bindparam("session_id")).values(last_active_at=bindparam("now"))
)
_DELETE_SESSION = Statement(delete(sessions).where(sessions.c.id == bindparam("session_id"), _own_sessions))
_DELETE_OTHERS = Statement(delete(sessions).where(_own_sessions, sessions.c.id != bindparam("kept_id")))


async def add_session(
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
        _INSERT_SESSION,
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


async def get_caller(
    tx: Tx, token_hash: str, *, now: Instant, idle_since: Instant
) -> tuple[Caller, Instant] | None:
    """Return the caller with this session token, and when they were last active."""
    row = await tx.one(_CALLER_BY_SESSION, {"token_hash": token_hash, "now": now, "idle_since": idle_since})
    if row is None:
        return None
    return Caller(user_from_row(row), session_id=row["session_id"]), row["last_active_at"]


async def list_sessions(
    tx: Tx, user_id: int, *, now: Instant, idle_since: Instant, limit: int
) -> Sequence[Session]:
    """Most recently active first."""
    params = {"user_id": user_id, "now": now, "idle_since": idle_since, "limit": limit}
    return [Session(*row) for row in await tx.all(_LIST_SESSIONS, params)]


async def is_session_open(tx: Tx, session_id: int, *, now: Instant, idle_since: Instant) -> bool:
    params = {"session_id": session_id, "now": now, "idle_since": idle_since}
    return await tx.value(_ACTIVE_SESSION, params) is not None


async def session_opened_at(tx: Tx, session_id: int) -> Instant | None:
    return await tx.value(_OPENED_AT, {"session_id": session_id})


async def was_session_created_in_future(tx: Tx, token_hash: str, now: Instant) -> bool:
    """Return whether this session was created while the clock was more than a day ahead."""
    return await tx.value(_CREATED_IN_FUTURE, {"token_hash": token_hash, "now": now}) is not None


async def touch_session(tx: Tx, session_id: int, now: Instant) -> None:
    await tx.run(_TOUCH_SESSION, {"session_id": session_id, "now": now})


async def delete_session(tx: Tx, user_id: int, session_id: int) -> bool:
    return await tx.run(_DELETE_SESSION, {"user_id": user_id, "session_id": session_id}) == 1


async def delete_other_sessions(tx: Tx, user_id: int, kept_id: int | None) -> int:
    """Delete all sessions of a user, except `kept_id` if given."""
    return await tx.run(_DELETE_OTHERS, {"user_id": user_id, "kept_id": kept_id or 0})


_DELETE_EXPIRED_SESSIONS = Statement(
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

_INSERT_TOKEN = Statement(
    insert(tokens).returning(*_TOKEN_COLUMNS),
    columns=["user_id", "kind", "name", "scopes", "secret_hash", "fever_digest", "created_at"],
)
_TOKEN_BY_SECRET = Statement(_select_callers.where(tokens.c.secret_hash == bindparam("secret_hash")))
_TOKEN_BY_ID = Statement(
    _select_callers.add_columns(tokens.c.secret_hash).where(tokens.c.id == bindparam("token_id"))
)
_TOKEN_BY_FEVER_DIGEST = Statement(_select_callers.where(tokens.c.fever_digest == bindparam("digest")))
_LIST_TOKENS = Statement(select(*_TOKEN_COLUMNS).where(_own_tokens).order_by(tokens.c.id.desc()))
_COUNT_TOKENS = Statement(select(func.count()).select_from(tokens).where(_own_tokens))
_TOUCH_TOKEN = Statement(
    update(tokens).where(tokens.c.id == bindparam("token_id")).values(last_used_at=bindparam("now"))
)
_DELETE_TOKEN = Statement(delete(tokens).where(tokens.c.id == bindparam("token_id"), _own_tokens))


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
    row = await tx.one(
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
    assert row is not None
    return _token(row)


async def get_token_by_secret(tx: Tx, kind: str, secret_hash: str) -> tuple[Caller, Instant | None] | None:
    """Return the caller with this secret, and when it was last used."""
    return _caller(await tx.one(_TOKEN_BY_SECRET, {"kind": kind, "secret_hash": secret_hash}))


async def get_token_by_fever_digest(tx: Tx, digest: str) -> tuple[Caller, Instant | None] | None:
    return _caller(await tx.one(_TOKEN_BY_FEVER_DIGEST, {"kind": "app_password", "digest": digest}))


async def get_token(tx: Tx, kind: str, token_id: int) -> tuple[Caller, Instant | None, str] | None:
    """Return the caller, when the token was last used, and the hash of its secret."""
    row = await tx.one(_TOKEN_BY_ID, {"kind": kind, "token_id": token_id})
    caller = _caller(row)
    return (*caller, row["secret_hash"]) if row is not None and caller is not None else None


async def list_tokens(tx: Tx, user_id: int) -> Sequence[ApiToken]:
    return [_token(row) for row in await tx.all(_LIST_TOKENS, {"user_id": user_id})]


async def count_tokens(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT_TOKENS, {"user_id": user_id})


async def touch_token(tx: Tx, token_id: int, now: Instant) -> None:
    await tx.run(_TOUCH_TOKEN, {"token_id": token_id, "now": now})


async def delete_token(tx: Tx, user_id: int, token_id: int) -> bool:
    return await tx.run(_DELETE_TOKEN, {"user_id": user_id, "token_id": token_id}) == 1


def _token(row: Row) -> ApiToken:
    return ApiToken(row[0], row[1], row[2], _parse_scopes(row[3]), row[4], row[5])


def _caller(row: Row | None) -> tuple[Caller, Instant | None] | None:
    if row is None:
        return None
    user = user_from_row(row)
    scopes = _parse_scopes(row["scopes"])
    # The admin scope ends when the user is no longer an admin.
    allowed = scopes if user.operates else scopes - {TokenScope.ADMIN}
    return Caller(user, scopes=allowed, token_id=row["token_id"]), row["last_used_at"]


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

_INSERT_MAIL_LINK = Statement(
    insert(mail_links),
    columns=["user_id", "purpose", "email", "token_hash", "created_at", "expires_at"],
)
_GET_LINK = Statement(select(*_LINK_COLUMNS).where(*_is_usable))
_USE_LINK = Statement(
    update(mail_links).where(*_is_usable).values(used_at=bindparam("now")).returning(*_LINK_COLUMNS)
)
_DELETE_LINKS = Statement(
    delete(mail_links).where(
        mail_links.c.email == bindparam("email"), mail_links.c.purpose == bindparam("purpose")
    )
)
_INVITES = Statement(
    select(*_LINK_COLUMNS)
    .where(
        mail_links.c.purpose == "invite",
        mail_links.c.used_at.is_(None),
        mail_links.c.expires_at > bindparam("now"),
    )
    .order_by(mail_links.c.id.desc())
    .limit(500)
)
_REMOVE_INVITE = Statement(
    delete(mail_links).where(mail_links.c.id == bindparam("id"), mail_links.c.purpose == "invite")
)
_DELETE_EXPIRED_LINKS = Statement(
    delete(mail_links).where(
        or_(mail_links.c.expires_at <= bindparam("now"), mail_links.c.used_at.is_not(None))
    )
)


async def add_mail_link(
    tx: Tx,
    *,
    purpose: Purpose,
    email: str,
    user_id: int | None,
    token_hash: str,
    now: Instant,
    expires_at: Instant,
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
    return _link(await tx.one(_GET_LINK, {"purpose": purpose, "token_hash": token_hash, "now": now}))


async def use_mail_link(tx: Tx, purpose: Purpose, token_hash: str, now: Instant) -> MailLink | None:
    """Mark the link as used and return it; None if it was used, has expired or never existed."""
    return _link(await tx.one(_USE_LINK, {"purpose": purpose, "token_hash": token_hash, "now": now}))


async def list_invites(tx: Tx, now: Instant) -> Sequence[MailLink]:
    return [MailLink(*row) for row in await tx.all(_INVITES, {"now": now})]


async def delete_invite(tx: Tx, link_id: int) -> bool:
    return await tx.run(_REMOVE_INVITE, {"id": link_id}) == 1


async def delete_expired(tx: Tx, now: Instant) -> int:
    return await tx.run(_DELETE_EXPIRED_LINKS, {"now": now})


def _link(row: Row | None) -> MailLink | None:
    return MailLink(*row) if row else None
