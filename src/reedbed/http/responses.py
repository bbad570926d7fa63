"""Responses: JSON, downloads, and zip archives that are streamed while they are written."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Generic
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from reedbed.domain.records import record
from reedbed.domain.times import Instant, rfc3339
from reedbed.http.models import T_co, to_json


class Json(Response, Generic[T_co]):
    """The API answers with a response model. A handler that returns `Json[Model]` is documented with it."""

    def __init__(self, model: T_co, status: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(to_json(model), status, headers, "application/json")
        self.model: object = model


class ApiRouter(APIRouter):
    """Leaves response models to the OpenAPI document: FastAPI would build a validator for each."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["response_model"] = None
        super().add_api_route(path, endpoint, **options)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(content), status, headers, "application/json")


def moment(value: Instant | None) -> str | None:
    return None if value is None else rfc3339(value)


def text_id(value: int | None) -> str | None:
    return None if value is None else str(value)


def download(parts: AsyncGenerator[bytes], name: str, media_type: str) -> StreamingResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="reedbed-{name}"',
        "Cache-Control": "private, no-store",
        # Whatever type a browser detects, it must not run anything inside.
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return StreamingResponse(parts, 200, headers, media_type)


def is_head(request: Request) -> bool:
    """Whether only the head of the answer is wanted; `HeadMiddleware` has made a GET of it."""
    return getattr(request.state, "is_head", False)


def attachment_name(name: str) -> str:
    """The header that names a file, also in other scripts (RFC 6266)."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_. ,") else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


async def json_list(items: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Join items that already are JSON into a list, one per line."""
    opening = b"[\n"
    async for item in items:
        yield opening + item
        opening = b",\n"
    yield b"[]\n" if opening == b"[\n" else b"\n]\n"


# --- Zip archives of any size: only the bytes not yet sent are in memory

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

TimeView = tuple[int, int, int, int, int, int]

LEVEL = 4


@record
class ArchiveFile:
    name: str
    parts: AsyncIterable[bytes]


class _Pipe(RawIOBase):
    """The file `ZipFile` writes to: a stream that cannot seek."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer") -> int:
        self.waiting.append(bytes(data))
        return len(self.waiting[-1])

    def take(self) -> bytes:
        data = b"".join(self.waiting)
        self.waiting.clear()
        return data


async def zipped(files: Iterable[ArchiveFile], moment: TimeView) -> AsyncGenerator[bytes]:
    """`moment` is the modification time of all files in the archive."""
    pipe = _Pipe()
    with ZipFile(pipe, "w", ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for file in files:
            info = ZipInfo(file.name, moment)
            info.compress_type = ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as writer:
                async for part in file.parts:
                    writer.write(part)
                    if pipe.waiting:
                        yield pipe.take()
            yield pipe.take()
    yield pipe.take()
