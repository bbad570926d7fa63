"""Pages before login: setup, login, logout, registration, e-mail confirmation and password reset."""

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound, ReedbedError, TooMany, Unauthorized
from reedbed.domain.records import record
from reedbed.domain.sign_in import ProxyUser
from reedbed.domain.users import NewSession
from reedbed.http.auth import (
    DEVICE_COOKIE,
    CurrentCaller,
    CurrentRuntime,
    MaybeCaller,
    check_form_token,
    check_setup_host,
    clear_session_cookie,
    client_ip,
    proxy_user,
    refusal,
    set_session_cookie,
    visitor_of,
)
from reedbed.http.errors import headers_of, status_of
from reedbed.services.auth import LOG_IN, LoginOrigin
from reedbed.services.codes import CodeAttempt, are_codes_on, hold_login
from reedbed.services.email import get_link, remember_language
from reedbed.services.passkeys import log_in_with_passkey, own_party
from reedbed.services.runtime import Runtime
from reedbed.services.sign_in import Device, log_in_by_proxy, log_in_with_code, provider_logout_url
from reedbed.services.users import (
    Pending,
    Registration,
    check_login,
    create_owner,
    find_invite,
    forgot_password,
    is_reset_link_valid,
    log_in_user,
    log_out,
    needs_owner,
    register,
    reset_password,
    verify_email,
)
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import current_language, explain, translate
from reedbed.web.pages import local_path, page, see_other
from reedbed.web.views.layout import Toast


@record
class ProviderButton:
    url: str
    name: str


@record
class LoginPage:
    email: str = ""
    next: str = ""
    error: str = ""
    notice: str = ""
    providers: tuple[ProviderButton, ...] = ()
    can_register: bool = False
    passkeys: bool = False
    """Browsers allow them at this address."""
    returning: bool = False
    """The session ended; after login the user returns to the same page."""


@record
class CodePage:
    """The second step of a login: the code of an authenticator app."""

    ticket: str
    next: str
    error: str = ""


@record
class DeleteAccountPage:
    """The user is logged out here; `url` logs them out at the provider, too."""

    url: str


