"""Answers that are hardly HTTP, and connections that break."""

import asyncio

from tests.faulty_servers.server import FEED, Exchange, behaviour


@behaviour
async def status_long(exchange: Exchange) -> None:
    await exchange.answer("200 " + "O" * 200_000)


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
async def says_closed_then_more(exchange: Exchange) -> None:
    await exchange.answer(headers=("Connection: close",))
    await exchange.send(b"x" * 1000)


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
async def goes_away_keeping_alive(exchange: Exchange) -> None:
    await exchange.answer(headers=("Connection: keep-alive", "Keep-Alive: timeout=99999999, max=-1"))


@behaviour
async def asks_to_upgrade(exchange: Exchange) -> None:
    await exchange.answer("426 Upgrade Required", b"", ("Upgrade: h2c", "Connection: Upgrade"))
