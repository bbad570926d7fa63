"""Feeds of one user alone, filled by what they send in: newsletters and saved pages."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ClauseElement,
    ColumnElement,
    and_,
    bindparam,
    insert,
    null,
    or_,
    update,
)

from reedbed.domain.refresh.state import FetchState
from reedbed.domain.retention import RetentionOverride
from reedbed.domain.subscriptions import (
    Followed,
    FollowedFeed,
    FollowedFeedRow,
    Origin,
    Subscription,
    SubscriptionFilter,
)
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Shapes, Statement, among, containing, func, select
from reedbed.store.read_state import unread
from reedbed.store.refresh import fetch_state
from reedbed.store.tables import (
    entries,
    entry_summaries,
    entry_tags,
    feed_fetch_state,
    feeds,
    subscriptions,
    tags,
)

_OWN = (
    subscriptions.c.id,
    subscriptions.c.folder_id,
    subscriptions.c.title,
    subscriptions.c.asked_url,
    subscriptions.c.position,
    subscriptions.c.paused,
    subscriptions.c.interval,
    subscriptions.c.full_text,
    subscriptions.c.notify,
    subscriptions.c.unread,
    subscriptions.c.subscribed_at,
)
_KEEP = (subscriptions.c.keep_entries, subscriptions.c.keep_days, subscriptions.c.keep_unread_days)
_AI = (subscriptions.c.summary_words, subscriptions.c.local_only)
_FEED = (
    feeds.c.id,
    feeds.c.url,
    feeds.c.title,
    feeds.c.site_url,
    feeds.c.description,
    feeds.c.language,
    feeds.c.icon_id,
    feeds.c.kind,
    feeds.c.enabled,
    feeds.c.owner_id,
    feeds.c.username,
    feeds.c.password.is_not(None),
)
_STATE = tuple(feed_fetch_state.c[field.name] for field in fields(FetchState))
_shown_title = func.lower(func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url))

_mine = subscriptions.c.user_id == bindparam("user_id")
_active = subscriptions.c.unsubscribed_at.is_(None)
_all = (
    select(*_OWN, *_KEEP, *_AI, *_FEED, *_STATE)
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(_mine, _active)
)


def _status_is(status: str) -> ColumnElement[bool]:
    if status == "working":
        return feed_fetch_state.c.status == "success"
    if status == "pending":
        return feed_fetch_state.c.status == "pending"
    return (feed_fetch_state.c.status != "success") & (feed_fetch_state.c.status != "pending")


def _filters(status: str, *, folder: bool, search: bool) -> list[ColumnElement[bool]]:
    wanted: list[ColumnElement[bool]] = []
    if status != "all":
        wanted.append(_status_is(status))
    if folder:
        wanted.append(subscriptions.c.folder_id == bindparam("folder_id"))
    if search:
        pattern: BindParameter[str] = bindparam("pattern")
        wanted.append(
            or_(_shown_title.like(pattern, escape="\\"), func.lower(feeds.c.url).like(pattern, escape="\\"))
        )
    return wanted


def _page(status: str, folder: bool, search: bool) -> ClauseElement:
    return (
        _all.where(*_filters(status, folder=folder, search=search))
        .order_by(_shown_title, subscriptions.c.id)
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
    )


def _how_many(status: str, folder: bool, search: bool) -> ClauseElement:
    return (
        select(func.count())
        .select_from(subscriptions)
        .join(feeds, feeds.c.id == subscriptions.c.feed_id)
        .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
        .where(_mine, _active, *_filters(status, folder=folder, search=search))
    )


def _by_status(folder: bool, search: bool) -> ClauseElement:
    return (
        select(feed_fetch_state.c.status, func.count())
        .select_from(subscriptions)
        .join(feeds, feeds.c.id == subscriptions.c.feed_id)
        .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
        .where(_mine, _active, *_filters("all", folder=folder, search=search))
        .group_by(feed_fetch_state.c.status)
    )


_PAGE = Shapes(_page)
_BY_STATUS = Shapes(_by_status)
_HOW_MANY = Shapes(_how_many)
_EVERY = Statement(_all.order_by(_shown_title, subscriptions.c.id))
_GET = Statement(_all.where(subscriptions.c.id == bindparam("id")))
_BY_FEED = Statement(
    select(subscriptions.c.id, subscriptions.c.unsubscribed_at).where(
        _mine, subscriptions.c.feed_id == bindparam("feed_id")
    )
)
_COUNT = Statement(select(func.count()).select_from(subscriptions).where(_mine, _active))
_ADD = Statement(
    insert(subscriptions).returning(subscriptions.c.id),
    columns=["user_id", "feed_id", "folder_id", "title", "asked_url", "opml", "subscribed_at"],
)
_RETURN = Statement(
    update(subscriptions)
    .where(_mine, subscriptions.c.feed_id == bindparam("of_feed"))
    .values(
        unsubscribed_at=null(),
        subscribed_at=bindparam("now"),
        folder_id=bindparam("folder_id"),
        title=bindparam("title"),
        asked_url=bindparam("asked_url"),
    )
)
_CHANGE = Statement(
    update(subscriptions)
    .where(_mine, subscriptions.c.id == bindparam("subscription"))
    .values(
        folder_id=bindparam("folder_id"),
        title=bindparam("title"),
        paused=bindparam("paused"),
        interval=bindparam("interval"),
        full_text=bindparam("full_text"),
        notify=bindparam("notify"),
        keep_entries=bindparam("keep_entries"),
        keep_days=bindparam("keep_days"),
        keep_unread_days=bindparam("keep_unread_days"),
        summary_words=bindparam("summary_words"),
        local_only=bindparam("local_only"),
    )
)
_PUT_INTO_FOLDER = Statement(
    update(subscriptions)
    .where(
        _mine,
        subscriptions.c.id == bindparam("subscription"),
        subscriptions.c.folder_id.is_distinct_from(bindparam("into", type_=BigInteger)),
    )
    .values(folder_id=bindparam("into", type_=BigInteger))
)
_PUT_WHERE_NONE = Statement(
    update(subscriptions)
    .where(_mine, subscriptions.c.feed_id == bindparam("of_feed"), subscriptions.c.folder_id.is_(None))
    .values(folder_id=bindparam("into", type_=BigInteger))
)
_LEAVE = Statement(
    update(subscriptions)
    .where(_mine, subscriptions.c.id == bindparam("subscription"))
    .values(unsubscribed_at=bindparam("now"))
)
_RENUMBER = Statement(
    update(subscriptions)
    .where(_mine, subscriptions.c.id == bindparam("subscription"))
    .values(id=bindparam("number"))
)
_OPML = Statement(
    select(subscriptions.c.id, subscriptions.c.opml).where(_mine, _active, subscriptions.c.opml.is_not(None))
)
_FEEDS_OF = Statement(
    select(subscriptions.c.feed_id)
    .where(_mine, _active, ~subscriptions.c.paused)
    .order_by(subscriptions.c.feed_id)
)


async def every(tx: Tx, user_id: int) -> list[Subscription]:
    return [_subscription(row) for row in await tx.all(_EVERY, {"user_id": user_id})]


async def page(
    tx: Tx, user_id: int, wanted: SubscriptionFilter, *, limit: int, offset: int
) -> list[Subscription]:
    params = {**_params(user_id, wanted), "limit": limit, "offset": offset}
    return [_subscription(row) for row in await tx.all(_PAGE(*_shape(wanted)), params)]


async def count_listed(tx: Tx, user_id: int, wanted: SubscriptionFilter) -> int:
    return await tx.value(_HOW_MANY(*_shape(wanted)), _params(user_id, wanted))


async def count_by_status(tx: Tx, user_id: int, wanted: SubscriptionFilter) -> dict[str, int]:
    """How many of the feeds that a search or a folder leaves have each status, whichever is asked for."""
    _, folder, search = _shape(wanted)
    return {row[0]: row[1] for row in await tx.all(_BY_STATUS(folder, search), _params(user_id, wanted))}


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"user_id": user_id})


async def get(tx: Tx, user_id: int, subscription_id: int) -> Subscription | None:
    row = await tx.one(_GET, {"user_id": user_id, "id": subscription_id})
    return _subscription(row) if row else None


async def get_by_feed(tx: Tx, user_id: int, feed_id: int) -> tuple[int, bool] | None:
    """The subscription's id and whether it is active; None if the user never followed this feed."""
    row = await tx.one(_BY_FEED, {"user_id": user_id, "feed_id": feed_id})
    return (row[0], row[1] is None) if row else None


