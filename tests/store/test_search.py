"""What search finds: words, phrases, prefixes, scripts, and what narrows it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from reedbed.domain.errors import Invalid
from reedbed.domain.times import DAY, SECOND
from reedbed.store import search
from reedbed.store.engine.statements import Command
from reedbed.store.read_state import stars as marks
from tests.store.library import Library
from tests.store.searching import NOW, SearchedFeed, new_shelf


@pytest.fixture
async def searched(library: Library) -> SearchedFeed:
    return await new_shelf(library)


async def test_a_word_is_found_in_title_text_and_author(searched: SearchedFeed) -> None:
    titled = await searched.put("The heron returns")
    written = await searched.put("Birds", "One heron stood in the reeds")
    signed = await searched.put("Notes", "Nothing", author="Ada Heron")
    await searched.put("Fish", "No bird here")
    assert await searched.find("heron") == [signed, written, titled]


async def test_every_word_must_be_there_and_none_of_the_excluded(searched: SearchedFeed) -> None:
    both = await searched.put("Heron and egret")
    heron = await searched.put("Heron alone")
    assert await searched.find("heron egret") == [both]
    assert await searched.find("heron -egret") == [heron]
    assert await searched.find("egret OR alone") == [heron, both]


async def test_exclusion_alone_lists_everything_else(searched: SearchedFeed) -> None:
    await searched.put("Heron")
    other = await searched.put("Egret")
    assert await searched.find("-heron") == [other]


async def test_a_phrase_is_words_in_a_row_within_one_field(searched: SearchedFeed) -> None:
    together = await searched.put("News", "the grey heron flies")
    await searched.put("News", "grey skies, a heron")
    await searched.put("All is grey", "heron")
    assert await searched.find('"grey heron"') == [together]


async def test_a_prefix_goes_on(searched: SearchedFeed) -> None:
    herons = await searched.put("Herons gather")
    await searched.put("Hero of the marsh")
    assert await searched.find("heron*") == [herons]
    assert await searched.find("heron") == []
    assert len(await searched.find("hero*")) == 2
    assert len(await searched.find("h*")) == 2
    assert await searched.find("ga*") == [herons]
    assert await searched.find("-ga* marsh") == await searched.find("marsh")


async def test_fields_can_be_named(searched: SearchedFeed) -> None:
    titled = await searched.put("Heron", "egret", author="Jane Doe")
    await searched.put("Egret", "heron", author="John Doe")
    assert await searched.find("title:heron") == [titled]
    assert await searched.find('author:"jane doe"') == [titled]
    assert await searched.find("doe -author:john") == [titled]
    assert await searched.find("author:heron") == []


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Žluťoučký kůň", "zlutoucky"),
        ("cafe terrace", "Café"),
        ("Straße nach Łódź", "strasse lodz"),
        ("Ἀθήνα", "αθηνα"),
        ("ЁЛКА", "елка"),
    ],
)
async def test_accents_and_case_do_not_matter(searched: SearchedFeed, written: str, asked: str) -> None:
    entry = await searched.put(written)
    assert await searched.find(asked) == [entry]


@pytest.mark.parametrize(
    ("written", "found", "missed"),
    [
        ("北京大学今天举行毕业典礼", ["北京", "大学", "北京大学", "毕业典礼", "京"], ["天京", "北大"]),
        ("東京タワーの夜景を見る", ["東京", "タワー", "夜景", "東京タワー"], ["京都", "タの"]),
        ("한국어 자연어 처리를 배우다", ["한국어", "자연어", "처리"], ["국자", "중국어"]),
    ],
)
async def test_east_asian_text_is_found_by_its_parts(
    searched: SearchedFeed, written: str, found: list[str], missed: list[str]
) -> None:
    entry = await searched.put("x", written)
    assert [await searched.find(word) for word in found] == [[entry]] * len(found)
    assert [await searched.find(word) for word in missed] == [[]] * len(missed)


async def test_pages_follow_each_other_in_both_orders(searched: SearchedFeed) -> None:
    written = [await searched.put(f"heron {number}", sort_at=NOW + number * SECOND) for number in range(25)]
    for order, expected in (("newest", written[::-1]), ("oldest", written)):
        pages, cursor = [], None
        while True:
            found = await searched.page("heron", order=order, cursor=cursor, limit=10)
            pages.append(list(found.ids))
            if (cursor := found.next) is None:
                break
        assert [len(page) for page in pages] == [10, 10, 5]
        assert [id for page in pages for id in page] == expected


async def test_order_follows_the_list_and_not_the_arrival(searched: SearchedFeed) -> None:
    late = await searched.put("heron", sort_at=NOW)
    early = await searched.put("heron", sort_at=NOW - DAY)
    assert await searched.find("heron") == [late, early]


async def test_entries_of_one_moment_are_all_found(searched: SearchedFeed) -> None:
    written = [await searched.put(f"heron {number}", sort_at=NOW) for number in range(40)]
    assert sorted(await searched.find("heron")) == written


async def test_entries_before_1970_are_found(searched: SearchedFeed) -> None:
    entry = await searched.put("heron", sort_at=-5 * DAY)
    assert await searched.find("heron before:1970-01-01") == [entry]


async def test_states_narrow_the_search(searched: SearchedFeed) -> None:
    read, unread = await searched.put("heron"), await searched.put("heron")
    await searched.library.read(searched.reader, read)
    async with searched.library.db.write() as tx:
        await marks.set_flag(tx, searched.reader, "starred", [read], NOW)
        await marks.set_flag(tx, searched.reader, "later", [unread], NOW)
    assert await searched.find("heron is:unread") == [unread]
    assert await searched.find("heron is:read") == [read]
    assert await searched.find("heron is:starred") == [read]
    assert await searched.find("heron is:later") == [unread]
    assert await searched.find("heron -is:later") == [read]
    assert await searched.find("is:starred") == [read]
    assert await searched.find("heron is:read is:unread") == []


async def test_dates_narrow_the_search(searched: SearchedFeed) -> None:
    old = await searched.put("heron", sort_at=NOW - 10 * DAY)
    new = await searched.put("heron", sort_at=NOW - DAY)
    assert await searched.find("heron after:7d") == [new]
    assert await searched.find("heron before:7d") == [old]
    with pytest.raises(Invalid):
        await searched.find("heron after:someday")


async def test_languages_narrow_the_search(searched: SearchedFeed) -> None:
    german = await searched.put("heron", language="de-AT")
    plain = await searched.put("heron")
    assert await searched.find("heron lang:de") == [german]
    assert await searched.find("heron -lang:de") == [plain]


async def test_feeds_and_folders_are_called_by_name(searched: SearchedFeed) -> None:
    library, reader = searched.library, searched.reader
    outer = await library.folder(reader)
    inner = await library.folder(reader, parent=outer)
    other = await library.feed()
    await library.follow(reader, other, inner)
    async with library.db.write() as tx:
        await tx.run(Command(text("UPDATE feeds SET title = 'Marsh Diary' WHERE id = :id")), {"id": other})
        await tx.run(Command(text("UPDATE folders SET name = 'Birds' WHERE id = :id")), {"id": outer})
    here, there = await searched.put("heron"), await searched.put("heron", feed=other)
    assert await searched.find("heron feed:marsh") == [there]
    assert await searched.find('heron feed:"marsh diary"') == [there]
    assert await searched.find("heron -feed:marsh") == [here]
    assert await searched.find("heron folder:birds") == [there]
    assert await searched.find("heron folder:nowhere") == []
    assert await searched.find("heron feed:marsh -folder:birds") == []


async def test_nobody_finds_what_they_do_not_follow(searched: SearchedFeed) -> None:
    library = searched.library
    secret = await searched.put("heron secret")
    stranger = await library.reader(await library.feed())
    for asked in ("heron", "heron is:starred", "-egret", "is:read", "heron feed:1", "title:secret"):
        assert await searched.find(asked, reader=stranger) == []
    assert await searched.find("heron") == [secret]


async def test_what_was_starred_stays_findable_after_leaving_the_feed(searched: SearchedFeed) -> None:
    kept, lost = await searched.put("heron"), await searched.put("heron")
    async with searched.library.db.write() as tx:
        await marks.set_flag(tx, searched.reader, "starred", [kept], NOW)
    await searched.library.leave(searched.reader, searched.feed)
    assert await searched.find("heron") == [kept]
    assert lost not in await searched.find("is:read")


async def test_a_changed_entry_is_found_by_its_new_words_only(searched: SearchedFeed) -> None:
    entry = await searched.put("heron")
    await searched.rewrite(entry, "egret")
    assert await searched.find("heron") == []
    assert await searched.find("egret") == [entry]


async def test_a_deleted_entry_leaves_the_index(searched: SearchedFeed) -> None:
    entry, other = await searched.put("heron"), await searched.put("heron")
    await searched.library.forget(entry)
    assert await searched.find("heron") == [other]
    again = await searched.put("heron")
    assert await searched.find("heron") == [again, other]


async def test_a_common_word_in_a_small_list_is_found(searched: SearchedFeed) -> None:
    starred = await searched.put("heron", sort_at=1)
    async with searched.library.db.write() as tx:
        await marks.set_flag(tx, searched.reader, "starred", [starred], NOW)
    for number in range(5):
        await searched.put("heron", sort_at=NOW + number)
    assert await searched.find("heron is:starred") == [starred]


async def test_merging_the_index_loses_nothing(searched: SearchedFeed) -> None:
    written = [await searched.put(f"heron {number}") for number in range(40)]
    async with searched.library.db.write() as tx:
        while await search.merge_index_batch(tx):
            pass
    assert sorted(await searched.find("heron")) == written


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(asked=st.text(max_size=60))
async def test_any_text_is_a_search(searched: SearchedFeed, asked: str) -> None:
    try:
        await searched.find(asked)
    except Invalid as refused:
        assert "date" in refused.message


@pytest.mark.parametrize(
    "asked",
    [
        '"', '""', "*", "-", "()", "NEAR(a b)", "a AND", "NOT", "title:", "title:*", "-title:-", "a* b* c*",
        "'; DROP TABLE entries; --", "a & | ! <-> b", "{title}: x", "^x", "x:*AB", "\\", "'", "a'b\"c",
        "feed:% folder:_ tag:'", "is:nonsense", "lang:" + "x" * 300, "x" * 5_000, '"' + "a " * 400 + '"',
        "a OR " * 300, "-a " * 300, "\x00", "\ud800", "語" * 500,
    ],
)  # fmt: skip
async def test_hostile_text_is_harmless(searched: SearchedFeed, asked: str) -> None:
    await searched.put("heron")
    await searched.find(asked)
