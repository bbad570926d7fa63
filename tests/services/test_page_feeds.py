"""Feeds that are made from pages."""

from dataclasses import replace

import pytest

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.page_feeds import PageRecipe, PageSelectors
from reedbed.domain.times import DAY
from reedbed.services.ai import set_paused
from reedbed.services.page_feeds import FIRST_UNREAD, choose_by_model, follow_page, open_page, page_feed, preview_page
from reedbed.services.transfer.opml import export_opml, import_opml
from reedbed.store import subscriptions
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.modelserver import ModelServer, Reply
from tests.services.writing import Desk

ROW = "<li class=entry><a href=/a/{n}>The river board decides about lock {n}</a></li>"
REBUILT = (
    "<section><h3><a href=/a/{n}?utm_source=x>The river board decides about lock {n}</a></h3><p>At last.</p></section>"
)


def put(site: FeedSite, numbers: range, row: str = ROW) -> str:
    body = f"<ul class=river>{''.join(row.format(n=n) for n in reversed(numbers))}</ul>"
    return site.page("/news", feeds=(), body=body)


async def unread(harness: RuntimeHarness, user: int, subscription_id: int) -> int:
    async with harness.runtime.db.read() as tx:
        found = await subscriptions.get(tx, user, subscription_id)
    assert found is not None
    return found.unread


async def titles(harness: RuntimeHarness) -> set[str]:
    return set(await harness.column("SELECT title FROM entries"))


