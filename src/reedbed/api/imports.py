"""Moving in from another reader."""

from dataclasses import asdict

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from reedbed.api.opml import ImportOut
from reedbed.domain.libraries import LibraryReport
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.files import file_body, received_file
from reedbed.http.json import json_response
from reedbed.services.libraries import import_file, import_miniflux

router = APIRouter(prefix="/api/v1/import", tags=["opml"])


class LibraryOut(ImportOut):
    source: str = Field(examples=["FreshRSS"])
    starred: int
    tagged: int
    bookmarked: int
    read: int


class MinifluxBody(BaseModel):
    url: str = Field(max_length=2_048, examples=["https://miniflux.example.org"])
    token: str = Field(max_length=500)


@router.post(
    "",
    summary="Bring in a file of another reader: OPML, starred JSON, or the database of FreshRSS or Fusion",
    responses={200: {"model": LibraryOut}},
    openapi_extra=file_body("application/octet-stream"),
)
async def bring_file(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    async with received_file(request) as (_, path):
        return _answer(await import_file(runtime, caller.user_id, path))


@router.post(
    "/miniflux", summary="Bring in everything from a Miniflux", responses={200: {"model": LibraryOut}}
)
async def bring_miniflux(runtime: RuntimeOf, caller: CallerOf, body: MinifluxBody) -> Response:
    return _answer(await import_miniflux(runtime, caller.user_id, body.url, body.token))


def _answer(report: LibraryReport) -> Response:
    return json_response(asdict(report))
