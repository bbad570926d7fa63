"""The encrypted columns, and the re-encryption of their rows with the current key."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ClauseElement, Column, bindparam, null, text, update

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.encryption import PREFIX
from reedbed.store.engine.statements import Command, CommandFamily, Query, QueryFamily, select
from reedbed.store.tables import (
    app_settings,
    feeds,
    mail_boxes,
    one_time_codes,
    share_targets,
    webhooks,
    websub_subscriptions,
)

BATCH_SIZE = 200


@record
class EncryptedColumn:
    column: Column[Any]
    row: str | None = None
    """If set, only the row of `app_settings` with this key."""

    @property
    def purpose(self) -> str:
        """Bound into the ciphertext: a value copied to another column cannot be decrypted there."""
        return f"{self.column.table.name}.{self.row or self.column.name}"


@record
class StoredSecret:
    id: Any
    value: str


INSTANCE_SECRET = EncryptedColumn(app_settings.c.value, "secret_key")
HUB_SECRET = EncryptedColumn(websub_subscriptions.c.secret)
COLUMNS = (
    EncryptedColumn(feeds.c.password),
    EncryptedColumn(feeds.c.proxy),
    EncryptedColumn(mail_boxes.c.password),
    EncryptedColumn(one_time_codes.c.secret),
    EncryptedColumn(share_targets.c.secrets),
    EncryptedColumn(webhooks.c.secret),
    HUB_SECRET,
    EncryptedColumn(app_settings.c.value, "vapid_key"),
    INSTANCE_SECRET,
)


def _id(encrypted: EncryptedColumn) -> Column[Any]:
    return next(iter(encrypted.column.table.primary_key))


def _select_outdated(encrypted: EncryptedColumn, beyond: bool) -> ClauseElement:
    query = select(_id(encrypted), encrypted.column).where(
        encrypted.column.is_not(None), encrypted.column.not_like(bindparam("current"))
    )
    if encrypted.row is not None:
        query = query.where(_id(encrypted) == encrypted.row)
    if beyond:
        query = query.where(_id(encrypted) > bindparam("beyond"))
    return query.order_by(_id(encrypted)).limit(bindparam("limit"))


def _replace(encrypted: EncryptedColumn) -> ClauseElement:
    return (
        update(encrypted.column.table)
        .where(_id(encrypted) == bindparam("this"), encrypted.column == bindparam("before"))
        .values({encrypted.column.name: bindparam("after")})
    )


def _select_plain(encrypted: EncryptedColumn) -> ClauseElement:
    query = select(_id(encrypted)).where(encrypted.column.is_not(None), encrypted.column.not_like(f"{PREFIX}%"))
    if encrypted.row is not None:
        query = query.where(_id(encrypted) == encrypted.row)
    return query.limit(1)


_OUTDATED = QueryFamily(_select_outdated, into=StoredSecret)
_PLAIN = QueryFamily(_select_plain, into=str)
_REPLACE = CommandFamily(_replace)
# Otherwise SQLite leaves the plain text in the free space of its pages, and so in every backup.
_SECURE_DELETE = Query(text("PRAGMA secure_delete = ON"), into=int)
_NEW_HUB_SECRET = Command(
    update(websub_subscriptions)
    .where(websub_subscriptions.c.id == bindparam("this"))
    .values(secret=bindparam("after"), state="new", asked=null(), due_at=bindparam("now"))
)


async def outdated_secrets(tx: Tx, encrypted: EncryptedColumn, beyond: Any = None) -> list[StoredSecret]:
    """A batch of rows, by id, that are plain text or encrypted with another key than the current one."""
    key = tx.vault.current
    params = {"current": f"{PREFIX}{key.id}:%" if key else "", "beyond": beyond, "limit": BATCH_SIZE}
    return await tx.all(_OUTDATED(encrypted, beyond is not None), params)


async def has_plain_text(tx: Tx, encrypted: EncryptedColumn) -> bool:
    return await tx.one(_PLAIN(encrypted)) is not None


async def enable_secure_delete(tx: Tx) -> None:
    """Make SQLite overwrite the data that this connection changes or deletes from now on."""
    if tx.engine == "sqlite":
        await tx.all(_SECURE_DELETE)


async def replace(tx: Tx, encrypted: EncryptedColumn, changed: Sequence[tuple[StoredSecret, str]]) -> None:
    """Skips rows that were changed meanwhile."""
    await enable_secure_delete(tx)
    rows = [{"this": before.id, "before": before.value, "after": after} for before, after in changed]
    await tx.run_many(_REPLACE(encrypted), rows)


async def renew_hub_secret(tx: Tx, subscription_id: int, secret: str, now: Instant) -> None:
    """Store a new secret and subscribe to the hub again, which then signs with it."""
    stored = tx.vault.encrypt(HUB_SECRET.purpose, secret)
    await tx.run(_NEW_HUB_SECRET, {"this": subscription_id, "after": stored, "now": now})
