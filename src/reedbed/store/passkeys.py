"""Passkeys: their public keys, and how they were used."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, update

from reedbed.domain.passkeys import Passkey
from reedbed.domain.times import Instant
from reedbed.domain.users import User
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, insert, select
from reedbed.store.tables import passkeys, users
from reedbed.store.users import USER_COLUMNS

_COLUMNS = (
    passkeys.c.id,
    passkeys.c.user_id,
    passkeys.c.name,
    passkeys.c.credential_id,
    passkeys.c.public_key,
    passkeys.c.user_handle,
    passkeys.c.sign_count,
    passkeys.c.backup_eligible,
    passkeys.c.backed_up,
    passkeys.c.rp_id,
    passkeys.c.created_at,
    passkeys.c.last_used_at,
)
_own = passkeys.c.user_id == bindparam("user_id")


def _with_user(*columns: Any) -> tuple[Passkey, User]:
    size = len(_COLUMNS)
    return Passkey(*columns[:size]), User(*columns[size:])


_LIST = Query(select(*_COLUMNS).where(_own).order_by(passkeys.c.id), into=Passkey)
_COUNT = Query(select(func.count()).select_from(passkeys).where(_own), into=int)
_BY_CREDENTIAL = Query(
    select(*_COLUMNS, *(column.label(f"user_{column.name}") for column in USER_COLUMNS))
    .join_from(passkeys, users, users.c.id == passkeys.c.user_id)
    .where(passkeys.c.credential_id == bindparam("credential_id")),
    into=_with_user,
)
_ADD = Query(
    insert(passkeys).on_conflict_do_nothing().returning(*_COLUMNS),
    columns=[
        *("user_id", "name", "credential_id", "public_key", "user_handle", "sign_count", "backup_eligible"),
        *("backed_up", "rp_id", "created_at"),
    ],
    into=Passkey,
)
_RECORD_USE = Command(
    update(passkeys)
    .where(passkeys.c.id == bindparam("id"), passkeys.c.sign_count == bindparam("before"))
    .values(sign_count=bindparam("count"), backed_up=bindparam("backed_up"), last_used_at=bindparam("now"))
)
_RENAME = Command(update(passkeys).where(_own, passkeys.c.id == bindparam("id")).values(name=bindparam("new_name")))
_DELETE = Command(delete(passkeys).where(_own, passkeys.c.id == bindparam("id")))
_DELETE_ALL = Command(delete(passkeys).where(_own))


async def list_passkeys(tx: Tx, user_id: int) -> Sequence[Passkey]:
    return await tx.all(_LIST, {"user_id": user_id})


async def count_passkeys(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"user_id": user_id})


async def find_passkey(tx: Tx, credential_id: str) -> tuple[Passkey, User] | None:
    """Return the passkey of any user, and its user: the passkey says who logs in."""
    return await tx.one(_BY_CREDENTIAL, {"credential_id": credential_id})


async def add_passkey(
    tx: Tx,
    user_id: int,
    *,
    name: str,
    credential_id: str,
    public_key: str,
    user_handle: str,
    sign_count: int,
    backup_eligible: bool,
    backed_up: bool,
    rp_id: str,
    now: Instant,
) -> Passkey | None:
    """Return None if this passkey belongs to an account already."""
    params = {
        "user_id": user_id,
        "name": name,
        "credential_id": credential_id,
        "public_key": public_key,
        "user_handle": user_handle,
        "sign_count": sign_count,
        "backup_eligible": backup_eligible,
        "backed_up": backed_up,
        "rp_id": rp_id,
        "created_at": now,
    }
    return await tx.one(_ADD, params)


async def record_use(tx: Tx, passkey: Passkey, sign_count: int, now: Instant, *, backed_up: bool) -> bool:
    """Return False if it was used at the same time elsewhere."""
    params = {"id": passkey.id, "before": passkey.sign_count, "count": sign_count, "backed_up": backed_up, "now": now}
    return await tx.run(_RECORD_USE, params) == 1


async def rename_passkey(tx: Tx, user_id: int, passkey_id: int, name: str) -> bool:
    return await tx.run(_RENAME, {"user_id": user_id, "id": passkey_id, "new_name": name}) == 1


async def delete_passkey(tx: Tx, user_id: int, passkey_id: int) -> bool:
    return await tx.run(_DELETE, {"user_id": user_id, "id": passkey_id}) == 1


async def delete_passkeys(tx: Tx, user_id: int) -> int:
    return await tx.run(_DELETE_ALL, {"user_id": user_id})
