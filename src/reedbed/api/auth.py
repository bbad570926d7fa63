"""Secrets for programs: API tokens and app passwords."""

from typing import Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from reedbed.api.users import UserResponse, user_json
from reedbed.domain.errors import Invalid
from reedbed.domain.users import ApiToken, NewSession, read_scopes, scope_words
from reedbed.http.auth import (
    DEVICE_COOKIE,
    CurrentCaller,
    CurrentRuntime,
    SessionOf,
    check_same_site,
    clear_session_cookie,
    client_ip,
    set_session_cookie,
)
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response, moment
from reedbed.services.auth import (
    create_api_token,
    create_app_password,
    list_tokens,
    open_session,
    revoke_all_sessions,
    revoke_token,
)
from reedbed.services.runtime import Runtime
from reedbed.services.users import (
    Registration,
    create_owner,
    forgot_password,
    log_in,
    log_out,
    needs_owner,
    register,
    reset_password,
    verify_email,
)


def _no_foreign_page(request: Request, runtime: CurrentRuntime) -> None:
    check_same_site(request, runtime)


router = APIRouter(prefix="/api/v1/auth", tags=["auth"], dependencies=[Depends(_no_foreign_page)])

EMAIL = Field(max_length=320, examples=["reader@example.org"])
PASSWORD = Field(max_length=2_000, examples=["seven herons in the reeds"], repr=False)
LINK = Field(max_length=200, description="From the link in the letter.", repr=False)


class Credentials(ApiModel):
    email: str = EMAIL
    password: str = PASSWORD


class RegisterRequest(ApiModel):
    email: str = EMAIL
    password: str = PASSWORD
    privacy_accepted: bool = Field(False, description="The privacy note was read and accepted.")
    invite: str = Field("", max_length=200, description="From an invitation's link.", repr=False)


class ForgotRequest(ApiModel):
    email: str = EMAIL


class ResetRequest(ApiModel):
    token: str = LINK
    password: str = PASSWORD


class VerifyRequest(ApiModel):
    token: str = LINK


class SessionResponse(ApiModel):
    token: str = Field(description="Send it as `Authorization: Bearer …`.")
    expires_at: str
    user: UserResponse


class MessageResponse(ApiModel):
    message: str


class OptionsResponse(ApiModel):
    needs_setup: bool
    registration: str = Field(examples=["closed"])
    can_mail: bool


@router.get("/options", summary="Which doors this server has", responses={200: {"model": OptionsResponse}})
async def options(runtime: CurrentRuntime) -> Response:
    return json_response(
        {
            "needs_setup": await needs_owner(runtime),
            "registration": runtime.accounts.registration,
            "can_mail": runtime.mailer is not None,
        }
    )


@router.post(
    "/setup",
    status_code=201,
    summary="Create the owner; only while there is nobody",
    responses={201: {"model": SessionResponse}},
)
async def set_up(request: Request, runtime: CurrentRuntime, body: Credentials) -> Response:
    owner = await create_owner(runtime, body.email, body.password)
    session = await open_session(
        runtime, owner, user_agent=request.headers.get("user-agent"), ip=client_ip(request)
    )
    return _welcome(request, runtime, session, 201)


@router.post("/login", summary="Log in", responses={200: {"model": SessionResponse}})
async def do_log_in(request: Request, runtime: CurrentRuntime, body: Credentials) -> Response:
    session = await log_in(
        runtime,
        body.email,
        body.password,
        user_agent=request.headers.get("user-agent"),
        ip=client_ip(request),
        device=request.cookies.get(DEVICE_COOKIE),
    )
    return _welcome(request, runtime, session, 200)


