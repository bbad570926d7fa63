"""Grouping and telling, and the next time by a clock, on plain values."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from reedbed.domain.digests import PromptContext, compose, group, next_time, sources_of
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


def test_one_feed_is_told_in_three_paragraphs_and_many_in_five() -> None:
    one_feed = group([material(number, f"{number * 7919} {number}th thing alone") for number in range(12)])
    assert len(compose(one_feed)) == 3
    many = group([material(number, f"{number * 7919} thing {number}", feed=number) for number in range(40)])
    assert len(compose(many)) == 5
    assert all(len(paragraph.sentences) <= 4 for paragraph in compose(many))


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
