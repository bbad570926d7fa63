"""What is asked about an article's framing, and what is believed of the answer."""

import json
from typing import Any

import pytest

from reedbed.ai.model import Completion, MockModel
from reedbed.ai.prompts import framing_prompt
from reedbed.ai.responses import read_framing
from reedbed.domain.framing import CATEGORIES, SCORES, Analysis
from tests.modelserver import framing

WORDS = "SHOCK: town in chaos\n\nThe council voted. It may rain."


def read(answer: str, **options: Any) -> Analysis | None:
    return read_framing(answer, WORDS, model="m", language="en", **options)


def test_the_question_is_strict_and_cool() -> None:
    prompt = framing_prompt("A title", "The Courier", "The text.", "de", "Mind the adjectives.")
    assert prompt.temperature == 0
    assert "Write in German." in prompt.instructions and "Mind the adjectives." in prompt.instructions
    assert "The text." in prompt.material and "The text." not in prompt.instructions
    assert prompt.schema["additionalProperties"] is False
    assert set(prompt.schema["required"]) == set(prompt.schema["properties"]) >= {*SCORES, "overall"}
    assert prompt.schema["properties"]["category"]["enum"] == list(CATEGORIES)


def test_a_good_answer_is_read() -> None:
    found = read(framing("The council votes", overall=0.8, quote="town in CHAOS"))
    assert found is not None
    assert (found.title, found.category, found.overall.value) == ("The council votes", "politics", 0.8)
    assert [score.name for score in found.scores] == list(SCORES)
    assert found.scores[0].quote == "town in CHAOS"


def test_a_quote_that_is_not_in_the_article_is_dropped() -> None:
    found = read(framing(quote="riots everywhere"))
    assert found is not None
    assert {score.quote for score in found.scores} == {""}


@pytest.mark.parametrize("bad", [-0.01, 1.01, 7, "0.5", True, None, [], float("nan"), float("inf")])
def test_a_score_out_of_range_rejects_the_answer_even_at_the_last_try(bad: Any) -> None:
    assert read(framing(overall=bad)) is None
    spoilt = {"score": bad, "reason": "", "quote": ""}
    assert read(framing(clickbait=spoilt), last_try=True) is None


@pytest.mark.parametrize("missing", [*SCORES, "overall", "title_corrected"])
def test_an_answer_with_a_part_missing_is_rejected(missing: str) -> None:
    said = json.loads(framing())
    del said[missing]
    assert read(json.dumps(said)) is None


@pytest.mark.parametrize("odd", ["Politics!", "", None, 5, ["politics"]])
def test_an_unknown_category_counts_as_an_attempt_and_ends_as_other(odd: Any) -> None:
    assert read(framing(category=odd)) is None
    last = read(framing(category=odd), last_try=True)
    assert last is not None and last.category == "other"


def test_the_answer_becomes_plain_words_of_bounded_length() -> None:
    found = read(
        framing(
            "<b>Vote</b> https://evil.example/x",
            text_corrected="One.\n\n<script>Two</script>\nThree.\n\n\nFour.\nFive.",
            framing={"score": 1, "reason": "word " * 40, "quote": ""},
            description_corrected="x" * 9_000,
        )
    )
    assert found is not None
    assert found.title == "Vote"
    assert found.text == "One.\n\nTwo\n\nThree.\n\nFour."
    assert len(found.scores[0].reason.split()) == 10
    assert len(found.description) <= 800


@pytest.mark.parametrize("nonsense", ["", "no", "[]", "{}", '{"category": "politics"}', "null", "{" * 5_000])
def test_nonsense_is_no_analysis(nonsense: str) -> None:
    assert read(nonsense, last_try=True) is None


async def test_the_mock_answers_as_asked() -> None:
    answer = await MockModel().ask(framing_prompt("A vote", "S", "Text", "", None))
    assert isinstance(answer, Completion)
    found = read_framing(answer.text, "A vote", model="mock", language="")
    assert found is not None and found.overall.quote == "A vote"
