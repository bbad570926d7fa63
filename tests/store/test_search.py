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
from tests.store.searching import NOW, Shelf, new_shelf


@pytest.fixture
async def shelf(library: Library) -> Shelf:
    return await new_shelf(library)


async def test_a_word_is_found_in_title_text_and_author(shelf: Shelf) -> None:
    titled = await shelf.put("The heron returns")
    written = await shelf.put("Birds", "One heron stood in the reeds")
    signed = await shelf.put("Notes", "Nothing", author="Ada Heron")
    await shelf.put("Fish", "No bird here")
    assert await shelf.find("heron") == [signed, written, titled]


async def test_every_word_must_be_there_and_none_of_the_excluded(shelf: Shelf) -> None:
    both = await shelf.put("Heron and egret")
    heron = await shelf.put("Heron alone")
    assert await shelf.find("heron egret") == [both]
    assert await shelf.find("heron -egret") == [heron]
    assert await shelf.find("egret OR alone") == [heron, both]


async def test_exclusion_alone_lists_everything_else(shelf: Shelf) -> None:
    await shelf.put("Heron")
    other = await shelf.put("Egret")
    assert await shelf.find("-heron") == [other]


async def test_a_phrase_is_words_in_a_row_within_one_field(shelf: Shelf) -> None:
    together = await shelf.put("News", "the grey heron flies")
    await shelf.put("News", "grey skies, a heron")
    await shelf.put("All is grey", "heron")
    assert await shelf.find('"grey heron"') == [together]


async def test_a_prefix_goes_on(shelf: Shelf) -> None:
    herons = await shelf.put("Herons gather")
    await shelf.put("Hero of the marsh")
    assert await shelf.find("heron*") == [herons]
    assert await shelf.find("heron") == []
    assert len(await shelf.find("hero*")) == 2
    assert len(await shelf.find("h*")) == 2
    assert await shelf.find("ga*") == [herons]
    assert await shelf.find("-ga* marsh") == await shelf.find("marsh")


async def test_fields_can_be_named(shelf: Shelf) -> None:
    titled = await shelf.put("Heron", "egret", author="Jane Doe")
    await shelf.put("Egret", "heron", author="John Doe")
    assert await shelf.find("title:heron") == [titled]
    assert await shelf.find('author:"jane doe"') == [titled]
    assert await shelf.find("doe -author:john") == [titled]
    assert await shelf.find("author:heron") == []


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
async def test_accents_and_case_do_not_matter(shelf: Shelf, written: str, asked: str) -> None:
    entry = await shelf.put(written)
    assert await shelf.find(asked) == [entry]


@pytest.mark.parametrize(
    ("written", "found", "missed"),
    [
        ("北京大学今天举行毕业典礼", ["北京", "大学", "北京大学", "毕业典礼", "京"], ["天京", "北大"]),
        ("東京タワーの夜景を見る", ["東京", "タワー", "夜景", "東京タワー"], ["京都", "タの"]),
        ("한국어 자연어 처리를 배우다", ["한국어", "자연어", "처리"], ["국자", "중국어"]),
    ],
)
async def test_east_asian_text_is_found_by_its_parts(
    shelf: Shelf, written: str, found: list[str], missed: list[str]
) -> None:
    entry = await shelf.put("x", written)
    assert [await shelf.find(word) for word in found] == [[entry]] * len(found)
    assert [await shelf.find(word) for word in missed] == [[]] * len(missed)


async def test_pages_follow_each_other_in_both_orders(shelf: Shelf) -> None:
    written = [await shelf.put(f"heron {number}", sort_at=NOW + number * SECOND) for number in range(25)]
    for order, expected in (("newest", written[::-1]), ("oldest", written)):
        pages, cursor = [], None
        while True:
            found = await shelf.page("heron", order=order, cursor=cursor, limit=10)
            pages.append(list(found.ids))
            if (cursor := found.next) is None:
                break
        assert [len(page) for page in pages] == [10, 10, 5]
        assert [id for page in pages for id in page] == expected


async def test_order_follows_the_list_and_not_the_arrival(shelf: Shelf) -> None:
    late = await shelf.put("heron", sort_at=NOW)
    early = await shelf.put("heron", sort_at=NOW - DAY)
    assert await shelf.find("heron") == [late, early]


async def test_entries_of_one_moment_are_all_found(shelf: Shelf) -> None:
    written = [await shelf.put(f"heron {number}", sort_at=NOW) for number in range(40)]
    assert sorted(await shelf.find("heron")) == written


async def test_entries_before_1970_are_found(shelf: Shelf) -> None:
    entry = await shelf.put("heron", sort_at=-5 * DAY)
    assert await shelf.find("heron before:1970-01-01") == [entry]


