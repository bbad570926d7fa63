"""Saved searches, their entries and unread counts."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from reedbed.api.entries import SearchHitPage, cursor_order, search_response
from reedbed.domain.entries import View, ViewQuery
from reedbed.domain.pagination import decode_cursor, page_limit
from reedbed.domain.records import record
from reedbed.domain.search.suggestions import SuggestionKind
from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, SearchLimit
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.search import saved as searches
from reedbed.services.search.find import SearchOrder, count_matches
from reedbed.services.search.suggestions import suggest_searches
from reedbed.services.summaries import one_lines

router = ApiRouter(prefix="/api/v1/searches", tags=["searches"])


class SearchRequest(ApiModel):
    name: str = Field(max_length=200, examples=["Herons"])
    query: str = Field(max_length=2_000, examples=['heron* "grey heron" -egret is:unread after:30d'])


class ChangeSearchRequest(ApiModel):
    """Fields that are not sent stay unchanged."""

    name: str | None = Field(default=None, max_length=200)
    query: str | None = Field(default=None, max_length=2_000)


class ReorderSearchesRequest(ApiModel):
    ids: list[JsonId]


@record
class SearchResponse(ResponseModel):
    id: JsonId
    name: str
    query: str
    position: int
    created_at: Timestamp


@record
class SearchCountResponse(ResponseModel):
    id: JsonId
    unread: int
    more: Annotated[bool, Field(description="There are more; counting stops at 500.")]


@record
class SuggestionResponse(ResponseModel):
    kind: SuggestionKind
    text: Annotated[str, Field(examples=["The Heron Post"])]
    query: Annotated[
        str, Field(description="The whole search after taking this.", examples=['egret feed:"The Heron Post"'])
    ]
    id: Annotated[JsonId | None, Field(description="Of the feed, folder, tag or saved search.")]
    entries: Annotated[int | None, Field(description="What the search then finds; null where it was not counted.")]
    more: Annotated[bool, Field(description="There are more; counting stops at 500 matches of the whole search.")]


@record
class MatchCountResponse(ResponseModel):
    count: int
    is_estimate: Annotated[bool, Field(description="Counting is exact to 1,000.")]
    feeds: Annotated[int | None, Field(description="Number of feeds they are in; null for an estimate.")]


@router.get("", summary="List saved searches")
async def list_searches(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[SearchResponse]]:
    saved = await searches.list_searches(runtime, caller.user_id)
    return Json(ListPage([SearchResponse.of(row) for row in saved]))


@router.post("", status_code=201, summary="Save a search")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: SearchRequest) -> Json[SearchResponse]:
    saved = await searches.save_search(runtime, caller.user_id, body.name, body.query)
    return Json(SearchResponse.of(saved), 201)


@router.get("/counts", summary="Count unread entries of each saved search")
async def counts(runtime: CurrentRuntime, caller: CurrentCaller, _: SearchLimit) -> Json[ListPage[SearchCountResponse]]:
    saved = await searches.list_searches(runtime, caller.user_id)
    counted = await searches.unread_matches(runtime, caller.user_id, saved)
    return Json(ListPage([SearchCountResponse(id, matches.count, matches.more) for id, matches in counted.items()]))


@router.get("/suggest", summary="Suggest how to go on with a search")
async def suggest(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    q: Annotated[str, Query(max_length=2_000, description="The search as typed so far.")] = "",
) -> Json[ListPage[SuggestionResponse]]:
    """Names after `feed:`, `folder:` and `tag:`, states after `is:`, times after `after:` and `before:`, operators,
    and saved searches. A misspelt operator or name is answered with the ones most like it."""
    suggestions = await suggest_searches(runtime, caller.user_id, storable(q))
    return Json(ListPage([SuggestionResponse.of(suggestion) for suggestion in suggestions]))


@router.get("/count", summary="Count the entries that a search finds")
async def count(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    _: SearchLimit,
    q: Annotated[str, Query(max_length=2_000, description="The search.")],
) -> Json[MatchCountResponse]:
    return Json(MatchCountResponse.of(await count_matches(runtime, caller.user_id, storable(q))))


@router.post("/reorder", status_code=204, summary="Reorder saved searches")
async def reorder(runtime: CurrentRuntime, caller: CurrentCaller, body: ReorderSearchesRequest) -> Response:
    await searches.reorder_searches(runtime, caller.user_id, body.ids)
    return Response(status_code=204)


@router.get("/{search_id}", summary="Get a saved search")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath) -> Json[SearchResponse]:
    return Json(SearchResponse.of(await searches.get_search(runtime, caller.user_id, search_id)))


@router.get("/{search_id}/entries", summary="List the entries of a saved search without their content")
async def list_entries(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    search_id: IdPath,
    _: SearchLimit,
    view: Annotated[View, Query()] = "all",
    order: Annotated[SearchOrder, Query()] = "newest",
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Json[SearchHitPage]:
    name = f"search {search_id} {view} {order}"
    page = await searches.search_page(
        runtime,
        caller.user_id,
        search_id,
        within=ViewQuery(view),
        order=order,
        cursor=None if cursor is None else decode_cursor(cursor, cursor_order(order), name),
        limit=page_limit(limit),
    )
    lines = await one_lines(runtime, caller.user, [row.id for row in page.rows])
    return search_response(page, lines, order, name)


@router.patch("/{search_id}", summary="Change a saved search")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath, body: ChangeSearchRequest
) -> Json[SearchResponse]:
    changed = await searches.change_search(runtime, caller.user_id, search_id, name=body.name, query=body.query)
    return Json(SearchResponse.of(changed))


@router.delete("/{search_id}", status_code=204, summary="Delete a saved search")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath) -> Response:
    await searches.delete_search(runtime, caller.user_id, search_id)
    return Response(status_code=204)
