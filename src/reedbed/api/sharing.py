"""Services that keep links: added with what lets us in, and entries sent to them."""

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
    token: str = Field("", description="For all but Wallabag.")
    client_id: str = Field("", description="This and the next three are for Wallabag.")
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
    problem: str = Field(description="Why the last link was not taken.")


class TargetList(ApiModel):
    items: list[TargetResponse]
    next_cursor: str | None


class ShareRequest(ApiModel):
    share_target_id: JsonId


@router.get("/share-targets", summary="Services that keep links", responses={200: {"model": TargetList}})
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    found = await list_targets(runtime, caller.user_id)
    return json_response({"items": [target_json(one) for one in found], "next_cursor": None})


@router.post(
    "/share-targets", status_code=201, summary="Add a service", responses={201: {"model": TargetResponse}}
)
async def add(runtime: CurrentRuntime, caller: CurrentCaller, body: TargetRequest) -> Response:
    made = await add_target(
        runtime,
        caller.user_id,
        kind=body.kind,
        url=body.url,
        name=body.name,
        secrets=body.model_dump(exclude={"kind", "url", "name"}),
    )
    return json_response(target_json(made), 201)


@router.delete("/share-targets/{share_target_id}", status_code=204, summary="Remove a service")
async def remove(runtime: CurrentRuntime, caller: CurrentCaller, share_target_id: IdPath) -> Response:
    await remove_target(runtime, caller.user_id, share_target_id)
    return Response(status_code=204)


@router.post(
    "/entries/{entry_id}/share",
    status_code=202,
    summary="Send an entry's address to a service",
    responses={202: {"model": TargetResponse}},
)
async def share(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, body: ShareRequest
) -> Response:
    target = await share_entry(runtime, caller.user_id, entry_id, body.share_target_id)
    return json_response(target_json(target), 202)


def target_json(one: ShareTarget) -> dict[str, Any]:
    return {
        "id": str(one.id),
        "kind": one.kind,
        "name": one.name,
        "url": one.url,
        "created_at": moment(one.created_at),
        "used_at": moment(one.used_at),
        "problem": one.problem,
    }
