import re
from importlib import import_module
from pkgutil import iter_modules

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.errors import Invalid
from reedbed.domain.search.query import Filter, SearchQuery, parse_search
from reedbed.domain.search.results import excerpt, excerpt_of_markup, highlight
from reedbed.domain.text import fold, fold_with_positions, index_text, query_tokens
from reedbed.domain.times import DAY, Instant, from_datetime, rfc3339, to_datetime
from reedbed.store.migrations import versions

NOW: Instant = 1_794_735_000_000


def search(text: str) -> SearchQuery:
    return parse_search(text, NOW)


def words(text: str) -> list[list[tuple[str, ...]]]:
    return [[term.tokens for term in group] for group in search(text).groups]


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Crème brûlée, s'il vous plaît!", "creme brulee s il vous plait"),
        ("Straße Œuvre Þór", "strasse oeuvre thor"),
        ("Zażółć GĘŚLĄ jaźń", "zazolc gesla jazn"),
        ("Ещё йод", "еще иод"),
        ("ΜΆΓΟΣ", "μαγοσ"),
        ("İstanbul ışık", "istanbul isik"),
        ("cafe\u0301 na\u0308ive", "cafe naive"),
        ("Reed™ 🦊→ fox", "reed fox"),
        ("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("snake_case and-dash", "snake case and dash"),
        ("ﬁne ２０２６", "fine 2026"),
        ("Tiếng Việt", "tieng viet"),
    ],
)
def test_words_fold_to_their_plain_letters(text: str, folded: str) -> None:
    assert index_text(text).split() == folded.split()


def test_east_asian_runs_become_pairs() -> None:
    assert index_text("日本語").split() == ["日本", "本語", "語"]
    assert index_text("iPhone発売").split() == ["iphone", "発売", "売"]
    assert index_text("한국어 뉴스").split() == ["한국", "국어", "어", "뉴스", "스"]
    assert index_text("が café").split() == ["が", "cafe"]


@given(st.text())
def test_the_index_holds_letters_digits_and_blanks(text: str) -> None:
    tokens = index_text(text).split()
    assert all(token.replace("\u0345", "").isalnum() or not token.isascii() for token in tokens)
    assert "_" not in index_text(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x24F)))
def test_the_short_way_folds_like_the_long_one(text: str) -> None:
    # A sign from another script sends the whole text the long way.
    assert index_text(text).split() == index_text(text + " ☉Ա").split()[:-1]


@given(st.lists(st.sampled_from(["Größe", " naïve ", "日本", "Ђорђе", "😀", "½", "plain", "ﬁ", " "]), max_size=40))
def test_a_text_with_words_of_other_scripts_folds_as_its_parts_do(parts: list[str]) -> None:
    assert fold("".join(parts)) == "".join(map(fold, parts))


@given(st.text())
def test_places_lead_back_to_the_text(text: str) -> None:
    folded, places = fold_with_positions(text)
    assert len(places) == len(folded)
    assert list(places) == sorted(places)
    assert all(0 <= place < len(text) for place in places)


@given(st.text(alphabet="日本語のabc ", min_size=1, max_size=12), st.data())
def test_any_part_of_an_east_asian_sentence_is_found(text: str, data: st.DataObject) -> None:
    run = max(text.replace("a", " ").replace("b", " ").replace("c", " ").split(), key=len, default="")
    if not run:
        return
    start = data.draw(st.integers(0, len(run) - 1))
    part = run[start : data.draw(st.integers(start + 1, len(run)))]
    wanted, indexed = query_tokens(part), index_text(text).split()
    term = search(part).groups[0][0]
    windows = [tuple(indexed[i : i + len(wanted)]) for i in range(len(indexed))]
    if term.prefix:
        assert any(token.startswith(part) for token in indexed)
    else:
        assert wanted in windows


def test_words_phrases_prefixes_and_exclusions() -> None:
    query = search('Reed "cold water" heron* -duck -"wild geese"')
    assert words('Reed "cold water"') == [[("reed",)], [("cold", "water")]]
    assert [term.prefix for (term,) in query.groups] == [False, False, True]
    assert [term.tokens for term in query.excluded] == [("duck",), ("wild", "geese")]


