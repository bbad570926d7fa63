"""Unread counts, undo for mark-read, and tags."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.entries import create_tag, delete_tag, list_tags, rename_tag
from reedbed.services.read_state import undo_last
from reedbed.store.read_state.counts import counts

router = ApiRouter(prefix="/api/v1/undo", tags=["entries"])


class UndoRequest(ApiModel):
    undo: str = Field(max_length=200, description="The token from mark-read, at most an hour old.")


@record
class UndoneResponse(ResponseModel):
    undone: bool


@router.post("", summary="Undo a mark-read")
async def undo(runtime: CurrentRuntime, caller: CurrentCaller, body: UndoRequest) -> Json[UndoneResponse]:
    await undo_last(runtime, caller.user_id, body.undo)
    return Json(UndoneResponse(undone=True))


counts_router = ApiRouter(prefix="/api/v1/counts", tags=["entries"])


@record
class CountsResponse(ResponseModel):
    all: Annotated[int, Field(description="Total unread.")]
    subscriptions: Annotated[dict[str, int], Field(description="Unread by subscription id.")]
    feeds: Annotated[dict[str, int], Field(description="Unread by feed id.")]
    folders: Annotated[dict[str, int], Field(description="Unread by folder id, subfolders included.")]
    tags: Annotated[dict[str, int], Field(description="Unread by tag name.")]
    starred: Annotated[int, Field(description="All starred entries, read or not.")]
    later: int


@counts_router.get("", summary="Get unread counts by subscription, folder and tag")
async def get_counts(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[CountsResponse]:
    async with runtime.db.read() as tx:
        counted = await counts(tx, caller.user_id)
    return Json(
        CountsResponse.of(
            counted,
            all=counted.unread,
            subscriptions={str(subscription.id): subscription.unread for subscription in counted.subscriptions},
            feeds={str(subscription.feed_id): subscription.unread for subscription in counted.subscriptions},
            folders={str(id): unread for id, unread in counted.folders.items()},
            tags={tag.name: tag.unread for tag in counted.tags},
        )
    )


# --- Tags


tags_router = ApiRouter(prefix="/api/v1/tags", tags=["tags"])


class TagRequest(ApiModel):
    name: str = Field(examples=["birds"], max_length=1_000)


@record
class TagResponse(ResponseModel):
    id: JsonId
    name: str
    entries: int
    unread: int


@tags_router.get("", summary="List tags")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[TagResponse]]:
    tags = await list_tags(runtime, caller.user_id)
    return Json(ListPage([TagResponse.of(tag) for tag in tags]))


@tags_router.post("", status_code=201, summary="Create a tag")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: TagRequest) -> Json[TagResponse]:
    return Json(TagResponse.of(await create_tag(runtime, caller.user_id, body.name)), 201)


@tags_router.patch("/{tag_id}", summary="Rename a tag")
async def rename(runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath, body: TagRequest) -> Json[TagResponse]:
    return Json(TagResponse.of(await rename_tag(runtime, caller.user_id, tag_id, body.name)))


@tags_router.delete("/{tag_id}", status_code=204, summary="Delete a tag; the entries stay")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath) -> Response:
    await delete_tag(runtime, caller.user_id, tag_id)
    return Response(status_code=204)
