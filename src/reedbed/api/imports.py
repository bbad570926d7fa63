"""Moving in from another reader."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from reedbed.api.opml import ImportOut, lines_out
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.files import file_body, received_file
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response
from reedbed.http.models import ApiModel
from reedbed.services.library_jobs import (
    MOST_LINES,
    Import,
    get_import,
    start_file,
    start_miniflux,
)

router = APIRouter(prefix="/api/v1/import", tags=["opml"])


class LibraryOut(ImportOut):
    source: str = Field(examples=["FreshRSS"])
    starred: int
    tagged: int
    bookmarked: int
    read: int


class MovingOut(ApiModel):
    id: str
    name: str
    status: str = Field(description="pending, running, done or failed")
    done: int = Field(description="Feeds, marks and entries so far.")
    total: int = Field(description="Of so many; 0 while nobody knows.")
    report: LibraryOut = Field(description="What was brought in so far.")
    problems: int = Field(
        description=f"Lines that could not be used; the report names the first {MOST_LINES} of all lines."
    )
    error: str | None


class MinifluxBody(ApiModel):
    url: str = Field(max_length=2_048, examples=["https://miniflux.example.org"])
    token: str = Field(max_length=500)


ACCEPTED: dict[int | str, dict[str, Any]] = {202: {"model": MovingOut}}


@router.post(
    "",
    status_code=202,
    summary="Bring in a file of another reader: OPML, starred JSON, a database, or a zip archive of these",
    description=(
        "What is no such file is refused at once. The rest is work for a worker: ask again at "
        "`/api/v1/import/{id}`, or listen for `progress` events of the kind `import`."
    ),
    responses=ACCEPTED,
    openapi_extra=file_body("application/octet-stream"),
)
async def bring_file(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    async with received_file(request) as (name, path):
        return json_response(_shape(await start_file(runtime, caller.user_id, name, path)), 202)


@router.post("/miniflux", status_code=202, summary="Bring in everything from a Miniflux", responses=ACCEPTED)
async def bring_miniflux(runtime: RuntimeOf, caller: CallerOf, body: MinifluxBody) -> Response:
    return json_response(_shape(await start_miniflux(runtime, caller.user_id, body.url, body.token)), 202)


@router.get("/{import_id}", summary="How far an import is", responses={200: {"model": MovingOut}})
async def look(runtime: RuntimeOf, caller: CallerOf, import_id: IdPath) -> Response:
    return json_response(_shape(await get_import(runtime, caller.user_id, import_id)))


def _shape(found: Import) -> dict[str, Any]:
    report = asdict(found.report) | lines_out(found.report.lines)
    return {**asdict(found), "id": str(found.id), "report": report}
