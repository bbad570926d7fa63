from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.feeds import ParsedEntry
from reedbed.domain.refresh.dedupe import (
    ExistingEntry,
    FilteredEntries,
    Seen,
    Traits,
    WritePlan,
    change_hash,
    filter_entries,
    is_suspicious_guid,
    newest,
    plan_rest,
    sort_at,
)
from reedbed.domain.times import DAY, Instant

NOW: Instant = 1_800_000_000_000
NOTHING = ExistingEntry()
PLAIN = Traits()


def entry(
    guid: str | None, url: str | None = None, text: str = "text", published: Instant | None = None
) -> ParsedEntry:
    return ParsedEntry(guid=guid, url=url, title="Title", content=text, published=published)


def plan(entries: Sequence[ParsedEntry], known: ExistingEntry, traits: Traits, fetched: Instant) -> WritePlan:
    """Both steps at once, with all of `known` at hand."""
    return plan_rest(filter_entries(entries, known.by_guid, traits), known, traits, fetched)


def stored(done: WritePlan, known: ExistingEntry = NOTHING, first_id: int = 1) -> ExistingEntry:
    """What a store would know after carrying out the plan."""
    by_guid, by_url, by_hash = dict(known.by_guid), dict(known.by_url), dict(known.by_hash)
    for id, new in enumerate(done.new, first_id):
        seen = Seen(id, new.url, new.change_hash, published=new.entry.published)
        if new.guid is not None:
            by_guid[new.guid] = seen
        if new.url is not None:
            by_url[new.url] = seen
        by_hash[new.change_hash] = seen
    return ExistingEntry(by_guid, by_url, by_hash)


def first(*entries: ParsedEntry, traits: Traits = PLAIN) -> WritePlan:
    return plan(entries, ExistingEntry(), traits, NOW)


def again(before: WritePlan, *entries: ParsedEntry, traits: Traits = PLAIN) -> WritePlan:
    return plan(entries, stored(before), traits, NOW)


def guids(done: WritePlan) -> list[str | None]:
    return [new.guid for new in done.new]


def test_an_entry_seen_twice_is_new_once() -> None:
    a = entry("a", "http://x/a")
    done = again(first(a), a)
    assert (done.new, done.changed, done.unchanged) == ((), (), (1,))


def test_a_changed_text_is_a_change() -> None:
    done = again(first(entry("a", "http://x/a")), entry("a", "http://x/a", "other"))
    assert [(change.entry_id, change.entry.content) for change in done.changed] == [(1, "other")]


def test_unchanged_entries_need_no_second_step() -> None:
    a, b = entry("a", "http://x/a"), entry("b", "http://x/b")
    known = stored(first(b, a))
    assert filter_entries([a, b], known.by_guid, Traits()) == FilteredEntries(unchanged=(1, 2), rest=())
    assert plan_rest(FilteredEntries((1, 2), ()), ExistingEntry(), Traits(), NOW).unchanged == (1, 2)


def test_without_a_guid_the_address_decides() -> None:
    before = first(entry(None, "http://x/a/"))
    assert again(before, entry(None, "http://X/a?utm_source=rss#top")).unchanged == (1,)
    assert len(again(before, entry(None, "http://x/a", "other")).changed) == 1


def test_a_new_guid_at_a_known_address_is_the_same_entry() -> None:
    assert again(first(entry("a", "http://x/a")), entry("b", "http://x/a")).unchanged == (1,)


def test_without_guid_and_address_the_text_decides() -> None:
    before = first(entry(None))
    assert again(before, entry(None)).unchanged == (1,)
    assert len(again(before, entry(None, text="other")).new) == 1


def test_feeds_that_reuse_addresses_may_do_so() -> None:
    live = Traits(allow_duplicate_urls=True)
    one, two = entry("a", "http://x/live", "one"), entry("b", "http://x/live", "two")
    assert guids(first(one, two)) == ["a"]
    before = first(one, two, traits=live)
    assert sorted(map(str, guids(before))) == ["a", "b"]
    assert again(before, one, two, traits=live).unchanged == (2, 1)


