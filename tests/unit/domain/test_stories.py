"""Which titles tell of one event, and what keeps the index small."""

import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from reedbed.domain.stories import index as story_index
from reedbed.domain.stories.compare import (
    OutletText,
    count_quotations,
    loud_words,
    only_here,
    plainest,
    shared_sentences,
    title_parts,
)
from reedbed.domain.stories.index import SPAN, Headline, Placed, StoryIndex, resolve
from reedbed.domain.stories.words import STEM_LENGTH, cut, headline_words, title_words
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


def test_plurals_and_verbs_are_compared_without_their_endings() -> None:
    assert cut("merges") == cut("merged") == cut("merge") and cut("shares") == cut("share")
    assert (cut("bus"), cut("crisis"), cut("king"), cut("paris"), cut("red")) == (
        "bus",
        "crisis",
        "king",
        "paris",
        "red",
    )


def test_one_name_does_not_bring_a_text_into_a_large_story_of_bare_headlines() -> None:
    titles = (
        "Valdoria exports drop in January",
        "Copper slides on weak Valdoria exports",
        "Stocks dip as Valdoria exports fall",
        "Valdoria trade data worry markets",
        "Markets fall on Valdoria trade",
        "Weak Valdoria trade data hit copper",
        "Valdoria exports fall, stocks lower",
    )
    index = StoryIndex()
    place(index, *(f"{bird} nests in the crane" for bird in ("Heron", "Stork", "Swift")))
    place(index, *titles)
    lead = "Quarterly profit of the phone maker Kessler was above forecasts. Sales in Valdoria fell by four percent."
    title = "Kessler profit beats forecasts as Valdoria sales fall"
    assert index.place(Headline(50, 50, title, NOW, lead=lead)).is_alone


def test_a_text_shares_more_than_common_words_with_bare_headlines() -> None:
    index = StoryIndex()
    place(index, "Wall Street stocks open lower on weak data", "Stocks lower after weak trade data")
    lead = (
        "The company Orbit said that data of the watch stay on it. Its stocks were lower. Mara Lind called it a step."
    )
    assert index.place(Headline(7, 7, "Orbit shows a watch for divers in Lisbon", NOW, lead=lead)).is_alone


def test_one_word_in_common_is_not_enough() -> None:
    assert all(one.is_alone for one in place(StoryIndex(), "Volcano!", "Volcano", "Volcano?"))


def test_numbers_alone_are_not_enough() -> None:
    assert place(StoryIndex(), "2024 2025 overview", "2024 2025 recipes")[1].is_alone


def test_signs_without_blanks_meet_too() -> None:
    first, second, third = place(
        StoryIndex(), "首都圏で大雪、交通に大きな乱れ", "大雪で首都圏の交通に乱れ続く", "新しい図書館が開館した"
    )
    assert second.story_id == first.story_id and third.is_alone


def report(index: StoryIndex, *reports: tuple[str, str], language: str = "en") -> list[int]:
    """The stories of reports with leads, each of another feed."""
    headlines = [
        Headline(number, number, title, NOW, lead=lead, language=language)
        for number, (title, lead) in enumerate(reports, len(index) * 100 + 1)
    ]
    homes = resolve([(headline, index.place(headline)) for headline in headlines]).homes
    return [homes.get(headline.entry_id, headline.entry_id) for headline in headlines]


def test_the_lead_joins_reports_whose_titles_differ_and_keeps_like_events_apart() -> None:
    rates = (
        ("Orland keeps interest rates on hold", "The Bank of Orland left its key rate at 4 percent, said Ada Quill."),
        ("Quill warns of slow growth", "The Bank of Orland left its key rate unchanged at 4 percent on Monday."),
        ("Veska cuts interest rates", "The National Bank of Veska lowered its key rate to 6 percent, said Ivo Lann."),
    )
    first, second, other = report(StoryIndex(), *rates)
    assert first == second != other


def test_two_events_in_one_town_are_two_stories() -> None:
    town = (
        ("Whale visits the bay of Port Ellis", "Hundreds saw a humpback whale in the bay of Port Ellis."),
        ("Metro drivers of Port Ellis on strike", "No trains run in Port Ellis until the union and the city agree."),
    )
    first, second = report(StoryIndex(), *town)
    assert first != second


def test_an_institution_and_a_country_are_known_by_their_other_names() -> None:
    bank = (
        ("Bank of Japan raises rates", "The Bank of Japan lifted its short-term rate to 1 percent on Tuesday."),
        ("Yen jumps after BOJ move", "Japanese policymakers raised the benchmark rate to 1 percent."),
        ("Turkish lira falls", "The lira fell after a vote in Turkey."),
    )
    first, second, other = report(StoryIndex(), *bank)
    assert first == second != other
    assert headline_words("Turkish lira falls").title & headline_words("Turkey votes").title


def test_two_reports_of_a_named_storm_are_one_story() -> None:
    storm = (
        ("Storm Ottoline leaves 40,000 homes without power", "Storm Ottoline brought gusts of 96 mph to Scotland."),
        ("Ferries cancelled as Storm Ottoline hits", "All ferries stay in port as Storm Ottoline sweeps in."),
    )
    first, second = report(StoryIndex(), *storm)
    assert first == second


