"""Feed icons: looked for once a feed is known, kept as small pictures in the database."""

from hashlib import blake2b

import structlog

from reedbed.domain.hints import Hint
from reedbed.domain.urls import host_of
from reedbed.ingest.icons import find_icon
from reedbed.services.runtime import Runtime
from reedbed.store import blobs

log = structlog.get_logger()

_PNG = "image/png"


async def fetch_missing_icons(runtime: Runtime, *, most: int) -> int:
    """Look for the icons of a few feeds that were never looked at, one after the other; how many."""
    async with runtime.db.read() as tx:
        waiting = await blobs.feeds_without_icon(tx, most)
    for feed_id, site_url, icon_url in waiting:
        await fetch_icon(runtime, feed_id, site_url, icon_url)
    return len(waiting)


async def fetch_icon(runtime: Runtime, feed_id: int, site_url: str | None, icon_url: str | None) -> bool:
    """Whether there is one now. A feed without is not asked again until someone asks for it."""
    host = host_of(icon_url or site_url or "")
    if host:
        await runtime.pacer.reserve(host, runtime.fetching.host_delay)
    icon = await find_icon(runtime.fetcher, site_url, icon_url)
    now = runtime.now()
    async with runtime.db.write() as tx:
        blob_id = None
        if icon is not None:
            digest = blake2b(icon.png, digest_size=16).hexdigest()
            blob_id = await blobs.keep(tx, digest, _PNG, icon.png, now)
        await blobs.set_icon(tx, feed_id, blob_id, now)
    log.debug("icon looked for", feed=feed_id, found=icon is not None)
    if icon is not None:
        await runtime.bus.publish(Hint("subscriptions", feed_id=feed_id))
    return icon is not None
