"""The audio and video files of entries, lists of them by what a user has played, their chapters and transcripts."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    FromClause,
    and_,
    bindparam,
    delete,
    true,
    tuple_,
    update,
)

from reedbed.domain.feeds import RecordingTexts, TranscriptLink
from reedbed.domain.pagination import Cursor
from reedbed.domain.playback import Position, QueuedRecording, Recording, RecordingId, Show
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Command, Query, QueryFamily, among, func, insert, keyed, select
from reedbed.store.entries.columns import followed, visible
from reedbed.store.tables import (
    entries,
    entry_bodies,
    feeds,
    playback_positions,
    recording_texts,
    recordings,
    subscriptions,
)

_DELETE = Command(delete(recordings).where(among(recordings.c.entry_id, "ids")))
_ADD = Command(
    insert(recordings).on_conflict_do_nothing(),
    columns=["entry_id", "number", "kind", "url", "type", "seconds", "length"],
)
_NOTE_FEEDS = Command(
    update(feeds).where(among(feeds.c.id, "ids"), ~feeds.c.has_recordings).values(has_recordings=true())
)


async def put(tx: Tx, found: Sequence[tuple[int, int, Sequence[Recording]]], *, changed: bool = False) -> None:
    """Store the recordings of entries, as (entry id, feed id, recordings).

    `changed`: replace what is stored for those that have some; a document that leaves them out deletes none.
    """
    found = [(entry_id, feed_id, items) for entry_id, feed_id, items in found if items]
    if changed and found:
        await tx.run(_DELETE, {"ids": [entry_id for entry_id, _, _ in found]})
    rows = [_params(entry_id, item) for entry_id, _, items in found for item in items]
    if rows:
        await tx.run_many(_ADD, rows)
        await tx.run(_NOTE_FEEDS, {"ids": sorted({feed_id for _, feed_id, _ in found})})


def _params(entry_id: int, item: Recording) -> dict[str, Any]:
    return {
        "entry_id": entry_id,
        "number": item.number,
        "kind": item.kind,
        "url": item.url,
        "type": item.type,
        "seconds": item.seconds,
        "length": item.length,
    }


# --- Recordings as a player shows them

_USER = bindparam("user_id", type_=BigInteger)
_of_position = and_(
    playback_positions.c.user_id == _USER,
    playback_positions.c.entry_id == recordings.c.entry_id,
    playback_positions.c.number == recordings.c.number,
)
SHOWN = (
    recordings.c.entry_id,
    recordings.c.number,
    recordings.c.kind,
    recordings.c.url,
    recordings.c.type,
    recordings.c.seconds,
    entries.c.title,
    entries.c.feed_id,
    func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url),
    entries.c.image,
    entries.c.sort_at,
    subscriptions.c.id,
    subscriptions.c.playback_speed,
    playback_positions.c.seconds,
    playback_positions.c.total,
    playback_positions.c.done,
    playback_positions.c.played_at,
    playback_positions.c.changed_at,
)


def queued_recording(entry_id: int, number: int, *columns: Any) -> QueuedRecording:
    *shown, seconds, total, done, played_at, changed_at = columns
    position = None if played_at is None else Position(seconds, total, bool(done), played_at, changed_at)
    return QueuedRecording(RecordingId(entry_id, number), *shown, position=position)


def with_everything(source: FromClause) -> FromClause:
    """Join to `recordings` the entry, the feed, the user's subscription and position."""
    return (
        source.join(entries, entries.c.id == recordings.c.entry_id)
        .join(feeds, feeds.c.id == entries.c.feed_id)
        .outerjoin(subscriptions, and_(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == entries.c.feed_id))
        .outerjoin(playback_positions, _of_position)
    )


_OF_ENTRIES = Query(
    select(*SHOWN)
    .select_from(with_everything(recordings))
    .where(among(recordings.c.entry_id, "ids"), visible(with_muted=True))
    .order_by(recordings.c.entry_id, recordings.c.number),
    into=queued_recording,
)


