"""The built-in extract: what it picks, what it never picks, in several languages."""

import time

import pytest

from reedbed.ai.extractive import (
    MAX_LINE_LENGTH,
    MAX_TEXT_LENGTH,
    extract,
    is_torn,
    saves_reading,
    sentences,
    summarise,
)

NEWS = """By Jo Reed
Published on Sunday
The harbour of Marrowby will close to cargo ships in October, the port authority said on Friday.
But he did not say for how long. The harbour wall has moved by forty centimetres since the spring storms.
"We have waited too long," said the harbour master. Will the ships come back?
Cargo ships will use the northern port until the harbour wall is mended, at a cost of nine million.
Subscribe to our newsletter to read more about the harbour and cargo ships.
Photo: The harbour wall at dawn with cargo ships in the distance behind it."""


MILL = (
    "The mill of Lorne has ground wheat for bakers since the stone bridge was built.",
    "Its wheel stood still for a winter because the river carried too little water.",
    "The miller Anna Berg repaired the wheel of the mill with oak from the forest of Lorne.",
    "Her father had left the mill when the price of wheat in Lorne fell after the war.",
    "The bakers of Lorne had bought their flour from a factory on the coast since then.",
    "In spring the mill of Lorne began to grind the wheat of four farms for them again.",
    "Children come with their school to see how the mill turns wheat into flour.",
    "A guide shows the stones, the sieves and the small room in which the miller slept.",
    "Many visitors ask why the flour has the colour of sand and smells of nuts.",
    "In that year they sold the wheat of the mill to 12 bakers and 3 inns.",
    "The bank had refused a loan because nobody else lived from such a trade.",
    "A society of friends collected money at markets and on a stage in the yard.",
    "Neighbours complained about the noise until the gears were cased in wood.",
    "The council has promised a path along the water from the station to the yard.",
    "Engineers measured the power of the river and advised a second wheel.",
    "Last year the mill of Lorne sold 400 tonnes of flour to 31 bakers beyond the valley.",
    "A film about the trade was shown in the church and in two schools.",
    "An apprentice from the coast wants to take over the stones when the miller retires.",
    "The farmers plan to grow older kinds of wheat on land that was pasture.",
    "Storks have built a nest on the roof, and nobody dares to sweep the chimney.",
)


def test_it_says_the_important_thing_first_and_leaves_out_what_is_no_prose() -> None:
    found = extract("Harbour closes to cargo ships", NEWS)
    assert found.text.startswith("The harbour of Marrowby will close to cargo ships in October")
    for unwanted in ("By Jo", "Published", "newsletter", "Photo", "But he", "Will the ships"):
        assert unwanted not in found.text
    assert len(list(sentences(found.text))) <= 3


def test_a_caption_without_a_full_stop_is_left_out() -> None:
    caption = (
        "The harbour master, watched by cargo ships, looks at the harbour wall. He has worked in the harbour for years"
    )
    found = extract("Harbour closes to cargo ships", f"{NEWS}\n{caption}")
    assert "watched by" not in found.text


def test_the_line_is_short_and_no_repetition_of_the_title() -> None:
    found = extract("The harbour of Marrowby will close to cargo ships", NEWS)
    assert 20 < len(found.one_line) <= MAX_LINE_LENGTH
    assert not found.one_line.startswith("But")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der Rat schloss die Brücke am 3. Mai. Dr. Weber erklärte, z.B. Busse dürften fahren.", 2),
        ("Le pont ferme lundi. M. Dupont n’est pas d’accord ! Les bus passeront-ils ?", 3),
        ("橋は十月に閉まる。「残念だ。」と市長は言った。バスは通れる。", 3),
        ("港口将于十月关闭。船只将使用北港！为什么？", 3),
        ("أغلق المجلس الجسر يوم الأحد. لماذا حدث ذلك؟ ستمر الحافلات.", 3),
        ("Совет закрыл мост в мае. Автобусы пойдут в объезд. Ремонт займет год.", 3),
        ("The U.S. Senate met at noon. Mr. J. R. Smith paid 3.5 million. It ended.", 3),
    ],
)
def test_sentences_are_told_apart_in_many_scripts(text: str, expected: int) -> None:
    assert len(list(sentences(text))) == expected


