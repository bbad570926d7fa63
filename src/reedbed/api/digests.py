"""Digests and their schedule. Every sentence of a digest cites its entries."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from reedbed.domain.digests import Digest, DigestScope, digest_markdown, minute_of, minutes_to_read
from reedbed.domain.errors import NotFound
from reedbed.domain.pagination import page_limit
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureText, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.digests import ask_digest, delete_digest, end_schedule, get_digest, send_digest_now, set_schedule
from reedbed.services.users import preferences_of
from reedbed.store import digests
from reedbed.store.digests import Schedule


class ScopeRequest(ApiModel):
    """Without fields: all entries of the user."""

    folder_id: JsonId | None = None
    tag: str | None = Field(default=None, max_length=200)
    q: str | None = Field(default=None, max_length=500, description="Only entries that match this search.")


@record
class ScopeResponse(ResponseModel):
    folder_id: JsonId | None
    tag: str | None
    q: str | None


@record
class SentenceResponse(ResponseModel):
    text: str
    entry_ids: Sequence[JsonId]
    quote: Annotated[str, Field(description="The words of a source that a model's sentence rests on, or empty.")]


@record
class CitedSourceResponse(ResponseModel):
    entry_id: JsonId
    title: str
    feed_title: str
    at: Timestamp


def scope_of(body: ScopeRequest) -> DigestScope:
    tag, q = (storable(text).strip() or None if text else None for text in (body.tag, body.q))
    return DigestScope(body.folder_id, tag, q)


router = ApiRouter(prefix="/api/v1/digests", tags=["digests"])

_CURSOR_VIEW = "digests"


class DigestRequest(ScopeRequest):
    since: Literal["day", "last"] = Field(default="day", description="The last 24 hours, or since the last digest.")


class ScheduleRequest(ScopeRequest):
    time: str = Field(examples=["07:30"], max_length=5)
    time_zone: str | None = Field(default=None, max_length=64, examples=["Europe/Berlin"])
    mail: bool = False


@record
class ParagraphResponse(ResponseModel):
    heading: str
    sentences: list[SentenceResponse]
    kind: Annotated[str, Field(description="top, folder, more, or empty in digests of a model and of version 0.1")]


@record
class DigestResponse(ScopeResponse):
    id: JsonId
    status: Annotated[str, Field(description="pending, ready or failed")]
    error: FailureText
    error_code: FailureName
    model: str
    built_in: bool
    fallback: Annotated[bool, Field(description="The model failed; the built-in extract was used.")]
    entries: int
    feeds: int
    items: Annotated[int, Field(description="Number of events; entries about the same event count once.")]
    dropped: Annotated[int, Field(description="Sentences left out because no entry supported them.")]
    left_out: Annotated[int, Field(description="Events that the digest leaves out.")]
    minutes_to_read: int
    liked_ids: Annotated[
        Sequence[JsonId], Field(description="Sources that stand higher because the user likes to read such entries.")
    ]
    since: Timestamp
    until: Timestamp
    created_at: Timestamp
    finished_at: Timestamp | None
    paragraphs: list[ParagraphResponse]
    sources: list[CitedSourceResponse]


@record
class ScheduleResponse(ScopeResponse):
    time: str
    time_zone: str
    mail: bool
    next_at: Timestamp


@router.get("", summary="List digests, newest first")
async def list_all(
    runtime: CurrentRuntime, caller: CurrentCaller, limit: PageLimit = None, cursor: PageCursor = None
) -> Json[ListPage[DigestResponse]]:
    size, before = page_limit(limit), before_of(cursor, _CURSOR_VIEW)
    async with runtime.db.read() as tx:
        rows = await digests.newest(tx, caller.user_id, limit=size + 1, before=before)
    return newest_first(rows, size, _CURSOR_VIEW, _digest_response)


@router.post(
    "",
    status_code=202,
    summary="Create a digest",
    description=(
        "Returns a pending digest; 404 if there are no entries for it, 503 while the model is unavailable. "
        "Later failures show in the digest's status."
    ),
)
async def ask(
    runtime: CurrentRuntime, caller: CurrentCaller, body: DigestRequest | None = None
) -> Json[DigestResponse]:
    options = body or DigestRequest()
    digest = await ask_digest(runtime, caller.user, scope_of(options), since_last=options.since == "last")
    return Json(_digest_response(digest), 202)


@router.get("/schedule", summary="Get the schedule")
async def schedule(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ScheduleResponse]:
    async with runtime.db.read() as tx:
        scheduled = await digests.schedule_of(tx, caller.user_id)
    if scheduled is None:
        raise NotFound("No digest is scheduled.")
    return Json(_schedule_response(scheduled))


@router.put("/schedule", summary="Schedule a daily digest")
async def plan(runtime: CurrentRuntime, caller: CurrentCaller, body: ScheduleRequest) -> Json[ScheduleResponse]:
    scheduled = await set_schedule(
        runtime,
        caller.user,
        minute=minute_of(body.time),
        zone=body.time_zone or preferences_of(caller.user).time_zone or "UTC",
        scope=scope_of(body),
        mail=body.mail,
    )
    return Json(_schedule_response(scheduled))


@router.delete("/schedule", status_code=204, summary="Delete the schedule")
async def unplan(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await end_schedule(runtime, caller.user_id)
    return Response(status_code=204)


@router.get("/{digest_id}", summary="Get a digest")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Json[DigestResponse]:
    return Json(_digest_response(await get_digest(runtime, caller.user_id, digest_id)))


@router.get(
    "/{digest_id}/markdown",
    summary="Download a digest as Markdown",
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
async def markdown(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    digest = await get_digest(runtime, caller.user_id, digest_id)
    headers = {"Content-Disposition": f'attachment; filename="reedbed-digest-{digest.id}.md"'}
    text = digest_markdown(digest, runtime.accounts.base_url)
    return Response(text, 200, headers, "text/markdown; charset=utf-8")


@router.post(
    "/{digest_id}/mail",
    status_code=202,
    summary="Send a digest to the user's own address",
    description="409 if the digest is not ready or the server cannot send mail.",
)
async def mail(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    await send_digest_now(runtime, caller.user, digest_id)
    return Response(status_code=202)


@router.delete("/{digest_id}", status_code=204, summary="Delete a digest")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    await delete_digest(runtime, caller.user_id, digest_id)
    return Response(status_code=204)


def _digest_response(digest: Digest) -> DigestResponse:
    paragraphs = [
        ParagraphResponse(paragraph.heading, list(map(SentenceResponse.of, paragraph.sentences)), paragraph.kind)
        for paragraph in digest.text.paragraphs
    ]
    return DigestResponse.of(
        digest,
        digest.text,
        digest.scope,
        built_in=digest.model == EXTRACT,
        minutes_to_read=minutes_to_read(digest.text),
        paragraphs=paragraphs,
        sources=[CitedSourceResponse.of(source, feed_title=source.feed) for source in digest.text.sources],
    )


def _schedule_response(schedule: Schedule) -> ScheduleResponse:
    time = f"{schedule.minute // 60:02}:{schedule.minute % 60:02}"
    return ScheduleResponse.of(schedule, schedule.scope, time=time, time_zone=schedule.zone)
