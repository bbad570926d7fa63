"""Articles by their address, fetched by the server: only addresses of entries that the caller sees."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.limits import RefreshLimit
from reedbed.services.full_articles import LONGEST_ADDRESS, open_article
from reedbed.services.images import pictures_for_programs

router = APIRouter(tags=["entries"])

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' https: data:; media-src https:; sandbox",
}


@router.get(
    "/api/proxy",
    summary="The sanitised article at the address of an entry",
    description=(
        "404 for an address that none of your entries has; 503 with the reason when the site gives none."
    ),
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
async def proxy(
    runtime: RuntimeOf,
    caller: CallerOf,
    _: RefreshLimit,
    url: Annotated[str, Query(max_length=LONGEST_ADDRESS, examples=["https://example.org/article"])],
) -> Response:
    content = await open_article(runtime, caller.user_id, url)
    shown = pictures_for_programs(runtime).in_html(content)
    return Response(shown, 200, HEADERS, "text/html; charset=utf-8")
