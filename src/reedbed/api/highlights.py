"""Highlights with notes, and their export as JSON and Markdown."""

import re
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from reedbed.domain.highlights import MAX_AROUND, MAX_NOTE, MAX_QUOTE, Highlight
from reedbed.domain.pagination import page_limit
from reedbed.domain.text import writable
from reedbed.domain.times import rfc3339
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import download, json_list, json_response, moment, text_id
from reedbed.services.highlights import (
    change_note,
    create_highlight,
    delete_highlight,
    every_highlight,
    get_highlight,
)
from reedbed.services.runtime import Runtime
from reedbed.store import highlights

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")
_URL = re.compile(r"https?://[^\s<>]+\Z")


async def markdown(highlights: AsyncGenerator[Highlight]) -> AsyncGenerator[bytes]:
    """Consecutive highlights of one entry share a heading."""
    yield b"# Highlights\n"
    heading = ""
    async for highlight in highlights:
        title = _heading(highlight)
        if title != heading:
            heading = title
            yield f"\n## {heading}\n".encode()
        yield _quote_markdown(highlight).encode()


def _heading(highlight: Highlight) -> str:
    title = _single_line(highlight.entry_title) or "Untitled"
    url = highlight.entry_url or ""
    return f"[{title}](<{url}>)" if _URL.match(url) else title


def _quote_markdown(highlight: Highlight) -> str:
    lines = [line.strip() for line in writable(highlight.passage.quote).splitlines()]
    quote = "\n".join(f"> {_escape(line)}".rstrip() for line in lines)
    note = f"\n{writable(highlight.note)}\n" if highlight.note else ""
    return f"\n{quote}\n{note}\n*{rfc3339(highlight.created_at)[:10]}*\n"


def _single_line(text: str) -> str:
    return _escape(" ".join(writable(text).split()))


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


router = APIRouter(prefix="/api/v1/highlights", tags=["highlights"])


class HighlightRequest(ApiModel):
    entry_id: JsonId
    quote: str = Field(description=f"The passage, at most {MAX_QUOTE} characters. Must occur in the entry.")
    prefix: str = Field("", description=f"Text before it, at most {MAX_AROUND} characters.")
    suffix: str = Field("", description=f"Text after it, at most {MAX_AROUND} characters.")
    note: str = Field("", description=f"At most {MAX_NOTE} characters.")


class NoteRequest(ApiModel):
    note: str


class HighlightResponse(ApiModel):
    id: str
    entry_id: str | None
    entry_title: str
    entry_url: str | None
    quote: str
    prefix: str
    suffix: str
    note: str
    created_at: str
    updated_at: str


class HighlightList(ApiModel):
    items: list[HighlightResponse]
    next_cursor: str | None


@router.get(
    "",
    summary="List highlights of one or all entries, newest first",
    responses={200: {"model": HighlightList}},
)
async def list_highlights(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: Annotated[JsonId | None, Query()] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    view = f"highlights {entry_id}"
    size, before = page_limit(limit), before_of(cursor, view)
    async with runtime.db.read() as tx:
        rows = await highlights.newest(tx, caller.user_id, before=before, limit=size + 1, entry_id=entry_id)
    return newest_first(rows, size, view, highlight_json)


@router.post(
    "", status_code=201, summary="Highlight a passage", responses={201: {"model": HighlightResponse}}
)
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: HighlightRequest) -> Response:
    highlight = await create_highlight(
        runtime,
        caller.user_id,
        body.entry_id,
        body.quote,
        prefix=body.prefix,
        suffix=body.suffix,
        note=body.note,
    )
    return json_response(highlight_json(highlight), 201)


@router.get("/export", summary="Export highlights as JSON", response_class=StreamingResponse)
async def export_json(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return download(json_list(_json_items(runtime, caller.user_id)), "highlights.json", "application/json")


@router.get("/export.md", summary="Export highlights as Markdown", response_class=StreamingResponse)
async def export_markdown(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    parts = markdown(every_highlight(runtime, caller.user_id))
    return download(parts, "highlights.md", "text/markdown; charset=utf-8")


@router.get("/{highlight_id}", summary="Get a highlight", responses={200: {"model": HighlightResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath) -> Response:
    return json_response(highlight_json(await get_highlight(runtime, caller.user_id, highlight_id)))


@router.patch("/{highlight_id}", summary="Change the note", responses={200: {"model": HighlightResponse}})
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath, body: NoteRequest
) -> Response:
    changed = await change_note(runtime, caller.user_id, highlight_id, body.note)
    return json_response(highlight_json(changed))


@router.delete("/{highlight_id}", status_code=204, summary="Delete a highlight")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath) -> Response:
    await delete_highlight(runtime, caller.user_id, highlight_id)
    return Response(status_code=204)


def highlight_json(highlight: Highlight) -> dict[str, Any]:
    return {
        "id": str(highlight.id),
        "entry_id": text_id(highlight.entry_id),
        "entry_title": highlight.entry_title,
        "entry_url": highlight.entry_url,
        "quote": highlight.passage.quote,
        "prefix": highlight.passage.prefix,
        "suffix": highlight.passage.suffix,
        "note": highlight.note,
        "created_at": moment(highlight.created_at),
        "updated_at": moment(highlight.updated_at),
    }


async def _json_items(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for highlight in every_highlight(runtime, user_id):
        yield orjson.dumps(highlight_json(highlight))
