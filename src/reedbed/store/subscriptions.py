"""Subscriptions: which feeds a user follows, with folder, options, status and unread counts."""

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
from reedbed.domain.subscriptions import SubscribedFeed, Subscription, SubscriptionFilter
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Command,
    Param,
    Query,
    QueryFamily,
    among,
    containing,
    func,
    optional,
    row_of,
    select,
)
from reedbed.store.folders import other_folders, parse_folders, put_in_others, with_other_folders
from reedbed.store.read_state import unread
from reedbed.store.refresh import fetch_state
from reedbed.store.tables import feed_fetch_state, feeds, subscription_folders, subscriptions

_OWN_COLUMNS = (
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
_RETENTION_COLUMNS = (subscriptions.c.keep_entries, subscriptions.c.keep_days, subscriptions.c.keep_unread_days)
_AI_COLUMNS = (subscriptions.c.summary_words, subscriptions.c.local_only)
_DISPLAY_COLUMNS = (
    subscriptions.c.without_shorts,
    subscriptions.c.muted_until,
    subscriptions.c.unread_display,
    subscriptions.c.in_unread,
    subscriptions.c.unread_limit,
)
_FEED_COLUMNS = (
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
_STATE_COLUMNS = tuple(feed_fetch_state.c[field.name] for field in fields(FetchState))
feed_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)
_sort_title = func.lower(feed_title)

_mine = subscriptions.c.user_id == bindparam("user_id")
_active = subscriptions.c.unsubscribed_at.is_(None)
_select_active = (
    select(
        *_OWN_COLUMNS,
        *_RETENTION_COLUMNS,
        *_AI_COLUMNS,
        *_DISPLAY_COLUMNS,
        other_folders.c.ids,
        *_FEED_COLUMNS,
        *_STATE_COLUMNS,
    )
    .select_from(with_other_folders)
    .join(feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(_mine, _active)
)


_changed = or_(
    subscriptions.c.paused,
    subscriptions.c.interval.is_not(None),
    subscriptions.c.full_text != "auto",
    subscriptions.c.notify,
    subscriptions.c.keep_entries.is_not(None),
    subscriptions.c.keep_days.is_not(None),
    subscriptions.c.keep_unread_days.is_not(None),
    subscriptions.c.summary_words.is_not(None),
    subscriptions.c.local_only,
    subscriptions.c.muted_until.is_not(None),
    subscriptions.c.unread_display != "number",
    ~subscriptions.c.in_unread,
    subscriptions.c.unread_limit.is_not(None),
    subscriptions.c.without_shorts,
)


def _status_is(status: str) -> ColumnElement[bool]:
    if status == "changed":
        return _changed
    if status == "working":
        return feed_fetch_state.c.status == "success"
    if status == "pending":
        return feed_fetch_state.c.status == "pending"
    return (feed_fetch_state.c.status != "success") & (feed_fetch_state.c.status != "pending")


def _filters(status: str, *, folder: bool, search: bool) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if status != "all":
        conditions.append(_status_is(status))
    if folder:
        conditions.append(_lies_in_folder())
    if search:
        pattern: BindParameter[str] = bindparam("pattern")
        conditions.append(
            or_(_sort_title.like(pattern, escape="\\"), func.lower(feeds.c.url).like(pattern, escape="\\"))
        )
    return conditions


def _lies_in_folder() -> ColumnElement[bool]:
    others = select(subscription_folders.c.subscription_id).where(
        subscription_folders.c.user_id == bindparam("user_id"),
        subscription_folders.c.folder_id == bindparam("folder_id"),
    )
    return or_(subscriptions.c.folder_id == bindparam("folder_id"), subscriptions.c.id.in_(others))


def _select_page(status: str, folder: bool, search: bool) -> ClauseElement:
    return (
        _select_active.where(*_filters(status, folder=folder, search=search))
        .order_by(_sort_title, subscriptions.c.id)
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
    )


def _select_count(status: str, folder: bool, search: bool) -> ClauseElement:
    return (
        select(func.count())
        .select_from(subscriptions)
        .join(feeds, feeds.c.id == subscriptions.c.feed_id)
        .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
        .where(_mine, _active, *_filters(status, folder=folder, search=search))
    )


def _select_status_counts(folder: bool, search: bool) -> ClauseElement:
    return (
        select(feed_fetch_state.c.status, func.count())
        .select_from(subscriptions)
        .join(feeds, feeds.c.id == subscriptions.c.feed_id)
        .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
        .where(_mine, _active, *_filters("all", folder=folder, search=search))
        .group_by(feed_fetch_state.c.status)
    )


def _subscription(*values: Any) -> Subscription:
    own, keep, ai, display = list(values[:11]), values[11:14], values[14:16], values[16:21]
    folders, about, state = values[21], list(values[22:34]), values[34:]
    own[5], own[8] = bool(own[5]), bool(own[8])
    private = about[9] is not None
    about[8:] = [bool(about[8]), private, about[10] if private else None, bool(about[11]) and private]
    return Subscription(
        *own,
        keep=RetentionOverride(*keep),
        summary_words=ai[0],
        local_only=bool(ai[1]),
        without_shorts=bool(display[0]),
        muted_until=display[1],
        unread_display=display[2],
        in_unread=bool(display[3]),
        unread_limit=display[4],
        feed=SubscribedFeed(*about, state=fetch_state(state)),
        other_folders=parse_folders(folders),
    )


_PAGE = QueryFamily(_select_page, into=_subscription)
_COUNT_BY_STATUS = QueryFamily(_select_status_counts, into=row_of(str, int))
_COUNT_FILTERED = QueryFamily(_select_count, into=int)
_ALL = Query(_select_active.order_by(_sort_title, subscriptions.c.id), into=_subscription)
_GET = Query(_select_active.where(subscriptions.c.id == bindparam("id")), into=_subscription)
_BY_FEED = Query(
    select(subscriptions.c.id, subscriptions.c.unsubscribed_at).where(
        _mine, subscriptions.c.feed_id == bindparam("feed_id")
    ),
    into=row_of(int, optional(int)),
)
_COUNT = Query(select(func.count()).select_from(subscriptions).where(_mine, _active), into=int)
_ADD = Query(
    insert(subscriptions).returning(subscriptions.c.id),
    columns=["user_id", "feed_id", "folder_id", "title", "asked_url", "opml", "subscribed_at"],
    into=int,
)
_RESUBSCRIBE = Command(
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
_UPDATE = Command(
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
        muted_until=bindparam("muted_until"),
        unread_display=bindparam("unread_display"),
        in_unread=bindparam("in_unread"),
        unread_limit=bindparam("unread_limit"),
        without_shorts=bindparam("without_shorts"),
    )
)
_MOVE_TO_FOLDER = Command(
    update(subscriptions)
    .where(
        _mine,
        subscriptions.c.id == bindparam("subscription"),
        subscriptions.c.folder_id.is_distinct_from(bindparam("into", type_=BigInteger)),
    )
    .values(folder_id=bindparam("into", type_=BigInteger))
)
_IS_IN_OTHER = Query(
    select(subscription_folders.c.folder_id).where(
        subscription_folders.c.user_id == bindparam("user_id"),
        subscription_folders.c.subscription_id == bindparam("subscription"),
        subscription_folders.c.folder_id == bindparam("folder_id"),
    ),
    into=int,
)
_MOVE_UNFILED = Command(
    update(subscriptions)
    .where(_mine, subscriptions.c.feed_id == bindparam("of_feed"), subscriptions.c.folder_id.is_(None))
    .values(folder_id=bindparam("into", type_=BigInteger))
)
_MUTE = Command(
    update(subscriptions)
    .where(_mine, _active, among(subscriptions.c.feed_id, "feed_ids"))
    .values(muted_until=bindparam("until"))
)
_UNMUTE_DUE = Query(
    update(subscriptions)
    .where(subscriptions.c.muted_until.is_not(None), subscriptions.c.muted_until <= bindparam("now"))
    .values(muted_until=null())
    .returning(subscriptions.c.user_id),
    into=int,
)
_UNSUBSCRIBE = Command(
    update(subscriptions)
    .where(_mine, subscriptions.c.id == bindparam("subscription"))
    .values(unsubscribed_at=bindparam("now"))
)
_RENUMBER = Command(
    update(subscriptions).where(_mine, subscriptions.c.id == bindparam("subscription")).values(id=bindparam("number"))
)
_OPML = Query(
    select(subscriptions.c.id, subscriptions.c.opml).where(_mine, _active, subscriptions.c.opml.is_not(None)),
    into=row_of(int, str),
)
_UNPAUSED_FEEDS = Query(
    select(subscriptions.c.feed_id).where(_mine, _active, ~subscriptions.c.paused).order_by(subscriptions.c.feed_id),
    into=int,
)


async def every(tx: Tx, user_id: int) -> list[Subscription]:
    return await tx.all(_ALL, {"user_id": user_id})


async def page(tx: Tx, user_id: int, filter_: SubscriptionFilter, *, limit: int, offset: int) -> list[Subscription]:
    params = {**_filter_params(user_id, filter_), "limit": limit, "offset": offset}
    return await tx.all(_PAGE(*_filter_shape(filter_)), params)


async def count_listed(tx: Tx, user_id: int, filter_: SubscriptionFilter) -> int:
    return await tx.get(_COUNT_FILTERED(*_filter_shape(filter_)), _filter_params(user_id, filter_))


async def count_by_status(tx: Tx, user_id: int, filter_: SubscriptionFilter) -> dict[str, int]:
    """Count the feeds that match the folder and the search by status; ignores the filter's own status."""
    _, folder, search = _filter_shape(filter_)
    return dict(await tx.all(_COUNT_BY_STATUS(folder, search), _filter_params(user_id, filter_)))


async def count(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"user_id": user_id})


async def get(tx: Tx, user_id: int, subscription_id: int) -> Subscription | None:
    return await tx.one(_GET, {"user_id": user_id, "id": subscription_id})


async def get_by_feed(tx: Tx, user_id: int, feed_id: int) -> tuple[int, bool] | None:
    """Return the subscription's id and whether it is active; None if there never was one."""
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
    return await tx.get(
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
    tx: Tx, user_id: int, feed_id: int, *, folder_id: int | None, title: str | None, asked_url: str, now: Instant
) -> None:
    await tx.run(
        _RESUBSCRIBE,
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
        _UPDATE,
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
            "muted_until": subscription.muted_until,
            "unread_display": subscription.unread_display,
            "in_unread": subscription.in_unread,
            "unread_limit": subscription.unread_limit,
            "without_shorts": subscription.without_shorts,
        },
    )
    await put_in_others(tx, user_id, subscription.id, subscription.other_folders)