async def add(
    tx: Tx,
    user_id: int,
    feed_id: int,
    *,
    folder_id: int | None,
    title: str | None,
    asked_url: str,
    opml: str | None,
    now: Instant,
) -> int:
    return await tx.value(
        _ADD,
        {
            "user_id": user_id,
            "feed_id": feed_id,
            "folder_id": folder_id,
            "title": title,
            "asked_url": asked_url,
            "opml": opml,
            "subscribed_at": now,
        },
    )


async def resubscribe(
    tx: Tx,
    user_id: int,
    feed_id: int,
    *,
    folder_id: int | None,
    title: str | None,
    asked_url: str,
    now: Instant,
) -> None:
    await tx.run(
        _RETURN,
        {
            "user_id": user_id,
            "of_feed": feed_id,
            "folder_id": folder_id,
            "title": title,
            "asked_url": asked_url,
            "now": now,
        },
    )


async def change(tx: Tx, user_id: int, subscription: Subscription) -> None:
    await tx.run(
        _CHANGE,
        {
            "user_id": user_id,
            "subscription": subscription.id,
            "folder_id": subscription.folder_id,
            "title": subscription.own_title,
            "paused": subscription.paused,
            "interval": subscription.interval,
            "full_text": subscription.full_text,
            "notify": subscription.notify,
            "keep_entries": subscription.keep.entries,
            "keep_days": subscription.keep.days,
            "keep_unread_days": subscription.keep.unread_days,
            "summary_words": subscription.summary_words,
            "local_only": subscription.local_only,
        },
    )


