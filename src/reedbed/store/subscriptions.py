"""What a user follows."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ClauseElement,
    ColumnElement,
    bindparam,
    insert,
    null,
    or_,
    update,
)

from reedbed.domain.checks import FetchState
from reedbed.domain.retention import Wish
from reedbed.domain.subscriptions import FollowedFeed, Subscription, SubscriptionFilter
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.fetch_state_rows import fetch_state
from reedbed.store.patterns import containing
from reedbed.store.sql import func, select
from reedbed.store.statements import Shapes, Statement
from reedbed.store.tables import feed_fetch_state, feeds, subscriptions

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


async def how_many(tx: Tx, user_id: int, wanted: SubscriptionFilter) -> int:
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


async def by_feed(tx: Tx, user_id: int, feed_id: int) -> tuple[int, bool] | None:
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


async def come_back(
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


async def put_into_folder(tx: Tx, user_id: int, subscription_id: int, folder_id: int) -> bool:
    """False if it is there already."""
    params = {"user_id": user_id, "subscription": subscription_id, "into": folder_id}
    return await tx.run(_PUT_INTO_FOLDER, params) > 0


async def put_where_none(tx: Tx, user_id: int, feed_id: int, folder_id: int) -> bool:
    """Put a feed into a folder unless the user has put it into one; False if nothing changed."""
    params = {"user_id": user_id, "of_feed": feed_id, "into": folder_id}
    return await tx.run(_PUT_WHERE_NONE, params) > 0


async def leave(tx: Tx, user_id: int, subscription_id: int, now: Instant) -> None:
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
        keep=Wish(*keep),
        summary_words=ai[0],
        local_only=bool(ai[1]),
        feed=FollowedFeed(*about, state=fetch_state(state)),
    )
