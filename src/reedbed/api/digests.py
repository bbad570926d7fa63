"""Digests and their schedule. Every sentence of a digest cites its entries."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.digests import (
    Digest,
    DigestScope,
    Paragraph,
    Sentence,
    Source,
    digest_markdown,
    minute_of,
)
from reedbed.domain.errors import NotFound
from reedbed.domain.pagination import page_limit
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import json_response, moment, text_id
from reedbed.services.digests import ask_digest, delete_digest, end_schedule, get_digest, set_schedule
from reedbed.services.users import preferences_of
from reedbed.store import digests
from reedbed.store.digests import Schedule


class ScopeRequest(ApiModel):
    """Without fields: all entries of the user."""

    folder_id: JsonId | None = None
    tag: str | None = Field(default=None, max_length=200)
    q: str | None = Field(default=None, max_length=500, description="Only entries that match this search.")


class ScopeResponse(ApiModel):
    folder_id: str | None
    tag: str | None
    q: str | None


class SentenceResponse(ApiModel):
    text: str
    entry_ids: list[str]


class CitedSourceResponse(ApiModel):
    entry_id: str
    title: str
    feed_title: str
    at: str


def scope_of(body: ScopeRequest) -> DigestScope:
    tag, q = (storable(text).strip() or None if text else None for text in (body.tag, body.q))
    return DigestScope(body.folder_id, tag, q)


def scope_json(scope: DigestScope) -> dict[str, str | None]:
    return {"folder_id": text_id(scope.folder_id), "tag": scope.tag, "q": scope.q}


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    return {"text": sentence.text, "entry_ids": list(map(str, sentence.entry_ids))}


def source_json(source: Source) -> dict[str, Any]:
    return {
        "entry_id": str(source.entry_id),
        "title": source.title,
        "feed_title": source.feed,
        "at": moment(source.at),
    }


router = APIRouter(prefix="/api/v1/digests", tags=["digests"])

_CURSOR_VIEW = "digests"


class DigestRequest(ScopeRequest):
    since: Literal["day", "last"] = Field(
        default="day", description="The last 24 hours, or since the last digest."
    )


class ScheduleRequest(ScopeRequest):
    time: str = Field(examples=["07:30"], max_length=5)
    time_zone: str | None = Field(default=None, max_length=64, examples=["Europe/Berlin"])
    mail: bool = False


class ParagraphResponse(ApiModel):
    heading: str
    sentences: list[SentenceResponse]


class DigestResponse(ScopeResponse):
    id: str
    status: str = Field(description="pending, ready or failed")
    error: str | None
    model: str
    built_in: bool
    fallback: bool = Field(description="The model failed; the built-in extract was used.")
    entries: int
    feeds: int
    items: int = Field(description="Number of events; entries about the same event count once.")
    dropped: int = Field(description="Sentences left out because no entry supported them.")
    since: str
    until: str
    created_at: str
    finished_at: str | None
    paragraphs: list[ParagraphResponse]
    sources: list[CitedSourceResponse]


class DigestList(ApiModel):
    items: list[DigestResponse]
    next_cursor: str | None


class ScheduleResponse(ScopeResponse):
    time: str
    time_zone: str
    mail: bool
    next_at: str


@router.get("", summary="List digests, newest first", responses={200: {"model": DigestList}})
async def list_all(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, before = page_limit(limit), before_of(cursor, _CURSOR_VIEW)
    async with runtime.db.read() as tx:
        rows = await digests.newest(tx, caller.user_id, limit=size + 1, before=before)
    return newest_first(rows, size, _CURSOR_VIEW, _digest_json)


@router.post(
    "",
    status_code=202,
    summary="Create a digest",
    description=(
        "Returns a pending digest; 404 if there are no entries for it, 503 while the model is unavailable. "
        "Later failures show in the digest's status."
    ),
    responses={202: {"model": DigestResponse}},
)
async def ask(runtime: CurrentRuntime, caller: CurrentCaller, body: DigestRequest | None = None) -> Response:
    options = body or DigestRequest()
    digest = await ask_digest(runtime, caller.user, scope_of(options), since_last=options.since == "last")
    return json_response(_digest_json(digest), 202)


@router.get("/schedule", summary="Get the schedule", responses={200: {"model": ScheduleResponse}})
async def schedule(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        scheduled = await digests.schedule_of(tx, caller.user_id)
    if scheduled is None:
        raise NotFound("No digest is scheduled.")
    return json_response(_schedule_json(scheduled))


@router.put("/schedule", summary="Schedule a daily digest", responses={200: {"model": ScheduleResponse}})
async def plan(runtime: CurrentRuntime, caller: CurrentCaller, body: ScheduleRequest) -> Response:
    scheduled = await set_schedule(
        runtime,
        caller.user,
        minute=minute_of(body.time),
        zone=body.time_zone or preferences_of(caller.user).time_zone or "UTC",
        scope=scope_of(body),
        mail=body.mail,
    )
    return json_response(_schedule_json(scheduled))


@router.delete("/schedule", status_code=204, summary="Delete the schedule")
async def unplan(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await end_schedule(runtime, caller.user_id)
    return Response(status_code=204)


@router.get("/{digest_id}", summary="Get a digest", responses={200: {"model": DigestResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    return json_response(_digest_json(await get_digest(runtime, caller.user_id, digest_id)))


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


@router.delete("/{digest_id}", status_code=204, summary="Delete a digest")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    await delete_digest(runtime, caller.user_id, digest_id)
    return Response(status_code=204)


def _digest_json(digest: Digest) -> dict[str, Any]:
    text = digest.text
    return {
        "id": str(digest.id),
        "status": digest.status,
        "error": digest.error,
        "model": digest.model,
        "built_in": digest.model == EXTRACT,
        "fallback": text.fallback,
        "entries": digest.entries,
        "feeds": text.feeds,
        "items": text.items,
        "dropped": text.dropped,
        **scope_json(digest.scope),
        "since": moment(digest.since),
        "until": moment(digest.until),
        "created_at": moment(digest.created_at),
        "finished_at": moment(digest.finished_at),
        "paragraphs": [_paragraph_json(paragraph) for paragraph in text.paragraphs],
        "sources": [source_json(source) for source in text.sources],
    }


def _paragraph_json(paragraph: Paragraph) -> dict[str, Any]:
    return {
        "heading": paragraph.heading,
        "sentences": [sentence_json(sentence) for sentence in paragraph.sentences],
    }


def _schedule_json(schedule: Schedule) -> dict[str, Any]:
    return {
        "time": f"{schedule.minute // 60:02}:{schedule.minute % 60:02}",
        "time_zone": schedule.zone,
        "mail": schedule.mail,
        "next_at": moment(schedule.next_at),
        **scope_json(schedule.scope),
    }
