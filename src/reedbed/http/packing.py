"""Pages and JSON go out compressed to whoever takes gzip: a phone far away has no proxy of ours in between.

Compressing a secret beside a stranger's words can give the secret away by its length (BREACH). So a form's
token looks different in every answer (see `csrf`), and each answer has a few bytes more by chance. Answers
to forms, which may show a new password, and the settings, which show secret addresses, stay as they are.
"""

import secrets
import struct
import zlib
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST = 1_000
LEVEL = 3
MOST_CHANCE = 100
KINDS = (b"text/html", b"application/json")
LEFT_ALONE = ("/settings", "/api/v1/events")
# A gzip member with a name, at no time, of no system. The name is the bytes of chance.
HEAD = b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff"

Headers = Sequence[tuple[bytes, bytes]]


class Packing:
    """Only whole answers of a known length are packed; streams and files pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_wanted(scope):
            await self._app(scope, receive, send)
            return
        held: Message | None = None

        async def send_packed(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _can_be_packed(message["headers"]):
                held = message
                return
            if held is not None:
                start, held = held, None
                if not message.get("more_body"):
                    message = {**message, "body": pack(message["body"])}
                    start["headers"] = _packed(start["headers"], len(message["body"]))
                await send(start)
            await send(message)

        await self._app(scope, receive, send_packed)


def pack(body: bytes) -> bytes:
    squeezed = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    chance = b"-" * secrets.randbelow(MOST_CHANCE) + b"\x00"
    end = struct.pack("<LL", zlib.crc32(body), len(body) & 0xFFFFFFFF)
    return b"".join((HEAD, chance, squeezed.compress(body), squeezed.flush(), end))


def _is_wanted(scope: Scope) -> bool:
    accepted = next((value for name, value in scope["headers"] if name == b"accept-encoding"), b"")
    return scope["method"] == "GET" and _takes_gzip(accepted) and not scope["path"].startswith(LEFT_ALONE)


def _takes_gzip(accepted: bytes) -> bool:
    for part in accepted.lower().split(b","):
        coding, _, weight = part.partition(b";")
        if coding.strip() == b"gzip":
            return weight.strip() not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


def _can_be_packed(headers: Headers) -> bool:
    """An answer with an entity tag is left alone: the tag names these very bytes."""
    given = {name.lower(): value for name, value in headers}
    length = given.get(b"content-length", b"0")
    return (
        given.get(b"content-type", b"").startswith(KINDS)
        and length.isdigit()
        and int(length) >= SMALLEST
        and given.keys().isdisjoint((b"content-encoding", b"etag"))
    )


def _packed(headers: Headers, length: int) -> Headers:
    kept = [(name, value) for name, value in headers if name.lower() not in (b"content-length", b"vary")]
    vary = [value for name, value in headers if name.lower() == b"vary"]
    return [
        *kept,
        (b"content-length", str(length).encode()),
        (b"content-encoding", b"gzip"),
        (b"vary", b", ".join([*vary, b"Accept-Encoding"])),
    ]
