"""Which feeds a user follows: for live updates, and for reader apps, which need few words of each feed."""

from sqlalchemy import BigInteger, BindParameter, and_, bindparam

from reedbed.domain.following import Followed, Origin
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, entry_tags, feed_fetch_state, feeds, subscriptions, tags

_USER: BindParameter[int] = bindparam("user_id", type_=BigInteger)
_active = and_(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None))
_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)
_asked_url = func.coalesce(func.nullif(subscriptions.c.asked_url, ""), feeds.c.url)
_site_url = func.coalesce(feeds.c.site_url, "")

_FEED_IDS = Statement(select(subscriptions.c.feed_id).where(_active))
_FOLLOWED = Statement(
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        _title,
        _asked_url,
        feeds.c.url,
        _site_url,
        feeds.c.icon_id,
        subscriptions.c.full_text,
        subscriptions.c.position,
        subscriptions.c.subscribed_at,
        feed_fetch_state.c.last_changed_at,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(_active)
    .order_by(subscriptions.c.position, func.lower(_title), subscriptions.c.id)
)
_ORIGINS = Statement(
    select(
        feeds.c.id,
        _title,
        feeds.c.url,
        _site_url,
        subscriptions.c.folder_id,
        func.coalesce(subscriptions.c.full_text, "auto"),
    )
    .select_from(feeds.outerjoin(subscriptions, and_(_active, subscriptions.c.feed_id == feeds.c.id)))
    .where(among(feeds.c.id, "feed_ids"))
)
_NEWEST = Statement(
    select(subscriptions.c.feed_id, entries.c.id, entries.c.fetched_at)
    .join_from(subscriptions, entries, entries.c.id == subscriptions.c.newest_id)
    .where(_active)
)
_NEWEST_TAGGED = Statement(
    select(tags.c.name, func.max(entries.c.fetched_at))
    .join_from(tags, entry_tags, and_(entry_tags.c.user_id == _USER, entry_tags.c.tag_id == tags.c.id))
    .join(entries, entries.c.id == entry_tags.c.entry_id)
    .where(tags.c.user_id == _USER)
    .group_by(tags.c.name)
)
_LEFT = Statement(
    select(feeds.c.url)
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == _USER,
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_not(None),
    )
)
_LAST_CHECK = Statement(
    select(func.max(feed_fetch_state.c.last_checked_at))
    .join_from(subscriptions, feed_fetch_state, feed_fetch_state.c.feed_id == subscriptions.c.feed_id)
    .where(_active)
)


async def feed_ids(tx: Tx, user_id: int) -> frozenset[int]:
    return frozenset(row[0] for row in await tx.all(_FEED_IDS, {"user_id": user_id}))


async def followed(tx: Tx, user_id: int) -> list[Followed]:
    return [Followed(*row) for row in await tx.all(_FOLLOWED, {"user_id": user_id})]


async def origins(tx: Tx, user_id: int, of_feeds: list[int]) -> dict[int, Origin]:
    """Only for feeds whose entries this user may see."""
    rows = await tx.all(_ORIGINS, {"user_id": user_id, "feed_ids": of_feeds})
    return {row[0]: Origin(*row) for row in rows}


async def newest_arrivals(tx: Tx, user_id: int) -> dict[int, tuple[int, Instant]]:
    """The newest entry of each feed, and when it arrived."""
    return {row[0]: (row[1], row[2]) for row in await tx.all(_NEWEST, {"user_id": user_id})}


async def newest_tagged(tx: Tx, user_id: int) -> dict[str, Instant]:
    """When the newest entry of each tag arrived."""
    return {row[0]: row[1] for row in await tx.all(_NEWEST_TAGGED, {"user_id": user_id})}


async def left_address(tx: Tx, user_id: int, feed_id: int) -> str | None:
    """Of a feed that this user has left; None for one that is followed or never was."""
    return await tx.value(_LEFT, {"user_id": user_id, "feed_id": feed_id})


async def last_check(tx: Tx, user_id: int) -> Instant | None:
    """When one of the user's feeds was last looked at."""
    return await tx.value(_LAST_CHECK, {"user_id": user_id})
