"""Who is calling: the session cookie, or a bearer token."""

from typing import Annotated

from fastapi import Depends, Request

from reedbed.domain.accounts import Caller, Scope
from reedbed.domain.errors import Forbidden, Unauthorized
from reedbed.http.cookies import SESSION_COOKIE
from reedbed.http.csrf import check_own_page
from reedbed.http.replica import choose_source
from reedbed.services.runtime import Runtime
from reedbed.services.sessions import LOG_IN, identify, why_refused

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def get_runtime(request: Request) -> Runtime:
    return request.app.state.runtime


async def _runtime(request: Request) -> Runtime:
    """As a dependency: a plain function would be sent to a thread for each request."""
    return get_runtime(request)


async def maybe_caller(request: Request) -> Caller | None:
    """The caller, or None for a stranger. Looked up once per request."""
    if not hasattr(request.state, "caller"):
        # Before anything is read: what is published from here on, the page's stream has to tell again.
        request.state.newest = get_runtime(request).bus.newest()
        request.state.caller = caller = await _look_up(request)
        choose_source(request, get_runtime(request), caller)
    return request.state.caller


async def require_caller(request: Request) -> Caller:
    caller = await maybe_caller(request)
    if caller is None:
        raise Unauthorized(refusal(request))
    await _check_change(request, caller)
    return caller


async def require_session(request: Request) -> Caller:
    """For what opens further doors: a token that leaks must not be able to make others."""
    caller = await require_caller(request)
    if caller.session_id is None:
        raise Forbidden("A token may not do this. Log in with your password.")
    return caller


def check_reads_passwords(caller: Caller) -> None:
    """What no token may read, whatever its scopes."""
    if caller.session_id is None:
        raise Forbidden("A token may not read passwords. Log in with your password.")


async def require_admin(request: Request) -> Caller:
    caller = await require_caller(request)
    if not caller.user.operates or Scope.ADMIN not in caller.scopes:
        raise Forbidden("Only an operator of this server may do this.")
    return caller


async def _look_up(request: Request) -> Caller | None:
    runtime = get_runtime(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        token, by_cookie = token.strip(), False
    else:
        token, by_cookie = request.cookies.get(SESSION_COOKIE, ""), True
    caller = await identify(runtime, token, by_cookie=by_cookie) if token else None
    if token and caller is None:
        request.state.refused = await why_refused(runtime, token)
    return caller


def refusal(request: Request) -> str:
    """What to say to a stranger."""
    return getattr(request.state, "refused", LOG_IN)


async def _check_change(request: Request, caller: Caller) -> None:
    if request.method in SAFE_METHODS:
        if Scope.READ not in caller.scopes:
            raise Forbidden("This token may not read.")
        return
    if Scope.WRITE not in caller.scopes:
        raise Forbidden("This token may only read. Make one with the write scope.")
    if caller.by_cookie:
        await check_own_page(request, get_runtime(request))


RuntimeOf = Annotated[Runtime, Depends(_runtime)]
CallerOf = Annotated[Caller, Depends(require_caller)]
SessionOf = Annotated[Caller, Depends(require_session)]
AdminOf = Annotated[Caller, Depends(require_admin)]
MaybeCaller = Annotated[Caller | None, Depends(maybe_caller)]
