"""Moving in from another reader: feeds and folders are followed, read and starred marks come along.

Feeds are shared, so what a person's file says of an entry is never written into one: a kept entry that its
feed does not have goes to a feed of this user alone, and what was read is remembered until it arrives.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reedbed.domain.errors import Invalid
from reedbed.domain.hints import Hint
from reedbed.domain.libraries import STARRED_JSON, ForeignFeed, Library, LibraryReport, ReadMark
from reedbed.domain.opml import OpmlFeed, OpmlOutline
from reedbed.domain.retention import removed_key
from reedbed.domain.texts import storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import feed_address, normalize_url
from reedbed.ingest.libraries.miniflux import read_miniflux
from reedbed.ingest.libraries.starred import read_starred
from reedbed.ingest.opml import read_opml
from reedbed.services.announcing import announce_counts
from reedbed.services.credentials import split_credentials
from reedbed.services.imported_entries import bring_kept
from reedbed.services.library_pieces import Feeds, Kept, Piece, Reads, pieces_of
from reedbed.services.opml import follow_lines, listed_feeds
from reedbed.services.runtime import Runtime
from reedbed.store import events, imported, reading, subscriptions
from reedbed.store.database import Tx
from reedbed.store.foreign import read_database

Tell = Callable[[int, int], None]
"""How many feeds, marks and entries are done, and of how many."""
LARGEST_JSON = 30_000_000
LARGEST_OPML = 10_000_000
_NEITHER = (
    "This is no file that Reedbed knows. It takes OPML, the starred JSON of Google Takeout, Feedly, "
    "Inoreader or FreshRSS, and the SQLite databases of FreshRSS, Fusion and ReedMe."
)

_CUT_OFF = "This OPML file ends in its middle. Export it again from your other reader."


async def import_file(
    runtime: Runtime, user_id: int, path: Path, tell: Tell = lambda done, total: None
) -> LibraryReport:
    """Any file that another reader gives out, told apart by what is in it."""
    return await import_library(runtime, user_id, await asyncio.to_thread(read_library, path), tell)


def read_library(path: Path) -> Library:
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
        return _from_opml(path.read_bytes())
    raise Invalid(_NEITHER, field="file")


def _from_opml(body: bytes) -> Library:
    document = read_opml(body)
    if document.cut_off:
        raise Invalid(_CUT_OFF, field="file")
    return Library(
        "OPML",
        tuple(
            ForeignFeed(
                line.outline.xml_url or "",
                line.outline.xml_url or "",
                line.outline.title,
                line.path,
                line.outline.attributes,
            )
            for line in listed_feeds(document)
        ),
    )


async def import_miniflux(
    runtime: Runtime, user_id: int, address: str, token: str, tell: Tell = lambda done, total: None
) -> LibraryReport:
    return await import_library(runtime, user_id, await read_miniflux(runtime.fetcher, address, token), tell)


async def import_library(runtime: Runtime, user_id: int, library: Library, tell: Tell) -> LibraryReport:
    report, homes, done = LibraryReport(library.source), None, 0
    for piece in pieces_of(library):
        if homes is None and not isinstance(piece, Feeds):
            homes = await homes_of(runtime, user_id, library.feeds)
        report += await bring_piece(runtime, user_id, library.source, piece, homes or {})
        done += len(piece.items)
        tell(done, library.size)
    await finish_import(runtime, user_id, report)
    return report


async def bring_piece(
    runtime: Runtime, user_id: int, source: str, piece: Piece, homes: Mapping[str, int]
) -> LibraryReport:
    """`homes` are the feeds here, by their names there. Brought again, a piece changes nothing."""
    match piece:
        case Feeds(feeds):
            # To star an entry is not to follow its feed.
            return (
                LibraryReport(source)
                if source == STARRED_JSON
                else await _follow(runtime, user_id, source, feeds)
            )
        case Reads(marks):
            return LibraryReport(source, read=await _bring_reads(runtime, user_id, marks, homes))
        case Kept(entries):
            kept = await bring_kept(runtime, user_id, entries, homes)
            return LibraryReport(source, starred=kept.starred, tagged=kept.tagged, bookmarked=kept.bookmarked)


async def finish_import(runtime: Runtime, user_id: int, report: LibraryReport) -> None:
    async with runtime.db.write() as tx:
        detail = {"source": report.source, "feeds": report.imported, "starred": report.starred}
        await events.note(tx, runtime.now(), "library_imported", user_id, detail)
    await runtime.bus.publish(Hint("subscriptions", user_id=user_id))
    await announce_counts(runtime, user_id)


async def homes_of(runtime: Runtime, user_id: int, feeds: Sequence[ForeignFeed]) -> dict[str, int]:
    """The feed here, for each that this user follows now, by its name there."""
    async with runtime.db.read() as tx:
        followed = await subscriptions.every(tx, user_id)
    by_address = {address: one.feed.id for one in followed for address in (one.asked_url, one.feed.url)}
    homes: dict[str, int] = {}
    for feed in feeds:
        try:
            address = split_credentials(feed_address(feed.url)).url
        except Invalid:
            continue
        if address in by_address:
            homes[feed.key] = by_address[address]
    return homes


async def _follow(runtime: Runtime, user_id: int, source: str, feeds: Sequence[ForeignFeed]) -> LibraryReport:
    lines = [
        OpmlFeed(
            OpmlOutline(
                storable(feed.title), xml_url=storable(feed.url), type="rss", attributes=feed.attributes
            ),
            feed.path,
        )
        for feed in feeds
    ]
    done = await follow_lines(runtime, user_id, lines)
    return LibraryReport(source, done.imported, done.skipped, done.errors)


async def _bring_reads(
    runtime: Runtime, user_id: int, marks: Sequence[ReadMark], homes: Mapping[str, int]
) -> int:
    by_feed: defaultdict[int, list[ReadMark]] = defaultdict(list)
    for mark in marks:
        if mark.feed_key in homes:
            by_feed[homes[mark.feed_key]].append(mark)
    for feed_id, found in by_feed.items():
        async with runtime.db.write() as tx:
            await _bring_some_reads(tx, user_id, feed_id, found, runtime.now())
    return sum(map(len, by_feed.values()))


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
