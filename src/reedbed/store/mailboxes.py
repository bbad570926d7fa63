"""Mailboxes that are looked into for newsletters."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from sqlalchemy import bindparam, delete, null, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.dialect import chosen_once
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import mail_boxes, users


@record
class Mailbox:
    id: int
    user_id: int
    host: str
    port: int
    security: str
    username: str
    password: str = field(repr=False)
    """Empty: encrypted with a key that is not here."""
    folder: str
    uid_validity: int | None
    last_uid: int
    received: int
    failures: int
    last_error: str | None
    next_check_at: Instant
    last_checked_at: Instant | None


_COLUMNS = tuple(
    mail_boxes.c[name]
    for name in (
        "id", "user_id", "host", "port", "security", "username", "password", "folder", "uid_validity",
        "last_uid", "received", "failures", "last_error", "next_check_at", "last_checked_at",
    )
)  # fmt: skip
_PASSWORD_AT = _COLUMNS.index(mail_boxes.c.password)
_PASSWORD = "mail_boxes.password"  # noqa: S105  what the vault calls it
_mine = mail_boxes.c.user_id == bindparam("user_id")
_ADD = Statement(
    insert(mail_boxes).on_conflict_do_nothing().returning(*_COLUMNS),
    columns=[
        "user_id", "host", "port", "security", "username", "password", "folder", "next_check_at",
        "created_at",
    ],
)  # fmt: skip
_OF_USER = Statement(select(*_COLUMNS).where(_mine).order_by(mail_boxes.c.id))
_COUNT = Statement(select(func.count()).select_from(mail_boxes).where(_mine))
_REMOVE = Statement(delete(mail_boxes).where(_mine, mail_boxes.c.id == bindparam("box")))
_RENEW = Statement(
    update(mail_boxes)
    .where(
        _mine,
        mail_boxes.c.host == bindparam("box_host"),
        mail_boxes.c.username == bindparam("box_username"),
        mail_boxes.c.folder == bindparam("box_folder"),
        mail_boxes.c.password == bindparam("before"),
    )
    .values(
        port=bindparam("new_port"),
        security=bindparam("new_security"),
        password=bindparam("new_password"),
        next_check_at=bindparam("now"),
        failures=0,
        last_error=null(),
    )
    .returning(*_COLUMNS)
)
_due = (
    select(mail_boxes.c.id)
    .join(users, users.c.id == mail_boxes.c.user_id)
    .where(mail_boxes.c.next_check_at <= bindparam("now"), users.c.disabled_at.is_(None))
    .order_by(mail_boxes.c.next_check_at)
    .limit(1)
    .with_for_update(skip_locked=True, of=mail_boxes)
)
_CLAIM = Statement(
    update(mail_boxes)
    .where(mail_boxes.c.id.in_(chosen_once(_due)))
    .values(next_check_at=bindparam("until"))
    .returning(*_COLUMNS)
)
_ASK = Statement(
    update(mail_boxes)
    .where(_mine, mail_boxes.c.id == bindparam("box"))
    .values(next_check_at=bindparam("now"))
)
_TAKEN = Statement(
    update(mail_boxes)
    .where(mail_boxes.c.id == bindparam("box"))
    .values(
        uid_validity=bindparam("validity"),
        last_uid=bindparam("uid"),
        received=mail_boxes.c.received + bindparam("new"),
    )
)
_WENT_WELL = Statement(
    update(mail_boxes)
    .where(mail_boxes.c.id == bindparam("box"))
    .values(
        uid_validity=bindparam("validity"),
        last_checked_at=bindparam("now"),
        next_check_at=bindparam("next"),
        failures=0,
        last_error=null(),
    )
)
_WENT_WRONG = Statement(
    update(mail_boxes)
    .where(mail_boxes.c.id == bindparam("box"))
    .values(
        last_checked_at=bindparam("now"),
        next_check_at=bindparam("next"),
        failures=mail_boxes.c.failures + 1,
        last_error=bindparam("why"),
    )
)


async def add(
    tx: Tx,
    user_id: int,
    *,
    host: str,
    port: int,
    security: str,
    username: str,
    password: str,
    folder: str,
    now: Instant,
) -> Mailbox | None:
    """None when the user has this folder already and its password can be read."""
    params = {
        "user_id": user_id,
        "host": host,
        "port": port,
        "security": security,
        "username": username,
        "password": tx.vault.encrypt(_PASSWORD, password),
        "folder": folder,
        "next_check_at": now,
        "created_at": now,
    }
    row = await tx.one(_ADD, params) or await _renew_lost(tx, params)
    return _mailbox(tx, row) if row else None


async def _renew_lost(tx: Tx, params: Mapping[str, Any]) -> Row | None:
    for row in await tx.all(_OF_USER, {"user_id": params["user_id"]}):
        if tx.vault.decrypt(_PASSWORD, row["password"]) is None:
            renewed = {
                "user_id": params["user_id"],
                "before": row["password"],
                "now": params["next_check_at"],
            }
            renewed |= {f"box_{name}": params[name] for name in ("host", "username", "folder")}
            renewed |= {f"new_{name}": params[name] for name in ("port", "security", "password")}
            if (changed := await tx.one(_RENEW, renewed)) is not None:
                return changed
    return None


async def of_user(tx: Tx, user_id: int) -> list[Mailbox]:
    return [_mailbox(tx, row) for row in await tx.all(_OF_USER, {"user_id": user_id})]


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"user_id": user_id})


async def remove(tx: Tx, user_id: int, mailbox_id: int) -> bool:
    return await tx.run(_REMOVE, {"user_id": user_id, "box": mailbox_id}) == 1


async def ask(tx: Tx, user_id: int, mailbox_id: int, now: Instant) -> bool:
    return await tx.run(_ASK, {"user_id": user_id, "box": mailbox_id, "now": now}) == 1


async def claim_due(tx: Tx, now: Instant, until: Instant) -> Mailbox | None:
    """One whose turn it is; nobody else's before `until`."""
    row = await tx.one(_CLAIM, {"now": now, "until": until})
    return _mailbox(tx, row) if row else None


async def note_taken(tx: Tx, mailbox_id: int, validity: int, uid: int, new: int) -> None:
    await tx.run(_TAKEN, {"box": mailbox_id, "validity": validity, "uid": uid, "new": new})


async def note_checked(tx: Tx, mailbox_id: int, validity: int, now: Instant, next_at: Instant) -> None:
    await tx.run(_WENT_WELL, {"box": mailbox_id, "validity": validity, "now": now, "next": next_at})


async def note_trouble(tx: Tx, mailbox_id: int, why: str, now: Instant, next_at: Instant) -> None:
    await tx.run(_WENT_WRONG, {"box": mailbox_id, "why": why, "now": now, "next": next_at})


def _mailbox(tx: Tx, row: Row) -> Mailbox:
    values: list[Any] = list(row)
    values[_PASSWORD_AT] = tx.vault.decrypt(_PASSWORD, values[_PASSWORD_AT]) or ""
    return Mailbox(*values)
