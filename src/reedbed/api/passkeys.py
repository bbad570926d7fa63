"""Passkeys: logging in with them, confirming with them, and those of the caller."""

from typing import Annotated, Any

import orjson
from fastapi import Depends, Request, Response
from pydantic import Field

from reedbed.api.auth import SessionResponse, require_same_site, session_response
from reedbed.domain.passkeys import ALGORITHMS, LASTS, Passkey
from reedbed.domain.records import record
from reedbed.http.auth import (
    DEVICE_COOKIE,
    CurrentCaller,
    CurrentRuntime,
    CurrentSession,
    client_ip,
    set_visitor_cookie,
    visitor_of,
)
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.auth import LoginOrigin
from reedbed.services.passkeys import (
    PasskeyOptions,
    add_passkey,
    begin_confirmation,
    begin_login,
    begin_passkey,
    list_passkeys,
    log_in_with_passkey,
    remove_passkey,
    remove_password,
    rename_passkey,
)

CREDENTIAL = Field(description="What `navigator.credentials` returned, as `toJSON()` writes it.", repr=False)
NAME = Field(max_length=500, examples=["Fairphone"])
_UNSTORED = {"Cache-Control": "no-store"}


class PasskeyLoginRequest(ApiModel):
    credential: dict[str, Any] = CREDENTIAL


class NewPasskeyRequest(ApiModel):
    name: str = NAME
    credential: dict[str, Any] = CREDENTIAL


class RenamePasskeyRequest(ApiModel):
    name: str = NAME


@record
class PasskeyOptionsResponse(ResponseModel):
    options: Annotated[
        dict[str, Any], Field(description="For `PublicKeyCredential.parse…OptionsFromJSON()`; valid for five minutes.")
    ]


@record
class PasskeyResponse(ResponseModel):
    id: JsonId
    name: str
    host: Annotated[str, Field(description="Where it works: the host of REEDBED_BASE_URL when it was added.")]
    synced: bool
    created_at: Timestamp
    last_used_at: Timestamp | None


# --- Logging in and confirming

login_router = ApiRouter(prefix="/api/v1/auth", tags=["auth"])


@login_router.post(
    "/passkeys/options", summary="Start a login with a passkey", dependencies=[Depends(require_same_site)]
)
async def login_options(request: Request, runtime: CurrentRuntime) -> Json[PasskeyOptionsResponse]:
    options = await begin_login(runtime, visitor_of(request), client_ip(request))
    response = Json(PasskeyOptionsResponse(_request_options(options)), headers=_UNSTORED)
    set_visitor_cookie(request, response, runtime)
    return response


@login_router.post("/passkeys/login", summary="Log in with a passkey", dependencies=[Depends(require_same_site)])
async def log_in(request: Request, runtime: CurrentRuntime, body: PasskeyLoginRequest) -> Json[SessionResponse]:
    origin = LoginOrigin(request.headers.get("user-agent"), client_ip(request), request.cookies.get(DEVICE_COOKIE))
    session = await log_in_with_passkey(runtime, _text(body.credential), visitor_of(request), origin)
    return session_response(request, runtime, session, 200)


@login_router.post("/confirm/options", summary="Start a confirmation with a passkey")
async def confirm_options(runtime: CurrentRuntime, caller: CurrentSession) -> Json[PasskeyOptionsResponse]:
    options = await begin_confirmation(runtime, caller)
    return Json(PasskeyOptionsResponse(_request_options(options)), headers=_UNSTORED)


# --- The caller's passkeys

router = ApiRouter(prefix="/api/v1/users/me", tags=["account"])


@router.get("/passkeys", summary="List passkeys")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[PasskeyResponse]]:
    return Json(ListPage([_passkey_response(passkey) for passkey in await list_passkeys(runtime, caller.user_id)]))


@router.post("/passkeys/options", summary="Start adding a passkey; needs a confirmed session")
async def add_options(runtime: CurrentRuntime, caller: CurrentSession) -> Json[PasskeyOptionsResponse]:
    options = await begin_passkey(runtime, caller)
    return Json(PasskeyOptionsResponse(_creation_options(options, caller.user.email)), headers=_UNSTORED)


@router.post("/passkeys", status_code=201, summary="Add a passkey; needs a confirmed session")
async def add(runtime: CurrentRuntime, caller: CurrentSession, body: NewPasskeyRequest) -> Json[PasskeyResponse]:
    return Json(_passkey_response(await add_passkey(runtime, caller, body.name, _text(body.credential))), 201)


@router.patch("/passkeys/{passkey_id}", status_code=204, summary="Rename a passkey")
async def rename(
    runtime: CurrentRuntime, caller: CurrentSession, passkey_id: IdPath, body: RenamePasskeyRequest
) -> Response:
    await rename_passkey(runtime, caller, passkey_id, body.name)
    return Response(status_code=204)


@router.delete(
    "/passkeys/{passkey_id}", status_code=204, summary="Remove a passkey; 409 if it is the only way to log in"
)
async def delete(runtime: CurrentRuntime, caller: CurrentSession, passkey_id: IdPath) -> Response:
    await remove_passkey(runtime, caller, passkey_id)
    return Response(status_code=204)


@router.delete("/password", status_code=204, summary="Remove the password; 409 if it is the only way to log in")
async def delete_password(runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    await remove_password(runtime, caller)
    return Response(status_code=204)


def _text(credential: dict[str, Any]) -> str:
    return orjson.dumps(credential).decode()


def _passkey_response(passkey: Passkey) -> PasskeyResponse:
    return PasskeyResponse.of(passkey, host=passkey.rp_id, synced=bool(passkey.backed_up))


def _request_options(options: PasskeyOptions) -> dict[str, Any]:
    known = [{"type": "public-key", "id": credential_id} for credential_id in options.known]
    return {
        "challenge": options.challenge,
        "rpId": options.party.id,
        "timeout": LASTS,
        "userVerification": "required",
        "allowCredentials": known,
    }


def _creation_options(options: PasskeyOptions, email: str) -> dict[str, Any]:
    known = [{"type": "public-key", "id": credential_id} for credential_id in options.known]
    return {
        "challenge": options.challenge,
        "rp": {"id": options.party.id, "name": "Reedbed"},
        "user": {"id": options.user_handle, "name": email, "displayName": email},
        "pubKeyCredParams": [{"type": "public-key", "alg": algorithm} for algorithm in ALGORITHMS],
        "timeout": LASTS,
        "attestation": "none",
        "excludeCredentials": known,
        "authenticatorSelection": {
            "residentKey": "required",
            "requireResidentKey": True,
            "userVerification": "required",
        },
    }
