"""API tokens and app passwords: only hashes stored."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.accounts import ApiToken, Caller, Scope, scope_words
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import tokens, users
from reedbed.store.users import USER_COLUMNS, user_of

_mine = tokens.c.user_id == bindparam("user_id")
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

_INSERT = Statement(
    insert(tokens).returning(*_TOKEN_COLUMNS),
    columns=["user_id", "kind", "name", "scopes", "secret_hash", "fever_digest", "created_at"],
)
_BY_SECRET = Statement(_callers.where(tokens.c.secret_hash == bindparam("secret_hash")))
_BY_ID = Statement(_callers.add_columns(tokens.c.secret_hash).where(tokens.c.id == bindparam("token_id")))
_BY_FEVER = Statement(_callers.where(tokens.c.fever_digest == bindparam("digest")))
_LIST = Statement(select(*_TOKEN_COLUMNS).where(_mine).order_by(tokens.c.id.desc()))
_COUNT = Statement(select(func.count()).select_from(tokens).where(_mine))
_TOUCH = Statement(
    update(tokens).where(tokens.c.id == bindparam("token_id")).values(last_used_at=bindparam("now"))
)
_DELETE = Statement(delete(tokens).where(tokens.c.id == bindparam("token_id"), _mine))


async def add(
    tx: Tx,
    user_id: int,
    *,
    kind: str,
    name: str,
    scopes: frozenset[Scope],
    secret_hash: str,
    fever_digest: str | None,
    now: Instant,
) -> ApiToken:
    row = await tx.one(
        _INSERT,
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


async def by_secret(tx: Tx, kind: str, secret_hash: str) -> tuple[Caller, Instant | None] | None:
    """Who holds this secret, and when it was last used."""
    return _caller(await tx.one(_BY_SECRET, {"kind": kind, "secret_hash": secret_hash}))


async def by_fever_digest(tx: Tx, digest: str) -> tuple[Caller, Instant | None] | None:
    return _caller(await tx.one(_BY_FEVER, {"kind": "app_password", "digest": digest}))


async def by_id(tx: Tx, kind: str, token_id: int) -> tuple[Caller, Instant | None, str] | None:
    """Whose it is, when it was last used, and the hash of its secret."""
    row = await tx.one(_BY_ID, {"kind": kind, "token_id": token_id})
    found = _caller(row)
    return (*found, row["secret_hash"]) if row is not None and found is not None else None


async def of_user(tx: Tx, user_id: int) -> Sequence[ApiToken]:
    return [_token(row) for row in await tx.all(_LIST, {"user_id": user_id})]


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"user_id": user_id})


async def touch(tx: Tx, token_id: int, now: Instant) -> None:
    await tx.run(_TOUCH, {"token_id": token_id, "now": now})


async def remove(tx: Tx, user_id: int, token_id: int) -> bool:
    return await tx.run(_DELETE, {"user_id": user_id, "token_id": token_id}) == 1


def _token(row: Row) -> ApiToken:
    return ApiToken(row[0], row[1], row[2], _scopes(row[3]), row[4], row[5])


def _caller(row: Row | None) -> tuple[Caller, Instant | None] | None:
    if row is None:
        return None
    user = user_of(row)
    scopes = _scopes(row["scopes"])
    # An admin token of somebody who is no operator any more is a plain one.
    allowed = scopes if user.operates else scopes - {Scope.ADMIN}
    return Caller(user, scopes=allowed, token_id=row["token_id"]), row["last_used_at"]


def _scopes(words: str) -> frozenset[Scope]:
    return frozenset(Scope(word) for word in words.split())
