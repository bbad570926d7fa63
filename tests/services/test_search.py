"""What the crawl stores is found at once, and what changes is found by its new words."""

import pytest

from reedbed.domain.entries import ViewQuery
from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.pagination import Cursor
from reedbed.services.search.find import search_entries
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness


async def titles(harness: RuntimeHarness, user_id: int, text: str) -> list[str]:
    page = await search_entries(harness.runtime, user_id, text)
    return [row.title for row in page.rows]


async def test_a_crawled_entry_is_found_by_the_words_a_reader_sees(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One", content="<p>A gr<b>ey</b> heron</p><p>stands <i>still</i></p><script>egret</script>")
    ann = await harness.person()
    await harness.follow(site.feed_url(), user_id=ann)
    await harness.check()
    assert await titles(harness, ann, '"grey heron stands still"') == ["One"]
    assert await titles(harness, ann, "script OR egret") == []


async def test_pictures_can_be_asked_for(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Heron drawn", content='<p>A heron</p><img src="https://pictures.example/heron.png">')
    site.publish("Heron told", content="<p>A heron</p>")
    ann = await harness.person()
    await harness.follow(site.feed_url(), user_id=ann)
    await harness.check()
    assert await titles(harness, ann, "heron has:picture") == ["Heron drawn"]
    assert await titles(harness, ann, "has:images") == ["Heron drawn"]
    assert await titles(harness, ann, "heron -has:picture") == ["Heron told"]
    assert await titles(harness, ann, "heron has:picture -has:picture") == []
    assert await titles(harness, ann, "has:feathers") == []


async def test_signs_that_are_no_words_are_nowhere(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("One")
    ann = await harness.person()
    await harness.follow(site.feed_url(), user_id=ann)
    await harness.check()
    for signs in ("👩", "(", "*", '""', "\u202e"):
        assert await titles(harness, ann, signs) == [], signs
    assert await titles(harness, ann, "one 👩") == ["One"]


async def test_a_changed_entry_is_found_by_its_new_words_only(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Heron", key="a", content="old words")
    ann = await harness.person()
    feed = await harness.follow(site.feed_url(), user_id=ann)
    await harness.check()
    site.publish("Egret", key="a", content="new words")
    assert (await harness.check_anyway(feed)).changed == 1
    assert await titles(harness, ann, "heron OR old") == []
    assert await titles(harness, ann, "egret new") == ["Egret"]


async def test_an_excerpt_shows_the_match_far_down_the_text(site: FeedSite, harness: RuntimeHarness) -> None:
    site.publish("Long", content=f"<p>{'reeds and water ' * 200}</p><p>At last a héron.</p>")
    ann = await harness.person()
    await harness.follow(site.feed_url(), user_id=ann)
    await harness.check()
    page = await search_entries(harness.runtime, ann, "heron")
    excerpt = page.matched[page.rows[0].id].excerpt
    assert [excerpt.text[start:end] for start, end in excerpt.spans] == ["héron"]
    assert len(excerpt.text) < 400


async def test_a_forged_cursor_and_a_foreign_folder_are_refused(harness: RuntimeHarness) -> None:
    ann = await harness.person()
    with pytest.raises(Invalid):
        await search_entries(harness.runtime, ann, "heron", cursor=Cursor(2**63 - 1, 2**64 - 1))
    with pytest.raises(NotFound):
        await search_entries(harness.runtime, ann, "heron", within=ViewQuery(folder_id=4711))
