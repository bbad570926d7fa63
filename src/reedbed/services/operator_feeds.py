"""The operator's hand on feeds: added to be deframed, enabled, polled, run now, grouped by root domain.

`enabled` is the gate of doors and workers, `polling` arms the next run after a good one; neither starts one.
"""

from collections.abc import Sequence

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.framing import FeedFraming
from reedbed.domain.urls import is_private_address, root_domain
from reedbed.ingest.typed_address import typed_address
from reedbed.services.feed_settings import FeedSettings, change_settings
from reedbed.services.framed_documents import build_documents
from reedbed.services.framing_jobs import ask_feed_later
from reedbed.services.refresh import wake_worker
from reedbed.services.runtime import Runtime
from reedbed.store import feeds, framed_documents, framing, operator_feeds
from reedbed.store.database import Tx
from reedbed.store.operator_feeds import OperatorFeed

NO_SUCH_FEED = "There is no such feed."
ALREADY_ADDED = "This feed has been added already."
IS_DELETED = "This feed is deleted. Add it again first."
IS_DISABLED = "This feed is disabled. Enable it first."
LONGEST_NUMBER = 16
IS_PRIVATE = "This address holds a secret, so its feed belongs to one reader and is never shown to others."


async def list_feeds(runtime: Runtime) -> Sequence[OperatorFeed]:
    async with runtime.db.read() as tx:
        return await operator_feeds.every(tx, runtime.now())


async def add_feed(
    runtime: Runtime, url: str, settings: FeedSettings | None = None, *, with_root_domain: bool = True
) -> OperatorFeed:
    """A new feed is neither enabled nor polled; one that people follow already stays as it is for them."""
    address = typed_address(url)
    if is_private_address(address):
        raise Invalid(IS_PRIVATE, field="url")
    now = runtime.now()
    async with runtime.db.write() as tx:
        known = await operator_feeds.by_url(tx, address, now)
        if known is not None and known.operator_added and not known.deleted:
            raise Conflict(ALREADY_ADDED, field="url")
        feed_id, _ = await feeds.find_or_add(tx, address, now, by_operator=True)
        if known is not None and known.deleted:
            await operator_feeds.revive(tx, feed_id, on=False)
        await operator_feeds.set_operator_added(tx, feed_id, added=True)
        root = root_domain(address) if with_root_domain else None
        await framing.put(tx, feed_id, FeedFraming(deframe=True, root_domain=root))
        if settings is not None:
            await change_settings(tx, runtime, await _now(tx, runtime, feed_id), settings)
        return await _now(tx, runtime, feed_id)


async def delete_feed(runtime: Runtime, named: str) -> OperatorFeed:
    """Softly: its address may be added or followed again. Those who follow it go on reading it."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        await framing.drop(tx, feed.id)
        await framed_documents.drop(tx, feed.id)
        await operator_feeds.set_operator_added(tx, feed.id, added=False)
        if not feed.followers:
            await operator_feeds.delete(tx, feed.id, runtime.now())
        return await _now(tx, runtime, feed.id)


async def enable_feed(runtime: Runtime, named: str) -> OperatorFeed:
    """The doors serve it and workers may take it, when it is scheduled; this alone schedules nothing."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        await operator_feeds.set_enabled(tx, feed.id, enabled=True)
        await operator_feeds.resume(tx, feed.id, runtime.now())
        await build_documents(tx, runtime, [feed.id], runtime.now())
        await ask_feed_later(tx, feed.id, runtime.now())
        changed = await _now(tx, runtime, feed.id)
    await wake_worker(runtime)
    return changed


async def disable_feed(runtime: Runtime, named: str) -> OperatorFeed:
    """The doors are shut at once and no worker takes it, whatever the schedule says."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        await operator_feeds.set_enabled(tx, feed.id, enabled=False)
        return await _now(tx, runtime, feed.id)


async def sync_feed(runtime: Runtime, named: str) -> OperatorFeed:
    """Run now: last error, lease and stop are cleared. A feed that is not polled runs this once."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        if not feed.enabled:
            raise Conflict(IS_DISABLED)
        await operator_feeds.run_now(tx, feed.id, runtime.now())
        await ask_feed_later(tx, feed.id, runtime.now())
        changed = await _now(tx, runtime, feed.id)
    await wake_worker(runtime)
    return changed


async def change_feed(runtime: Runtime, named: str, settings: FeedSettings) -> OperatorFeed:
    """Another way of fetching is tried at once: the feed is due, its document is read anew, a stop ends."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        due = await change_settings(tx, runtime, feed, settings)
        changed = await _now(tx, runtime, feed.id)
    if due:
        await wake_worker(runtime)
    return changed


async def list_root_domains(runtime: Runtime) -> Sequence[tuple[str, int]]:
    """Each with its number of feeds."""
    async with runtime.db.read() as tx:
        return await framing.root_domains(tx)


async def find_feed(runtime: Runtime, named: str) -> OperatorFeed:
    async with runtime.db.read() as tx:
        feed = await _look_up(tx, runtime, named)
    if feed is None or feed.deleted:
        raise NotFound(NO_SUCH_FEED)
    return feed


async def _look_up(tx: Tx, runtime: Runtime, named: str) -> OperatorFeed | None:
    """By its number or its address."""
    now, word = runtime.now(), named.strip()
    if word.isascii() and word.isdigit() and len(word) <= LONGEST_NUMBER:
        return await operator_feeds.by_id(tx, int(word), now)
    return await operator_feeds.by_url(tx, typed_address(word), now)


async def _find(tx: Tx, runtime: Runtime, named: str) -> OperatorFeed:
    feed = await _look_up(tx, runtime, named)
    if feed is None:
        raise NotFound(NO_SUCH_FEED)
    if feed.deleted:
        raise Conflict(IS_DELETED)
    return feed


async def _now(tx: Tx, runtime: Runtime, feed_id: int) -> OperatorFeed:
    feed = await operator_feeds.by_id(tx, feed_id, runtime.now())
    assert feed is not None
    return feed
