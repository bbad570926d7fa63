"""Digests: many entries in a few paragraphs, every sentence with the entries that say it."""

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
    """Nothing set: everything you can read."""

    folder_id: JsonId | None = None
    tag: str | None = Field(default=None, max_length=200)
    q: str | None = Field(default=None, max_length=500, description="Only among what this search finds.")


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

_LIST = "digests"


class DigestRequest(ScopeRequest):
    since: Literal["day", "last"] = Field(
        default="day", description="The last 24 hours, or since the last one."
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
    fallback: bool = Field(description="A model was to be asked, but did not answer.")
    entries: int
    feeds: int
    items: int = Field(description="Events told of; several entries about one are one.")
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


@router.get("", summary="Your digests, newest first", responses={200: {"model": DigestList}})
async def list_all(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, before = page_limit(limit), before_of(cursor, _LIST)
    async with runtime.db.read() as tx:
        found = await digests.newest(tx, caller.user_id, limit=size + 1, before=before)
    return newest_first(found, size, _LIST, _digest)


@router.post(
    "",
    status_code=202,
    summary="Ask for a digest",
    description=(
        "202 and a pending digest; at once 404 where there is nothing to tell and 503 while the model is "
        "left alone. A later failure is the digest's status."
    ),
    responses={202: {"model": DigestResponse}},
)
async def ask(runtime: CurrentRuntime, caller: CurrentCaller, body: DigestRequest | None = None) -> Response:
    wanted = body or DigestRequest()
    made = await ask_digest(runtime, caller.user, scope_of(wanted), since_last=wanted.since == "last")
    return json_response(_digest(made), 202)


@router.get("/schedule", summary="When they come by themselves", responses={200: {"model": ScheduleResponse}})
async def schedule(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        found = await digests.schedule_of(tx, caller.user_id)
    if found is None:
        raise NotFound("No digest is scheduled.")
    return json_response(_schedule(found))


@router.put("/schedule", summary="Have one every day", responses={200: {"model": ScheduleResponse}})
async def plan(runtime: CurrentRuntime, caller: CurrentCaller, body: ScheduleRequest) -> Response:
    planned = await set_schedule(
        runtime,
        caller.user,
        minute=minute_of(body.time),
        zone=body.time_zone or preferences_of(caller.user).time_zone or "UTC",
        scope=scope_of(body),
        mail=body.mail,
    )
    return json_response(_schedule(planned))


@router.delete("/schedule", status_code=204, summary="No more by themselves")
async def unplan(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await end_schedule(runtime, caller.user_id)
    return Response(status_code=204)


@router.get("/{digest_id}", summary="One digest", responses={200: {"model": DigestResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    return json_response(_digest(await get_digest(runtime, caller.user_id, digest_id)))


@router.get(
    "/{digest_id}/markdown",
    summary="One digest as a file",
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
async def markdown(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    found = await get_digest(runtime, caller.user_id, digest_id)
    headers = {"Content-Disposition": f'attachment; filename="reedbed-digest-{found.id}.md"'}
    text = digest_markdown(found, runtime.accounts.base_url)
    return Response(text, 200, headers, "text/markdown; charset=utf-8")


@router.delete("/{digest_id}", status_code=204, summary="Delete a digest")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, digest_id: IdPath) -> Response:
    await delete_digest(runtime, caller.user_id, digest_id)
    return Response(status_code=204)


def _digest(digest: Digest) -> dict[str, Any]:
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
        "paragraphs": [_paragraph(one) for one in text.paragraphs],
        "sources": [source_json(one) for one in text.sources],
    }


def _paragraph(paragraph: Paragraph) -> dict[str, Any]:
    return {"heading": paragraph.heading, "sentences": [sentence_json(one) for one in paragraph.sentences]}


def _schedule(planned: Schedule) -> dict[str, Any]:
    return {
        "time": f"{planned.minute // 60:02}:{planned.minute % 60:02}",
        "time_zone": planned.zone,
        "mail": planned.mail,
        "next_at": moment(planned.next_at),
        **scope_json(planned.scope),
    }
