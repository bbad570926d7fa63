"""Documents for the deframer's door: built after each change, in the transaction of the change."""

import hashlib
from collections.abc import Collection
from urllib.parse import quote

from reedbed.domain.framing_items import FramedFeed, FramedItem, rss
from reedbed.domain.times import SECOND, Instant
from reedbed.services.runtime import Runtime
from reedbed.store import framed_documents, framing
from reedbed.store.database import Tx
from reedbed.store.framed_documents import Document

MOST_WINDOWS = 20
"""How far back a feed is searched for items that may be shown, in pages."""


async def build_documents(tx: Tx, runtime: Runtime, feed_ids: Collection[int], now: Instant) -> None:
    """A document that says the same as before keeps its date."""
    # Two workers that finish items of one feed at once build one after the other, each with both items.
    for feed_id in await framing.lock(tx, sorted(feed_ids)):
        await _build(tx, runtime, feed_id, now)


async def shown_items(
    tx: Tx, feed: FramedFeed, *, most: int, max_score: int | None = None
) -> list[FramedItem]:
    """The newest that may be shown: whatever keeps one out is asked before they are counted."""
    shown: list[FramedItem] = []
    last: FramedItem | None = None
    for _ in range(MOST_WINDOWS):
        found = await framed_documents.newest(tx, feed.id, most=most, max_score=max_score, after=last)
        shown += [item for item in found if item.is_shown_in(feed)]
        if len(shown) >= most or len(found) < most:
            break
        last = found[-1]
    return shown[:most]


def door_url(runtime: Runtime, feed: FramedFeed, max_score: float | None = None) -> str:
    limit = f"&max_score={max_score:g}" if max_score else ""
    return f"{runtime.accounts.base_url}/rss?url={quote(feed.url, safe='')}{limit}"


async def _build(tx: Tx, runtime: Runtime, feed_id: int, now: Instant) -> None:
    feed = await framed_documents.served_feed(tx, feed_id)
    if feed is None:
        return
    items = await shown_items(tx, feed, most=runtime.framing.items)
    self_url = door_url(runtime, feed)
    digest = hashlib.sha256(rss(feed, items, self_url=self_url, built_at=0).encode()).hexdigest()[:32]
    before = await framed_documents.hash_of(tx, feed_id)
    if digest == before or (before is None and not items):
        return
    built_at = now // SECOND * SECOND
    content = rss(feed, items, self_url=self_url, built_at=built_at).encode()
    await framed_documents.put(tx, feed_id, Document(content, digest, len(items), built_at))
