"""What of a feed's pages is the article."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from reedbed.domain.articles import LONGEST, MOST
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import RefreshLimit, place_of
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response, text_id
from reedbed.services.articles import (
    MAX_ADDRESS_LENGTH,
    FeedSelectors,
    open_article,
    read_full_article,
    save_page,
    selectors_of,
    set_selectors,
)
from reedbed.services.images import pictures_for_programs

router = APIRouter(prefix="/api/v1/entries", tags=["entries"])


class FullArticleResponse(ApiModel):
    content: str | None
    failed: str | None


@router.get(
    "/{entry_id}/full",
    summary="The extracted article, fetched from the site if it was never had",
    responses={200: {"model": FullArticleResponse}},
)
async def full_article(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, _: RefreshLimit
) -> Response:
    found = await read_full_article(runtime, caller.user_id, entry_id)
    pictures = pictures_for_programs(runtime, place_of(request, runtime))
    content = None if found.content is None else pictures.in_html(found.content)
    return json_response({"content": content, "failed": found.failed or None})


saved_pages_router = APIRouter(prefix="/api/v1/saved-pages", tags=["entries"])


class SavedPageRequest(ApiModel):
    url: str = Field(max_length=2_048, examples=["https://example.org/how-reeds-grow"])
    title: str = Field("", max_length=500, description="What to call it until the page has been read.")


class SavedPageResponse(ApiModel):
    entry_id: str = Field(description="The entry, marked for later.")
    new: bool = Field(description="False when it was among your entries already.")


@saved_pages_router.post(
    "",
    status_code=201,
    summary="Save a page for later by its address; its article is fetched in the background",
    responses={201: {"model": SavedPageResponse}},
)
async def save(
    runtime: CurrentRuntime, caller: CurrentCaller, body: SavedPageRequest, _: RefreshLimit
) -> Response:
    saved = await save_page(runtime, caller.user_id, body.url, body.title)
    return json_response({"entry_id": text_id(saved.entry_id), "new": saved.new}, 201)


proxy_router = APIRouter(tags=["entries"])

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' https: data:; media-src https:; sandbox",
}


@proxy_router.get(
    "/api/proxy",
    summary="The sanitised article at the address of an entry",
    description=(
        "404 for an address that none of your entries has; 503 with the reason when the site gives none."
    ),
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
async def proxy(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    _: RefreshLimit,
    url: Annotated[str, Query(max_length=MAX_ADDRESS_LENGTH, examples=["https://example.org/article"])],
) -> Response:
    content = await open_article(runtime, caller.user_id, url)
    shown = pictures_for_programs(runtime).in_html(content)
    return Response(shown, 200, HEADERS, "text/html; charset=utf-8")


selectors_router = APIRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])

_EACH = f"At most {MOST}, each of at most {LONGEST} characters."


class SelectorsRequest(ApiModel):
    keep: list[str] = Field(default=[], description=f"What is the article. {_EACH}", examples=[["article"]])
    drop: list[str] = Field(default=[], description="What is not, also within what is kept.")


class SelectorsResponse(ApiModel):
    keep: list[str]
    drop: list[str]
    may_change: bool = Field(description="The feed is this user's alone, or they are an operator.")


@selectors_router.get(
    "/{subscription_id}/selectors",
    summary="CSS selectors for the whole articles of a feed",
    responses={200: {"model": SelectorsResponse}},
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    return json_response(_shape(await selectors_of(runtime, caller.user, subscription_id)))


@selectors_router.put(
    "/{subscription_id}/selectors",
    summary="Say what of its pages is the article",
    description=(
        "For everybody who follows the feed, so on a shared feed only for operators: 403 for others. "
        "Articles that were read before are read anew: some at once, the others when they are opened."
    ),
    responses={200: {"model": SelectorsResponse}},
)
async def put(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: SelectorsRequest
) -> Response:
    changed = await set_selectors(runtime, caller.user, subscription_id, keep=body.keep, drop=body.drop)
    return json_response(_shape(changed))


def _shape(found: FeedSelectors) -> dict[str, Any]:
    return {
        "keep": found.selectors.keep,
        "drop": found.selectors.drop,
        "may_change": found.may_change,
    }
