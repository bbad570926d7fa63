"""A file that somebody sends, on disk for as long as it is looked at: it may be too large for memory."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from fastapi import Request
from starlette.datastructures import UploadFile

from reedbed.domain.errors import Invalid

CHUNK = 1_000_000
LONGEST_NAME = 100


@asynccontextmanager
async def received_file(request: Request) -> AsyncGenerator[tuple[str, Path]]:
    """The multipart field `file`, or else the raw body; its name, and where it lies."""
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
