"""Confirming a session before a dangerous change."""

from typing import Annotated, Any

import orjson
from fastapi import Request
from pydantic import Field

from reedbed.domain.records import record
from reedbed.http.auth import DEVICE_COOKIE, CurrentRuntime, CurrentSession, client_ip
from reedbed.http.models import ApiModel, ResponseModel, Timestamp
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.auth import confirmed_until
from reedbed.services.confirmation import Proof, confirm, ways_to_confirm

router = ApiRouter(prefix="/api/v1/auth/confirm", tags=["auth"])


class ConfirmRequest(ApiModel):
    password: str = Field("", max_length=2_000, repr=False)
    code: str = Field("", max_length=100, description="One-time code or recovery code.", repr=False)
    passkey: dict[str, Any] | None = Field(
        None, description="What `navigator.credentials.get()` returned for `/api/v1/auth/confirm/options`.", repr=False
    )


@record
class SessionConfirmation(ResponseModel):
    confirmed_until: Annotated[Timestamp | None, Field(description="Null if dangerous changes need a confirmation.")]
    ways: Annotated[list[str], Field(description="What can be sent to confirm. Empty: log out and in again.")]


@router.get("", summary="Check whether this session is confirmed")
async def get(runtime: CurrentRuntime, caller: CurrentSession) -> Json[SessionConfirmation]:
    ways = list(await ways_to_confirm(runtime, caller.user_id))
    return Json(SessionConfirmation(await confirmed_until(runtime, caller), ways))


@router.post(
    "",
    summary="Confirm that it is you",
    description=(
        "For ten minutes, this session may then make API tokens and app passwords, change passkeys and one-time "
        "codes, export everything and delete the account. Without it these answer 403 with the code "
        "`confirmation_required`. Logging in counts, too."
    ),
)
async def post(
    request: Request, runtime: CurrentRuntime, caller: CurrentSession, body: ConfirmRequest
) -> Json[SessionConfirmation]:
    passkey = orjson.dumps(body.passkey).decode() if body.passkey else ""
    proof = Proof(body.password, body.code, passkey, client_ip(request), request.cookies.get(DEVICE_COOKIE))
    until = await confirm(runtime, caller, proof)
    return Json(SessionConfirmation(until, list(await ways_to_confirm(runtime, caller.user_id))))
