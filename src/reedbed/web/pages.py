"""From a view model to an answer: the frame around it, the cookies, the one block that htmx asked for."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from reedbed.domain.accounts import Caller
from reedbed.domain.health import Problem
from reedbed.http.caller import get_runtime, maybe_caller
from reedbed.http.cookies import set_visitor_cookie, visitor_of
from reedbed.http.csrf import bound_to, form_token
from reedbed.services.preferences import preferences_of
from reedbed.web.languages import language_of
from reedbed.web.speech import speak, translate
from reedbed.web.templating import render_page
from reedbed.web.views.frame import LOOK_COOKIE, Banner, Frame, Look, Toast

TOAST_COOKIE = "reedbed_toast"
LONGEST_TOAST = 500
A_YEAR = 31_536_000


def is_htmx(request: Request) -> bool:
    return (
        request.headers.get("hx-request") == "true"
        and request.headers.get("hx-history-restore-request") != "true"
    )


async def page(
    request: Request,
    template: str,
    view: Any,
    *,
    sidebar: Any = None,
    block: str | None = None,
    status: int = 200,
    toast: Toast | None = None,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    """Render the page, or only `block` of it."""
    caller = await maybe_caller(request)
    speak(language_of(request, caller))
    frame = _frame(request, caller, toast or read_toast(request))
    html = render_page(template, {"frame": frame, "view": view, "sidebar": sidebar, **values}, block)
    response = HTMLResponse(
        html, status, {"Cache-Control": "no-store", "Vary": "HX-Request", **(headers or {})}
    )
    if caller is None:
        set_visitor_cookie(request, response, get_runtime(request))
    if TOAST_COOKIE in request.cookies:
        response.delete_cookie(TOAST_COOKIE)
    return response


def see_other(request: Request, address: str, *, toast: Toast | None = None) -> Response:
    """After a plain form: go there, and say what happened."""
    response = RedirectResponse(own_address(address), 303)
    if toast is not None:
        said = orjson.dumps([toast.message[:LONGEST_TOAST], toast.undo]).hex()
        response.set_cookie(
            TOAST_COOKIE, said, max_age=60, httponly=True, samesite="lax", secure=_is_https(request)
        )
    return response


def own_address(address: str, otherwise: str = "/") -> str:
    """Only a path of ours: a form may not send people elsewhere."""
    is_path = address.startswith("/") and not address.startswith("//")
    # Browsers read a backslash as a slash and pass over tabs and line ends.
    return address if is_path and address.isprintable() and "\\" not in address else otherwise


def look_of(request: Request) -> Look:
    return Look.from_cookie(request.cookies.get(LOOK_COOKIE, ""))


def set_look(request: Request, response: Response, look: Look) -> None:
    """Not HttpOnly: the script changes it as the reader chooses."""
    response.set_cookie(
        LOOK_COOKIE, look.to_cookie(), max_age=A_YEAR, samesite="lax", secure=_is_https(request)
    )


def read_toast(request: Request) -> Toast | None:
    said = request.cookies.get(TOAST_COOKIE)
    if not said:
        return None
    try:
        message, undo = orjson.loads(bytes.fromhex(said))
    except (ValueError, TypeError):
        return None
    return Toast(str(message)[:LONGEST_TOAST], str(undo)[:200])


def _frame(request: Request, caller: Caller | None, toast: Toast | None) -> Frame:
    owner = bound_to(request) if caller is not None else visitor_of(request)
    return Frame(
        csrf_token=form_token(get_runtime(request).secret, owner),
        here=_here(request),
        look=look_of(request),
        language=language_of(request, caller),
        signed_in=caller is not None,
        toast=toast,
        banner=_banner(get_runtime(request).board.problems) if caller and caller.user.operates else None,
        newest=request.state.newest if caller else "",
        rendered_at=get_runtime(request).now(),
        open_marks=caller is None or preferences_of(caller.user).open_marks,
    )


def _banner(problems: Sequence[Problem]) -> Banner | None:
    if not problems:
        return None
    heading = translate("Something is wrong.")
    return Banner(
        heading, " ".join(translate(one.text) for one in problems), "/admin", translate("How it runs")
    )


def _here(request: Request) -> str:
    """What the address bar shows; htmx tells it when only a part was asked for."""
    current = request.headers.get("hx-current-url") if is_htmx(request) else None
    try:
        parts = urlsplit(current) if current else request.url
    except ValueError:
        parts = request.url
    return own_address(f"{parts.path}?{parts.query}" if parts.query else parts.path)


def _is_https(request: Request) -> bool:
    return get_runtime(request).accounts.base_url.startswith("https://")
