"""Small things the program itself must remember."""

from sqlalchemy import bindparam, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.errors import Unavailable
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import app_settings

NO_KEY = (
    "Passwords in the database are encrypted with a key that this process does not have. Set the same "
    "REEDBED_SECRET_KEY for all processes, or give each the secret.key in its data directory. If the key is "
    "lost, run 'reedbed admin secrets rotate --lost-key' and enter passwords of feeds and mailboxes again."
)

_GET = Statement(select(app_settings.c.value).where(app_settings.c.key == bindparam("key")))
_KEEP_FIRST = Statement(
    insert(app_settings)
    .values(key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now"))
    .on_conflict_do_nothing(index_elements=["key"])
)
_upsert = insert(app_settings).values(
    key=bindparam("key"), value=bindparam("value"), updated_at=bindparam("now")
)
_SET = Statement(
    _upsert.on_conflict_do_update(
        index_elements=["key"],
        set_={"value": _upsert.excluded.value, "updated_at": _upsert.excluded.updated_at},
    )
)


_REPLACE = Statement(
    update(app_settings)
    .where(app_settings.c.key == bindparam("this"), app_settings.c.value == bindparam("before"))
    .values(value=bindparam("value"), updated_at=bindparam("now"))
)


async def get(tx: Tx, key: str) -> str | None:
    return await tx.value(_GET, {"key": key})


async def put(tx: Tx, key: str, value: str, now: Instant) -> None:
    await tx.run(_SET, {"key": key, "value": value, "now": now})


async def get_secret(tx: Tx, key: str) -> str | None:
    """None also for one that cannot be decrypted here."""
    stored = await get(tx, key)
    return None if stored is None else tx.vault.decrypt(f"app_settings.{key}", stored)


async def keep_secret(tx: Tx, key: str, value: str, now: Instant) -> str:
    """Store `value` encrypted unless there is one that can be read; the one that stays.

    Raises `Unavailable` in a process without a key where others have one: it must not replace theirs.
    """
    new = {"key": key, "value": tx.vault.encrypt(f"app_settings.{key}", value), "now": now}
    await tx.run(_KEEP_FIRST, new)
    kept = await get_secret(tx, key)
    if kept is None and tx.vault.current is None:
        raise Unavailable(NO_KEY)
    if kept is None:
        await tx.run(_REPLACE, new | {"this": key, "before": await get(tx, key)})
        kept = await get_secret(tx, key)
    assert kept is not None
    return kept
