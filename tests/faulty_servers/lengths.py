"""Lies about how long a body is, and chunks that do not add up."""

from tests.faulty_servers.server import FEED, Exchange, behaviour


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
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % len(FEED))
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
