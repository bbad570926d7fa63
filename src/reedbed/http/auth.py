"""Authentication of HTTP requests: cookies, CSRF tokens, the current caller, and the client's IP address."""

import hmac
import re
import secrets
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

import structlog
from fastapi import Depends, Request, Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ClientIpScope

from reedbed.domain.email import known_as
from reedbed.domain.errors import Forbidden, Unauthorized
from reedbed.domain.sign_in import LASTS, ProxyUser
from reedbed.domain.times import DAY, SECOND
from reedbed.domain.users import Caller, NewSession, TokenScope
from reedbed.services.auth import LOG_IN, identify, rejection
from reedbed.services.runtime import ProxyLogin, Runtime
from reedbed.services.security import remember_device
from reedbed.store.engine.replica import allow_stale_reads

log = structlog.get_logger()

# --- Set-up

_SETUP_HOST = (
    "To set up Reedbed, open it at the address of this machine, such as http://127.0.0.1:8080, "
    "or set REEDBED_BASE_URL to the address in your browser."
)


def check_setup_host(request: Request, runtime: Runtime) -> None:
    """Refuse to create the owner from this machine under a name that is not this machine's.

    A site can point its own name to 127.0.0.1 after it was loaded (DNS rebinding). For the browser it then
    has the same origin as a new Reedbed without an owner, so neither CORS nor CSRF tokens protect it.
    """
    host, peer = request.url.hostname or "", request.client
    if peer is None or not (_is_ip(peer.host) and ip_address(peer.host).is_loopback) or _is_ip(host):
        return
    own = urlsplit(runtime.accounts.base_url).hostname
    if host != own and host != "localhost" and not host.endswith(".localhost"):
        raise Forbidden(_SETUP_HOST)


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


# --- Cookies

SESSION_COOKIE = "reedbed_session"
VISITOR_COOKIE = "reedbed_visitor"
"""Form tokens are bound to it while there is no session yet (log-in, set-up)."""

SIGN_IN_COOKIE = "reedbed_sign_in"
"""Identifies the browser that started an external sign-in."""

DEVICE_COOKIE = "reedbed_device"
"""Outlives the session: failed log-ins elsewhere do not lock out a browser known to the account."""

_DEVICE_SECONDS = 400 * DAY // SECOND
_VISITOR_SECONDS = 30 * DAY // SECOND


def set_session_cookie(request: Request, response: Response, runtime: Runtime, session: NewSession) -> None:
    seconds = (session.expires_at - runtime.now()) // SECOND
    _set_cookie(request, response, runtime, SESSION_COOKIE, session.token, seconds)
    device = remember_device(runtime.secret, request.cookies.get(DEVICE_COOKIE), session.user.email)
    _set_cookie(request, response, runtime, DEVICE_COOKIE, device, _DEVICE_SECONDS)


def clear_session_cookie(request: Request, response: Response, runtime: Runtime) -> None:
    _set_cookie(request, response, runtime, SESSION_COOKIE, "", 0)


def visitor_of(request: Request) -> str:
    """Return the visitor's token, created at the first call in a request; `set_visitor_cookie` stores it."""
    cookie = request.cookies.get(VISITOR_COOKIE)
    if cookie:
        return cookie
    if not hasattr(request.state, "visitor"):
        request.state.visitor = secrets.token_urlsafe(24)
    return request.state.visitor


def set_visitor_cookie(request: Request, response: Response, runtime: Runtime) -> None:
    if VISITOR_COOKIE not in request.cookies:
        _set_cookie(request, response, runtime, VISITOR_COOKIE, visitor_of(request), _VISITOR_SECONDS)


def set_sign_in_cookie(
    request: Request, response: Response, runtime: Runtime, token: str, *, comes_back_by_form: bool
) -> None:
    """A cross-site form post carries only cookies with SameSite=None, and those must be secure."""
    same_site: Literal["lax", "none"] = "none" if comes_back_by_form and _is_secure(request, runtime) else "lax"
    _set_cookie(request, response, runtime, SIGN_IN_COOKIE, token, LASTS // SECOND, same_site)


def _set_cookie(
    request: Request,
    response: Response,
    runtime: Runtime,
    name: str,
    value: str,
    seconds: int,
    same_site: Literal["lax", "none"] = "lax",
) -> None:
    secure = _is_secure(request, runtime)
    response.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite=same_site)


def _is_secure(request: Request, runtime: Runtime) -> bool:
    return runtime.accounts.base_url.startswith("https://") or request.url.scheme == "https"


# --- CSRF

FIELD = "csrf_token"
HEADER = "x-csrf-token"
OUT_OF_DATE = "This form is out of date. Reload the page and try again; nothing was changed."
CROSS_SITE_REQUEST = "This request came from another site. Nothing was changed."


def form_token(secret: bytes, bound_to: str) -> str:
    """Return a token masked with new random bytes each time: pages are compressed (see BREACH)."""
    mask = secrets.token_bytes(sha256().digest_size)
    return (mask + _xor(_digest(secret, bound_to), mask)).hex()


