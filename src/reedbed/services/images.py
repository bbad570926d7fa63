"""The image proxy for articles, and feed icons."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b

import structlog

from reedbed.domain.errors import NotFound, Unavailable
from reedbed.domain.images import MAIL_KEY, parse_small_key, picture_type, signed_path, small_key, verify_signed_path
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest
from reedbed.domain.times import DAY
from reedbed.domain.urls import host_of
from reedbed.domain.users import Allowance
from reedbed.ingest.images import draw_icon_sheet, find_icon, scale_down
from reedbed.ingest.sanitize.media import is_video_picture, route_images, route_mail_images, without_video_pictures
from reedbed.services.refresh.check import host_slot
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, spend
from reedbed.store import blobs

FETCHES = Allowance(200, 5)
"""Images not in the cache, for one network: enough for about three pages at once."""

_ACCEPT = "image/avif, image/webp, image/png, image/jpeg, image/gif;q=0.9, image/svg+xml;q=0.8, */*;q=0.1"
_NONE = "There is no such picture."
_BUSY = "Many pictures are being fetched. Try again in a moment."


@record
class ProxiedImage:
    media_type: str
    data: bytes


class Pictures:
    """Rewrites image URLs: to the original, or to one through this server's proxy."""

    def __init__(
        self, through: Callable[[str], str] | None, *, everything: bool, of_mails: Callable[[str], str] | None = None
    ) -> None:
        self._through = through
        self._everything = everything
        self._of_mails = of_mails

    def in_html(self, clean_html: str) -> str:
        if self._of_mails is not None:
            clean_html = route_mail_images(clean_html, self._of_mails)
        if self._through is None:
            return without_video_pictures(clean_html)
        return route_images(clean_html, self._through, everything=self._everything)

    def one(self, url: str | None) -> str | None:
        if url is not None and is_video_picture(url):
            return self.of_video(url) or None
        if url is None or self._through is None:
            return url
        return self._through(url) if self._everything or url.startswith("http:") else url

    def scaled(self, url: str, widths: Sequence[int]) -> tuple[tuple[str, int], ...]:
        """The URLs of this picture at these widths; empty if the proxy does not fetch it."""
        every = self._everything or is_video_picture(url)
        if self._through is None or not url.startswith(("http:", "https:") if every else "http:"):
            return ()
        return tuple((self._through(small_key(url, width)), width) for width in widths)

    def of_video(self, url: str) -> str:
        """The picture of a video, only ever through this server; empty where it hands on none."""
        return self._through(url) if self._through is not None else ""


def image_urls_for_page(runtime: Runtime) -> Pictures:
    if runtime.images.mode == "off":
        return Pictures(None, everything=False)
    return Pictures(partial(signed_path, runtime.secret), everything=runtime.images.mode == "all")


def proxied_images(runtime: Runtime) -> Pictures | None:
    """All through the proxy, for feeds that are not followed yet: the site learns nothing of the reader.

    None where the proxy is off.
    """
    if runtime.images.mode == "off":
        return None
    return Pictures(partial(signed_path, runtime.secret), everything=True)


def image_urls_for_apps(runtime: Runtime, base: str = "") -> Pictures:
    """Absolute URLs that need no login: an app has neither our page nor its cookie.

    `base` is the URL at which the app reached this server, if known.
    """
    base_url = base or runtime.accounts.base_url

    def through(url: str) -> str:
        return base_url + signed_path(runtime.secret, url)

    return Pictures(
        _unchanged if runtime.images.mode == "off" else through,
        everything=runtime.images.mode == "all",
        of_mails=lambda name: through(f"{MAIL_KEY}{name}"),
    )


def _unchanged(url: str) -> str:
    return url


async def open_image(runtime: Runtime, signature: str, encoded: str, ip: str | None) -> ProxiedImage:
    """The image of a signed path."""
    key = verify_signed_path(runtime.secret, signature, encoded)
    if key is not None and key.startswith(MAIL_KEY):
        return await _from_mail(runtime, key)
    if key is None or runtime.images.mode == "off":
        raise NotFound(_NONE)
    cache = runtime.images.cache
    data = await asyncio.to_thread(cache.get, key) if cache else None
    if data is None:
        await spend(runtime, f"images:{network_of(ip)}", FETCHES, _BUSY)
        url, width = parse_small_key(key)
        data = await _fetch(runtime, url)
        if width is not None:
            data = await asyncio.to_thread(scale_down, data, width)
        if cache is not None:
            await asyncio.to_thread(cache.put, key, data)
    return ProxiedImage(picture_type(data) or "application/octet-stream", data)


async def _from_mail(runtime: Runtime, key: str) -> ProxiedImage:
    async with runtime.db.read() as tx:
        image = await blobs.kept(tx, key)
    if image is None:
        raise NotFound(_NONE)
    return ProxiedImage(*image)


async def _fetch(runtime: Runtime, url: str) -> bytes:
    request = FetchRequest(url, accept=_ACCEPT, max_bytes=runtime.images.max_bytes)
    try:
        async with asyncio.timeout(runtime.images.timeout):
            response = await runtime.fetcher.fetch(request)
    except TimeoutError:
        raise Unavailable("The site did not send the picture in time.") from None
    if not isinstance(response, Fetched) or picture_type(response.body) is None:
        raise NotFound(_NONE)
    return response.body


