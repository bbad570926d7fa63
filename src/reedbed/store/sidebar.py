"""The feeds that the sidebar and other short lists show."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import BigInteger, and_, bindparam, not_, or_

from reedbed.domain.failures import load_failure
from reedbed.domain.subscriptions import Origin, SubscribedFeedRow
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Query, among, func, row_of, select
from reedbed.store.folders import other_folders, parse_folders, with_other_folders
from reedbed.store.subscriptions import feed_title, is_followed
from reedbed.store.tables import feed_fetch_state, feeds, subscriptions

_select_sidebar = (
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        feed_title,
        subscriptions.c.unread,
        feeds.c.icon_id,
        feeds.c.language,
        feed_fetch_state.c.stop_reason,
        subscriptions.c.full_text,
        feed_fetch_state.c.status,
        feed_fetch_state.c.last_error,
        feed_fetch_state.c.last_http_status,
        subscriptions.c.paused,
        subscriptions.c.muted_until,
        subscriptions.c.unread_display,
        feed_fetch_state.c.last_error_at,
        subscriptions.c.in_unread,
        other_folders.c.ids,
    )
    .select_from(with_other_folders)
    .join(feeds, feeds.c.id == subscriptions.c.feed_id)
    .join(feed_fetch_state, feed_fetch_state.c.feed_id == feeds.c.id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)
_sidebar_by_title = _select_sidebar.order_by(func.lower(feed_title), subscriptions.c.id)


def _sidebar_feed(*columns: Any) -> SubscribedFeedRow:
    feed = SubscribedFeedRow(*columns[:-1], other_folders=parse_folders(columns[-1]))
    stop_reason, last_error = columns[7], columns[10]
    if stop_reason is None and last_error is None:  # most feeds work
        return feed
    return feed._replace(stop_reason=load_failure(stop_reason), last_error=load_failure(last_error))


_SIDEBAR = Query(_sidebar_by_title, into=_sidebar_feed)
_ranked = subscriptions.alias("ranked")
_failing = subscriptions.alias("failing")
_failing_state = feed_fetch_state.alias("failing_state")


def _feed_and_last_check(*columns: Any) -> tuple[SubscribedFeedRow, Instant]:
    *feed, checked_at = columns
    return _sidebar_feed(*feed), checked_at or 0


_BUSIEST = Query(
    _sidebar_by_title.add_columns(feed_fetch_state.c.last_checked_at).where(
        or_(
            subscriptions.c.id.in_(
                select(_ranked.c.id)
                .where(_ranked.c.user_id == bindparam("user_id"), _ranked.c.unsubscribed_at.is_(None))
                .order_by(_ranked.c.unread.desc(), _ranked.c.id)
                .limit(bindparam("limit", type_=BigInteger))
            ),
            # As in `feed_problem`.
            subscriptions.c.id.in_(
                select(_failing.c.id)
                .join_from(_failing, _failing_state, _failing_state.c.feed_id == _failing.c.feed_id)
                .where(
                    _failing.c.user_id == bindparam("user_id"),
                    _failing.c.unsubscribed_at.is_(None),
                    not_(_failing.c.paused),
                    or_(_failing_state.c.stop_reason.is_not(None), _failing_state.c.last_error.is_not(None)),
                )
                .order_by(_failing.c.unread.desc(), _failing.c.id)
                .limit(bindparam("most_failing", type_=BigInteger))
            ),
        )
    ),
    into=_feed_and_last_check,
)
_SIDEBAR_BY_IDS = Query(_select_sidebar.where(among(subscriptions.c.feed_id, "feed_ids")), into=_sidebar_feed)
_NOTIFYING = Query(
    select(subscriptions.c.id, feed_title)
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.notify,
    )
    .order_by(func.lower(feed_title), subscriptions.c.id),
    into=row_of(int, str),
)


async def sidebar_feeds(tx: Tx, user_id: int) -> list[SubscribedFeedRow]:
    return await tx.all(_SIDEBAR, {"user_id": user_id})


async def busiest_feeds(tx: Tx, user_id: int, limit: int, failing: int = 0) -> tuple[list[SubscribedFeedRow], Instant]:
    """The feeds with the most unread entries and so many failing ones, by title; and their latest check time (or 0)."""
    rows = await tx.all(_BUSIEST, {"user_id": user_id, "limit": limit, "most_failing": failing})
    return [feed for feed, _ in rows], max((checked_at for _, checked_at in rows), default=0)


async def list_by_ids(tx: Tx, user_id: int, feed_ids: Collection[int]) -> list[SubscribedFeedRow]:
    """Return those of these feeds that the user is subscribed to, unordered."""
    return await tx.all(_SIDEBAR_BY_IDS, {"user_id": user_id, "feed_ids": sorted(set(feed_ids))})


async def notifying(tx: Tx, user_id: int) -> list[tuple[int, str]]:
    """Return id and title of the subscriptions with notifications turned on."""
    return await tx.all(_NOTIFYING, {"user_id": user_id})


# --- The feeds of entries


def _origin(*columns: Any) -> Origin:
    *known, others = columns
    return Origin(*known, other_folders=parse_folders(others))


_ORIGINS = Query(
    select(
        feeds.c.id,
        feed_title,
        feeds.c.url,
        func.coalesce(feeds.c.site_url, ""),
        subscriptions.c.folder_id,
        func.coalesce(subscriptions.c.full_text, "auto"),
        other_folders.c.ids,
    )
    .select_from(
        feeds.outerjoin(subscriptions, and_(is_followed, subscriptions.c.feed_id == feeds.c.id)).outerjoin(
            other_folders, other_folders.c.subscription_id == subscriptions.c.id
        )
    )
    .where(among(feeds.c.id, "feed_ids")),
    into=_origin,
)


async def origins(tx: Tx, user_id: int, of_feeds: list[int]) -> dict[int, Origin]:
    """Call it only for feeds whose entries this user may see."""
    rows = await tx.all(_ORIGINS, {"user_id": user_id, "feed_ids": of_feeds})
    return {origin.feed_id: origin for origin in rows}
