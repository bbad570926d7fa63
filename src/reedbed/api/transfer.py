"""OPML import and export, imports from other readers, and the archive with all data of a user."""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from reedbed.api.bookmarks import bookmark_response, netscape_bookmarks
from reedbed.api.entries import EntryItem
from reedbed.api.highlights import highlight_response, markdown
from reedbed.api.interest import interest_json
from reedbed.api.playback import recording_response
from reedbed.api.published_feeds import published_response
from reedbed.api.rules import rule_response
from reedbed.api.shared_stories import shared_story_response
from reedbed.api.subscriptions import subscription_response
from reedbed.domain.records import record
from reedbed.domain.times import to_datetime
from reedbed.domain.transfer import ImportLine
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime, check_reads_passwords
from reedbed.http.models import ApiModel, FailureName, FailureSentence, FailureText, JsonId, ResponseModel, to_json
from reedbed.http.params import IdPath, file_body, received_bytes, received_file
from reedbed.http.responses import ApiRouter, ArchiveFile, Json, download, json_list, moment, zipped
from reedbed.services.auth import check_confirmed
from reedbed.services.bookmarks import iter_bookmarks
from reedbed.services.highlights import every_highlight
from reedbed.services.interest import get_report
from reedbed.services.playback.positions import iter_played
from reedbed.services.runtime import Runtime
from reedbed.services.transfer.jobs import MAX_LINES, Import, get_import, start_file, start_miniflux
from reedbed.services.transfer.opml import export_entries, export_opml, import_opml, spend_export
from reedbed.services.users import preferences_of
from reedbed.store import published_feeds, rules, shared_stories, subscriptions, transfer
from reedbed.store.playback import positions

# --- OPML

router = ApiRouter(prefix="/api/v1/opml", tags=["opml"])


@record
class ImportProblemResponse(ResponseModel):
    title: str
    url: str
    message: FailureSentence
    code: FailureName


@record
class ImportLineResponse(ImportProblemResponse):
    status: Annotated[str, Field(description="added, moved, followed, duplicate, skipped or error")]


@record
class ImportResponse(ResponseModel):
    imported: int
    skipped: int
    errors: list[ImportProblemResponse]
    lines: Annotated[list[ImportLineResponse], Field(description="Result for each line of the file.")]


def _report_lines(lines: Iterable[ImportLine]) -> dict[str, Any]:
    """Build the fields `errors` and `lines` of a report."""
    return {
        "errors": [
            ImportProblemResponse.of(line, message=line.failure, code=line.failure)
            for line in lines
            if line.status == "error"
        ],
        "lines": [ImportLineResponse.of(line, message=line.failure, code=line.failure) for line in lines],
    }


@router.post(
    "",
    summary="Import an OPML file; feeds are fetched in the background",
    openapi_extra=file_body("text/x-opml", "application/xml"),
)
async def import_file(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ImportResponse]:
    _, body = await received_bytes(request)
    report = await import_opml(runtime, caller.user_id, body)
    return Json(ImportResponse.of(report, **_report_lines(report.lines)))


@router.get("", summary="Export subscriptions as OPML", response_class=Response)
async def export_file(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    credentials: Annotated[
        bool, Query(description="Include user names and passwords in feed URLs. Needs a confirmed session.")
    ] = False,
) -> Response:
    if credentials:
        check_reads_passwords(caller)
        await check_confirmed(runtime, caller)
    headers = {"Content-Disposition": 'attachment; filename="reedbed.opml"', "Cache-Control": "private, no-store"}
    opml = await export_opml(runtime, caller.user_id, with_credentials=credentials)
    return Response(opml, 200, headers, "text/x-opml; charset=utf-8")


# --- Imports from other readers

imports_router = ApiRouter(prefix="/api/v1/import", tags=["opml"])


@record
class ImportReportResponse(ImportResponse):
    source: Annotated[str, Field(examples=["FreshRSS"])]
    starred: int
    tagged: int
    bookmarked: int
    read: int


@record
class ImportStatusResponse(ResponseModel):
    id: JsonId
    name: str
    status: Annotated[str, Field(description="pending, running, done or failed")]
    done: Annotated[int, Field(description="Feeds, states and entries imported so far.")]
    total: Annotated[int, Field(description="Expected total; 0 while unknown.")]
    report: Annotated[ImportReportResponse, Field(description="What was imported so far.")]
    problems: Annotated[
        int, Field(description=f"Lines that could not be used; the report names the first {MAX_LINES} of all lines.")
    ]
    error: FailureText
    error_code: FailureName


class MinifluxRequest(ApiModel):
    url: str = Field(max_length=2_048, examples=["https://miniflux.example.org"])
    token: str = Field(max_length=500)


@imports_router.post(
    "",
    status_code=202,
    summary="Import a file from another reader: OPML, starred JSON, a database, or a zip of these",
    description=(
        "Unknown files are rejected at once. The import runs in a worker: poll `/api/v1/import/{id}` "
        "or listen for `progress` events of kind `import`."
    ),
    openapi_extra=file_body("application/octet-stream"),
)
async def bring_file(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ImportStatusResponse]:
    async with received_file(request) as (name, path):
        return Json(_import_response(await start_file(runtime, caller.user_id, name, path)), 202)


@imports_router.post("/miniflux", status_code=202, summary="Import everything from a Miniflux server")
async def bring_miniflux(
    runtime: CurrentRuntime, caller: CurrentCaller, body: MinifluxRequest
) -> Json[ImportStatusResponse]:
    return Json(_import_response(await start_miniflux(runtime, caller.user_id, body.url, body.token)), 202)


