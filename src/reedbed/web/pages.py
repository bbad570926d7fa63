"""From a view model to an answer: the frame around it, the cookies, the one block that htmx asked for."""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from reedbed.domain.instance import Problem
from reedbed.domain.users import Caller
from reedbed.http.auth import bound_to, form_token, get_runtime, maybe_caller, set_visitor_cookie, visitor_of
from reedbed.services.users import preferences_of
from reedbed.web.assets import asset
from reedbed.web.i18n import (
    catalogue,
    current_language,
    language_of,
    plain_text,
    plural_text,
    set_language,
    translate,
    translate_failure,
)
from reedbed.web.views.layout import LOOK_COOKIE, Banner, Layout, SidebarFeed, Theme, Toast

FOLDER = Path(__file__).parent


def render_page(template: str, values: dict[str, Any], block: str | None = None) -> str:
    """The whole page, or only its block of this name."""
    page = environment().get_template(template)
    if block is None:
        return page.render(values)
    context = page.new_context(values)
    return "".join(page.blocks[block](context))


@cache
def environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    loose: Any = environment  # the extension adds its methods at run time
    loose.filters["said"] = translate_failure
    loose.globals["asset"] = asset
    loose.globals["feed_lines"] = _feed_lines
    loose.globals["standing"] = _standing
    loose.install_gettext_callables(plain_text, plural_text, newstyle=True)
    loose.globals["_"] = _said
    return environment


def _standing(template: str) -> Markup:
    """A part that says the same to everybody who speaks this language."""
    return _stood(template, current_language())


@cache
def _stood(template: str, language: str) -> Markup:
    return Markup(environment().get_template(template).render())  # noqa: S704  a template of ours


def _feed_lines(feeds: Sequence[SidebarFeed]) -> Markup:
    return Markup("\n".join(map(_feed_line, feeds)))  # noqa: S704  each is escaped already


@lru_cache(maxsize=5_000)
def _feed_line(feed: SidebarFeed) -> Markup:
    """A reader of hundreds of feeds is shown the same lines on every page, but for a few counts."""
    drawn: Any = environment().get_template("partials/feed_row.html").module
    return drawn.line(feed)


def _said(message: str, **values: object) -> Markup:
    """What jinja2's own would answer, by way of three more calls; a page has a hundred of these."""
    plain = _plain(message, current_language())
    return plain % values if values else plain


@lru_cache(maxsize=5_000)
def _plain(message: str, language: str) -> Markup:
    said = catalogue(language).gettext(message) if message else ""
    return Markup(said)  # noqa: S704  a text of ours


TOAST_COOKIE = "reedbed_toast"
MAX_TOAST_LENGTH = 500
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
    set_language(language_of(request, caller))
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
        said = orjson.dumps([toast.message[:MAX_TOAST_LENGTH], toast.undo]).hex()
        response.set_cookie(
            TOAST_COOKIE, said, max_age=60, httponly=True, samesite="lax", secure=_is_https(request)
        )
    return response


def own_address(address: str, otherwise: str = "/") -> str:
    """Only a path of ours: a form may not send people elsewhere."""
    is_path = address.startswith("/") and not address.startswith("//")
    # Browsers read a backslash as a slash and pass over tabs and line ends.
    return address if is_path and address.isprintable() and "\\" not in address else otherwise


def look_of(request: Request) -> Theme:
    return Theme.from_cookie(request.cookies.get(LOOK_COOKIE, ""))


def set_look(request: Request, response: Response, look: Theme) -> None:
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
    return Toast(str(message)[:MAX_TOAST_LENGTH], str(undo)[:200])


def _frame(request: Request, caller: Caller | None, toast: Toast | None) -> Layout:
    owner = bound_to(request) if caller is not None else visitor_of(request)
    return Layout(
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
