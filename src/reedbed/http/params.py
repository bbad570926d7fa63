"""What routes receive: ids, page limits, cursors and uploads; rate limits and the base URL as dependencies."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Annotated, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from fastapi import Depends, Query, Request
from pydantic import BeforeValidator, WithJsonSchema
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.types import ASGIApp, Receive, Scope, Send

from reedbed.domain.errors import Invalid, NotFound
from reedbed.domain.pagination import MAX_LIMIT, decode_cursor, encode_cursor
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime, MaybeCaller
from reedbed.http.models import ID_SCHEMA, ListPage, parse_id
from reedbed.http.responses import Json
from reedbed.services.runtime import Runtime
from reedbed.services.security import spend


def path_id(value: Any) -> int:
    """An impossible id in a path is a 404, like an unknown one."""
    try:
        return parse_id(value)
    except ValueError:
        raise NotFound("There is nothing with this id.") from None


IdPath = Annotated[int, BeforeValidator(path_id), ID_SCHEMA]


_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}

# A string, so that `page_limit` writes the error message for a wrong one.
PageLimit = Annotated[str | None, Query(), WithJsonSchema(_LIMIT)]
PageCursor = Annotated[str | None, Query(max_length=200)]


class Listed(Protocol):
    @property
    def id(self) -> int: ...


T = TypeVar("T")
ListedT = TypeVar("ListedT", bound=Listed)


def before_of(cursor: str | None, view: str) -> int | None:
    """Return the id below which the page begins; None for the first page."""
    return None if cursor is None else decode_cursor(cursor, "newest", view).id


def newest_first(rows: Sequence[ListedT], size: int, view: str, respond: Callable[[ListedT], T]) -> Json[ListPage[T]]:
    """Return a page of `size` items; `rows` has one more if there is a next page."""
    items = rows[:size]
    next_cursor = encode_cursor(0, items[-1].id, "newest", view) if len(rows) > size else None
    return Json(ListPage([respond(item) for item in items], next_cursor))


# Cursors for short lists ordered by name, where an offset is good enough.
MAX_OFFSET = 1_000_000


def read_offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    digits = cursor.removeprefix("o")
    if cursor == digits or not digits.isascii() or not digits.isdigit() or len(digits) > 7:
        raise Invalid("This cursor is not valid any more. Start again from the first page.", field="cursor")
    return min(int(digits), MAX_OFFSET)


def next_offset(offset: int, limit: int, row_count: int) -> str | None:
    """`row_count` is `limit` + 1 if there is a next page."""
    return f"o{offset + limit}" if row_count > limit else None


# --- Rate limits and the base URL


MANY_REQUESTS = "Too many requests. Wait a moment and try again."
MANY_SEARCHES = "Too many searches at once. Wait a moment and search again."
MANY_REFRESHES = "You asked for many refreshes at once. Wait a little; feeds are also checked by themselves."


async def spend_request(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"requests:{caller.user_id}", runtime.limits.requests, MANY_REQUESTS)


async def spend_search(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"search:{caller.user_id}", runtime.limits.search, MANY_SEARCHES)


async def spend_refresh(runtime: Runtime, caller: Caller) -> None:
    await spend(runtime, f"refresh:{caller.user_id}", runtime.limits.refresh, MANY_REFRESHES)


async def _limit_requests(runtime: CurrentRuntime, caller: MaybeCaller) -> None:
    if caller is not None:
        await spend_request(runtime, caller)


async def _limit_searches(runtime: CurrentRuntime, caller: CurrentCaller) -> None:
    await spend_search(runtime, caller)


async def _limit_refreshes(runtime: CurrentRuntime, caller: CurrentCaller) -> None:
    await spend_refresh(runtime, caller)


count_request = Depends(_limit_requests)
"""Dependency of every API router."""

SearchLimit = Annotated[None, Depends(_limit_searches)]
RefreshLimit = Annotated[None, Depends(_limit_refreshes)]


def place_of(request: Request, runtime: Runtime) -> str:
    """Return the base URL the caller used. If the host is the configured one, trust the configured scheme."""
    configured = runtime.accounts.base_url.rstrip("/")
    if urlsplit(configured).netloc == request.url.netloc:
        return configured
    return f"{request.url.scheme}://{request.url.netloc}"


def public_base_url(request: Request, runtime: Runtime) -> str:
    """Return the configured base URL, unless it is a loopback address that only works on this machine."""
    configured = runtime.accounts.base_url.rstrip("/")
    return place_of(request, runtime) if _is_loopback(urlsplit(configured).hostname or "") else configured


def _is_loopback(host: str) -> bool:
    try:
        ip = ip_address(host)
    except ValueError:
        return host == "localhost"
    return ip.is_loopback or ip.is_unspecified


# --- Uploads


CHUNK = 1_000_000
MAX_NAME_LENGTH = 100


def file_body(*raw_types: str) -> dict[str, Any]:
    """Return the OpenAPI description of an upload."""
    file = {"type": "string", "format": "binary"}
    form = {"schema": {"type": "object", "properties": {"file": file}}}
    content = {"multipart/form-data": form} | {media_type: {"schema": file} for media_type in raw_types}
    return {"requestBody": {"required": True, "content": content}}


async def received_bytes(request: Request) -> tuple[str, bytes]:
    """Return the file's name and content."""
    name, chunks = await _read_upload(request)
    return name, b"".join([chunk async for chunk in chunks])


@asynccontextmanager
async def received_file(request: Request) -> AsyncGenerator[tuple[str, Path]]:
    """Yield the file's name and a temporary path; it may be too large for memory."""
    with tempfile.NamedTemporaryFile(prefix="reedbed-", suffix=".import") as file:
        name, chunks = await _read_upload(request)
        await _write(file.file, chunks)
        yield name, Path(file.name)


async def _read_upload(request: Request) -> tuple[str, AsyncIterator[bytes]]:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return "", request.stream()
    upload = (await request.form()).get("file")
    if not isinstance(upload, UploadFile):
        raise Invalid("Choose a file.", field="file")
    return (upload.filename or "")[:MAX_NAME_LENGTH], _chunks(upload)


async def _chunks(upload: UploadFile) -> AsyncIterator[bytes]:
    try:
        while chunk := await upload.read(CHUNK):
            yield chunk
    finally:
        await upload.close()


async def _write(file: IO[bytes], chunks: AsyncIterator[bytes]) -> None:
    async for chunk in chunks:
        await asyncio.to_thread(file.write, chunk)
    await asyncio.to_thread(file.flush)


MULTIPART = b"multipart/form-data"


class FormCharsetMiddleware:
    """Read forms as UTF-8, whatever charset they declare.

    Browsers send nothing else, RFC 7578 has no such parameter, and some of Python's encodings raise
    unexpected errors or produce characters that no database can store.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            # In place: outer middleware reads the same scope afterwards.
            scope["headers"] = [
                (name, _without_charset(value) if name == b"content-type" else value)
                for name, value in scope["headers"]
            ]
        await self._app(scope, receive, send)


def _without_charset(content_type: bytes) -> bytes:
    kind, options = parse_options_header(content_type)
    if kind.strip() != MULTIPART or b"charset" not in options:
        return content_type
    boundary = options.get(b"boundary", b"").replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return MULTIPART + b'; boundary="' + boundary + b'"'
