"""Which language a browser gets, and how each language writes numbers, dates and lists."""

from datetime import datetime

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.languages import LANGUAGES, Conventions, match_language, negotiate_language
from reedbed.domain.users import Preferences, change_preferences
from reedbed.web.i18n import conventions

ALL = tuple(LANGUAGES)
MOMENT = datetime(2026, 3, 4, 8, 5)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("", "en"),
        ("fr-CA, fr;q=0.9", "fr"),
        ("de;q=0.3, fr;q=0.7, en;q=0.5", "fr"),
        ("de;q=0, en", "en"),
        ("pt", "pt-BR"),
        ("pt-PT, en;q=0.5", "pt-BR"),
        ("PT-br", "pt-BR"),
        ("zh", "zh-Hans"),
        ("zh-CN, en;q=0.5", "zh-Hans"),
        ("zh-SG", "zh-Hans"),
        ("zh-Hans-CN", "zh-Hans"),
        ("zh-Hans-HK", "zh-Hans"),
        ("zh-TW, zh;q=0.9, en-US;q=0.8, en;q=0.7", "en"),
        ("zh-Hant", "en"),
        ("zh-HK, zh-CN;q=0.4", "zh-Hans"),
        ("nb-NO, nb;q=0.9, no;q=0.8", "en"),
        ("nb, de;q=0.2", "de"),
        ("ja-JP-u-ca-japanese", "ja"),
        ("en-XA", "en"),
        ("xx, *;q=0.5, de;q=0.1", "en"),
        ("*", "en"),
        ("de;q=often, fr;q=0.1", "fr"),
        ("de;level=1, fr", "fr"),
        (",;,=;q=,", "en"),
        ("fr;q=-1, de;q=7, it;q=1e-3", "it"),
        ("x" * 5_000, "en"),
        (",".join(["xx"] * 5_000 + ["de"]), "en"),
    ],
)
def test_a_browser_gets_the_language_it_likes_best_of_those_there_are(header: str, wanted: str) -> None:
    assert negotiate_language(header, ALL) == wanted


def test_only_languages_with_a_catalogue_are_offered() -> None:
    assert negotiate_language("fr, de;q=0.5", ("en", "de")) == "de"
    assert match_language("zh-TW", ("en", "zh-Hans", "zh-Hant")) == "zh-Hant"
    assert match_language("de_AT", ("en", "de")) == "de"


def test_a_language_that_is_not_offered_is_refused_but_one_that_is_stored_stays() -> None:
    assert change_preferences(Preferences(), {"language": "pt-BR"}).language == "pt-BR"
    assert change_preferences(Preferences(), {"language": "de-AT"}).language == "de-AT"
    assert change_preferences(Preferences(language="sv"), {"language": "sv", "order": "oldest"}).language == "sv"
    for wrong in ("sv", "zh-TW", "deutsch!"):
        with pytest.raises(Invalid, match="language must be"):
            change_preferences(Preferences(), {"language": wrong})


def test_german_and_english_are_written_as_they_always_were() -> None:
    english, german = Conventions(), conventions("de")
    assert [english.grouped(999), english.grouped(1_000), english.grouped(1_234_567)] == [
        *("999", "1\u202f000", "1\u202f234\u202f567")
    ]
    assert german.grouped(1_234) == "1\u202f234"
    assert [english.decimals(1_234.56, 1), german.decimals(-0.04, 1), german.decimals(-1.5, 1)] == [
        *("1\u202f234.6", "0,0", "-1,5")
    ]
    assert english.weekday_date(MOMENT, with_year=True) == "Wed 4\u00a0Mar\u00a02026"
    assert german.weekday_date(MOMENT, with_year=False) == "Mi. 4\u00a0März"
    assert [english.full_date(MOMENT), german.full_date(MOMENT)] == ["Wednesday, 4 March", "Mittwoch, 4. März"]
    assert english.clock(MOMENT) == "08:05"
    assert [english.percentage(98.5, 1), german.percentage(98.5, 1)] == ["98.5\u00a0%", "98,5\u00a0%"]


@pytest.mark.parametrize(
    ("code", "number", "day", "items"),
    [
        ("fr", "12\u202f345,5", "mer. 4\u00a0mars\u00a02026", "a, b et c"),
        ("es", "12.345,5", "mié, 4\u00a0mar\u00a02026", "a, b y c"),
        ("pt-BR", "12.345,5", "qua., 4\u00a0de\u00a0mar.\u00a0de\u00a02026", "a, b e c"),
        ("it", "12.345,5", "mer 4\u00a0mar\u00a02026", "a, b e c"),
        ("nl", "12.345,5", "wo 4\u00a0mrt\u00a02026", "a, b en c"),
        ("pl", "12\u00a0345,5", "śr., 4\u00a0mar\u00a02026", "a, b i c"),
        ("ru", "12\u00a0345,5", "ср, 4\u00a0мар.\u00a02026\u202fг.", "a, b и c"),
        ("uk", "12\u00a0345,5", "ср, 4\u00a0бер.\u00a02026\u202fр.", "a, b і c"),
        ("ja", "12,345.5", "2026年3月4日(水)", "a、b、c"),
        ("zh-Hans", "12,345.5", "2026年3月4日周三", "a、b和c"),
    ],
)
def test_each_language_writes_numbers_dates_and_lists_its_own_way(code: str, number: str, day: str, items: str) -> None:
    ways = conventions(code)
    assert ways.decimals(12_345.5, 1) == number
    assert ways.weekday_date(MOMENT, with_year=True) == day
    assert ways.listed(["a", "b", "c"]) == items
    assert [ways.listed([]), ways.listed(["a"])] == ["", "a"]
    assert ways.enumerated(["{0}", "b"]) in ("{0}, b", "{0}、b")


def test_four_digits_are_not_grouped_where_that_is_the_custom() -> None:
    assert [conventions(code).grouped(1_234) for code in ("es", "it", "pl", "nl")] == ["1234", "1234", "1234", "1.234"]
    assert conventions("ja").clock(MOMENT) == "8:05"
    assert conventions("zh-Hans").full_date(MOMENT) == "3月4日星期三"
