import json

import pytest
import reedbed_tides as tides

ENTRY = {"title": "A quiet day", "categories": ["sea"], "content": "<p>Text.</p>"}


def test_a_harbour_is_a_feed():
    feed = json.loads(tides.fetch_source("https://tides.example/harwich"))
    assert feed["title"] == "Tides at Harwich" and len(feed["items"]) == 2
    assert feed == json.loads(tides.fetch_source("https://tides.example/harwich"))


def test_an_unknown_harbour_is_named():
    with pytest.raises(LookupError, match="atlantis"):
        tides.fetch_source("https://tides.example/atlantis")


@pytest.mark.parametrize(
    ("title", "answer"),
    [
        ("A quiet day", None),
        ("Sponsored: buy this", False),
        ("THE HARBOUR IS CLOSED", {"title": "The harbour is closed"}),
        ("Fish for £3", {"categories": ["sea", "prices"]}),
    ],
)
def test_entries_are_changed_or_left_out(title, answer):
    assert tides.entry_arriving({**ENTRY, "title": title}) == answer


def test_the_model_answers_in_the_schema():
    numbers = {"type": "array", "items": {"type": "integer"}}
    schema = {"type": "object", "properties": {"summary": {"type": "string"}, "ids": numbers}}
    request = {"instructions": "", "material": "The ferry is late. It rains.", "schema": schema}
    assert json.loads(tides.ask_model(request)) == {"summary": "The ferry is late.", "ids": [1]}
