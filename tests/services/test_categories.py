"""The categories that feeds give their entries: in searches and rules."""

from xml.sax.saxutils import escape

import pytest

from reedbed.domain.rules import read_action, read_condition
from reedbed.domain.search.indexing import search_words
from reedbed.services.rules.manage import RuleDraft, create_rule, try_rule
from reedbed.services.search.find import search_entries
from reedbed.services.search.upkeep import index_older_categories
from reedbed.store import search
from reedbed.store.search import texts
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

CATEGORIES = {"Kernel": ("Linux", "Open Source"), "Birds": ("Nature",), "Linux in the title": ()}


def serve(site: FeedSite, entries: dict[str, tuple[str, ...]] = CATEGORIES) -> str:
    items = "".join(
        f"<item><title>{title}</title><guid>{title}</guid><author>a@b.example (Open Source)</author>"
        f"<comments>https://talk.example/{len(title)}</comments>"
        f"{''.join(f'<category>{escape(name)}</category>' for name in names)}</item>"
        for title, names in entries.items()
    )
    body = f'<rss version="2.0"><channel><title>News</title>{items}</channel></rss>'
    site.put("/tagged.xml", body.encode(), content_type="application/rss+xml")
    return f"{site.url}/tagged.xml"


async def titles(harness: RuntimeHarness, user_id: int, text: str) -> list[str]:
    page = await search_entries(harness.runtime, user_id, text)
    return sorted(row.title for row in page.rows)


@pytest.fixture
async def ann(site: FeedSite, harness: RuntimeHarness) -> int:
    user_id = await harness.person()
    await harness.follow(serve(site), user_id=user_id)
    await harness.check()
    return user_id


async def test_a_search_finds_a_whole_category_and_no_word_of_texts_or_authors(
    harness: RuntimeHarness, ann: int
) -> None:
    assert await titles(harness, ann, "category:linux") == ["Kernel"]
    assert await titles(harness, ann, 'category:"open source"') == ["Kernel"]
    assert await titles(harness, ann, "category:open") == []
    assert await titles(harness, ann, "category:open*") == ["Kernel"]
    assert await titles(harness, ann, "-category:linux") == ["Birds", "Linux in the title"]
    assert await titles(harness, ann, "category:linux is:starred") == []


async def test_entries_indexed_before_categories_were_are_indexed_again(harness: RuntimeHarness, ann: int) -> None:
    async with harness.runtime.db.write() as tx:
        rows = await texts.below_id(tx, 1 << 40, 10)
        await search.forget(tx, [(row.id, [search_words(row.title, "", row.author, row.categories)]) for row in rows])
        await search.index(tx, [(row.id, search_words(row.title, "", row.author)) for row in rows])
    assert await titles(harness, ann, "category:linux") == []
    await harness.change("DELETE FROM app_settings WHERE key = 'categories_below'")
    assert await index_older_categories(harness.runtime) == len(CATEGORIES)
    assert await titles(harness, ann, "category:linux") == ["Kernel"]
    assert await index_older_categories(harness.runtime) == 0


async def test_a_rule_acts_on_a_category_and_its_dry_run_agrees(site: FeedSite, harness: RuntimeHarness) -> None:
    ann = await harness.person()
    rule = RuleDraft("Linux", "all", [read_condition("category", "is", "linux")], [read_action("star")])
    await create_rule(harness.runtime, ann, rule)
    await harness.follow(serve(site), user_id=ann)
    await harness.check()
    starred = await harness.column("SELECT title FROM entries e JOIN starred s ON s.entry_id = e.id")
    assert starred == ["Kernel"]
    assert [entry.title for entry in (await try_rule(harness.runtime, ann, rule)).shown] == ["Kernel"]
