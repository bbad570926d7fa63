"""The icons of all feeds of a user as one style sheet."""

from fastapi import APIRouter, Response

from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.images import icon_style_sheet

router = APIRouter(include_in_schema=False)


@router.get("/icons.css")
async def show_icons(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """The address carries a version, which changes with the set of icons."""
    sheet = await icon_style_sheet(runtime, caller.user_id)
    headers = {"Cache-Control": "private, max-age=604800", "Content-Security-Policy": "default-src 'none'"}
    return Response(sheet, 200, headers, "text/css")
