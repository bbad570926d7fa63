"""Tags: list, create, rename and delete them."""

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.entries import TagCount
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response
from reedbed.services.entries import create_tag, delete_tag, list_tags, rename_tag

router = APIRouter(prefix="/api/v1/tags", tags=["tags"])


class TagRequest(ApiModel):
    name: str = Field(examples=["birds"], max_length=1_000)


class TagResponse(ApiModel):
    id: str
    name: str
    entries: int
    unread: int


class TagList(ApiModel):
    items: list[TagResponse]
    next_cursor: str | None


@router.get("", summary="List tags", responses={200: {"model": TagList}})
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    tags = await list_tags(runtime, caller.user_id)
    return json_response({"items": [_tag_json(tag) for tag in tags], "next_cursor": None})


@router.post("", status_code=201, summary="Create a tag", responses={201: {"model": TagResponse}})
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: TagRequest) -> Response:
    return json_response(_tag_json(await create_tag(runtime, caller.user_id, body.name)), 201)


@router.patch("/{tag_id}", summary="Rename a tag", responses={200: {"model": TagResponse}})
async def rename(
    runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath, body: TagRequest
) -> Response:
    return json_response(_tag_json(await rename_tag(runtime, caller.user_id, tag_id, body.name)))


@router.delete("/{tag_id}", status_code=204, summary="Delete a tag; the entries stay")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath) -> Response:
    await delete_tag(runtime, caller.user_id, tag_id)
    return Response(status_code=204)


def _tag_json(tag: TagCount) -> dict[str, object]:
    return {"id": str(tag.id), "name": tag.name, "entries": tag.entries, "unread": tag.unread}
