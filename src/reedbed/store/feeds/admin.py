"""Feeds in the admin pages: filtered lists, settings and schedule. Without private feeds and newsletters."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    and_,
    bindparam,
    case,
    exists,
    false,
    null,
    or_,
    true,
    update,
)

from reedbed.domain.failures import Failure, load_failure
from reedbed.domain.feeds import HIDDEN, FeedFetching
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Command,
    CommandFamily,
    Param,
    Params,
    Query,
    QueryFamily,
    containing,
    func,
    row_of,
    select,
)
from reedbed.store.tables import feed_fetch_state as state
from reedbed.store.tables import feed_framing, feeds, framed_documents, subscriptions


@record
class AdminFeed:
    id: int
    url: str
    title: str
    language: str | None
    icon_id: int | None
    standing: str
    """The status: one of `FEED_STATUSES`."""
    enabled: bool
    polling: bool
    deframe: bool
    root_domain: str | None
    enforce_domain: bool
    prompt: str | None
    next_run_at: Instant | None
    locked_until: Instant | None
    last_checked_at: Instant | None
    last_error: Failure | None
    failures: int
    """Consecutive."""
    stop_reason: Failure | None
    followers: int
    built_at: Instant | None
    operator_added: bool
    deleted: bool
    fetching: FeedFetching

    @property
    def is_polled(self) -> bool:
        return self.polling and (self.operator_added or self.followers > 0)


@record
class FeedFilter:
    search: str = ""
    """Part of the title or URL."""
    standing: str = "all"


FEED_STATUSES = ("working", "damaged", "pending", "error", "stopped", "off")
_is_subscribed = (subscriptions.c.feed_id == feeds.c.id, subscriptions.c.unsubscribed_at.is_(None))
_subscriber_count = select(func.count()).where(*_is_subscribed).scalar_subquery()
# A feed that is no longer polled has a next check in its row until a worker clears it.
_next = case(
    (
        or_(state.c.urgent, and_(feeds.c.polling, or_(feeds.c.operator_added, _subscriber_count > 0))),
        state.c.next_check_at,
    ),
    else_=null(),
)
_status = case(
    (feeds.c.enabled == false(), "off"),
    (state.c.stopped_at.is_not(None), "stopped"),
    # The document was truncated; the readable part was stored.
    (and_(state.c.status == "success", state.c.last_error.is_not(None)), "damaged"),
    (state.c.status == "success", "working"),
    (state.c.status == "pending", "pending"),
    else_="error",
)
_name = func.lower(func.coalesce(func.nullif(feeds.c.title, ""), feeds.c.url))
_is_listed = (feeds.c.owner_id.is_(None), feeds.c.kind == "web")
_rows = (
    select(
        feeds.c.id,
        feeds.c.url,
        feeds.c.title,
        feeds.c.language,
        feeds.c.icon_id,
        _status.label("standing"),
        feeds.c.enabled,
        feeds.c.polling,
        func.coalesce(feed_framing.c.deframe, false()),
        feed_framing.c.root_domain,
        func.coalesce(feed_framing.c.enforce_domain, true()),
        feed_framing.c.prompt,
        _next.label("next_run_at"),
        case((state.c.leased_until > bindparam("now", type_=BigInteger), state.c.leased_until), else_=null()),
        state.c.last_checked_at,
        state.c.last_error,
        state.c.consecutive_failures,
        state.c.stop_reason,
        _subscriber_count,
        framed_documents.c.built_at,
        feeds.c.operator_added,
        feeds.c.deleted_at.is_not(None),
        feeds.c.proxy,
        feeds.c.user_agent,
        feeds.c.username,
        feeds.c.password.is_not(None),
        feeds.c.interval,
        feeds.c.max_failures,
        feeds.c.allow_duplicate_urls,
    )
    .join_from(feeds, state, state.c.feed_id == feeds.c.id)
    .outerjoin(feed_framing, feed_framing.c.feed_id == feeds.c.id)
    .outerjoin(framed_documents, framed_documents.c.feed_id == feeds.c.id)
    .where(*_is_listed)
)
_OWN = tuple(field.name for field in fields(AdminFeed) if field.name != "fetching")
_FETCHING = tuple(field.name for field in fields(FeedFetching))
_FLAGS = (
    *("enabled", "polling", "deframe", "enforce_domain", "operator_added", "deleted"),
    *("has_password", "allow_duplicate_urls"),
)


def _feed(*columns: Any) -> AdminFeed:
    """With the proxy as it is stored; see `_with_proxy`."""
    row = dict(zip((*_OWN, *_FETCHING), columns, strict=True))
    row |= {name: bool(row[name]) for name in _FLAGS}
    row |= {name: load_failure(row[name]) for name in ("last_error", "stop_reason")}
    fetching = FeedFetching(**{name: row.pop(name) for name in _FETCHING})
    return AdminFeed(**row, fetching=fetching)


_ALL = Query(_rows.where(feeds.c.deleted_at.is_(None)).order_by(feeds.c.id), into=_feed)
_BY_ID = Query(_rows.where(feeds.c.id == bindparam("id")), into=_feed)
_BY_URL = Query(_rows.where(feeds.c.url == bindparam("url")), into=_feed)


def _filters(*, by_status: bool, search: bool) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [*_is_listed, feeds.c.deleted_at.is_(None)]
    if by_status:
        conditions.append(_status == bindparam("standing"))
    if search:
        conditions.append(
            or_(
                _name.like(bindparam("pattern"), escape="\\"),
                func.lower(feeds.c.url).like(bindparam("pattern"), escape="\\"),
            )
        )
    return conditions


def _count_by_status(search: bool) -> ClauseElement:
    return (
        select(_status.label("standing"), func.count())
        .join_from(feeds, state, state.c.feed_id == feeds.c.id)
        .where(*_filters(by_status=False, search=search))
        .group_by("standing")
    )


def _page(by_status: bool, search: bool) -> ClauseElement:
    # Count subscribers only for the feeds of the page.
    page_ids = (
        select(feeds.c.id)
        .join_from(feeds, state, state.c.feed_id == feeds.c.id)
        .where(*_filters(by_status=by_status, search=search))
        .order_by(_name, feeds.c.id)
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
        .correlate(None)
    )
    return _rows.where(feeds.c.id.in_(page_ids)).order_by(_name, feeds.c.id)


def _count(by_status: bool, search: bool) -> ClauseElement:
    return (
        select(func.count())
        .join_from(feeds, state, state.c.feed_id == feeds.c.id)
        .where(*_filters(by_status=by_status, search=search))
    )


_PAGE = QueryFamily(_page, into=_feed)
_COUNT_BY_STATUS = QueryFamily(_count_by_status, into=row_of(str, int))
_COUNT = QueryFamily(_count, into=int)


def _set(name: str) -> ClauseElement:
    return update(feeds).where(feeds.c.id == bindparam("feed_id")).values({name: bindparam("value")})


_SET = CommandFamily(_set)
_ENCRYPTED = ("password", "proxy")
_RESUME = Command(
    update(state)
    .where(
        state.c.feed_id == bindparam("feed_id"),
        state.c.next_check_at.is_(None),
        state.c.last_checked_at.is_not(None),
        state.c.stopped_at.is_(None),
        exists().where(feeds.c.id == state.c.feed_id, feeds.c.polling == true()),
    )
    .values(next_check_at=bindparam("now"))
)
_RUN_NOW = Command(
    update(state)
    .where(state.c.feed_id == bindparam("feed_id"))
    .values(
        next_check_at=bindparam("now"),
        urgent=true(),
        last_error=null(),
        lease_holder=null(),
        leased_until=null(),
        retry_after_until=null(),
        consecutive_failures=0,
        stopped_at=null(),
        stop_reason=null(),
    )
)
_DELETE_DOCUMENT_STATE = Command(
    update(state)
    .where(state.c.feed_id == bindparam("feed_id"))
    .values(
        etag=null(),
        last_modified=null(),
        body_hash=null(),
        lease_holder=null(),
        leased_until=null(),
        consecutive_failures=case((state.c.stopped_at.is_not(None), 0), else_=state.c.consecutive_failures),
        stopped_at=null(),
        stop_reason=null(),
    )
)
_REVIVE = Command(
    update(feeds)
    .where(feeds.c.id == bindparam("feed_id"))
    .values(deleted_at=null(), enabled=bindparam("on"), polling=bindparam("on"))
)
_START_POLLING = Command(
    update(feeds)
    .where(
        feeds.c.id == bindparam("feed_id"),
        or_(feeds.c.deleted_at.is_not(None), and_(feeds.c.operator_added, ~feeds.c.polling)),
        ~exists().where(*_is_subscribed),
    )
    .values(deleted_at=null(), polling=true(), enabled=or_(feeds.c.enabled, feeds.c.deleted_at.is_not(None)))
)


async def every(tx: Tx, now: Instant) -> list[AdminFeed]:
    return [_with_proxy(tx, feed) for feed in await tx.all(_ALL, {"now": now})]


async def page(tx: Tx, feed_filter: FeedFilter, now: Instant, *, limit: int, offset: int) -> list[AdminFeed]:
    """Sorted by name."""
    params = {**_params(feed_filter), "now": now, "limit": limit, "offset": offset}
    return [_with_proxy(tx, feed) for feed in await tx.all(_PAGE(*_variant(feed_filter)), params)]


async def how_many(tx: Tx, feed_filter: FeedFilter) -> int:
    return await tx.get(_COUNT(*_variant(feed_filter)), _params(feed_filter))


async def counted(tx: Tx, feed_filter: FeedFilter) -> Mapping[str, int]:
    """The number of feeds per status that match the search, whatever status the filter has."""
    _, search = _variant(feed_filter)
    return dict(await tx.all(_COUNT_BY_STATUS(search), _params(feed_filter)))


async def by_id(tx: Tx, feed_id: int, now: Instant) -> AdminFeed | None:
    """Finds deleted feeds, too."""
    feed = await tx.one(_BY_ID, {"id": feed_id, "now": now})
    return feed and _with_proxy(tx, feed)


async def by_url(tx: Tx, url: str, now: Instant) -> AdminFeed | None:
    feed = await tx.one(_BY_URL, {"url": url, "now": now})
    return feed and _with_proxy(tx, feed)


async def set_enabled(tx: Tx, feed_id: int, *, enabled: bool) -> None:
    await tx.run(_SET("enabled"), {"feed_id": feed_id, "value": enabled})


async def set_polling(tx: Tx, feed_id: int, *, polling: bool) -> None:
    await tx.run(_SET("polling"), {"feed_id": feed_id, "value": polling})


async def set_operator_added(tx: Tx, feed_id: int, *, added: bool) -> None:
    await tx.run(_SET("operator_added"), {"feed_id": feed_id, "value": added})


async def set_fetching(tx: Tx, feed_id: int, changed: Params) -> None:
    """Set these columns, by name."""
    for name, value in changed.items():
        secret = name in _ENCRYPTED and isinstance(value, str)
        stored = tx.vault.encrypt(f"feeds.{name}", str(value)) if secret else value
        await tx.run(_SET(name), {"feed_id": feed_id, "value": stored})


async def delete(tx: Tx, feed_id: int, now: Instant) -> None:
    await tx.run(_SET("deleted_at"), {"feed_id": feed_id, "value": now})


async def revive(tx: Tx, feed_id: int, *, on: bool) -> None:
    """Undelete a feed; `on` sets both enabled and polling."""
    await tx.run(_REVIVE, {"feed_id": feed_id, "on": on})


async def start_polling_for_subscriber(tx: Tx, feed_id: int) -> None:
    """Start polling a deleted or operator-only feed when its first subscriber arrives."""
    await tx.run(_START_POLLING, {"feed_id": feed_id})


async def resume(tx: Tx, feed_id: int, now: Instant) -> None:
    """Schedule a check for a feed that lost its schedule while disabled, but not for one never checked."""
    await tx.run(_RESUME, {"feed_id": feed_id, "now": now})


async def run_now(tx: Tx, feed_id: int, now: Instant) -> None:
    """Make the feed due at once, despite errors, a lease or the server's Retry-After."""
    await tx.run(_RUN_NOW, {"feed_id": feed_id, "now": now})


async def reset_document_state(tx: Tx, feed_id: int) -> None:
    """Fetch without cache headers next time, drop the result of a running check, and restart if stopped."""
    await tx.run(_DELETE_DOCUMENT_STATE, {"feed_id": feed_id})


def _variant(feed_filter: FeedFilter) -> tuple[bool, bool]:
    return feed_filter.standing != "all", bool(feed_filter.search)


def _params(feed_filter: FeedFilter) -> dict[str, Param]:
    return {"standing": feed_filter.standing, "pattern": containing(feed_filter.search)}


def _with_proxy(tx: Tx, feed: AdminFeed) -> AdminFeed:
    stored = feed.fetching.proxy
    if stored is None:
        return feed
    return replace(feed, fetching=replace(feed.fetching, proxy=tx.vault.decrypt("feeds.proxy", stored) or HIDDEN))
