"""Feed icons: looked for once a feed is known, kept as small pictures in the database."""

from hashlib import blake2b

import structlog

from reedbed.domain.hints import Hint
from reedbed.domain.times import DAY
from reedbed.domain.urls import host_of
from reedbed.ingest.icons import find_icon
from reedbed.services.crawl import turn_at
from reedbed.services.runtime import Runtime
from reedbed.store import blobs

log = structlog.get_logger()

_PNG = "image/png"


SITE_ASKED_AGAIN = DAY
"""After this, a site that had no icon is asked again for the next feed of it."""


async def fetch_missing_icons(runtime: Runtime, *, most: int) -> int:
    """Look for the icons of a few feeds that were never looked at, one after the other; how many."""
    async with runtime.db.read() as tx:
        waiting = await blobs.feeds_without_icon(tx, most)
    sites: dict[str, int | None] = {}
    for feed_id, site_url, icon_url in waiting:
        icon_id = await _own_icon(runtime, icon_url) if icon_url else None
        if icon_id is None and (origin := _origin(site_url or "")) is not None:
            if origin not in sites:
                sites[origin] = await _site_icon(runtime, origin)
            icon_id = sites[origin]
        await _give_icon(runtime, feed_id, icon_id)
    return len(waiting)


async def _own_icon(runtime: Runtime, icon_url: str) -> int | None:
    async with runtime.db.read() as tx:
        known = await blobs.named_icon(tx, icon_url)
    return known if known is not None else await _fetch(runtime, None, icon_url)


async def _site_icon(runtime: Runtime, origin: str) -> int | None:
    """Looked for on the front page, once for all feeds of the site."""
    async with runtime.db.read() as tx:
        known = await blobs.site_icon(tx, origin, runtime.now() - SITE_ASKED_AGAIN)
    return known[0] if known is not None else await _fetch(runtime, f"{origin}/", None)


async def _fetch(runtime: Runtime, site_url: str | None, icon_url: str | None) -> int | None:
    async with turn_at(runtime, host_of(icon_url or site_url or "") or ""):
        icon = await find_icon(runtime.fetcher, site_url, icon_url)
    if icon is None:
        return None
    digest = blake2b(icon.png, digest_size=16).hexdigest()
    async with runtime.db.write() as tx:
        return await blobs.keep(tx, digest, _PNG, icon.png, runtime.now())


async def _give_icon(runtime: Runtime, feed_id: int, icon_id: int | None) -> None:
    """A feed without one is not asked again until someone asks for it."""
    async with runtime.db.write() as tx:
        await blobs.set_icon(tx, feed_id, icon_id, runtime.now())
    log.debug("icon looked for", feed=feed_id, found=icon_id is not None)
    if icon_id is not None:
        await runtime.bus.publish(Hint("subscriptions", feed_id=feed_id))


def _origin(site_url: str) -> str | None:
    scheme, colon, rest = site_url.partition("://")
    return f"{scheme}{colon}{rest.partition('/')[0]}" if host_of(site_url) else None
