"""Words that a user wants marked, in titles and in sanitised markup."""

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.highlights import check_marked_words, mark_words_in_html, mark_words_in_text


@pytest.mark.parametrize(
    ("words", "text", "marked"),
    [
        ("heron", "A Heron, herons", 'A <mark class="word">Heron</mark>, herons'),
        ("heron*", "Herons", '<mark class="word">Herons</mark>'),
        (
            "grey heron\ngrey",
            "Grey heron, grey",
            '<mark class="word">Grey heron</mark>, <mark class="word">grey</mark>',
        ),
        ("鹭", "苍鹭飞", '苍<mark class="word">鹭</mark>飞'),
        ("r&d", "R&D <b>", '<mark class="word">R&amp;D</mark> &lt;b&gt;'),
        ("c++", "C++ now", '<mark class="word">C++</mark> now'),
    ],
)
def test_whole_words_are_marked(words: str, text: str, marked: str) -> None:
    assert mark_words_in_text(words, text) == marked


def test_nothing_is_marked_without_a_match() -> None:
    assert mark_words_in_text("heron", "A duck <b>") is None
    assert mark_words_in_text("", "A duck") is None
    assert mark_words_in_text(" * \n", "A * duck") is None


def test_attributes_tags_and_entities_stay_as_they_are() -> None:
    html = '<p title="heron > heron"><a href="/heron">Heron</a> &amp; amp</p>'
    marked = '<p title="heron > heron"><a href="/heron"><mark class="word">Heron</mark></a> &amp; '
    assert mark_words_in_html("heron\namp\np", html) == marked + '<mark class="word">amp</mark></p>'


def test_too_many_and_too_long_words_are_refused() -> None:
    assert check_marked_words(" a \n\na\nb ") == "a\nb"
    with pytest.raises(Invalid):
        check_marked_words("\n".join(map(str, range(101))))
    with pytest.raises(Invalid):
        check_marked_words("x" * 61)
