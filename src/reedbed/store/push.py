"""Web Push: a user's browsers, and which users want notifications for a feed."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, update

from reedbed.domain.push import PushAddress, PushDevice
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, row_of, select
from reedbed.store.tables import entries, feeds, push_devices, subscriptions, unread
from reedbed.store.visibility import above_read_marker

_COLUMNS = (
    push_devices.c.id,
    push_devices.c.endpoint,
    push_devices.c.p256dh,
    push_devices.c.auth,
    push_devices.c.name,
    push_devices.c.created_at,
    push_devices.c.reached_at,
    push_devices.c.session_id,
)
_is_own = push_devices.c.user_id == bindparam("owner")
_is_this = (_is_own, push_devices.c.id == bindparam("device"))


def _device(
    id_: int,
    endpoint: str,
    p256dh: str,
    auth: str,
    name: str,
    created_at: int,
    reached_at: int | None,
    session_id: int | None,
) -> PushDevice:
    return PushDevice(id_, PushAddress(endpoint, p256dh, auth), name, created_at, reached_at, session_id)


_LIST = Query(select(*_COLUMNS).where(_is_own).order_by(push_devices.c.id.desc()), into=_device)
_GET = Query(select(*_COLUMNS).where(*_is_this), into=_device)
_upsert = insert(push_devices)
# A browser that another user registered before now belongs to the current user.
_SAVE = Query(
    _upsert.on_conflict_do_update(
        index_elements=["endpoint"],
        set_={
            name: _upsert.excluded[name] for name in ("user_id", "session_id", "p256dh", "auth", "name", "created_at")
        },
    ).returning(*_COLUMNS),
    columns=["user_id", "session_id", "endpoint", "p256dh", "auth", "name", "created_at"],
    into=_device,
)
_DELETE = Command(delete(push_devices).where(*_is_this))
_TOUCH = Command(update(push_devices).where(*_is_this).values(reached_at=bindparam("now")))
_USERS_TO_NOTIFY = Query(
    select(subscriptions.c.feed_id, subscriptions.c.user_id)
    .where(
        among(subscriptions.c.feed_id, "ids"),
        subscriptions.c.notify,
        subscriptions.c.muted_until.is_(None),
        subscriptions.c.unsubscribed_at.is_(None),
        select(push_devices.c.id)
        .where(push_devices.c.user_id == subscriptions.c.user_id)
        .correlate(subscriptions)
        .exists(),
    )
    .order_by(subscriptions.c.feed_id, subscriptions.c.user_id),
    into=row_of(int, int),
)
_STILL_UNREAD = Query(
    select(entries.c.id, entries.c.title)
    .join_from(unread, entries, entries.c.id == unread.c.entry_id)
    .where(unread.c.user_id == bindparam("owner"), among(unread.c.entry_id, "ids"), above_read_marker(unread))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc()),
    into=row_of(int, str),
)
_FEED = Query(
    select(subscriptions.c.id, func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url))
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("owner"),
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_(None),
    ),
    into=row_of(int, str),
)


async def of_user(tx: Tx, user_id: int) -> list[PushDevice]:
    return await tx.all(_LIST, {"owner": user_id})


async def get(tx: Tx, user_id: int, device_id: int) -> PushDevice | None:
    return await tx.one(_GET, {"owner": user_id, "device": device_id})


async def put(
    tx: Tx, user_id: int, address: PushAddress, *, session_id: int | None, name: str, now: Instant
) -> PushDevice:
    return await tx.get(
        _SAVE,
        {
            "user_id": user_id,
            "session_id": session_id,
            "endpoint": address.endpoint,
            "p256dh": address.p256dh,
            "auth": address.auth,
            "name": name,
            "created_at": now,
        },
    )


async def remove(tx: Tx, user_id: int, device_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "device": device_id}) == 1


async def touch(tx: Tx, user_id: int, device_id: int, now: Instant) -> None:
    await tx.run(_TOUCH, {"owner": user_id, "device": device_id, "now": now})


async def users_to_notify(tx: Tx, feed_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return feed and user ids of subscriptions with notifications, for users with a registered browser."""
    if not feed_ids:
        return []
    return await tx.all(_USERS_TO_NOTIFY, {"ids": list(feed_ids)})


async def still_unread(tx: Tx, user_id: int, entry_ids: Sequence[int]) -> list[tuple[int, str]]:
    """Return ids and titles, newest first."""
    rows = await tx.all(_STILL_UNREAD, {"owner": user_id, "ids": list(entry_ids)})
    return [(row[0], row[1]) for row in rows]


async def feed_of(tx: Tx, user_id: int, feed_id: int) -> tuple[int, str] | None:
    """Return the subscription id and the user's title for the feed."""
    return await tx.one(_FEED, {"owner": user_id, "feed_id": feed_id})
