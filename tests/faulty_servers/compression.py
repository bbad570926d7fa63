"""Packed bodies: honest ones, damaged ones, lies and bombs."""

import asyncio
import gzip
import zlib

import brotli

from tests.faulty_servers.server import FEED, Exchange, behaviour


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
async def drip_gzip(exchange: Exchange) -> None:
    await exchange.stream(b"Content-Encoding: gzip\r\n")
    for byte in GZIP_BOMB:
        await exchange.chunk(bytes([byte]))
        await asyncio.sleep(0.05)


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


def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(100)) + packer.flush()


GZIP_BOMB = _bomb()


DEFLATE_BOMB = zlib.compress(bytes(64 << 20), 1)


BROTLI_BOMB = brotli.compress(bytes(64 << 20), quality=1)
