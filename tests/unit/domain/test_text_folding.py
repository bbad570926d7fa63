"""Folding has quick ways and a slow one; they have to agree."""

import random

import pytest

from reedbed.domain import text as folding
from reedbed.domain.search.indexing import search_words
from reedbed.domain.text import index_text

WORDS = (
    "water", "Crème", "naïve", "“quoted”", "日本語", "한국어", "テスト", "Ελλάδα", "вода", "œuvre", "ﬁn",
    "e\u0301te\u0301",
    "emoji🙂here", "™", "x\u200by", "straße", "ǅungla", "中", "a日b", "\u0301日",
)  # fmt: skip


def slowly(text: str) -> list[str]:
    return folding._CJK_RUN.sub(folding._pairs, folding._fold_any(text)).split()


@pytest.mark.parametrize("seed", range(40))
def test_a_few_foreign_words_change_nothing_but_the_time(seed: int) -> None:
    rng = random.Random(seed)
    text = " ".join(rng.choice(WORDS[:4] if rng.random() < 0.7 else WORDS) for _ in range(60))
    assert index_text(text).split() == slowly(text)


def test_many_foreign_words_are_folded_all_the_same() -> None:
    text = "eau 水 " * 200
    assert index_text(text).split() == slowly(text)


@pytest.mark.parametrize("length", [199, 200, 201, 5000])
def test_a_word_is_kept_up_to_its_limit(length: int) -> None:
    found = search_words("", f"before {'x' * length} after").text.split()
    assert found == ["before", "x" * min(length, 200), "after"]


def test_long_words_side_by_side_are_all_cut() -> None:
    text = " ".join(["y" * 250, "z" * 200, "w" * 201])
    assert [len(word) for word in search_words("", text).text.split()] == [200, 200, 200]


@pytest.mark.parametrize("word", ["Příliš žluťoučký", "Приве́т, мир", "Καλημέρα κόσμε", "ışık ğüş"])
@pytest.mark.parametrize("before", ["", "Plain words 🙂 — ", "ü ", "日本 "])
def test_each_alphabet_is_folded_alike_wherever_it_begins(word: str, before: str) -> None:
    text = f"{before}{word} {word}"
    assert index_text(text).split() == slowly(text)
