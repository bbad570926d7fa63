"""Link-saving services (Wallabag, Readeck, linkding, Karakeep) and sharing entries to them."""

from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureSentence, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.sharing import add_target, list_targets, remove_target, share_entry

router = ApiRouter(prefix="/api/v1", tags=["sharing"])


class TargetRequest(ApiModel):
    kind: Literal["wallabag", "readeck", "linkding", "karakeep"]
    url: str = Field(examples=["https://links.example.org"])
    name: str = ""
    token: str = Field("", description="For all services but Wallabag.")
    client_id: str = Field("", description="For Wallabag, like the next three fields.")
    client_secret: str = ""
    username: str = ""
    password: str = ""


@record
class TargetResponse(ResponseModel):
    id: JsonId
    kind: str
    name: str
    url: str
    created_at: Timestamp
    used_at: Timestamp | None
    problem: Annotated[FailureSentence, Field(description="Why the last share failed.")]
    problem_code: FailureName


class ShareRequest(ApiModel):
    share_target_id: JsonId


@router.get("/share-targets", summary="List share targets")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[TargetResponse]]:
    targets = await list_targets(runtime, caller.user_id)
    return Json(ListPage([TargetResponse.of(target) for target in targets]))


@router.post("/share-targets", status_code=201, summary="Add a share target")
async def add(runtime: CurrentRuntime, caller: CurrentCaller, body: TargetRequest) -> Json[TargetResponse]:
    target = await add_target(
        runtime,
        caller.user_id,
        kind=body.kind,
        url=body.url,
        name=body.name,
        secrets=body.model_dump(exclude={"kind", "url", "name"}),
    )
    return Json(TargetResponse.of(target), 201)


@router.delete("/share-targets/{share_target_id}", status_code=204, summary="Remove a share target")
async def remove(runtime: CurrentRuntime, caller: CurrentCaller, share_target_id: IdPath) -> Response:
    await remove_target(runtime, caller.user_id, share_target_id)
    return Response(status_code=204)


@router.post("/entries/{entry_id}/share", status_code=202, summary="Send an entry's URL to a share target")
async def share(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, body: ShareRequest
) -> Json[TargetResponse]:
    target = await share_entry(runtime, caller.user_id, entry_id, body.share_target_id)
    return Json(TargetResponse.of(target), 202)
