"""What is read aloud: requests, sound, and the private podcast feed with chapters and transcripts."""

from typing import Annotated, Literal

import orjson
from fastapi import Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from reedbed.domain.feed_writer import write_podcast
from reedbed.domain.listening import Spoken
from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureText, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.listening.manage import (
    get_spoken,
    newest_spoken,
    open_sound,
    podcast_owner,
    podcast_url,
    publish_podcast,
    read_podcast,
    request_spoken,
)
from reedbed.services.runtime import Runtime

router = ApiRouter(prefix="/api/v1/listening", tags=["listening"])
podcast_router = ApiRouter(prefix="/podcast", tags=["listening"])

_PRIVATE = {"Cache-Control": "private, max-age=60", "X-Robots-Tag": "noindex, nofollow"}
Range = Annotated[str | None, Header(alias="Range", max_length=100)]


class ListenRequest(ApiModel):
    kind: Literal["entry", "digest"]
    id: JsonId = Field(description="Of the entry or the digest.")


class PodcastRequest(ApiModel):
    name: str = Field("Read aloud", max_length=100)


@record
class SpokenChapterResponse(ResponseModel):
    start: Annotated[float, Field(description="Seconds.")]
    title: str
    url: str


@record
class SpokenResponse(ResponseModel):
    id: JsonId
    kind: Annotated[str, Field(description="entry or digest")]
    source_id: Annotated[JsonId, Field(description="The entry or digest that is read.")]
    status: Annotated[str, Field(description="pending, ready or failed", examples=["ready"])]
    title: str
    language: str
    media_type: str
    length: Annotated[int, Field(description="Bytes.")]
    seconds: int
    chapters: list[SpokenChapterResponse]
    entry_id: Annotated[JsonId | None, Field(description="Its entry in your own feed, which the player queues.")]
    created_at: Timestamp
    error: FailureText
    error_code: FailureName


@record
class PodcastResponse(ResponseModel):
    url: Annotated[str, Field(description="Shown once. Whoever knows it can listen.")]


@router.get("", summary="List what was read aloud, newest first")
async def list_spoken(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[SpokenResponse]]:
    return Json(ListPage([_response(one) for one in await newest_spoken(runtime, caller.user_id)]))


@router.post(
    "",
    status_code=202,
    summary="Have an entry or a digest read aloud",
    description="Returns at once; a `progress` event with `kind: listening` says when it is done.",
)
async def ask(runtime: CurrentRuntime, caller: CurrentCaller, body: ListenRequest) -> Json[SpokenResponse]:
    return Json(_response(await request_spoken(runtime, caller.user, body.kind, int(body.id))), 202)


@router.post("/podcast", status_code=201, summary="Create a private podcast feed, or a new URL for it")
async def create_podcast(runtime: CurrentRuntime, caller: CurrentCaller, body: PodcastRequest) -> Json[PodcastResponse]:
    opened = await publish_podcast(runtime, caller.user_id, body.name)
    return Json(PodcastResponse(podcast_url(runtime, opened.token)), 201)


@router.get("/{spoken_id}", summary="Get one")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, spoken_id: IdPath) -> Json[SpokenResponse]:
    return Json(_response(await get_spoken(runtime, caller.user_id, spoken_id)))


@router.get("/{spoken_id}/sound", summary="Get its sound, or a range of it", response_class=Response)
async def sound(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, spoken_id: IdPath, wanted: Range = None
) -> Response:
    return await _sound(request, runtime, caller.user_id, spoken_id, wanted)


@router.get("/{spoken_id}/transcript.vtt", summary="Get its text with times", response_class=Response)
async def transcript(runtime: CurrentRuntime, caller: CurrentCaller, spoken_id: IdPath) -> Response:
    return _transcript(await get_spoken(runtime, caller.user_id, spoken_id))


# --- For podcast apps, which only know the address


@podcast_router.get("/{token}/feed.rss", summary="Get the podcast feed", response_class=Response)
async def podcast(runtime: CurrentRuntime, token: str) -> Response:
    name, episodes = await read_podcast(runtime, token)
    base = f"{runtime.accounts.base_url}/podcast/{token}"
    body = write_podcast(name, f"{base}/feed.rss", runtime.accounts.base_url, base, episodes)
    return Response(body, 200, _PRIVATE, "application/rss+xml; charset=utf-8")


@podcast_router.get("/{token}/{spoken_id}/sound", summary="Get an episode", response_class=Response)
async def podcast_sound(
    request: Request, runtime: CurrentRuntime, token: str, spoken_id: IdPath, wanted: Range = None
) -> Response:
    return await _sound(request, runtime, await podcast_owner(runtime, token), spoken_id, wanted)


@podcast_router.get("/{token}/{spoken_id}/chapters.json", summary="Get its chapters", response_class=Response)
async def podcast_chapters(runtime: CurrentRuntime, token: str, spoken_id: IdPath) -> Response:
    found = await get_spoken(runtime, await podcast_owner(runtime, token), spoken_id)
    chapters = [
        {"startTime": round(one.start, 3), "title": one.title, **({"url": one.url} if one.url else {})}
        for one in found.chapters
    ]
    body = orjson.dumps({"version": "1.2.0", "chapters": chapters})
    return Response(body, 200, _PRIVATE, "application/json+chapters")


@podcast_router.get("/{token}/{spoken_id}/transcript.vtt", summary="Get its text with times", response_class=Response)
async def podcast_transcript(runtime: CurrentRuntime, token: str, spoken_id: IdPath) -> Response:
    return _transcript(await get_spoken(runtime, await podcast_owner(runtime, token), spoken_id))


async def _sound(request: Request, runtime: Runtime, user_id: int, spoken_id: int, wanted: str | None) -> Response:
    sound = await open_sound(runtime, user_id, spoken_id, wanted)
    tag, headers = sound.headers["ETag"], {**_PRIVATE, **sound.headers}
    if request.headers.get("if-range", tag) != tag:
        # The client has a part of an older recording: send the whole new one.
        sound = await open_sound(runtime, user_id, spoken_id, None)
        headers = {**_PRIVATE, **sound.headers}
    known = request.headers.get("if-none-match", "")
    if known == "*" or tag in known.split(", "):
        return Response(status_code=304, headers={**_PRIVATE, "ETag": tag})
    return StreamingResponse(sound.chunks, sound.status, headers, sound.media_type)


def _transcript(found: Spoken) -> Response:
    ends = [start for start, _ in found.transcript[1:]] + [float(found.seconds)]
    cues = [
        f"{_vtt_time(start)} --> {_vtt_time(max(start, end))}\n{text.replace('-->', '→')}\n"
        for (start, text), end in zip(found.transcript, ends, strict=True)
    ]
    return Response("WEBVTT\n\n" + "\n".join(cues), 200, _PRIVATE, "text/vtt; charset=utf-8")


def _vtt_time(seconds: float) -> str:
    millis = round(seconds * 1000)
    return f"{millis // 3_600_000:02}:{millis // 60_000 % 60:02}:{millis // 1000 % 60:02}.{millis % 1000:03}"


def _response(found: Spoken) -> SpokenResponse:
    return SpokenResponse.of(found, chapters=[SpokenChapterResponse.of(chapter) for chapter in found.chapters])
