"""The icons of all feeds of a user as one style sheet; pictures in the rows of lists."""

from typing import TypedDict

from fastapi import APIRouter, Response

from reedbed.domain.images import WIDTHS
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.services.images import Pictures, icon_style_sheet

router = APIRouter(include_in_schema=False)


@router.get("/icons.css")
async def show_icons(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """The address carries a version, which changes with the set of icons."""
    sheet = await icon_style_sheet(runtime, caller.user_id)
    headers = {"Cache-Control": "private, max-age=604800", "Content-Security-Policy": "default-src 'none'"}
    return Response(sheet, 200, headers, "text/css")


STRIP = 2.5
"""A picture so many times as wide as high spans two columns."""
TALLEST = 0.8
"""A picture that is narrower stands in a frame, or it would take the whole screen."""


class RowPicture(TypedDict, total=False):
    picture: str
    picture_widths: str
    picture_size: str
    picture_box: tuple[int, int]
    shaped: bool
    strip: bool


def row_picture(pictures: Pictures, url: str | None, size: tuple[int, int] | None, *, is_small: bool) -> RowPicture:
    """`size` is that of the picture, if it is known and the layout keeps its shape."""
    row = RowPicture()
    if url is None:
        return row
    if size is not None and size[0] / size[1] >= TALLEST:
        row.update(picture_box=size, shaped=True, strip=size[0] / size[1] >= STRIP)
    scaled = pictures.scaled(url, WIDTHS[:2] if is_small else WIDTHS[1:])
    if not scaled:
        address = pictures.one(url) or ""
        row["picture"] = "" if address.startswith("http:") else address
        return row
    wide = "50rem" if row.get("strip") else "24rem"
    row["picture"] = scaled[0][0]
    row["picture_widths"] = ", ".join(f"{address} {width}w" for address, width in scaled)
    row["picture_size"] = "4.5rem" if is_small else f"(width < 45rem) 92vw, {wide}"
    return row