async def of_entries(tx: Tx, user_id: int, ids: Sequence[int]) -> list[QueuedRecording]:
    """The recordings of those entries that the user can see."""
    return await tx.all(_OF_ENTRIES, {"user_id": user_id, "ids": list(ids)}) if ids else []


async def get(tx: Tx, user_id: int, id: RecordingId) -> QueuedRecording | None:
    found = await of_entries(tx, user_id, [id.entry_id])
    return next((item for item in found if item.id == id), None)


def _is_shown(show: Show) -> ColumnElement[bool]:
    match show:
        case "unplayed":
            return playback_positions.c.done.is_distinct_from(true())
        case "started":
            return and_(playback_positions.c.seconds > 0, ~playback_positions.c.done)
        case "played":
            return playback_positions.c.done
        case "all":
            return true()


def _select_page(show: Show, of_feed: bool) -> ClauseElement:
    beyond = tuple_(bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger))
    scope = (
        entries.c.feed_id == bindparam("feed_id", type_=BigInteger)
        if of_feed
        else entries.c.feed_id.in_(
            select(subscriptions.c.feed_id)
            .join(feeds, feeds.c.id == subscriptions.c.feed_id)
            .where(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None), feeds.c.has_recordings)
            .correlate(None)
        )
    )
    return (
        select(*SHOWN)
        .select_from(with_everything(recordings))
        # One row for each entry: other files of it are the same episode in other formats.
        .where(
            recordings.c.number == 0,
            scope,
            followed(),
            _is_shown(show),
            tuple_(entries.c.sort_at, entries.c.id) < beyond,
        )
        .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
        .limit(bindparam("limit", type_=BigInteger))
    )


_PAGE = QueryFamily(_select_page, into=queued_recording)


async def page(
    tx: Tx, user_id: int, show: Show, *, feed_id: int | None = None, beyond: Cursor | None = None, limit: int
) -> list[QueuedRecording]:
    """Episodes of the user's feeds, newest first."""
    start = (HIGHEST, 0) if beyond is None else (beyond.sort_at, beyond.id)
    params = {"user_id": user_id, "feed_id": feed_id, "at": start[0], "id": start[1], "limit": limit}
    return await tx.all(_PAGE(show, feed_id is not None), params)


# --- What lists of entries show


@record
class ListedRecording:
    kind: str
    seconds: int | None
    position: int | None
    done: bool


def _listed(kind: str, seconds: int | None, position: int | None, done: bool | None) -> ListedRecording:
    return ListedRecording(kind, seconds, position, bool(done))


_LISTED = Query(
    select(
        recordings.c.entry_id,
        recordings.c.kind,
        func.coalesce(recordings.c.seconds, playback_positions.c.total),
        playback_positions.c.seconds,
        playback_positions.c.done,
    )
    .select_from(recordings.outerjoin(playback_positions, _of_position))
    .where(among(recordings.c.entry_id, "ids"), recordings.c.number == 0),
    into=keyed(int, _listed),
)
_SET_SPEED = Command(
    update(subscriptions)
    .where(subscriptions.c.user_id == _USER, subscriptions.c.id == bindparam("id"))
    .values(playback_speed=bindparam("speed"))
)


async def set_speed(tx: Tx, user_id: int, subscription_id: int, speed: int | None) -> bool:
    """False if it is not a subscription of this user."""
    return await tx.run(_SET_SPEED, {"user_id": user_id, "id": subscription_id, "speed": speed}) == 1


async def listed(tx: Tx, user_id: int, ids: Sequence[int]) -> dict[int, ListedRecording]:
    """The first recording of each of these entries that has one. Does not check access."""
    return dict(await tx.all(_LISTED, {"user_id": user_id, "ids": list(ids)})) if ids else {}


# --- Chapters and transcripts


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
