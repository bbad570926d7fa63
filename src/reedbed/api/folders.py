"""Folders: list, change, reorder and delete them."""

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.errors import NotFound
from reedbed.domain.folders import FolderRow
from reedbed.domain.unset import UNSET
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId
from reedbed.http.responses import json_response, text_id
from reedbed.services.folders import change_folder, create_folder, delete_folder, reorder_folders
from reedbed.store import folders

router = APIRouter(prefix="/api/v1/folders", tags=["folders"])


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


class ReorderFoldersRequest(ApiModel):
    ids: list[JsonId]
    parent_id: JsonId | None = None


class FolderResponse(ApiModel):
    id: str
    parent_id: str | None
    name: str
    position: int
    summary_words: int | None


class FolderList(ApiModel):
    items: list[FolderResponse]
    next_cursor: str | None


@router.get("", summary="List folders", responses={200: {"model": FolderList}})
async def list_folders(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    return json_response({"items": [_folder_json(row) for row in rows], "next_cursor": None})


@router.post("", status_code=201, summary="Create a folder", responses={201: {"model": FolderResponse}})
async def create(runtime: CurrentRuntime, caller: CurrentCaller, body: FolderRequest) -> Response:
    return json_response(
        _folder_json(await create_folder(runtime, caller.user_id, body.name, body.parent_id)), 201
    )


@router.post(
    "/reorder", status_code=204, summary="Reorder the folders of a parent folder or of the top level"
)
async def reorder(runtime: CurrentRuntime, caller: CurrentCaller, body: ReorderFoldersRequest) -> Response:
    await reorder_folders(runtime, caller.user_id, body.parent_id, body.ids)
    return Response(status_code=204)


@router.get("/{folder_id}", summary="Get a folder", responses={200: {"model": FolderResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath) -> Response:
    async with runtime.db.read() as tx:
        row = await folders.get(tx, caller.user_id, folder_id)
    if row is None:
        raise NotFound("There is no such folder")
    return json_response(_folder_json(row))


@router.patch(
    "/{folder_id}",
    summary="Change a folder; fields that are not sent stay",
    responses={200: {"model": FolderResponse}},
)
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath, body: ChangeFolderRequest
) -> Response:
    parent = body.parent_id if "parent_id" in body.model_fields_set else UNSET
    summary_words = body.summary_words if "summary_words" in body.model_fields_set else UNSET
    changed = await change_folder(
        runtime, caller.user_id, folder_id, name=body.name, parent=parent, summary_words=summary_words
    )
    return json_response(_folder_json(changed))


@router.delete("/{folder_id}", status_code=204, summary="Delete a folder; its contents move up")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, folder_id: IdPath) -> Response:
    await delete_folder(runtime, caller.user_id, folder_id)
    return Response(status_code=204)


def _folder_json(row: FolderRow) -> dict[str, object]:
    return {
        "id": str(row.id),
        "parent_id": text_id(row.parent_id),
        "name": row.name,
        "position": row.position,
        "summary_words": row.summary_words,
    }
