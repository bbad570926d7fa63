"""Changes of many subscriptions at once, and checks of feeds that their subscriber asks for."""

from collections.abc import Sequence

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import UNSET, Unset, record
from reedbed.domain.subscriptions import Subscription, SubscriptionFilter
from reedbed.domain.times import Instant
from reedbed.services.refresh.check import request_refresh
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.manage import MAX_SUBSCRIPTIONS, NO_SUCH, SubscriptionChange, change_subscription
from reedbed.store import subscriptions

DEFAULTS = SubscriptionChange(
    paused=False,
    interval=None,
    full_text="auto",
    notify=False,
    keep_entries=None,
    keep_days=None,
    keep_unread_days=None,
    summary_words=None,
    local_only=False,
    muted_until=None,
    unread_display="number",
    in_unread=True,
    unread_limit=None,
    without_shorts=False,
)
"""The default settings of a feed. Title, address and folders are not among them."""


@record
class BulkChange:
    change: SubscriptionChange
    add_folder: int | Unset = UNSET
    """One more folder for each feed."""


async def change_many(runtime: Runtime, user_id: int, ids: Sequence[int], bulk: BulkChange) -> int:
    """Change these subscriptions; return how many there were. Those that are gone meanwhile are left out."""
    if len(ids) > MAX_SUBSCRIPTIONS:
        raise Invalid("There can be at most %(limit)s feeds.", field="ids", limit=MAX_SUBSCRIPTIONS)
    changed = 0
    for id_ in dict.fromkeys(ids):
        async with runtime.db.read() as tx:
            current = await subscriptions.get(tx, user_id, id_)
        if current is None:
            continue
        change = bulk.change
        if not isinstance(bulk.add_folder, Unset):
            change = SubscriptionChange(folder_ids=(*current.folder_ids, bulk.add_folder))
        try:
            await change_subscription(runtime, user_id, id_, change)
        except NotFound:
            if not isinstance(bulk.add_folder, Unset):
                raise
            continue
        changed += 1
    return changed


async def list_ids(runtime: Runtime, user_id: int, chosen: SubscriptionFilter) -> list[int]:
    """Every subscription that the filter shows."""
    async with runtime.db.read() as tx:
        rows = await subscriptions.page(tx, user_id, chosen, limit=MAX_SUBSCRIPTIONS, offset=0)
    return [row.id for row in rows]


# --- Check feeds now


@record
class RejectedRefresh:
    subscription_id: int
    reason: Failure
    retry_at: Instant | None = None
    """When the site may be fetched again."""


async def refresh_subscription(runtime: Runtime, user_id: int, subscription_id: int) -> RejectedRefresh | None:
    """Request a check now. None if it was accepted."""
    async with runtime.db.read() as tx:
        current = await subscriptions.get(tx, user_id, subscription_id)
    if current is None:
        raise NotFound(NO_SUCH)
    accepted = await request_refresh(runtime, [current.feed.id], user_id=user_id)
    return None if accepted else _rejected_refresh(current)


async def refresh_all(runtime: Runtime, user_id: int) -> tuple[int, list[RejectedRefresh]]:
    """Request a check of all feeds that are not paused: the number accepted, and the rejected ones."""
    async with runtime.db.read() as tx:
        feed_ids = await subscriptions.feeds_of(tx, user_id)
    accepted = set(await request_refresh(runtime, feed_ids, user_id=user_id)) if feed_ids else set[int]()
    rejected = set(feed_ids) - accepted
    if not rejected:
        return len(accepted), []
    async with runtime.db.read() as tx:
        subscribed = await subscriptions.every(tx, user_id)
    return len(accepted), [
        _rejected_refresh(subscription) for subscription in subscribed if subscription.feed.id in rejected
    ]


def _rejected_refresh(subscription: Subscription) -> RejectedRefresh:
    if subscription.feed.kind != "web":
        return RejectedRefresh(subscription.id, Failure(FailureCode.REFRESH_NOT_FETCHED))
    if not subscription.feed.enabled:
        return RejectedRefresh(subscription.id, Failure(FailureCode.REFRESH_FEED_OFF))
    until = subscription.feed.state.retry_after_until
    return RejectedRefresh(subscription.id, Failure(FailureCode.REFRESH_SITE_PAUSE), until)
