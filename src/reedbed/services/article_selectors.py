"""What of a feed's pages is the article: for an operator to say, or for the owner of a private feed.

Feeds and their articles are shared, so what one says here everybody reads.
"""

import asyncio
from collections.abc import Sequence

from reedbed.domain.accounts import User
from reedbed.domain.article_selectors import ArticleSelectors, tidy_selectors
from reedbed.domain.errors import Forbidden, Invalid, NotFound
from reedbed.domain.hints import Hint
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.ingest.article_selecting import check_selector
from reedbed.services.arrival import ARTICLES_JOB
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions import NO_SUCH
from reedbed.store import article_selectors, events, jobs, subscriptions

READ_ANEW = 20
"""Articles read anew at once when the selectors change; the others when somebody opens them."""
NOT_YOURS = "Others follow this feed as well: only an operator may change what its articles are made of."


@record
class FeedSelectors:
    selectors: ArticleSelectors
    may_change: bool
    newest: int | None = None
    """An entry to see the effect on."""


async def selectors_of(runtime: Runtime, user: User, subscription_id: int) -> FeedSelectors:
    async with runtime.db.read() as tx:
        one = await subscriptions.get(tx, user.id, subscription_id)
        if one is None:
            raise NotFound(NO_SUCH)
        return FeedSelectors(
            await article_selectors.of_feed(tx, one.feed.id),
            _may_change(user, one),
            await article_selectors.newest_entry(tx, one.feed.id),
        )


async def set_selectors(
    runtime: Runtime, user: User, subscription_id: int, *, keep: Sequence[str], drop: Sequence[str]
) -> FeedSelectors:
    """Checked one by one; what was read with others is read anew."""
    known = await selectors_of(runtime, user, subscription_id)
    if not known.may_change:
        raise Forbidden(NOT_YOURS)
    wanted = ArticleSelectors(tidy_selectors(keep, "keep"), tidy_selectors(drop, "drop"))
    await asyncio.to_thread(_check, wanted)
    if wanted != known.selectors:
        await _change(runtime, user, subscription_id, wanted)
    return await selectors_of(runtime, user, subscription_id)


async def _change(runtime: Runtime, user: User, subscription_id: int, wanted: ArticleSelectors) -> None:
    now = runtime.now()
    async with runtime.db.write() as tx:
        one = await subscriptions.get(tx, user.id, subscription_id)
        if one is None:
            raise NotFound(NO_SUCH)
        if one.feed.kind != "web":
            raise Invalid("The texts of this feed come by mail or by hand, not from pages.")
        await article_selectors.put(tx, one.feed.id, wanted, now)
        await events.note(tx, now, "selectors_changed", user.id, {"feed_id": one.feed.id})
        anew = await article_selectors.read_before(tx, one.feed.id, most=READ_ANEW)
        if anew:
            await jobs.add(tx, ARTICLES_JOB, {"entry_ids": list(anew)}, now=now)
    await runtime.bus.publish(Hint("wake", data={"for": "jobs"}))


def _check(selectors: ArticleSelectors) -> None:
    for chosen, field in ((selectors.keep, "keep"), (selectors.drop, "drop")):
        for one in chosen:
            check_selector(one, field)


def _may_change(user: User, one: Subscription) -> bool:
    return one.feed.kind == "web" and (user.operates or one.feed.private)
