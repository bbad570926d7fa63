"""Bookmarks: private snapshots of entries, and their export as JSON and HTML."""

from collections.abc import AsyncGenerator
from html import escape
from typing import Annotated

from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from reedbed.domain.bookmarks import Bookmark
from reedbed.domain.pagination import page_limit
from reedbed.domain.records import record
from reedbed.domain.text import storable, writable
from reedbed.domain.times import SECOND
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp, to_json
from reedbed.http.params import IdPath, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import ApiRouter, Json, download, json_list
from reedbed.services.bookmarks import bookmark_entry, delete_bookmark, get_bookmark, iter_bookmarks
from reedbed.services.runtime import Runtime
from reedbed.store import bookmarks

_HTML_HEAD = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""


async def netscape_bookmarks(bookmarks: AsyncGenerator[Bookmark]) -> AsyncGenerator[bytes]:
    """Write a Netscape bookmark file. Bookmarks without a URL are left out."""
    yield _HTML_HEAD.encode()
    async for bookmark in bookmarks:
        row = bookmark.row
        if row.url is not None:
            href, title = _escape_text(row.url), _escape_text(row.title)
            yield f'    <DT><A HREF="{href}" ADD_DATE="{row.created_at // SECOND}">{title}</A>\n'.encode()
    yield b"</DL><p>\n"


def _escape_text(text: str) -> str:
    return escape(" ".join(writable(text).split()))


router = ApiRouter(prefix="/api/v1/bookmarks", tags=["bookmarks"])


class BookmarkRequest(ApiModel):
    entry_id: JsonId


@record
class BookmarkRowResponse(ResponseModel):
    id: JsonId
    entry_id: JsonId | None
    url: str | None
    title: str
    feed_title: str
    published_at: Timestamp | None
    created_at: Timestamp


@record
class BookmarkResponse(BookmarkRowResponse):
    content: str


@router.get("", summary="List bookmarks without their content, newest first")
async def list_bookmarks(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    search: Annotated[str, Query(max_length=200, description="Part of the title.")] = "",
    entry_id: Annotated[JsonId | None, Query(description="Only the bookmark of this entry.")] = None,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[ListPage[BookmarkRowResponse]]:
    title_part = storable(search).strip()
    view = f"bookmarks {entry_id} {title_part}"
    size, before = page_limit(limit), before_of(cursor, view)
    async with runtime.db.read() as tx:
        rows = await bookmarks.newest(
            tx, caller.user_id, before=before, limit=size + 1, search=title_part, entry_id=entry_id
        )
    return newest_first(rows, size, view, BookmarkRowResponse.of)


@router.post(
    "",
    status_code=201,
    summary="Bookmark an entry; 200 if an existing bookmark of the URL was updated",
    responses={200: {"model": BookmarkResponse}},
)
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: BookmarkRequest) -> Json[BookmarkResponse]:
    saved = await bookmark_entry(runtime, caller.user_id, body.entry_id)
    return Json(bookmark_response(saved.bookmark), 201 if saved.new else 200)


@router.get("/export", summary="Export bookmarks with their content as JSON", response_class=StreamingResponse)
async def export_json(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return download(json_list(_json_items(runtime, caller.user_id)), "bookmarks.json", "application/json")


@router.get(
    "/export.html",
    summary="Export bookmarks as a Netscape bookmark file for browsers",
    response_class=StreamingResponse,
)
async def export_html(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    lines = netscape_bookmarks(iter_bookmarks(runtime, caller.user_id))
    return download(lines, "bookmarks.html", "text/html; charset=utf-8")


@router.get("/{bookmark_id}", summary="Get a bookmark")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, bookmark_id: IdPath) -> Json[BookmarkResponse]:
    return Json(bookmark_response(await get_bookmark(runtime, caller.user_id, bookmark_id)))


@router.delete("/{bookmark_id}", status_code=204, summary="Delete a bookmark")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, bookmark_id: IdPath) -> Response:
    await delete_bookmark(runtime, caller.user_id, bookmark_id)
    return Response(status_code=204)


def bookmark_response(bookmark: Bookmark) -> BookmarkResponse:
    return BookmarkResponse.of(bookmark.row, content=bookmark.content)


async def _json_items(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for bookmark in iter_bookmarks(runtime, user_id):
        yield to_json(bookmark_response(bookmark))
