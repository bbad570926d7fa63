"""Full articles of entries, saved pages, the article proxy, and CSS selectors for article extraction."""

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
from reedbed.services.images import image_urls_for_apps

router = APIRouter(prefix="/api/v1/entries", tags=["entries"])


class FullArticleResponse(ApiModel):
    content: str | None
    failed: str | None


@router.get(
    "/{entry_id}/full",
    summary="Get the extracted article; fetches it if needed",
    responses={200: {"model": FullArticleResponse}},
)
async def full_article(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, _: RefreshLimit
) -> Response:
    article = await read_full_article(runtime, caller.user_id, entry_id)
    images = image_urls_for_apps(runtime, place_of(request, runtime))
    content = None if article.content is None else images.in_html(article.content)
    return json_response({"content": content, "failed": article.failed or None})


# --- Saved pages

saved_pages_router = APIRouter(prefix="/api/v1/saved-pages", tags=["entries"])


class SavedPageRequest(ApiModel):
    url: str = Field(max_length=2_048, examples=["https://example.org/how-reeds-grow"])
    title: str = Field("", max_length=500, description="Title until the page is fetched.")


class SavedPageResponse(ApiModel):
    entry_id: str = Field(description="The entry, marked for later.")
    new: bool = Field(description="False if it was already one of your entries.")


@saved_pages_router.post(
    "",
    status_code=201,
    summary="Save a page for later; its article is fetched in the background",
    responses={201: {"model": SavedPageResponse}},
)
async def save(
    runtime: CurrentRuntime, caller: CurrentCaller, body: SavedPageRequest, _: RefreshLimit
) -> Response:
    saved = await save_page(runtime, caller.user_id, body.url, body.title)
    return json_response({"entry_id": text_id(saved.entry_id), "new": saved.new}, 201)


# --- Article proxy

proxy_router = APIRouter(tags=["entries"])

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' https: data:; media-src https:; sandbox",
}


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

selectors_router = APIRouter(prefix="/api/v1/subscriptions", tags=["subscriptions"])

_LIMITS = f"At most {MOST}, each of at most {LONGEST} characters."


class SelectorsRequest(ApiModel):
    keep: list[str] = Field(
        default=[], description=f"Elements that are the article. {_LIMITS}", examples=[["article"]]
    )
    drop: list[str] = Field(default=[], description="Elements to remove, even inside kept ones.")


class SelectorsResponse(ApiModel):
    keep: list[str]
    drop: list[str]
    may_change: bool = Field(description="The feed is private, or the user is an operator.")


@selectors_router.get(
    "/{subscription_id}/selectors",
    summary="Get the CSS selectors for a feed's articles",
    responses={200: {"model": SelectorsResponse}},
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Response:
    return json_response(_selectors_json(await selectors_of(runtime, caller.user, subscription_id)))


@selectors_router.put(
    "/{subscription_id}/selectors",
    summary="Set the CSS selectors for a feed's articles",
    description=(
        "Applies to all subscribers, so only operators can change a shared feed: 403 for others. "
        "Articles already fetched are extracted again: some at once, the others when they are opened."
    ),
    responses={200: {"model": SelectorsResponse}},
)
async def put(
    runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath, body: SelectorsRequest
) -> Response:
    changed = await set_selectors(runtime, caller.user, subscription_id, keep=body.keep, drop=body.drop)
    return json_response(_selectors_json(changed))


def _selectors_json(feed: FeedSelectors) -> dict[str, Any]:
    return {
        "keep": feed.selectors.keep,
        "drop": feed.selectors.drop,
        "may_change": feed.may_change,
    }
