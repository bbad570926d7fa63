"""The labelled data of `bench/data/intelligence` means what its README says."""

from collections import Counter

import pytest

from bench.judged.data import (
    SPLITS,
    changed_facts,
    exactness_traps,
    labelled_articles,
    labelled_entries,
    questions,
    related_pairs,
    word_pairs,
)
from reedbed.domain.text import index_text
from reedbed.ingest.text import clean_text


def _folded(text: str) -> str:
    return f" {' '.join(index_text(text).split())} "


def test_no_story_is_in_two_splits() -> None:
    stories = [{entry.story for entry in [*labelled_entries(split), *labelled_articles(split)]} for split in SPLITS]
    assert sum(map(len, stories)) == len(set[str]().union(*stories))


@pytest.mark.parametrize("half", SPLITS)
def test_ids_are_unique(half: str) -> None:
    entries = [*labelled_entries(half), *labelled_articles(half)]
    assert [id_ for id_, number in Counter(entry.id for entry in entries).items() if number > 1] == []


@pytest.mark.parametrize("half", SPLITS)
def test_an_answer_stands_in_the_entries_that_give_it(half: str) -> None:
    texts = {
        entry.id: _folded(f"{entry.title} {clean_text(entry.html)}")
        for entry in [*labelled_entries(half), *labelled_articles(half)]
    }
    silent = [
        (question.id, entry)
        for question in questions(half)
        for entry in question.entries
        if not any(_folded(answer) in texts[entry] for answer in question.answers)
    ]
    assert silent == []


@pytest.mark.parametrize("half", SPLITS)
def test_articles_hold_their_key_facts(half: str) -> None:
    missing = [
        (article.id, fact)
        for article in labelled_articles(half)
        for fact in article.key_facts
        if _folded(fact) not in _folded(clean_text(article.html))
    ]
    assert missing == []


@pytest.mark.parametrize("half", SPLITS)
def test_a_text_holds_another_form_of_the_word_only(half: str) -> None:
    same = [pair for pair in word_pairs(half) if _folded(pair.query) in _folded(pair.text)]
    assert same == []


@pytest.mark.parametrize("half", SPLITS)
def test_a_trap_differs_in_its_texts(half: str) -> None:
    assert [trap for trap in exactness_traps(half) if trap.wanted == trap.unwanted] == []


@pytest.mark.parametrize("half", SPLITS)
def test_changed_facts_and_related_pairs_are_about_entries_of_the_split(half: str) -> None:
    entries = labelled_entries(half)
    texts: dict[tuple[str, str], str] = {}
    for entry in entries:
        key = entry.story, entry.language
        texts[key] = f"{texts.get(key, '')} {entry.title} {clean_text(entry.html)}".casefold()
    unknown = [
        part
        for facts in changed_facts(half)
        for part in facts.superseded
        if part.casefold() not in texts[facts.story, facts.language]
    ]
    ids = {entry.id for entry in entries}
    assert unknown == [] and all({pair.article, pair.other} <= ids for pair in related_pairs(half))
