"""The pictures of a book: fetched through the guarded client, made small, within the limits of the book."""

import asyncio
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from time import monotonic

from reedbed.domain.books import MAX_PICTURE_BYTES, MAX_PICTURES
from reedbed.domain.images import MAIL_KEY, MAIL_PATH, image_type
from reedbed.domain.refresh.outcomes import Fetched, FetchRequest
from reedbed.ingest.epub.pictures import BATCH_BYTES, BATCH_SIZE, convert_safely
from reedbed.ingest.epub.writer import EpubWriter
from reedbed.services.runtime import Runtime
from reedbed.store import blobs

SECONDS = 180.0
"""For all pictures of a book."""
MAX_CONCURRENT_FETCHES = 4
_ACCEPT = "image/jpeg, image/png, image/webp, image/avif, image/gif;q=0.9, */*;q=0.1"
_MAX_DATA_URL = 2_000_000


class PictureBox:
    def __init__(self, runtime: Runtime, writer: EpubWriter) -> None:
        self._runtime, self._writer = runtime, writer
        self.files: dict[str, str] = {}
        """The file in the book by URL."""
        self._missing: set[str] = set()
        self._loaded: list[tuple[str, bytes]] = []
        """Not yet converted."""
        self._bytes = 0
        self._ends_at = monotonic() + SECONDS

    @property
    def left_out(self) -> int:
        return len(self._missing)

    async def add(self, urls: Sequence[str]) -> None:
        wanted = [url for url in dict.fromkeys(urls) if url not in self.files and url not in self._missing]
        for start in range(0, len(wanted), MAX_CONCURRENT_FETCHES):
            some = wanted[start : start + MAX_CONCURRENT_FETCHES]
            if self._is_full():
                break
            loaded = await asyncio.gather(*map(self._load, some))
            self._loaded += [(url, data) for url, data in zip(some, loaded, strict=True) if image_type(data)]
            if len(self._loaded) >= BATCH_SIZE or sum(len(data) for _, data in self._loaded) >= BATCH_BYTES:
                await self._convert()
        await self._convert()
        self._missing.update(url for url in wanted if url not in self.files)

    async def _convert(self) -> None:
        loaded, self._loaded = self._loaded, []
        made = await convert_safely([data for _, data in loaded]) if loaded else []
        for (url, _), picture in zip(loaded, made, strict=True):
            if picture is None or self._is_full() or self._bytes + len(picture.data) > MAX_PICTURE_BYTES:
                continue
            self._bytes += len(picture.data)
            self.files[url] = await asyncio.to_thread(self._writer.add_picture, picture.data, picture.media_type)

    def leave_out(self, urls: Sequence[str]) -> None:
        self._missing.update(url for url in urls if url not in self.files)

    def _is_full(self) -> bool:
        return len(self.files) >= MAX_PICTURES or self._bytes >= MAX_PICTURE_BYTES or monotonic() > self._ends_at

    async def _load(self, url: str) -> bytes:
        if url.startswith("data:"):
            return _of_data_url(url)
        if url.startswith(MAIL_PATH):
            async with self._runtime.db.read() as tx:
                kept = await blobs.kept(tx, f"{MAIL_KEY}{url.removeprefix(MAIL_PATH)}")
            return kept[1] if kept else b""
        if not url.startswith(("http://", "https://")):
            return b""
        return await self._fetch(url)

    async def _fetch(self, url: str) -> bytes:
        images = self._runtime.images
        cached = await asyncio.to_thread(images.cache.get, url) if images.cache is not None else None
        if cached is not None:
            return cached
        try:
            async with asyncio.timeout(max(0.1, min(images.timeout, self._ends_at - monotonic()))):
                outcome = await self._runtime.fetcher.fetch(
                    FetchRequest(url, accept=_ACCEPT, max_bytes=images.max_bytes)
                )
        except TimeoutError:
            return b""
        return outcome.body if isinstance(outcome, Fetched) else b""


def _of_data_url(url: str) -> bytes:
    head, _, data = url.partition(",")
    if not head.endswith(";base64") or len(data) > _MAX_DATA_URL:
        return b""
    try:
        return b64decode(data)
    except (NotBase64, ValueError):
        return b""