def test_a_chinese_article_gets_a_summary_of_its_own_sentences() -> None:
    text = (
        "马罗比港口将于十月对货船关闭，港务局周五表示。但是没有说明持续多长时间。"
        "自春季风暴以来，港口的防波堤已经移动了四十厘米。货船将使用北部港口，直到防波堤修复为止，费用为九百万。"
    )
    found = extract("港口对货船关闭", text)
    assert found.text.startswith("马罗比港口将于十月对货船关闭")
    assert "但是" not in found.text


@pytest.mark.parametrize("text", ["", "   \n ", "OK", "x" * 100_000, "Heading only\n" * 500, "?! " * 5_000])
def test_strange_texts_give_something_bounded(text: str) -> None:
    found = extract("", text)
    assert len(found.text) <= MAX_TEXT_LENGTH and len(found.one_line) <= MAX_LINE_LENGTH


def test_a_thousand_words_take_less_than_twenty_milliseconds() -> None:
    text = "\n".join(f"{NEWS} This is part {number} of the long report." for number in range(11))
    assert 1000 < len(text.split()) < 1400
    extract("Harbour", text)
    started = time.process_time()
    for _ in range(5):
        extract("Harbour closes", text)
    assert (time.process_time() - started) / 5 < 0.020


LONG = "\n".join(
    f"The {name} gate of the harbour was opened by its keeper at dawn, and {count} ships of the northern line "
    f"left for the islands with {cargo} in their holds."
    for name, count, cargo in (
        ("eastern", "three", "salt"), ("western", "five", "timber"), ("upper", "seven", "wool"),
        ("lower", "nine", "barley"), ("outer", "two", "slate"), ("inner", "four", "copper"),
        ("old", "six", "paper"), ("new", "eight", "glass"), ("broad", "ten", "rope"), ("narrow", "twelve", "tar"),
    )
)  # fmt: skip


def test_a_summary_is_only_for_texts_that_take_longer_to_read() -> None:
    assert saves_reading(LONG)
    assert summarise("Harbour", LONG).text
    assert not saves_reading(NEWS) and summarise("Harbour", NEWS).text == "" and summarise("Harbour", NEWS).one_line
    assert not saves_reading(LONG.replace(".\n", ", and ")), "one endless sentence"


def test_a_summary_looks_beyond_the_opening() -> None:
    opening = "The harbour gate ships: {} harbour gate ships leave the harbour gate for the northern islands at dawn."
    text = "\n".join([*(opening.format(word) for word in ("Many", "Several", "Some")), LONG])
    found = summarise("Harbour gate ships leave for the northern islands", text).text
    assert any(sentence not in "\n".join(text.split("\n")[:3]) for _, sentence in sentences(found))


def test_the_summary_of_a_long_article_comes_from_all_of_it() -> None:
    text = "\n".join(MILL)
    places = [MILL.index(sentence) for _, sentence in sentences(summarise("The mill of Lorne", text).text)]
    assert places[0] < 3 and places[-1] > len(MILL) // 2
    assert MILL.index("In that year they sold the wheat of the mill to 12 bakers and 3 inns.") not in places


@pytest.mark.parametrize(
    ("quotation", "is_torn_one"),
    [
        ("We want to unify the whole region,” Lourimi said on Friday.", True),
        ("“We want to unify the whole region,” Lourimi said on Friday.", False),
        ("Der Rat sprach am Freitag von einem „guten Tag“ für alle Städte.", False),
        ("Der Rat sprach am Freitag von einem „guten Tag für alle Städte.", True),
        ("Rådet talade i fredags om en ”god dag” för alla städer i landet.", False),
        ("Le conseil a parlé vendredi d’un bon jour » pour toutes les villes.", True),
    ],
)
def test_a_torn_quotation_is_noticed(quotation: str, is_torn_one: bool) -> None:
    assert is_torn(quotation) is is_torn_one
