"""Setup, login, registration and password reset, and the API tokens and app passwords of the caller."""

from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from pydantic import Field

from reedbed.api.users import UserResponse, user_response
from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.users import ApiToken, NewSession, read_scopes, scope_words
from reedbed.http.auth import (
    DEVICE_COOKIE,
    CurrentCaller,
    CurrentRuntime,
    CurrentSession,
    check_same_site,
    check_setup_host,
    clear_session_cookie,
    client_ip,
    set_session_cookie,
)
from reedbed.http.models import ApiModel, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
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


def require_same_site(request: Request, runtime: CurrentRuntime) -> None:
    check_same_site(request, runtime)


router = ApiRouter(prefix="/api/v1/auth", tags=["auth"], dependencies=[Depends(require_same_site)])

EMAIL = Field(max_length=320, examples=["reader@example.org"])
PASSWORD = Field(max_length=2_000, examples=["seven herons in the reeds"], repr=False)
LINK = Field(max_length=200, description="From the link in the email.", repr=False)


class Credentials(ApiModel):
    email: str = EMAIL
    password: str = PASSWORD


class LoginRequest(Credentials):
    code: str = Field("", max_length=100, description="One-time code or recovery code, where they are on.", repr=False)


class RegisterRequest(ApiModel):
    email: str = EMAIL
    password: str = PASSWORD
    privacy_accepted: bool = Field(False, description="The privacy notice was accepted.")
    invite: str = Field("", max_length=200, description="From an invitation's link.", repr=False)


class ForgotRequest(ApiModel):
    email: str = EMAIL


class ResetRequest(ApiModel):
    token: str = LINK
    password: str = PASSWORD


class VerifyRequest(ApiModel):
    token: str = LINK


@record
class SessionResponse(ResponseModel):
    token: Annotated[str, Field(description="Send it as `Authorization: Bearer …`.")]
    expires_at: Timestamp
    user: UserResponse


@record
class MessageResponse(ResponseModel):
    message: str


@record
class OptionsResponse(ResponseModel):
    needs_setup: bool
    registration: Annotated[str, Field(examples=["closed"])]
    can_mail: bool


@router.get("/options", summary="Get the ways to log in and register")
async def options(runtime: CurrentRuntime) -> Json[OptionsResponse]:
    accounts = runtime.accounts
    return Json(OptionsResponse(await needs_owner(runtime), accounts.registration, runtime.mailer is not None))


@router.post("/setup", status_code=201, summary="Create the owner; only while there are no users")
async def set_up(request: Request, runtime: CurrentRuntime, body: Credentials) -> Json[SessionResponse]:
    check_setup_host(request, runtime)
    owner = await create_owner(runtime, body.email, body.password)
    session = await open_session(runtime, owner, user_agent=request.headers.get("user-agent"), ip=client_ip(request))
    return session_response(request, runtime, session, 201)


@router.post(
    "/login",
    summary="Log in",
    description="401 with the code `code_required`: the password is right, and this account needs `code` as well.",
)
async def do_log_in(request: Request, runtime: CurrentRuntime, body: LoginRequest) -> Json[SessionResponse]:
    session = await log_in(
        runtime,
        body.email,
        body.password,
        code=body.code,
        user_agent=request.headers.get("user-agent"),
        ip=client_ip(request),
        device=request.cookies.get(DEVICE_COOKIE),
    )
    return session_response(request, runtime, session, 200)