async def test_a_page_is_followed_and_brings_its_new_entries(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    made = await follow_page(harness.runtime, user, put(site, range(10)))
    assert made.feed.private
    assert len(await titles(harness)) == 10
    assert await unread(harness, user, made.id) == FIRST_UNREAD
    put(site, range(2, 12))
    await harness.check(at_least=DAY)
    assert len(await titles(harness)) == 12
    assert await unread(harness, user, made.id) == FIRST_UNREAD + 2


async def test_the_same_entries_stay_the_same_however_often_the_page_is_read(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    user = await harness.person()
    await follow_page(harness.runtime, user, put(site, range(5)))
    put(site, range(5), ROW.replace("/a/{n}", "/a/{n}?utm_source=front#top"))
    await harness.check(at_least=DAY)
    assert len(await titles(harness)) == 5


async def test_a_rebuilt_page_is_found_again_and_both_recipes_are_kept(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    made = await follow_page(harness.runtime, user, put(site, range(8)))
    before = (await page_feed(harness.runtime, user, made.id)).recipe
    put(site, range(2, 10), REBUILT)
    await harness.check(at_least=DAY)
    stored = await page_feed(harness.runtime, user, made.id)
    assert stored.former == before
    assert stored.recipe != before
    assert stored.rebuilt_at is not None
    assert len(await titles(harness)) == 10


async def test_a_page_that_lost_its_list_is_a_failing_feed(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    made = await follow_page(harness.runtime, user, put(site, range(8)))
    site.page("/news", feeds=(), body="<p>Nothing</p>")
    await harness.check(at_least=DAY)
    async with harness.runtime.db.read() as tx:
        found = await subscriptions.get(tx, user, made.id)
    assert found is not None
    assert found.feed.state.status == "permanent_error"


async def test_written_selectors_choose_the_list(harness: RuntimeHarness, site: FeedSite) -> None:
    address = put(site, range(6))
    recipe = PageRecipe("markup", PageSelectors("ul.river > li.entry:nth-child(-n+4)"))
    user = await harness.person()
    await follow_page(harness.runtime, user, address, recipe, title="Locks")
    assert len(await titles(harness)) == 4


async def test_a_recipe_that_finds_nothing_is_not_saved(harness: RuntimeHarness, site: FeedSite) -> None:
    address = put(site, range(6))
    user = await harness.person()
    with pytest.raises(Invalid, match="The selectors match no entry"):
        await follow_page(harness.runtime, user, address, PageRecipe("markup", PageSelectors("div.nothing")))
    assert await harness.column("SELECT id FROM feeds") == []


async def test_a_page_is_found_with_http_where_its_address_is_typed_without_a_scheme(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    user = await harness.person()
    address = put(site, range(6))
    typed = address.removeprefix("http://")
    assert (await preview_page(harness.runtime, typed)).url == address
    assert (await open_page(harness.runtime, user, typed)).preview.url == address
    assert (await follow_page(harness.runtime, user, typed)).feed.url == address
    seen = len(site.requests)
    with pytest.raises(Invalid):
        await preview_page(harness.runtime, f"ada:secret@{typed}")
    assert len(site.requests) == seen


async def test_a_page_without_a_list_is_not_followed(harness: RuntimeHarness, site: FeedSite) -> None:
    address = site.page("/x", feeds=(), body="<p>Text</p>")
    with pytest.raises(Invalid, match="No list of entries"):
        await follow_page(harness.runtime, await harness.person(), address)


async def test_a_page_that_is_too_large_is_called_a_page(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    url = site.page("/news", feeds=(), body="<p>x</p>" * 1_400_000)
    with pytest.raises(Invalid, match=r"The page is too large: it has more than 10 MB\."):
        await follow_page(harness.runtime, user, url)


async def test_each_user_has_a_recipe_of_their_own(harness: RuntimeHarness, site: FeedSite) -> None:
    address = put(site, range(6))
    ann, ben = await harness.person(), await harness.person()
    made = await follow_page(harness.runtime, ann, address)
    other = await follow_page(harness.runtime, ben, address, PageRecipe("markup", PageSelectors("li")))
    assert made.feed.id != other.feed.id
    with pytest.raises(NotFound):
        await page_feed(harness.runtime, ben, made.id)


async def test_a_page_is_followed_once(harness: RuntimeHarness, site: FeedSite) -> None:
    address = put(site, range(6))
    user = await harness.person()
    await follow_page(harness.runtime, user, address)
    with pytest.raises(Conflict):
        await follow_page(harness.runtime, user, address)


async def test_the_sections_of_a_changelog_are_separate_entries(harness: RuntimeHarness, site: FeedSite) -> None:
    sections = "".join(f"<h2 id=v{n}>Version 1.{n}</h2><p>{n + 1} May 2026</p><p>Mended.</p>" for n in range(5))
    address = site.page("/changes", feeds=(), body=sections)
    await follow_page(harness.runtime, await harness.person(), address)
    assert await titles(harness) == {f"Version 1.{n}" for n in range(5)}


async def test_a_preview_shows_the_lists_and_follows_nothing(harness: RuntimeHarness, site: FeedSite) -> None:
    preview = await preview_page(harness.runtime, put(site, range(6)))
    assert [len(one.entries) for one in preview.lists.lists] == [6]
    narrowed = replace(preview.lists.lists[0].recipe, selectors=PageSelectors("li:first-child"))
    assert len((await preview_page(harness.runtime, preview.url, narrowed)).lists.lists[0].entries) == 1
    assert await harness.column("SELECT id FROM feeds") == []


async def test_opml_carries_the_recipe(harness: RuntimeHarness, site: FeedSite) -> None:
    ann, ben = await harness.person(), await harness.person()
    made = await follow_page(harness.runtime, ann, put(site, range(6)))
    await import_opml(harness.runtime, ben, await export_opml(harness.runtime, ann))
    async with harness.runtime.db.read() as tx:
        (copied,) = await subscriptions.every(tx, ben)
    assert copied.feed.private
    theirs = await page_feed(harness.runtime, ben, copied.id)
    assert theirs.recipe == (await page_feed(harness.runtime, ann, made.id)).recipe
    await harness.check()
    assert await unread(harness, ben, copied.id) == 6
    assert (await export_opml(harness.runtime, ben)).count(b"reedbedPage") == 1


async def test_a_damaged_recipe_in_opml_is_a_line_of_the_report(harness: RuntimeHarness, site: FeedSite) -> None:
    line = f'<outline text="x" xmlUrl="{put(site, range(6))}" reedbedPage="no"/>'
    report = await import_opml(harness.runtime, await harness.person(), f"<opml><body>{line}</body></opml>".encode())
    assert report.lines[0].failure is not None
    assert report.lines[0].failure.message == "The recipe for this page is damaged."


async def test_a_page_that_moved_for_good_keeps_its_recipe(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    made = await follow_page(harness.runtime, user, put(site, range(6)))
    moved = site.page("/moved", feeds=(), body="".join(ROW.format(n=n) for n in range(8)))
    site.put("/news", "", status=301, headers={"Location": moved})
    for _ in range(4):
        await harness.check(at_least=DAY)
    async with harness.runtime.db.read() as tx:
        found = await subscriptions.get(tx, user, made.id)
    assert found is not None and found.feed.url == moved
    assert len(await titles(harness)) == 8
    assert (await page_feed(harness.runtime, user, made.id)).recipe.source == "markup"


async def test_the_news_sitemap_of_a_site_is_followed_where_the_page_has_no_list(
    harness: RuntimeHarness, site: FeedSite
) -> None:
    address = site.page("/x", feeds=(), body="<p>Text</p>")
    rows = "".join(
        f"<url><loc>{site.url}/a/{n}</loc><n:news><n:publication_date>2026-11-0{n + 1}</n:publication_date>"
        f"<n:title>The river board opens lock {n}</n:title></n:news></url>"
        for n in range(4)
    )
    namespaces = (
        'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"'
    )
    site.put("/news-sitemap.xml", f"<urlset {namespaces}>{rows}</urlset>", content_type="text/xml")
    made = await follow_page(harness.runtime, await harness.person(), address)
    assert made.feed.url == f"{site.url}/news-sitemap.xml"
    assert len(await titles(harness)) == 4


def put_two_lists(site: FeedSite) -> str:
    notes = "".join(
        f"<li class=note><a href=/note/{n}>A short note of the harbour, the {n}th</a></li>" for n in range(9)
    )
    locks = "".join(f"<p class=lock><a href=/lock/{n}>The lock number {n} opens late</a></p>" for n in range(7))
    return site.page("/two", feeds=(), body=f"<ul class=notes>{notes}</ul><section class=locks>{locks}</section>")


async def test_a_model_chooses_among_the_lists_and_writes_nothing(
    modelled: Desk, server: ModelServer, site: FeedSite
) -> None:
    address = put_two_lists(site)
    lists = (await preview_page(modelled.runtime, address)).lists.lists
    assert len(lists) == 2
    server.say(Reply(text='{"list": 2}'))
    assert await choose_by_model(modelled.runtime, modelled.user, address) == 1
    sent = str(server.questions[0])
    assert "The lock number 1 opens late" in sent and "the 5th" in sent and "the 8th" not in sent


@pytest.mark.parametrize("answer", ['{"list": 7}', '{"list": 0}', "the second", '{"list": true}'])
async def test_the_best_list_stays_when_the_model_gives_no_usable_answer(
    modelled: Desk, server: ModelServer, site: FeedSite, answer: str
) -> None:
    server.say(Reply(text=answer), Reply(text=answer))
    assert await choose_by_model(modelled.runtime, modelled.user, put_two_lists(site)) is None


async def test_a_paused_model_is_not_asked(modelled: Desk, server: ModelServer, site: FeedSite) -> None:
    address = put_two_lists(site)
    await set_paused(modelled.runtime, paused=True)
    assert await choose_by_model(modelled.runtime, modelled.user, address) is None
    assert server.calls == 0


async def test_a_page_that_is_opened_is_fetched_once_for_all_picks(harness: RuntimeHarness, site: FeedSite) -> None:
    user = await harness.person()
    address = put(site, range(10))
    opened = await open_page(harness.runtime, user, address)
    assert opened.blocks is not None and opened.blocks.items == 10
    picked = await open_page(harness.runtime, user, address, PageSelectors("li.entry", title="a"))
    assert picked.chosen is not None and len(picked.chosen.entries) == 10
    assert picked.chosen.recipe.fingerprints == opened.preview.lists.lists[0].recipe.fingerprints
    nothing = await open_page(harness.runtime, user, address, PageSelectors("p.none"))
    assert nothing.chosen is None and nothing.reason is not None and nothing.blocks is not None
    await follow_page(harness.runtime, user, address, picked.chosen.recipe)
    assert len(site.seen_at("/news")) == 1