def test_either_of_two() -> None:
    assert words("a OR b c") == [[("a",), ("b",)], [("c",)]]
    assert words("OR a OR") == [[("a",)]]
    assert words("a or b") == [[("a",)], [("or",)], [("b",)]]


def test_filters_differ_from_words() -> None:
    query = search('feed:"The Pond" -folder:News tag:x is:unread -is:starred lang:de author:ann title:reed water')
    assert query.filters == (
        Filter("feed", "The Pond"),
        Filter("folder", "News", negated=True),
        Filter("tag", "x"),
        Filter("is", "unread"),
        Filter("is", "starred", negated=True),
        Filter("lang", "de"),
        Filter("author", "ann"),
    )
    assert [(term.text, term.title_only) for (term,) in query.groups] == [("reed", True), ("water", False)]


def test_unknown_operators_are_words() -> None:
    assert words("http://example.com") == [[("http", "example", "com")]]
    assert words("is: c:x") == [[("is",)], [("c", "x")]]


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-11-15", "2026-11-15T00:00:00Z"),
        ("2026-11", "2026-11-01T00:00:00Z"),
        ("2026", "2026-01-01T00:00:00Z"),
        ("2026/3/4", "2026-03-04T00:00:00Z"),
        ("2026-11-15T10:00:00+02:00", "2026-11-15T08:00:00Z"),
        ("2026-11-15t10:00:00z", "2026-11-15T10:00:00Z"),
    ],
)
def test_dates_are_read(written: str, moment: str) -> None:
    assert rfc3339(search(f"after:{written}").after or 0) == moment


def test_spans_count_back_from_now() -> None:
    assert search("after:7d").after == NOW - 7 * DAY
    midnight = to_datetime(NOW).replace(hour=0, minute=0, second=0)
    assert search("before:today").before == from_datetime(midnight)
    assert search("after:yesterday").after == from_datetime(midnight) - DAY


def test_two_dates_narrow() -> None:
    query = search("after:2020 after:2024 before:2025 before:2026")
    assert rfc3339(query.after or 0).startswith("2024")
    assert rfc3339(query.before or 0).startswith("2025")


@pytest.mark.parametrize("text", ["after:soon", "before:2026-13-01", "after:0000", "before:99999999d"])
def test_a_wrong_date_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid, match=r"is not a date\. Write (after|before):2026-11-15") as refused:
        search(text)
    assert refused.value.field == "q"


@given(st.text(max_size=200) | st.text(alphabet='ab :"-*ORfeedtagis', max_size=80))
def test_anything_is_a_search(text: str) -> None:
    try:
        query = search(text)
    except Invalid as refused:
        assert refused.field == "q"
        return
    assert all(term.tokens for group in query.groups for term in group)
    shown = excerpt(text, query)
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.spans)


def test_a_search_has_an_end() -> None:
    assert len(search("a " * 5_000).groups) == 32
    assert search("   ").is_empty
    assert search("is:unread").has_words is False


def marked(text: str, query: str) -> list[str]:
    return [text[start:end] for start, end in highlight(text, search(query))]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("The Crème de la creme", "creme", ["Crème", "creme"]),
        ("reeds and reed", "reed", ["reed"]),
        ("reeds and reed", "reed*", ["reeds", "reed"]),
        ("cold, water and cold ice water", '"cold water"', ["cold, water"]),
        ("cold water and water", '"cold water"', ["cold water"]),
        ("Die Straße", "strasse", ["Straße"]),
        ("東京の日本語学校", "日本語", ["日本語"]),
        ("東京の日本語学校", "学", ["学"]),
        ("iPhone発売", "iphone", ["iPhone"]),
        ("nothing here", "-nothing", []),
    ],
)
def test_matches_are_marked_in_the_text_as_written(text: str, query: str, found: list[str]) -> None:
    assert marked(text, query) == found


