"""Audio and video: the queue, positions and lists of episodes."""

from typing import Annotated, Literal

from fastapi import Header, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, Field

from reedbed.domain.pagination import decode_cursor, encode_cursor, page_limit
from reedbed.domain.playback import MAX_QUEUE, Position, PositionReport, QueuedRecording, RecordingId, play_url
from reedbed.domain.records import record
from reedbed.domain.times import Instant, from_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, next_offset, read_offset
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.images import Pictures, image_urls_for_page
from reedbed.services.playback.media import get_chapters, get_transcript, open_media
from reedbed.services.playback.positions import (
    enqueue,
    forget_position,
    get_recording,
    list_queue,
    remove_from_queue,
    replace_queue,
    report_position,
    set_feed_speed,
)
from reedbed.services.runtime import Runtime
from reedbed.store.playback import positions, recordings

router = ApiRouter(prefix="/api/v1/playback", tags=["playback"])

Number = Annotated[int, Query(ge=0, le=99, description="Which recording of the entry, from 0.")]
Source = Annotated[
    str, Query(max_length=50, description="Your name for this player; events of its own changes carry it.")
]


@record
class PositionResponse(ResponseModel):
    position: Annotated[int, Field(description="Seconds.")]
    resume_at: Annotated[int, Field(description="Where to go on, in seconds: a little before; 0 if it was played.")]
    total: Annotated[int | None, Field(description="Length of the file that was played, in seconds.")]
    done: bool
    played_at: Timestamp


@record
class RecordingResponse(ResponseModel):
    entry_id: JsonId
    number: int
    kind: Annotated[str, Field(description="audio or video.")]
    url: str
    play_url: Annotated[str, Field(description="What a page plays: plain http goes through this server.")]
    type: str | None
    seconds: Annotated[int | None, Field(description="The length, if the feed tells it.")]
    title: str
    feed_id: JsonId
    feed_title: str
    image: str | None
    picture: Annotated[str | None, Field(description="The image as a page of this server shows it.")]
    published_at: Timestamp
    subscription_id: JsonId | None
    speed: Annotated[int | None, Field(description="The speed set for this feed, in percent; null: your own.")]
    position: PositionResponse | None


def recording_response(item: QueuedRecording, pictures: Pictures | None = None) -> RecordingResponse:
    return RecordingResponse.of(
        item,
        entry_id=item.id.entry_id,
        number=item.id.number,
        play_url=play_url(item.id.entry_id, item.id.number, item.url),
        picture=item.image if pictures is None else pictures.one(item.image),
        published_at=item.sort_at,
        position=None if item.position is None else position_response(item.position),
    )


def position_response(position: Position) -> PositionResponse:
    return PositionResponse.of(position, position=position.seconds)


# --- The queue


class RecordingName(ApiModel):
    entry_id: JsonId
    number: int = Field(0, ge=0, le=99, description="Which recording of the entry, from 0.")


class EnqueueRequest(RecordingName):
    place: Literal["now", "next", "last"] = Field("last", description="The first recording of the queue plays.")


class ReplaceQueueRequest(ApiModel):
    items: list[RecordingName] = Field(max_length=MAX_QUEUE)


@router.get("/queue", summary="Get the queue; its first recording is the one that plays")
async def get_queue(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[RecordingResponse]]:
    return _queue_response(runtime, await list_queue(runtime, caller.user_id))


@router.post("/queue", summary="Add a recording to the queue, or move it there")
async def add_to_queue(
    runtime: CurrentRuntime, caller: CurrentCaller, body: EnqueueRequest, source: Source = ""
) -> Json[ListPage[RecordingResponse]]:
    id = RecordingId(body.entry_id, body.number)
    return _queue_response(runtime, await enqueue(runtime, caller.user_id, id, body.place, source=source))


@router.put("/queue", summary="Replace the whole queue: to sort it, to clear it, to undo a change")
async def set_queue(
    runtime: CurrentRuntime, caller: CurrentCaller, body: ReplaceQueueRequest, source: Source = ""
) -> Json[ListPage[RecordingResponse]]:
    ids = [RecordingId(item.entry_id, item.number) for item in body.items]
    return _queue_response(runtime, await replace_queue(runtime, caller.user_id, ids, source=source))


@router.delete("/queue/{entry_id}", summary="Take a recording out of the queue")
async def dequeue(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, number: Number = 0, source: Source = ""
) -> Json[ListPage[RecordingResponse]]:
    id = RecordingId(entry_id, number)
    return _queue_response(runtime, await remove_from_queue(runtime, caller.user_id, id, source=source))


def _queue_response(runtime: Runtime, queue: list[QueuedRecording]) -> Json[ListPage[RecordingResponse]]:
    pictures = image_urls_for_page(runtime)
    return Json(ListPage([recording_response(item, pictures) for item in queue]))


# --- Positions


class PositionRequest(ApiModel):
    position: int = Field(description="Seconds.")
    total: int | None = Field(None, description="Length of the file, in seconds, if known.")
    started: int | None = Field(None, description="Where this stretch of playing began, in seconds.")
    done: bool | None = Field(None, description="Played or not; null: decided by position and length.")
    played_at: AwareDatetime | None = Field(
        None, description="When it was there; null: now. A time in the future never replaces a stored position."
    )
    age_ms: int | None = Field(
        None, ge=0, le=10**12, description="Instead of played_at: how long ago, which needs no correct clock."
    )


