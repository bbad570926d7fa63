"""Headers nobody should send."""

from tests.faulty_servers.server import FEED, Exchange, behaviour


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
async def policy_header_long(exchange: Exchange) -> None:
    await exchange.answer(headers=("Content-Security-Policy: " + "default-src 'self'; " * 1000,))


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
async def early_hints_endless_links(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 103 Early Hints\r\n" + b"Link: </a>; rel=preload\r\n" * 150 + b"\r\n")
    await exchange.answer()
