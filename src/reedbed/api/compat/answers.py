"""How reader apps are answered: plain text or JSON, open to pages of any origin, conditional where asked."""

from collections import OrderedDict
from email.utils import formatdate
from hashlib import blake2b
from typing import Any

import orjson
from fastapi import Request, Response

from reedbed.domain.times import SECOND, Instant

# No cookie counts at these doors: a page of any origin has no more power here than its own secrets give it.
OPEN_TO_ALL = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match, If-Modified-Since",
    "Access-Control-Expose-Headers": "Date, ETag, Last-Modified, Retry-After, X-Reader-Google-Bad-Token",
    "Access-Control-Max-Age": "86400",
}
MOST_STAMPS = 10_000


def text(body: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "text/plain; charset=utf-8")


def ok() -> Response:
    """Without a line end: newsboat compares the whole body."""
    return text("OK")


def json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(content), status, headers, "application/json; charset=utf-8")


def open_to_all(response: Response) -> Response:
    response.headers.update(OPEN_TO_ALL)
    return response


class Stamps:
    """Since when each list has looked as it does: what `Last-Modified` says.

    Nothing in the database knows when a list last changed, so each process remembers when it first gave an
    answer. It only serves to say "not modified", and only to whoever repeats exactly what was said here.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def since(self, name: str, tag: str, now: Instant) -> int:
        """In seconds. Two contents never have the same, though HTTP knows no smaller unit."""
        known_tag, second = self._known.pop(name, ("", 0))
        if known_tag != tag:
            second = max(now // SECOND, second + 1)
        self._known[name] = (tag, second)
        if len(self._known) > MOST_STAMPS:
            self._known.popitem(last=False)
        return second


def conditional(request: Request, stamps: Stamps, user_id: int, now: Instant, response: Response) -> Response:
    """The answer with its validators, or 304 when the app has it already."""
    body = bytes(response.body)
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    name = f"{user_id} {request.url.path}?{request.url.query}"
    modified = formatdate(stamps.since(name, tag, now), usegmt=True)
    validators = {"ETag": tag, "Last-Modified": modified}
    if _has_it(request, tag, modified):
        return Response(status_code=304, headers=validators)
    response.headers.update(validators)
    return response


def _has_it(request: Request, tag: str, modified: str) -> bool:
    """`If-None-Match` has the last word where it is sent (RFC 9110, 13.2.2)."""
    if wanted := request.headers.get("if-none-match"):
        known = {one.strip().removeprefix("W/") for one in wanted.split(",")}
        return tag in known or "*" in known
    return request.headers.get("if-modified-since") == modified
