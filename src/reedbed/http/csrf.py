"""A change made with a cookie must come from our own page.

Cookies travel by themselves, also when a foreign page makes the browser send a request. Two things tell our
page from others: what the browser itself says about the origin (`Sec-Fetch-Site`, `Origin`; a page cannot
forge them), and a form token that only this server can make for this session.
"""

import hmac
import secrets
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import urlsplit

from fastapi import Request

from reedbed.domain.errors import Forbidden
from reedbed.http.cookies import SESSION_COOKIE, VISITOR_COOKIE, visitor_of
from reedbed.services.runtime import Runtime

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


def check_not_foreign(request: Request, runtime: Runtime) -> None:
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
