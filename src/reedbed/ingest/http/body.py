"""Read a response body that may be endless, broken or a decompression bomb.

Bytes are processed as they arrive. Every layer (the bytes on the wire and each decompression) has the same
limit, checked chunk by chunk: nothing is decompressed beyond the limit just to find out its size.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Protocol

import brotli

from reedbed.domain.failures import Failure, FailureCode

if TYPE_CHECKING:
    from backports.zstd import ZstdDecompressor

ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_CHUNK_BYTES = 64 * 1024
_MAX_LAYERS = 3
_MAX_MEMBERS = 1024
_ZSTD_WINDOW_LOG = 23
_GZIP_MAGIC = b"\x1f\x8b"


class BodyTooLarge(Exception):
    """The body is larger than the limit."""


class BodyNotDecodable(Exception):
    """The bytes do not match Content-Encoding; `failure` says why."""

    def __init__(self, code: FailureCode) -> None:
        self.failure = Failure(code)
        super().__init__(self.failure.message)


async def read_body(chunks: AsyncIterator[bytes], encoding: str | None, limit: int) -> bytes:
    layers = [_LimitedLayer(_Plain(), limit), *(_LimitedLayer(layer, limit) for layer in _layers(encoding))]
    parts: list[bytes] = []
    async for chunk in chunks:
        parts.extend(_push(layers, chunk))
    for layer in layers:
        layer.finish()
    body = b"".join(parts)
    if body.startswith(_GZIP_MAGIC):
        # A compressed file served without Content-Encoding: no feed, page or image starts like this.
        return _gunzip(body, limit)
    return body


def _push(layers: "list[_LimitedLayer]", chunk: bytes) -> Iterator[bytes]:
    if not layers:
        yield chunk
        return
    for output in layers[0].feed(chunk):
        yield from _push(layers[1:], output)


def _gunzip(body: bytes, limit: int) -> bytes:
    layer = _LimitedLayer(_Zlib(gzip=True), limit)
    unpacked = b"".join(layer.feed(body))
    layer.finish()
    return unpacked


def _layers(encoding: str | None) -> "list[_Layer]":
    names = [name for part in (encoding or "").lower().split(",") if (name := part.strip())]
    if len(names) > _MAX_LAYERS:
        raise BodyNotDecodable(FailureCode.COMPRESSION_LAYERS)
    return [_layer(name) for name in reversed(names) if name not in ("identity", "none", "utf-8")]


def _layer(name: str) -> "_Layer":
    match name:
        case "gzip" | "x-gzip":
            return _Zlib(gzip=True)
        case "deflate":
            return _Zlib(gzip=False)
        case "br":
            return _Brotli()
        case "zstd":
            return _Zstd()
        case _:
            raise BodyNotDecodable(FailureCode.COMPRESSION_UNKNOWN)


class _Layer(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the output in chunks of bounded size."""
        ...

    def finish(self) -> None:
        """Raise `BodyNotDecodable` if the end is missing."""
        ...


class _LimitedLayer:
    def __init__(self, layer: _Layer, limit: int) -> None:
        self._layer = layer
        self._remaining = limit

    def feed(self, data: bytes) -> Iterator[bytes]:
        for chunk in self._layer.feed(data):
            self._remaining -= len(chunk)
            if self._remaining < 0:
                raise BodyTooLarge
            yield chunk

    def finish(self) -> None:
        self._layer.finish()


class _Plain:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def finish(self) -> None:
        pass


class _Inflater(Protocol):
    """The object that `zlib.decompressobj` returns; its own type has no public name."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...


class _Zlib:
    """gzip with any number of members, or deflate with or without the zlib header."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._stream: _Inflater | None = None
        self._members = 0
        self._mislabelled = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._mislabelled:
            stream = self._stream or self._open(data)
            if stream is None:
                break
            yield from _inflate(stream, data)
            data = stream.unused_data
            self._stream = None if stream.eof else stream
        if self._mislabelled:
            yield data

    def finish(self) -> None:
        if self._stream is not None:
            raise BodyNotDecodable(FailureCode.COMPRESSION_CUT_OFF)

    def _open(self, data: bytes) -> _Inflater | None:
        """Start the next member; None if the remaining data is not compressed."""
        not_gzip = self._gzip and not data.startswith(_GZIP_MAGIC[: len(data)])
        if self._members and (not_gzip or not self._gzip):
            # Ignore padding after the last member, as browsers do.
            return None
        if not_gzip:
            self._mislabelled = True
            return None
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise BodyNotDecodable(FailureCode.COMPRESSION_PARTS)
        return zlib.decompressobj(self._window(data))

    def _window(self, data: bytes) -> int:
        if self._gzip:
            return zlib.MAX_WBITS | 16
        wrapped = data[0] & 0x0F == 8 and (len(data) < 2 or int.from_bytes(data[:2]) % 31 == 0)
        return zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS


def _inflate(stream: _Inflater, data: bytes) -> Iterator[bytes]:
    try:
        while data:
            if chunk := stream.decompress(data, _CHUNK_BYTES):
                yield chunk
            data = stream.unconsumed_tail
    except zlib.error:
        raise BodyNotDecodable(FailureCode.COMPRESSION_DAMAGED) from None


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._started = True
        try:
            yield self._stream.process(data, output_buffer_limit=_CHUNK_BYTES)
            while not self._stream.can_accept_more_data():
                yield self._stream.process(b"", output_buffer_limit=_CHUNK_BYTES)
        except brotli.error:
            raise BodyNotDecodable(FailureCode.COMPRESSION_DAMAGED) from None

    def finish(self) -> None:
        if self._started and not self._stream.is_finished():
            raise BodyNotDecodable(FailureCode.COMPRESSION_CUT_OFF)


class _Zstd:
    """Any number of frames, each with at most the window size that RFC 9659 allows on the web."""

    def __init__(self) -> None:
        self._stream: ZstdDecompressor | None = None
        self._frames = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            stream = self._stream or self._open()
            yield from _decompress_zstd(stream, data)
            data = stream.unused_data if stream.eof else b""
            self._stream = None if stream.eof else stream

    def finish(self) -> None:
        if self._stream is not None:
            raise BodyNotDecodable(FailureCode.COMPRESSION_CUT_OFF)

    def _open(self) -> "ZstdDecompressor":
        from backports.zstd import DecompressionParameter, ZstdDecompressor

        self._frames += 1
        if self._frames > _MAX_MEMBERS:
            raise BodyNotDecodable(FailureCode.COMPRESSION_PARTS)
        return ZstdDecompressor(options={DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})


def _decompress_zstd(stream: "ZstdDecompressor", data: bytes) -> Iterator[bytes]:
    from backports.zstd import ZstdError

    try:
        yield stream.decompress(data, _CHUNK_BYTES)
        while not stream.eof and not stream.needs_input:
            yield stream.decompress(b"", _CHUNK_BYTES)
    except ZstdError:
        raise BodyNotDecodable(FailureCode.COMPRESSION_DAMAGED) from None
