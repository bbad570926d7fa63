"""OPML in and out."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from reedbed.domain.opml import ImportLine
from reedbed.http.caller import CallerOf, RuntimeOf, check_reads_passwords
from reedbed.http.files import file_body, received_bytes
from reedbed.http.json import json_response
from reedbed.http.models import ApiModel
from reedbed.services.opml import export_opml, import_opml

router = APIRouter(prefix="/api/v1/opml", tags=["opml"])


class ImportProblemOut(ApiModel):
    title: str
    url: str
    message: str


class ImportLineOut(ImportProblemOut):
    status: str = Field(description="added, moved, followed, duplicate, skipped or error")


class ImportOut(ApiModel):
    imported: int
    skipped: int
    errors: list[ImportProblemOut]
    lines: list[ImportLineOut] = Field(description="What became of each line of the file.")


def lines_out(lines: Iterable[ImportLine]) -> dict[str, list[dict[str, str]]]:
    """The fields `errors` and `lines` of a report."""
    named = [asdict(line) for line in lines]
    errors = [
        {"title": line["title"], "url": line["url"], "message": line["message"]}
        for line in named
        if line["status"] == "error"
    ]
    return {"errors": errors, "lines": named}


@router.post(
    "",
    summary="Follow every feed of an OPML file; fetching goes on in the background",
    responses={200: {"model": ImportOut}},
    openapi_extra=file_body("text/x-opml", "application/xml"),
)
async def import_file(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    _, body = await received_bytes(request)
    report = await import_opml(runtime, caller.user_id, body)
    counts = {"imported": report.imported, "skipped": report.skipped}
    return json_response(counts | lines_out(report.lines))


@router.get("", summary="All subscriptions as OPML", response_class=Response)
async def export_file(
    runtime: RuntimeOf,
    caller: CallerOf,
    credentials: Annotated[
        bool,
        Query(description="With names and passwords of feeds in their addresses; not for API tokens."),
    ] = False,
) -> Response:
    if credentials:
        check_reads_passwords(caller)
    headers = {
        "Content-Disposition": 'attachment; filename="reedbed.opml"',
        "Cache-Control": "private, no-store",
    }
    written = await export_opml(runtime, caller.user_id, with_credentials=credentials)
    return Response(written, 200, headers, "text/x-opml; charset=utf-8")
