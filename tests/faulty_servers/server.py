"""A loopback server that does everything a server should not, one misbehaviour per path.

Spoken on raw sockets, because no HTTP library would agree to say most of this.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ssl import SSLContext
from types import TracebackType
from typing import Self

FEED = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>Reeds</title>'
    b"<item><title>One</title><guid>1</guid></item></channel></rss>"
)


@dataclass
class StreamRequest:
    path: str
    headers: dict[str, str]


@dataclass
class Exchange:
    """One connection after its request has been read."""

    asked: StreamRequest
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: "MisbehavingServer"

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self, status: str = "200 OK", body: bytes = FEED, headers: tuple[str, ...] = (), *, length: int | None = None
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
    asked: list[StreamRequest] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    script: bytes = b""
    """What `scripted` says."""

    def url(self, path: str, host: str | None = None) -> str:
        scheme = "https" if self.ssl_context else "http"
        return f"{scheme}://{host or self.host}:{self.port}/{path}"

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
            asked = StreamRequest(path, {name.lower(): value for name, value in fields})
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
