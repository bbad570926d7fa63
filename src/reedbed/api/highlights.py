"""Highlights with notes, and their export as JSON and Markdown."""

import re
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from reedbed.domain.highlights import (
    FIRST_COLOR,
    MAX_AROUND,
    MAX_NOTE,
    MAX_QUOTE,
    REVIEW_AFTER,
    Color,
    Highlight,
    HighlightFilter,
    NoteStyle,
    Passage,
    note_head,
    note_name,
    note_part,
)
from reedbed.domain.pagination import page_limit
from reedbed.domain.records import record
from reedbed.domain.text import storable, writable
from reedbed.domain.times import rfc3339, to_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp, to_json
from reedbed.http.params import IdPath, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import ApiRouter, ArchiveFile, Json, download, json_list, zipped
from reedbed.services.highlights import (
    change_highlight,
    create_highlight,
    delete_highlight,
    every_highlight,
    get_highlight,
    highlighted_entries,
    highlights_of_entry,
    review_highlight,
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
    color = "" if highlight.color == FIRST_COLOR else f", {highlight.color}"
    note = f"\n{writable(highlight.note)}\n" if highlight.note else ""
    return f"\n{quote}\n{note}\n*{rfc3339(highlight.created_at)[:10]}{color}*\n"


def _single_line(text: str) -> str:
    return _escape(" ".join(writable(text).split()))


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


router = ApiRouter(prefix="/api/v1/highlights", tags=["highlights"])


class HighlightRequest(ApiModel):
    entry_id: JsonId
    quote: str = Field(description=f"The passage, at most {MAX_QUOTE} characters. Must occur in the entry.")
    prefix: str = Field("", description=f"Text before it, at most {MAX_AROUND} characters.")
    suffix: str = Field("", description=f"Text after it, at most {MAX_AROUND} characters.")
    note: str = Field("", description=f"At most {MAX_NOTE} characters.")
    color: Color = FIRST_COLOR


class ChangeHighlightRequest(ApiModel):
    note: str | None = Field(None, description="Null or left out: unchanged.")
    color: Color | None = Field(None, description="Null or left out: unchanged.")


@record
class HighlightResponse(ResponseModel):
    id: JsonId
    entry_id: JsonId | None
    entry_title: str
    entry_url: str | None
    quote: str
    prefix: str
    suffix: str
    note: str
    created_at: Timestamp
    updated_at: Timestamp
    color: Color
    reviewed_at: Timestamp | None


@router.get("", summary="List highlights of one or all entries, newest first")
async def list_highlights(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: Annotated[JsonId | None, Query()] = None,
    color: Annotated[Color | None, Query()] = None,
    q: Annotated[str, Query(max_length=200, description="Occurs in quote, note or title.")] = "",
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[HighlightResponse]]:
    chosen = HighlightFilter(color, storable(q).strip(), entry_id)
    view = f"highlights {entry_id} {color} {q}"
    size, before = page_limit(limit), before_of(cursor, view)
    async with runtime.db.read() as tx:
        rows = await highlights.newest(tx, caller.user_id, before=before, limit=size + 1, chosen=chosen)
    return newest_first(rows, size, view, highlight_response)


@router.post("", status_code=201, summary="Highlight a passage")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: HighlightRequest) -> Json[HighlightResponse]:
    passage = Passage(body.quote, body.prefix, body.suffix)
    highlight = await create_highlight(
        runtime, caller.user_id, body.entry_id, passage, note=body.note, color=body.color
    )
    return Json(highlight_response(highlight), 201)


@router.get("/export", summary="Export highlights as JSON", response_class=StreamingResponse)
async def export_json(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return download(json_list(_json_items(runtime, caller.user_id)), "highlights.json", "application/json")


@router.get("/export.md", summary="Export highlights as Markdown", response_class=StreamingResponse)
async def export_markdown(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    parts = markdown(every_highlight(runtime, caller.user_id))
    return download(parts, "highlights.md", "text/markdown; charset=utf-8")


@router.get(
    "/export.zip",
    summary="Export highlights as notes for Obsidian or Logseq",
    description=(
        "A Markdown file for each entry, with title, address and tag. Names stay the same, so that a later "
        "archive replaces the files of an earlier one. Highlights of deleted entries are in one file."
    ),
    response_class=StreamingResponse,
)
async def export_notes(runtime: CurrentRuntime, caller: CurrentCaller, style: NoteStyle = "obsidian") -> Response:
    entries = await highlighted_entries(runtime, caller.user_id)
    files = [ArchiveFile(f"{_FOLDERS[style]}/Deleted entries.md", _deleted(runtime, caller.user_id))]
    for first in entries:
        assert first.entry_id is not None
        name = note_name(writable(first.entry_title), first.entry_id, style)
        files.append(ArchiveFile(name, _note(runtime, caller.user_id, first, style)))
    at = to_datetime(runtime.now())
    parts = zipped(files, (at.year, at.month, at.day, at.hour, at.minute, at.second))
    return download(parts, f"highlights-{style}.zip", "application/zip")


_FOLDERS: dict[NoteStyle, str] = {"obsidian": "Reedbed", "logseq": "pages"}


async def _note(runtime: Runtime, user_id: int, first: Highlight, style: NoteStyle) -> AsyncGenerator[bytes]:
    assert first.entry_id is not None
    yield writable(note_head(first, style)).encode()
    async for highlight in highlights_of_entry(runtime, user_id, first.entry_id):
        yield writable(note_part(highlight, style, rfc3339(highlight.created_at)[:10])).encode()


async def _deleted(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    of_deleted = (highlight async for highlight in every_highlight(runtime, user_id) if highlight.entry_id is None)
    async for part in markdown(of_deleted):
        yield part


@router.get("/due", summary="List highlights to review, those seen longest ago first")
async def list_due(
    runtime: CurrentRuntime, caller: CurrentCaller, limit: PageLimit = None
) -> Json[list[HighlightResponse]]:
    async with runtime.db.read() as tx:
        due = await highlights.due(tx, caller.user_id, runtime.now() - REVIEW_AFTER, page_limit(limit))
    return Json([highlight_response(highlight) for highlight in due])


@router.post("/{highlight_id}/review", summary="Note that a highlight was reviewed")
async def review(runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath) -> Json[HighlightResponse]:
    return Json(highlight_response(await review_highlight(runtime, caller.user_id, highlight_id)))


@router.get("/{highlight_id}", summary="Get a highlight")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath) -> Json[HighlightResponse]:
    return Json(highlight_response(await get_highlight(runtime, caller.user_id, highlight_id)))


@router.patch("/{highlight_id}", summary="Change the note or the colour")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath, body: ChangeHighlightRequest
) -> Json[HighlightResponse]:
    changed = await change_highlight(runtime, caller.user_id, highlight_id, note=body.note, color=body.color)
    return Json(highlight_response(changed))


@router.delete("/{highlight_id}", status_code=204, summary="Delete a highlight")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath) -> Response:
    await delete_highlight(runtime, caller.user_id, highlight_id)
    return Response(status_code=204)


def highlight_response(highlight: Highlight) -> HighlightResponse:
    return HighlightResponse.of(
        highlight, quote=highlight.passage.quote, prefix=highlight.passage.prefix, suffix=highlight.passage.suffix
    )


async def _json_items(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for highlight in every_highlight(runtime, user_id):
        yield to_json(highlight_response(highlight))