@router.post("/logout", status_code=204, summary="Log out")
async def do_log_out(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await log_out(runtime, caller)
    return _logged_out_response(request, runtime)


@router.post("/logout-everywhere", status_code=204, summary="Log out all devices")
async def log_out_everywhere(request: Request, runtime: CurrentRuntime, caller: CurrentSession) -> Response:
    await revoke_all_sessions(runtime, caller)
    return _logged_out_response(request, runtime)


@router.post(
    "/register",
    status_code=202,
    summary="Register",
    description=(
        "With an invitation: 201 and a session. With open registration: 202 and an email with a link, the "
        "same whether the address is registered or not. More than three emails to an address within an "
        "hour give 429 in both cases."
    ),
    responses={201: {"model": SessionResponse}, 202: {"model": MessageResponse}},
)
async def do_register(
    request: Request, runtime: CurrentRuntime, body: RegisterRequest
) -> Json[SessionResponse | MessageResponse]:
    registration = Registration(
        body.email,
        body.password,
        privacy_accepted=body.privacy_accepted,
        invite=body.invite,
        user_agent=request.headers.get("user-agent"),
        ip=client_ip(request),
    )
    outcome = await register(runtime, registration)
    if isinstance(outcome, NewSession):
        return session_response(request, runtime, outcome, 201)
    return Json(MessageResponse(outcome.message), 202)


@router.post("/verify-email", status_code=204, summary="Verify an email address with the token from the email")
async def do_verify(runtime: CurrentRuntime, body: VerifyRequest) -> Response:
    await verify_email(runtime, body.token)
    return Response(status_code=204)


@router.post("/forgot-password", status_code=202, summary="Request a password reset email")
async def do_forget(request: Request, runtime: CurrentRuntime, body: ForgotRequest) -> Json[MessageResponse]:
    return Json(MessageResponse(await forgot_password(runtime, body.email, ip=client_ip(request))), 202)


@router.post("/reset-password", status_code=204, summary="Set a new password and log out all devices")
async def do_reset(request: Request, runtime: CurrentRuntime, body: ResetRequest) -> Response:
    await reset_password(runtime, body.token, body.password, ip=client_ip(request))
    return Response(status_code=204)


def session_response(request: Request, runtime: Runtime, session: NewSession, status: int) -> Json[SessionResponse]:
    model = SessionResponse.of(session, user=user_response(session.user))
    response = Json(model, status, {"Cache-Control": "no-store"})
    set_session_cookie(request, response, runtime, session)
    return response


def _logged_out_response(request: Request, runtime: Runtime) -> Response:
    response = Response(status_code=204)
    clear_session_cookie(request, response, runtime)
    return response


# --- API tokens and app passwords

tokens_router = ApiRouter(prefix="/api/v1/users/me/tokens", tags=["tokens"])


class TokenRequest(ApiModel):
    name: str = Field(max_length=500, examples=["My script"])
    kind: Literal["api", "app_password"] = "api"
    scopes: list[str] | None = Field(
        None, max_length=10, description="read, write, admin; only for API tokens. Default: read and write."
    )


@record
class TokenResponse(ResponseModel):
    id: JsonId
    name: str
    kind: str
    scopes: list[str]
    created_at: Timestamp
    last_used_at: Timestamp | None


@record
class NewTokenResponse(TokenResponse):
    secret: Annotated[str, Field(description="Shown only once.")]


@tokens_router.get("", summary="List API tokens and app passwords")
async def list_all(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[ListPage[TokenResponse]]:
    tokens = await list_tokens(runtime, caller.user_id)
    return Json(ListPage([TokenResponse.of(token, scopes=_scopes(token)) for token in tokens]))


@tokens_router.post("", status_code=201, summary="Create an API token or app password")
async def create(runtime: CurrentRuntime, caller: CurrentSession, body: TokenRequest) -> Json[NewTokenResponse]:
    if body.kind == "api":
        scopes = read_scopes(["read", "write"] if body.scopes is None else body.scopes)
        created = await create_api_token(runtime, caller, body.name, scopes)
    elif body.scopes is not None:
        raise Invalid("App passwords always read and write; leave the scopes out.", field="scopes")
    else:
        created = await create_app_password(runtime, caller, body.name)
    model = NewTokenResponse.of(created.token, scopes=_scopes(created.token), secret=created.secret)
    return Json(model, 201, {"Cache-Control": "no-store"})


@tokens_router.delete("/{token_id}", status_code=204, summary="Revoke an API token or app password")
async def delete(runtime: CurrentRuntime, caller: CurrentSession, token_id: IdPath) -> Response:
    await revoke_token(runtime, caller, token_id)
    return Response(status_code=204)


def _scopes(token: ApiToken) -> list[str]:
    return scope_words(token.scopes).split()
