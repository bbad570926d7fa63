"""Which titles tell of one event, and what keeps the index small."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from reedbed.domain import stories
from reedbed.domain.stories import SPAN, Headline, Placed, StoryIndex, central, only_here, settle, title_words
from reedbed.domain.times import DAY

NOW = 1_700_000_000_000


def place(index: StoryIndex, *titles: str, at: int = NOW, same_feed: bool = False) -> list[Placed]:
    begin = random.randrange(10**6, 10**9)
    return [
        index.place(Headline(begin + number, 1 if same_feed else number, title, at))
        for number, title in enumerate(titles)
    ]


def test_titles_of_one_event_meet_and_others_do_not() -> None:
    first, second, third = place(
        StoryIndex(),
        "Harbour ferry runs aground near Eastholm",
        "Eastholm: ferry aground, harbour closed",
        "Ferry prices rise in spring",
    )
    assert second.story_id == first.story_id and not second.is_alone
    assert third.is_alone


def test_one_word_in_common_is_not_enough() -> None:
    assert all(one.is_alone for one in place(StoryIndex(), "Volcano!", "Volcano", "Volcano?"))


def test_numbers_alone_are_not_enough() -> None:
    assert place(StoryIndex(), "2024 2025 overview", "2024 2025 recipes")[1].is_alone


def test_signs_without_blanks_meet_too() -> None:
    first, second, third = place(
        StoryIndex(),
        "首都圏で大雪、交通に大きな乱れ",
        "大雪で首都圏の交通に乱れ続く",
        "新しい図書館が開館した",
    )
    assert second.story_id == first.story_id and third.is_alone


def test_a_feeds_series_makes_no_event() -> None:
    series = ("Photo of the day: heron", "Photo of the day: otter", "Photo of the day: bittern")
    assert all(one.is_alone for one in place(StoryIndex(), *series, same_feed=True))


def test_what_lies_far_apart_in_time_does_not_meet() -> None:
    index = StoryIndex()
    place(index, "Harbour ferry runs aground near Eastholm")
    assert place(index, "Harbour ferry runs aground near Eastholm", at=NOW + SPAN + 1)[0].is_alone


def test_a_story_ends_after_a_week() -> None:
    index = StoryIndex()
    days = [
        index.place(Headline(day + 1, day, "Harbour ferry runs aground near Eastholm", NOW + day * 2 * DAY))
        for day in range(5)
    ]
    assert {one.story_id for one in days[:4]} == {1} and days[4].is_alone


def test_the_index_forgets() -> None:
    index = StoryIndex()
    place(index, "Harbour ferry runs aground near Eastholm")
    index.forget(NOW + 1)
    assert len(index) == 0
    assert place(index, "Harbour ferry runs aground near Eastholm")[0].is_alone


def test_it_never_holds_more_than_its_bound() -> None:
    most, stories.MAX_STORIES = stories.MAX_STORIES, 50
    try:
        index = StoryIndex()
        place(index, *(f"a{number} b{number} c{number}" for number in range(200)))
        assert len(index) == 50
        assert sum(map(len, index._using.values())) <= 50 * 3
    finally:
        stories.MAX_STORIES = most


def test_the_most_telling_title_heads_the_story() -> None:
    titles = ("You will not believe this", "Ferry aground at Eastholm", "Eastholm ferry aground, says crew")
    assert central(titles) == 1


def test_only_what_no_other_says_is_named() -> None:
    shared = "The ferry ran aground on the sandbank off Eastholm early this morning."
    own = "Passengers sang shanties until lifeboats brought everyone safely ashore again."
    assert only_here({1: [shared, own], 2: [shared]}) == {1: (own,), 2: ()}
    assert only_here({1: [own]}) == {}
    assert only_here({1: [own], 2: []}) == {}


WORDS = st.sampled_from([f"word{number}" for number in range(12)])
TITLES = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=40)


@settings(max_examples=60, deadline=None)
@given(TITLES)
def test_every_entry_has_one_home_and_merged_stories_have_none(titles: list[str]) -> None:
    index = StoryIndex()
    headlines = [Headline(number, number % 4, title, NOW) for number, title in enumerate(titles, 1)]
    settled = settle([(one, index.place(one)) for one in headlines])
    assert set(settled.homes) <= {one.entry_id for one in headlines}
    assert not set(settled.merges) & set(settled.homes.values())
    assert set(settled.newest) == set(settled.homes.values())
    for home in settled.homes.values():
        assert settled.homes[home] == home


@given(st.text())
def test_any_title_has_words_within_bounds(title: str) -> None:
    words = title_words(title)
    assert len(words) <= 24 and all(0 < len(word) <= 6 for word in words)
