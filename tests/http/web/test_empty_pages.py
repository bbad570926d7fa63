"""What stands where there is nothing to read, and where something is missing."""

import re

from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def test_when_all_is_read_the_day_and_one_suggestion_are_shown(
    reader: Client, site: FeedSite, harness: RuntimeHarness
) -> None:
    site.publish("Kept for later", key="a", content=f"<p>{'word ' * 460}</p>")
    site.publish("Read at once", key="b", content=f"<p>{'word ' * 230}</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    for item in (await reader.get("/api/v1/entries")).json()["items"]:
        later = item["title"] == "Kept for later"
        await reader.patch(f"/api/v1/entries/{item['id']}", json={"read": True, "later": later, "starred": not later})
    page = (await reader.get("/unread")).text
    numbers = re.findall(r'<dd class="num">(\d+)</dd>', page)
    assert numbers == ["2", "3", "1"]
    assert "Kept for later" in page and "The next check is at" in page
    assert "day-sum" not in (await reader.get("/later")).text


async def test_an_error_keeps_the_sidebar_and_says_a_title_once(reader: Client, client: Client) -> None:
    page = await reader.get("/feed/999999")
    assert page.status_code == 404
    assert 'id="tree"' in page.text and page.text.count("<h1") == 1
    assert page.text.count("Feed not found") == 1
    assert "Search your entries for" not in page.text
    stranger = await client.get("/nothing-of-the-kind")
    assert 'id="tree"' not in stranger.text


async def test_an_address_of_nothing_offers_a_search_for_its_words(reader: Client) -> None:
    page = await reader.get("/2026/11/swing-bridge_closes.html")
    assert "Search your entries for “swing bridge closes”" in page.text
    assert 'href="/search?q=swing%20bridge%20closes"' in page.text


async def test_a_post_is_read_without_a_headline(reader: Client, site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("", key="p", content="<p>Three herons on the weir.</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    entry = (await reader.get("/api/v1/entries")).json()["items"][0]["id"]
    page = (await reader.get(f"/all/entry/{entry}")).text
    assert '<h1 class="sr">Post of ' in page and " data-post" in page
