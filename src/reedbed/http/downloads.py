"""Files of any length, written as they are read."""

from collections.abc import AsyncGenerator

from fastapi.responses import StreamingResponse


def download(parts: AsyncGenerator[bytes], name: str, media_type: str) -> StreamingResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="reedbed-{name}"',
        "Cache-Control": "private, no-store",
        # Whatever a browser takes it for, nothing inside may run.
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return StreamingResponse(parts, 200, headers, media_type)


async def json_list(items: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """A JSON list of items that are JSON already, one a line."""
    opening = b"[\n"
    async for item in items:
        yield opening + item
        opening = b",\n"
    yield b"[]\n" if opening == b"[\n" else b"\n]\n"
