"""A loopback server that does everything a server should not, one misbehaviour per path.

Spoken on raw sockets, because no HTTP library would agree to say most of this.
"""

import asyncio
import gzip
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ssl import SSLContext
from types import TracebackType
from typing import Self

import brotli

FEED = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>Reeds</title>'
    b"<item><title>One</title><guid>1</guid></item></channel></rss>"
)


@dataclass
class Asked:
    path: str
    headers: dict[str, str]


@dataclass
class Exchange:
    """One connection after its request has been read."""

    asked: Asked
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: "MisbehavingServer"

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self,
        status: str = "200 OK",
        body: bytes = FEED,
        headers: tuple[str, ...] = (),
        *,
        length: int | None = None,
    ) -> None:
        lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body) if length is None else length}"]
        await self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    async def stream(self, headers: bytes = b"") -> None:
        await self.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + headers + b"\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def reset(self) -> None:
        """RST instead of FIN."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Behaviour = Callable[[Exchange], Awaitable[None]]
BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(function: Behaviour) -> Behaviour:
    BEHAVIOURS[function.__name__] = function
    return function


@dataclass
class MisbehavingServer:
    host: str = "127.0.0.1"
    ssl_context: SSLContext | None = None
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    script: bytes = b""
    """What `scripted` says."""

    def url(self, path: str, host: str | None = None) -> str:
        scheme = "https" if self.ssl_context else "http"
        return f"{scheme}://{host or self.host}:{self.port}/{path}"

    def asked_for(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.path.startswith(f"/{path}")]

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, self.host, 0, ssl=self.ssl_context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            fields = (line.split(": ", 1) for line in lines[1:] if ": " in line)
            path = lines[0].split(" ")[1]
            asked = Asked(path, {name.lower(): value for name, value in fields})
            self.asked.append(asked)
            local = path.removeprefix("http://").partition("/")[2] if path.startswith("http:") else path
            name = local.strip("/").split("?")[0].split("/")[0]
            if lines[0].startswith("CONNECT "):
                name = "refuses_tunnel"
            await BEHAVIOURS[name](Exchange(asked, reader, writer, self))
            if name not in KEEPS_ALIVE:
                writer.close()
                await writer.wait_closed()
                return


KEEPS_ALIVE = frozenset({"fine", "unchanged", "redirect_to_fine", "conditional"})


@behaviour
async def fine(exchange: Exchange) -> None:
    await exchange.answer(
        headers=(
            "Content-Type: application/rss+xml; charset=utf-8",
            'ETag: "v1"',
            "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
        )
    )


@behaviour
async def conditional(exchange: Exchange) -> None:
    if exchange.asked.headers.get("if-none-match") == '"v1"':
        await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\nCache-Control: max-age=60\r\n\r\n')
    else:
        await fine(exchange)


@behaviour
async def unchanged(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 304 Not Modified\r\n\r\n")


@behaviour
async def status(exchange: Exchange) -> None:
    code = exchange.asked.path.rsplit("/", 1)[1]
    await exchange.answer(f"{code} Whatever", b"" if code == "204" else b"<html>sorry</html>")


# Bodies


@behaviour
async def empty(exchange: Exchange) -> None:
    await exchange.answer(body=b"")


@behaviour
async def blank(exchange: Exchange) -> None:
    await exchange.answer(body=b" \r\n\t " * 50)


@behaviour
async def endless(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        await exchange.send(b"x" * 65536)


@behaviour
async def endless_chunks(exchange: Exchange) -> None:
    await exchange.stream()
    while True:
        await exchange.chunk(b"y" * 65536)


@behaviour
async def endless_tiny_chunks(exchange: Exchange) -> None:
    await exchange.stream()
    while True:
        await exchange.send(b"1\r\nz\r\n" * 10000)


@behaviour
async def endless_extension(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"5;")
    while True:
        await exchange.send(b"a=b;" * 16384)


@behaviour
async def endless_trailers(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.chunk(FEED)
    await exchange.send(b"0\r\n")
    while True:
        await exchange.send(b"X-More: and more\r\n" * 1000)


@behaviour
async def drip(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await exchange.send(b"x")
        await asyncio.sleep(0.05)


@behaviour
async def drip_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await exchange.send(b"x")
        await asyncio.sleep(0.05)


@behaviour
async def silent(exchange: Exchange) -> None:
    await asyncio.sleep(60)


@behaviour
async def silent_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<rss>")
    await asyncio.sleep(60)


@behaviour
async def says_too_large(exchange: Exchange) -> None:
    await exchange.answer(length=10**12)


@behaviour
async def length_beyond_numbers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\n" + FEED)


@behaviour
async def length_negative(exchange: Exchange) -> None:
    await exchange.answer(length=-5)


@behaviour
async def length_not_a_number(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n" + FEED)


@behaviour
async def length_too_long(exchange: Exchange) -> None:
    await exchange.answer(length=len(FEED) + 1000)


@behaviour
async def length_too_short(exchange: Exchange) -> None:
    await exchange.answer(length=20)


@behaviour
async def length_twice(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 900\r\n\r\n" + FEED)


@behaviour
async def length_and_chunked(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")
    await exchange.chunk(FEED)
    await exchange.send(b"0\r\n\r\n")


@behaviour
async def until_close(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n\r\n" + FEED)


@behaviour
async def old_http(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.0 200 OK\r\n\r\n" + FEED)


@behaviour
async def chunk_size_bad(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"zz\r\nhello\r\n")


@behaviour
async def chunk_size_huge(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"ffffffffffffffffff\r\nhello\r\n")


@behaviour
async def chunks_cut_off(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.chunk(FEED[:30])


@behaviour
async def transfer_encoding_unknown(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: magic\r\n\r\n" + FEED)


# Compression


@behaviour
async def gzipped(exchange: Exchange) -> None:
    await exchange.answer(body=gzip.compress(FEED), headers=("Content-Encoding: gzip",))


@behaviour
async def gzipped_members(exchange: Exchange) -> None:
    body = gzip.compress(FEED[:20]) + gzip.compress(FEED[20:]) + b"\0" * 16
    await exchange.answer(body=body, headers=("Content-Encoding: x-gzip",))


@behaviour
async def gzipped_file(exchange: Exchange) -> None:
    await exchange.answer(body=gzip.compress(FEED), headers=("Content-Type: application/gzip",))


@behaviour
async def deflated(exchange: Exchange) -> None:
    await exchange.answer(body=zlib.compress(FEED), headers=("Content-Encoding: deflate",))


@behaviour
async def deflated_raw(exchange: Exchange) -> None:
    packer = zlib.compressobj(wbits=-15)
    await exchange.answer(body=packer.compress(FEED) + packer.flush(), headers=("Content-Encoding: deflate",))


@behaviour
async def brotlied(exchange: Exchange) -> None:
    await exchange.answer(body=brotli.compress(FEED), headers=("Content-Encoding: br",))


@behaviour
async def packed_twice(exchange: Exchange) -> None:
    await exchange.answer(body=brotli.compress(gzip.compress(FEED)), headers=("Content-Encoding: gzip, br",))


@behaviour
async def gzip_label_lies(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Encoding: gzip",))


@behaviour
async def gzip_cut_off(exchange: Exchange) -> None:
    await exchange.answer(body=gzip.compress(FEED)[:-12], headers=("Content-Encoding: gzip",))


@behaviour
async def gzip_damaged(exchange: Exchange) -> None:
    packed = bytearray(gzip.compress(FEED))
    packed[15:25] = b"\xff" * 10
    await exchange.answer(body=bytes(packed), headers=("Content-Encoding: gzip",))


@behaviour
async def brotli_damaged(exchange: Exchange) -> None:
    await exchange.answer(body=FEED, headers=("Content-Encoding: br",))


@behaviour
async def unknown_encoding(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Encoding: compress",))


@behaviour
async def encodings_without_end(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Encoding: " + ", ".join(["gzip"] * 500),))


@behaviour
async def gzip_bomb(exchange: Exchange) -> None:
    await exchange.answer(body=GZIP_BOMB, headers=("Content-Encoding: gzip",))


@behaviour
async def gzip_bomb_in_gzip(exchange: Exchange) -> None:
    await exchange.answer(body=gzip.compress(GZIP_BOMB), headers=("Content-Encoding: gzip, gzip",))


@behaviour
async def gzip_bomb_file(exchange: Exchange) -> None:
    await exchange.answer(body=GZIP_BOMB, headers=("Content-Type: text/xml",))


@behaviour
async def deflate_bomb(exchange: Exchange) -> None:
    await exchange.answer(body=DEFLATE_BOMB, headers=("Content-Encoding: deflate",))


@behaviour
async def brotli_bomb(exchange: Exchange) -> None:
    await exchange.answer(body=BROTLI_BOMB, headers=("Content-Encoding: br",))


@behaviour
async def empty_members(exchange: Exchange) -> None:
    await exchange.stream(b"Content-Encoding: gzip\r\n")
    member = gzip.compress(b"")
    while True:
        await exchange.chunk(member * 2000)


def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(100)) + packer.flush()


GZIP_BOMB = _bomb()
DEFLATE_BOMB = zlib.compress(bytes(64 << 20), 1)
BROTLI_BOMB = brotli.compress(bytes(64 << 20), quality=1)


# Headers


@behaviour
async def header_huge(exchange: Exchange) -> None:
    await exchange.answer(headers=("X-Huge: " + "h" * 1_000_000,))


@behaviour
async def header_endless(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nX-Endless: ")
    while True:
        await exchange.send(b"e" * 65536)


@behaviour
async def headers_by_thousands(exchange: Exchange) -> None:
    await exchange.answer(headers=tuple(f"X-{i}: {i}" for i in range(5000)))


@behaviour
async def header_bytes_odd(exchange: Exchange) -> None:
    await exchange.send(
        b'HTTP/1.1 200 OK\r\nETag: "\xff\xfe\x80"\r\nLast-Modified: \xe9t\xe9\r\n'
        b"Content-Type: text/xml\x01\r\n"
        b"Cache-Control: \xf0\x9f\x92\xa9\r\nExpires: never\r\nRetry-After: soon\r\nContent-Length: "
        + str(len(FEED)).encode()
        + b"\r\n\r\n"
        + FEED
    )


@behaviour
async def header_nul(exchange: Exchange) -> None:
    await exchange.answer(headers=('ETag: "a\0b"',))


@behaviour
async def header_without_colon(exchange: Exchange) -> None:
    await exchange.answer(headers=("this is no header",))


@behaviour
async def header_bare_cr(exchange: Exchange) -> None:
    await exchange.answer(headers=("X-A: one\rX-B: two",))


@behaviour
async def header_folded(exchange: Exchange) -> None:
    await exchange.answer(headers=("X-Folded: one\r\n  two",))


@behaviour
async def validators_long(exchange: Exchange) -> None:
    await exchange.answer(headers=('ETag: "' + "e" * 9000 + '"', "Last-Modified: " + "m" * 9000))


@behaviour
async def cookies_pressed(exchange: Exchange) -> None:
    await exchange.answer(headers=("Set-Cookie: a=b; Path=/", "Set-Cookie: \x01\x02=3"))


@behaviour
async def links_many(exchange: Exchange) -> None:
    await exchange.answer(
        headers=('Link: <https://hub.example.org/>; rel="hub", </feed>; rel=self', "Link: " + "<a" * 2000)
    )


@behaviour
async def status_long(exchange: Exchange) -> None:
    await exchange.answer("200 " + "O" * 200_000)


# Protocol


@behaviour
async def http_0_9(exchange: Exchange) -> None:
    await exchange.send(FEED)


@behaviour
async def garbage(exchange: Exchange) -> None:
    await exchange.send(bytes(range(256)) * 64)


@behaviour
async def ssh_banner(exchange: Exchange) -> None:
    await exchange.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    await asyncio.sleep(60)


@behaviour
async def http_2(exchange: Exchange) -> None:
    await exchange.send(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" * 8)


@behaviour
async def http_version_odd(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/7.3 200 OK\r\nContent-Length: 3\r\n\r\nabc")


@behaviour
async def status_odd(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 20x OK\r\n\r\n")


@behaviour
async def status_three_zeros(exchange: Exchange) -> None:
    await exchange.answer("000 Nothing")


@behaviour
async def closes_at_once(exchange: Exchange) -> None:
    pass


@behaviour
async def resets_at_once(exchange: Exchange) -> None:
    exchange.reset()


@behaviour
async def resets_in_headers(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Ty")
    await asyncio.sleep(0.02)
    exchange.reset()


@behaviour
async def resets_in_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + FEED)
    await asyncio.sleep(0.02)
    exchange.reset()


@behaviour
async def interim_flood(exchange: Exchange) -> None:
    while True:
        await exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


@behaviour
async def interim_hints(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" * 3)
    await exchange.answer()


@behaviour
async def switches_protocols(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    while True:
        await exchange.send(b"frames" * 1000)


@behaviour
async def answers_twice(exchange: Exchange) -> None:
    await exchange.answer()
    await exchange.answer("500 Second", b"smuggled")


# Redirects


@behaviour
async def redirect(exchange: Exchange) -> None:
    """/redirect/301?where"""
    path, _, where = exchange.asked.path.partition("?")
    await exchange.answer(f"{path.rsplit('/', 1)[1]} Moved", b"", (f"Location: {where}",))


@behaviour
async def redirect_to_fine(exchange: Exchange) -> None:
    await exchange.answer("301 Moved", b"", ("Location: /fine",))


@behaviour
async def redirect_loop(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: /redirect_loop",))


@behaviour
async def redirect_pair(exchange: Exchange) -> None:
    other = "b" if exchange.asked.path.endswith("a") else "a"
    await exchange.answer("302 Found", b"", (f"Location: /redirect_pair/{other}",))


@behaviour
async def redirect_forever(exchange: Exchange) -> None:
    number = int(exchange.asked.path.rsplit("/", 1)[1] or 0) if exchange.asked.path.count("/") > 1 else 0
    await exchange.answer("302 Found", b"", (f"Location: /redirect_forever/{number + 1}",))


@behaviour
async def redirect_nowhere(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"")


@behaviour
async def redirect_with_endless_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 302 Found\r\nLocation: /fine\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(50):
        await exchange.chunk(b"r" * 65536)


@behaviour
async def redirect_bytes_odd(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe\x80/\r\nContent-Length: 0\r\n\r\n")


@behaviour
async def throttled(exchange: Exchange) -> None:
    await exchange.answer("429 Slow Down", b"", ("Retry-After: 120",))


@behaviour
async def overloaded(exchange: Exchange) -> None:
    await exchange.answer("503 Later", b"", ("Retry-After: 120",))


@behaviour
async def error_with_endless_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 500 Broken\r\n\r\n")
    while True:
        await exchange.send(b"sorry " * 10000)


@behaviour
async def refuses_tunnel(exchange: Exchange) -> None:
    await exchange.answer("407 Who Are You", b"")


@behaviour
async def icy(exchange: Exchange) -> None:
    await exchange.send(b"ICY 200 OK\r\nicy-name: Reeds\r\n\r\n" + FEED)


@behaviour
async def lines_with_lf_only(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(FEED) + FEED)


@behaviour
async def without_reason(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n" % len(FEED) + FEED)


@behaviour
async def blank_lines_first(exchange: Exchange) -> None:
    await exchange.send(b"\r\n\r\n")
    await exchange.answer()


@behaviour
async def transfer_gzip(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")
    await exchange.chunk(gzip.compress(FEED))
    await exchange.send(b"0\r\n\r\n")


@behaviour
async def gzip_endless_name(exchange: Exchange) -> None:
    await exchange.stream(b"Content-Encoding: gzip\r\n")
    await exchange.chunk(b"\x1f\x8b\x08\x08\0\0\0\0\0\xff")
    while True:
        await exchange.chunk(b"n" * 65536)


@behaviour
async def zstd_damaged(exchange: Exchange) -> None:
    await exchange.answer(body=b"\x28\xb5\x2f\xfd" + FEED, headers=("Content-Encoding: zstd",))


@behaviour
async def unchanged_with_body(exchange: Exchange) -> None:
    await exchange.answer("304 Not Modified", FEED)


@behaviour
async def policy_header_long(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Security-Policy: " + "default-src 'self'; " * 1000,))


@behaviour
async def redirect_growing(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", (f"Location: {exchange.asked.path}/x",))


@behaviour
async def redirect_slow(exchange: Exchange) -> None:
    await asyncio.sleep(0.5)
    await exchange.answer("302 Found", b"", (f"Location: {exchange.asked.path}/x",))


@behaviour
async def redirect_long(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: /" + "l" * 20_000,))


@behaviour
async def redirect_split(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: /fine%0d%0aX-Evil:%201\tx",))


@behaviour
async def redirect_several(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: /fine", "Location: http://10.0.0.1/"))


@behaviour
async def says_closed_then_more(exchange: Exchange) -> None:
    await exchange.answer(headers=("Connection: close",))
    await exchange.send(b"x" * 1000)


@behaviour
async def scripted(exchange: Exchange) -> None:
    await exchange.send(exchange.server.script)


# More of everything, as seen in the wild and as nobody should meet it


@behaviour
async def chunked_upper_case(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\n")
    await exchange.send(b"%X\r\n" % len(FEED) + FEED + b"\r\n0\r\n\r\n")


@behaviour
async def chunk_size_signed(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"+5\r\nhello\r\n0\r\n\r\n")


@behaviour
async def chunk_size_negative(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"-5\r\nhello\r\n0\r\n\r\n")


@behaviour
async def chunk_size_with_prefix(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"0x5\r\nhello\r\n0\r\n\r\n")


@behaviour
async def chunk_without_end(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.chunk(FEED)


@behaviour
async def chunk_longer_than_said(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"5\r\n" + FEED + b"\r\n0\r\n\r\n")


@behaviour
async def chunks_of_one(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.send(b"".join(b"1\r\n%c\r\n" % byte for byte in FEED) + b"0\r\n\r\n")


@behaviour
async def chunks_with_trailers(exchange: Exchange) -> None:
    await exchange.stream(b"Trailer: X-Sum\r\n")
    await exchange.chunk(FEED)
    await exchange.send(b"0\r\nX-Sum: 1\r\n\r\n")


@behaviour
async def chunks_over_length(exchange: Exchange) -> None:
    await exchange.send(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % len(FEED)
    )
    await exchange.send(FEED)


@behaviour
async def chunked_twice(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n")
    await exchange.chunk(FEED)
    await exchange.send(b"0\r\n\r\n")


@behaviour
async def length_empty(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n" + FEED)


@behaviour
async def length_hex(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n" + FEED)


@behaviour
async def length_twice_the_same(exchange: Exchange) -> None:
    line = b"Content-Length: %d\r\n" % len(FEED)
    await exchange.send(b"HTTP/1.1 200 OK\r\n" + line + line + b"\r\n" + FEED)


@behaviour
async def length_of_zero_with_body(exchange: Exchange) -> None:
    await exchange.answer(length=0)


@behaviour
async def drip_chunks(exchange: Exchange) -> None:
    await exchange.stream()
    while True:
        await exchange.send(b"1\r\nx\r\n")
        await asyncio.sleep(0.05)


@behaviour
async def drip_status_line(exchange: Exchange) -> None:
    for byte in b"HTTP/1.1 200 OK\r\n" * 100:
        await exchange.send(bytes([byte]))
        await asyncio.sleep(0.05)


@behaviour
async def drip_gzip(exchange: Exchange) -> None:
    await exchange.stream(b"Content-Encoding: gzip\r\n")
    for byte in GZIP_BOMB:
        await exchange.chunk(bytes([byte]))
        await asyncio.sleep(0.05)


@behaviour
async def drip_interim(exchange: Exchange) -> None:
    while True:
        await exchange.send(b"HTTP/1.1 102 Processing\r\n\r\n")
        await asyncio.sleep(0.3)


@behaviour
async def brotli_bomb_in_gzip(exchange: Exchange) -> None:
    await exchange.answer(body=gzip.compress(BROTLI_BOMB), headers=("Content-Encoding: br, gzip",))


@behaviour
async def brotli_cut_off(exchange: Exchange) -> None:
    await exchange.answer(body=brotli.compress(FEED)[:-4], headers=("Content-Encoding: br",))


@behaviour
async def deflate_label_lies(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Encoding: deflate",))


@behaviour
async def gzip_wrong_checksum(exchange: Exchange) -> None:
    packed = bytearray(gzip.compress(FEED))
    packed[-8:-4] = b"\0\0\0\0"
    await exchange.answer(body=bytes(packed), headers=("Content-Encoding: gzip",))


@behaviour
async def gzip_then_garbage(exchange: Exchange) -> None:
    await exchange.answer(body=gzip.compress(FEED) + b"garbage" * 10, headers=("Content-Encoding: gzip",))


@behaviour
async def identity_named(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Encoding: identity",))


@behaviour
async def encoding_empty(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Encoding: ",))


@behaviour
async def encoding_upper_case(exchange: Exchange) -> None:
    await exchange.answer(body=gzip.compress(FEED), headers=("CONTENT-ENCODING: GZip",))


@behaviour
async def header_name_with_space(exchange: Exchange) -> None:
    await exchange.answer(headers=("X Spaced: 1",))


@behaviour
async def header_name_before_colon_space(exchange: Exchange) -> None:
    await exchange.answer(headers=("X-Late : 1",))


@behaviour
async def header_name_empty(exchange: Exchange) -> None:
    await exchange.answer(headers=(": nothing",))


@behaviour
async def header_value_empty(exchange: Exchange) -> None:
    await exchange.answer(headers=("ETag:", "Last-Modified:", "Expires:", "Retry-After:", "Cache-Control:"))


@behaviour
async def header_utf8(exchange: Exchange) -> None:
    await exchange.send(
        "HTTP/1.1 200 OK\r\nX-Naïve: café ☕\r\nContent-Length: ".encode() + b"%d\r\n\r\n" % len(FEED) + FEED
    )


@behaviour
async def retry_after_absurd(exchange: Exchange) -> None:
    await exchange.answer("503 Later", b"", ("Retry-After: " + "9" * 400,))


@behaviour
async def retry_after_negative(exchange: Exchange) -> None:
    await exchange.answer("503 Later", b"", ("Retry-After: -1",))


@behaviour
async def retry_after_past(exchange: Exchange) -> None:
    await exchange.answer("429 Slow", b"", ("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT",))


@behaviour
async def dates_impossible(exchange: Exchange) -> None:
    await exchange.answer(
        headers=(
            "Last-Modified: Wed, 99 Foo 99999 99:99:99 XYZ",
            "Expires: 0",
            "Date: yesterday",
            "Cache-Control: max-age=99999999999999999999, max-age=-1, stale-while-revalidate=x",
        )
    )


@behaviour
async def etag_unquoted(exchange: Exchange) -> None:
    await exchange.answer(headers=("ETag: abc def; ghi", "ETag: W/", "Vary: *"))


@behaviour
async def status_negative(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 -200 OK\r\n\r\n")


@behaviour
async def status_of_four(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n")


@behaviour
async def status_line_only(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\n")


@behaviour
async def status_line_lower_case(exchange: Exchange) -> None:
    await exchange.send(b"http/1.1 200 ok\r\nContent-Length: 0\r\n\r\n")


@behaviour
async def page_instead(exchange: Exchange) -> None:
    await exchange.answer(body=b"<!doctype html><title>Parked</title>" + b"<p>buy</p>" * 99)


@behaviour
async def not_modified_by_200(exchange: Exchange) -> None:
    await exchange.answer("200 Not Modified", b"")


@behaviour
async def no_content(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\nsurprise!")


@behaviour
async def partial_content(exchange: Exchange) -> None:
    await exchange.answer("206 Partial", FEED[:40], ("Content-Range: bytes 0-39/400",))


@behaviour
async def gone(exchange: Exchange) -> None:
    await exchange.answer("410 Gone", b"<html>gone</html>")


@behaviour
async def early_hints_endless_links(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 103 Early Hints\r\n" + b"Link: </a>; rel=preload\r\n" * 150 + b"\r\n")
    await exchange.answer()


@behaviour
async def redirect_to_itself_with_fragment(exchange: Exchange) -> None:
    await exchange.answer("301 Moved", b"", ("Location: /redirect_to_itself_with_fragment#x",))


@behaviour
async def redirect_empty(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: ",))


@behaviour
async def redirect_blank_scheme(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: http://",))


@behaviour
async def redirect_to_script(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: javascript:alert(1)",))


@behaviour
async def redirect_to_file(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: file:///etc/passwd",))


@behaviour
async def redirect_to_inside(exchange: Exchange) -> None:
    await exchange.answer("302 Found", b"", ("Location: http://169.254.169.254/latest/meta-data/",))


@behaviour
async def redirect_with_credentials(exchange: Exchange) -> None:
    host = exchange.asked.headers["host"]
    await exchange.answer("302 Found", b"", (f"Location: http://user:secret@{host}/fine",))


@behaviour
async def redirect_multiple_choices(exchange: Exchange) -> None:
    await exchange.answer("300 Multiple", b"<a href=/fine>one</a>", ("Location: /fine",))


@behaviour
async def redirect_use_proxy(exchange: Exchange) -> None:
    await exchange.answer("305 Use Proxy", b"", ("Location: http://10.0.0.1:3128/",))


@behaviour
async def goes_away_keeping_alive(exchange: Exchange) -> None:
    await exchange.answer(headers=("Connection: keep-alive", "Keep-Alive: timeout=99999999, max=-1"))


@behaviour
async def asks_to_upgrade(exchange: Exchange) -> None:
    await exchange.answer("426 Upgrade Required", b"", ("Upgrade: h2c", "Connection: Upgrade"))


@behaviour
async def asks_for_login(exchange: Exchange) -> None:
    await exchange.answer(
        "401 Who", b"", ('WWW-Authenticate: Basic realm="\xff', "WWW-Authenticate: " + "Negotiate " * 500)
    )