async def move_to_folder(tx: Tx, user_id: int, subscription_id: int, folder_id: int) -> bool:
    """False if it is there already."""
    params = {"user_id": user_id, "subscription": subscription_id, "into": folder_id}
    return await tx.run(_PUT_INTO_FOLDER, params) > 0


async def move_unfiled(tx: Tx, user_id: int, feed_id: int, folder_id: int) -> bool:
    """Put a feed into a folder unless the user has put it into one; False if nothing changed."""
    params = {"user_id": user_id, "of_feed": feed_id, "into": folder_id}
    return await tx.run(_PUT_WHERE_NONE, params) > 0


async def unsubscribe(tx: Tx, user_id: int, subscription_id: int, now: Instant) -> None:
    await tx.run(_LEAVE, {"user_id": user_id, "subscription": subscription_id, "now": now})


async def exchange_ids(tx: Tx, user_id: int, one: int, other: int) -> None:
    """What was `one` is `other` from now on, and the other way round. No other table names either."""
    for before, after in ((one, -one), (other, one), (-one, other)):
        await tx.run(_RENUMBER, {"user_id": user_id, "subscription": before, "number": after})


async def opml_attributes(tx: Tx, user_id: int) -> Mapping[int, str]:
    """What an import brought beyond what we know, by subscription."""
    return {row[0]: row[1] for row in await tx.all(_OPML, {"user_id": user_id})}


async def feeds_of(tx: Tx, user_id: int) -> list[int]:
    """The feeds this user follows and has not paused."""
    return [row[0] for row in await tx.all(_FEEDS_OF, {"user_id": user_id})]


def _shape(wanted: SubscriptionFilter) -> tuple[str, bool, bool]:
    return wanted.status, wanted.folder_id is not None, bool(wanted.search)


def _params(user_id: int, wanted: SubscriptionFilter) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "folder_id": wanted.folder_id,
        "pattern": containing(wanted.search),
    }


def _subscription(row: Row) -> Subscription:
    values: list[Any] = list(row)
    own, keep, ai, about, state = values[:11], values[11:14], values[14:16], values[16:28], tuple(values[28:])
    own[5], own[8] = bool(own[5]), bool(own[8])
    private = about[9] is not None
    about[8:] = [bool(about[8]), private, about[10] if private else None, bool(about[11]) and private]
    return Subscription(
        *own,
        keep=RetentionOverride(*keep),
        summary_words=ai[0],
        local_only=bool(ai[1]),
        feed=FollowedFeed(*about, state=fetch_state(state)),
    )


_USER: BindParameter[int] = bindparam("user_id", type_=BigInteger)
_is_followed = and_(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None))
_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)
_asked_url = func.coalesce(func.nullif(subscriptions.c.asked_url, ""), feeds.c.url)
_site_url = func.coalesce(feeds.c.site_url, "")

_FEED_IDS = Statement(select(subscriptions.c.feed_id).where(_is_followed))
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
    .where(_is_followed)
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
    .select_from(feeds.outerjoin(subscriptions, and_(_is_followed, subscriptions.c.feed_id == feeds.c.id)))
    .where(among(feeds.c.id, "feed_ids"))
)
_NEWEST = Statement(
    select(subscriptions.c.feed_id, entries.c.id, entries.c.fetched_at)
    .join_from(subscriptions, entries, entries.c.id == subscriptions.c.newest_id)
    .where(_is_followed)
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
    .where(_is_followed)
)


