"""Chapters and transcripts of recordings: Podcasting 2.0 chapters, WebVTT, SubRip and JSON; text only."""

import html
import re
from collections.abc import Iterator
from typing import Any, cast

import orjson

from reedbed.domain.playback import MAX_SECONDS, Chapter, Cue

MAX_CHAPTERS = 500
MAX_CUES = 2_000
MAX_TEXT = 1_000

_TIMES = re.compile(
    r"((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)\s*-->\s*((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)"
)
_VOICE = re.compile(r"<v(?:\.[^ >]*)?\s+([^>]{1,100})>")
_TAG = re.compile(r"<[^>]{0,200}>")


def read_chapters(body: bytes) -> list[Chapter]:
    """Podcasting 2.0 JSON. Chapters that are not in the table of contents are left out."""
    document = _json(body)
    items = document.get("chapters")
    if not isinstance(items, list):
        return []
    found = [chapter for item in cast(list[Any], items)[: MAX_CHAPTERS * 2] if (chapter := _chapter(item))]
    return in_order(found)


def _chapter(item: Any) -> Chapter | None:
    if not isinstance(item, dict) or cast(dict[str, Any], item).get("toc") is False:
        return None
    fields = cast(dict[str, Any], item)
    start = _seconds(fields.get("startTime"))
    title = _plain(fields.get("title"))
    return Chapter(start, title) if start is not None and title else None


def in_order(chapters: list[Chapter]) -> list[Chapter]:
    """At most one chapter per start time."""
    by_start = {chapter.start: chapter for chapter in chapters}
    return [by_start[start] for start in sorted(by_start)][:MAX_CHAPTERS]


def read_transcript(body: bytes, media_type: str) -> list[Cue]:
    """JSON, or VTT and SRT, which differ in what stands around the same lines."""
    if "json" in media_type or body.lstrip()[:1] == b"{":
        return _read_json(body)
    return list(_read_cues(body.decode("utf-8", "replace")))


def _read_json(body: bytes) -> list[Cue]:
    document = _json(body)
    segments = document.get("segments")
    cues: list[Cue] = []
    for item in cast(list[Any], segments)[:MAX_CUES] if isinstance(segments, list) else ():
        fields = cast(dict[str, Any], item) if isinstance(item, dict) else {}
        start, text = _seconds(fields.get("startTime")), _plain(fields.get("body"))
        if start is not None and text:
            cues.append(Cue(start, text, _plain(fields.get("speaker"))[:100]))
    return cues


def _read_cues(text: str) -> Iterator[Cue]:
    count = 0
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        times = _TIMES.search(block)
        if times is None:
            continue
        lines = block[times.end() :].partition("\n")[2]
        voice = _VOICE.search(lines)
        start, words = clock_seconds(times[1]), _plain(_TAG.sub("", lines))
        if start is not None and words:
            yield Cue(start, words, _plain(voice[1]) if voice else "")
            count += 1
        if count >= MAX_CUES:
            return


def clock_seconds(text: str) -> float | None:
    """`01:02:03.500`, `02:03` or `123.5`."""
    total = 0.0
    for part in text.strip().replace(",", ".").split(":")[:3]:
        try:
            total = total * 60 + float(part)
        except ValueError:
            return None
    return _seconds(total)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        return None
    return round(float(value), 3)


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return " ".join(html.unescape(value).replace("\0", "").split())[:MAX_TEXT]


def _json(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return cast(dict[str, Any], document) if isinstance(document, dict) else {}
