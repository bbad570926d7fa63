"""Folders: list, change, reorder and delete them."""

from typing import Annotated

from fastapi import Response
from pydantic import AwareDatetime, Field

from reedbed.domain.errors import NotFound
from reedbed.domain.records import UNSET, record
from reedbed.domain.times import from_datetime
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel
from reedbed.http.params import IdPath, RefreshLimit
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.folders import (
    change_folder,
    create_folder,
    delete_folder,
    mute_folder,
    refresh_folder,
    reorder_folders,
)
from reedbed.store import folders

router = ApiRouter(prefix="/api/v1/folders", tags=["folders"])


class FolderRequest(ApiModel):
    name: str = Field(examples=["News"])
    parent_id: JsonId | None = None


class ChangeFolderRequest(ApiModel):
    name: str | None = None
    parent_id: JsonId | None = None
    summary_words: int | None = Field(
        None,
        description=(
            "Summarise new entries of its feeds with at least this many words automatically; -1: never; "
            "null: as set for the parent folder or in your preferences."
        ),
    )
    in_unread: bool | None = Field(
        None, description="Whether the list of everything unread shows and counts its feeds; its own list always does."
    )


class MuteFolderRequest(ApiModel):
    until: AwareDatetime | None = Field(description="As `muted_until` of a subscription; null unmutes the feeds.")


class ReorderFoldersRequest(ApiModel):
    ids: list[JsonId]
    parent_id: JsonId | None = None


@record
class FolderResponse(ResponseModel):
    id: JsonId
    parent_id: JsonId | None
    name: str
    position: int
    summary_words: int | None
    in_unread: bool


@router.get("", summary="List folders")
async def list_folders(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[FolderResponse]]:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    return Json(ListPage([FolderResponse.of(row) for row in rows]))


@router.post("", status_code=201, summary="Create a folder")
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: FolderRequest) -> Json[FolderResponse]:
    return Json(FolderResponse.of(await create_folder(runtime, caller.user_id, body.name, body.parent_id)), 201)


@router.post("/reorder", status_code=204, summary="Reorder the folders of a parent folder or of the top level")
async def reorder(runtime: CurrentRuntime, caller: CurrentCaller, body: ReorderFoldersRequest) -> Response:
    await reorder_folders(runtime, caller.user_id, body.parent_id, body.ids)
    return Response(status_code=204)


@router.get("/{folder_id}", summary="Get a folder")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath) -> Json[FolderResponse]:
    async with runtime.db.read() as tx:
        row = await folders.get(tx, caller.user_id, folder_id)
    if row is None:
        raise NotFound("There is no such folder")
    return Json(FolderResponse.of(row))


@router.patch("/{folder_id}", summary="Change a folder; fields that are not sent stay")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath, body: ChangeFolderRequest
) -> Json[FolderResponse]:
    parent = body.parent_id if "parent_id" in body.model_fields_set else UNSET
    summary_words = body.summary_words if "summary_words" in body.model_fields_set else UNSET
    changed = await change_folder(
        runtime,
        caller.user_id,
        folder_id,
        name=body.name,
        parent=parent,
        summary_words=summary_words,
        in_unread=body.in_unread,
    )
    return Json(FolderResponse.of(changed))


@router.post("/{folder_id}/mute", status_code=204, summary="Mute or unmute all feeds of a folder and its subfolders")
async def mute(runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath, body: MuteFolderRequest) -> Response:
    await mute_folder(runtime, caller.user_id, folder_id, body.until and from_datetime(body.until))
    return Response(status_code=204)


@record
class RefreshFolderResponse(ResponseModel):
    refreshing: Annotated[int, Field(description="Number of feeds being checked now.")]


@router.post("/{folder_id}/refresh", status_code=202, summary="Check all feeds of a folder and its subfolders now")
async def refresh(
    runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath, _: RefreshLimit
) -> Json[RefreshFolderResponse]:
    return Json(RefreshFolderResponse(await refresh_folder(runtime, caller.user_id, folder_id)), 202)


@router.delete("/{folder_id}", status_code=204, summary="Delete a folder; its contents move up")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath) -> Response:
    await delete_folder(runtime, caller.user_id, folder_id)
    return Response(status_code=204)
