"""Full articles of entries, saved pages, the article proxy, and CSS selectors for article extraction."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field

from reedbed.domain.articles import MAX_SELECTOR_LENGTH, MAX_SELECTORS
from reedbed.domain.failures import failure_message
from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ResponseModel
from reedbed.http.params import IdPath, RefreshLimit, place_of
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.articles import (
    MAX_ADDRESS_LENGTH,
    FeedSelectors,
    open_article,
    read_full_article,
    save_page,
    selectors_of,
    set_selectors,
)
from reedbed.services.images import image_urls_for_apps

router = ApiRouter(prefix="/api/v1/entries", tags=["entries"])


@record
class FullArticleResponse(ResponseModel):
    content: str | None
    failed: str | None


@router.get("/{entry_id}/full", summary="Get the extracted article; fetches it if needed")
async def full_article(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, _: RefreshLimit
) -> Json[FullArticleResponse]:
    article = await read_full_article(runtime, caller.user_id, entry_id)
    images = image_urls_for_apps(runtime, place_of(request, runtime))
    content = None if article.content is None else images.in_html(article.content)
    return Json(FullArticleResponse(content, failure_message(article.failed)))


# --- Saved pages

saved_pages_router = ApiRouter(prefix="/api/v1/saved-pages", tags=["entries"])


class SavedPageRequest(ApiModel):
    url: str = Field(max_length=2_048, examples=["https://example.org/how-reeds-grow"])
    title: str = Field("", max_length=500, description="Title until the page is fetched.")


@record
class SavedPageResponse(ResponseModel):
    entry_id: Annotated[JsonId, Field(description="The entry, marked for later.")]
    new: Annotated[bool, Field(description="False if it was already one of your entries.")]


@saved_pages_router.post("", status_code=201, summary="Save a page for later; its article is fetched in the background")
async def save(
    runtime: CurrentRuntime, caller: CurrentCaller, body: SavedPageRequest, _: RefreshLimit
) -> Json[SavedPageResponse]:
    saved = await save_page(runtime, caller.user_id, body.url, body.title)
    return Json(SavedPageResponse.of(saved), 201)


# --- Article proxy

proxy_router = ApiRouter(tags=["entries"])

HEADERS = {"Content-Security-Policy": "default-src 'none'; img-src 'self' https: data:; media-src https:; sandbox"}


@proxy_router.get(
    "/api/proxy",
    summary="Get the sanitised article at the URL of an entry",
    description=("404 if none of your entries has this URL; 503 with the reason if it cannot be fetched."),
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
    html = image_urls_for_apps(runtime).in_html(content)
    return Response(html, 200, HEADERS, "text/html; charset=utf-8")


# --- Selectors

selectors_router = ApiRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])

_LIMITS = f"At most {MAX_SELECTORS}, each of at most {MAX_SELECTOR_LENGTH} characters."


class SelectorsRequest(ApiModel):
    keep: list[str] = Field(default=[], description=f"Elements that are the article. {_LIMITS}", examples=[["article"]])
    drop: list[str] = Field(default=[], description="Elements to remove, even inside kept ones.")


@record
class SelectorsResponse(ResponseModel):
    keep: Sequence[str]
    drop: Sequence[str]
    may_change: Annotated[bool, Field(description="The feed is private, or the user is an operator.")]


@selectors_router.get("/{subscription_id}/selectors", summary="Get the CSS selectors for a feed's articles")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Json[SelectorsResponse]:
    return Json(_selectors_response(await selectors_of(runtime, caller.user, subscription_id)))


@selectors_router.put(
    "/{subscription_id}/selectors",
    summary="Set the CSS selectors for a feed's articles",
    description=(
        "Applies to all subscribers, so only operators can change a shared feed: 403 for others. "
        "Articles already fetched are extracted again: some at once, the others when they are opened."
    ),
)
async def put(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: SelectorsRequest
) -> Json[SelectorsResponse]:
    changed = await set_selectors(runtime, caller.user, subscription_id, keep=body.keep, drop=body.drop)
    return Json(_selectors_response(changed))


def _selectors_response(feed: FeedSelectors) -> SelectorsResponse:
    return SelectorsResponse.of(feed, feed.selectors)