@record
class PositionChangeResponse(PositionResponse):
    applied: Annotated[bool, Field(description="False: a newer position was known; this is it.")]


@record
class RecordingPositionResponse(PositionResponse):
    entry_id: JsonId
    number: int
    changed_at: Timestamp


@router.get("/positions", summary="List positions, in the order in which they were stored")
async def list_positions(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    since: Annotated[AwareDatetime | None, Query(description="Only those stored at or after this time.")] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[RecordingPositionResponse]]:
    size, offset = page_limit(limit), read_offset(cursor)
    after = 0 if since is None else from_datetime(since)
    async with runtime.db.read() as tx:
        rows = await positions.changed_since(tx, caller.user_id, after, limit=size + 1, offset=offset)
    items = [RecordingPositionResponse.of(position, id, position=position.seconds) for id, position in rows[:size]]
    return Json(ListPage(items, next_offset(offset, size, len(rows))))


@router.put("/positions/{entry_id}", summary="Store how far a recording was played")
async def set_position(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    body: PositionRequest,
    number: Number = 0,
    source: Source = "",
) -> Json[PositionChangeResponse]:
    report = PositionReport(body.position, body.total, body.started, body.done, _played_at(runtime, body))
    stored = await report_position(runtime, caller.user_id, RecordingId(entry_id, number), report, source=source)
    return Json(PositionChangeResponse.of(stored.position, position=stored.position.seconds, applied=stored.applied))


@router.delete("/positions/{entry_id}", status_code=204, summary="Forget that a recording was played")
async def delete_position(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, number: Number = 0
) -> Response:
    id = RecordingId(entry_id, number)
    await get_recording(runtime, caller.user_id, id)
    await forget_position(runtime, caller.user_id, id)
    return Response(status_code=204)


def _played_at(runtime: Runtime, body: PositionRequest) -> Instant | None:
    if body.age_ms is not None:
        return runtime.now() - body.age_ms
    return None if body.played_at is None else from_datetime(body.played_at)


class FeedPlaybackRequest(ApiModel):
    speed: int | None = Field(description="Of all its recordings, 80 to 250 percent; null: your own speed.")


@router.put("/feeds/{subscription_id}", status_code=204, summary="Set how fast the recordings of a feed play")
async def set_feed(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: FeedPlaybackRequest
) -> Response:
    await set_feed_speed(runtime, caller.user_id, subscription_id, body.speed)
    return Response(status_code=204)


# --- Recordings


@router.get("/recordings", summary="List the recordings of your feeds, newest first")
async def list_recordings(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    show: Annotated[Literal["unplayed", "started", "played", "all"], Query()] = "all",
    feed_id: Annotated[JsonId | None, Query()] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[RecordingResponse]]:
    size, view = page_limit(limit), f"recordings {show} {feed_id}"
    beyond = None if cursor is None else decode_cursor(cursor, "newest", view)
    async with runtime.db.read() as tx:
        rows = await recordings.page(tx, caller.user_id, show, feed_id=feed_id, beyond=beyond, limit=size + 1)
    items, last = rows[:size], rows[size - 1] if len(rows) > size else None
    next_cursor = None if last is None else encode_cursor(last.sort_at, last.id.entry_id, "newest", view)
    return Json(ListPage([recording_response(item, image_urls_for_page(runtime)) for item in items], next_cursor))


@router.get("/recordings/{entry_id}", summary="Get a recording of an entry, with your position")
async def show_recording(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, number: Number = 0
) -> Json[RecordingResponse]:
    return Json(
        recording_response(
            await get_recording(runtime, caller.user_id, RecordingId(entry_id, number)), image_urls_for_page(runtime)
        )
    )


@record
class ChapterResponse(ResponseModel):
    start: Annotated[float, Field(description="Seconds.")]
    title: str


@record
class CueResponse(ResponseModel):
    start: Annotated[float, Field(description="Seconds.")]
    text: str
    speaker: str


@record
class TranscriptResponse(ResponseModel):
    items: list[CueResponse]
    language: str | None


@router.get("/recordings/{entry_id}/chapters", summary="List the chapters of a recording")
async def list_chapters(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath
) -> Json[ListPage[ChapterResponse]]:
    chapters = await get_chapters(runtime, caller.user_id, entry_id)
    return Json(ListPage([ChapterResponse.of(chapter) for chapter in chapters]))


@router.get("/recordings/{entry_id}/transcript", summary="Get the transcript of a recording")
async def show_transcript(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[TranscriptResponse]:
    transcript = await get_transcript(runtime, caller.user_id, entry_id)
    return Json(TranscriptResponse([CueResponse.of(cue) for cue in transcript.cues], transcript.language))


_MEDIA = {"content": {"audio/*": {"schema": {"type": "string", "format": "binary"}}}}


@router.get(
    "/recordings/{entry_id}/media",
    summary="Play a recording whose URL is plain http, through this server; takes ranges",
    response_class=StreamingResponse,
    responses={200: _MEDIA, 206: _MEDIA},
)
async def stream_media(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    number: Number = 0,
    range: Annotated[str | None, Header(max_length=100)] = None,
) -> Response:
    media = await open_media(runtime, caller.user_id, RecordingId(entry_id, number), range)
    headers = {
        **media.headers,
        "Cache-Control": "private, no-store",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": "inline",
    }
    return StreamingResponse(media.chunks, media.status, headers, media.media_type)