async def feed_ids(tx: Tx, user_id: int) -> frozenset[int]:
    return frozenset(row[0] for row in await tx.all(_FEED_IDS, {"user_id": user_id}))


async def list_followed(tx: Tx, user_id: int) -> list[Followed]:
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


_sidebar_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)

_shelf = (
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        _sidebar_title,
        subscriptions.c.unread,
        feeds.c.icon_id,
        feeds.c.language,
        feed_fetch_state.c.stop_reason,
        subscriptions.c.full_text,
        feed_fetch_state.c.status,
        feed_fetch_state.c.last_error,
        feed_fetch_state.c.last_http_status,
        subscriptions.c.paused,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)
_ordered = _shelf.order_by(func.lower(_sidebar_title), subscriptions.c.id)
_SHELF = Statement(_ordered)
_ranked = subscriptions.alias("ranked")
_BUSIEST = Statement(
    _ordered.add_columns(feed_fetch_state.c.last_checked_at).where(
        subscriptions.c.id.in_(
            select(_ranked.c.id)
            .where(_ranked.c.user_id == bindparam("user_id"), _ranked.c.unsubscribed_at.is_(None))
            .order_by(_ranked.c.unread.desc(), _ranked.c.id)
            .limit(bindparam("most", type_=BigInteger))
        )
    )
)
_SOME = Statement(_shelf.where(among(subscriptions.c.feed_id, "feed_ids")))
_NOTIFYING = Statement(
    select(subscriptions.c.id, _sidebar_title)
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.notify,
    )
    .order_by(func.lower(_sidebar_title), subscriptions.c.id)
)


async def sidebar_feeds(tx: Tx, user_id: int) -> list[FollowedFeedRow]:
    return list(map(FollowedFeedRow._make, await tx.all(_SHELF, {"user_id": user_id})))


async def busiest_feeds(tx: Tx, user_id: int, most: int) -> tuple[list[FollowedFeedRow], Instant]:
    """Those with the most unread, in the order of all, and when the last of them was looked at, or 0."""
    rows = await tx.all(_BUSIEST, {"user_id": user_id, "most": most})
    return [FollowedFeedRow._make(row[:-1]) for row in rows], max((row[-1] or 0 for row in rows), default=0)


async def list_by_ids(tx: Tx, user_id: int, feed_ids: Collection[int]) -> list[FollowedFeedRow]:
    """Those of these feeds that the user follows, in no order."""
    rows = await tx.all(_SOME, {"user_id": user_id, "feed_ids": sorted(set(feed_ids))})
    return list(map(FollowedFeedRow._make, rows))


async def notifying(tx: Tx, user_id: int) -> list[tuple[int, str]]:
    """The subscriptions whose news the user wants to be told, with their names."""
    return [(row[0], row[1]) for row in await tx.all(_NOTIFYING, {"user_id": user_id})]


_own_local_only = subscriptions.c.user_id == bindparam("user_id")
_FEEDS = Statement(select(subscriptions.c.feed_id).where(_own_local_only, subscriptions.c.local_only))
_local = (
    select(subscriptions.c.id)
    .where(_own_local_only, subscriptions.c.feed_id == entries.c.feed_id, subscriptions.c.local_only)
    .exists()
)
_FREE = Statement(
    select(entries.c.id)
    .join_from(entry_summaries, entries, entries.c.id == entry_summaries.c.entry_id)
    .where(entry_summaries.c.key == bindparam("key"), ~_local)
    .limit(1)
)


async def local_only_feeds(tx: Tx, user_id: int) -> frozenset[int]:
    return frozenset([row[0] for row in await tx.all(_FEEDS, {"user_id": user_id})])


async def may_be_sent(tx: Tx, user_id: int, key: str) -> bool:
    """Whether some entry with this text is in a feed that this user does not keep here."""
    return await tx.value(_FREE, {"user_id": user_id, "key": key}) is not None


async def follow_own(tx: Tx, now: Instant, user_id: int, feed_id: int) -> bool:
    """Whether the user did not follow this feed of theirs until now."""
    known = await get_by_feed(tx, user_id, feed_id)
    if known is not None and known[1]:
        return False
    if known is None:
        await add(tx, user_id, feed_id, folder_id=None, title=None, asked_url="", opml=None, now=now)
        await unread.init_unread(tx, user_id, feed_id)
    else:
        await resubscribe(tx, user_id, feed_id, folder_id=None, title=None, asked_url="", now=now)
        await unread.restore_unread(tx, user_id, feed_id)
    return True