def test_reused_addresses_without_guids_fall_to_the_text() -> None:
    live = Traits(allow_duplicate_urls=True, unreliable=True)
    one, two = entry("a", "http://x/live", "one"), entry("a", "http://x/live", "two")
    assert len(first(one, two, one, traits=live).new) == 2


def test_the_same_entry_twice_in_a_document_is_one() -> None:
    a = entry("a", "http://x/a")
    done = first(a, a)
    assert (guids(done), done.duplicates) == (["a"], (a,))
    once_more = again(done, a, a)
    assert (once_more.unchanged, once_more.duplicates) == ((1,), (a,))


def test_entries_without_guid_and_address_that_say_the_same_are_one() -> None:
    a = entry("", "", "Closed today")
    done = first(a, a)
    assert (len(done.new), done.duplicates) == (1, (a,))


def test_a_moved_entry_is_a_change_and_counts_as_collision() -> None:
    done = again(first(entry("a", "http://x/a")), entry("a", "http://x/b", "fixed title"))
    assert (done.collisions, done.unreliable) == (1, False)
    assert [(change.entry_id, change.url) for change in done.changed] == [(1, "http://x/b")]


def test_an_entry_does_not_move_to_the_address_of_another() -> None:
    known = stored(first(entry("a", "http://x/a")))
    moved, other = entry("a", "http://x/b", "moved"), entry("b", "http://x/b", "other")
    done = plan([other, moved], known, Traits(), NOW)
    assert (guids(done), [change.url for change in done.changed]) == (["b"], [None])
    done = plan([moved, other], known, Traits(), NOW)
    assert ([change.url for change in done.changed], done.duplicates) == (["http://x/b"], (other,))


def test_three_collisions_make_guids_unreliable() -> None:
    before = first(entry("a", "http://x/a"), entry("b", "http://x/b"), entry("c", "http://x/c"))
    moved = [entry(guid, f"http://y/{guid}", "new text") for guid in "abc"]
    done = again(before, *moved)
    assert (done.collisions, done.unreliable) == (3, True)
    assert guids(done) == [None, None, None]
    third = plan([entry("a", "http://y/a", "x")], stored(before), Traits(collisions=2), NOW)
    assert third.unreliable


def test_an_entry_that_keeps_its_title_has_moved_and_is_no_collision() -> None:
    known = ExistingEntry(
        by_guid={guid: Seen(id, f"http://x/{guid}", "h", "Title") for id, guid in enumerate("abc", 1)}
    )
    done = plan([entry(guid, f"http://y/{guid}", "new text") for guid in "abc"], known, PLAIN, NOW)
    assert (done.new, done.collisions, done.unreliable) == ((), 0, False)
    assert [(change.entry_id, change.url) for change in done.changed] == [
        (1, "http://y/a"),
        (2, "http://y/b"),
        (3, "http://y/c"),
    ]


def test_in_a_short_document_an_entry_that_keeps_its_title_is_no_collision() -> None:
    """Too few entries to tell that each guid belongs to one entry: the title alone shows it."""
    known = ExistingEntry(by_guid={"a": Seen(1, "http://x/a?token=1", "h", "Title")})
    done = plan([entry("a", "http://x/a?token=2", "new text")], known, PLAIN, NOW)
    assert (done.new, done.collisions, len(done.changed)) == ((), 0, 1)


