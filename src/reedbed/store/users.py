"""Accounts."""

from sqlalchemy import bindparam, func, insert, select, update

from reedbed.domain.accounts import User
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import users

USER_COLUMNS = (
    users.c.id,
    users.c.email,
    users.c.role,
    users.c.created_at,
    users.c.preferences,
    users.c.email_verified_at,
    users.c.disabled_at,
)

_ANY = Statement(select(users.c.id).limit(1))
_BY_ID = Statement(select(*USER_COLUMNS).where(users.c.id == bindparam("id")))
_BY_EMAIL = Statement(select(*USER_COLUMNS, users.c.password_hash).where(users.c.email == bindparam("email")))
_INSERT = Statement(
    insert(users).returning(*USER_COLUMNS),
    columns=["email", "password_hash", "role", "created_at", "email_verified_at"],
)
_SET_PASSWORD = Statement(
    update(users).where(users.c.id == bindparam("user_id")).values(password_hash=bindparam("password_hash"))
)
_COUNT = Statement(select(func.count()).select_from(users))


async def any_user(tx: Tx) -> bool:
    return await tx.value(_ANY) is not None


async def count(tx: Tx) -> int:
    return await tx.value(_COUNT)


async def by_id(tx: Tx, user_id: int) -> User | None:
    row = await tx.one(_BY_ID, {"id": user_id})
    return _user(row) if row else None


async def by_email(tx: Tx, email: str) -> tuple[User, str | None] | None:
    """The user and the password's hash."""
    row = await tx.one(_BY_EMAIL, {"email": email})
    return (_user(row), row["password_hash"]) if row else None


async def add(
    tx: Tx, *, email: str, password_hash: str | None, role: str, now: Instant, verified: bool
) -> User:
    row = await tx.one(
        _INSERT,
        {
            "email": email,
            "password_hash": password_hash,
            "role": role,
            "created_at": now,
            "email_verified_at": now if verified else None,
        },
    )
    assert row is not None
    return _user(row)


async def set_password(tx: Tx, user_id: int, password_hash: str) -> None:
    await tx.run(_SET_PASSWORD, {"user_id": user_id, "password_hash": password_hash})


def _user(row: Row) -> User:
    return User(row[0], row[1], row[2], row[3], row[4], row[5], row[6])
