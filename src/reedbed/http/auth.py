"""Who is at the other end: `X-Forwarded-*` counts only when a proxy we trust says it."""

import hmac
import re
import secrets
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ClientIpScope

from reedbed.domain.errors import Forbidden, Unauthorized
from reedbed.domain.sign_in import LASTS
from reedbed.domain.times import DAY, SECOND
from reedbed.domain.users import Caller, NewSession, TokenScope
from reedbed.services.auth import LOG_IN, identify, why_refused
from reedbed.services.runtime import Runtime
from reedbed.services.security import remember_device
from reedbed.store.engine.replica import let_reads_lag

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


FIELD = "csrf_token"
HEADER = "x-csrf-token"
OUT_OF_DATE = "This form is out of date. Reload the page and try again; nothing was changed."
FOREIGN = "This request came from another site. Nothing was changed."


def form_token(secret: bytes, bound_to: str) -> str:
    """Another one each time, for the same session: pages go out compressed, see `packing`."""
    mask = secrets.token_bytes(sha256().digest_size)
    return (mask + _masked(_digest(secret, bound_to), mask)).hex()


def bound_to(request: Request) -> str:
    """The session, or before there is one, the visitor: see `set_visitor_cookie`."""
    return request.cookies.get(SESSION_COOKIE) or visitor_of(request)


async def check_own_page(request: Request, runtime: Runtime) -> None:
    """Refuse a change that came with a cookie, unless the browser or the form's token vouch for our page."""
    if not is_same_origin(request, runtime):
        await _check_bound(request, runtime.secret, [request.cookies.get(SESSION_COOKIE)])


async def check_form_token(request: Request, secret: bytes) -> None:
    """For forms of visitors (log in, set-up): a log-in forced by another site is an attack, too.

    A session that has ended may still lie in the browser beside the visitor's cookie: either will do.
    """
    cookies = [request.cookies.get(name) for name in (SESSION_COOKIE, VISITOR_COOKIE)]
    await _check_bound(request, secret, cookies)


def check_same_site(request: Request, runtime: Runtime) -> None:
    """For doors that need no cookie: programs say nothing of an origin, browsers always do."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "none")
    silent = origin is None and site == "none"
    allowed = origin is not None and origin in runtime.doors.cors_origins
    if not silent and not allowed and not is_same_origin(request, runtime):
        raise Forbidden(FOREIGN)


def is_same_origin(request: Request, runtime: Runtime) -> bool:
    """Whether the browser says that our own page asks; a missing word is no word."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    own = (_origin(runtime.accounts.base_url), f"{request.url.scheme}://{request.headers.get('host', '')}")
    return origin is not None and origin.lower() in own


async def _check_bound(request: Request, secret: bytes, owners: Sequence[str | None]) -> None:
    given = _unmasked(request.headers.get(HEADER) or await _field(request) or "")
    wanted = [_digest(secret, owner) for owner in owners if owner]
    if not any(hmac.compare_digest(given, digest) for digest in wanted):
        raise Forbidden(OUT_OF_DATE)


def _digest(secret: bytes, bound_to: str) -> bytes:
    return hmac.digest(secret, b"form\0" + bound_to.encode(), "sha256")


def _unmasked(token: str) -> bytes:
    """What was masked, or nothing if this is no token."""
    size = sha256().digest_size
    try:
        raw = bytes.fromhex(token[: 4 * size])
    except ValueError:
        return b""
    return _masked(raw[size:], raw[:size]) if len(raw) == 2 * size else b""


def _masked(value: bytes, mask: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(value, mask, strict=True))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


async def _field(request: Request) -> str | None:
    kind = request.headers.get("content-type", "")
    if not kind.startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        return None
    value = (await request.form()).get(FIELD)
    return value if isinstance(value, str) else None


LISTS = re.compile(
    r"/api/v1/(?:entries|counts|tags)"
    r"|/(?:unread|all|starred|later|history|search)"
    r"|/(?:folder|feed|tag|saved)/[^/]+"
    r"|(?:/api/greader\.php)?/reader/api/0/(?:stream/.+|unread-count)"
)


def choose_source(request: Request, runtime: Runtime, caller: Caller | None) -> None:
    if caller is None:
        return
    if request.method not in ("GET", "HEAD"):
        runtime.recent_changes.note(caller.user_id)
    elif LISTS.fullmatch(request.url.path) and not runtime.recent_changes.of(caller.user_id):
        let_reads_lag(allowed=True)


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
    if not caller.user.operates or TokenScope.ADMIN not in caller.scopes:
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
        if TokenScope.READ not in caller.scopes:
            raise Forbidden("This token may not read.")
        return
    if TokenScope.WRITE not in caller.scopes:
        raise Forbidden("This token may only read. Make one with the write scope.")
    if caller.by_cookie:
        await check_own_page(request, get_runtime(request))


CurrentRuntime = Annotated[Runtime, Depends(_runtime)]
CurrentCaller = Annotated[Caller, Depends(require_caller)]
SessionOf = Annotated[Caller, Depends(require_session)]
AdminOf = Annotated[Caller, Depends(require_admin)]
MaybeCaller = Annotated[Caller | None, Depends(maybe_caller)]


Network = IPv4Network | IPv6Network
MAX_HOPS = 50


def client_ip(request: Request) -> str | None:
    """The caller's address; proxies are already looked through."""
    return request.client.host if request.client else None


class TrustedProxies:
    """Puts the true client and scheme into the scope, so that nothing behind it needs to know of proxies."""

    def __init__(self, app: ASGIApp, *, trusted: Sequence[Network]) -> None:
        self._app = app
        self._trusted = tuple(trusted)

    async def __call__(self, scope: ClientIpScope, receive: Receive, send: Send) -> None:
        if self._trusted and scope["type"] == "http":
            self._look_through(scope)
        await self._app(scope, receive, send)

    def _look_through(self, scope: ClientIpScope) -> None:
        peer = scope.get("client")
        if peer is None or not _is_trusted(_address(peer[0]), self._trusted):
            return
        hops = [*_header(scope, b"x-forwarded-for").split(",")[-MAX_HOPS:], peer[0]]
        scope["client"] = (rightmost_untrusted(hops, self._trusted), peer[1])
        # A chain of proxies appends: the last word is that of the proxy we know.
        proto = _header(scope, b"x-forwarded-proto").split(",")[-1].strip().lower()
        if proto in ("http", "https"):
            scope["scheme"] = proto


def rightmost_untrusted(hops: Sequence[str], trusted: Sequence[Network]) -> str:
    """Each proxy appends whom it heard; what stands left of the first stranger anybody can write."""
    last_known = hops[-1].strip()
    for hop in reversed(hops):
        address = _address(hop)
        if address is None:
            break
        last_known = str(address)
        if not _is_trusted(address, trusted):
            break
    return last_known


def _is_trusted(address: IPv4Address | IPv6Address | None, trusted: Sequence[Network]) -> bool:
    return address is not None and any(address in network for network in trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """`1.2.3.4`, `1.2.3.4:5678`, `[::1]:5678`, `::ffff:1.2.3.4`."""
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    try:
        address = ip_address(plain)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _header(scope: ClientIpScope, name: bytes) -> str:
    """Several lines of one header are one list."""
    return ",".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)
