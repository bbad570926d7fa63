"""OPML in and out."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.files import file_body, received_bytes
from reedbed.http.json import json_response
from reedbed.services.opml import export_opml, import_opml

router = APIRouter(prefix="/api/v1/opml", tags=["opml"])


class ImportProblemOut(BaseModel):
    title: str
    url: str
    message: str


class ImportOut(BaseModel):
    imported: int
    skipped: int
    errors: list[ImportProblemOut]


@router.post(
    "",
    summary="Follow every feed of an OPML file; fetching goes on in the background",
    responses={200: {"model": ImportOut}},
    openapi_extra=file_body("text/x-opml", "application/xml"),
)
async def import_file(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    _, body = await received_bytes(request)
    report = await import_opml(runtime, caller.user_id, body)
    errors = [{"title": line.title, "url": line.url, "message": line.message} for line in report.errors]
    return json_response({"imported": report.imported, "skipped": report.skipped, "errors": errors})


@router.get("", summary="All subscriptions as OPML", response_class=Response)
async def export_file(runtime: RuntimeOf, caller: CallerOf) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="reedbed.opml"'}
    return Response(await export_opml(runtime, caller.user_id), 200, headers, "text/x-opml; charset=utf-8")
