"""Questions: the words that are looked for, and where they are told best."""

import pytest

from reedbed.ai.responses import read_answer
from reedbed.domain.folders import FolderRow
from reedbed.domain.questions import search_for
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
