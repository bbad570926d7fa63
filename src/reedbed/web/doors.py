"""Pages before the login: the first visit, logging in and out."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Conflict, Forbidden, Invalid, ReedbedError, TooMany, Unauthorized
from reedbed.http.caller import CallerOf, MaybeCaller, RuntimeOf, refusal
from reedbed.http.client_ip import client_ip
from reedbed.http.cookies import DEVICE_COOKIE, clear_session_cookie, set_session_cookie
from reedbed.http.csrf import check_form_token
from reedbed.http.errors import headers_of, status_of
from reedbed.services.accounts import create_owner, log_in, log_out, needs_owner
from reedbed.services.identities import goodbye_address
from reedbed.services.runtime import Runtime
from reedbed.services.sessions import LOG_IN
from reedbed.web.form_values import Text
from reedbed.web.pages import own_address, page, see_other
from reedbed.web.speech import translate
from reedbed.web.views.doors import LeavingPage, LoginPage, Provider, SetupPage

router = APIRouter(include_in_schema=False)


@router.get("/")
async def home(request: Request, runtime: RuntimeOf, caller: MaybeCaller) -> Response:
    if caller is not None:
        return see_other(request, "/unread")
    return see_other(request, "/setup" if await needs_owner(runtime) else "/login")


@router.get("/setup")
async def show_setup(request: Request, runtime: RuntimeOf) -> Response:
    if not await needs_owner(runtime):
        return see_other(request, "/login")
    return await page(request, "doors/setup.html", SetupPage())


@router.post("/setup")
async def set_up(
    request: Request, runtime: RuntimeOf, email: Text = "", password: Text = "", start: Text = "nothing"
) -> Response:
    await check_form_token(request, runtime.secret)
    try:
        await create_owner(runtime, email, password)
    except Conflict:
        return see_other(request, "/login")
    except Invalid as error:
        shown = SetupPage(email, start, {error.field or "form": error.message})
        return await page(request, "doors/setup.html", shown, status=400)
    session = await log_in(runtime, email, password, **_device(request))
    response = see_other(request, FIRST_STEPS.get(start, "/unread"))
    set_session_cookie(request, response, runtime, session)
    return response


FIRST_STEPS = {"samples": "/add?start=samples", "opml": "/add?start=opml"}


@router.get("/login")
async def show_login(request: Request, runtime: RuntimeOf, caller: MaybeCaller, next: str = "/") -> Response:
    if caller is not None:
        return see_other(request, next)
    if await needs_owner(runtime):
        return see_other(request, "/setup")
    notice = refusal(request)
    return await login_page(
        request,
        runtime,
        next=next,
        notice="" if notice == LOG_IN else translate(notice),
        returning=next != "/",
    )


@router.post("/login")
async def do_log_in(
    request: Request, runtime: RuntimeOf, email: Text = "", password: Text = "", next: Text = "/"
) -> Response:
    await check_form_token(request, runtime.secret)
    try:
        session = await log_in(runtime, email, password, **_device(request))
    except (Unauthorized, Forbidden, TooMany) as error:
        return await login_page(request, runtime, email=email, next=next, error=error)
    response = see_other(request, next)
    set_session_cookie(request, response, runtime, session)
    return response


@router.post("/logout")
async def do_log_out(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    elsewhere = await goodbye_address(runtime, caller)
    await log_out(runtime, caller)
    response = await _leave(request, elsewhere) if elsewhere else see_other(request, "/login")
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
    shown = LoginPage(
        email,
        own_address(next),
        error.message if error else "",
        notice,
        providers=ways_in(runtime, next=own_address(next)),
        can_register=runtime.accounts.registration == "open",
        returning=returning,
    )
    status, headers = (status_of(error), headers_of(error)) if error else (200, {})
    return await page(request, "doors/login.html", shown, status=status, headers=headers)


def ways_in(runtime: Runtime, **asked: str) -> tuple[Provider, ...]:
    """A button for each who may vouch for people."""
    query = urlencode({name: value for name, value in asked.items() if value not in ("", "/")})
    return tuple(
        Provider(f"/login/with/{each.key}?{query}" if query else f"/login/with/{each.key}", each.name)
        for each in runtime.sign_in.providers.values()
    )


async def _leave(request: Request, elsewhere: str) -> Response:
    """On to the provider by a page of ours: a form may not be answered with another site's address."""
    headers = {"Refresh": f"0; url={elsewhere}"}
    return await page(request, "doors/leaving.html", LeavingPage(elsewhere), headers=headers)


def _device(request: Request) -> dict[str, str | None]:
    return {
        "user_agent": request.headers.get("user-agent"),
        "ip": client_ip(request),
        "device": request.cookies.get(DEVICE_COOKIE),
    }
