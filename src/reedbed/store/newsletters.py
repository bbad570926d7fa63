"""Newsletters: addresses and senders of a user, and what their mails left beside entries."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import Text, and_, bindparam, delete, exists, null, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.newsletters import (
    Confirmation,
    IngestAddress,
    Sender,
    Verdicts,
    WaitingConfirmation,
    WaysOut,
)
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.dialect import among, larger
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import (
    blobs,
    entries,
    feed_fetch_state,
    mail_addresses,
    mail_confirmations,
    mail_deliveries,
    mail_images,
    mail_senders,
    users,
)

_ADDRESS = (
    mail_addresses.c.id,
    mail_addresses.c.user_id,
    mail_addresses.c.name,
    mail_addresses.c.local,
    mail_addresses.c.received,
    mail_addresses.c.created_at,
    mail_addresses.c.last_used_at,
    mail_addresses.c.revoked_at,
)
_own_addresses = mail_addresses.c.user_id == bindparam("user_id")
_open = mail_addresses.c.revoked_at.is_(None)
_ADD_ADDRESS = Statement(
    insert(mail_addresses).on_conflict_do_nothing().returning(*_ADDRESS),
    columns=["user_id", "name", "local", "created_at"],
)
_ADDRESSES = Statement(select(*_ADDRESS).where(_own_addresses, _open).order_by(mail_addresses.c.id))
_RENAME_ADDRESS = Statement(
    update(mail_addresses)
    .where(_own_addresses, _open, mail_addresses.c.id == bindparam("address"))
    .values(name=bindparam("new_name"))
    .returning(*_ADDRESS)
)
_REVOKE_ADDRESS = Statement(
    update(mail_addresses)
    .where(_own_addresses, _open, mail_addresses.c.id == bindparam("address"))
    .values(revoked_at=bindparam("now"))
)
_BEHIND = Statement(
    select(*_ADDRESS)
    .join_from(mail_addresses, users, users.c.id == mail_addresses.c.user_id)
    .where(among(mail_addresses.c.local, "locals", Text()), _open, users.c.disabled_at.is_(None))
    .order_by(mail_addresses.c.id)
)
_USED = Statement(
    update(mail_addresses)
    .where(among(mail_addresses.c.id, "ids"))
    .values(received=mail_addresses.c.received + 1, last_used_at=bindparam("now"))
)

_SENDER = (
    mail_senders.c.id,
    mail_senders.c.user_id,
    mail_senders.c.feed_id,
    mail_senders.c.address,
    mail_senders.c.name,
    mail_senders.c.ways_out,
    mail_senders.c.verdicts,
    mail_senders.c.leaving,
    mail_senders.c.received,
    mail_senders.c.refused,
    mail_senders.c.last_mail_at,
    mail_senders.c.blocked_at,
    mail_senders.c.left_at,
)
_own_senders = mail_senders.c.user_id == bindparam("user_id")
_SENDERS = Statement(
    select(*_SENDER)
    .where(_own_senders)
    .order_by(mail_senders.c.last_mail_at.desc(), mail_senders.c.id.desc())
)
_BY_ADDRESS = Statement(select(*_SENDER).where(_own_senders, mail_senders.c.address == bindparam("key")))
_BY_ID = Statement(select(*_SENDER).where(_own_senders, mail_senders.c.id == bindparam("sender")))
_BY_FEED = Statement(select(*_SENDER).where(_own_senders, mail_senders.c.feed_id == bindparam("feed")))
_COUNT_SENDERS = Statement(select(func.count()).select_from(mail_senders).where(_own_senders))
_ADD_SENDER = Statement(
    insert(mail_senders).on_conflict_do_nothing(), columns=["user_id", "address", "name", "created_at"]
)
_NOTE_MAIL = Statement(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.address == bindparam("key"))
    .values(
        feed_id=bindparam("feed"),
        name=func.coalesce(func.nullif(bindparam("new_name", type_=Text()), ""), mail_senders.c.name),
        ways_out=func.coalesce(bindparam("new_ways", type_=Text()), mail_senders.c.ways_out),
        verdicts=bindparam("new_verdicts"),
        received=mail_senders.c.received + 1,
        last_mail_at=bindparam("now"),
        left_at=null(),
        leaving="",
        refused=0,
    )
)
_NOTE_REFUSED = Statement(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.address == bindparam("key"))
    .values(refused=mail_senders.c.refused + 1, last_mail_at=bindparam("now"))
)
_BLOCK = Statement(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.id == bindparam("sender"))
    .values(blocked_at=bindparam("at"), refused=0)
)
_LEAVE = Statement(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.id == bindparam("sender"))
    .values(left_at=bindparam("at"), leaving=bindparam("said"), refused=0)
)
_SAY = Statement(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.id == bindparam("sender"))
    .values(leaving=bindparam("said"))
)

_STATE = Statement(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == bindparam("feed"))
    .values(
        status="success",
        last_checked_at=bindparam("now"),
        last_success_at=bindparam("now"),
        last_changed_at=bindparam("now"),
        newest_entry_id=larger(
            feed_fetch_state.c.newest_entry_id, bindparam("entry", type_=entries.c.id.type)
        ),
        newest_entry_at=bindparam("at"),
        next_check_at=null(),
        urgent=False,
    )
)
_KNOWN = Statement(
    select(entries.c.id).where(
        entries.c.feed_id == bindparam("feed"),
        entries.c.guid == bindparam("guid"),
        entries.c.audience_id.is_(None),
    )
)

_DELIVERY = Statement(insert(mail_deliveries).on_conflict_do_nothing(), columns=["key", "at"])
_DELIVERED = Statement(select(mail_deliveries.c.at).where(mail_deliveries.c.key == bindparam("key")))
_FORGET_DELIVERIES = Statement(delete(mail_deliveries).where(mail_deliveries.c.at < bindparam("before")))

_ADD_IMAGE = Statement(insert(mail_images).on_conflict_do_nothing(), columns=["entry_id", "blob_id"])
_IMAGE = Statement(
    select(blobs.c.media_type, blobs.c.data).where(
        blobs.c.hash == bindparam("hash"),
        exists()
        .where(
            mail_images.c.blob_id == blobs.c.id,
            entries.c.id == mail_images.c.entry_id,
            mail_senders.c.feed_id == entries.c.feed_id,
            _own_senders,
        )
        .correlate(blobs),
    )
)
_SWEEP_IMAGES = Statement(
    delete(blobs).where(
        blobs.c.hash.like("mail:%"),
        blobs.c.created_at < bindparam("before"),
        ~exists().where(mail_images.c.blob_id == blobs.c.id),
    )
)

_own_confirmations = mail_confirmations.c.user_id == bindparam("user_id")
_ADD_CONFIRMATION = Statement(
    insert(mail_confirmations).on_conflict_do_nothing(),
    columns=["entry_id", "user_id", "url", "label", "created_at"],
)
_waiting = (
    select(
        mail_confirmations.c.entry_id,
        entries.c.title,
        func.coalesce(func.nullif(mail_senders.c.name, ""), mail_senders.c.address, ""),
        mail_confirmations.c.url,
        mail_confirmations.c.label,
        mail_confirmations.c.created_at,
    )
    .join_from(mail_confirmations, entries, entries.c.id == mail_confirmations.c.entry_id)
    .outerjoin(
        mail_senders,
        and_(
            mail_senders.c.feed_id == entries.c.feed_id,
            mail_senders.c.user_id == mail_confirmations.c.user_id,
        ),
    )
    .where(_own_confirmations)
)
_WAITING = Statement(
    _waiting.where(
        mail_confirmations.c.dismissed_at.is_(None), mail_confirmations.c.created_at > bindparam("since")
    )
    .order_by(mail_confirmations.c.entry_id.desc())
    .limit(20)
)
_CONFIRMATION = Statement(_waiting.where(mail_confirmations.c.entry_id == bindparam("entry")))
_DISMISS = Statement(
    update(mail_confirmations)
    .where(_own_confirmations, mail_confirmations.c.entry_id == bindparam("entry"))
    .values(dismissed_at=bindparam("now"))
)


async def add_address(tx: Tx, user_id: int, name: str, local: str, now: Instant) -> IngestAddress | None:
    """None when another address has this name already."""
    params = {"user_id": user_id, "name": name, "local": local, "created_at": now}
    row = await tx.one(_ADD_ADDRESS, params)
    return IngestAddress(*row) if row else None


async def addresses_of(tx: Tx, user_id: int) -> list[IngestAddress]:
    return [IngestAddress(*row) for row in await tx.all(_ADDRESSES, {"user_id": user_id})]


async def rename_address(tx: Tx, user_id: int, address_id: int, name: str) -> IngestAddress | None:
    row = await tx.one(_RENAME_ADDRESS, {"user_id": user_id, "address": address_id, "new_name": name})
    return IngestAddress(*row) if row else None


async def revoke_address(tx: Tx, user_id: int, address_id: int, now: Instant) -> bool:
    return await tx.run(_REVOKE_ADDRESS, {"user_id": user_id, "address": address_id, "now": now}) == 1


async def behind(tx: Tx, local_parts: Sequence[str]) -> list[IngestAddress]:
    """The open addresses of these names, of people who may log in."""
    return [IngestAddress(*row) for row in await tx.all(_BEHIND, {"locals": list(local_parts)})]


async def note_use(tx: Tx, address_ids: Sequence[int], now: Instant) -> None:
    await tx.run(_USED, {"ids": list(address_ids), "now": now})


async def senders_of(tx: Tx, user_id: int) -> list[Sender]:
    return [_sender(row) for row in await tx.all(_SENDERS, {"user_id": user_id})]


async def sender_by_address(tx: Tx, user_id: int, address: str) -> Sender | None:
    row = await tx.one(_BY_ADDRESS, {"user_id": user_id, "key": address})
    return _sender(row) if row else None


async def sender(tx: Tx, user_id: int, sender_id: int) -> Sender | None:
    row = await tx.one(_BY_ID, {"user_id": user_id, "sender": sender_id})
    return _sender(row) if row else None


async def sender_of_feed(tx: Tx, user_id: int, feed_id: int) -> Sender | None:
    row = await tx.one(_BY_FEED, {"user_id": user_id, "feed": feed_id})
    return _sender(row) if row else None


async def count_senders(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT_SENDERS, {"user_id": user_id})


async def add_sender(tx: Tx, user_id: int, address: str, name: str, now: Instant) -> None:
    await tx.run(_ADD_SENDER, {"user_id": user_id, "address": address, "name": name, "created_at": now})


async def note_mail(
    tx: Tx,
    user_id: int,
    address: str,
    *,
    feed_id: int,
    name: str,
    ways: WaysOut,
    verdicts: Verdicts,
    now: Instant,
) -> None:
    """A mail was stored: the sender is followed, and its newest ways out are the ones to use."""
    params = {
        "user_id": user_id,
        "key": address,
        "feed": feed_id,
        "new_name": name,
        "new_ways": _json(ways) if ways != WaysOut() else None,
        "new_verdicts": _json(verdicts),
        "now": now,
    }
    await tx.run(_NOTE_MAIL, params)


async def note_refused(tx: Tx, user_id: int, address: str, now: Instant) -> None:
    await tx.run(_NOTE_REFUSED, {"user_id": user_id, "key": address, "now": now})


async def set_blocked(tx: Tx, user_id: int, sender_id: int, at: Instant | None) -> None:
    await tx.run(_BLOCK, {"user_id": user_id, "sender": sender_id, "at": at})


async def set_left(tx: Tx, user_id: int, sender_id: int, at: Instant | None, said: str = "") -> None:
    await tx.run(_LEAVE, {"user_id": user_id, "sender": sender_id, "at": at, "said": said})


async def say_of_leaving(tx: Tx, user_id: int, sender_id: int, said: str) -> None:
    await tx.run(_SAY, {"user_id": user_id, "sender": sender_id, "said": said})


async def note_state(tx: Tx, feed_id: int, entry_id: int, at: Instant, now: Instant) -> None:
    await tx.run(_STATE, {"feed": feed_id, "entry": entry_id, "at": at, "now": now})


async def known_entry(tx: Tx, feed_id: int, guid: str) -> int | None:
    return await tx.value(_KNOWN, {"feed": feed_id, "guid": guid})


async def was_delivered(tx: Tx, key: str) -> bool:
    return await tx.value(_DELIVERED, {"key": key}) is not None


async def note_delivery(tx: Tx, key: str, now: Instant) -> None:
    await tx.run(_DELIVERY, {"key": key, "at": now})


async def forget_deliveries(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET_DELIVERIES, {"before": before})


async def add_images(tx: Tx, entry_id: int, blob_ids: Sequence[int]) -> None:
    await tx.run_each(_ADD_IMAGE, [{"entry_id": entry_id, "blob_id": id_} for id_ in blob_ids])


async def image(tx: Tx, user_id: int, digest: str) -> tuple[str, bytes] | None:
    """Media type and bytes, if a mail to this user holds it."""
    row = await tx.one(_IMAGE, {"user_id": user_id, "hash": digest})
    return None if row is None else (row[0], bytes(row[1]))


async def sweep_images(tx: Tx, before: Instant) -> int:
    """Pictures whose mails are gone."""
    return await tx.run(_SWEEP_IMAGES, {"before": before})


async def add_confirmation(tx: Tx, user_id: int, entry_id: int, wanted: Confirmation, now: Instant) -> None:
    params = {
        "entry_id": entry_id,
        "user_id": user_id,
        "url": wanted.url,
        "label": wanted.label,
        "created_at": now,
    }
    await tx.run(_ADD_CONFIRMATION, params)


async def waiting(tx: Tx, user_id: int, since: Instant) -> list[WaitingConfirmation]:
    rows = await tx.all(_WAITING, {"user_id": user_id, "since": since})
    return [WaitingConfirmation(*row) for row in rows]


async def confirmation(tx: Tx, user_id: int, entry_id: int) -> WaitingConfirmation | None:
    row = await tx.one(_CONFIRMATION, {"user_id": user_id, "entry": entry_id})
    return WaitingConfirmation(*row) if row else None


async def dismiss(tx: Tx, user_id: int, entry_id: int, now: Instant) -> bool:
    return await tx.run(_DISMISS, {"user_id": user_id, "entry": entry_id, "now": now}) == 1


def _json(value: WaysOut | Verdicts) -> str:
    return orjson.dumps({name: said for name, said in asdict(value).items() if said}).decode()


def _sender(row: Row) -> Sender:
    values: list[Any] = list(row)
    values[5], values[6] = WaysOut(**orjson.loads(values[5])), Verdicts(**orjson.loads(values[6]))
    return Sender(*values)
