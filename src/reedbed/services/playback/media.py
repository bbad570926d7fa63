"""Recordings: media that a page may not load itself, and chapters and transcripts.

Plain http is passed through this server, with ranges. Texts are in the feed, or fetched on the first request.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import orjson

from reedbed.domain.errors import NotFound, TooMany, Unavailable
from reedbed.domain.feeds import RecordingTexts, TranscriptLink
from reedbed.domain.playback import Chapter, Cue, RecordingId, transcript_text
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest
from reedbed.domain.times import DAY
from reedbed.ingest.transcripts import clock_seconds, in_order, read_chapters, read_transcript
from reedbed.services.playback.positions import NO_SUCH, get_recording
from reedbed.services.runtime import Runtime
from reedbed.services.search.upkeep import reindex
from reedbed.services.summaries import summarise_again
from reedbed.store import search
from reedbed.store.engine.database import Tx
from reedbed.store.playback import recordings
from reedbed.store.search import texts as search_texts

if TYPE_CHECKING:
    import aiohttp


MAX_STREAMS = 4
"""Simultaneous files for one user in each process. A browser opens another one when the user seeks."""
MAX_BYTES = 4 * 1024**3
CHUNK_BYTES = 64 * 1024
STALL_SECONDS = 30.0
"""The transfer ends when the server sends nothing, or the player takes nothing, for this long."""

_RANGE = re.compile(r"bytes=\d{0,19}-\d{0,19}")
_PASSED_ON = ("Content-Length", "Content-Range", "Accept-Ranges", "ETag", "Last-Modified")


@record
class Media:
    status: int
    headers: Mapping[str, str]
    media_type: str
    chunks: AsyncGenerator[bytes]


async def open_media(runtime: Runtime, user_id: int, id: RecordingId, wanted_range: str | None) -> Media:
    """The file of a recording at a plain http URL, or the part of it that the range names."""
    recording = await get_recording(runtime, user_id, id)
    if not recording.url.startswith("http:"):
        raise NotFound(NO_SUCH)
    if runtime.metrics.media_by_user.get(user_id, 0) >= MAX_STREAMS:
        raise TooMany("Too many recordings are playing at once.", 5)
    headers = {"Accept": "audio/*, video/*, */*;q=0.5"}
    if wanted_range and _RANGE.fullmatch(wanted_range.strip()):
        headers["Range"] = wanted_range.strip()
    stack = AsyncExitStack()
    _count(runtime, stack, user_id)
    try:
        response = await runtime.fetcher.open_stream(stack, recording.url, headers)
        return _checked(response, stack, recording.kind)
    except BaseException:
        await stack.aclose()
        raise


def _count(runtime: Runtime, stack: AsyncExitStack, user_id: int) -> None:
    by_user = runtime.metrics.media_by_user
    by_user[user_id] = by_user.get(user_id, 0) + 1

    def end() -> None:
        by_user[user_id] -= 1
        if not by_user[user_id]:
            del by_user[user_id]

    stack.callback(end)


def _checked(response: "aiohttp.ClientResponse | Failed", stack: AsyncExitStack, kind: str) -> Media:
    if isinstance(response, Failed):
        raise Unavailable(response.failure)
    if response.status not in (200, 206, 416):
        raise NotFound("The site does not have the file.")
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not media_type.startswith(("audio/", "video/")):
        if media_type not in ("", "application/octet-stream", "binary/octet-stream", "application/ogg"):
            raise NotFound("The site sends something else than audio or video.")
        media_type = "video/mp4" if kind == "video" else "audio/mpeg"
    headers = {name: value for name in _PASSED_ON if (value := response.headers.get(name)) is not None}
    return Media(response.status, headers, media_type, _chunks(response, stack))


async def _chunks(response: "aiohttp.ClientResponse", stack: AsyncExitStack) -> AsyncGenerator[bytes]:
    sent = 0
    async with stack:
        while sent < MAX_BYTES:
            async with asyncio.timeout(STALL_SECONDS):
                chunk = await response.content.read(CHUNK_BYTES)
            if not chunk:
                return
            sent += len(chunk)
            yield chunk


# --- Chapters and transcripts


MAX_TEXT_BYTES = 1_000_000
RETRY_AFTER = DAY
"""A file that could not be had is asked for again after this."""

_ACCEPT = "application/json, text/vtt, application/x-subrip, text/plain;q=0.8, */*;q=0.3"
_PREFERRED = ("text/vtt", "application/x-subrip", "application/srt", "application/json")


@record
class Transcript:
    cues: Sequence[Cue]
    language: str | None = None


async def get_chapters(runtime: Runtime, user_id: int, entry_id: int) -> Sequence[Chapter]:
    await get_recording(runtime, user_id, RecordingId(entry_id))
    async with runtime.db.read() as tx:
        about = await recordings.about(tx, entry_id)
        stored = await recordings.stored(tx, entry_id)
    if about is None:
        return ()
    if about.chapters:
        return _inline(about)
    if about.chapters_url is None:
        return ()
    if stored.chapters is not None and (stored.chapters != "[]" or stored.chapters_at > runtime.now() - RETRY_AFTER):
        return [Chapter(*fields) for fields in orjson.loads(stored.chapters)]
    body = await _fetch(runtime, about.chapters_url)
    chapters = read_chapters(body) if body else []
    rows = orjson.dumps([(chapter.start, chapter.title) for chapter in chapters]).decode()
    async with runtime.db.write() as tx:
        await recordings.put_chapters(tx, entry_id, rows, runtime.now())
    return chapters


def _inline(about: RecordingTexts) -> list[Chapter]:
    starts = ((clock_seconds(start), " ".join(title.split())) for start, title in about.chapters)
    return in_order([Chapter(start, title) for start, title in starts if start is not None and title])


async def get_transcript(runtime: Runtime, user_id: int, entry_id: int) -> Transcript:
    await get_recording(runtime, user_id, RecordingId(entry_id))
    async with runtime.db.read() as tx:
        about = await recordings.about(tx, entry_id)
        stored = await recordings.stored(tx, entry_id)
    link = _best(about.transcripts) if about else None
    if link is None:
        return Transcript(())
    known = stored.transcript
    if known is not None and (known != "[]" or stored.transcript_at > runtime.now() - RETRY_AFTER):
        return Transcript([Cue(*fields) for fields in orjson.loads(known)], link.language)
    body = await _fetch(runtime, link.url)
    cues = read_transcript(body, link.type) if body else []
    rows = orjson.dumps([(cue.start, cue.text, cue.speaker) for cue in cues]).decode()
    spoken = transcript_text(cues)
    async with runtime.db.write() as tx:
        await recordings.put_transcript(tx, entry_id, rows, runtime.now())
        if spoken:
            await _index(tx, runtime, entry_id, spoken)
    if spoken:
        await summarise_again(runtime, user_id, entry_id)
    return Transcript(cues, link.language)


async def _index(tx: Tx, runtime: Runtime, entry_id: int, spoken: str) -> None:
    before = await search_texts.possibly_indexed(tx, [entry_id]) if search.needs_text_to_delete(tx.engine) else []
    await recordings.put_words(tx, entry_id, spoken)
    await reindex(tx, runtime.known_words, [entry_id], before)


def _best(links: Sequence[TranscriptLink]) -> TranscriptLink | None:
    readable = [link for link in links if link.type in _PREFERRED]
    return min(readable, key=lambda link: _PREFERRED.index(link.type), default=None)


async def _fetch(runtime: Runtime, url: str) -> bytes | None:
    outcome = await runtime.fetcher.fetch(FetchRequest(url, accept=_ACCEPT, max_bytes=MAX_TEXT_BYTES))
    return outcome.body if isinstance(outcome, Fetched) else None
