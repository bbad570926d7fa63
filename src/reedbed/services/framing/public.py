"""The public, read-only deframer endpoints: a feed's RSS document, one item, the front page of a site."""

import hashlib
from collections.abc import Collection
from urllib.parse import quote

from reedbed.domain.errors import Forbidden, NotFound
from reedbed.domain.framing import FramedFeed, FramedItem, check_root_domain, fair, rss, url_hash
from reedbed.domain.records import record
from reedbed.domain.times import SECOND, Instant
from reedbed.domain.urls import check_feed_url, normalize_url
from reedbed.services.runtime import Runtime
from reedbed.store.engine.database import Tx
from reedbed.store.framing import documents as framed_documents
from reedbed.store.framing import settings as framing
from reedbed.store.framing.analyses import thousandths
from reedbed.store.framing.documents import Document

MAX_WINDOWS = 20
"""How many pages of a feed are searched for items that may be shown."""


# --- Building documents


async def build_documents(tx: Tx, runtime: Runtime, feed_ids: Collection[int], now: Instant) -> None:
    """Rebuild the stored documents of these feeds. An unchanged document keeps its date."""
    # The lock makes concurrent workers build one after the other, so that the last document has all items.
    for feed_id in await framing.lock(tx, sorted(feed_ids)):
        await _build_document(tx, runtime, feed_id, now)


async def shown_items(tx: Tx, feed: FramedFeed, *, limit: int, max_score: int | None = None) -> list[FramedItem]:
    """The newest items that may be shown. Hidden items are filtered out before counting."""
    visible: list[FramedItem] = []
    last: FramedItem | None = None
    for _ in range(MAX_WINDOWS):
        page = await framed_documents.newest(tx, feed.id, limit=limit, max_score=max_score, after=last)
        visible += [item for item in page if item.is_shown_in(feed)]
        if len(visible) >= limit or len(page) < limit:
            break
        last = page[-1]
    return visible[:limit]


def deframed_feed_url(runtime: Runtime, feed: FramedFeed, max_score: float | None = None) -> str:
    limit = f"&max_score={max_score:g}" if max_score else ""
    return f"{runtime.accounts.base_url}/rss?url={quote(feed.url, safe='')}{limit}"


async def _build_document(tx: Tx, runtime: Runtime, feed_id: int, now: Instant) -> None:
    feed = await framed_documents.served_feed(tx, feed_id)
    if feed is None:
        return
    items = await shown_items(tx, feed, limit=runtime.framing.items)
    self_url = deframed_feed_url(runtime, feed)
    digest = hashlib.sha256(rss(feed, items, self_url=self_url, built_at=0)).hexdigest()[:32]
    before = await framed_documents.hash_of(tx, feed_id)
    if digest == before or (before is None and not items):
        return
    built_at = now // SECOND * SECOND
    content = rss(feed, items, self_url=self_url, built_at=built_at)
    await framed_documents.put(tx, feed_id, Document(content, digest, len(items), built_at))


# --- Endpoints

UNKNOWN_FEED = "This feed is not deframed here."
DISABLED = "The operator has disabled this feed."
NOT_BUILT = "Nothing of this feed has been deframed yet."
UNKNOWN_ITEM = "This article has not been deframed here."
TOO_LOUD = "This article is above the score asked for."
UNKNOWN_SITE = "No feed of this site is deframed here."


@record
class ServedDocument:
    content: bytes
    tag: str
    built_at: Instant
    is_whole: bool
    """Not filtered by score, so its date alone shows whether it has changed."""


async def read_document(runtime: Runtime, url: str, max_score: float | None = None) -> ServedDocument:
    feed_url = check_feed_url(url)
    async with runtime.db.read() as tx:
        served = await framed_documents.get_public(tx, feed_url)
        if served is None:
            raise NotFound(UNKNOWN_FEED)
        if not served.enabled:
            raise Forbidden(DISABLED)
        document = served.document
        if document is None or not document.items:
            raise NotFound(NOT_BUILT)
        if not max_score:
            return ServedDocument(document.content, document.content_hash, document.built_at, is_whole=True)
        content = await _filtered_document(tx, runtime, served.feed_id, max_score, document.built_at)
    return ServedDocument(content, hashlib.sha256(content).hexdigest()[:32], document.built_at, is_whole=False)


async def read_item(runtime: Runtime, url: str, max_score: float | None = None) -> tuple[FramedFeed, FramedItem]:
    digest = url_hash(normalize_url(check_feed_url(url)))
    if digest is None:
        raise NotFound(UNKNOWN_ITEM)
    async with runtime.db.read() as tx:
        matches = [
            (feed, item)
            for item in await framed_documents.items_by_url_hash(tx, digest)
            if (feed := await framed_documents.served_feed(tx, item.feed_id)) and item.is_shown_in(feed)
        ]
    if not matches:
        raise NotFound(UNKNOWN_ITEM)
    below_limit = [pair for pair in matches if not max_score or pair[1].analysis.overall.value <= max_score]
    if not below_limit:
        raise NotFound(TOO_LOUD)
    return below_limit[0]


async def read_site(runtime: Runtime, root: str, max_score: float | None = None) -> list[tuple[FramedFeed, FramedItem]]:
    """The newest items of all feeds of a site, alternating between feeds, without duplicate URLs."""
    domain, limit = check_root_domain(root, field="root"), runtime.framing.items
    max_thousandths = thousandths(max_score) if max_score else None
    queues: list[list[tuple[str, tuple[FramedFeed, FramedItem]]]] = []
    async with runtime.db.read() as tx:
        feed_ids = await framing.served_feeds_of(tx, domain)
        if not feed_ids:
            raise NotFound(UNKNOWN_SITE)
        for feed_id in feed_ids:
            feed = await framed_documents.served_feed(tx, feed_id)
            if feed is not None:
                items = await shown_items(tx, feed, limit=limit, max_score=max_thousandths)
                queues.append([(item.normalized_url or f"#{item.id}", (feed, item)) for item in items])
    queues.sort(key=lambda queue: -queue[0][1][1].sort_at if queue else 0)
    return fair(queues, limit)


async def _filtered_document(tx: Tx, runtime: Runtime, feed_id: int, max_score: float, built_at: Instant) -> bytes:
    feed = await framed_documents.served_feed(tx, feed_id)
    if feed is None:
        raise NotFound(UNKNOWN_FEED)
    items = await shown_items(tx, feed, limit=runtime.framing.items, max_score=thousandths(max_score))
    return rss(feed, items, self_url=deframed_feed_url(runtime, feed, max_score), built_at=built_at)
