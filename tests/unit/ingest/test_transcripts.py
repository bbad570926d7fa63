"""Chapters and transcripts as podcasts publish them, also broken ones."""

import pytest

from reedbed.domain.playback import Chapter, Cue
from reedbed.ingest.transcripts import MAX_CUES, clock_seconds, read_chapters, read_transcript

CHAPTERS = b"""{"version": "1.2.0", "chapters": [
  {"startTime": 252.5, "title": "How gas light works"}, {"startTime": 0, "title": "A bench  by &amp; water"},
  {"startTime": 300, "title": "Hidden", "toc": false}, {"startTime": -1, "title": "x"}, {"title": "y"}, 7]}"""
VTT = b"""WEBVTT

NOTE one of many

1
00:00:01.000 --> 00:00:04.000 align:start
<v Marta>Ninety <i>lamps</i>
a night.

00:05.5 --> 00:06.000
Why?
"""
SRT = (
    "1\r\n00:00:01,500 --> 00:00:04,000\r\nNeunzig Lampen &amp; mehr\r\n\r\n2\r\n01:00:00,000 --> 01:00:01,000\r\n\r\n"
)
JSON = b'{"version": "1.0.0", "segments": [{"startTime": 2, "body": "Hello", "speaker": "Ines"}, {"body": "x"}, 3]}'


def test_chapters_are_in_order_and_in_the_table_of_contents() -> None:
    assert read_chapters(CHAPTERS) == [Chapter(0, "A bench by & water"), Chapter(252.5, "How gas light works")]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"chapters": 7}', b"<html>", b"\xff\xfe"])
def test_what_is_no_list_of_chapters_has_none(body: bytes) -> None:
    assert read_chapters(body) == []


def test_transcripts_are_read_as_text() -> None:
    assert read_transcript(VTT, "text/vtt") == [Cue(1, "Ninety lamps a night.", "Marta"), Cue(5.5, "Why?")]
    assert read_transcript(SRT.encode(), "application/x-subrip") == [Cue(1.5, "Neunzig Lampen & mehr")]
    assert read_transcript(JSON, "application/json") == [Cue(2, "Hello", "Ines")]


def test_an_endless_transcript_is_cut_off() -> None:
    body = "\n\n".join(f"00:{n % 60:02}.000 --> 00:59.000\nLine {n}" for n in range(MAX_CUES + 50))
    assert len(read_transcript(body.encode(), "text/vtt")) == MAX_CUES


@pytest.mark.parametrize(
    ("text", "seconds"), [("01:02:03.500", 3723.5), ("2:03", 123), ("12.25", 12.25), ("x", None), ("", None)]
)
def test_times_of_podlove(text: str, seconds: float | None) -> None:
    assert clock_seconds(text) == seconds
