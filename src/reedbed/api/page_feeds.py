"""Feeds made from pages: preview the lists of a page or the text to watch, follow it, read its recipe."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from reedbed.api.subscriptions import SubscriptionResponse, subscription_response
from reedbed.domain.errors import Invalid
from reedbed.domain.failures import failure_message
from reedbed.domain.page_feeds import (
    PageEntry,
    PageList,
    PageRecipe,
    PageSelectors,
    changed_shape,
    recipe_as_fields,
    recipe_from_fields,
)
from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ResponseModel, Timestamp
from reedbed.http.params import IdPath, RefreshLimit
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.page_feeds import NO_BLOCKS, PagePreview, follow_page, open_page, page_feed, preview_page

router = ApiRouter(prefix="/api/v1/page-feeds", tags=["page feeds"])

Address = Annotated[str, Query(max_length=2_048, examples=["https://example.org/news"])]


class PageSelectorsRequest(ApiModel):
    """CSS selectors, or XPath 1.0 if they begin with `/`, `./` or `(`. An empty field is picked automatically."""

    item: str = ""
    title: str = ""
    link: str = ""
    date: str = ""
    image: str = ""
    teaser: str = ""


class FingerprintsRequest(ApiModel):
    path: str = Field("", max_length=2_000)
    classes: list[str] = Field(default=[], max_length=20)
    link_pattern: str = Field("", max_length=2_048)


class RecipeRequest(ApiModel):
    source: str = Field("markup", pattern="^(json-ld|page-data|h-feed|news-sitemap|telegram|sections|markup|watch)$")
    selectors: PageSelectorsRequest = PageSelectorsRequest.model_construct()
    fingerprints: FingerprintsRequest = FingerprintsRequest.model_construct()
    data_path: str = Field("", max_length=500)


class PreviewRequest(ApiModel):
    url: str = Field(max_length=2_048)
    recipe: RecipeRequest | None = None


class PartsRequest(ApiModel):
    url: str = Field(max_length=2_048)
    selectors: PageSelectorsRequest = PageSelectorsRequest.model_construct()


class FollowRequest(PreviewRequest):
    title: str | None = None
    folder_id: JsonId | None = None


@record
class PageEntryResponse(ResponseModel):
    url: str
    title: str
    published_at: Timestamp | None
    image: str | None
    teaser: str


@record
class PageListResponse(ResponseModel):
    recipe: dict[str, Any]
    total: int
    entries: list[PageEntryResponse]


@record
class PagePreviewResponse(ResponseModel):
    url: str
    title: str
    lists: list[PageListResponse]
    passages: list[str]
    """For the source `watch`: the text as it is now. A change of it will be an entry."""
    reason: str | None


@record
class PagePartResponse(ResponseModel):
    selector: str
    matches: int
    """In how many items it is found; for a list, how many items it has."""
    example: str


@record
class PagePartsResponse(ResponseModel):
    item: str
    """The selector of the items."""
    items: int
    parts: list[PagePartResponse]
    """Places in the items: any of them can be the title, the link, the date, the image or the teaser."""
    lists: list[PagePartResponse]
    """Other lists of the page, each by the selector of its items."""
    reason: str | None


@record
class RecipeChangeResponse(ResponseModel):
    name: str
    before: str
    after: str


@record
class PageFeedResponse(ResponseModel):
    recipe: dict[str, Any]
    former_recipe: dict[str, Any] | None
    rebuilt_at: Timestamp | None
    changes: list[RecipeChangeResponse]


@router.get("/preview", summary="List what a feed made from a page would hold")
async def preview(
    runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit, url: Address
) -> Json[PagePreviewResponse]:
    return Json(_preview_response(await preview_page(runtime, url)))


@router.post("/preview", summary="Try a recipe on a page")
async def try_recipe(
    runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit, body: PreviewRequest
) -> Json[PagePreviewResponse]:
    return Json(_preview_response(await preview_page(runtime, body.url, _recipe(body.recipe))))


@router.post("/parts", summary="List what can be picked in the list on a page, with its selectors")
async def parts(
    runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit, body: PartsRequest
) -> Json[PagePartsResponse]:
    opened = await open_page(runtime, caller.user_id, body.url, _selectors(body.selectors))
    blocks = opened.blocks or NO_BLOCKS
    reason = opened.reason.message if isinstance(opened.reason, Invalid) else failure_message(opened.reason)
    found, others = ([PagePartResponse.of(one) for one in some] for some in (blocks.parts, blocks.lists))
    return Json(PagePartsResponse(blocks.item, blocks.items, found, others, reason))


@router.post("", status_code=201, summary="Follow the list on a page, or watch its text for changes")
async def follow(
    runtime: CurrentRuntime, caller: CurrentCaller, _: RefreshLimit, body: FollowRequest
) -> Json[SubscriptionResponse]:
    subscription = await follow_page(
        runtime, caller.user_id, body.url, _recipe(body.recipe), title=body.title, folder_id=body.folder_id
    )
    return Json(subscription_response(subscription), 201)


@router.get("/{subscription_id}", summary="Get the recipe of a feed made from a page")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath) -> Json[PageFeedResponse]:
    found = await page_feed(runtime, caller.user_id, subscription_id)
    changes = changed_shape(found.former, found.recipe) if found.former is not None else ()
    return Json(
        PageFeedResponse(
            recipe_as_fields(found.recipe),
            recipe_as_fields(found.former) if found.former is not None else None,
            found.rebuilt_at,
            [RecipeChangeResponse(*change) for change in changes],
        )
    )


def _recipe(request: RecipeRequest | None) -> PageRecipe | None:
    if request is None:
        return None
    try:
        return recipe_from_fields(request.model_dump())
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid("This is not a recipe.", field="recipe") from error


def _selectors(request: PageSelectorsRequest) -> PageSelectors:
    return PageSelectors(**request.model_dump())


def _preview_response(preview: PagePreview) -> PagePreviewResponse:
    return PagePreviewResponse(
        preview.url,
        preview.title,
        [_list_response(one) for one in preview.lists.lists],
        list(preview.watched.passages) if preview.watched is not None else [],
        failure_message(preview.reason),
    )


def _list_response(found: PageList) -> PageListResponse:
    return PageListResponse(
        recipe_as_fields(found.recipe), len(found.entries), [_entry_response(entry) for entry in found.entries]
    )


def _entry_response(entry: PageEntry) -> PageEntryResponse:
    return PageEntryResponse.of(entry, published_at=entry.published)
