"""Trouble as a page: what happened, what it means, what to do."""

from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from reedbed.domain.errors import ReedbedError, Unauthorized, Unavailable
from reedbed.http.caller import get_runtime, maybe_caller
from reedbed.http.errors import headers_of
from reedbed.services.accounts import needs_owner
from reedbed.web.pages import is_htmx, own_address, page
from reedbed.web.templating import translate
from reedbed.web.views.doors import ErrorPage

HEADINGS = {
    400: ("alert", "That did not work"),
    403: ("alert", "Not allowed"),
    404: ("search", "Nothing here"),
    405: ("alert", "Not this way"),
    409: ("alert", "That did not work"),
    413: ("alert", "Too large"),
    429: ("later", "A little slower"),
    503: ("later", "Not just now"),
}
UNEXPECTED = ("alert", "Something went wrong")


async def error_page(request: Request, error: ReedbedError, status: int) -> Response:
    try:
        await maybe_caller(request)
        if isinstance(error, Unauthorized):
            return await _to_the_door(request)
    except Unavailable as away:
        # Without the database nobody can be told who they are, but everybody can be told why.
        request.state.caller, error, status = None, away, 503
    icon, heading = HEADINGS.get(status, UNEXPECTED)
    shown = ErrorPage(icon, heading, error.message)
    return await page(request, "errors/error.html", shown, status=status, headers=headers_of(error))


async def _to_the_door(request: Request) -> Response:
    """A stranger is asked to log in and comes back to the same place; on a new server, to set it up."""
    door = "/setup" if await needs_owner(get_runtime(request)) else _login_address(request)
    if is_htmx(request):
        said = f'<p class="error">{translate("Log in first.")}</p>'
        return HTMLResponse(said, 401, {"HX-Redirect": door})
    return Response(status_code=303, headers={"Location": door})


def _login_address(request: Request) -> str:
    if request.method != "GET" or request.url.path == "/":
        return "/login"
    wanted = own_address(f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path)
    return f"/login?next={quote(wanted, safe='')}"
