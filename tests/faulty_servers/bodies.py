"""Bodies that never come, never end or come a drop at a time."""

import asyncio

from tests.faulty_servers.server import FEED, Exchange, behaviour


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
async def drip_interim(exchange: Exchange) -> None:
    while True:
        await exchange.send(b"HTTP/1.1 102 Processing\r\n\r\n")
        await asyncio.sleep(0.3)
