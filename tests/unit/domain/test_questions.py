"""Questions: the words that are looked for, and where they are told best."""

import pytest

from reedbed.ai.extractive import excerpt, quote
from reedbed.ai.responses import read_answer
from reedbed.domain.folders import FolderRow
from reedbed.domain.questions import CitablePassage, best_passages, question_stems, search_for, weights
from reedbed.domain.summaries import NEVER, min_summary_words
from reedbed.domain.users import Preferences


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did the council say about the bridges?", ("counc", "bridg")),
        ("Wer hat die Wahl gewonnen?", ("wahl", "gewon")),
        ('feed:secret is:starred -not "phrase OR', ("feed", "secre", "starr", "phras")),
        ("Why?", ()),
        ("東京", ("東京",)),
    ],
)
def test_only_words_that_say_something_are_looked_for(question: str, words: tuple[str, ...]) -> None:
    assert question_stems(question) == words


def test_a_search_asks_for_any_word_within_the_scope() -> None:
    assert search_for(["counc", "uk", "2026"], "folder:News") == "counc* OR uk OR 2026 folder:News"
    assert search_for([], None) == ""


def test_the_entry_that_names_most_comes_first() -> None:
    both, one = _passage(1, "A heron in the harbour."), _passage(2, "A heron.")
    worth = weights(("heron", "harbo"), [one, both])
    assert best_passages(worth, [one, both]) == [both, one]


def test_a_long_entry_is_read_where_it_matters() -> None:
    text = "It begins. It goes on. " + "Nothing here matters at all. " * 100 + "The heron nests in May."
    told = excerpt({"heron": 1.0}, _passage(1, text), 200)
    assert told.startswith("It begins.") and told.endswith("The heron nests in May.") and len(told) <= 200


def test_headings_and_captions_are_no_answers() -> None:
    told = quote({"heron": 1.0}, [_passage(1, "Herons\nA heron.\nThe heron nests in May.")])
    assert [sentence.text for sentence in told] == ["The heron nests in May."]
    assert quote({"東京": 1.0}, [_passage(2, "東京は大きい。")])


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"answered": 1, "claims": []}', '{"answered": true}'])
def test_an_answer_that_does_not_fit_is_none(said: str) -> None:
    assert read_answer(said, {1}) is None


def test_the_nearest_wish_counts() -> None:
    rows = [FolderRow(1, None, "a", summary_words=0), FolderRow(2, 1, "b"), FolderRow(3, None, "c")]
    all_on = Preferences(auto_summaries=True, auto_summary_words=300)
    assert min_summary_words(NEVER, 2, rows, all_on) == NEVER
    assert min_summary_words(None, 2, rows, all_on) == 0
    assert min_summary_words(None, 3, rows, all_on) == 300
    assert min_summary_words(None, None, rows, Preferences()) == NEVER


def _passage(entry_id: int, text: str) -> CitablePassage:
    return CitablePassage(entry_id, "", text, 1, "A feed", 0)
