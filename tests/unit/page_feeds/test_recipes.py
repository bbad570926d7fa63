"""A recipe finds its list again: on a newer page, and on one that was rebuilt."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.page_feeds import PageRecipe, PageSelectors, entry_key, looks_rebuilt, recipe_from_fields
from reedbed.ingest.page_feeds.apply import NOTHING_MATCHES, apply_recipe, find_again
from reedbed.ingest.page_feeds.blocks import read_blocks
from reedbed.ingest.page_feeds.finder import find_lists
from reedbed.ingest.page_feeds.sandbox import GAVE_UP, apply_safely, find_again_safely, find_lists_safely
from reedbed.ingest.page_feeds.sources import telegram_page

CORPUS = Path(__file__).parents[3] / "bench" / "data" / "pages"
NOW = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp() * 1000)
URL = "https://site.example/news/"


def page(numbers: range, item: str = "<li class=entry><a href=/a/{n}>The news about lock number {n}</a></li>") -> bytes:
    return ("<main><ul class=river>" + "".join(item.format(n=n) for n in numbers) + "</ul></main>").encode()


def recipe() -> PageRecipe:
    return find_lists(page(range(6)), URL, now=NOW).lists[0].recipe


def urls(body: bytes, used: PageRecipe) -> list[str]:
    lists = apply_recipe(body, used, URL, now=NOW)
    return [entry.url for entry in lists.lists[0].entries] if lists.lists else []


def test_a_recipe_reads_new_entries() -> None:
    assert urls(page(range(4, 9)), recipe()) == [f"https://site.example/a/{n}" for n in range(4, 9)]


def test_a_recipe_reads_a_list_that_has_become_short() -> None:
    assert urls(page(range(1)), recipe()) == ["https://site.example/a/0"]


def test_the_path_of_tags_takes_over_when_the_classes_change() -> None:
    renamed = page(range(6)).replace(b"class=entry", b"class=x1f").replace(b"class=river", b"class=x2f")
    assert len(urls(renamed, recipe())) == 6


def test_a_recipe_survives_its_json_form() -> None:
    assert recipe_from_fields(json.loads(orjson.dumps(recipe()))) == recipe()


@pytest.mark.parametrize("rebuilt", sorted((CORPUS / "rebuilt").glob("*.html")), ids=lambda rebuilt: rebuilt.stem)
def test_a_rebuilt_page_is_found_again_by_the_links_it_knows(rebuilt: Path) -> None:
    expected = json.loads(rebuilt.with_suffix(".json").read_text("utf-8"))
    before = find_lists((CORPUS / "dev" / rebuilt.name).read_bytes(), expected["url"], now=NOW).lists[0]
    known = {entry.key for entry in before.entries}
    again = find_again(rebuilt.read_bytes(), before.recipe, known, expected["url"], now=NOW)
    assert again is not None
    assert {entry.key for entry in again.entries} == {entry_key(one["url"]) for one in expected["entries"]}


def test_another_list_is_not_taken_for_the_old_one() -> None:
    other = page(range(6), "<li><a href=https://other.example/{n}>Some other story, number {n}</a></li>")
    known = [f"https://site.example/a/{n}" for n in range(6)]
    assert find_again(other, recipe(), known, URL, now=NOW) is None


def test_a_page_looks_rebuilt_when_its_list_is_gone_or_all_new() -> None:
    assert looks_rebuilt([], ["a", "b", "c"])
    assert looks_rebuilt(["x", "y", "z"], ["a", "b", "c"])
    assert not looks_rebuilt(["x", "y", "a"], ["a", "b", "c"])
    assert not looks_rebuilt(["x", "y", "z"], [])


@pytest.mark.parametrize(
    "selectors",
    [
        PageSelectors("li.entry", title="b", link="a.perma", date=".d", image="img.pic", teaser="i"),
        PageSelectors(
            "//li[@class='entry']",
            title="./b",
            link="./a[@class='perma']",
            date="./*[@class='d']",
            image=".//img[2]",
            teaser="./i",
        ),
    ],
    ids=["css", "xpath"],
)
def test_written_selectors_name_each_field(selectors: PageSelectors) -> None:
    item = (
        "<li class=entry><a href=/tag/x>The tag that comes first</a><b>Lock {n} opens</b><img src=/no.png>"
        "<img class=pic src=/p{n}.png><span>1 May 2026</span><span class=d>4 November 2026</span>"
        "<i>Why it opens</i><a class=perma href=/p/{n}>#</a>"
    )
    lists = apply_recipe(page(range(2), item), PageRecipe("markup", selectors), URL, now=NOW)
    entry = lists.lists[0].entries[1]
    assert (entry.title, entry.url, entry.teaser) == ("Lock 1 opens", "https://site.example/p/1", "Why it opens")
    assert (entry.published, entry.image) == (1_793_750_400_000, "https://site.example/p1.png")


def test_selectors_that_match_nothing_say_so() -> None:
    used = PageRecipe("markup", PageSelectors("div.nothing"))
    assert apply_recipe(page(range(3)), used, URL, now=NOW).reason == NOTHING_MATCHES


@pytest.mark.parametrize("selector", ["li[", "//li[", "x" * 600])
def test_a_wrong_selector_is_refused(selector: str) -> None:
    with pytest.raises(Invalid):
        apply_recipe(page(range(3)), replace(recipe(), selectors=PageSelectors(selector)), URL, now=NOW)


async def test_a_large_page_is_read_in_a_process_of_its_own() -> None:
    body = page(range(6)) + b"<p>filler</p>" * 20_000
    lists = await find_lists_safely(body, URL, now=NOW)
    assert lists.lists[0] == find_lists(body, URL, now=NOW).lists[0]
    again = await find_again_safely(
        body, recipe(), ["https://site.example/a/1", "https://site.example/a/2"], URL, now=NOW
    )
    assert again is not None and len(again.entries) == 6


async def test_a_selector_that_takes_for_ever_is_stopped() -> None:
    selector = "//*[" + " and ".join(f"count(//*[count(//*) > {n}]) > 0" for n in range(8)) + "]"
    lists = await apply_safely(page(range(3000)), PageRecipe("markup", PageSelectors(selector)), URL, now=NOW)
    assert lists.reason == GAVE_UP


def test_the_posts_of_a_telegram_channel_are_entries() -> None:
    post = (
        "<div class=tgme_widget_message_wrap><div class=tgme_widget_message data-post=locks/{n}>"
        "<a href=https://t.me/locks>Locks of the river</a><div class=tgme_widget_message_text>Lock {n} opens. At noon."
        "</div><a href=https://t.me/locks/{n}><time datetime=2026-11-0{n}T12:00:00+00:00>12:00</time></a></div></div>"
    )
    address = telegram_page("https://t.me/locks/")
    assert (address, telegram_page("https://t.me/locks/5")) == ("https://t.me/s/locks", "https://t.me/locks/5")
    found = find_lists(page(range(1, 6), post), address, now=NOW).lists[0]
    assert [entry.title for entry in found.entries] == [f"Lock {n} opens." for n in range(1, 6)]
    assert found.entries[0].url == "https://t.me/locks/1" and found.entries[0].published is not None
    again = apply_recipe(page(range(1, 8), post), found.recipe, address, now=NOW)
    assert len(again.lists[0].entries) == 7


def test_what_holds_the_title_is_not_marked_as_the_date() -> None:
    rows = "".join(f"<li><div><a href=/lock-{n}>The lock {n}</a><i>1{n} November 2026</i></div></li>" for n in range(5))
    body = f"<ul class=river>{rows}</ul>".encode()
    found = find_lists(body, URL, now=NOW).lists[0]
    blocks = read_blocks(body, found.recipe, URL, now=NOW)
    assert blocks is not None
    marked = re.findall(r'data-field="date"[^>]*>(.*?)<', blocks.html)
    assert marked == [f"1{n} November 2026" for n in range(5)]