def bound_to(request: Request) -> str:
    """Return the session token, or before there is a session, the visitor token."""
    return request.cookies.get(SESSION_COOKIE) or visitor_of(request)


async def check_csrf(request: Request, runtime: Runtime) -> None:
    """Reject a cookie-authenticated change unless headers or the form token prove our own page sent it."""
    if not is_same_origin(request, runtime):
        await _check_token(request, runtime.secret, [request.cookies.get(SESSION_COOKIE)])


async def check_form_token(request: Request, secret: bytes) -> None:
    """For forms of visitors (log-in, set-up): another site that forces a log-in is an attack, too.

    The browser may still hold the cookie of an ended session beside the visitor's: either is accepted.
    """
    cookies = [request.cookies.get(name) for name in (SESSION_COOKIE, VISITOR_COOKIE)]
    await _check_token(request, secret, cookies)


def check_same_site(request: Request, runtime: Runtime) -> None:
    """For endpoints that need no cookie. Programs send no origin headers; browsers always do."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "none")
    is_program = origin is None and site == "none"
    allowed = origin is not None and origin in runtime.http.cors_origins
    if not is_program and not allowed and not is_same_origin(request, runtime):
        raise Forbidden(CROSS_SITE_REQUEST)


def is_same_origin(request: Request, runtime: Runtime) -> bool:
    """Return whether the browser says that our own page sent this; False if it says nothing."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    own_origins = (_origin(runtime.accounts.base_url), f"{request.url.scheme}://{request.headers.get('host', '')}")
    return origin is not None and origin.lower() in own_origins


async def _check_token(request: Request, secret: bytes, owners: Sequence[str | None]) -> None:
    token = _unmask(request.headers.get(HEADER) or await _form_field(request) or "")
    digests = [_digest(secret, owner) for owner in owners if owner]
    if not any(hmac.compare_digest(token, digest) for digest in digests):
        raise Forbidden(OUT_OF_DATE)


def _digest(secret: bytes, bound_to: str) -> bytes:
    return hmac.digest(secret, b"form\0" + bound_to.encode(), "sha256")


def _unmask(token: str) -> bytes:
    """Return the digest, or empty bytes if this is not a token."""
    size = sha256().digest_size
    try:
        raw = bytes.fromhex(token[: 4 * size])
    except ValueError:
        return b""
    return _xor(raw[size:], raw[:size]) if len(raw) == 2 * size else b""


def _xor(value: bytes, mask: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(value, mask, strict=True))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


async def _form_field(request: Request) -> str | None:
    content_type = request.headers.get("content-type", "")
    if not content_type.startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        return None
    value = (await request.form()).get(FIELD)
    return value if isinstance(value, str) else None


# --- Reading from the replica

LISTS = re.compile(
    r"/api/v1/(?:entries|counts|tags)"
    r"|/(?:unread|all|starred|later|history|search)"
    r"|/(?:folder|feed|tag|saved)/[^/]+"
    r"|(?:/api/greader\.php)?/reader/api/0/(?:stream/.+|unread-count)"
)


def choose_source(request: Request, runtime: Runtime, caller: Caller | None) -> None:
    """Let lists be read from a replica that may lag, unless this user changed something recently."""
    if caller is None:
        return
    if request.method not in ("GET", "HEAD"):
        runtime.recent_changes.note(caller.user_id)
    elif LISTS.fullmatch(request.url.path) and not runtime.recent_changes.of(caller.user_id):
        allow_stale_reads(allowed=True)


# --- The current caller

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def get_runtime(request: Request) -> Runtime:
    return request.app.state.runtime


async def _current_runtime(request: Request) -> Runtime:
    """Async because FastAPI would run a plain function in a thread for each request."""
    return get_runtime(request)


async def maybe_caller(request: Request) -> Caller | None:
    """Return the caller, or None if the request is not logged in. Loaded once per request."""
    if not hasattr(request.state, "caller"):
        # Before anything is read: the page's event stream must repeat every event published from here on.
        request.state.newest = get_runtime(request).bus.newest()
        request.state.caller = caller = await _load_caller(request)
        choose_source(request, get_runtime(request), caller)
    return request.state.caller


async def require_caller(request: Request) -> Caller:
    caller = await maybe_caller(request)
    if caller is None:
        raise refusal(request)
    await _check_scope(request, caller)
    return caller


async def require_session(request: Request) -> Caller:
    """For endpoints that grant access: a leaked token must not be able to create other tokens."""
    caller = await require_caller(request)
    if caller.session_id is None:
        raise Forbidden("A token may not do this. Log in with your password.")
    return caller


def check_reads_passwords(caller: Caller) -> None:
    """Reject tokens, whatever their scopes."""
    if caller.session_id is None:
        raise Forbidden("A token may not read passwords. Log in with your password.")


async def require_admin(request: Request) -> Caller:
    caller = await require_caller(request)
    if not caller.user.operates or TokenScope.ADMIN not in caller.scopes:
        raise Forbidden("Only an operator of this server may do this.")
    return caller