async def move_to_folder(tx: Tx, user_id: int, subscription_id: int, folder_id: int) -> bool:
    """Put the feed into this folder alone; return False if it already is in it."""
    params = {"user_id": user_id, "subscription": subscription_id, "into": folder_id}
    if await tx.one(_IS_IN_OTHER, {"user_id": user_id, "subscription": subscription_id, "folder_id": folder_id}):
        return False
    if await tx.run(_MOVE_TO_FOLDER, params) == 0:
        return False
    await put_in_others(tx, user_id, subscription_id, ())
    return True


async def move_unfiled(tx: Tx, user_id: int, feed_id: int, folder_id: int) -> bool:
    """Move a feed into a folder unless the user filed it already; return False if nothing changed."""
    params = {"user_id": user_id, "of_feed": feed_id, "into": folder_id}
    return await tx.run(_MOVE_UNFILED, params) > 0


async def mute(tx: Tx, user_id: int, feed_ids: Collection[int], until: Instant | None) -> None:
    await tx.run(_MUTE, {"user_id": user_id, "feed_ids": sorted(feed_ids), "until": until})


async def unmute_due(tx: Tx, now: Instant) -> set[int]:
    """End the mutes whose time has come; return the users who had them."""
    return set(await tx.all(_UNMUTE_DUE, {"now": now}))


