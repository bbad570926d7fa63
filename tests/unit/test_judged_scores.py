"""What the benchmarks of stories and Ask count."""

import pytest

from bench.judged.asking import BEST, place_of_answer
from bench.judged.data import AskedQuestion, LabelledEntry
from bench.judged.grounding import INVENTED, lie, numbers_in
from bench.judged.grouping import score
from reedbed.domain.digests import Sentence


def _entry(id_: str, story: str, language: str = "en") -> LabelledEntry:
    return LabelledEntry(id_, story, language, "An outlet", 0, id_, "")


QUAKE = [_entry("a", "quake"), _entry("b", "quake"), _entry("c", "vote")]


def test_a_grouping_like_the_labels_is_perfect() -> None:
    assert score(QUAKE, {"a": 1, "b": 1, "c": 2}) == ((1, 1, 1), (1, 1, 1))


def test_a_wrong_entry_costs_precision() -> None:
    (precision, recall, _), (b_cubed, _, _) = score(QUAKE, {"a": 1, "b": 1, "c": 1})
    assert (precision, recall) == (pytest.approx(1 / 3), 1)
    assert b_cubed == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)


def test_a_split_story_costs_recall() -> None:
    (_, recall, _), (precision, b_cubed, _) = score(QUAKE, {"a": 1, "b": 3, "c": 2})
    assert (recall, precision, b_cubed) == (0, 1, pytest.approx(2 / 3))


def test_entries_that_are_not_labelled_cost_precision() -> None:
    (precision, _, _), _ = score(QUAKE, {"a": 1, "b": 1, "c": 2, "headline": 1})
    assert precision == pytest.approx(1 / 3)


def test_an_event_in_two_languages_is_neither_right_nor_wrong_in_one_story() -> None:
    entries = [*QUAKE, _entry("d", "quake", "de")]
    together = score(entries, {"a": 1, "b": 1, "c": 2, "d": 1})
    assert together == score(entries, {"a": 1, "b": 1, "c": 2, "d": 4}) == ((1, 1, 1), (1, 1, 1))


QUESTION = AskedQuestion("q", "en", "How strong was it?", frozenset({"a"}), ("6.8",))
LABELS = {1: "a", 2: "b"}


def test_an_answer_holds_the_string_and_cites_an_entry_that_gives_it() -> None:
    claims = (Sentence("It was 6.8.", (2,)), Sentence("It was strong.", (1,)), Sentence("It was 6.8.", (1,)))
    assert place_of_answer(QUESTION, claims, LABELS) == 3


@pytest.mark.parametrize("claims", [(), (Sentence("It was strong.", (1,)),)])
def test_no_answer_is_beyond_the_best(claims: tuple[Sentence, ...]) -> None:
    assert place_of_answer(QUESTION, claims, LABELS) > BEST


def test_numbers_are_compared_without_separators() -> None:
    assert numbers_in("4,200 and 4.200 of 12 people") == {"4200", "12"}


def test_the_model_of_the_benchmark_invents_numbers_and_sources() -> None:
    material = {"content": "[1] A heron (Wire Desk)\nIt nests."}
    for task in ("paragraphs", '"claims"', "one_line"):
        assert INVENTED in (lie({"messages": [{"content": task}, material]}).text or "")
