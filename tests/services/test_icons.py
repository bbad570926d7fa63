"""Icons: found through the site, made small, stored once."""

import asyncio
import io
import re
from base64 import b64decode
from dataclasses import replace

from PIL import Image

from reedbed.domain.times import DAY
from reedbed.ingest.images import draw_icon_sheet, make_icon
from reedbed.services.images import fetch_missing_icons, icon_style_sheet, retry_failed_icons
from reedbed.services.refresh.check import host_slot
from reedbed.store import blobs
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def test_two_feeds_of_a_site_share_its_icon(site: FeedSite, harness: RuntimeHarness) -> None:
    site.put("/favicon.ico", _picture(), content_type="image/png")
    for name in ("a", "b"):
        site.publish("One", feed=name)
        await harness.follow(site.feed_url(name))
    await harness.check()

    assert await fetch_missing_icons(harness.runtime, limit=10) == 2
    assert await fetch_missing_icons(harness.runtime, limit=10) == 0

    first, second = await harness.column("SELECT icon_id FROM feeds")
    assert first == second
    assert (len(site.seen_at("/")), len(site.seen_at("/favicon.ico"))) == (1, 1)

    site.publish("One", feed="later")
    await harness.follow(site.feed_url("later"))
    await harness.check()
    assert await fetch_missing_icons(harness.runtime, limit=10) == 1
    assert await harness.column("SELECT DISTINCT icon_id FROM feeds") == [first]
    assert (len(site.seen_at("/")), len(site.seen_at("/favicon.ico"))) == (1, 1)
    async with harness.runtime.db.read() as tx:
        kept = await blobs.read(tx, first)
    assert kept is not None
    assert kept[0] == "image/png"
    assert Image.open(io.BytesIO(kept[1])).size == (64, 64)


async def test_an_icon_waits_for_its_turn_at_the_host(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    await harness.follow(site.feed_url())
    await harness.check()
    fetching = replace(harness.runtime.fetching, host_delay=5, host_concurrency=1)
    runtime = replace(harness.runtime, fetching=fetching)

    async with host_slot(runtime, "127.0.0.1"):
        looking = asyncio.create_task(fetch_missing_icons(runtime, limit=10))
        await asyncio.wait([looking], timeout=0.3)
        assert site.seen_at("/favicon.ico") == []
    assert await looking == 1
    assert len(site.seen_at("/favicon.ico")) == 1


async def test_a_feed_without_icon_is_asked_once(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    await harness.follow(site.feed_url())
    await harness.check()

    assert await fetch_missing_icons(harness.runtime, limit=10) == 1
    assert await fetch_missing_icons(harness.runtime, limit=10) == 0
    assert await harness.column("SELECT icon_id FROM feeds") == [None]


async def test_a_site_without_an_icon_is_asked_again_a_day_later(site: FeedSite, harness: RuntimeHarness) -> None:
    for name, later in (("a", 0), ("b", 0), ("c", 2 * DAY)):
        site.publish("One", feed=name)
        await harness.follow(site.feed_url(name))
        await harness.check(at_least=later)
        await fetch_missing_icons(harness.runtime, limit=10)
    assert len(site.seen_at("/favicon.ico")) == 2


async def test_a_site_that_was_down_gets_its_icon_later(site: FeedSite, harness: RuntimeHarness) -> None:
    for name in ("a", "b"):
        site.publish("One", feed=name)
        await harness.follow(site.feed_url(name))
    await harness.check()
    await fetch_missing_icons(harness.runtime, limit=10)
    assert await retry_failed_icons(harness.runtime) == 0

    asked_on: list[int] = []
    for day in range(1, 20):
        harness.clock.ahead += DAY
        if await retry_failed_icons(harness.runtime):
            assert await fetch_missing_icons(harness.runtime, limit=10) == 2
            asked_on.append(day)
    assert asked_on == [1, 3, 7, 15]
    assert len(site.seen_at("/favicon.ico")) == 1 + len(asked_on)

    site.put("/favicon.ico", _picture(), content_type="image/png")
    harness.clock.ahead += 30 * DAY
    assert await retry_failed_icons(harness.runtime) == 2
    await fetch_missing_icons(harness.runtime, limit=10)
    first, second = await harness.column("SELECT icon_id FROM feeds")
    assert first == second is not None
    harness.clock.ahead += 60 * DAY
    assert await retry_failed_icons(harness.runtime) == 0


async def test_an_icon_that_several_feeds_name_is_fetched_once(site: FeedSite, harness: RuntimeHarness) -> None:
    named = site.put("/logo.png", _picture(), content_type="image/png")
    for name in ("a", "b"):
        site.publish("One", feed=name)
        await harness.follow(site.feed_url(name))
    await harness.check()
    await harness.change("UPDATE feeds SET icon_url = :url", url=named)
    await fetch_missing_icons(harness.runtime, limit=10)
    first, second = await harness.column("SELECT icon_id FROM feeds")
    assert first == second is not None
    assert (len(site.seen_at("/logo.png")), len(site.seen_at("/favicon.ico"))) == (1, 0)


async def test_an_icon_that_fails_is_asked_for_once_for_all_feeds_that_name_it(
    site: FeedSite, harness: RuntimeHarness
) -> None:
    for name in ("a", "b", "c"):
        site.publish("One", feed=name)
        await harness.follow(site.feed_url(name))
        await harness.check()
        await harness.change("UPDATE feeds SET icon_url = :url", url=f"{site.url}/nope.png")
        await fetch_missing_icons(harness.runtime, limit=10)
    assert [len(site.seen_at(path)) for path in ("/nope.png", "/", "/favicon.ico")] == [1, 1, 1]


def _picture() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (100, 80), "green").save(written, "PNG")
    return written.getvalue()


async def test_the_icons_of_all_feeds_are_one_style_sheet(site: FeedSite, harness: RuntimeHarness) -> None:
    site.put("/favicon.ico", _picture(), content_type="image/png")
    site.publish("One", feed="a")
    await harness.follow(site.feed_url("a"))
    await harness.check()
    user_id = (await harness.column("SELECT user_id FROM subscriptions"))[0]
    assert await icon_style_sheet(harness.runtime, user_id) == ""

    await fetch_missing_icons(harness.runtime, limit=10)

    icon_id = (await harness.column("SELECT icon_id FROM feeds"))[0]
    sheet = await icon_style_sheet(harness.runtime, user_id)
    picture, place = sheet.split("\n")
    shown = re.fullmatch(
        rf'\.fav:is\(\[data-icon="{icon_id}"\]\){{font-size:0;background:url\(data:image/webp;base64,(\S+)\)'
        r" 0 0/106\.667% 106\.667% no-repeat}",
        picture,
    )
    assert shown is not None
    with Image.open(io.BytesIO(b64decode(shown[1]))) as drawn:
        assert drawn.size == (32, 32)
    assert place == f'.fav[data-icon="{icon_id}"]{{background-position:50.000% 50.000%}}'
    assert await icon_style_sheet(harness.runtime, user_id + 1) == ""


def test_a_small_icon_is_shown_as_large_as_the_others() -> None:
    """It stands in the middle of the stored square, with nothing around it."""
    written = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(written, "PNG")
    small = make_icon(written.getvalue())
    assert small is not None
    sheet = draw_icon_sheet([small.png, b"damaged", small.png])
    assert sheet.places == ((0, 0), None, (1, 0))
    with Image.open(io.BytesIO(sheet.webp)) as drawn:
        assert drawn.size == (64, 32)
        assert drawn.convert("RGBA").getextrema()[3] == (255, 255)
