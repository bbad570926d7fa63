"""Redirects to everywhere."""

import asyncio

from tests.faulty_servers.server import Exchange, behaviour


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
