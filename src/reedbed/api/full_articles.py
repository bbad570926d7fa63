"""The whole article of an entry."""

from fastapi import APIRouter, Request, Response

from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response
from reedbed.http.limits import RefreshLimit
from reedbed.http.models import ApiModel
from reedbed.http.places import place_of
from reedbed.services.full_articles import read_full_article
from reedbed.services.images import pictures_for_programs

router = APIRouter(prefix="/api/v1/entries", tags=["entries"])


class FullArticleOut(ApiModel):
    content: str | None
    failed: str | None


@router.get(
    "/{entry_id}/full",
    summary="The extracted article, fetched from the site if it was never had",
    responses={200: {"model": FullArticleOut}},
)
async def full_article(
    request: Request, runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath, _: RefreshLimit
) -> Response:
    found = await read_full_article(runtime, caller.user_id, entry_id)
    pictures = pictures_for_programs(runtime, place_of(request, runtime))
    content = None if found.content is None else pictures.in_html(found.content)
    return json_response({"content": content, "failed": found.failed or None})
