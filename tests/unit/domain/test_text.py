import pytest

from reedbed.domain.entries import tag_name
from reedbed.domain.errors import Invalid
from reedbed.domain.folders import folder_name
from reedbed.domain.search.query import search_name
from reedbed.domain.text import clean_line, text_direction


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("  two \n lines\t", "two lines"),
        ("evil \u202egnirts\u202c", "evil gnirts"),
        ("\u2066isolated\u2069 \u200bwords\ufeff", "isolated words"),
        ("bell\x07 and \x9bescape", "bell and escape"),
        ("\u200b\u200d\u2060", ""),
        ("\u3164", ""),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\U0001f469\u200d\U0001f33e", "\U0001f469\u200d\U0001f33e"),
        ("lone \ud800 surrogate", "lone surrogate"),
    ],
)
def test_a_line_shows_what_it_says(given: str, shown: str) -> None:
    assert clean_line(given) == shown


@pytest.mark.parametrize("check", [folder_name, search_name, tag_name])
def test_names_cannot_hide_or_turn_around(check) -> None:
    assert check("a\u202eb\u200b") == "ab"
    with pytest.raises(Invalid):
        check("\u200b\u202e")


def test_the_direction_of_a_text_is_that_of_most_of_its_letters() -> None:
    assert text_direction("NASA: ثلاثة قوارب من الميناء خرجت في الصباح") == "rtl"
    assert text_direction("The word شمس means sun, as many know") == "ltr"
    assert [text_direction("1931", language) for language in ("ar-EG", "en", "")] == ["rtl", "ltr", "ltr"]
