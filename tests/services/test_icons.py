"""Icons: found through the site, made small, stored once."""

import io

from PIL import Image

from reedbed.services.icons import fetch_missing_icons
from reedbed.store import blobs
from tests.crawling import Crawl
from tests.feedsite import FeedSite


async def test_two_feeds_of_a_site_share_its_icon(site: FeedSite, crawl: Crawl) -> None:
    site.put("/favicon.ico", _picture(), content_type="image/png")
    for name in ("a", "b"):
        site.publish("One", feed=name)
        await crawl.follow(site.feed_url(name))
    await crawl.check()

    assert await fetch_missing_icons(crawl.runtime, most=10) == 2
    assert await fetch_missing_icons(crawl.runtime, most=10) == 0

    first, second = await crawl.column("SELECT icon_id FROM feeds")
    assert first == second
    async with crawl.runtime.db.read() as tx:
        kept = await blobs.read(tx, first)
    assert kept is not None
    assert kept[0] == "image/png"
    assert Image.open(io.BytesIO(kept[1])).size == (64, 64)


async def test_a_feed_without_icon_is_asked_once(site: FeedSite, crawl: Crawl) -> None:
    site.publish("One")
    await crawl.follow(site.feed_url())
    await crawl.check()

    assert await fetch_missing_icons(crawl.runtime, most=10) == 1
    assert await fetch_missing_icons(crawl.runtime, most=10) == 0
    assert await crawl.column("SELECT icon_id FROM feeds") == [None]


def _picture() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (100, 80), "green").save(written, "PNG")
    return written.getvalue()
