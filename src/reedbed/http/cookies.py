"""Our cookies: their names, and how they are set."""

import secrets
from typing import Literal

from fastapi import Request, Response

from reedbed.domain.accounts import NewSession
from reedbed.domain.identities import LASTS
from reedbed.domain.times import DAY, SECOND
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import remember_device

SESSION_COOKIE = "reedbed_session"
VISITOR_COOKIE = "reedbed_visitor"
"""Before there is a session (log in, set-up) form tokens are bound to this one."""

SIGN_IN_COOKIE = "reedbed_sign_in"
"""The mark of the browser in which a sign-in by others was begun."""

DEVICE_COOKIE = "reedbed_device"
"""Stays after the session: this browser is known to an account, so guesses elsewhere do not lock it out."""

_DEVICE_SECONDS = 400 * DAY // SECOND
_VISITOR_SECONDS = 30 * DAY // SECOND


def set_session_cookie(request: Request, response: Response, runtime: Runtime, session: NewSession) -> None:
    seconds = (session.expires_at - runtime.now()) // SECOND
    _set(request, response, runtime, SESSION_COOKIE, session.token, seconds)
    device = remember_device(runtime.secret, request.cookies.get(DEVICE_COOKIE), session.user.email)
    _set(request, response, runtime, DEVICE_COOKIE, device, _DEVICE_SECONDS)


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


def set_sign_in_cookie(
    request: Request, response: Response, runtime: Runtime, mark: str, *, comes_back_by_form: bool
) -> None:
    """A form that another site sends brings only cookies that allow it, and those must be secure."""
    site: Literal["lax", "none"] = "none" if comes_back_by_form and _is_secure(request, runtime) else "lax"
    _set(request, response, runtime, SIGN_IN_COOKIE, mark, LASTS // SECOND, site)


def _set(
    request: Request,
    response: Response,
    runtime: Runtime,
    name: str,
    value: str,
    seconds: int,
    site: Literal["lax", "none"] = "lax",
) -> None:
    secure = _is_secure(request, runtime)
    response.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite=site)


def _is_secure(request: Request, runtime: Runtime) -> bool:
    return runtime.accounts.base_url.startswith("https://") or request.url.scheme == "https"
