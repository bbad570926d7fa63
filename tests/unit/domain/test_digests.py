"""Grouping and telling, and the next time by a clock, on plain values."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from reedbed.domain.digests import (
    KnownStories,
    Paragraph,
    PromptContext,
    Sentence,
    compose,
    group,
    next_time,
    sources_of,
)
from reedbed.domain.times import DAY, from_datetime


def material(number: int, title: str, *, feed: int = 1, folder: str = "", line: str = "") -> PromptContext:
    return PromptContext(number, title, line or f"{title}.", title, feed, f"Feed {feed}", folder, at=number)


def test_reports_of_one_event_are_together_and_the_most_reported_is_first() -> None:
    items = group(
        [
            material(9, "Baker sells barley bread in the upper town"),
            material(1, "Council closes swing bridge for fourteen months", feed=2),
            material(2, "Swing bridge closes: council decides fourteen months", feed=3),
            material(3, "Fourteen months without the swing bridge, council says", feed=4),
            material(4, "Heron nests in the crane of the harbour"),
        ]
    )
    assert [sorted(one.entry_id for one in item) for item in items] == [[1, 2, 3], [9], [4]]


def test_titles_of_common_words_alone_are_items_of_their_own() -> None:
    items = group([material(1, "One"), material(2, "Two", feed=2), material(3, "", feed=3)])
    assert sorted(item[0].entry_id for item in items) == [1, 2, 3]


def test_a_front_page_has_a_top_the_folders_in_the_order_of_the_sidebar_and_single_lines() -> None:
    items = group(
        [replace(material(n, f"{n * 7919} thing {n}", feed=n, folder="ab"[n % 2]), place=1 - n % 2) for n in range(40)]
    )
    parts = compose(items)
    assert [(part.kind, part.heading, len(part.sentences)) for part in parts] == [
        ("top", "", 4), ("folder", "b", 3), ("folder", "a", 3), ("more", "", 8)
    ]  # fmt: skip
    told = [id_ for part in parts for sentence in part.sentences for id_ in sentence.entry_ids]
    assert len(told) == len(set(told))


def test_an_event_whose_reports_are_no_story_is_told_once_but_two_events_in_one_town_are_two() -> None:
    texts = {
        1: "Doctors write appointments by hand since MediLink switched off its booking system.",
        2: "Hackers stole the records of patients from MediLink, which runs the booking system of doctors.",
        3: "A heron nests in the crane of the harbour in Tidewick.",
        4: "The council of Tidewick paints the pier.",
    }
    items = [(replace(material(n, text, feed=n), text=text),) for n, text in texts.items()]
    assert _told(compose(items)) == [(1, 2), (3,), (4,)]
    assert _told(compose(items, apart={2})) == [(1,), (2,), (3,), (4,)]


def _told(paragraphs: tuple[Paragraph, ...]) -> list[tuple[int, ...]]:
    return [sentence.entry_ids for paragraph in paragraphs for sentence in paragraph.sentences]


def test_one_feed_and_one_series_tell_other_events_in_the_same_words() -> None:
    titles = {
        1: ("Weekly jobless claims fall to 214,000", 1),
        2: ("Weekly jobless claims rise to 223,000", 2),
        3: ("Morning briefing: a heron nests in the crane of the harbour", 3),
        4: ("A heron nests in the crane of the harbour", 4),
        5: ("The council of Tidewick paints the pier", 5),
        6: ("The council of Tidewick buys a ferry", 5),
    }
    items = [(material(n, title, feed=feed),) for n, (title, feed) in titles.items()]
    assert _told(compose(items)) == [(n,) for n in titles]


def test_two_events_with_the_same_words_are_two_lines() -> None:
    pairs = (
        ("NimbusOS 9 beta 3 brings a lock screen to phones", "NimbusOS 9 beta 4 takes the lock screen from phones"),
        ("The bank of Kestria cuts its key rate", "Analysts expect the bank of Norrland to leave its key rate"),
        ("Tidewick Rovers sign Quinn from Halden City", "Keeper of Tidewick Rovers beats Halden City"),
    )
    for pair in pairs:
        items = [(replace(material(n, title, feed=n), text=title),) for n, title in enumerate(pair, 1)]
        assert _told(compose(items)) == [(1,), (2,)], pair


def test_a_report_that_may_be_about_an_event_already_told_comes_after_all_others() -> None:
    texts = {
        1: "Thieves steal coins from the museum in Karburg.",
        2: "A guard of Karburg was arrested on Wednesday evening, the police said.",
        3: "A heron nests in the crane of the harbour in Tidewick.",
        4: "Bakers complain about the price of butter.",
    }
    items = [(replace(material(n, text, feed=n), text=text),) for n, text in texts.items()]
    assert _told(compose(items)) == [(1,), (3,), (4,), (2,)]
    assert _told(compose(items, apart={2})) == [(1,), (2,), (3,), (4,)]


def test_the_newest_report_wins_where_facts_changed() -> None:
    six = replace(material(1, "Six die in coach crash", feed=1), leads=("Six people died in a coach crash.",), at=1)
    two = replace(material(2, "Two died in crash, not six", feed=2), leads=("Two people died, police said.",), at=2)
    (top,) = compose([(six, two)])
    assert top.sentences == (Sentence("Two people died, police said.", (2, 1)),)
    strike = replace(material(3, "Nurses to strike from Thursday", feed=1), leads=("Nurses will strike.",), at=1)
    deal = replace(material(4, "Strike of nurses called off", feed=2), leads=("The nurses go to work.",), at=2)
    (top,) = compose([(strike, deal)])
    assert top.sentences[0].entry_ids == (4, 3)


def test_what_many_outlets_report_stands_above_single_reports() -> None:
    birds = ("Heron", "Stork", "Swift", "Robin", "Eagle", "Finch")
    many = [
        tuple(replace(material(10 * n + feed, f"{bird} nests", feed=feed, folder="b"), place=1) for feed in range(4))
        for n, bird in enumerate(birds)
    ]
    single = (material(99, "Council paints the pier", feed=9, folder="a"),)
    parts = compose([*many[:5], single, many[5]])
    assert [(part.kind, len(part.sentences)) for part in parts] == [("top", 6), ("folder", 1)]


def test_known_stories_join_what_differs_and_what_the_reader_removed_stands_alone() -> None:
    titles = (
        "Council closes swing bridge in May",
        "Swing bridge closes in May: council",
        "Le pont tournant ferme",
        "A heron",
    )
    all_four = [material(number, title, feed=number) for number, title in enumerate(titles, 1)]
    known = KnownStories({1: 7, 3: 7, 2: 7}, frozenset((2,)))
    assert {frozenset(one.entry_id for one in item) for item in group(all_four)} == {
        frozenset((1, 2)), frozenset((3,)), frozenset((4,))
    }  # fmt: skip
    assert {frozenset(one.entry_id for one in item) for item in group(all_four, known=known)} == {
        frozenset((1, 3)), frozenset((2,)), frozenset((4,))
    }  # fmt: skip


def test_two_stories_that_are_found_to_be_one_are_one_item() -> None:
    titles = (
        "Council closes swing bridge in May",
        "Swing bridge closes in May: council",
        "Un pont ferme",
        "Ein Pont zu",
    )
    four = [material(number, title, feed=number) for number, title in enumerate(titles, 1)]
    (item,) = group(four, known=KnownStories({1: 7, 3: 7, 2: 8, 4: 8}))
    assert {one.entry_id for one in item} == {1, 2, 3, 4}


def test_an_item_in_two_languages_is_not_told_again_in_one_of_them() -> None:
    mixed = [
        replace(material(1, "Fire in Sierra Alta forces 8,000 from homes", feed=1), language="en"),
        replace(material(2, "Más de 8.000 evacuados en Sierra Alta", feed=2), language="es"),
    ]
    again = replace(material(3, "Sierra Alta fire: 8,000 from homes", feed=3), language="en")
    told = compose([(mixed[1], mixed[0]), (again,)])
    assert [sentence.entry_ids for part in told for sentence in part.sentences] == [(2, 1, 3)]


def test_what_the_reader_cares_about_comes_first_where_it_is_known() -> None:
    both = [material(1, "Council closes the bridge", feed=1), material(2, "Heron nests in the crane", feed=2)]
    assert [item[0].entry_id for item in group(both, {1: 0.4}, {1: 0.1, 2: 0.9})] == [2, 1]
    assert [item[0].entry_id for item in group(both, {1: 0.4}, None)] == [1, 2]


def test_the_readers_interest_and_the_number_of_outlets_make_an_item_important() -> None:
    alone = [material(n, f"{n * 7919} thing {n}", feed=n) for n in range(1, 5)]
    twice = [replace(material(n, "Council closes swing bridge", feed=n), at=0) for n in (8, 9)]
    assert [item[0].entry_id for item in group([*alone, *twice], {2: 0.4})][:2] == [8, 2]


def test_the_cleanest_sentence_is_told_and_else_the_calm_headline() -> None:
    loud = material(1, "SHOCK: bridge SLAMMED shut!", feed=1)
    calm = replace(material(2, "Swing bridge closes", feed=2), leads=("The council closes the swing bridge.",))
    (top,) = compose([(loud, calm)])
    assert (top.sentences[0].text, top.sentences[0].entry_ids) == ("The council closes the swing bridge.", (2, 1))
    (top,) = compose([(loud, replace(calm, leads=()))])
    assert top.sentences[0].text == "Swing bridge closes"


def test_a_single_entry_is_one_paragraph_with_its_source() -> None:
    only = material(7, "A heron in the harbour")
    paragraphs = compose(group([only]))
    assert len(paragraphs) == 1
    assert [source.entry_id for source in sources_of(paragraphs[0].sentences, [only])] == [7]


def test_no_entries_are_no_paragraphs() -> None:
    assert group([]) == [] and compose([]) == ()


def test_the_next_time_follows_the_clock_of_the_zone_over_the_change_to_summer() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    before = from_datetime(datetime(2026, 3, 28, 7, 0, tzinfo=UTC))
    first = next_time(7 * 60 + 30, berlin, before)
    assert first == from_datetime(datetime(2026, 3, 29, 5, 30, tzinfo=UTC))
    assert next_time(7 * 60 + 30, berlin, first) == first + DAY
    winter = next_time(7 * 60 + 30, berlin, before - DAY)
    assert winter == from_datetime(datetime(2026, 3, 28, 6, 30, tzinfo=UTC))


def test_a_report_is_preferred_to_what_explains_it() -> None:
    why = replace(material(1, "Why whales strand", feed=1), leads=("Most stranded whales are old or ill.",), at=2)
    news = replace(material(2, "Whale strands at Lorne", feed=2), leads=("A whale lies on the beach of Lorne.",), at=1)
    (top,) = compose([(why, news)])
    assert top.sentences[0].entry_ids == (2, 1)
