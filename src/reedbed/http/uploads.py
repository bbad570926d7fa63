"""Uploaded files and multipart forms."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.types import ASGIApp, Receive, Scope, Send

from reedbed.domain.errors import Invalid

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