def test_an_excerpt_shows_the_first_match_between_whole_words() -> None:
    text = "lorem ipsum " * 200 + "the heron stands " + "dolor sit " * 200
    shown = excerpt(text, search("heron"))
    assert [shown.text[start:end] for start, end in shown.spans] == ["heron"]
    assert shown.text.startswith("… ")
    assert shown.text.endswith(" …")
    assert len(shown.text) <= 304
    assert set(shown.text.strip("… ").split()) <= set(text.split())


def test_an_excerpt_begins_where_its_first_match_is_seen_even_on_a_phone() -> None:
    text = "lorem ipsum " * 12 + "the heron stands"
    assert excerpt(text, search("heron")).text.index("heron") <= 80
    assert excerpt(text, search("lorem")).text.startswith("lorem")


def test_without_a_match_an_excerpt_is_the_beginning() -> None:
    assert excerpt("short text", search("heron")).text == "short text"
    assert excerpt("short text", search("is:read")).spans == ()


def test_folding_keeps_blanks_where_words_end() -> None:
    assert fold("a.b") == "a b"


def _without_tags(markup: str) -> str:
    return re.sub(r"<[^>]*>", "", markup.replace("</p>", "\n")).replace("&amp;", "&")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "<p>short</p>",
        "<p>" + "lorem ipsum " * 200 + "</p>",
        "<p>" + "Größe naïve … ½ " * 150 + "</p>",
        "<p>lorem</p>" * 200,
        '<p><a href="https://heron.example/heron">' + "lorem " * 300 + "</a></p>",
        "<p>" + "東京都 " * 300 + "</p>",
        "<p>Some reeds, Привет and 日本, γλώσσα</p>" * 60,
    ],
)
@pytest.mark.parametrize("after", ["", "<p>" + "dolor sit amet " * 200 + "</p>", "<p>heron</p>" * 90])
def test_an_excerpt_of_markup_is_that_of_its_whole_text(before: str, after: str) -> None:
    markup = f"{before}<p>A &amp; B, the Héron stands still in the reeds</p>{after}"
    whole = excerpt(" ".join(_without_tags(markup).split()), search("heron"))
    assert excerpt_of_markup(markup, search("heron"), _without_tags) == whole


def test_a_match_that_a_tag_splits_is_passed_over_for_a_later_one() -> None:
    markup = "<p>her<b>on</b></p>" + "<p>lorem ipsum</p>" * 80 + "<p>A heron</p>"
    assert excerpt_of_markup(markup, search("heron"), _without_tags).text.endswith("A heron")
    alone = excerpt_of_markup("<p>her<b>on</b></p>", search("heron"), _without_tags)
    assert alone.spans == ((0, 5),)


def test_an_excerpt_begins_sixty_letters_before_its_match_whatever_letters_these_are() -> None:
    plain, sharp = ("lorem ipsum " * 20, "straße ½ fußball … " * 12)
    for text in (plain, sharp):
        assert 40 < excerpt(f"{text}heron", search("heron")).text.index("heron") <= 62


def test_marks_include_accents_written_apart_and_are_whole_words() -> None:
    assert highlight("e\u0301tude", search("etude")) == ((0, 6),)
    assert highlight("co\u00adoperate", search("co")) == ()
    assert highlight("½ inch", search("1")) == ((0, 1),)
    assert highlight("straße und Straßen", search("strasse")) == ((0, 6),)


def test_saved_searches_of_before_word_forms_become_exact() -> None:
    (module,) = [found.name for found in iter_modules(versions.__path__) if found.name.endswith("_word_forms")]
    exactly = import_module(f"{versions.__name__}.{module}").exactly
    assert exactly('heron* "grey heron" egret OR wader -reed feed:marsh title:canal is:unread 2026 东京 foo-bar') == (
        'heron* "grey heron" =egret OR =wader -reed feed:marsh title:=canal is:unread 2026 东京 foo-bar'
    )
    assert search("=egret").groups[0][0].exact
