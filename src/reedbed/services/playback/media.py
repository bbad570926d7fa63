"""Media that a page may not load itself: plain http, passed through this server with ranges."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from reedbed.domain.errors import NotFound, TooMany, Unavailable
from reedbed.domain.playback import RecordingId
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Failed
from reedbed.services.playback.positions import NO_SUCH, get_recording
from reedbed.services.runtime import Runtime

if TYPE_CHECKING:
    import aiohttp

MAX_STREAMS = 4
"""Simultaneous files for one user in each process. A browser opens another one when the user seeks."""
MAX_BYTES = 4 * 1024**3
CHUNK_BYTES = 64 * 1024
STALL_SECONDS = 30.0
"""The transfer ends when the server sends nothing, or the player takes nothing, for this long."""

_RANGE = re.compile(r"bytes=\d{0,19}-\d{0,19}")
_PASSED_ON = ("Content-Length", "Content-Range", "Accept-Ranges", "ETag", "Last-Modified")


@record
class Media:
    status: int
    headers: Mapping[str, str]
    media_type: str
    chunks: AsyncGenerator[bytes]


async def open_media(runtime: Runtime, user_id: int, id: RecordingId, wanted_range: str | None) -> Media:
    """The file of a recording at a plain http URL, or the part of it that the range names."""
    recording = await get_recording(runtime, user_id, id)
    if not recording.url.startswith("http:"):
        raise NotFound(NO_SUCH)
    if runtime.metrics.media_by_user.get(user_id, 0) >= MAX_STREAMS:
        raise TooMany("Too many recordings are playing at once.", 5)
    headers = {"Accept": "audio/*, video/*, */*;q=0.5"}
    if wanted_range and _RANGE.fullmatch(wanted_range.strip()):
        headers["Range"] = wanted_range.strip()
    stack = AsyncExitStack()
    _count(runtime, stack, user_id)
    try:
        response = await runtime.fetcher.open_stream(stack, recording.url, headers)
        return _checked(response, stack, recording.kind)
    except BaseException:
        await stack.aclose()
        raise


def _count(runtime: Runtime, stack: AsyncExitStack, user_id: int) -> None:
    by_user = runtime.metrics.media_by_user
    by_user[user_id] = by_user.get(user_id, 0) + 1

    def end() -> None:
        by_user[user_id] -= 1
        if not by_user[user_id]:
            del by_user[user_id]

    stack.callback(end)


def _checked(response: "aiohttp.ClientResponse | Failed", stack: AsyncExitStack, kind: str) -> Media:
    if isinstance(response, Failed):
        raise Unavailable(response.failure)
    if response.status not in (200, 206, 416):
        raise NotFound("The site does not have the file.")
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not media_type.startswith(("audio/", "video/")):
        if media_type not in ("", "application/octet-stream", "binary/octet-stream", "application/ogg"):
            raise NotFound("The site sends something else than audio or video.")
        media_type = "video/mp4" if kind == "video" else "audio/mpeg"
    headers = {name: value for name in _PASSED_ON if (value := response.headers.get(name)) is not None}
    return Media(response.status, headers, media_type, _chunks(response, stack))


async def _chunks(response: "aiohttp.ClientResponse", stack: AsyncExitStack) -> AsyncGenerator[bytes]:
    sent = 0
    async with stack:
        while sent < MAX_BYTES:
            async with asyncio.timeout(STALL_SECONDS):
                chunk = await response.content.read(CHUNK_BYTES)
            if not chunk:
                return
            sent += len(chunk)
            yield chunk
