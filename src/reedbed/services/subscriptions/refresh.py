"""Check feeds now, because their subscriber asks for it."""

from reedbed.domain.errors import NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.times import Instant
from reedbed.services.refresh.check import request_refresh
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.store import subscriptions


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
