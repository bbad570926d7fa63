"""Shared by the reader app APIs: responses, conditional requests, parameters and feed icons."""

import hmac
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Iterable
from email.utils import formatdate
from hashlib import blake2b, sha256
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, Request, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.records import record
from reedbed.domain.times import SECOND, Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentRuntime, client_ip
from reedbed.http.params import place_of
from reedbed.services.images import Pictures, image_urls_for_apps
from reedbed.services.reader_apps import log_in
from reedbed.services.runtime import Runtime
from reedbed.store import blobs

# These APIs ignore cookies, so a page of any origin can only use credentials it already has.
READER_CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match, If-Modified-Since",
    "Access-Control-Expose-Headers": "Date, ETag, Last-Modified, Retry-After, X-Reader-Google-Bad-Token",
    "Access-Control-Max-Age": "86400",
}
MAX_CACHED_ETAGS = 10_000


def text(body: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "text/plain; charset=utf-8")


def ok() -> Response:
    """No newline at the end: newsboat compares the whole body."""
    return text("OK")


def json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(content), status, headers, "application/json; charset=utf-8")


def allow_any_origin(response: Response) -> Response:
    response.headers.update(READER_CORS_HEADERS)
    return response


class EtagCache:
    """The `Last-Modified` time of each list.

    The database does not record when a list changed, so each process remembers when it first sent the current
    content. The time is only used to answer "not modified" to apps that send exactly this time back.
    """

    def __init__(self) -> None:
        self._times: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def since(self, name: str, tag: str, now: Instant) -> int:
        """Return seconds. Different contents never share one: HTTP dates have no smaller unit."""
        last_tag, second = self._times.pop(name, ("", 0))
        if last_tag != tag:
            second = max(now // SECOND, second + 1)
        self._times[name] = (tag, second)
        if len(self._times) > MAX_CACHED_ETAGS:
            self._times.popitem(last=False)
        return second


def etag_cache(request: Request) -> EtagCache:
    state = request.app.state
    if not hasattr(state, "reader_etags"):
        state.reader_etags = EtagCache()
    return state.reader_etags


def conditional(request: Request, etags: EtagCache, user_id: int, now: Instant, response: Response) -> Response:
    """Add validators to the response, or return 304 if the app already has this content."""
    body = bytes(response.body)
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    name = f"{user_id} {request.url.path}?{request.url.query}"
    modified = formatdate(etags.since(name, tag, now), usegmt=True)
    validators = {"ETag": tag, "Last-Modified": modified}
    if _is_not_modified(request, tag, modified):
        return Response(status_code=304, headers=validators)
    response.headers.update(validators)
    return response


def _is_not_modified(request: Request, tag: str, modified: str) -> bool:
    """`If-None-Match` takes precedence if it is sent (RFC 9110, 13.2.2)."""
    if header := request.headers.get("if-none-match"):
        tags = {item.strip().removeprefix("W/") for item in header.split(",")}
        return tag in tags or "*" in tags
    return request.headers.get("if-modified-since") == modified


# --- Parameters

MAX_FIELDS = 50_000

Pairs = Iterable[tuple[str, str]]


class Params:
    __slots__ = ("_values",)

    def __init__(self, query: Pairs, body: Pairs = ()) -> None:
        self._values = {**_group_by_name(query), **_group_by_name(body)}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def one(self, name: str, default: str = "") -> str:
        """The last value."""
        values = self._values.get(name)
        return values[-1] if values else default


def _group_by_name(pairs: Pairs) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        # PostgreSQL does not accept NUL characters in text.
        values.setdefault(name, []).append(value.replace("\0", ""))
    return values


def read_query(request: Request) -> Params:
    return Params(_parse_pairs(request.scope["query_string"]))


async def read_params(request: Request) -> Params:
    query = _parse_pairs(request.scope["query_string"])
    if request.method not in ("POST", "PUT"):
        return Params(query)
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return Params(query, await _read_multipart(request))
    return Params(query, _parse_pairs(await request.body()))


def _parse_pairs(encoded: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(encoded.strip().decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Invalid("There can be at most %(limit)s parameters.", limit=MAX_FIELDS) from None


async def _read_multipart(request: Request) -> list[tuple[str, str]]:
    try:
        async with request.form(max_fields=MAX_FIELDS, max_files=10) as form:
            return [(name, await _read_value(value)) for name, value in form.multi_items()]
    except HTTPException as error:
        raise Invalid("The form cannot be read: %(reason)s", reason=error.detail) from None


async def _read_value(value: UploadFile | str) -> str:
    return value if isinstance(value, str) else (await value.read()).decode("utf-8", "replace")


@record
class ReaderCall:
    request: Request
    runtime: Runtime
    caller: Caller
    params: Params

    @property
    def pictures(self) -> Pictures:
        return image_urls_for_apps(self.runtime, place_of(self.request, self.runtime))

    @property
    def user_id(self) -> int:
        return self.caller.user_id


# --- Basic authentication


async def basic_login(request: Request, runtime: Runtime) -> str | None:
    """The login token for the email and the app password of a Basic header."""
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        email, _, password = b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:
        return None
    request.state.app_login = await log_in(runtime, email, password, ip=client_ip(request))
    return request.state.app_login


# --- Feed icons, at signed URLs because apps load them without logging in

router = APIRouter(include_in_schema=False)


@router.get("/greader/icons/{name}")
async def icon(runtime: CurrentRuntime, name: str) -> Response:
    number, _, signature = name.removesuffix(".png").partition("-")
    is_valid = number.isascii() and number.isdigit() and len(number) < 16
    if not is_valid or not hmac.compare_digest(signature.encode(), _signature(runtime, int(number)).encode()):
        raise NotFound("There is no such icon.")
    async with runtime.db.read() as tx:
        image = await blobs.read(tx, int(number))
    if image is None:
        raise NotFound("There is no such icon.")
    headers = {"Cache-Control": "public, max-age=604800, immutable", "Access-Control-Allow-Origin": "*"}
    return Response(image[1], 200, headers, image[0])


def icon_address(request: Request, runtime: Runtime, icon_id: int) -> str:
    return f"{place_of(request, runtime)}/greader/icons/{icon_id}-{_signature(runtime, icon_id)}.png"


def _signature(runtime: Runtime, icon_id: int) -> str:
    return hmac.new(runtime.secret, f"icon\0{icon_id}".encode(), sha256).hexdigest()[:20]
