"""Unread counts, and undo for mark-read."""

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.responses import json_response
from reedbed.services.read_state import undo_last
from reedbed.store.read_state.counts import counts

router = APIRouter(prefix="/api/v1/undo", tags=["entries"])


class UndoRequest(ApiModel):
    undo: str = Field(max_length=200, description="The token from mark-read, at most an hour old.")


class UndoneResponse(ApiModel):
    undone: bool


@router.post("", summary="Undo a mark-read", responses={200: {"model": UndoneResponse}})
async def undo(runtime: CurrentRuntime, caller: CurrentCaller, body: UndoRequest) -> Response:
    await undo_last(runtime, caller.user_id, body.undo)
    return json_response({"undone": True})


counts_router = APIRouter(prefix="/api/v1/counts", tags=["entries"])


class CountsResponse(ApiModel):
    all: int = Field(description="Total unread.")
    subscriptions: dict[str, int] = Field(description="Unread by subscription id.")
    feeds: dict[str, int] = Field(description="Unread by feed id.")
    folders: dict[str, int] = Field(description="Unread by folder id, subfolders included.")
    tags: dict[str, int] = Field(description="Unread by tag name.")
    starred: int = Field(description="All starred entries, read or not.")
    later: int


@counts_router.get(
    "",
    summary="Get unread counts by subscription, folder and tag",
    responses={200: {"model": CountsResponse}},
)
async def get_counts(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        counted = await counts(tx, caller.user_id)
    return json_response(
        {
            "all": counted.unread,
            "subscriptions": {
                str(subscription.id): subscription.unread for subscription in counted.subscriptions
            },
            "feeds": {
                str(subscription.feed_id): subscription.unread for subscription in counted.subscriptions
            },
            "folders": {str(id): unread for id, unread in counted.folders.items()},
            "tags": {tag.name: tag.unread for tag in counted.tags},
            "starred": counted.starred,
            "later": counted.later,
        }
    )
