"""One-time codes of an authenticator app, and recovery codes."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime, CurrentSession
from reedbed.http.models import ApiModel, ResponseModel, Timestamp
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.codes import begin_codes, codes_state, disable_codes, enable_codes, renew_recovery_codes

router = ApiRouter(prefix="/api/v1/users/me/codes", tags=["account"])

_UNSTORED = {"Cache-Control": "no-store"}


class EnableCodesRequest(ApiModel):
    code: str = Field(max_length=100, examples=["123456"], repr=False)


@record
class CodesResponse(ResponseModel):
    enabled_at: Annotated[Timestamp | None, Field(description="Null: codes are off.")]
    recovery_left: Annotated[int, Field(description="Unused recovery codes.")]


@record
class EnrolmentResponse(ResponseModel):
    secret: Annotated[str, Field(description="To type into the app.")]
    url: Annotated[str, Field(description="The same as an otpauth URL, for a QR code.")]


@record
class RecoveryCodesResponse(ResponseModel):
    recovery_codes: Annotated[list[str], Field(description="Shown only once. Each works once.")]


@router.get("", summary="Check whether one-time codes are on")
async def get(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[CodesResponse]:
    return Json(CodesResponse.of(await codes_state(runtime, caller.user_id)))


@router.post("", status_code=201, summary="Create the secret for an authenticator app; codes stay off")
async def create(runtime: CurrentRuntime, caller: CurrentSession) -> Json[EnrolmentResponse]:
    return Json(EnrolmentResponse.of(await begin_codes(runtime, caller)), 201, _UNSTORED)


@router.post("/enable", summary="Turn codes on with the first code of the app")
async def enable(
    runtime: CurrentRuntime, caller: CurrentSession, body: EnableCodesRequest
) -> Json[RecoveryCodesResponse]:
    return Json(RecoveryCodesResponse(await enable_codes(runtime, caller, body.code)), 200, _UNSTORED)


@router.post("/recovery", status_code=201, summary="Create new recovery codes, which replace the earlier ones")
async def renew(runtime: CurrentRuntime, caller: CurrentSession) -> Json[RecoveryCodesResponse]:
    return Json(RecoveryCodesResponse(await renew_recovery_codes(runtime, caller)), 201, _UNSTORED)


@router.delete("", status_code=204, summary="Turn codes off")
async def delete(runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    await disable_codes(runtime, caller)
    return Response(status_code=204)
