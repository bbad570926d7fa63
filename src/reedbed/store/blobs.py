"""Small files in the database, stored once per content: icons, cached images, parts of emails."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, exists, null, or_, update

from reedbed.domain.times import Instant, Millis
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Command,
    Query,
    among,
    func,
    insert,
    larger,
    optional,
    row_of,
    select,
    smaller,
)
from reedbed.store.tables import blobs, feed_fetch_state, feeds, subscriptions

_ADD = Query(
    insert(blobs).on_conflict_do_nothing(index_elements=["hash"]).returning(blobs.c.id),
    columns=["hash", "media_type", "data", "created_at"],
    into=int,
)
_BY_HASH = Query(select(blobs.c.id).where(blobs.c.hash == bindparam("hash")), into=int)
_READ_BY_HASH = Query(
    select(blobs.c.media_type, blobs.c.data).where(blobs.c.hash == bindparam("hash")), into=row_of(str, bytes)
)
_READ = Query(select(blobs.c.media_type, blobs.c.data).where(blobs.c.id == bindparam("id")), into=row_of(str, bytes))
_ICON = Query(
    select(blobs.c.media_type, blobs.c.data).where(
        blobs.c.id == bindparam("id"),
        exists()
        .where(
            feeds.c.icon_id == blobs.c.id,
            subscriptions.c.feed_id == feeds.c.id,
            subscriptions.c.user_id == bindparam("user_id"),
        )
        .correlate(blobs),
    ),
    into=row_of(str, bytes),
)
_ICONS_OF = Query(
    select(blobs.c.id, blobs.c.media_type, blobs.c.data)
    .where(
        blobs.c.id.in_(
            select(feeds.c.icon_id)
            .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
            .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
        )
    )
    .order_by(blobs.c.id),
    into=row_of(int, str, bytes),
)
_WITHOUT_ICON = Query(
    select(feeds.c.id, feeds.c.site_url, feeds.c.icon_url)
    .where(
        feeds.c.deleted_at.is_(None),
        feeds.c.kind == "web",
        feeds.c.icon_checked_at.is_(None),
        exists().where(feed_fetch_state.c.feed_id == feeds.c.id, feed_fetch_state.c.last_success_at.is_not(None)),
    )
    .order_by(feeds.c.id)
    .limit(bindparam("limit")),
    into=row_of(int, optional(str), optional(str)),
)
_NAMED_ICON = Query(
    select(feeds.c.icon_id)
    .where(feeds.c.icon_url == bindparam("icon_url"), feeds.c.icon_id.is_not(None))
    .order_by(feeds.c.icon_checked_at.desc())
    .limit(1),
    into=optional(int),
)
_FAILED_ICON = Query(
    select(feeds.c.id)
    .where(
        feeds.c.icon_url == bindparam("icon_url"),
        feeds.c.icon_id.is_(None),
        feeds.c.icon_checked_at > bindparam("since"),
    )
    .limit(1),
    into=int,
)
_SITE_ICON = Query(
    select(feeds.c.icon_id)
    .where(
        # A feed with an icon of its own says nothing about the site, unless neither could be found.
        or_(feeds.c.icon_url.is_(None), feeds.c.icon_id.is_(None)),
        or_(
            feeds.c.site_url == bindparam("origin"),
            func.substr(feeds.c.site_url, 1, bindparam("length")) == bindparam("root"),
        ),
        feeds.c.icon_checked_at.is_not(None),
        or_(feeds.c.icon_id.is_not(None), feeds.c.icon_checked_at > bindparam("since")),
    )
    .order_by(feeds.c.icon_checked_at.desc())
    .limit(1),
    into=optional(int),
)
_SET_ICON = Command(
    update(feeds)
    .where(feeds.c.id == bindparam("feed_id"))
    .values(icon_id=bindparam("blob_id"), icon_checked_at=bindparam("now"))
)
_ICONS_TO_RETRY = Query(
    select(feeds.c.id)
    .where(
        feeds.c.deleted_at.is_(None),
        feeds.c.kind == "web",
        feeds.c.icon_id.is_(None),
        feeds.c.icon_checked_at
        <= bindparam("now", type_=BigInteger)
        - larger(
            smaller(feeds.c.icon_checked_at - feeds.c.created_at, bindparam("longest", type_=BigInteger)),
            bindparam("shortest", type_=BigInteger),
        ),
    )
    .order_by(feeds.c.icon_checked_at)
    .limit(bindparam("limit")),
    into=int,
)
_RETRY_ICONS = Command(
    update(feeds).where(among(feeds.c.id, "ids"), feeds.c.icon_id.is_(None)).values(icon_checked_at=null())
)


async def keep(tx: Tx, digest: str, media_type: str, data: bytes, now: Instant) -> int:
    """Store these bytes, unless a blob with this digest exists; returns the id."""
    params = {"hash": digest, "media_type": media_type, "data": data, "created_at": now}
    blob_id = await tx.one(_ADD, params)
    return blob_id if blob_id is not None else await tx.get(_BY_HASH, {"hash": digest})


async def read(tx: Tx, blob_id: int) -> tuple[str, bytes] | None:
    """Media type and bytes."""
    row = await tx.one(_READ, {"id": blob_id})
    return None if row is None else (row[0], bytes(row[1]))


async def kept(tx: Tx, digest: str) -> tuple[str, bytes] | None:
    """Media type and bytes stored with this digest."""
    row = await tx.one(_READ_BY_HASH, {"hash": digest})
    return None if row is None else (row[0], bytes(row[1]))


async def icon(tx: Tx, user_id: int, blob_id: int) -> tuple[str, bytes] | None:
    """Media type and bytes, if it is the icon of a feed this user subscribes or subscribed to."""
    row = await tx.one(_ICON, {"id": blob_id, "user_id": user_id})
    return None if row is None else (row[0], bytes(row[1]))


async def icons_of(tx: Tx, user_id: int) -> list[tuple[int, str, bytes]]:
    """The icons of all feeds this user subscribes to: id, media type and bytes."""
    return [(row[0], row[1], bytes(row[2])) for row in await tx.all(_ICONS_OF, {"user_id": user_id})]


async def feeds_without_icon(tx: Tx, limit: int) -> list[tuple[int, str | None, str | None]]:
    """Fetched feeds that were never checked for an icon: id, site URL and the icon URL they name."""
    return await tx.all(_WITHOUT_ICON, {"limit": limit})


async def named_icon(tx: Tx, icon_url: str) -> int | None:
    """The icon that another feed got from this URL."""
    return await tx.one(_NAMED_ICON, {"icon_url": icon_url})


async def has_failed(tx: Tx, icon_url: str, since: Instant) -> bool:
    """Whether no icon was found for another feed that names this URL, in a check after `since`."""
    return await tx.one(_FAILED_ICON, {"icon_url": icon_url, "since": since}) is not None


async def site_icon(tx: Tx, origin: str, since: Instant) -> tuple[int | None] | None:
    """The icon found for another feed of this site. (None,): a check after `since` found no icon there."""
    root = f"{origin}/"
    params = {"origin": origin, "root": root, "length": len(root), "since": since}
    icon = await tx.all(_SITE_ICON, params)
    return (icon[0],) if icon else None


async def set_icon(tx: Tx, feed_id: int, blob_id: int | None, now: Instant) -> None:
    await tx.run(_SET_ICON, {"feed_id": feed_id, "blob_id": blob_id, "now": now})


async def icons_to_retry(tx: Tx, now: Instant, *, shortest: Millis, longest: Millis, limit: int) -> list[int]:
    """Feeds without an icon whose last check is as long ago as they had existed then, within these limits."""
    return await tx.all(_ICONS_TO_RETRY, {"now": now, "shortest": shortest, "longest": longest, "limit": limit})


async def retry_icons(tx: Tx, feed_ids: Sequence[int]) -> None:
    await tx.run(_RETRY_ICONS, {"ids": list(feed_ids)})
