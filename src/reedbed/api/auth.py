"""The doors: set up, log in and out, register, forgotten passwords."""

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from reedbed.api.people_out import UserOut, user_json
from reedbed.domain.accounts import NewSession
from reedbed.http.caller import CallerOf, RuntimeOf, SessionOf
from reedbed.http.client_ip import client_ip
from reedbed.http.cookies import DEVICE_COOKIE, clear_session_cookie, set_session_cookie
from reedbed.http.csrf import check_not_foreign
from reedbed.http.json import json_response, moment
from reedbed.http.models import ApiModel
from reedbed.services.accounts import create_owner, log_in, log_out, needs_owner
from reedbed.services.passwords import forgot_password, reset_password
from reedbed.services.registration import Registration, register, verify_email
from reedbed.services.runtime import Runtime
from reedbed.services.sessions import open_session, revoke_all_sessions


def _no_foreign_page(request: Request, runtime: RuntimeOf) -> None:
    check_not_foreign(request, runtime)


router = APIRouter(prefix="/api/v1/auth", tags=["auth"], dependencies=[Depends(_no_foreign_page)])

EMAIL = Field(max_length=320, examples=["reader@example.org"])
PASSWORD = Field(max_length=2_000, examples=["seven herons in the reeds"], repr=False)
LINK = Field(max_length=200, description="From the link in the letter.", repr=False)


class Credentials(ApiModel):
    email: str = EMAIL
    password: str = PASSWORD


class RegisterBody(ApiModel):
    email: str = EMAIL
    password: str = PASSWORD
    privacy_accepted: bool = Field(False, description="The privacy note was read and accepted.")
    invite: str = Field("", max_length=200, description="From an invitation's link.", repr=False)


class ForgotBody(ApiModel):
    email: str = EMAIL


class ResetBody(ApiModel):
    token: str = LINK
    password: str = PASSWORD


class VerifyBody(ApiModel):
    token: str = LINK


class SessionOut(ApiModel):
    token: str = Field(description="Send it as `Authorization: Bearer …`.")
    expires_at: str
    user: UserOut


class MessageOut(ApiModel):
    message: str


class OptionsOut(ApiModel):
    needs_setup: bool
    registration: str = Field(examples=["closed"])
    can_mail: bool


@router.get("/options", summary="Which doors this server has", responses={200: {"model": OptionsOut}})
async def options(runtime: RuntimeOf) -> Response:
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
    responses={201: {"model": SessionOut}},
)
async def set_up(request: Request, runtime: RuntimeOf, body: Credentials) -> Response:
    owner = await create_owner(runtime, body.email, body.password)
    session = await open_session(
        runtime, owner, user_agent=request.headers.get("user-agent"), ip=client_ip(request)
    )
    return _welcome(request, runtime, session, 201)


@router.post("/login", summary="Log in", responses={200: {"model": SessionOut}})
async def do_log_in(request: Request, runtime: RuntimeOf, body: Credentials) -> Response:
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
async def do_log_out(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    await log_out(runtime, caller)
    return _goodbye(request, runtime)


@router.post("/logout-everywhere", status_code=204, summary="End every session of the account")
async def log_out_everywhere(request: Request, runtime: RuntimeOf, caller: SessionOf) -> Response:
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
    responses={201: {"model": SessionOut}, 202: {"model": MessageOut}},
)
async def do_register(request: Request, runtime: RuntimeOf, body: RegisterBody) -> Response:
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
async def do_verify(runtime: RuntimeOf, body: VerifyBody) -> Response:
    await verify_email(runtime, body.token)
    return Response(status_code=204)


@router.post(
    "/forgot-password",
    status_code=202,
    summary="Ask for a mail with a link",
    responses={202: {"model": MessageOut}},
)
async def do_forget(request: Request, runtime: RuntimeOf, body: ForgotBody) -> Response:
    return json_response({"message": await forgot_password(runtime, body.email, ip=client_ip(request))}, 202)


@router.post("/reset-password", status_code=204, summary="Choose a new password; every device is logged out")
async def do_reset(request: Request, runtime: RuntimeOf, body: ResetBody) -> Response:
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