@pytest.mark.parametrize("title", ["", "Talk of the day ({} comments)"])
def test_links_titles_and_texts_that_change_at_each_fetch_double_nothing(title: str) -> None:
    def document(turn: int) -> list[ParsedEntry]:
        return [
            ParsedEntry(
                guid=guid,
                url=f"http://x/{guid}?token={turn}",
                title=title.format(turn),
                content=f'<a href="http://x/{guid}?token={turn}">More</a>',
            )
            for guid in "abcde"
        ]

    known = ExistingEntry(
        by_guid={guid: Seen(id, f"http://x/{guid}?token=1", "h", title.format(1)) for id, guid in enumerate("abcde", 1)}
    )
    done = plan(document(2), known, PLAIN, NOW)
    assert (done.new, done.collisions, len(done.changed)) == ((), 0, 5)


def test_guids_that_count_places_are_no_sign_of_the_same_entry() -> None:
    """The stored URLs moved to other guids, so the first place holds another entry now."""
    known = ExistingEntry(
        by_guid={str(n): Seen(n, f"http://x/{n}", "h", f"Old {n}") for n in (1, 2, 3)},
        by_url={f"http://x/{n}": Seen(n, f"http://x/{n}", "h", f"Old {n}") for n in (1, 2, 3)},
    )
    shifted = [entry("1", "http://x/new"), entry("2", "http://x/1"), entry("3", "http://x/2")]
    done = plan(shifted, known, PLAIN, NOW)
    assert done.unreliable and [new.url for new in done.new] == ["http://x/new"]


def test_without_guids_the_words_find_an_entry_that_moved() -> None:
    lost = Traits(unreliable=True)
    before = first(*(entry("a", f"http://x/{i}", f"text {i}") for i in range(4)), traits=lost)
    done = again(before, *(entry("a", f"http://y/{i}", f"text {i}") for i in range(4)), traits=lost)
    assert (done.new, sorted(done.unchanged)) == ((), [1, 2, 3, 4])
    # The same words at another address beside the old one are another entry.
    beside = again(before, entry("a", "http://x/0", "text 0"), entry("a", "http://y/0", "text 0"), traits=lost)
    assert (len(beside.new), beside.unchanged) == (1, (4,))


@pytest.mark.parametrize(
    ("guid", "url"), [("{1}/{0}", "http://x/{1}?s={0}"), ("{1}/{0}", None), (None, "http://x/{1}?s={0}")]
)
def test_guids_and_links_that_both_change_at_each_fetch_double_nothing(guid: str | None, url: str | None) -> None:
    def document(turn: int, published: Instant | None = None) -> list[ParsedEntry]:
        return [
            entry(guid and guid.format(turn, n), url and url.format(turn, n), f"text {n}", published) for n in range(5)
        ]

    for published in (None, DAY):
        before = first(*document(1, published))
        news = entry("news", "http://x/news", "news", published)
        done = again(before, news, *document(2, published))
        assert ([new.entry for new in done.new], sorted(done.unchanged)) == ([news], [1, 2, 3, 4, 5])
    # The same texts with other dates are other entries.
    assert len(again(before, *document(2, 2 * DAY)).new) == 5


def test_links_and_texts_with_new_tokens_double_nothing_where_titles_and_dates_are_known() -> None:
    def document(turn: int, titles: str = "abcde", day: int = 0) -> list[ParsedEntry]:
        return [
            ParsedEntry(
                guid=None,
                url=f"http://x/{n}?token={turn}",
                title=f"Talk {title}",
                content=f'<a href="http://x/{n}?token={turn}">More</a>',
                published=(day + n) * DAY,
            )
            for n, title in enumerate(titles)
        ]

    before = first(*document(1))
    known = ExistingEntry(
        by_hash={
            new.change_hash: Seen(id, new.url, new.change_hash, new.entry.title, new.entry.published)
            for id, new in enumerate(before.new, 1)
        }
    )
    done = plan(document(2), known, PLAIN, NOW)
    assert (done.new, sorted(change.entry_id for change in done.changed)) == ((), [1, 2, 3, 4, 5])
    # Other dates, and a document of which little is known, tell nothing.
    assert len(plan(document(2, day=10), known, PLAIN, NOW).new) == 5
    assert len(plan(document(2, "abxyz"), known, PLAIN, NOW).new) == 5
    # Neither does a title that stands twice on one date.
    twice = [*document(2), document(2)[0]._replace(url="http://x/other")]
    assert {new.url for new in plan(twice, known, PLAIN, NOW).new} == {"http://x/0?token=2", "http://x/other"}


