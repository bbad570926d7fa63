"""Looking before subscribing, and the icons of feeds."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.domain.errors import Invalid, NotFound
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response, moment, text_id
from reedbed.http.models import ApiModel
from reedbed.services.feed_preview import FeedPreview, find_feeds, preview_feed
from reedbed.store import blobs

router = APIRouter(tags=["feeds"])

Address = Annotated[str, Query(max_length=2_048, examples=["https://example.org/"])]


class ValidateBody(ApiModel):
    url: str = Field(max_length=2_048)


@router.get("/api/v1/feeds/preview", summary="What following this address would bring")
async def preview(runtime: RuntimeOf, caller: CallerOf, url: Address) -> Response:
    return json_response(_preview(await preview_feed(runtime, caller.user_id, url)))


@router.get("/api/v1/feeds/discover", summary="The feeds behind an address")
async def discover(runtime: RuntimeOf, caller: CallerOf, url: Address) -> Response:
    found = await find_feeds(runtime, url)
    items = [
        {"url": one.url, "title": one.title, "type": one.type, "source": one.source}
        for one in found.candidates
    ]
    return json_response({"items": items, "next_cursor": None, "reason": found.reason})


@router.post("/api/v1/feeds/validate", summary="Whether there is a feed at this address")
async def validate(runtime: RuntimeOf, caller: CallerOf, body: ValidateBody) -> Response:
    try:
        found = await preview_feed(runtime, caller.user_id, body.url)
    except Invalid as error:
        return json_response({"valid": False, "reason": error.message, "url": None, "title": None})
    return json_response({"valid": True, "reason": None, "url": found.url, "title": found.title})


@router.get("/icons/{icon_id}", summary="A feed's icon", response_class=Response)
async def icon(runtime: RuntimeOf, caller: CallerOf, icon_id: IdPath) -> Response:
    async with runtime.db.read() as tx:
        found = await blobs.icon(tx, caller.user_id, icon_id)
    if found is None:
        raise NotFound("There is no such icon.")
    media_type, data = found
    return Response(data, 200, {"Cache-Control": "private, max-age=604800, immutable"}, media_type)


def _preview(found: FeedPreview) -> dict[str, Any]:
    return {
        "url": found.url,
        "title": found.title,
        "description": found.description,
        "site_url": found.site_url,
        "language": found.language,
        "total": found.total,
        "subscription_id": text_id(found.subscription_id),
        "entries": [
            {
                "title": entry.title,
                "url": entry.url,
                "published_at": moment(entry.published),
                "summary": entry.summary,
            }
            for entry in found.entries
        ],
    }
