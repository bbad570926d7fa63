"""Log in with an external provider: redirect to it, handle its callback, ask for missing details."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from reedbed.domain.errors import ReedbedError, Refused, Unavailable
from reedbed.domain.text import storable
from reedbed.http.auth import (
    DEVICE_COOKIE,
    SIGN_IN_COOKIE,
    CurrentRuntime,
    CurrentSession,
    MaybeCaller,
    check_form_token,
    client_ip,
    maybe_caller,
    set_session_cookie,
    set_sign_in_cookie,
)
from reedbed.http.errors import headers_of, status_of
from reedbed.services.email import remember_language
from reedbed.services.runtime import Runtime
from reedbed.services.sign_in import (
    Device,
    PendingSignIn,
    SignedIn,
    SignInQuestion,
    StartedSignIn,
    begin,
    finish,
    question,
    register_by,
    verify_and_link,
)
from reedbed.web.auth import FinishPage, login_page, privacy_note
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import current_language, explain, translate
from reedbed.web.pages import local_path, page, see_other
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)


@router.get("/login/with/{provider}")
async def log_in_with(
    request: Request, runtime: CurrentRuntime, provider: str, next: str = "/", invite: str = ""
) -> Response:
    try:
        started = await begin(
            runtime, provider, ip=client_ip(request), next_path=local_path(next), invite=storable(invite)[:200] or None
        )
    except (Refused, Unavailable) as error:
        return await login_page(request, runtime, next=next, error=error)
    return _redirect_to_provider(request, runtime, started)


@router.get("/settings/account/link/{provider}")
async def link_with(request: Request, runtime: CurrentRuntime, caller: CurrentSession, provider: str) -> Response:
    started = await begin(
        runtime, provider, ip=client_ip(request), next_path="/settings/security", user_id=caller.user_id
    )
    return _redirect_to_provider(request, runtime, started)


@router.get("/login/back/{provider}")
async def come_back(request: Request, runtime: CurrentRuntime, provider: str) -> Response:
    return await _handle_callback(request, runtime, provider, request.query_params)


@router.post("/login/back/{provider}")
async def come_back_by_form(
    request: Request, runtime: CurrentRuntime, provider: str, code: Text = "", state: Text = "", error: Text = ""
) -> Response:
    """The provider's site submits this form: `state` and our cookie protect it instead of a CSRF token."""
    return await _handle_callback(request, runtime, provider, {"code": code, "state": state, "error": error})


@router.get("/login/finish")
async def show_finish(request: Request, runtime: CurrentRuntime, ticket: str = "") -> Response:
    try:
        pending = await question(runtime, ticket, _device(request))
    except Refused as error:
        return await login_page(request, runtime, error=error)
    return await page(request, "auth/finish.html", _finish_page(ticket, pending))


@router.post("/login/finish")
async def do_finish(
    request: Request,
    runtime: CurrentRuntime,
    caller: MaybeCaller,
    ticket: Text = "",
    act: Text = "",
    password: Text = "",
    privacy: FormFlag = False,
) -> Response:
    await check_form_token(request, runtime.secret)
    device = _device(request)
    try:
        if act == "register":
            signed_in = await register_by(runtime, ticket, device, privacy_accepted=privacy)
        else:
            user_id = caller.user_id if caller else None
            signed_in = await verify_and_link(runtime, ticket, password, device, user_id=user_id)
    except Refused as error:
        return await _show_again(request, runtime, ticket, device, error)
    toast = Toast(translate("It is linked.")) if act == "link" else None
    return await _log_in(request, runtime, signed_in, toast)


def _redirect_to_provider(request: Request, runtime: Runtime, started: StartedSignIn) -> Response:
    response = RedirectResponse(started.url, 303, {"Cache-Control": "no-store"})
    set_sign_in_cookie(request, response, runtime, started.browser, comes_back_by_form=started.form_post)
    return response


async def _handle_callback(request: Request, runtime: Runtime, provider: str, params: Mapping[str, str]) -> Response:
    try:
        result = await finish(runtime, provider, params, _device(request))
    except (Refused, Unavailable) as error:
        if await maybe_caller(request) is not None:
            return see_other(request, "/settings/security", toast=Toast(explain(error)))
        return await login_page(request, runtime, error=error)
    match result:
        case PendingSignIn():
            return see_other(request, f"/login/finish?ticket={result.ticket}")
        case SignedIn():
            return await _log_in(request, runtime, result)


async def _show_again(request: Request, runtime: Runtime, ticket: str, device: Device, error: ReedbedError) -> Response:
    try:
        pending = await question(runtime, ticket, device)
    except Refused as expired:
        return await login_page(request, runtime, error=expired)
    field = getattr(error, "field", None)
    view = _finish_page(
        ticket, pending, {field if field in ("password", "privacy_accepted") else "form": explain(error)}
    )
    return await page(request, "auth/finish.html", view, status=status_of(error), headers=headers_of(error))


def _finish_page(ticket: str, pending: SignInQuestion, errors: Mapping[str, str] | None = None) -> FinishPage:
    return FinishPage(
        ticket, pending.provider.name, pending.email, pending.kind, pending.signed_in, privacy_note(), errors or {}
    )


async def _log_in(request: Request, runtime: Runtime, signed_in: SignedIn, toast: Toast | None = None) -> Response:
    await remember_language(runtime, signed_in.session.user, current_language())
    response = see_other(request, signed_in.next_path, toast=toast)
    set_session_cookie(request, response, runtime, signed_in.session)
    response.delete_cookie(SIGN_IN_COOKIE)
    return response


def _device(request: Request) -> Device:
    browser_token = request.cookies.get(SIGN_IN_COOKIE, "")
    device_token = request.cookies.get(DEVICE_COOKIE)
    return Device(browser_token, request.headers.get("user-agent"), client_ip(request), device_token)