def test_a_notice_that_is_given_again_is_another_entry() -> None:
    before = first(entry("1", "http://x/1", "All is well"))
    assert len(again(before, entry("2", "http://x/2", "All is well")).new) == 1
    dated = first(entry("1", "http://x/1", "All is well", DAY))
    assert len(again(dated, entry("2", "http://x/2", "All is well", 2 * DAY)).new) == 1
    assert again(dated, entry("2", "http://x/2", "All is well", DAY)).unchanged == (1,)


@pytest.mark.parametrize(
    "text", ["<p>One two</p><p>three</p>", " <p>One  two</p>\n\n<p>\tthree </p>", "<p>One\r\ntwo</p> <p>three</p>"]
)
def test_white_space_makes_no_second_entry(text: str) -> None:
    before = first(entry(None, None, "<p>One two</p>\n<p>three</p>"))
    done = again(before, entry(None, None, text))
    assert (done.new, done.changed, done.unchanged) == ((), (), (1,))
    assert len(first(entry(None, None, text), entry(None, None, "<p>One two</p>\n<p>three</p>")).new) == 1
    assert len(again(before, entry(None, None, "<p>Onetwo</p><p>three</p>")).new) == 1


def test_a_text_stored_with_its_spaces_is_known_again() -> None:
    spaced = entry(None, None, "one  two")
    known = ExistingEntry(by_hash={change_hash("Title", "one  two"): Seen(5, None, change_hash("Title", "one  two"))})
    assert plan([spaced], known, PLAIN, NOW).unchanged == (5,)


def test_one_guid_for_all_loses_no_entry() -> None:
    entries = [entry("http://x/", f"http://x/{i}", f"text {i}") for i in range(9)]
    done = first(*entries)
    assert (len(done.new), done.unreliable) == (9, True)
    known = stored(done)
    assert plan(entries, known, Traits(done.collisions, done.unreliable), NOW).unchanged == tuple(range(9, 0, -1))


def test_two_entries_under_one_guid_stay_two_and_do_not_flap() -> None:
    one, two = entry("a", "http://x/1", "one"), entry("a", "http://x/2", "two")
    before = first(one, two)
    assert len(before.new) == 2
    done = again(before, two, one)
    assert (done.changed, done.new, sorted(done.unchanged)) == ((), (), [1, 2])
    assert done.collisions == 1


def test_suspicious_guids_count_once_at_the_first_fetch() -> None:
    entries = [entry(f"12345678901{i}", f"http://x/{i}", str(i)) for i in range(5)]
    assert first(*entries, traits=Traits(first_fetch=True)).collisions == 1
    assert first(*entries).collisions == 0
    assert is_suspicious_guid("post-1712345678")
    assert not is_suspicious_guid("https://x/?p=1234567890")
    assert not is_suspicious_guid("1234567890")


def test_credentials_in_an_address_refuse_the_entry() -> None:
    bad = entry("a", "http://me:secret@x/a")
    done = first(bad, entry("b", "mailto:me@x"))
    assert (done.refused, guids(done)) == ((bad,), ["b"])


def test_what_retention_removed_does_not_come_back() -> None:
    a = entry("a", "http://x/a")
    gone = Seen(None, "http://x/a", change_hash("Title", "text"))
    for known in (ExistingEntry(by_guid={"a": gone}), ExistingEntry(by_url={"http://x/a": gone})):
        done = plan([a], known, Traits(), NOW)
        assert (done.new, done.forgotten) == ((), (a,))