@record
class FinishPage:
    """After login at a provider: prove ownership of the account, or create one."""

    ticket: str
    provider: str
    email: str
    kind: str
    """prove, confirm or register"""
    signed_in: bool = False
    privacy: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class SetupPage:
    email: str = ""
    start: str = "samples"
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class RegisterPage:
    email: str = ""
    invite: str = ""
    invite_only: bool = False
    privacy: str = ""
    sent: bool = False
    notice: str = ""
    providers: tuple[ProviderButton, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class ForgotPage:
    email: str = ""
    sent: bool = False
    can_mail: bool = True
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class ResetPage:
    token: str
    valid: bool = True
    errors: Mapping[str, str] = field(default_factory=dict[str, str])


@record
class VerifyPage:
    token: str
    valid: bool = True


@record
class ErrorPage:
    icon: str
    heading: str
    text: str
    action_url: str = "/"
    action: str = ""
    reference: str = ""
    words: str = ""
    """What the address seems to be about, to search for."""


router = APIRouter(include_in_schema=False)


@router.get("/")
async def home(request: Request, runtime: CurrentRuntime, caller: MaybeCaller) -> Response:
    if caller is not None:
        return see_other(request, "/unread")
    return see_other(request, "/setup" if await needs_owner(runtime) else "/login")


@router.get("/setup")
async def show_setup(request: Request, runtime: CurrentRuntime) -> Response:
    if not await needs_owner(runtime):
        return see_other(request, "/login")
    return await page(request, "auth/setup.html", SetupPage())


@router.post("/setup")
async def set_up(
    request: Request, runtime: CurrentRuntime, email: Text = "", password: Text = "", start: Text = "nothing"
) -> Response:
    await check_form_token(request, runtime.secret)
    try:
        check_setup_host(request, runtime)
        owner = await create_owner(runtime, email, password)
    except Conflict:
        return see_other(request, "/login")
    except Forbidden as error:
        view = SetupPage(email, start, {"form": explain(error)})
        return await page(request, "auth/setup.html", view, status=403)
    except Invalid as error:
        view = SetupPage(email, start, {error.field or "form": explain(error)})
        return await page(request, "auth/setup.html", view, status=400)
    session = await log_in_user(runtime, owner, **_device(request))
    return await _logged_in(request, runtime, session, FIRST_STEPS.get(start, "/unread"))


FIRST_STEPS = {"samples": "/add?start=samples", "opml": "/add?start=opml"}


@router.get("/login")
async def show_login(
    request: Request, runtime: CurrentRuntime, caller: MaybeCaller, next: str = "/", logged_out: bool = False
) -> Response:
    if caller is not None:
        return see_other(request, next)
    if await needs_owner(runtime):
        return see_other(request, "/setup")
    if logged_out:
        return await login_page(request, runtime, notice=translate("You are logged out here, but not at the portal."))
    if (named := proxy_user(request)) is not None:
        return await _log_in_named(request, runtime, named, next)
    notice = refusal(request)
    return await login_page(
        request, runtime, next=next, notice="" if notice.message == LOG_IN else explain(notice), returning=next != "/"
    )


@router.post("/login")
async def do_log_in(
    request: Request, runtime: CurrentRuntime, email: Text = "", password: Text = "", next: Text = "/"
) -> Response:
    await check_form_token(request, runtime.secret)
    device = _device(request)
    try:
        user = await check_login(runtime, email, password, ip=device["ip"], device=device["device"])
        if await are_codes_on(runtime, user.id):
            ticket = await hold_login(runtime, user, visitor_of(request))
            return await page(request, "auth/code.html", CodePage(ticket, local_path(next)))
        session = await log_in_user(runtime, user, **device)
    except (Unauthorized, Forbidden, TooMany) as error:
        return await login_page(request, runtime, email=email, next=next, error=error)
    return await _logged_in(request, runtime, session, next)


@router.post("/login/passkey")
async def do_log_in_with_passkey(
    request: Request, runtime: CurrentRuntime, passkey: Text = "", next: Text = "/"
) -> Response:
    """The script of the page has put the browser's answer into the form."""
    await check_form_token(request, runtime.secret)
    try:
        session = await log_in_with_passkey(runtime, passkey, visitor_of(request), LoginOrigin(**_device(request)))
    except (Unauthorized, Forbidden, Conflict, TooMany) as error:
        return await login_page(request, runtime, next=next, error=error)
    return await _logged_in(request, runtime, session, next)


@router.post("/login/code")
async def do_log_in_with_code(
    request: Request, runtime: CurrentRuntime, ticket: Text = "", code: Text = "", next: Text = "/"
) -> Response:
    await check_form_token(request, runtime.secret)
    attempt = CodeAttempt(code, client_ip(request), request.cookies.get(DEVICE_COOKIE))
    try:
        session = await log_in_with_code(
            runtime, ticket, visitor_of(request), attempt, request.headers.get("user-agent")
        )
    except (Unauthorized, TooMany) as error:
        view = CodePage(ticket, local_path(next), explain(error))
        return await page(request, "auth/code.html", view, status=status_of(error), headers=headers_of(error))
    except (Invalid, Forbidden) as error:
        return await login_page(request, runtime, next=next, error=error)
    return await _logged_in(request, runtime, session, next)


async def _log_in_named(request: Request, runtime: Runtime, named: ProxyUser, next: str) -> Response:
    """A session is opened once; from then on its cookie counts, and forms need their token."""
    given = _device(request)
    device = Device("", given["user_agent"], given["ip"], given["device"])
    try:
        session = await log_in_by_proxy(runtime, named, device)
    except (Invalid, Forbidden) as error:
        return await login_page(request, runtime, next=next, error=error)
    return await _logged_in(request, runtime, session, next)


async def _logged_in(request: Request, runtime: Runtime, session: NewSession, next: str) -> Response:
    await remember_language(runtime, session.user, current_language())
    response = see_other(request, next)
    set_session_cookie(request, response, runtime, session)
    return response


@router.post("/logout")
async def do_log_out(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    provider_url = await provider_logout_url(runtime, caller)
    await log_out(runtime, caller)
    portal = runtime.http.proxy_login if proxy_user(request) is not None else None
    if portal is not None:  # the header would log in again at once
        provider_url = provider_url or portal.logout_url
    home = "/login" if portal is None else "/login?logged_out=true"
    response = await _log_out_at_provider(request, provider_url) if provider_url else see_other(request, home)
    clear_session_cookie(request, response, runtime)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


async def login_page(
    request: Request,
    runtime: Runtime,
    *,
    email: str = "",
    next: str = "/",
    error: ReedbedError | None = None,
    notice: str = "",
    returning: bool = False,
) -> Response:
    view = LoginPage(
        email,
        local_path(next),
        explain(error) if error else "",
        notice,
        providers=provider_buttons(runtime, next=local_path(next)),
        can_register=runtime.accounts.registration == "open",
        passkeys=own_party(runtime) is not None,
        returning=returning,
    )
    status, headers = (status_of(error), headers_of(error)) if error else (200, {})
    return await page(request, "auth/login.html", view, status=status, headers=headers)


def provider_buttons(runtime: Runtime, **params: str) -> tuple[ProviderButton, ...]:
    """A login button for each sign-in provider."""
    query = urlencode({name: value for name, value in params.items() if value not in ("", "/")})
    return tuple(
        ProviderButton(f"/login/with/{provider.key}?{query}" if query else f"/login/with/{provider.key}", provider.name)
        for provider in runtime.sign_in.providers.values()
    )


async def _log_out_at_provider(request: Request, provider_url: str) -> Response:
    """Go to the provider through a page of ours: the CSP forbids redirecting a form to another site."""
    headers = {"Refresh": f"0; url={provider_url}"}
    return await page(request, "auth/delete_account.html", DeleteAccountPage(provider_url), headers=headers)


def _device(request: Request) -> dict[str, str | None]:
    return {
        "user_agent": request.headers.get("user-agent"),
        "ip": client_ip(request),
        "device": request.cookies.get(DEVICE_COOKIE),
    }


# --- Registration, e-mail confirmation, password reset

account_router = APIRouter(include_in_schema=False)


@account_router.get("/register")
async def show_register(request: Request, runtime: CurrentRuntime, invite: str = "") -> Response:
    if runtime.accounts.registration == "closed":
        raise NotFound("Registration is closed on this server. Ask its operator for an account.")
    invited = await find_invite(runtime, invite) if invite else None
    view = RegisterPage(
        email=invited.email if invited else "",
        invite=invite,
        invite_only=runtime.accounts.registration == "invite",
        privacy=privacy_note(),
        providers=provider_buttons(runtime, invite=invite) if invited or not invite else (),
    )
    return await page(request, "auth/register.html", view)


@account_router.post("/register")
async def do_register(
    request: Request,
    runtime: CurrentRuntime,
    email: Text = "",
    password: Text = "",
    password_again: Text = "",
    privacy: FormFlag = False,
    invite: Text = "",
) -> Response:
    await check_form_token(request, runtime.secret)
    device, ip = request.headers.get("user-agent"), client_ip(request)
    registration = Registration(email, password, privacy, invite, device, ip, current_language())
    try:
        if password != password_again:
            raise Invalid("The two passwords differ.", field="password_again")
        result = await register(runtime, registration)
    except (Invalid, Conflict, Forbidden, TooMany) as error:
        field = getattr(error, "field", None) or "form"
        view = RegisterPage(
            email=email,
            invite=invite,
            invite_only=runtime.accounts.registration == "invite",
            privacy=privacy_note(),
            errors={"invite" if field == "token" else field: explain(error)},
        )
        return await page(request, "auth/register.html", view, status=status_of(error))
    if isinstance(result, Pending):
        view = RegisterPage(sent=True, notice=translate(result.message))
        return await page(request, "auth/register.html", view)
    return await _logged_in(request, runtime, result, "/add?start=samples")


@account_router.get("/verify/{token}")
async def show_verify(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    """A page with a button: mail scanners follow links but do not submit forms."""
    valid = await get_link(runtime, "verify", token) is not None
    return await page(request, "auth/verify.html", VerifyPage(token, valid), status=200 if valid else 404)


@account_router.post("/verify/{token}")
async def do_verify(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    await check_form_token(request, runtime.secret)
    try:
        user = await verify_email(runtime, token)
    except Invalid:
        return await page(request, "auth/verify.html", VerifyPage(token, valid=False), status=400)
    view = LoginPage(user.email, "/", notice=translate("Your address is confirmed. Log in."))
    return await page(request, "auth/login.html", view)


@account_router.get("/forgot")
async def show_forgot(request: Request, runtime: CurrentRuntime) -> Response:
    return await page(request, "auth/forgot.html", ForgotPage(can_mail=runtime.mailer is not None))


@account_router.post("/forgot")
async def do_forgot(request: Request, runtime: CurrentRuntime, email: Text = "") -> Response:
    await check_form_token(request, runtime.secret)
    try:
        await forgot_password(runtime, email, ip=client_ip(request))
    except Conflict:
        return await page(request, "auth/forgot.html", ForgotPage(can_mail=False), status=409)
    except (Invalid, TooMany) as error:
        view = ForgotPage(email, errors={"email": explain(error)})
        return await page(request, "auth/forgot.html", view, status=status_of(error))
    return await page(request, "auth/forgot.html", ForgotPage(sent=True))


@account_router.get("/reset/{token}")
async def show_reset(request: Request, runtime: CurrentRuntime, token: str) -> Response:
    valid = await is_reset_link_valid(runtime, token)
    return await page(request, "auth/reset.html", ResetPage(token, valid), status=200 if valid else 404)


@account_router.post("/reset/{token}")
async def do_reset(request: Request, runtime: CurrentRuntime, token: str, password: Text = "") -> Response:
    await check_form_token(request, runtime.secret)
    try:
        await reset_password(runtime, token, password, ip=client_ip(request))
    except (Invalid, TooMany) as error:
        bad_token = getattr(error, "field", None) == "token"
        view = ResetPage(token, not bad_token, {} if bad_token else {"password": explain(error)})
        return await page(request, "auth/reset.html", view, status=status_of(error))
    toast = Toast(translate("The new password is set. Log in with it."))
    return see_other(request, "/login", toast=toast)


def privacy_note() -> str:
    return translate(
        "This server keeps your e-mail address, what you follow, and what you mark, to show it to you. "
        "The operator of the server can see it; nobody else is told. You can take it with you and delete "
        "it all at any time in the settings."
    )
