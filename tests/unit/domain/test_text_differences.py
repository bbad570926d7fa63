import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reedbed.domain.text import differences


def shown(before: str, after: str) -> list[str]:
    marks = {"same": " ", "added": "+", "removed": "-"}
    return [marks[piece.kind] + piece.text for piece in differences(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("a b c", "a b c", [" a b c"]),
        ("a b c", "a x c", [" a ", "-b", "+x", "  c"]),
        ("a b", "a b c", [" a b", "+ c"]),
        ("a b c", "b c", ["-a ", " b c"]),
        ("one two three", "four five three", ["-one two", "+four five", "  three"]),
        ("cold water.", "cold water!", [" cold water", "-.", "+!"]),
        ("東京は晴れ", "東京は雨", [" 東京は", "-晴れ", "+雨"]),
        ("", "new", ["+new"]),
        ("", "", []),
    ],
)
def test_changes_are_shown_by_words(before: str, after: str, pieces: list[str]) -> None:
    assert shown(before, after) == pieces


TEXTS = st.text(alphabet="ab .\n", max_size=30) | st.text(max_size=30)


@given(TEXTS, TEXTS)
def test_both_versions_can_be_read_from_the_difference(before: str, after: str) -> None:
    pieces = differences(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after
    assert all(piece.text for piece in pieces)


def test_a_text_that_changed_much_is_shown_by_sentences() -> None:
    random = Random(3)
    sentences = [" ".join(random.choices("abcdefghijkl", k=30)) + ". " for _ in range(60)]
    rewritten = [" ".join(random.choices("mnopqrstuvw", k=30)) + ". " for _ in range(30)]
    pieces = differences("".join(sentences), "".join([*sentences[:30], *rewritten]))
    assert [piece.kind for piece in pieces] == ["same", "removed", "added"]
    assert pieces[0].text == "".join(sentences[:30])


@pytest.mark.parametrize("letters", ["ab", "abcdefghijklmnop", "a"])
@pytest.mark.parametrize("count", [9_500, 60_000])
def test_no_pair_of_texts_takes_long(letters: str, count: int) -> None:
    random = Random(7)
    one, other = (" ".join(random.choices(letters, k=count - less)) for less in (0, 300))
    begun = time.process_time()
    pieces = differences(one, other)
    assert time.process_time() - begun < 3
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == one


def test_a_small_change_in_a_long_text_stays_small() -> None:
    words = [str(number) for number in range(100_000)]
    before, after = " ".join(words), " ".join([*words[:50_000], "here", *words[50_001:]])
    assert [piece.text for piece in differences(before, after) if piece.kind != "same"] == ["50000", "here"]
