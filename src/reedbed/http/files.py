"""A file that somebody sends: the multipart field `file`, or else the raw body."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from fastapi import Request
from starlette.datastructures import UploadFile

from reedbed.domain.errors import Invalid

CHUNK = 1_000_000
LONGEST_NAME = 100


def file_body(*raw_types: str) -> dict[str, Any]:
    """How the OpenAPI document tells of it."""
    file = {"type": "string", "format": "binary"}
    form = {"schema": {"type": "object", "properties": {"file": file}}}
    content = {"multipart/form-data": form} | {one: {"schema": file} for one in raw_types}
    return {"requestBody": {"required": True, "content": content}}


async def received_bytes(request: Request) -> tuple[str, bytes]:
    """Its name and what is in it."""
    name, chunks = await _content(request)
    return name, b"".join([some async for some in chunks])


@asynccontextmanager
async def received_file(request: Request) -> AsyncGenerator[tuple[str, Path]]:
    """Its name, and where it lies for as long as it is looked at: it may be too large for memory."""
    with tempfile.NamedTemporaryFile(prefix="reedbed-", suffix=".import") as file:
        name, chunks = await _content(request)
        await _write(file.file, chunks)
        yield name, Path(file.name)


async def _content(request: Request) -> tuple[str, AsyncIterator[bytes]]:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return "", request.stream()
    upload = (await request.form()).get("file")
    if not isinstance(upload, UploadFile):
        raise Invalid("Choose a file.", field="file")
    return (upload.filename or "")[:LONGEST_NAME], _chunks(upload)


async def _chunks(upload: UploadFile) -> AsyncIterator[bytes]:
    try:
        while some := await upload.read(CHUNK):
            yield some
    finally:
        await upload.close()


async def _write(file: IO[bytes], chunks: AsyncIterator[bytes]) -> None:
    async for some in chunks:
        await asyncio.to_thread(file.write, some)
    await asyncio.to_thread(file.flush)
