"""Inbound mail: ingest addresses, senders, received mail, its images and confirmation links."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import Text, and_, bindparam, delete, exists, null, update

from reedbed.domain.failures import Failure, dump_failure, load_failure
from reedbed.domain.newsletters import (
    AuthResults,
    Confirmation,
    IngestAddress,
    Sender,
    UnsubscribeOptions,
    WaitingConfirmation,
)
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, larger, row_of, select
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

# --- Ingest addresses

_ADDRESS_COLUMNS = (
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
_is_open = mail_addresses.c.revoked_at.is_(None)
_ADD_ADDRESS = Query(
    insert(mail_addresses).on_conflict_do_nothing().returning(*_ADDRESS_COLUMNS),
    columns=["user_id", "name", "local", "created_at"],
    into=IngestAddress,
)
_ADDRESSES = Query(
    select(*_ADDRESS_COLUMNS).where(_own_addresses, _is_open).order_by(mail_addresses.c.id), into=IngestAddress
)
_RENAME_ADDRESS = Query(
    update(mail_addresses)
    .where(_own_addresses, _is_open, mail_addresses.c.id == bindparam("address"))
    .values(name=bindparam("new_name"))
    .returning(*_ADDRESS_COLUMNS),
    into=IngestAddress,
)
_REVOKE_ADDRESS = Command(
    update(mail_addresses)
    .where(_own_addresses, _is_open, mail_addresses.c.id == bindparam("address"))
    .values(revoked_at=bindparam("now"))
)
_OPEN_BY_LOCAL_PART = Query(
    select(*_ADDRESS_COLUMNS)
    .join_from(mail_addresses, users, users.c.id == mail_addresses.c.user_id)
    .where(among(mail_addresses.c.local, "locals", Text()), _is_open, users.c.disabled_at.is_(None))
    .order_by(mail_addresses.c.id),
    into=IngestAddress,
)
_RECORD_USE = Command(
    update(mail_addresses)
    .where(among(mail_addresses.c.id, "ids"))
    .values(received=mail_addresses.c.received + 1, last_used_at=bindparam("now"))
)

# --- Senders

_SENDER_COLUMNS = (
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


def _sender(*columns: Any) -> Sender:
    id_, user_id, feed_id, address, name, ways_out, verdicts, *rest = columns
    options, checked = UnsubscribeOptions(**orjson.loads(ways_out)), AuthResults(**orjson.loads(verdicts))
    return Sender(id_, user_id, feed_id, address, name, options, checked, load_failure(rest[0]), *rest[1:])


_SENDERS = Query(
    select(*_SENDER_COLUMNS).where(_own_senders).order_by(mail_senders.c.last_mail_at.desc(), mail_senders.c.id.desc()),
    into=_sender,
)
_SENDER_BY_ADDRESS = Query(
    select(*_SENDER_COLUMNS).where(_own_senders, mail_senders.c.address == bindparam("key")), into=_sender
)
_SENDER_BY_ID = Query(
    select(*_SENDER_COLUMNS).where(_own_senders, mail_senders.c.id == bindparam("sender")), into=_sender
)
_SENDER_BY_FEED = Query(
    select(*_SENDER_COLUMNS).where(_own_senders, mail_senders.c.feed_id == bindparam("feed")), into=_sender
)
_COUNT_SENDERS = Query(select(func.count()).select_from(mail_senders).where(_own_senders), into=int)
_ADD_SENDER = Command(
    insert(mail_senders).on_conflict_do_nothing(), columns=["user_id", "address", "name", "created_at"]
)
_RECORD_MAIL = Command(
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
_RECORD_REJECTED = Command(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.address == bindparam("key"))
    .values(refused=mail_senders.c.refused + 1, last_mail_at=bindparam("now"))
)
_SET_BLOCKED = Command(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.id == bindparam("sender"))
    .values(blocked_at=bindparam("at"), refused=0)
)
_SET_LEFT = Command(
    update(mail_senders)
    .where(_own_senders, mail_senders.c.id == bindparam("sender"))
    .values(left_at=bindparam("at"), leaving=bindparam("text"), refused=0)
)
_SET_LEAVING_TEXT = Command(
    update(mail_senders).where(_own_senders, mail_senders.c.id == bindparam("sender")).values(leaving=bindparam("text"))
)

# --- Received mail

_UPDATE_FETCH_STATE = Command(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == bindparam("feed"))
    .values(
        status="success",
        last_checked_at=bindparam("now"),
        last_success_at=bindparam("now"),
        last_changed_at=bindparam("now"),
        newest_entry_id=larger(feed_fetch_state.c.newest_entry_id, bindparam("entry", type_=entries.c.id.type)),
        newest_entry_at=bindparam("at"),
        next_check_at=null(),
        urgent=False,
    )
)
_FIND_ENTRY = Query(
    select(entries.c.id).where(
        entries.c.feed_id == bindparam("feed"), entries.c.guid == bindparam("guid"), entries.c.audience_id.is_(None)
    ),
    into=int,
)

_ADD_DELIVERY = Command(insert(mail_deliveries).on_conflict_do_nothing(), columns=["key", "at"])
_GET_DELIVERY = Query(select(mail_deliveries.c.at).where(mail_deliveries.c.key == bindparam("key")), into=int)
_DELETE_OLD_DELIVERIES = Command(delete(mail_deliveries).where(mail_deliveries.c.at < bindparam("before")))

_ADD_IMAGE = Command(insert(mail_images).on_conflict_do_nothing(), columns=["entry_id", "blob_id"])
_GET_IMAGE = Query(
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
    ),
    into=row_of(str, bytes),
)
_DELETE_OLD_IMAGES = Command(
    delete(blobs).where(
        blobs.c.hash.like("mail:%"),
        blobs.c.created_at < bindparam("before"),
        ~exists().where(mail_images.c.blob_id == blobs.c.id),
    )
)

# --- Confirmation links

_own_confirmations = mail_confirmations.c.user_id == bindparam("user_id")
_ADD_CONFIRMATION = Command(
    insert(mail_confirmations).on_conflict_do_nothing(), columns=["entry_id", "user_id", "url", "label", "created_at"]
)
_confirmations = (
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
        and_(mail_senders.c.feed_id == entries.c.feed_id, mail_senders.c.user_id == mail_confirmations.c.user_id),
    )
    .where(_own_confirmations)
)
_WAITING_CONFIRMATIONS = Query(
    _confirmations.where(
        mail_confirmations.c.dismissed_at.is_(None), mail_confirmations.c.created_at > bindparam("since")
    )
    .order_by(mail_confirmations.c.entry_id.desc())
    .limit(20),
    into=WaitingConfirmation,
)
_GET_CONFIRMATION = Query(
    _confirmations.where(mail_confirmations.c.entry_id == bindparam("entry")), into=WaitingConfirmation
)
_DISMISS_CONFIRMATION = Command(
    update(mail_confirmations)
    .where(_own_confirmations, mail_confirmations.c.entry_id == bindparam("entry"))
    .values(dismissed_at=bindparam("now"))
)


# --- Queries


async def add_address(tx: Tx, user_id: int, name: str, local: str, now: Instant) -> IngestAddress | None:
    """Return None if another address already has this name."""
    params = {"user_id": user_id, "name": name, "local": local, "created_at": now}
    return await tx.one(_ADD_ADDRESS, params)


async def list_addresses(tx: Tx, user_id: int) -> list[IngestAddress]:
    return await tx.all(_ADDRESSES, {"user_id": user_id})


async def rename_address(tx: Tx, user_id: int, address_id: int, name: str) -> IngestAddress | None:
    return await tx.one(_RENAME_ADDRESS, {"user_id": user_id, "address": address_id, "new_name": name})


async def revoke_address(tx: Tx, user_id: int, address_id: int, now: Instant) -> bool:
    return await tx.run(_REVOKE_ADDRESS, {"user_id": user_id, "address": address_id, "now": now}) == 1


async def behind(tx: Tx, local_parts: Sequence[str]) -> list[IngestAddress]:
    """Return the open addresses with these local parts whose users may log in."""
    return await tx.all(_OPEN_BY_LOCAL_PART, {"locals": list(local_parts)})


async def record_use(tx: Tx, address_ids: Sequence[int], now: Instant) -> None:
    await tx.run(_RECORD_USE, {"ids": list(address_ids), "now": now})


async def list_senders(tx: Tx, user_id: int) -> list[Sender]:
    return await tx.all(_SENDERS, {"user_id": user_id})


async def sender_by_address(tx: Tx, user_id: int, address: str) -> Sender | None:
    return await tx.one(_SENDER_BY_ADDRESS, {"user_id": user_id, "key": address})


async def sender(tx: Tx, user_id: int, sender_id: int) -> Sender | None:
    return await tx.one(_SENDER_BY_ID, {"user_id": user_id, "sender": sender_id})


async def sender_of_feed(tx: Tx, user_id: int, feed_id: int) -> Sender | None:
    return await tx.one(_SENDER_BY_FEED, {"user_id": user_id, "feed": feed_id})


async def count_senders(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT_SENDERS, {"user_id": user_id})


async def add_sender(tx: Tx, user_id: int, address: str, name: str, now: Instant) -> None:
    await tx.run(_ADD_SENDER, {"user_id": user_id, "address": address, "name": name, "created_at": now})


async def record_mail(
    tx: Tx,
    user_id: int,
    address: str,
    *,
    feed_id: int,
    name: str,
    ways: UnsubscribeOptions,
    verdicts: AuthResults,
    now: Instant,
) -> None:
    """Record a stored mail: undo an earlier unsubscribe and store the newest unsubscribe links."""
    params = {
        "user_id": user_id,
        "key": address,
        "feed": feed_id,
        "new_name": name,
        "new_ways": _json(ways) if ways != UnsubscribeOptions() else None,
        "new_verdicts": _json(verdicts),
        "now": now,
    }
    await tx.run(_RECORD_MAIL, params)


async def record_rejected(tx: Tx, user_id: int, address: str, now: Instant) -> None:
    await tx.run(_RECORD_REJECTED, {"user_id": user_id, "key": address, "now": now})


async def set_blocked(tx: Tx, user_id: int, sender_id: int, at: Instant | None) -> None:
    await tx.run(_SET_BLOCKED, {"user_id": user_id, "sender": sender_id, "at": at})


async def set_left(tx: Tx, user_id: int, sender_id: int, at: Instant | None, result: Failure | None = None) -> None:
    await tx.run(_SET_LEFT, {"user_id": user_id, "sender": sender_id, "at": at, "text": dump_failure(result) or ""})


async def set_unsubscribe_result(tx: Tx, user_id: int, sender_id: int, result: Failure) -> None:
    await tx.run(_SET_LEAVING_TEXT, {"user_id": user_id, "sender": sender_id, "text": result.dump()})


async def record_state(tx: Tx, feed_id: int, entry_id: int, at: Instant, now: Instant) -> None:
    await tx.run(_UPDATE_FETCH_STATE, {"feed": feed_id, "entry": entry_id, "at": at, "now": now})


async def find_entry_by_guid(tx: Tx, feed_id: int, guid: str) -> int | None:
    return await tx.one(_FIND_ENTRY, {"feed": feed_id, "guid": guid})


async def was_delivered(tx: Tx, key: str) -> bool:
    return await tx.one(_GET_DELIVERY, {"key": key}) is not None


async def record_delivery(tx: Tx, key: str, now: Instant) -> None:
    await tx.run(_ADD_DELIVERY, {"key": key, "at": now})


async def delete_old_deliveries(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD_DELIVERIES, {"before": before})


async def add_images(tx: Tx, entry_id: int, blob_ids: Sequence[int]) -> None:
    await tx.run_many(_ADD_IMAGE, [{"entry_id": entry_id, "blob_id": id_} for id_ in blob_ids])


async def image(tx: Tx, user_id: int, digest: str) -> tuple[str, bytes] | None:
    """Return media type and bytes if a mail to this user contains the image."""
    row = await tx.one(_GET_IMAGE, {"user_id": user_id, "hash": digest})
    return None if row is None else (row[0], bytes(row[1]))


async def delete_old_images(tx: Tx, before: Instant) -> int:
    """Delete images whose mails were deleted."""
    return await tx.run(_DELETE_OLD_IMAGES, {"before": before})


async def add_confirmation(tx: Tx, user_id: int, entry_id: int, link: Confirmation, now: Instant) -> None:
    params = {"entry_id": entry_id, "user_id": user_id, "url": link.url, "label": link.label, "created_at": now}
    await tx.run(_ADD_CONFIRMATION, params)


async def waiting(tx: Tx, user_id: int, since: Instant) -> list[WaitingConfirmation]:
    return await tx.all(_WAITING_CONFIRMATIONS, {"user_id": user_id, "since": since})


async def confirmation(tx: Tx, user_id: int, entry_id: int) -> WaitingConfirmation | None:
    return await tx.one(_GET_CONFIRMATION, {"user_id": user_id, "entry": entry_id})


async def dismiss(tx: Tx, user_id: int, entry_id: int, now: Instant) -> bool:
    return await tx.run(_DISMISS_CONFIRMATION, {"user_id": user_id, "entry": entry_id, "now": now}) == 1


def _json(value: UnsubscribeOptions | AuthResults) -> str:
    return orjson.dumps({name: item for name, item in asdict(value).items() if item}).decode()
