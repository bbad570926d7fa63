"""Pages that are watched for changes of their text."""

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.page_feeds import PageRecipe, PageSelectors
from reedbed.domain.times import DAY
from reedbed.services.page_feeds import follow_page, page_feed, preview_page
from reedbed.services.transfer.opml import export_opml, import_opml
from reedbed.store import subscriptions
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

WHOLE = PageRecipe("watch")
PRICE = PageRecipe("watch", PageSelectors("#price"))


def put(site: FeedSite, price: str = "12 €", rest: str = "Open on Monday") -> str:
    body = f"<h1>Boats</h1><table id=price><tr><td>Berth<td>{price}<tr><td>Slip<td>4 €</table><p>{rest}</p>"
    return site.page("/boats", feeds=(), body=body)


async def contents(harness: RuntimeHarness) -> list[str]:
    return await harness.column("SELECT content FROM entry_bodies ORDER BY entry_id")


async def test_a_change_of_the_element_is_an_entry_with_the_difference(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    made = await follow_page(harness.runtime, user, put(site), PRICE)
    assert made.feed.private
    put(site, rest="Open on Tuesday")
    await harness.check(at_least=DAY)
    assert await harness.column("SELECT title FROM entries") == []
    for price in ("14 € <script>x</script>", "12 €"):
        put(site, price)
        await harness.check(at_least=DAY)
    assert await harness.column("SELECT title FROM entries ORDER BY id") == ["Berth 14 €", "Berth 12 €"]
    assert await harness.column("SELECT published_at FROM entries") == [None, None]
    first, _ = await contents(harness)
    assert "<del>Berth 12 €</del>" in first and "<ins>Berth 14 €</ins>" in first
    assert "Slip" not in first and "script" not in first
    async with harness.runtime.db.read() as tx:
        found = await subscriptions.get(tx, user, made.id)
    assert found is not None and found.unread == 2


async def test_the_whole_page_is_watched_and_a_lost_entry_is_written_by_the_next_check(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    await follow_page(harness.runtime, await harness.person(), put(site), WHOLE)
    put(site, rest="Closed")
    await harness.check(at_least=DAY)
    assert await harness.column("SELECT title FROM entries") == ["Closed"]
    await harness.change("DELETE FROM entries")
    site.page("/boats", feeds=(), body=put_again())
    await harness.check(at_least=DAY)
    assert await harness.column("SELECT title FROM entries") == ["Closed"]


def put_again() -> str:
    """The same text at another place."""
    return "<p>Closed</p><h1>Boats</h1><table><tr><td>Slip<td>4 €<tr><td>Berth<td>12 €</table>"


async def test_an_element_that_is_not_there_is_refused_and_later_a_failure(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    user = await harness.person()
    address = put(site)
    for selector in ("#prices", "//table[@id='x']"):
        recipe = PageRecipe("watch", PageSelectors(selector))
        with pytest.raises(Invalid, match="No element with text fits the selector"):
            await follow_page(harness.runtime, user, address, recipe)
    with pytest.raises(Invalid, match="neither a CSS selector nor XPath"):
        await follow_page(harness.runtime, user, address, PageRecipe("watch", PageSelectors("td[")))
    assert await harness.column("SELECT id FROM feeds") == []
    made = await follow_page(harness.runtime, user, address, PRICE)
    site.page("/boats", feeds=(), body="<h1>Boats</h1>")
    await harness.check(at_least=DAY)
    async with harness.runtime.db.read() as tx:
        found = await subscriptions.get(tx, user, made.id)
    assert found is not None and found.feed.state.status == "permanent_error"


async def test_a_wall_in_front_of_the_page_is_not_watched(harness: RuntimeHarness, site: FeedSite) -> None:
    wall = "<h1>Cookies</h1><p>We and our partners use cookies for your privacy. Consent?</p>"
    preview = await preview_page(harness.runtime, site.page("/w", feeds=(), body=wall), WHOLE)
    assert preview.reason is not None
    assert await harness.column("SELECT id FROM feeds") == []


async def test_an_xpath_is_watched_in_a_process_of_its_own(harness: RuntimeHarness, site: FeedSite) -> None:
    recipe = PageRecipe("watch", PageSelectors("//table/tbody/tr[2] | //table/tr[2]"))
    preview = await preview_page(harness.runtime, put(site), recipe)
    assert preview.watched is not None and preview.watched.passages == ("Slip 4 €",)


async def test_opml_carries_a_long_recipe(harness: RuntimeHarness, site: FeedSite) -> None:
    ann, ben = await harness.person(), await harness.person()
    long = ", ".join(["#price", *(f"#n{n}-{'x' * 20}" for n in range(15))])
    recipe = PageRecipe("watch", PageSelectors(long, *(long for _ in range(5))))
    made = await follow_page(harness.runtime, ann, put(site), recipe)
    await import_opml(harness.runtime, ben, await export_opml(harness.runtime, ann))
    async with harness.runtime.db.read() as tx:
        (copied,) = await subscriptions.every(tx, ben)
    assert (await page_feed(harness.runtime, ben, copied.id)).recipe == recipe
    assert (await page_feed(harness.runtime, ann, made.id)).recipe == recipe