@imports_router.get("/{import_id}", summary="Get the progress of an import")
async def look(runtime: CurrentRuntime, caller: CurrentCaller, import_id: IdPath) -> Json[ImportStatusResponse]:
    return Json(_import_response(await get_import(runtime, caller.user_id, import_id)))


def _import_response(status: Import) -> ImportStatusResponse:
    report = ImportReportResponse.of(status.report, **_report_lines(status.report.lines))
    return ImportStatusResponse.of(status, report=report)


# --- Archive with all data

export_router = ApiRouter(prefix="/api/v1/export", tags=["export"])

_ARCHIVE = {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}


@export_router.get(
    "",
    summary="Export all your data as a zip archive",
    description=(
        "subscriptions.opml and .json, entries.json (starred, saved for later or tagged, with their texts), "
        "bookmarks.json and .html, highlights.json and .md, rules.json, searches.json, published_feeds.json, "
        "shared_stories.json, queue.json and played.json (audio and video, with positions), "
        "interest.json (learnt likes), preferences.json and account.json. "
        "The archive is streamed. A session must have been confirmed within "
        "the last ten minutes, else 403 with the code `confirmation_required`."
    ),
    response_class=StreamingResponse,
    responses={200: _ARCHIVE},
)
async def export_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await check_confirmed(runtime, caller)
    await spend_export(runtime, caller.user_id)
    at = to_datetime(runtime.now())
    parts = zipped(_files(runtime, caller), (at.year, at.month, at.day, at.hour, at.minute, at.second))
    return download(parts, f"export-{at:%Y-%m-%d}.zip", "application/zip")


@record
class ExportedEntryResponse(EntryItem):
    feed_title: str
    content: str


def _files(runtime: Runtime, caller: Caller) -> list[ArchiveFile]:
    user_id = caller.user_id
    return [
        ArchiveFile("account.json", _account(runtime, caller)),
        ArchiveFile("preferences.json", _preferences(caller)),
        ArchiveFile("subscriptions.opml", _opml(runtime, user_id)),
        ArchiveFile("subscriptions.json", json_list(_subscriptions(runtime, user_id))),
        ArchiveFile("rules.json", json_list(_rules(runtime, user_id))),
        ArchiveFile("searches.json", json_list(_searches(runtime, user_id))),
        ArchiveFile("published_feeds.json", json_list(_published(runtime, user_id))),
        ArchiveFile("shared_stories.json", json_list(_shared(runtime, user_id))),
        ArchiveFile("highlights.json", json_list(_highlights(runtime, user_id))),
        ArchiveFile("highlights.md", markdown(every_highlight(runtime, user_id))),
        ArchiveFile("bookmarks.json", json_list(_bookmarks(runtime, user_id))),
        ArchiveFile("bookmarks.html", netscape_bookmarks(iter_bookmarks(runtime, user_id))),
        ArchiveFile("queue.json", json_list(_queue(runtime, user_id))),
        ArchiveFile("played.json", json_list(_played(runtime, user_id))),
        ArchiveFile("interest.json", _interest(runtime, user_id)),
        ArchiveFile("entries.json", json_list(_entries(runtime, user_id))),
    ]


async def _account(runtime: Runtime, caller: Caller) -> AsyncGenerator[bytes]:
    user = caller.user
    fields = {"email": user.email, "created_at": moment(user.created_at), "exported_at": moment(runtime.now())}
    yield orjson.dumps(fields)


async def _preferences(caller: Caller) -> AsyncGenerator[bytes]:
    yield orjson.dumps(asdict(preferences_of(caller.user)))


async def _opml(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    yield await export_opml(runtime, user_id)


async def _subscriptions(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        rows = await subscriptions.every(tx, user_id)
    for subscription in rows:
        yield to_json(subscription_response(subscription))


async def _rules(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        rows = await rules.of_user(tx, user_id)
    for row in rows:
        yield to_json(rule_response(row))


async def _searches(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        saved = await transfer.list_searches(tx, user_id)
    for search in saved:
        fields = {"name": search.name, "query": search.query, "created_at": moment(search.created_at)}
        yield orjson.dumps(fields)


async def _published(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        feeds = await published_feeds.of_user(tx, user_id)
    for feed in feeds:
        yield to_json(published_response(feed))


async def _shared(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        stories = await shared_stories.of_user(tx, user_id)
    for story in stories:
        yield to_json(shared_story_response(story))


async def _highlights(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for highlight in every_highlight(runtime, user_id):
        yield to_json(highlight_response(highlight))


async def _bookmarks(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for bookmark in iter_bookmarks(runtime, user_id):
        yield to_json(bookmark_response(bookmark))


async def _queue(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        queue = await positions.queue(tx, user_id)
    for item in queue:
        yield to_json(recording_response(item))


async def _played(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for item in iter_played(runtime, user_id):
        yield to_json(recording_response(item))


async def _interest(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async with runtime.db.read() as tx:
        yield interest_json(await get_report(tx, user_id))


async def _entries(runtime: Runtime, user_id: int) -> AsyncGenerator[bytes]:
    async for entry in export_entries(runtime, user_id):
        words = entry.words
        item = ExportedEntryResponse.of_row(entry.row, feed_title=words.feed_title, content=words.content)
        yield to_json(item)