def test_a_german_noun_is_no_name() -> None:
    words = headline_words("Sperrung der Brücke", "Die Brücke bei Kronau bleibt wegen Schäden gesperrt.", "de")
    assert not words.names and not words.shows_names
    words = headline_words("Bridge stays shut", "The bridge near Kronau is damaged.", "en")
    assert words.names == {"kronau"}


def test_issues_of_a_newsletter_are_not_one_story() -> None:
    text = "Welcome to another issue of Kelp Weekly, the newsletter of the Kelp language, with news of its compiler."
    first, second = report(StoryIndex(), ("Kelp Weekly 88", text), ("Kelp Weekly 89", text))
    assert first != second


def test_stories_merge_when_a_report_shows_that_they_are_one() -> None:
    index = StoryIndex()
    place(index, "Marrowby bridge shut", "Marrowby bridge shut today")
    place(index, "Council vote bans cars", "Council vote bans cars outright")
    assert place(index, "Marrowby bridge shut: council vote bans cars")[0].merged and len(index) == 1


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
    most, story_index.MAX_STORIES = story_index.MAX_STORIES, 50
    try:
        index = StoryIndex()
        place(index, *(f"a{number} b{number} c{number}" for number in range(200)))
        assert len(index) == 50
        assert sum(index._used_by.values()) <= 50 * 3
        assert sum(map(len, index._recent.values())) <= 50 * 3
    finally:
        story_index.MAX_STORIES = most


def test_the_calmest_title_heads_the_story() -> None:
    titles = ("Ferry aground: SHOCK at Eastholm!", "Ferry aground at Eastholm", "A quiet morning turns")
    assert plainest(titles) == 1


def test_loud_words_are_shouted_or_from_the_list() -> None:
    assert loud_words("BRIDGE OF SIGHS: Town hall SLAMS drivers in bridge scandal") == (
        "BRIDGE",
        "SIGHS",
        "SLAMS",
        "scandal",
    )
    assert loud_words("NATO and the EU agree on aid for Orland") == ()
    assert loud_words("COUNCIL CLOSES BRIDGE") == ()
    assert loud_words("Schock in Kronau: Skandal um Gutachten") == ("Schock", "Skandal")
    assert "".join(part.text for part in title_parts("Wut über Bahn!")) == "Wut über Bahn!"


SHARED = "The ferry ran aground on the sandbank off Eastholm early this morning."
VERSION = "Early this morning the ferry ran aground on a sandbank off Eastholm."
OWN = "Passengers sang shanties until lifeboats brought everyone safely ashore again."


def texts(*sentences: Sequence[str], language: str = "en") -> list[OutletText]:
    return [OutletText(number, language, "", tuple(some)) for number, some in enumerate(sentences, 1)]


def test_only_what_no_other_says_is_named() -> None:
    assert only_here(texts([SHARED, OWN], [SHARED])) == {1: (OWN,), 2: ()}
    assert only_here(texts([OWN])) == {}
    assert only_here(texts([OWN], [])) == {}
    german = texts(["Der Kapitän hat auf der Sandbank bei Eastholm drei Stunden gewartet."], language="de")
    assert only_here([*texts([SHARED]), *german]) == {}


def test_a_sentence_in_other_words_is_shared() -> None:
    (shared,) = shared_sentences(texts([SHARED, OWN], [VERSION], ["Nothing of the kind was seen in Tidewick today."]))
    assert shared.entry_ids == (1, 2) and shared.text in (SHARED, VERSION)
    assert shared_sentences(texts([OWN], [SHARED])) == ()


def test_quotations_are_counted_in_several_scripts_of_quoting() -> None:
    assert (
        count_quotations("He said: “We will close the bridge now.” Then „Wir sperren die Brücke jetzt“, and a “word”.")
        == 2
    )


def test_a_short_quotation_is_told_from_a_title() -> None:
    assert count_quotations('"It\'s a disgrace," said a father of three.') == 1
    assert count_quotations('The museum shows "Water Lilies" and "The Quiet Lock" until May.') == 0


WORDS = st.sampled_from([f"word{number}" for number in range(12)])
TITLES = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=40)


@settings(max_examples=60, deadline=None)
@given(TITLES)
def test_every_entry_has_one_home_and_merged_stories_have_none(titles: list[str]) -> None:
    index = StoryIndex()
    headlines = [Headline(number, number % 4, title, NOW) for number, title in enumerate(titles, 1)]
    resolved = resolve([(one, index.place(one)) for one in headlines])
    assert set(resolved.homes) <= {one.entry_id for one in headlines}
    assert not set(resolved.merges) & set(resolved.homes.values())
    assert set(resolved.newest) == set(resolved.homes.values())
    for home in resolved.homes.values():
        assert resolved.homes[home] == home


@given(st.text())
def test_any_title_has_words_within_bounds(title: str) -> None:
    words = title_words(title)
    assert len(words) <= 24 and all(0 < len(word) <= STEM_LENGTH for word in words)
