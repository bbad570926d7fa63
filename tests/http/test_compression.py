"""Pages and JSON are packed for whoever takes brotli or gzip, and nothing is given away by it."""

import gzip
from collections.abc import AsyncIterator

import brotli
import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp

from reedbed.http.middleware import CompressionMiddleware, pack
from tests.clients import Client, SignIn
from tests.http.web.forms import tokens

GZIP = {"Accept-Encoding": "gzip, deflate"}
BROTLI = {"Accept-Encoding": "gzip, deflate, br, zstd"}
LONG = {"words": ["a heron in the reeds"] * 100}


async def test_a_page_is_packed_for_whoever_takes_it(by_cookie: SignIn) -> None:
    reader = await by_cookie()
    packed = await reader.get("/unread", headers=GZIP)
    plain = await reader.get("/unread", headers={"Accept-Encoding": "identity"})
    refused = await reader.get("/unread", headers={"Accept-Encoding": "br;q=0, gzip;q=0"})
    smaller = await reader.get("/unread", headers=BROTLI)
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "HX-Request, Accept-Encoding"
    assert int(packed.headers["content-length"]) * 2 < len(plain.content)
    assert smaller.headers["content-encoding"] == "br"
    assert int(smaller.headers["content-length"]) * 2 < len(plain.content)
    assert smaller.text.count("<li>") == packed.text.count("<li>") == plain.text.count("<li>") > 0
    assert {"content-encoding"}.isdisjoint({*plain.headers, *refused.headers})
    assert (await reader.head("/unread", headers=GZIP)).headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("answer", "packed"),
    [
        (JSONResponse(LONG), True),
        (JSONResponse({"words": []}), False),
        (JSONResponse(LONG, headers={"ETag": '"1"'}), False),
        (JSONResponse(LONG, headers={"Content-Encoding": "br"}), False),
        (Response(bytes(5_000), media_type="image/png"), False),
    ],
    ids=["long", "short", "named by its bytes", "packed already", "a picture"],
)
async def test_only_what_gains_by_it_is_packed(answer: ASGIApp, packed: bool) -> None:
    headers, _ = await _sent(answer)
    assert (headers.get(b"content-encoding") == b"gzip") is packed


async def test_a_stream_goes_out_as_it_comes() -> None:
    async def pieces() -> AsyncIterator[str]:
        for _ in range(3):
            yield "x" * 2_000

    headers, bodies = await _sent(StreamingResponse(pieces(), headers={"Content-Length": "6000"}))
    assert b"content-encoding" not in headers
    assert [len(body) for body in bodies] == [2_000, 2_000, 2_000, 0]


async def test_no_length_tells_what_is_in_a_page(by_cookie: SignIn) -> None:
    reader = await by_cookie()
    pages = [await reader.get("/folders", headers=GZIP) for _ in range(5)]
    shown = [tokens(page.text) for page in pages]
    assert all(len(one) == 1 for one in shown)
    assert len(set.union(*shown)) == 5  # the same session, another token each time
    for encoding in ("br", "gzip"):
        assert len({len(pack(b"the same words" * 100, encoding)) for _ in range(50)}) > 5
    assert "content-encoding" not in (await reader.get("/settings/published", headers=GZIP)).headers


def test_what_is_packed_can_be_unpacked() -> None:
    for body in (b"", b"x", bytes(range(256)) * 1_000):
        assert gzip.decompress(pack(body, "gzip")) == body
        assert brotli.decompress(pack(body, "br")) == body


async def test_an_error_page_is_packed_as_well(client: Client) -> None:
    answer = await client.get("/nowhere", headers=GZIP)
    assert (answer.status_code, answer.headers["content-encoding"]) == (404, "gzip")
    assert "</html>" in answer.text


async def _sent(answer: ASGIApp) -> tuple[dict[bytes, bytes], list[bytes]]:
    messages = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b""}

    async def send(message) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "asgi": {"spec_version": "2.4"},  # nobody listens for a caller who leaves
        "method": "GET",
        "path": "/",
        "headers": [(b"accept-encoding", b"gzip")],
    }
    await CompressionMiddleware(answer)(scope, receive, send)
    return dict(messages[0]["headers"]), [message["body"] for message in messages[1:]]
