"""Chapters and transcripts of recordings: in the feed, or fetched on the first request."""

from collections.abc import Sequence

import orjson

from reedbed.domain.feeds import RecordingTexts, TranscriptLink
from reedbed.domain.playback import Chapter, Cue, RecordingId, transcript_text
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest
from reedbed.domain.times import DAY
from reedbed.ingest.transcripts import clock_seconds, in_order, read_chapters, read_transcript
from reedbed.services.playback.positions import get_recording
from reedbed.services.runtime import Runtime
from reedbed.services.search.upkeep import reindex
from reedbed.services.summaries import summarise_again
from reedbed.store import search
from reedbed.store.engine.database import Tx
from reedbed.store.playback import texts
from reedbed.store.search import texts as search_texts

MAX_BYTES = 1_000_000
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
        about = await texts.about(tx, entry_id)
        stored = await texts.stored(tx, entry_id)
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
        await texts.put_chapters(tx, entry_id, rows, runtime.now())
    return chapters


def _inline(about: RecordingTexts) -> list[Chapter]:
    starts = ((clock_seconds(start), " ".join(title.split())) for start, title in about.chapters)
    return in_order([Chapter(start, title) for start, title in starts if start is not None and title])


async def get_transcript(runtime: Runtime, user_id: int, entry_id: int) -> Transcript:
    await get_recording(runtime, user_id, RecordingId(entry_id))
    async with runtime.db.read() as tx:
        about = await texts.about(tx, entry_id)
        stored = await texts.stored(tx, entry_id)
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
        await texts.put_transcript(tx, entry_id, rows, runtime.now())
        if spoken:
            await _index(tx, runtime, entry_id, spoken)
    if spoken:
        await summarise_again(runtime, user_id, entry_id)
    return Transcript(cues, link.language)


async def _index(tx: Tx, runtime: Runtime, entry_id: int, spoken: str) -> None:
    before = await search_texts.possibly_indexed(tx, [entry_id]) if search.needs_text_to_delete(tx.engine) else []
    await texts.put_words(tx, entry_id, spoken)
    await reindex(tx, runtime.known_words, [entry_id], before)


def _best(links: Sequence[TranscriptLink]) -> TranscriptLink | None:
    readable = [link for link in links if link.type in _PREFERRED]
    return min(readable, key=lambda link: _PREFERRED.index(link.type), default=None)


async def _fetch(runtime: Runtime, url: str) -> bytes | None:
    outcome = await runtime.fetcher.fetch(FetchRequest(url, accept=_ACCEPT, max_bytes=MAX_BYTES))
    return outcome.body if isinstance(outcome, Fetched) else None
