"""Tags: list, create, rename and delete them."""

from fastapi import Response
from pydantic import Field

from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.entries import create_tag, delete_tag, list_tags, rename_tag

router = ApiRouter(prefix="/api/v1/tags", tags=["tags"])


class TagRequest(ApiModel):
    name: str = Field(examples=["birds"], max_length=1_000)


@record
class TagResponse(ResponseModel):
    id: JsonId
    name: str
    entries: int
    unread: int


@router.get("", summary="List tags")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[TagResponse]]:
    tags = await list_tags(runtime, caller.user_id)
    return Json(ListPage([TagResponse.of(tag) for tag in tags]))


@router.post("", status_code=201, summary="Create a tag")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: TagRequest) -> Json[TagResponse]:
    return Json(TagResponse.of(await create_tag(runtime, caller.user_id, body.name)), 201)


@router.patch("/{tag_id}", summary="Rename a tag")
async def rename(runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath, body: TagRequest) -> Json[TagResponse]:
    return Json(TagResponse.of(await rename_tag(runtime, caller.user_id, tag_id, body.name)))


@router.delete("/{tag_id}", status_code=204, summary="Delete a tag; the entries stay")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath) -> Response:
    await delete_tag(runtime, caller.user_id, tag_id)
    return Response(status_code=204)
