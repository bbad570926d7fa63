"""Error pages, the redirect to the login page, and the offline page for the service worker."""

import re
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from starlette.routing import BaseRoute, Match

from reedbed.domain.errors import ConfirmationRequired, ReedbedError, Unauthorized, Unavailable
from reedbed.domain.users import Caller
from reedbed.http.auth import get_runtime, maybe_caller, refusal
from reedbed.http.errors import headers_of
from reedbed.services.users import needs_owner
from reedbed.web.auth import ErrorPage
from reedbed.web.confirmation import ask_for_confirmation
from reedbed.web.i18n import explain, set_language, translate
from reedbed.web.pages import is_htmx, language_of, local_path, page, see_other, theme_of
from reedbed.web.sidebar import build_sidebar
from reedbed.web.views.layout import Sidebar

FORM_PAGES = {
    "/settings/app-passwords": "/settings/devices",
    **dict.fromkeys(
        ("/settings/password", "/settings/account/unlink", "/settings/sessions/others"), "/settings/security"
    ),
    **dict.fromkeys(
        ("/settings/codes", "/settings/codes/enable", "/settings/codes/recovery", "/settings/codes/delete"),
        "/settings/security",
    ),
    **dict.fromkeys(("/settings/passkeys", "/settings/password/delete"), "/settings/security"),
    "/login/passkey": "/login",
    "/opml": "/add",
    "/saved-pages": "/add",
}
"""Pages with the form, for form URLs that are not below their page."""
MAX_QUERY_LENGTH = 80
ICONS = {404: "search", 429: "later", 503: "later"}


async def error_page(request: Request, error: ReedbedError, status: int) -> Response:
    try:
        await maybe_caller(request)
        if isinstance(error, Unauthorized):
            return await _to_login(request)
        if isinstance(error, ConfirmationRequired):
            return await ask_for_confirmation(request, request.state.caller)
    except Unavailable as unavailable:
        # Without the database no user can be identified, but the error page can still be shown.
        request.state.caller, error, status = None, unavailable, 503
    if status == 405 and request.method == "GET" and not is_htmx(request):
        # The user reloaded a page that was the response to a form.
        return see_other(request, nearest_page(request))
    set_language(language_of(request, request.state.caller))
    words = _words_of(request.url.path) if status == 404 else ""
    view = ErrorPage(ICONS.get(status, "alert"), _heading(status), explain(error), words=words)
    sidebar = await _sidebar(request) if status < 500 and not is_htmx(request) else None
    template = "errors/error.html" if sidebar is None else "errors/page.html"
    return await page(request, template, view, sidebar=sidebar, status=status, headers=headers_of(error))


async def _sidebar(request: Request) -> Sidebar | None:
    """The sidebar of the caller; None for visitors, and while the database does not answer."""
    caller: Caller | None = request.state.caller
    if caller is None:
        return None
    runtime = get_runtime(request)
    try:
        async with runtime.db.read() as tx:
            return await build_sidebar(tx, caller.user_id, "", theme_of(request), runtime.now())
    except Unavailable:
        return None


def _words_of(path: str) -> str:
    """The words at the end of an address, such as those of an article's headline."""
    slug = path.rstrip("/").rpartition("/")[2].partition(".")[0]
    return " ".join(word for word in re.split(r"[\W_]+", slug) if word.isalpha())[:MAX_QUERY_LENGTH]


def _heading(status: int) -> str:
    match status:
        case 400 | 409:
            return translate("That did not work")
        case 403:
            return translate("Not allowed")
        case 404:
            return translate("Nothing here")
        case 405:
            return translate("Not this way")
        case 413:
            return translate("Too large")
        case 429:
            return translate("A little slower")
        case 503:
            return translate("Not just now")
        case _:
            return translate("Something went wrong")


def nearest_page(request: Request) -> str:
    """The nearest page above a URL that only accepts forms: `/feeds` for `/feeds/7/pause`."""
    path = request.url.path
    if path in FORM_PAGES:
        return FORM_PAGES[path]
    while path and not _is_page(request, path):
        path = path.rpartition("/")[0]
    return path or "/"


def _is_page(request: Request, path: str) -> bool:
    scope = {**request.scope, "method": "GET", "path": path, "raw_path": path.encode()}
    routes: list[BaseRoute] = request.app.routes
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


async def _to_login(request: Request) -> Response:
    """Redirect to the login page, which returns to the same URL; on a new server, to the setup page.

    An htmx request only gets a 401: the page shows it with a login link and keeps what the user typed.
    """
    if is_htmx(request):
        return HTMLResponse(f'<p class="error">{explain(refusal(request))}</p>', 401)
    location = "/setup" if await needs_owner(get_runtime(request)) else _login_url(request)
    return Response(status_code=303, headers={"Location": location})


def _login_url(request: Request) -> str:
    path = request.url.path if request.method == "GET" else nearest_page(request)
    if path == "/":
        return "/login"
    query = request.url.query if request.method == "GET" else ""
    target = local_path(f"{path}?{query}" if query else path)
    return f"/login?next={quote(target, safe='')}"


router = APIRouter(include_in_schema=False)


@router.get("/offline")
async def show_offline(request: Request) -> Response:
    return await page(request, "errors/offline.html", None)
