"""OPML in and out."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from reedbed.domain.errors import Invalid
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.json import json_response
from reedbed.services.opml import export_opml, import_opml

router = APIRouter(prefix="/api/v1/opml", tags=["opml"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
            },
            "text/x-opml": {"schema": {"type": "string"}},
            "application/xml": {"schema": {"type": "string"}},
        },
    }
}


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
    openapi_extra=_BODY,
)
async def import_file(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    report = await import_opml(runtime, caller.user_id, await uploaded(request))
    errors = [{"title": line.title, "url": line.url, "message": line.message} for line in report.errors]
    return json_response({"imported": report.imported, "skipped": report.skipped, "errors": errors})


@router.get("", summary="All subscriptions as OPML", response_class=Response)
async def export_file(runtime: RuntimeOf, caller: CallerOf) -> Response:
    headers = {"Content-Disposition": 'attachment; filename="reedbed.opml"'}
    return Response(await export_opml(runtime, caller.user_id), 200, headers, "text/x-opml; charset=utf-8")


async def uploaded(request: Request) -> bytes:
    """The multipart field `file`, or the raw body."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await request.body()
    async with request.form() as form:
        upload = form.get("file")
        if not isinstance(upload, UploadFile):
            raise Invalid("Choose an OPML file.", field="file")
        return await upload.read()
