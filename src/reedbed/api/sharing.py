"""Link-saving services (Wallabag, Readeck, linkding, Karakeep) and sharing entries to them."""

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.sharing import ShareTarget
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, JsonId
from reedbed.http.responses import json_response, moment
from reedbed.services.sharing import add_target, list_targets, remove_target, share_entry

router = APIRouter(prefix="/api/v1", tags=["sharing"])


class TargetRequest(ApiModel):
    kind: Literal["wallabag", "readeck", "linkding", "karakeep"]
    url: str = Field(examples=["https://links.example.org"])
    name: str = ""
    token: str = Field("", description="For all services but Wallabag.")
    client_id: str = Field("", description="For Wallabag, like the next three fields.")
    client_secret: str = ""
    username: str = ""
    password: str = ""


class TargetResponse(ApiModel):
    id: str
    kind: str
    name: str
    url: str
    created_at: str
    used_at: str | None
    problem: str = Field(description="Why the last share failed.")


class TargetList(ApiModel):
    items: list[TargetResponse]
    next_cursor: str | None


class ShareRequest(ApiModel):
    share_target_id: JsonId


@router.get("/share-targets", summary="List share targets", responses={200: {"model": TargetList}})
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    targets = await list_targets(runtime, caller.user_id)
    return json_response({"items": [target_json(target) for target in targets], "next_cursor": None})


@router.post(
    "/share-targets",
    status_code=201,
    summary="Add a share target",
    responses={201: {"model": TargetResponse}},
)
async def add(runtime: CurrentRuntime, caller: CurrentCaller, body: TargetRequest) -> Response:
    target = await add_target(
        runtime,
        caller.user_id,
        kind=body.kind,
        url=body.url,
        name=body.name,
        secrets=body.model_dump(exclude={"kind", "url", "name"}),
    )
    return json_response(target_json(target), 201)


@router.delete("/share-targets/{share_target_id}", status_code=204, summary="Remove a share target")
async def remove(runtime: CurrentRuntime, caller: CurrentCaller, share_target_id: IdPath) -> Response:
    await remove_target(runtime, caller.user_id, share_target_id)
    return Response(status_code=204)


@router.post(
    "/entries/{entry_id}/share",
    status_code=202,
    summary="Send an entry's URL to a share target",
    responses={202: {"model": TargetResponse}},
)
async def share(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, body: ShareRequest
) -> Response:
    target = await share_entry(runtime, caller.user_id, entry_id, body.share_target_id)
    return json_response(target_json(target), 202)


def target_json(target: ShareTarget) -> dict[str, Any]:
    return {
        "id": str(target.id),
        "kind": target.kind,
        "name": target.name,
        "url": target.url,
        "created_at": moment(target.created_at),
        "used_at": moment(target.used_at),
        "problem": target.problem,
    }
