"""Questions: the words that are looked for, and where they are told best."""

import pytest

from reedbed.ai.responses import read_answer
from reedbed.domain.digests import DigestScope, Sentence
from reedbed.domain.folders import FolderRow
from reedbed.domain.questions import AnswerText, Question, names_to_ask, search_for
from reedbed.domain.summaries import NEVER, min_summary_words
from reedbed.domain.users import Preferences


def test_a_search_asks_for_any_word_within_the_scope() -> None:
    assert search_for(["counc", "uk", "2026"], "folder:News") == "counc* OR uk OR 2026 folder:News"
    assert search_for([], None) == ""


@pytest.mark.parametrize("said", ["", "[]", "{}", '{"answered": 1, "claims": []}', '{"answered": true}'])
def test_an_answer_that_does_not_fit_is_none(said: str) -> None:
    assert read_answer(said, {1: "A text."}) is None


def test_the_nearest_wish_counts() -> None:
    rows = [FolderRow(1, None, "a", summary_words=0), FolderRow(2, 1, "b"), FolderRow(3, None, "c")]
    all_on = Preferences(auto_summaries=True, auto_summary_words=300)
    assert min_summary_words(NEVER, 2, rows, all_on) == NEVER
    assert min_summary_words(None, 2, rows, all_on) == 0
    assert min_summary_words(None, 3, rows, all_on) == 300
    assert min_summary_words(None, None, rows, Preferences()) == NEVER


@pytest.mark.parametrize(
    ("question", "said", "language", "names"),
    [
        ("What about the rate?", "The Central Bank of Valdoria left it, Helena Brandt said.", "en",
         ("Central Bank of Valdoria", "Helena Brandt")),
        ("What did Helena Brandt say?", "Helena Brandt spoke of Tarrano.", "en", ()),
        ("Wer tritt zurück?", "Finanzminister Theo Brandner geht.", "de", ("Theo Brandner",)),
        ("What closes?", "BRIDGE OF SIGHS: Ada Quill’s ferry sails.", "en", ("Ada Quill",)),
        ("Что закрыто?", "Совет закрыл разводной мост для машин.", "ru", ()),
        ("What happened?", "Central Bank Of Valdoria Keeps Its Interest Rates", "en", ()),
    ],
)  # fmt: skip
def test_names_in_an_answer_can_be_asked_about_next(
    question: str, said: str, language: str, names: tuple[str, ...]
) -> None:
    claim = Sentence(said, (1,), language)
    asked = Question(1, 1, question, "ready", DigestScope(), "", None, 0, 0, answer=AnswerText((claim,)))
    assert names_to_ask(asked) == names
