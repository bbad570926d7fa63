"""What of a feed's pages is the article."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.article_selectors import LONGEST, MOST
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response
from reedbed.http.models import ApiModel
from reedbed.services.article_selectors import FeedSelectors, selectors_of, set_selectors

router = APIRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])

_EACH = f"At most {MOST}, each of at most {LONGEST} characters."


class SelectorsBody(ApiModel):
    keep: list[str] = Field(default=[], description=f"What is the article. {_EACH}", examples=[["article"]])
    drop: list[str] = Field(default=[], description="What is not, also within what is kept.")


class SelectorsOut(ApiModel):
    keep: list[str]
    drop: list[str]
    may_change: bool = Field(description="The feed is this user's alone, or they are an operator.")


@router.get(
    "/{subscription_id}/selectors",
    summary="CSS selectors for the whole articles of a feed",
    responses={200: {"model": SelectorsOut}},
)
async def get(runtime: RuntimeOf, caller: CallerOf, subscription_id: IdPath) -> Response:
    return json_response(_shape(await selectors_of(runtime, caller.user, subscription_id)))


@router.put(
    "/{subscription_id}/selectors",
    summary="Say what of its pages is the article",
    description=(
        "For everybody who follows the feed, so on a shared feed only for operators: 403 for others. "
        "Articles that were read before are read anew: some at once, the others when they are opened."
    ),
    responses={200: {"model": SelectorsOut}},
)
async def put(runtime: RuntimeOf, caller: CallerOf, subscription_id: IdPath, body: SelectorsBody) -> Response:
    changed = await set_selectors(runtime, caller.user, subscription_id, keep=body.keep, drop=body.drop)
    return json_response(_shape(changed))


def _shape(found: FeedSelectors) -> dict[str, Any]:
    return {
        "keep": found.selectors.keep,
        "drop": found.selectors.drop,
        "may_change": found.may_change,
    }
