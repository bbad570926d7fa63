"""Which columns are encrypted by the vault, and how their rows are brought to the current key."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ClauseElement, Column, bindparam, null, text, update

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.encryption import PREFIX
from reedbed.store.engine.statements import Shapes, Statement, select
from reedbed.store.tables import (
    app_settings,
    feeds,
    mail_boxes,
    share_targets,
    webhooks,
    websub_subscriptions,
)

AT_ONCE = 200


@record
class EncryptedColumn:
    column: Column[Any]
    row: str | None = None
    """Set: only the row of `app_settings` with this key."""

    @property
    def purpose(self) -> str:
        """What the vault calls it: a value that is moved to another column cannot be decrypted there."""
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
    EncryptedColumn(share_targets.c.secrets),
    EncryptedColumn(webhooks.c.secret),
    HUB_SECRET,
    EncryptedColumn(app_settings.c.value, "vapid_key"),
    INSTANCE_SECRET,
)


def _id(one: EncryptedColumn) -> Column[Any]:
    return next(iter(one.column.table.primary_key))


def _some(one: EncryptedColumn, beyond: bool) -> ClauseElement:
    found = select(_id(one), one.column).where(
        one.column.is_not(None), one.column.not_like(bindparam("current"))
    )
    if one.row is not None:
        found = found.where(_id(one) == one.row)
    if beyond:
        found = found.where(_id(one) > bindparam("beyond"))
    return found.order_by(_id(one)).limit(bindparam("limit"))


def _replace(one: EncryptedColumn) -> ClauseElement:
    return (
        update(one.column.table)
        .where(_id(one) == bindparam("this"), one.column == bindparam("before"))
        .values({one.column.name: bindparam("after")})
    )


def _in_clear(one: EncryptedColumn) -> ClauseElement:
    found = select(_id(one)).where(one.column.is_not(None), one.column.not_like(f"{PREFIX}%"))
    if one.row is not None:
        found = found.where(_id(one) == one.row)
    return found.limit(1)


_SOME = Shapes(_some)
_IN_CLEAR = Shapes(_in_clear)
_REPLACE = Shapes(_replace)
# SQLite would leave the clear text in the free space of its pages, and so in every backup.
_WIPE = Statement(text("PRAGMA secure_delete = ON"))
_NEW_HUB_SECRET = Statement(
    update(websub_subscriptions)
    .where(websub_subscriptions.c.id == bindparam("this"))
    .values(secret=bindparam("after"), state="new", asked=null(), due_at=bindparam("now"))
)


async def not_current(tx: Tx, one: EncryptedColumn, beyond: Any = None) -> list[StoredSecret]:
    """Some rows in clear or under another key than the current one, by id."""
    key = tx.vault.current
    params = {"current": f"{PREFIX}{key.id}:%" if key else "", "beyond": beyond, "limit": AT_ONCE}
    return [StoredSecret(row[0], row[1]) for row in await tx.all(_SOME(one, beyond is not None), params)]


async def any_in_clear(tx: Tx, one: EncryptedColumn) -> bool:
    return await tx.one(_IN_CLEAR(one)) is not None


async def wipe_what_is_replaced(tx: Tx) -> None:
    """From here on, what this connection changes or deletes leaves nothing behind in the file."""
    if tx.engine == "sqlite":
        await tx.all(_WIPE)


async def replace(tx: Tx, one: EncryptedColumn, changed: Sequence[tuple[StoredSecret, str]]) -> None:
    """Unless somebody has changed the row meanwhile."""
    await wipe_what_is_replaced(tx)
    rows = [{"this": before.id, "before": before.value, "after": after} for before, after in changed]
    await tx.run_many(_REPLACE(one), rows)


async def renew_hub_secret(tx: Tx, subscription_id: int, secret: str, now: Instant) -> None:
    """The hub is asked again, and signs with this from then on."""
    stored = tx.vault.encrypt(HUB_SECRET.purpose, secret)
    await tx.run(_NEW_HUB_SECRET, {"this": subscription_id, "after": stored, "now": now})
