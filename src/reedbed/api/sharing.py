"""Services that links are saved to and messages are sent to, and sharing entries with them."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from reedbed.domain.records import record
from reedbed.domain.sharing.services import SERVICES
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureSentence, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.sharing import (
    add_target,
    connectors,
    list_targets,
    remove_target,
    set_messages,
    share_entry,
    try_target,
)

router = ApiRouter(prefix="/api/v1", tags=["sharing"])


class TargetRequest(ApiModel):
    kind: str = Field(examples=["linkding"], description="One of `/api/v1/share-services`.")
    url: str = Field(
        "", examples=["https://links.example.org"], description="Not needed if the service has one address."
    )
    name: str = ""
    fields: dict[str, str] = Field(default_factory=dict, description="What the service asks for.")
    token: str = Field("", description="Like the next four fields, also possible in `fields`.")
    client_id: str = ""
    client_secret: str = ""
    username: str = ""
    password: str = ""


class ChangeTargetRequest(ApiModel):
    digests: bool | None = Field(None, description="Tell this service of each new digest.")
    stopped_feeds: bool | None = Field(None, description="Tell this service of each feed that stops.")


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
    digests: bool
    stopped_feeds: bool


@record
class ServiceFieldResponse(ResponseModel):
    name: str
    secret: bool
    required: bool
    label: Annotated[str, Field(description="What a service that the operator has added calls it; else empty.")]


@record
class ServiceResponse(ResponseModel):
    kind: str
    name: str
    purpose: Annotated[str, Field(description="save: it keeps links; tell: it shows messages.")]
    address: Annotated[str, Field(description="Empty if each user has one of their own.")]
    fields: list[ServiceFieldResponse]


@record
class ShareTestResponse(ResponseModel):
    accepted: bool
    status: Annotated[int, Field(description="0 if there was no answer.")]
    answer: Annotated[str, Field(description="The start of the answer, as text.")]
    problem: FailureSentence
    problem_code: FailureName


class ShareRequest(ApiModel):
    share_target_id: JsonId


@router.get("/share-services", summary="List the services that can be added as share targets")
async def list_services(runtime: CurrentRuntime, _: CurrentCaller) -> Json[ListPage[ServiceResponse]]:
    return Json(
        ListPage(
            [
                ServiceResponse(
                    kind,
                    service.name,
                    service.purpose,
                    service.address,
                    list(map(ServiceFieldResponse.of, service.fields)),
                )
                for kind, service in {**SERVICES, **connectors(runtime)}.items()
            ]
        )
    )


@router.get("/share-targets", summary="List share targets")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[TargetResponse]]:
    targets = await list_targets(runtime, caller.user_id)
    return Json(ListPage([TargetResponse.of(target) for target in targets]))


@router.post("/share-targets", status_code=201, summary="Add a share target")
async def add(runtime: CurrentRuntime, caller: CurrentCaller, body: TargetRequest) -> Json[TargetResponse]:
    named = body.model_dump(exclude={"kind", "url", "name", "fields"})
    target = await add_target(
        runtime, caller.user_id, kind=body.kind, url=body.url, name=body.name, secrets={**named, **body.fields}
    )
    return Json(TargetResponse.of(target), 201)


@router.patch("/share-targets/{share_target_id}", summary="Choose which messages a share target gets")
async def change(
    runtime: CurrentRuntime, caller: CurrentCaller, share_target_id: IdPath, body: ChangeTargetRequest
) -> Json[TargetResponse]:
    target = await set_messages(
        runtime, caller.user_id, share_target_id, digests=body.digests, stopped_feeds=body.stopped_feeds
    )
    return Json(TargetResponse.of(target))


@router.post("/share-targets/{share_target_id}/test", summary="Send a test to a share target")
async def test(runtime: CurrentRuntime, caller: CurrentCaller, share_target_id: IdPath) -> Json[ShareTestResponse]:
    return Json(ShareTestResponse.of(await try_target(runtime, caller.user_id, share_target_id)))


@router.delete("/share-targets/{share_target_id}", status_code=204, summary="Remove a share target")
async def remove(runtime: CurrentRuntime, caller: CurrentCaller, share_target_id: IdPath) -> Response:
    await remove_target(runtime, caller.user_id, share_target_id)
    return Response(status_code=204)


@router.post("/entries/{entry_id}/share", status_code=202, summary="Send an entry to a share target")
async def share(
    runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, body: ShareRequest
) -> Json[TargetResponse]:
    target = await share_entry(runtime, caller.user_id, entry_id, body.share_target_id)
    return Json(TargetResponse.of(target), 202)
