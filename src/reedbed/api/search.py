"""Saved searches, their entries and unread counts."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from reedbed.api.entries import SearchHitList, cursor_order, search_response
from reedbed.domain.entries import View, ViewQuery
from reedbed.domain.pagination import decode_cursor, page_limit
from reedbed.domain.search import SavedSearch, UnreadMatches
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import SearchLimit
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId, PageCursor, PageLimit
from reedbed.http.responses import json_response, moment
from reedbed.services import search
from reedbed.services.search import SearchOrder
from reedbed.services.summaries import one_lines

router = APIRouter(prefix="/api/v1/searches", tags=["searches"])


class SearchRequest(ApiModel):
    name: str = Field(max_length=200, examples=["Herons"])
    query: str = Field(max_length=2_000, examples=['heron* "grey heron" -egret is:unread after:30d'])


class ChangeSearchRequest(ApiModel):
    """Fields that are not sent stay unchanged."""

    name: str | None = Field(default=None, max_length=200)
    query: str | None = Field(default=None, max_length=2_000)


class ReorderSearchesRequest(ApiModel):
    ids: list[JsonId]


class SearchResponse(ApiModel):
    id: str
    name: str
    query: str
    position: int
    created_at: str


class SearchCountResponse(ApiModel):
    id: str
    unread: int
    more: bool = Field(description="There are more; counting stops at 500.")


class SearchList(ApiModel):
    items: list[SearchResponse]
    next_cursor: str | None


class SearchCounts(ApiModel):
    items: list[SearchCountResponse]
    next_cursor: str | None


@router.get("", summary="List saved searches", responses={200: {"model": SearchList}})
async def list_searches(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    saved = await search.list_searches(runtime, caller.user_id)
    return json_response({"items": [_search_json(row) for row in saved], "next_cursor": None})


@router.post("", status_code=201, summary="Save a search", responses={201: {"model": SearchResponse}})
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: SearchRequest) -> Response:
    saved = await search.save_search(runtime, caller.user_id, body.name, body.query)
    return json_response(_search_json(saved), 201)


@router.get(
    "/counts", summary="Count unread entries of each saved search", responses={200: {"model": SearchCounts}}
)
async def counts(runtime: CurrentRuntime, caller: CurrentCaller, _: SearchLimit) -> Response:
    saved = await search.list_searches(runtime, caller.user_id)
    counted = await search.unread_matches(runtime, caller.user_id, saved)
    return json_response({"items": [_count_json(*pair) for pair in counted.items()], "next_cursor": None})


@router.post("/reorder", status_code=204, summary="Reorder saved searches")
async def reorder(runtime: CurrentRuntime, caller: CurrentCaller, body: ReorderSearchesRequest) -> Response:
    await search.reorder_searches(runtime, caller.user_id, body.ids)
    return Response(status_code=204)


@router.get("/{search_id}", summary="Get a saved search", responses={200: {"model": SearchResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath) -> Response:
    return json_response(_search_json(await search.get_search(runtime, caller.user_id, search_id)))


@router.get(
    "/{search_id}/entries",
    summary="List the entries of a saved search without their content",
    responses={200: {"model": SearchHitList}},
)
async def list_entries(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    search_id: IdPath,
    _: SearchLimit,
    view: Annotated[View, Query()] = "all",
    order: Annotated[SearchOrder, Query()] = "newest",
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    name = f"search {search_id} {view} {order}"
    page = await search.search_page(
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


@router.patch("/{search_id}", summary="Change a saved search", responses={200: {"model": SearchResponse}})
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath, body: ChangeSearchRequest
) -> Response:
    changed = await search.change_search(runtime, caller.user_id, search_id, name=body.name, query=body.query)
    return json_response(_search_json(changed))


@router.delete("/{search_id}", status_code=204, summary="Delete a saved search")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath) -> Response:
    await search.delete_search(runtime, caller.user_id, search_id)
    return Response(status_code=204)


def _search_json(saved: SavedSearch) -> dict[str, object]:
    return {
        "id": str(saved.id),
        "name": saved.name,
        "query": saved.query,
        "position": saved.position,
        "created_at": moment(saved.created_at),
    }


def _count_json(search_id: int, matches: UnreadMatches) -> dict[str, object]:
    return {"id": str(search_id), "unread": matches.count, "more": matches.more}
