"""Web Push: the server's public key, and the devices that receive notifications."""

from typing import Annotated

from fastapi import Header, Response
from pydantic import Field

from reedbed.domain.push import PushDevice, PushNote
from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.push import add_device, list_devices, push_key, remove_device, send_test

router = ApiRouter(prefix="/api/v1/push", tags=["push"])

TEST_NOTIFICATION = PushNote("Reedbed", "This device gets notifications.", "/settings/notifications", "test")


class PushKeys(ApiModel):
    p256dh: str = Field(
        examples=["BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"]
    )
    auth: str = Field(examples=["BTBZMqHH6r4Tts7J_aSIgg"])


class PushRequest(ApiModel):
    """The result of `PushSubscription.toJSON()` in a browser."""

    endpoint: str = Field(examples=["https://push.example.org/a-browser"])
    keys: PushKeys


@record
class PushKeyResponse(ResponseModel):
    key: str


@record
class PushDeviceResponse(ResponseModel):
    id: JsonId
    name: str
    endpoint: str
    created_at: Timestamp
    reached_at: Timestamp | None


@router.get("/key", summary="Get the server's public key (VAPID)")
async def key(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[PushKeyResponse]:
    return Json(PushKeyResponse(await push_key(runtime)))


@router.get("/devices", summary="List devices with push notifications")
async def devices(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[PushDeviceResponse]]:
    subscribed = await list_devices(runtime, caller.user_id)
    return Json(ListPage([device_response(device) for device in subscribed]))


@router.post("/devices", status_code=201, summary="Turn on push for this browser")
async def add(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    body: PushRequest,
    user_agent: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Json[PushDeviceResponse]:
    device = await add_device(
        runtime, caller, endpoint=body.endpoint, p256dh=body.keys.p256dh, auth=body.keys.auth, user_agent=user_agent
    )
    return Json(device_response(device), 201)


@router.post("/devices/{device_id}/test", status_code=202, summary="Send a test notification to a device")
async def test(runtime: CurrentRuntime, caller: CurrentCaller, device_id: IdPath) -> Response:
    await send_test(runtime, caller.user_id, device_id, TEST_NOTIFICATION)
    return Response(status_code=202)


@router.delete("/devices/{device_id}", status_code=204, summary="Turn off push for a device")
async def remove(runtime: CurrentRuntime, caller: CurrentCaller, device_id: IdPath) -> Response:
    await remove_device(runtime, caller.user_id, device_id)
    return Response(status_code=204)


def device_response(device: PushDevice) -> PushDeviceResponse:
    return PushDeviceResponse.of(device, endpoint=device.address.endpoint)