@router.post("/logout", status_code=204, summary="End this session")
async def do_log_out(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await log_out(runtime, caller)
    return _goodbye(request, runtime)


@router.post("/logout-everywhere", status_code=204, summary="End every session of the account")
async def log_out_everywhere(request: Request, runtime: CurrentRuntime, caller: SessionOf) -> Response:
    await revoke_all_sessions(runtime, caller)
    return _goodbye(request, runtime)


@router.post(
    "/register",
    status_code=202,
    summary="Register",
    description=(
        "With an invitation the account is ready: 201 and a session. In the open, one answer for every "
        "address, known or not: 202, and a mail with a link. After three mails "
        "to one address within an hour it is 429, known or not."
    ),
    responses={201: {"model": SessionResponse}, 202: {"model": MessageResponse}},
)
async def do_register(request: Request, runtime: CurrentRuntime, body: RegisterRequest) -> Response:
    wish = Registration(
        body.email,
        body.password,
        privacy_accepted=body.privacy_accepted,
        invite=body.invite,
        user_agent=request.headers.get("user-agent"),
        ip=client_ip(request),
    )
    outcome = await register(runtime, wish)
    if isinstance(outcome, NewSession):
        return _welcome(request, runtime, outcome, 201)
    return json_response({"message": outcome.message}, 202)


@router.post("/verify-email", status_code=204, summary="Confirm an address with the link of a letter")
async def do_verify(runtime: CurrentRuntime, body: VerifyRequest) -> Response:
    await verify_email(runtime, body.token)
    return Response(status_code=204)


@router.post(
    "/forgot-password",
    status_code=202,
    summary="Ask for a mail with a link",
    responses={202: {"model": MessageResponse}},
)
async def do_forget(request: Request, runtime: CurrentRuntime, body: ForgotRequest) -> Response:
    return json_response({"message": await forgot_password(runtime, body.email, ip=client_ip(request))}, 202)


@router.post("/reset-password", status_code=204, summary="Choose a new password; every device is logged out")
async def do_reset(request: Request, runtime: CurrentRuntime, body: ResetRequest) -> Response:
    await reset_password(runtime, body.token, body.password, ip=client_ip(request))
    return Response(status_code=204)


def _welcome(request: Request, runtime: Runtime, session: NewSession, status: int) -> Response:
    response = json_response(
        {
            "token": session.token,
            "expires_at": moment(session.expires_at),
            "user": user_json(session.user),
        },
        status,
        {"Cache-Control": "no-store"},
    )
    set_session_cookie(request, response, runtime, session)
    return response


def _goodbye(request: Request, runtime: Runtime) -> Response:
    response = Response(status_code=204)
    clear_session_cookie(request, response, runtime)
    return response


tokens_router = APIRouter(prefix="/api/v1/users/me/tokens", tags=["tokens"])


class TokenRequest(ApiModel):
    name: str = Field(max_length=500, examples=["My script"])
    kind: Literal["api", "app_password"] = "api"
    scopes: list[str] | None = Field(
        None, max_length=10, description="read, write, admin; for API tokens. Without: read and write."
    )


class TokenResponse(ApiModel):
    id: str
    name: str
    kind: str
    scopes: list[str]
    created_at: str
    last_used_at: str | None


class NewTokenResponse(TokenResponse):
    secret: str = Field(description="Shown this once.")


class TokenList(ApiModel):
    items: list[TokenResponse]
    next_cursor: str | None


@tokens_router.get("", summary="API tokens and app passwords", responses={200: {"model": TokenList}})
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    found = await list_tokens(runtime, caller.user_id)
    return json_response({"items": [token_json(token) for token in found], "next_cursor": None})


@tokens_router.post(
    "",
    status_code=201,
    summary="Make a token or an app password",
    responses={201: {"model": NewTokenResponse}},
)
async def create(runtime: CurrentRuntime, caller: SessionOf, body: TokenRequest) -> Response:
    if body.kind == "api":
        scopes = read_scopes(["read", "write"] if body.scopes is None else body.scopes)
        made = await create_api_token(runtime, caller, body.name, scopes)
    elif body.scopes is not None:
        raise Invalid("App passwords always read and write; leave the scopes out.", field="scopes")
    else:
        made = await create_app_password(runtime, caller, body.name)
    shown = {**token_json(made.token), "secret": made.secret}
    return json_response(shown, 201, {"Cache-Control": "no-store"})


@tokens_router.delete("/{token_id}", status_code=204, summary="Revoke a token or an app password")
async def delete(runtime: CurrentRuntime, caller: SessionOf, token_id: IdPath) -> Response:
    await revoke_token(runtime, caller, token_id)
    return Response(status_code=204)


def token_json(token: ApiToken) -> dict[str, Any]:
    return {
        "id": str(token.id),
        "name": token.name,
        "kind": token.kind,
        "scopes": scope_words(token.scopes).split(),
        "created_at": moment(token.created_at),
        "last_used_at": moment(token.last_used_at),
    }
