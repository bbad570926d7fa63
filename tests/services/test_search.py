"""What the crawl stores is found at once, and what changes is found by its new words."""

import pytest

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.pagination import Cursor
from reedbed.services.search import search_entries
from tests.crawling import Crawl
from tests.feedsite import FeedSite


async def titles(crawl: Crawl, user_id: int, text: str) -> list[str]:
    page = await search_entries(crawl.runtime, user_id, text)
    return [row.title for row in page.rows]


async def test_a_crawled_entry_is_found_by_the_words_a_reader_sees(site: FeedSite, crawl: Crawl) -> None:
    site.publish("One", content="<p>A gr<b>ey</b> heron</p><p>stands <i>still</i></p><script>egret</script>")
    ann = await crawl.person()
    await crawl.follow(site.feed_url(), user_id=ann)
    await crawl.check()
    assert await titles(crawl, ann, '"grey heron stands still"') == ["One"]
    assert await titles(crawl, ann, "script OR egret") == []


async def test_signs_that_are_no_words_are_nowhere(site: FeedSite, crawl: Crawl) -> None:
    site.publish("One")
    ann = await crawl.person()
    await crawl.follow(site.feed_url(), user_id=ann)
    await crawl.check()
    for signs in ("👩", "(", "*", '""', "\u202e"):
        assert await titles(crawl, ann, signs) == [], signs
    assert await titles(crawl, ann, "one 👩") == ["One"]


async def test_a_changed_entry_is_found_by_its_new_words_only(site: FeedSite, crawl: Crawl) -> None:
    site.publish("Heron", key="a", content="old words")
    ann = await crawl.person()
    feed = await crawl.follow(site.feed_url(), user_id=ann)
    await crawl.check()
    site.publish("Egret", key="a", content="new words")
    assert (await crawl.check_anyway(feed)).changed == 1
    assert await titles(crawl, ann, "heron OR old") == []
    assert await titles(crawl, ann, "egret new") == ["Egret"]


async def test_an_excerpt_shows_the_match_far_down_the_text(site: FeedSite, crawl: Crawl) -> None:
    site.publish("Long", content=f"<p>{'reeds and water ' * 200}</p><p>At last a héron.</p>")
    ann = await crawl.person()
    await crawl.follow(site.feed_url(), user_id=ann)
    await crawl.check()
    page = await search_entries(crawl.runtime, ann, "heron")
    excerpt = page.matched[page.rows[0].id].excerpt
    assert [excerpt.text[start:end] for start, end in excerpt.spans] == ["héron"]
    assert len(excerpt.text) < 400


async def test_a_forged_cursor_and_a_foreign_folder_are_refused(crawl: Crawl) -> None:
    ann = await crawl.person()
    with pytest.raises(Invalid):
        await search_entries(crawl.runtime, ann, "heron", cursor=Cursor(2**63 - 1, 2**64 - 1))
    with pytest.raises(NotFound):
        await search_entries(crawl.runtime, ann, "heron", within=ViewQuery(folder_id=4711))
