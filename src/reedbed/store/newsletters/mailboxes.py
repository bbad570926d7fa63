"""Mailboxes that are read for newsletters."""

from dataclasses import field, replace

from sqlalchemy import bindparam, delete, null, update

from reedbed.domain.failures import Failure
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Params, Query, func, insert, select, select_once, with_failure
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
    """Empty if it was encrypted with a key that this process does not have."""
    folder: str
    uid_validity: int | None
    last_uid: int
    received: int
    failures: int
    last_error: Failure | None
    next_check_at: Instant
    last_checked_at: Instant | None


_MAILBOX_COLUMNS = tuple(
    mail_boxes.c[name]
    for name in (
        "id", "user_id", "host", "port", "security", "username", "password", "folder", "uid_validity",
        "last_uid", "received", "failures", "last_error", "next_check_at", "last_checked_at",
    )
)  # fmt: skip
_mailbox = with_failure(Mailbox, 12)
_PASSWORD = "mail_boxes.password"  # noqa: S105  what the vault calls it
_own_mailboxes = mail_boxes.c.user_id == bindparam("user_id")
_ADD_MAILBOX = Query(
    insert(mail_boxes).on_conflict_do_nothing().returning(*_MAILBOX_COLUMNS),
    columns=[
        "user_id", "host", "port", "security", "username", "password", "folder", "next_check_at",
        "created_at",
    ],
    into=_mailbox,
)  # fmt: skip
_MAILBOXES = Query(select(*_MAILBOX_COLUMNS).where(_own_mailboxes).order_by(mail_boxes.c.id), into=_mailbox)
_COUNT_MAILBOXES = Query(select(func.count()).select_from(mail_boxes).where(_own_mailboxes), into=int)
_DELETE_MAILBOX = Command(delete(mail_boxes).where(_own_mailboxes, mail_boxes.c.id == bindparam("box")))
_REPLACE_PASSWORD = Query(
    update(mail_boxes)
    .where(
        _own_mailboxes,
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
    .returning(*_MAILBOX_COLUMNS),
    into=_mailbox,
)
_next_due = (
    select(mail_boxes.c.id)
    .join(users, users.c.id == mail_boxes.c.user_id)
    .where(mail_boxes.c.next_check_at <= bindparam("now"), users.c.disabled_at.is_(None))
    .order_by(mail_boxes.c.next_check_at)
    .limit(1)
    .with_for_update(skip_locked=True, of=mail_boxes)
)
_IS_DUE = Query(select(mail_boxes.c.id).where(mail_boxes.c.next_check_at <= bindparam("now")).limit(1), into=int)
_CLAIM_MAILBOX = Query(
    update(mail_boxes)
    .where(mail_boxes.c.id.in_(select_once(_next_due)))
    .values(next_check_at=bindparam("until"))
    .returning(*_MAILBOX_COLUMNS),
    into=_mailbox,
)
_REQUEST_CHECK = Command(
    update(mail_boxes).where(_own_mailboxes, mail_boxes.c.id == bindparam("box")).values(next_check_at=bindparam("now"))
)
_RECORD_RECEIVED = Command(
    update(mail_boxes)
    .where(mail_boxes.c.id == bindparam("box"))
    .values(
        uid_validity=bindparam("validity"), last_uid=bindparam("uid"), received=mail_boxes.c.received + bindparam("new")
    )
)
_RECORD_CHECK = Command(
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
_RECORD_FAILURE = Command(
    update(mail_boxes)
    .where(mail_boxes.c.id == bindparam("box"))
    .values(
        last_checked_at=bindparam("now"),
        next_check_at=bindparam("next"),
        failures=mail_boxes.c.failures + 1,
        last_error=bindparam("why"),
    )
)


async def add_mailbox(
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
    """Return None if the user already has this folder and its password can be decrypted."""
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
    mailbox = await tx.one(_ADD_MAILBOX, params) or await _replace_unreadable_password(tx, params)
    return mailbox and _with_password(tx, mailbox)


async def _replace_unreadable_password(tx: Tx, params: Params) -> Mailbox | None:
    """Replace a stored password that cannot be decrypted, if the mailbox is otherwise the same."""
    for mailbox in await tx.all(_MAILBOXES, {"user_id": params["user_id"]}):
        if tx.vault.decrypt(_PASSWORD, mailbox.password) is None:
            renewed = {"user_id": params["user_id"], "before": mailbox.password, "now": params["next_check_at"]}
            renewed |= {f"box_{name}": params[name] for name in ("host", "username", "folder")}
            renewed |= {f"new_{name}": params[name] for name in ("port", "security", "password")}
            if (changed := await tx.one(_REPLACE_PASSWORD, renewed)) is not None:
                return changed
    return None


async def list_mailboxes(tx: Tx, user_id: int) -> list[Mailbox]:
    return [_with_password(tx, mailbox) for mailbox in await tx.all(_MAILBOXES, {"user_id": user_id})]


async def count_mailboxes(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT_MAILBOXES, {"user_id": user_id})


async def delete_mailbox(tx: Tx, user_id: int, mailbox_id: int) -> bool:
    return await tx.run(_DELETE_MAILBOX, {"user_id": user_id, "box": mailbox_id}) == 1


async def request_mailbox_check(tx: Tx, user_id: int, mailbox_id: int, now: Instant) -> bool:
    return await tx.run(_REQUEST_CHECK, {"user_id": user_id, "box": mailbox_id, "now": now}) == 1


async def is_mailbox_due(tx: Tx, now: Instant) -> bool:
    return await tx.one(_IS_DUE, {"now": now}) is not None


async def claim_due_mailbox(tx: Tx, now: Instant, until: Instant) -> Mailbox | None:
    """Return the next due mailbox and reserve it until `until`."""
    mailbox = await tx.one(_CLAIM_MAILBOX, {"now": now, "until": until})
    return mailbox and _with_password(tx, mailbox)


async def record_received(tx: Tx, mailbox_id: int, validity: int, uid: int, new: int) -> None:
    await tx.run(_RECORD_RECEIVED, {"box": mailbox_id, "validity": validity, "uid": uid, "new": new})


async def record_mailbox_check(tx: Tx, mailbox_id: int, validity: int, now: Instant, next_at: Instant) -> None:
    await tx.run(_RECORD_CHECK, {"box": mailbox_id, "validity": validity, "now": now, "next": next_at})


async def record_mailbox_failure(tx: Tx, mailbox_id: int, why: Failure, now: Instant, next_at: Instant) -> None:
    await tx.run(_RECORD_FAILURE, {"box": mailbox_id, "why": why.dump(), "now": now, "next": next_at})


def _with_password(tx: Tx, mailbox: Mailbox) -> Mailbox:
    return replace(mailbox, password=tx.vault.decrypt(_PASSWORD, mailbox.password) or "")
