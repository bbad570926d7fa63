"""Our cookies: their names, and how they are set."""

import secrets

from fastapi import Request, Response

from reedbed.domain.accounts import NewSession
from reedbed.domain.times import DAY, SECOND
from reedbed.services.runtime import Runtime

SESSION_COOKIE = "reedbed_session"
VISITOR_COOKIE = "reedbed_visitor"
"""Before there is a session (log in, set-up) form tokens are bound to this one."""

_VISITOR_SECONDS = 30 * DAY // SECOND


def set_session_cookie(request: Request, response: Response, runtime: Runtime, session: NewSession) -> None:
    seconds = (session.expires_at - runtime.now()) // SECOND
    _set(request, response, runtime, SESSION_COOKIE, session.token, seconds)


def clear_session_cookie(request: Request, response: Response, runtime: Runtime) -> None:
    _set(request, response, runtime, SESSION_COOKIE, "", 0)


def visitor_of(request: Request) -> str:
    """The visitor's mark, made at the first call in a request; give it to `set_visitor_cookie`."""
    known = request.cookies.get(VISITOR_COOKIE)
    if known:
        return known
    if not hasattr(request.state, "visitor"):
        request.state.visitor = secrets.token_urlsafe(24)
    return request.state.visitor


def set_visitor_cookie(request: Request, response: Response, runtime: Runtime) -> None:
    if VISITOR_COOKIE not in request.cookies:
        _set(request, response, runtime, VISITOR_COOKIE, visitor_of(request), _VISITOR_SECONDS)


def _set(request: Request, response: Response, runtime: Runtime, name: str, value: str, seconds: int) -> None:
    secure = runtime.accounts.base_url.startswith("https://") or request.url.scheme == "https"
    response.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax")
