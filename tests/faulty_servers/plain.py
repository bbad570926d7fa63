"""What most servers say most of the time."""

from tests.faulty_servers.server import FEED, Exchange, behaviour


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
async def unchanged_with_body(exchange: Exchange) -> None:
    await exchange.answer("304 Not Modified", FEED)


@behaviour
async def scripted(exchange: Exchange) -> None:
    await exchange.send(exchange.server.script)


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
async def asks_for_login(exchange: Exchange) -> None:
    await exchange.answer(
        "401 Who", b"", ('WWW-Authenticate: Basic realm="\xff', "WWW-Authenticate: " + "Negotiate " * 500)
    )
