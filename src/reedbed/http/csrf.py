"""Forms carry a token that only this server can make for this session; a foreign page cannot know it."""

import hmac
from hashlib import sha256

from fastapi import Request

from reedbed.domain.errors import Forbidden
from reedbed.http.cookies import SESSION_COOKIE, VISITOR_COOKIE

FIELD = "csrf_token"
HEADER = "x-csrf-token"


def form_token(secret: bytes, bound_to: str) -> str:
    return hmac.new(secret, b"form\0" + bound_to.encode(), sha256).hexdigest()


def bound_to(request: Request) -> str:
    return request.cookies.get(SESSION_COOKIE) or request.cookies.get(VISITOR_COOKIE) or ""


async def check_form_token(request: Request, secret: bytes) -> None:
    """Refuse a change that came with a cookie but without this session's form token."""
    owner = bound_to(request)
    given = request.headers.get(HEADER) or await _field(request)
    if not owner or not given or not hmac.compare_digest(given.encode(), form_token(secret, owner).encode()):
        raise Forbidden("This form is out of date. Reload the page and try again; nothing was changed.")


async def _field(request: Request) -> str | None:
    kind = request.headers.get("content-type", "")
    if not kind.startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        return None
    value = (await request.form()).get(FIELD)
    return value if isinstance(value, str) else None
