"""Links in letters: only their SHA-256 stored, each good for one use."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, insert, or_, update

from reedbed.domain.auth import MailLink, Purpose
from reedbed.domain.times import DAY, Instant
from reedbed.domain.users import ApiToken, Caller, Session, TokenScope, scope_words
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, func, select
from reedbed.store.tables import mail_links, sessions, tokens, users
from reedbed.store.users import USER_COLUMNS, event_user

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


async def get_caller(
    tx: Tx, token_hash: str, *, now: Instant, idle_since: Instant
) -> tuple[Caller, Instant] | None:
    """Who holds this token, and when they were last seen."""
    row = await tx.one(_CALLER, {"token_hash": token_hash, "now": now, "idle_since": idle_since})
    if row is None:
        return None
    return Caller(event_user(row), session_id=row["session_id"]), row["last_active_at"]


async def list_sessions(
    tx: Tx, user_id: int, *, now: Instant, idle_since: Instant, limit: int
) -> Sequence[Session]:
    """The last active first."""
    params = {"user_id": user_id, "now": now, "idle_since": idle_since, "limit": limit}
    return [Session(*row) for row in await tx.all(_LIST, params)]


async def is_session_open(tx: Tx, session_id: int, *, now: Instant, idle_since: Instant) -> bool:
    params = {"session_id": session_id, "now": now, "idle_since": idle_since}
    return await tx.value(_OPEN, params) is not None


async def session_opened_at(tx: Tx, session_id: int) -> Instant | None:
    return await tx.value(_OPENED_AT, {"session_id": session_id})


async def was_session_made_ahead(tx: Tx, token_hash: str, now: Instant) -> bool:
    """Whether this session was opened while the clock was more than a day ahead of now."""
    return await tx.value(_MADE_AHEAD, {"token_hash": token_hash, "now": now}) is not None


async def touch_session(tx: Tx, session_id: int, now: Instant) -> None:
    await tx.run(_TOUCH, {"session_id": session_id, "now": now})


async def delete_session(tx: Tx, user_id: int, session_id: int) -> bool:
    return await tx.run(_DELETE, {"user_id": user_id, "session_id": session_id}) == 1


async def delete_other_sessions(tx: Tx, user_id: int, kept_id: int | None) -> int:
    """All sessions of a user but one, or all."""
    return await tx.run(_DELETE_OTHERS, {"user_id": user_id, "kept_id": kept_id or 0})


_SESSIONS = Statement(
    delete(sessions).where(
        or_(
            sessions.c.expires_at <= bindparam("now"),
            sessions.c.last_active_at <= bindparam("idle_since"),
            sessions.c.created_at > bindparam("now", type_=BigInteger()) + DAY,
        )
    )
)


async def delete_user_sessions(tx: Tx, *, now: Instant, idle_since: Instant) -> int:
    return await tx.run(_SESSIONS, {"now": now, "idle_since": idle_since})


_own_tokens = tokens.c.user_id == bindparam("user_id")
_TOKEN_COLUMNS = (
    tokens.c.id,
    tokens.c.kind,
    tokens.c.name,
    tokens.c.scopes,
    tokens.c.created_at,
    tokens.c.last_used_at,
)
_callers = (
    select(*USER_COLUMNS, tokens.c.id.label("token_id"), tokens.c.scopes, tokens.c.last_used_at)
    .join_from(tokens, users, users.c.id == tokens.c.user_id)
    .where(users.c.disabled_at.is_(None), tokens.c.kind == bindparam("kind"))
)

_INSERT_TOKEN = Statement(
    insert(tokens).returning(*_TOKEN_COLUMNS),
    columns=["user_id", "kind", "name", "scopes", "secret_hash", "fever_digest", "created_at"],
)
_BY_SECRET = Statement(_callers.where(tokens.c.secret_hash == bindparam("secret_hash")))
_BY_ID = Statement(_callers.add_columns(tokens.c.secret_hash).where(tokens.c.id == bindparam("token_id")))
_BY_FEVER = Statement(_callers.where(tokens.c.fever_digest == bindparam("digest")))
_LIST_TOKENS = Statement(select(*_TOKEN_COLUMNS).where(_own_tokens).order_by(tokens.c.id.desc()))
_COUNT = Statement(select(func.count()).select_from(tokens).where(_own_tokens))
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
    """Who holds this secret, and when it was last used."""
    return _caller(await tx.one(_BY_SECRET, {"kind": kind, "secret_hash": secret_hash}))


async def get_token_by_fever_digest(tx: Tx, digest: str) -> tuple[Caller, Instant | None] | None:
    return _caller(await tx.one(_BY_FEVER, {"kind": "app_password", "digest": digest}))


async def get_token(tx: Tx, kind: str, token_id: int) -> tuple[Caller, Instant | None, str] | None:
    """Whose it is, when it was last used, and the hash of its secret."""
    row = await tx.one(_BY_ID, {"kind": kind, "token_id": token_id})
    found = _caller(row)
    return (*found, row["secret_hash"]) if row is not None and found is not None else None


async def list_tokens(tx: Tx, user_id: int) -> Sequence[ApiToken]:
    return [_token(row) for row in await tx.all(_LIST_TOKENS, {"user_id": user_id})]


async def count_tokens(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"user_id": user_id})


async def touch_token(tx: Tx, token_id: int, now: Instant) -> None:
    await tx.run(_TOUCH_TOKEN, {"token_id": token_id, "now": now})


async def delete_token(tx: Tx, user_id: int, token_id: int) -> bool:
    return await tx.run(_DELETE_TOKEN, {"user_id": user_id, "token_id": token_id}) == 1


def _token(row: Row) -> ApiToken:
    return ApiToken(row[0], row[1], row[2], _scopes(row[3]), row[4], row[5])


def _caller(row: Row | None) -> tuple[Caller, Instant | None] | None:
    if row is None:
        return None
    user = event_user(row)
    scopes = _scopes(row["scopes"])
    # An admin token of somebody who is no operator any more is a plain one.
    allowed = scopes if user.operates else scopes - {TokenScope.ADMIN}
    return Caller(user, scopes=allowed, token_id=row["token_id"]), row["last_used_at"]


def _scopes(words: str) -> frozenset[TokenScope]:
    return frozenset(TokenScope(word) for word in words.split())


_COLUMNS = (
    mail_links.c.id,
    mail_links.c.purpose,
    mail_links.c.email,
    mail_links.c.user_id,
    mail_links.c.created_at,
    mail_links.c.expires_at,
    mail_links.c.used_at,
)
_open = (
    mail_links.c.token_hash == bindparam("token_hash"),
    mail_links.c.purpose == bindparam("purpose"),
    mail_links.c.used_at.is_(None),
    mail_links.c.expires_at > bindparam("now"),
    mail_links.c.created_at <= bindparam("now", type_=BigInteger()) + DAY,  # made by a clock that was right
)

_INSERT_MAIL_LINK = Statement(
    insert(mail_links),
    columns=["user_id", "purpose", "email", "token_hash", "created_at", "expires_at"],
)
_FIND = Statement(select(*_COLUMNS).where(*_open))
_USE = Statement(update(mail_links).where(*_open).values(used_at=bindparam("now")).returning(*_COLUMNS))
_DROP = Statement(
    delete(mail_links).where(
        mail_links.c.email == bindparam("email"), mail_links.c.purpose == bindparam("purpose")
    )
)
_INVITES = Statement(
    select(*_COLUMNS)
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
_SWEEP = Statement(
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
    """A new link of the same purpose replaces the ones before it."""
    await tx.run(_DROP, {"email": email, "purpose": purpose})
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
    return _link(await tx.one(_FIND, {"purpose": purpose, "token_hash": token_hash, "now": now}))


async def use_mail_link(tx: Tx, purpose: Purpose, token_hash: str, now: Instant) -> MailLink | None:
    """The link, spent by this; None when it was spent before, is too old or never was."""
    return _link(await tx.one(_USE, {"purpose": purpose, "token_hash": token_hash, "now": now}))


async def list_invites(tx: Tx, now: Instant) -> Sequence[MailLink]:
    return [MailLink(*row) for row in await tx.all(_INVITES, {"now": now})]


async def delete_invite(tx: Tx, link_id: int) -> bool:
    return await tx.run(_REMOVE_INVITE, {"id": link_id}) == 1


async def delete_expired(tx: Tx, now: Instant) -> int:
    return await tx.run(_SWEEP, {"now": now})


def _link(row: Row | None) -> MailLink | None:
    return MailLink(*row) if row else None