def test_new_entries_come_oldest_first() -> None:
    top, middle, dated = entry("a"), entry("b"), entry("c", published=NOW - DAY)
    assert guids(first(top, middle, dated)) == ["c", "b", "a"]


def test_the_sort_moment_is_never_in_the_future_nor_before_the_web() -> None:
    assert sort_at(NOW - DAY, NOW) == NOW - DAY
    assert sort_at(None, NOW) == NOW
    assert sort_at(NOW + DAY, NOW) == NOW
    assert sort_at(0, NOW) == NOW


def test_only_the_newest_are_taken_in_the_order_of_the_document() -> None:
    entries = [entry(str(i), published=NOW - (DAY * (i * 7 % 10))) for i in range(10)]
    assert [kept.guid for kept in newest(entries, NOW, limit=3)] == ["0", "3", "6"]
    assert newest(entries, NOW) is entries


def test_title_and_content_do_not_run_together() -> None:
    assert change_hash("ab", "c") != change_hash("a", "bc")
    assert len(change_hash("\ud800", "")) == 32


ENTRIES = st.lists(
    st.builds(
        entry,
        st.sampled_from([None, "", "a", "b", "c", "1712345678"]),
        st.sampled_from([None, "http://x/1", "http://x/2", "http://x/2#f", "http://x/3/", "http://u@x/", "tag:x"]),
        st.sampled_from(["one", "two", "three"]),
        st.none() | st.integers(-DAY, NOW + DAY),
    ),
    max_size=12,
)
TRAITS = st.builds(Traits, st.integers(0, 2), st.booleans(), st.booleans(), st.booleans())


def carry_out(done: WritePlan, known: ExistingEntry, next_id: int) -> ExistingEntry:
    """As `stored`, with changes: the unique keys of a store would raise where this asserts."""
    for new in done.new:
        assert new.guid is None or new.guid not in known.by_guid
    after = stored(done, known, next_id)
    for change in done.changed:
        seen = Seen(change.entry_id, change.url, change.change_hash)
        for index in (after.by_guid, after.by_url):
            for key in [key for key, old in index.items() if old.entry_id == change.entry_id]:
                index[key] = seen
    return after


@given(st.lists(ENTRIES, min_size=1, max_size=4), TRAITS)
def test_no_entry_is_lost_and_none_is_doubled(documents: list[list[ParsedEntry]], traits: Traits) -> None:
    known, next_id = ExistingEntry(), 1
    for document in documents:
        done = plan(document, known, traits, NOW)
        placed = (*done.new, *done.changed, *done.unchanged, *done.duplicates, *done.forgotten, *done.refused)
        assert len(placed) == len(document)
        touched = [*(change.entry_id for change in done.changed), *done.unchanged]
        assert len(touched) == len(set(touched))
        fresh = [new.guid for new in done.new if new.guid is not None]
        assert len(fresh) == len(set(fresh))
        if not traits.allow_duplicate_urls:
            addresses = [each.url for each in (*done.new, *done.changed) if each.url is not None]
            assert len(addresses) == len(set(addresses))
            assert not {new.url for new in done.new} & set(known.by_url)
        assert [new.sort_at for new in done.new] == sorted(new.sort_at for new in done.new)
        assert done.collisions >= traits.collisions
        known = carry_out(done, known, next_id)
        next_id += len(done.new)
        traits = Traits(done.collisions, done.unreliable, traits.allow_duplicate_urls)


@given(ENTRIES, TRAITS)
def test_a_second_look_at_the_same_document_finds_nothing_new(document: list[ParsedEntry], traits: Traits) -> None:
    before = plan(document, ExistingEntry(), traits, NOW)
    settled = Traits(before.collisions, before.unreliable, traits.allow_duplicate_urls)
    done = plan(document, stored(before), settled, NOW)
    if done.unreliable == settled.unreliable:
        assert done.new == ()
    else:
        # Without its guid, what stood behind another entry may step forward once.
        assert {new.entry for new in done.new} <= set(before.duplicates)