# --- Feed icons

log = structlog.get_logger()

_PNG = "image/png"


MAX_SHEET = 600
"""Limit of icons in a style sheet, newest first; a feed beyond it shows its letter."""
ICON_RETRY_AFTER, MAX_ICON_PAUSE = DAY, 30 * DAY
"""A site without an icon is tried again after a day, then after pauses that double, at most this long."""
MAX_ICON_RETRIES = 5_000
"""Feeds a day; those that have waited longest go first."""


async def fetch_missing_icons(runtime: Runtime, *, limit: int) -> int:
    """Fetch the icons of up to `limit` feeds not tried yet, one after the other; return how many feeds."""
    async with runtime.db.read() as tx:
        feeds = await blobs.feeds_without_icon(tx, limit)
    sites: dict[str, int | None] = {}
    for feed_id, site_url, icon_url in feeds:
        icon_id = await _feed_icon(runtime, icon_url) if icon_url else None
        if icon_id is None and (origin := _origin(site_url or "")) is not None:
            if origin not in sites:
                sites[origin] = await _site_icon(runtime, origin)
            icon_id = sites[origin]
        await _save_icon(runtime, feed_id, icon_id)
    return len(feeds)


async def retry_failed_icons(runtime: Runtime) -> int:
    """Chore: let the icons be looked for again that were not found, because a site may have been down."""
    async with runtime.db.read() as tx:
        feed_ids = await blobs.icons_to_retry(
            tx, runtime.now(), shortest=ICON_RETRY_AFTER, longest=MAX_ICON_PAUSE, limit=MAX_ICON_RETRIES
        )
    if feed_ids:
        async with runtime.db.write() as tx:
            await blobs.retry_icons(tx, feed_ids)
    return len(feed_ids)


async def icon_style_sheet(runtime: Runtime, user_id: int) -> str:
    """The icons of the user's feeds as one style sheet, so that a page with many feeds asks once."""
    async with runtime.db.read() as tx:
        icons = await blobs.icons_of(tx, user_id)
    return await asyncio.to_thread(_style_sheet, [(icon_id, png) for icon_id, _, png in icons[-MAX_SHEET:]])


def _style_sheet(icons: Sequence[tuple[int, bytes]]) -> str:
    """A damaged icon is left out: its feed keeps its letter."""
    sheet = draw_icon_sheet([png for _, png in icons])
    placed = [(icon_id, place) for (icon_id, _), place in zip(icons, sheet.places, strict=True) if place is not None]
    if not placed:
        return ""
    names = ",".join(f'[data-icon="{icon_id}"]' for icon_id, _ in placed)
    url = f"data:image/webp;base64,{b64encode(sheet.webp).decode()}"
    width, height = sheet.scale
    rules = [f".fav:is({names}){{font-size:0;background:url({url}) 0 0/{width:.3%} {height:.3%} no-repeat}}"]
    for icon_id, (column, row) in placed:
        x, y = sheet.offset(column, sheet.columns), sheet.offset(row, sheet.rows)
        rules.append(f'.fav[data-icon="{icon_id}"]{{background-position:{x:.3%} {y:.3%}}}')
    return "\n".join(rules)


async def _feed_icon(runtime: Runtime, icon_url: str) -> int | None:
    async with runtime.db.read() as tx:
        icon_id = await blobs.named_icon(tx, icon_url)
        failed = icon_id is None and await blobs.has_failed(tx, icon_url, runtime.now() - ICON_RETRY_AFTER)
    return icon_id if icon_id is not None or failed else await _fetch_icon(runtime, None, icon_url)


async def _site_icon(runtime: Runtime, origin: str) -> int | None:
    """The icon of the front page, shared by all feeds of the site."""
    async with runtime.db.read() as tx:
        cached = await blobs.site_icon(tx, origin, runtime.now() - ICON_RETRY_AFTER)
    return cached[0] if cached is not None else await _fetch_icon(runtime, f"{origin}/", None)


async def _fetch_icon(runtime: Runtime, site_url: str | None, icon_url: str | None) -> int | None:
    async with host_slot(runtime, host_of(icon_url or site_url or "") or ""):
        icon = await find_icon(runtime.fetcher, site_url, icon_url)
    if icon is None:
        return None
    digest = blake2b(icon.png, digest_size=16).hexdigest()
    async with runtime.db.write() as tx:
        return await blobs.keep(tx, digest, _PNG, icon.png, runtime.now())


async def _save_icon(runtime: Runtime, feed_id: int, icon_id: int | None) -> None:
    """A feed is tried again after `retry_failed_icons`, or a move to a new URL (`store/feeds/moves.py`)."""
    async with runtime.db.write() as tx:
        await blobs.set_icon(tx, feed_id, icon_id, runtime.now())
    log.debug("icon looked for", feed=feed_id, found=icon_id is not None)
    if icon_id is not None:
        await runtime.bus.publish(ChangeEvent("subscriptions", feed_id=feed_id))


def _origin(site_url: str) -> str | None:
    scheme, colon, rest = site_url.partition("://")
    return f"{scheme}{colon}{rest.partition('/')[0]}" if host_of(site_url) else None
