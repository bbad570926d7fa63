"""Moving in from another reader: feeds and folders are followed, read and starred marks come along.

Feeds are shared, so what a person's file says of an entry is never written into one: a kept entry that its
feed does not have goes to a feed of this user alone, and what was read is remembered until it arrives.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from reedbed.domain.errors import Invalid
from reedbed.domain.hints import Hint
from reedbed.domain.libraries import Library, LibraryReport, ReadMark
from reedbed.domain.opml import OpmlFeed, OpmlOutline
from reedbed.domain.retention import removed_key
from reedbed.domain.texts import storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import feed_address, normalize_url
from reedbed.ingest.libraries.miniflux import read_miniflux
from reedbed.ingest.libraries.starred import read_starred
from reedbed.services.announcing import announce_counts
from reedbed.services.credentials import split_credentials
from reedbed.services.imported_entries import Brought, bring_kept
from reedbed.services.opml import follow_lines, import_opml
from reedbed.services.runtime import Runtime
from reedbed.store import events, imported, reading, subscriptions
from reedbed.store.database import Tx
from reedbed.store.foreign import read_database

T = TypeVar("T")

AT_ONCE = 100
LARGEST_JSON = 30_000_000
LARGEST_OPML = 10_000_000
_NEITHER = (
    "This is no file that Reedbed knows. It takes OPML, the starred JSON of Google Takeout, Feedly, "
    "Inoreader or FreshRSS, and the SQLite databases of FreshRSS, Fusion and ReedMe."
)


async def import_file(runtime: Runtime, user_id: int, path: Path) -> LibraryReport:
    """Any file that another reader gives out, told apart by what is in it."""
    library = await asyncio.to_thread(read_library, path)
    if library is None:
        report = await import_opml(runtime, user_id, await asyncio.to_thread(path.read_bytes))
        return LibraryReport("OPML", report.imported, report.skipped, report.errors)
    return await import_library(runtime, user_id, library)


def read_library(path: Path) -> Library | None:
    """What is in the file; None for OPML, which has a reader of its own."""
    with path.open("rb") as file:
        head = file.read(200)
    if head.startswith(b"SQLite format 3\0"):
        return read_database(path)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"{", b"[")):
        if path.stat().st_size > LARGEST_JSON:
            raise Invalid(f"A JSON file may have at most {LARGEST_JSON // 1_000_000} MB.", field="file")
        return read_starred(path.read_bytes())
    if start.startswith(b"<"):
        if path.stat().st_size > LARGEST_OPML:
            raise Invalid(f"An OPML file may have at most {LARGEST_OPML // 1_000_000} MB.", field="file")
        return None
    raise Invalid(_NEITHER, field="file")


async def import_miniflux(runtime: Runtime, user_id: int, address: str, token: str) -> LibraryReport:
    if not token.strip():
        raise Invalid("Miniflux needs a token: make one under Settings, API Keys.", field="token")
    return await import_library(
        runtime, user_id, await read_miniflux(runtime.fetcher, address, token.strip())
    )


async def import_library(runtime: Runtime, user_id: int, library: Library) -> LibraryReport:
    progress = _Progress(runtime, user_id, _steps(library))
    followed = LibraryReport(library.source)
    if library.source != "starred JSON":  # to star an entry is not to follow its feed
        followed = await _follow(runtime, user_id, library, progress)
    homes = await _homes(runtime, user_id, library)
    read = await _bring_reads(runtime, user_id, library, homes, progress)
    kept = await _bring_kept(runtime, user_id, library, homes, progress)
    report = replace(
        followed, read=read, starred=kept.starred, tagged=kept.tagged, bookmarked=kept.bookmarked
    )
    async with runtime.db.write() as tx:
        detail = {"source": report.source, "feeds": report.imported, "starred": report.starred}
        await events.note(tx, runtime.now(), "library_imported", user_id, detail)
    await runtime.bus.publish(Hint("subscriptions", user_id=user_id))
    await announce_counts(runtime, user_id)
    return report


@dataclass(slots=True)
class _Progress:
    runtime: Runtime
    user_id: int
    total: int
    done: int = 0

    async def add(self, count: int) -> None:
        self.done += count
        data = {"what": "opml", "done": min(self.done, self.total), "total": self.total}
        await self.runtime.bus.publish(Hint("progress", user_id=self.user_id, data=data))


def _steps(library: Library) -> int:
    return len(library.feeds) + len(library.reads) + len(library.kept)


# ---- feeds -------------------------------------------------------------------------------------------


async def _follow(runtime: Runtime, user_id: int, library: Library, progress: _Progress) -> LibraryReport:
    report = LibraryReport(library.source)
    lines = [
        OpmlFeed(OpmlOutline(storable(feed.title), xml_url=feed.url, type="rss"), feed.path)
        for feed in library.feeds
    ]
    for some in _pieces(lines):
        done = await follow_lines(runtime, user_id, some)
        report = replace(
            report,
            imported=report.imported + done.imported,
            skipped=report.skipped + done.skipped,
            errors=(*report.errors, *done.errors),
        )
        await progress.add(len(some))
    return report


async def _homes(runtime: Runtime, user_id: int, library: Library) -> dict[str, int]:
    """The feed here, for each that this user follows now, by its name there."""
    async with runtime.db.read() as tx:
        followed = await subscriptions.every(tx, user_id)
    by_address = {address: one.feed.id for one in followed for address in (one.asked_url, one.feed.url)}
    homes: dict[str, int] = {}
    for feed in library.feeds:
        try:
            address = split_credentials(feed_address(feed.url)).url
        except Invalid:
            continue
        if address in by_address:
            homes[feed.key] = by_address[address]
    return homes


# ---- what was read -----------------------------------------------------------------------------------


async def _bring_reads(
    runtime: Runtime, user_id: int, library: Library, homes: dict[str, int], progress: _Progress
) -> int:
    by_feed: defaultdict[int, list[ReadMark]] = defaultdict(list)
    for mark in library.reads:
        if mark.feed_key in homes:
            by_feed[homes[mark.feed_key]].append(mark)
    brought = 0
    for feed_id, found in by_feed.items():
        for some in _pieces(found):
            async with runtime.db.write() as tx:
                await _bring_some_reads(tx, user_id, feed_id, some, runtime.now())
            brought += len(some)
            await progress.add(len(some))
    return brought


async def _bring_some_reads(
    tx: Tx, user_id: int, feed_id: int, some: Sequence[ReadMark], now: Instant
) -> None:
    guids = {storable(mark.guid) for mark in some if mark.guid}
    urls = {url for mark in some if mark.url and (url := normalize_url(mark.url))}
    known = await imported.known(tx, feed_id, sorted(guids), sorted(urls))
    await reading.read(tx, user_id, [entry_id for entry_id, _, _ in known])
    guids -= {guid for _, guid, _ in known if guid}
    urls -= {url for _, _, url in known if url}
    keys = [removed_key("guid", guid) for guid in guids] + [removed_key("url", url) for url in urls]
    await imported.remember(tx, user_id, feed_id, keys, now)


# ---- what was kept -----------------------------------------------------------------------------------


async def _bring_kept(
    runtime: Runtime, user_id: int, library: Library, homes: dict[str, int], progress: _Progress
) -> Brought:
    brought = Brought()
    for some in _pieces(library.kept):
        brought += await bring_kept(runtime, user_id, some, homes)
        await progress.add(len(some))
    return brought


def _pieces(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), AT_ONCE):
        yield rows[start : start + AT_ONCE]