async def unsubscribe(tx: Tx, user_id: int, subscription_id: int, now: Instant) -> None:
    await tx.run(_UNSUBSCRIBE, {"user_id": user_id, "subscription": subscription_id, "now": now})


async def exchange_ids(tx: Tx, user_id: int, first: int, second: int) -> None:
    """Swap the ids of two subscriptions. Only their further folders refer to them, and follow."""
    for old_id, new_id in ((first, -first), (second, first), (-first, second)):
        await tx.run(_RENUMBER, {"user_id": user_id, "subscription": old_id, "number": new_id})


async def opml_attributes(tx: Tx, user_id: int) -> Mapping[int, str]:
    """Return unknown OPML attributes from an import, by subscription id."""
    return dict(await tx.all(_OPML, {"user_id": user_id}))


async def feeds_of(tx: Tx, user_id: int) -> list[int]:
    """Return the feeds this user is subscribed to and has not paused."""
    return await tx.all(_UNPAUSED_FEEDS, {"user_id": user_id})


def _filter_shape(filter_: SubscriptionFilter) -> tuple[str, bool, bool]:
    return filter_.status, filter_.folder_id is not None, bool(filter_.search)


def _filter_params(user_id: int, filter_: SubscriptionFilter) -> dict[str, Param]:
    return {"user_id": user_id, "folder_id": filter_.folder_id, "pattern": containing(filter_.search)}


# --- Checks

_USER: BindParameter[int] = bindparam("user_id", type_=BigInteger)
is_followed = and_(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None))

_FEED_IDS = Query(select(subscriptions.c.feed_id).where(is_followed), into=int)
_LAST_CHECK = Query(
    select(func.max(feed_fetch_state.c.last_checked_at))
    .join_from(subscriptions, feed_fetch_state, feed_fetch_state.c.feed_id == subscriptions.c.feed_id)
    .where(is_followed),
    into=optional(int),
)


async def feed_ids(tx: Tx, user_id: int) -> frozenset[int]:
    return frozenset(await tx.all(_FEED_IDS, {"user_id": user_id}))


async def last_check(tx: Tx, user_id: int) -> Instant | None:
    """Return when any of the user's feeds was last checked."""
    return await tx.one(_LAST_CHECK, {"user_id": user_id})


# --- A user's own feeds (newsletters and saved pages)


async def subscribe_to_own_feed(tx: Tx, now: Instant, user_id: int, feed_id: int) -> bool:
    """Subscribe the user to one of their own feeds; return False if they already were."""
    existing = await get_by_feed(tx, user_id, feed_id)
    if existing is not None and existing[1]:
        return False
    if existing is None:
        await add(tx, user_id, feed_id, folder_id=None, title=None, asked_url="", opml=None, now=now)
        await unread.init_unread(tx, user_id, feed_id)
    else:
        await resubscribe(tx, user_id, feed_id, folder_id=None, title=None, asked_url="", now=now)
        await unread.restore_unread(tx, user_id, feed_id)
    return True
