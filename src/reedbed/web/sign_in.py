"""Logging in with an account elsewhere: to the provider, back from it, and what is left to ask."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from reedbed.domain.errors import ReedbedError, Refused, Unavailable
from reedbed.domain.text import storable
from reedbed.http.auth import (
    DEVICE_COOKIE,
    SIGN_IN_COOKIE,
    CurrentRuntime,
    MaybeCaller,
    SessionOf,
    check_form_token,
    client_ip,
    maybe_caller,
    set_session_cookie,
    set_sign_in_cookie,
)
from reedbed.http.errors import headers_of, status_of
from reedbed.services.runtime import Runtime
from reedbed.services.sign_in import (
    Device,
    PendingSignIn,
    SignedIn,
    SignInQuestion,
    StartedSignIn,
    begin,
    finish,
    prove_and_link,
    question,
    register_by,
)
from reedbed.web.auth import FinishPage, login_page, privacy_note
from reedbed.web.forms import Text, Ticked
from reedbed.web.i18n import translate
from reedbed.web.pages import own_address, page, see_other
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)


@router.get("/login/with/{provider}")
async def log_in_with(
    request: Request, runtime: CurrentRuntime, provider: str, next: str = "/", invite: str = ""
) -> Response:
    try:
        begun = await begin(
            runtime,
            provider,
            ip=client_ip(request),
            next_path=own_address(next),
            invite=storable(invite)[:200] or None,
        )
    except (Refused, Unavailable) as error:
        return await login_page(request, runtime, next=next, error=error)
    return _off(request, runtime, begun)


@router.get("/settings/account/link/{provider}")
async def link_with(request: Request, runtime: CurrentRuntime, caller: SessionOf, provider: str) -> Response:
    begun = await begin(
        runtime,
        provider,
        ip=client_ip(request),
        next_path="/settings/account",
        user_id=caller.user_id,
    )
    return _off(request, runtime, begun)


@router.get("/login/back/{provider}")
async def come_back(request: Request, runtime: CurrentRuntime, provider: str) -> Response:
    return await _come_back(request, runtime, provider, request.query_params)


@router.post("/login/back/{provider}")
async def come_back_by_form(
    request: Request,
    runtime: CurrentRuntime,
    provider: str,
    code: Text = "",
    state: Text = "",
    error: Text = "",
) -> Response:
    """Another site sends this form: the state and the browser's mark vouch for it, no token of ours."""
    return await _come_back(request, runtime, provider, {"code": code, "state": state, "error": error})


@router.get("/login/finish")
async def show_finish(request: Request, runtime: CurrentRuntime, ticket: str = "") -> Response:
    try:
        asked = await question(runtime, ticket, _device(request))
    except Refused as error:
        return await login_page(request, runtime, error=error)
    return await page(request, "auth/finish.html", _finish_page(ticket, asked))


@router.post("/login/finish")
async def do_finish(
    request: Request,
    runtime: CurrentRuntime,
    caller: MaybeCaller,
    ticket: Text = "",
    act: Text = "",
    password: Text = "",
    privacy: Ticked = False,
) -> Response:
    await check_form_token(request, runtime.secret)
    device = _device(request)
    try:
        if act == "register":
            done = await register_by(runtime, ticket, device, privacy_accepted=privacy)
        else:
            who = caller.user_id if caller else None
            done = await prove_and_link(runtime, ticket, password, device, user_id=who)
    except Refused as error:
        return await _ask_again(request, runtime, ticket, device, error)
    said = Toast(translate("It is linked.")) if act == "link" else None
    return _let_in(request, runtime, done, said)


def _off(request: Request, runtime: Runtime, begun: StartedSignIn) -> Response:
    response = RedirectResponse(begun.url, 303, {"Cache-Control": "no-store"})
    set_sign_in_cookie(request, response, runtime, begun.browser, comes_back_by_form=begun.form_post)
    return response


async def _come_back(request: Request, runtime: Runtime, provider: str, said: Mapping[str, str]) -> Response:
    try:
        done = await finish(runtime, provider, said, _device(request))
    except (Refused, Unavailable) as error:
        if await maybe_caller(request) is not None:
            return see_other(request, "/settings/account", toast=Toast(error.message))
        return await login_page(request, runtime, error=error)
    match done:
        case PendingSignIn():
            return see_other(request, f"/login/finish?ticket={done.ticket}")
        case SignedIn():
            return _let_in(request, runtime, done)


async def _ask_again(
    request: Request, runtime: Runtime, ticket: str, device: Device, error: ReedbedError
) -> Response:
    try:
        asked = await question(runtime, ticket, device)
    except Refused as gone:
        return await login_page(request, runtime, error=gone)
    field = getattr(error, "field", None)
    shown = _finish_page(
        ticket, asked, {field if field in ("password", "privacy_accepted") else "form": error.message}
    )
    return await page(request, "auth/finish.html", shown, status=status_of(error), headers=headers_of(error))


def _finish_page(ticket: str, asked: SignInQuestion, errors: Mapping[str, str] | None = None) -> FinishPage:
    return FinishPage(
        ticket, asked.provider.name, asked.email, asked.kind, asked.signed_in, privacy_note(), errors or {}
    )


def _let_in(request: Request, runtime: Runtime, done: SignedIn, toast: Toast | None = None) -> Response:
    response = see_other(request, done.next_path, toast=toast)
    set_session_cookie(request, response, runtime, done.session)
    response.delete_cookie(SIGN_IN_COOKIE)
    return response


def _device(request: Request) -> Device:
    mark = request.cookies.get(SIGN_IN_COOKIE, "")
    known_by = request.cookies.get(DEVICE_COOKIE)
    return Device(mark, request.headers.get("user-agent"), client_ip(request), known_by)
