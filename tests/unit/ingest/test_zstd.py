"""Bodies that come compressed as zstd."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from backports import zstd

from reedbed.ingest.http.body import ACCEPT_ENCODING, BodyNotDecodable, BodyTooLarge, read_body

FEED = b"<rss>" + b"reeds and water " * 5000 + b"</rss>"
LIMIT = 200_000


def body_of(data: bytes, *, piece: int = 1000, encoding: str = "zstd") -> bytes:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), piece):
            yield data[start : start + piece]

    return asyncio.run(read_body(chunks(), encoding, LIMIT))


def test_servers_are_told_that_zstd_is_understood() -> None:
    assert "zstd" in ACCEPT_ENCODING


@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_body_is_unpacked_however_it_arrives(piece: int) -> None:
    assert body_of(zstd.compress(FEED), piece=piece) == FEED


def test_several_frames_are_one_body() -> None:
    assert body_of(zstd.compress(FEED[:100]) + zstd.compress(FEED[100:])) == FEED


def test_a_bomb_is_stopped_at_the_limit() -> None:
    with pytest.raises(BodyTooLarge):
        body_of(zstd.compress(bytes(64 << 20)))


def test_a_body_that_breaks_off_is_refused() -> None:
    with pytest.raises(BodyNotDecodable, match="broke off"):
        body_of(zstd.compress(FEED)[:-5])


def test_what_is_not_zstd_is_refused() -> None:
    with pytest.raises(BodyNotDecodable, match="damaged"):
        body_of(FEED)


def test_a_window_larger_than_the_web_allows_is_refused() -> None:
    wide = zstd.compress(
        bytes(range(256)) * 70_000,
        options={zstd.CompressionParameter.window_log: 25, zstd.CompressionParameter.content_size_flag: 0},
    )
    with pytest.raises((BodyNotDecodable, BodyTooLarge)):
        body_of(wide)


def test_more_frames_than_anybody_needs_are_refused() -> None:
    with pytest.raises(BodyNotDecodable, match="too many"):
        body_of(zstd.compress(b"x") * 2000)
