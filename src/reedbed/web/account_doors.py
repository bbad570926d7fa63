"""Doors that a letter or an invitation opens: register, confirm the address, set a new password."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound, TooMany
from reedbed.http.caller import RuntimeOf
from reedbed.http.client_ip import client_ip
from reedbed.http.cookies import set_session_cookie
from reedbed.http.csrf import check_form_token
from reedbed.http.errors import status_of
from reedbed.services.mail_links import find_link
from reedbed.services.passwords import forgot_password, reset_link_is_open, reset_password
from reedbed.services.registration import (
    Pending,
    Registration,
    find_invite,
    register,
    verify_email,
)
from reedbed.web.doors import ways_in
from reedbed.web.form_values import Text, Ticked
from reedbed.web.pages import page, see_other
from reedbed.web.speech import translate
from reedbed.web.views.doors import ForgotPage, LoginPage, RegisterPage, ResetPage, VerifyPage
from reedbed.web.views.frame import Toast

router = APIRouter(include_in_schema=False)


@router.get("/register")
async def show_register(request: Request, runtime: RuntimeOf, invite: str = "") -> Response:
    if runtime.accounts.registration == "closed":
        raise NotFound("Registration is closed on this server. Ask its operator for an account.")
    invited = await find_invite(runtime, invite) if invite else None
    shown = RegisterPage(
        email=invited.email if invited else "",
        invite=invite,
        invite_only=runtime.accounts.registration == "invite",
        privacy=privacy_note(),
        providers=ways_in(runtime, invite=invite) if invited or not invite else (),
    )
    return await page(request, "doors/register.html", shown)


@router.post("/register")
async def do_register(
    request: Request,
    runtime: RuntimeOf,
    email: Text = "",
    password: Text = "",
    password_again: Text = "",
    privacy: Ticked = False,
    invite: Text = "",
) -> Response:
    await check_form_token(request, runtime.secret)
    wish = Registration(
        email, password, privacy, invite, request.headers.get("user-agent"), client_ip(request)
    )
    try:
        if password != password_again:
            raise Invalid(translate("The two passwords differ."), field="password_again")
        welcome = await register(runtime, wish)
    except (Invalid, Conflict, Forbidden, TooMany) as error:
        field = getattr(error, "field", None) or "form"
        shown = RegisterPage(
            email=email,
            invite=invite,
            invite_only=runtime.accounts.registration == "invite",
            privacy=privacy_note(),
            errors={"invite" if field == "token" else field: error.message},
        )
        return await page(request, "doors/register.html", shown, status=status_of(error))
    if isinstance(welcome, Pending):
        shown = RegisterPage(sent=True, notice=welcome.message)
        return await page(request, "doors/register.html", shown)
    response = see_other(request, "/add?start=samples")
    set_session_cookie(request, response, runtime, welcome)
    return response


@router.get("/verify/{token}")
async def show_verify(request: Request, runtime: RuntimeOf, token: str) -> Response:
    """A page with a button: programs that look into letters follow their links, but press nothing."""
    valid = await find_link(runtime, "verify", token) is not None
    return await page(request, "doors/verify.html", VerifyPage(token, valid), status=200 if valid else 404)


@router.post("/verify/{token}")
async def do_verify(request: Request, runtime: RuntimeOf, token: str) -> Response:
    await check_form_token(request, runtime.secret)
    try:
        user = await verify_email(runtime, token)
    except Invalid:
        return await page(request, "doors/verify.html", VerifyPage(token, valid=False), status=400)
    shown = LoginPage(user.email, "/", notice=translate("Your address is confirmed. Log in."))
    return await page(request, "doors/login.html", shown)


@router.get("/forgot")
async def show_forgot(request: Request, runtime: RuntimeOf) -> Response:
    return await page(request, "doors/forgot.html", ForgotPage(can_mail=runtime.mailer is not None))


@router.post("/forgot")
async def do_forgot(request: Request, runtime: RuntimeOf, email: Text = "") -> Response:
    await check_form_token(request, runtime.secret)
    try:
        await forgot_password(runtime, email, ip=client_ip(request))
    except Conflict:
        return await page(request, "doors/forgot.html", ForgotPage(can_mail=False), status=409)
    except (Invalid, TooMany) as error:
        shown = ForgotPage(email, errors={"email": error.message})
        return await page(request, "doors/forgot.html", shown, status=status_of(error))
    return await page(request, "doors/forgot.html", ForgotPage(sent=True))


@router.get("/reset/{token}")
async def show_reset(request: Request, runtime: RuntimeOf, token: str) -> Response:
    valid = await reset_link_is_open(runtime, token)
    return await page(request, "doors/reset.html", ResetPage(token, valid), status=200 if valid else 404)


@router.post("/reset/{token}")
async def do_reset(request: Request, runtime: RuntimeOf, token: str, password: Text = "") -> Response:
    await check_form_token(request, runtime.secret)
    try:
        await reset_password(runtime, token, password, ip=client_ip(request))
    except (Invalid, TooMany) as error:
        used_up = getattr(error, "field", None) == "token"
        shown = ResetPage(token, not used_up, {} if used_up else {"password": error.message})
        return await page(request, "doors/reset.html", shown, status=status_of(error))
    toast = Toast(translate("The new password is set. Log in with it."))
    return see_other(request, "/login", toast=toast)


def privacy_note() -> str:
    return translate(
        "This server keeps your e-mail address, what you follow, and what you mark, to show it to you. "
        "The operator of the server can see it; nobody else is told. You can take it with you and delete "
        "it all at any time in the settings."
    )
