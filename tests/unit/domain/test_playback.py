"""Positions in recordings, and the order of the queue."""

import pytest

from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import Enclosure
from reedbed.domain.playback import (
    CLOCK_TOLERANCE,
    Position,
    PositionReport,
    QueuePlace,
    RecordingId,
    check_report,
    is_done,
    next_position,
    queue_with,
    recordings_of,
)
from reedbed.domain.times import DAY, HOUR, SECOND

NOW = 1_790_000_000_000
HALFWAY = Position(900, 1800, done=False, played_at=NOW - HOUR, changed_at=NOW - HOUR)


def test_a_newer_position_replaces_an_older_one() -> None:
    new = next_position(HALFWAY, PositionReport(1000, played_at=NOW - SECOND), NOW)
    assert new == Position(1000, 1800, done=False, played_at=NOW - SECOND, changed_at=NOW)


def test_going_back_counts_when_it_is_newer() -> None:
    new = next_position(HALFWAY, PositionReport(10), NOW)
    assert new is not None and (new.seconds, new.played_at) == (10, NOW)


def test_an_older_position_never_wins() -> None:
    assert next_position(HALFWAY, PositionReport(1700, played_at=NOW - 2 * HOUR), NOW) is None


def test_a_time_in_the_future_replaces_nothing_and_blocks_nothing() -> None:
    ahead = PositionReport(1700, played_at=NOW + DAY)
    assert next_position(HALFWAY, ahead, NOW) is None
    first = next_position(None, ahead, NOW)
    assert first is not None and first.played_at == NOW
    later = next_position(first, PositionReport(20, played_at=NOW + SECOND), NOW + SECOND)
    assert later is not None and later.seconds == 20


def test_a_clock_that_is_a_little_ahead_is_believed() -> None:
    new = next_position(HALFWAY, PositionReport(1000, played_at=NOW + CLOCK_TOLERANCE), NOW)
    assert new is not None and new.played_at == NOW


@pytest.mark.parametrize(
    ("seconds", "total", "done"),
    [
        (0, None, False),
        (1709, 1800, False),
        (1711, 1800, True),  # 95 %
        (3539, 3600, True),  # the last minute, and more than 95 %
        (239, 300, False),
        (240, 300, True),  # the last minute
        (61, 120, False),  # the last minute is half of it
        (115, 120, True),
    ],
)
def test_what_counts_as_played(seconds: int, total: int | None, done: bool) -> None:
    assert is_done(seconds, total) is done


def test_playing_goes_on_a_little_earlier_and_from_the_start_once_done() -> None:
    assert HALFWAY.resume_at == 897
    assert Position(2, None, done=False, played_at=1, changed_at=1).resume_at == 0
    assert Position(1790, 1800, done=True, played_at=1, changed_at=1).resume_at == 0


@pytest.mark.parametrize("report", [PositionReport(-1), PositionReport(10**9), PositionReport(1, total=-1)])
def test_impossible_positions_are_refused(report: PositionReport) -> None:
    with pytest.raises(Invalid):
        check_report(report)


def test_recordings_are_the_files_that_a_browser_can_play() -> None:
    files = (
        Enclosure("https://example.org/cover.jpg", "image/jpeg"),
        Enclosure("https://example.org/a.mp3", "audio/mpeg", 10, None, 60),
        Enclosure("https://example.org/b.m4v?x=1"),
        Enclosure("https://example.org/c.ogg", "application/octet-stream"),
        Enclosure("https://example.org/v/1", "application/x-shockwave-flash"),
    )
    found = [(item.number, item.kind, item.seconds) for item in recordings_of(files)]
    assert found == [(0, "audio", 60), (1, "video", None), (2, "audio", None)]


A, B, C = RecordingId(1), RecordingId(2), RecordingId(3)


@pytest.mark.parametrize(
    ("queue", "place", "expected"),
    [
        ([], "next", [C]),
        ([A, B], "now", [C, A, B]),
        ([A, B], "next", [A, C, B]),
        ([A, B], "last", [A, B, C]),
        ([A, B, C], "next", [A, C, B]),
        ([C, A, B], "last", [C, A, B]),
        ([C, A, B], "next", [C, A, B]),
    ],
)
def test_a_recording_is_queued_once(queue: list[RecordingId], place: QueuePlace, expected: list[RecordingId]) -> None:
    assert queue_with(queue, C, place) == expected