async def test_states_narrow_the_search(shelf: Shelf) -> None:
    read, unread = await shelf.put("heron"), await shelf.put("heron")
    await shelf.library.read(shelf.reader, read)
    async with shelf.library.db.write() as tx:
        await marks.set_flag(tx, shelf.reader, "starred", [read], NOW)
        await marks.set_flag(tx, shelf.reader, "later", [unread], NOW)
    assert await shelf.find("heron is:unread") == [unread]
    assert await shelf.find("heron is:read") == [read]
    assert await shelf.find("heron is:starred") == [read]
    assert await shelf.find("heron is:later") == [unread]
    assert await shelf.find("heron -is:later") == [read]
    assert await shelf.find("is:starred") == [read]
    assert await shelf.find("heron is:read is:unread") == []


async def test_dates_narrow_the_search(shelf: Shelf) -> None:
    old = await shelf.put("heron", sort_at=NOW - 10 * DAY)
    new = await shelf.put("heron", sort_at=NOW - DAY)
    assert await shelf.find("heron after:7d") == [new]
    assert await shelf.find("heron before:7d") == [old]
    with pytest.raises(Invalid):
        await shelf.find("heron after:someday")


async def test_languages_narrow_the_search(shelf: Shelf) -> None:
    german = await shelf.put("heron", language="de-AT")
    plain = await shelf.put("heron")
    assert await shelf.find("heron lang:de") == [german]
    assert await shelf.find("heron -lang:de") == [plain]


async def test_feeds_and_folders_are_called_by_name(shelf: Shelf) -> None:
    library, reader = shelf.library, shelf.reader
    outer = await library.folder(reader)
    inner = await library.folder(reader, parent=outer)
    other = await library.feed()
    await library.follow(reader, other, inner)
    async with library.db.write() as tx:
        await tx.run(Command(text("UPDATE feeds SET title = 'Marsh Diary' WHERE id = :id")), {"id": other})
        await tx.run(Command(text("UPDATE folders SET name = 'Birds' WHERE id = :id")), {"id": outer})
    here, there = await shelf.put("heron"), await shelf.put("heron", feed=other)
    assert await shelf.find("heron feed:marsh") == [there]
    assert await shelf.find('heron feed:"marsh diary"') == [there]
    assert await shelf.find("heron -feed:marsh") == [here]
    assert await shelf.find("heron folder:birds") == [there]
    assert await shelf.find("heron folder:nowhere") == []
    assert await shelf.find("heron feed:marsh -folder:birds") == []


async def test_nobody_finds_what_they_do_not_follow(shelf: Shelf) -> None:
    library = shelf.library
    secret = await shelf.put("heron secret")
    stranger = await library.reader(await library.feed())
    for asked in ("heron", "heron is:starred", "-egret", "is:read", "heron feed:1", "title:secret"):
        assert await shelf.find(asked, reader=stranger) == []
    assert await shelf.find("heron") == [secret]


async def test_what_was_starred_stays_findable_after_leaving_the_feed(shelf: Shelf) -> None:
    kept, lost = await shelf.put("heron"), await shelf.put("heron")
    async with shelf.library.db.write() as tx:
        await marks.set_flag(tx, shelf.reader, "starred", [kept], NOW)
    await shelf.library.leave(shelf.reader, shelf.feed)
    assert await shelf.find("heron") == [kept]
    assert lost not in await shelf.find("is:read")


async def test_a_changed_entry_is_found_by_its_new_words_only(shelf: Shelf) -> None:
    entry = await shelf.put("heron")
    await shelf.rewrite(entry, "egret")
    assert await shelf.find("heron") == []
    assert await shelf.find("egret") == [entry]


async def test_a_deleted_entry_leaves_the_index(shelf: Shelf) -> None:
    entry, other = await shelf.put("heron"), await shelf.put("heron")
    await shelf.library.forget(entry)
    assert await shelf.find("heron") == [other]
    again = await shelf.put("heron")
    assert await shelf.find("heron") == [again, other]


async def test_a_common_word_in_a_small_list_is_found(shelf: Shelf) -> None:
    starred = await shelf.put("heron", sort_at=1)
    async with shelf.library.db.write() as tx:
        await marks.set_flag(tx, shelf.reader, "starred", [starred], NOW)
    for number in range(5):
        await shelf.put("heron", sort_at=NOW + number)
    assert await shelf.find("heron is:starred") == [starred]


async def test_merging_the_index_loses_nothing(shelf: Shelf) -> None:
    written = [await shelf.put(f"heron {number}") for number in range(40)]
    async with shelf.library.db.write() as tx:
        while await search.merge_index_batch(tx):
            pass
    assert sorted(await shelf.find("heron")) == written


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(asked=st.text(max_size=60))
async def test_any_text_is_a_search(shelf: Shelf, asked: str) -> None:
    try:
        await shelf.find(asked)
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
async def test_hostile_text_is_harmless(shelf: Shelf, asked: str) -> None:
    await shelf.put("heron")
    await shelf.find(asked)