async def _load_caller(request: Request) -> Caller | None:
    runtime = get_runtime(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        token, by_cookie = token.strip(), False
    else:
        token, by_cookie = request.cookies.get(SESSION_COOKIE, ""), True
    caller = await identify(runtime, token, by_cookie=by_cookie) if token else None
    named = proxy_user(request)
    if caller is not None and by_cookie and named is not None and known_as(named.email) != caller.user.email:
        return None  # another user has logged in at the portal, in the same browser
    if token and caller is None:
        request.state.refused = await rejection(runtime, token)
    return caller


def proxy_user(request: Request) -> ProxyUser | None:
    """The user that a trusted proxy names in the configured header."""
    return getattr(request.state, "proxy_user", None)


def refusal(request: Request) -> Unauthorized:
    """Return the error for a request without a valid caller."""
    return getattr(request.state, "refused", Unauthorized(LOG_IN))


async def _check_scope(request: Request, caller: Caller) -> None:
    if request.method in SAFE_METHODS:
        if TokenScope.READ not in caller.scopes:
            raise Forbidden("This token may not read.")
        return
    if TokenScope.WRITE not in caller.scopes:
        raise Forbidden("This token may only read. Make one with the write scope.")
    if caller.by_cookie:
        await check_csrf(request, get_runtime(request))


CurrentRuntime = Annotated[Runtime, Depends(_current_runtime)]
CurrentCaller = Annotated[Caller, Depends(require_caller)]
CurrentSession = Annotated[Caller, Depends(require_session)]
CurrentAdmin = Annotated[Caller, Depends(require_admin)]
MaybeCaller = Annotated[Caller | None, Depends(maybe_caller)]


# --- Client IP behind proxies

Network = IPv4Network | IPv6Network
MAX_HOPS = 50


def client_ip(request: Request) -> str | None:
    """Return the caller's IP address; `ProxyHeadersMiddleware` has already replaced the proxy's."""
    return request.client.host if request.client else None


class ProxyHeadersMiddleware:
    """Put the real client and scheme into the scope, from `X-Forwarded-*` headers of trusted proxies only."""

    def __init__(self, app: ASGIApp, *, trusted: Sequence[Network], login: ProxyLogin | None = None) -> None:
        self._app = app
        self._trusted = tuple(trusted)
        self._login = login

    async def __call__(self, scope: ClientIpScope, receive: Receive, send: Send) -> None:
        if self._trusted and scope["type"] == "http":
            self._apply_forwarded_headers(scope)
        await self._app(scope, receive, send)

    def _apply_forwarded_headers(self, scope: ClientIpScope) -> None:
        peer = scope.get("client")
        if peer is None or not _is_trusted(_parse_ip(peer[0]), self._trusted):
            return
        # Only now: the header counts if the peer of the socket sent it, whatever X-Forwarded-For says.
        if self._login is not None:
            scope.setdefault("state", {})["proxy_user"] = _proxy_user(scope, self._login)
        hops = [*_joined_header(scope, b"x-forwarded-for").split(",")[-MAX_HOPS:], peer[0]]
        scope["client"] = (rightmost_untrusted(hops, self._trusted), peer[1])
        # Each proxy of a chain appends its value: the last one is from the proxy we trust.
        proto = _joined_header(scope, b"x-forwarded-proto").split(",")[-1].strip().lower()
        if proto in ("http", "https"):
            scope["scheme"] = proto


def _proxy_user(scope: ClientIpScope, login: ProxyLogin) -> ProxyUser | None:
    """The user that the proxy names. A header that is repeated or spelled differently may come from the client."""
    named = _single_header(scope, login.header)
    if not named:
        return None
    groups = _single_header(scope, login.groups_header) if login.groups_header else ""
    return ProxyUser(named, frozenset(part.strip() for part in re.split(r"[,|]", groups or "") if part.strip()))


def _single_header(scope: ClientIpScope, name: str) -> str | None:
    wanted = name.lower().encode("latin-1")
    spellings = [
        (key, value) for key, value in scope["headers"] if key.replace(b"_", b"-") == wanted.replace(b"_", b"-")
    ]
    if len(spellings) > 1 or any(key != wanted for key, _ in spellings):
        log.warning("the login header came more than once", header=name)
        return None
    return spellings[0][1].decode("latin-1").strip() if spellings else None


def rightmost_untrusted(hops: Sequence[str], trusted: Sequence[Network]) -> str:
    """Each proxy appends its peer. Everything left of the first untrusted address could be forged."""
    client = hops[-1].strip()
    for hop in reversed(hops):
        ip = _parse_ip(hop)
        if ip is None:
            break
        client = str(ip)
        if not _is_trusted(ip, trusted):
            break
    return client


def _is_trusted(ip: IPv4Address | IPv6Address | None, trusted: Sequence[Network]) -> bool:
    return ip is not None and any(ip in network for network in trusted)


def _parse_ip(text: str) -> IPv4Address | IPv6Address | None:
    """Accept `1.2.3.4`, `1.2.3.4:5678`, `[::1]:5678` and `::ffff:1.2.3.4`."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        ip = ip_address(host)
    except ValueError:
        return None
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return mapped or ip


def _joined_header(scope: ClientIpScope, name: bytes) -> str:
    """Join repeated headers into one list."""
    return ",".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)
