"""Chapters and transcripts of entries: what the feed says about them, and what was fetched."""

from typing import Any

import orjson
from sqlalchemy import bindparam, update

from reedbed.domain.feeds import RecordingTexts, TranscriptLink
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, insert, select
from reedbed.store.tables import entry_bodies, recording_texts


@record
class StoredTexts:
    """JSON; None if it was never fetched."""

    chapters: str | None = None
    chapters_at: Instant = 0
    transcript: str | None = None
    transcript_at: Instant = 0


_ABOUT = Query(select(entry_bodies.c.extra).where(entry_bodies.c.entry_id == bindparam("entry")), into=str)
_STORED = Query(
    select(
        recording_texts.c.chapters,
        func.coalesce(recording_texts.c.chapters_at, 0),
        recording_texts.c.transcript,
        func.coalesce(recording_texts.c.transcript_at, 0),
    ).where(recording_texts.c.entry_id == bindparam("entry")),
    into=StoredTexts,
)


def _put(name: str) -> Command:
    new = insert(recording_texts)
    kept = {name: new.excluded[name], f"{name}_at": new.excluded[f"{name}_at"]}
    statement = new.on_conflict_do_update(index_elements=["entry_id"], set_=kept)
    return Command(statement, columns=["entry_id", name, f"{name}_at"])


_WORDS = Query(
    select(func.coalesce(entry_bodies.c.transcript, "")).where(entry_bodies.c.entry_id == bindparam("entry")), into=str
)
_PUT_WORDS = Command(
    update(entry_bodies).where(entry_bodies.c.entry_id == bindparam("entry")).values(transcript=bindparam("words"))
)
_PUT_CHAPTERS, _PUT_TRANSCRIPT = _put("chapters"), _put("transcript")


async def about(tx: Tx, entry_id: int) -> RecordingTexts | None:
    """What the feed says. Does not check access."""
    extra = await tx.one(_ABOUT, {"entry": entry_id})
    fields: dict[str, Any] | None = orjson.loads(extra or "{}").get("texts")
    if fields is None:
        return None
    return RecordingTexts(
        tuple((start, title) for start, title in fields["chapters"]),
        fields["chapters_url"],
        tuple(TranscriptLink(**link) for link in fields["transcripts"]),
    )


async def stored(tx: Tx, entry_id: int) -> StoredTexts:
    return await tx.one(_STORED, {"entry": entry_id}) or StoredTexts()


async def put_chapters(tx: Tx, entry_id: int, chapters: str, now: Instant) -> None:
    await tx.run(_PUT_CHAPTERS, {"entry_id": entry_id, "chapters": chapters, "chapters_at": now})


async def put_transcript(tx: Tx, entry_id: int, transcript: str, now: Instant) -> None:
    await tx.run(_PUT_TRANSCRIPT, {"entry_id": entry_id, "transcript": transcript, "transcript_at": now})


async def words(tx: Tx, entry_id: int) -> str:
    """The transcript as plain text, for search, summaries and questions; empty if it was not requested yet."""
    return await tx.one(_WORDS, {"entry": entry_id}) or ""


async def put_words(tx: Tx, entry_id: int, transcript: str) -> None:
    """The caller indexes the entry in the same transaction."""
    await tx.run(_PUT_WORDS, {"entry": entry_id, "words": transcript})
