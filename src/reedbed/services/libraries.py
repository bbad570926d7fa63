"""Moving in from another reader: feeds and folders are followed, read and starred marks come along.

Feeds are shared, so what a person's file says of an entry is never written into one: a kept entry that its
feed does not have goes to a feed of this user alone, and what was read is remembered until it arrives.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from reedbed.domain.errors import Invalid, Unavailable
from reedbed.domain.folders import ancestors
from reedbed.domain.hints import Hint
from reedbed.domain.libraries import (
    MOST_KEPT,
    MOST_READS,
    MOST_TEXT,
    STARRED_JSON,
    ForeignEntry,
    ForeignFeed,
    Library,
    LibraryReport,
    ReadMark,
)
from reedbed.domain.opml import ImportLine, OpmlFeed, OpmlOutline
from reedbed.domain.retention import removed_key
from reedbed.domain.texts import storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import normalize_url
from reedbed.ingest.libraries.archive import is_archive, readable_members
from reedbed.ingest.libraries.miniflux import read_miniflux
from reedbed.ingest.libraries.starred import NothingStarred, read_starred
from reedbed.ingest.opml import read_opml
from reedbed.services.announcing import announce_counts
from reedbed.services.credentials import without_credentials
from reedbed.services.folders import find_or_create_path
from reedbed.services.imported_entries import Home, bring_kept
from reedbed.services.library_pieces import Feeds, Kept, Piece, Reads, pieces_of
from reedbed.services.opml import LISTED_TWICE, address_key, duplicates, follow_lines, listed_feeds
from reedbed.services.runtime import Runtime
from reedbed.store import events, folders, imported, reading, subscriptions
from reedbed.store.database import Tx
from reedbed.store.foreign import read_database

Tell = Callable[[int, int], None]
"""How many feeds, marks and entries are done, and of how many."""
LARGEST_JSON = 30_000_000
LARGEST_OPML = 10_000_000
_NEITHER = (
    "This is no file that Reedbed knows. It takes OPML, the starred JSON of Google Takeout, Feedly, "
    "Inoreader or FreshRSS, the SQLite databases of FreshRSS, Fusion and ReedMe, and zip archives of these."
)
_NOTHING_IN_ARCHIVE = (
    "This zip archive holds no file that Reedbed knows. It takes OPML, starred JSON and SQLite databases."
)

_SECOND_DATABASE = "Only one database of an archive is read. Bring this one in by itself."
_CUT_OFF = "This OPML file ends in its middle. Export it again from your other reader."


async def import_file(
    runtime: Runtime, user_id: int, path: Path, tell: Tell = lambda done, total: None
) -> LibraryReport:
    """Any file that another reader gives out, told apart by what is in it."""
    return await import_library(runtime, user_id, await asyncio.to_thread(read_library, path), tell)


def read_library(path: Path) -> Library:
    return _read_archive(path) if is_archive(path) else _read_plain(path)


def _read_archive(path: Path) -> Library:
    libraries: list[Library] = []
    lines: list[ImportLine] = []
    for name, file in readable_members(path):
        try:
            library = _read_plain(file)
            if _is_database(library) and any(map(_is_database, libraries)):
                raise Invalid(_SECOND_DATABASE)
            libraries.append(library)
        except NothingStarred as error:
            lines.append(ImportLine(name, "", error.message, "skipped"))
        except Invalid as error:
            lines.append(ImportLine(name, "", error.message))
    if not libraries:
        raise Invalid(lines[0].message if lines else _NOTHING_IN_ARCHIVE, field="file")
    return _joined(libraries, lines)


def _is_database(library: Library) -> bool:
    """Databases number their feeds, so two of them cannot be told apart."""
    return library.source not in ("OPML", STARRED_JSON)


def _joined(libraries: Sequence[Library], lines: Sequence[ImportLine]) -> Library:
    """The files of one archive as one library; what several of them list is taken once."""
    feeds, repeated = _joined_feeds([feed for one in libraries for feed in one.feeds])
    kept: dict[tuple[str, str], ForeignEntry] = {}
    for entry in (entry for one in libraries for entry in one.kept):
        key = (entry.feed_key, entry.guid or entry.url or entry.title)
        kept[key] = _both(kept[key], entry) if key in kept else entry
    if len(kept) > MOST_KEPT or sum(len(entry.content) for entry in kept.values()) > MOST_TEXT:
        raise Invalid(f"This file holds too much: at most {MOST_KEPT} entries are taken.", field="file")
    reads = dict.fromkeys(mark for one in libraries for mark in one.reads)
    return Library(
        ", ".join(dict.fromkeys(one.source for one in libraries)),
        feeds,
        tuple(kept.values()),
        tuple(reads)[:MOST_READS],
        (*(line for one in libraries for line in one.lines), *repeated, *lines),
    )


def _joined_feeds(feeds: Iterable[ForeignFeed]) -> tuple[tuple[ForeignFeed, ...], list[ImportLine]]:
    """Each name that entries know their feed by, each address followed once; and the repeated lines."""
    joined: dict[str, ForeignFeed] = {}
    followed: set[str] = set()
    repeated: list[ImportLine] = []
    for feed in sorted(feeds, key=lambda feed: not feed.follow):
        address = address_key(feed.url)
        if feed.follow and address in followed:
            title, url = without_credentials(feed.title), without_credentials(feed.url)
            repeated.append(ImportLine(title, url, LISTED_TWICE, "duplicate"))
        joined.setdefault(feed.key, replace(feed, follow=feed.follow and address not in followed))
        followed.add(address)
    return tuple(joined.values()), repeated


def _both(one: ForeignEntry, other: ForeignEntry) -> ForeignEntry:
    return replace(
        one,
        content=one.content or other.content,
        starred=one.starred or other.starred,
        tags=tuple(dict.fromkeys((*one.tags, *other.tags))),
    )


def _read_plain(path: Path) -> Library:
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
    listed, others = listed_feeds(document)
    feeds = tuple(
        ForeignFeed(
            line.outline.xml_url or "",
            line.outline.xml_url or "",
            line.outline.title,
            line.path,
            line.outline.attributes,
        )
        for line in listed
    )
    return Library("OPML", feeds, lines=tuple(others))


async def import_miniflux(
    runtime: Runtime, user_id: int, address: str, token: str, tell: Tell = lambda done, total: None
) -> LibraryReport:
    return await import_library(runtime, user_id, await read_miniflux(runtime.fetcher, address, token), tell)


async def import_library(runtime: Runtime, user_id: int, library: Library, tell: Tell) -> LibraryReport:
    report, homes, done = empty_report(library.source, library.lines), None, 0
    for piece in pieces_of(library):
        if homes is None and not isinstance(piece, Feeds):
            homes = await homes_of(runtime, user_id, library.feeds)
        report += await bring_piece(runtime, user_id, library.source, piece, homes or {})
        done += len(piece.items)
        tell(done, library.size)
    await finish_import(runtime, user_id, report, done)
    return report


def empty_report(source: str, lines: Sequence[ImportLine]) -> LibraryReport:
    return LibraryReport(source, skipped=duplicates(lines), lines=tuple(lines))


async def bring_piece(
    runtime: Runtime, user_id: int, source: str, piece: Piece, homes: Mapping[str, Home]
) -> LibraryReport:
    """`homes` are the feeds here, by their names there. Brought again, a piece changes nothing."""
    match piece:
        case Feeds(feeds):
            # Pieces that 0.1 has written do not say that the feeds of a starred JSON are not to be followed.
            follow = [feed for feed in feeds if feed.follow and source != STARRED_JSON]
            await _put_into_folders(runtime, user_id, [feed for feed in feeds if not feed.follow])
            return await _follow(runtime, user_id, source, follow) if follow else LibraryReport(source)
        case Reads(marks):
            return LibraryReport(source, read=await _bring_reads(runtime, user_id, marks, homes))
        case Kept(entries):
            kept = await bring_kept(runtime, user_id, entries, homes)
            return LibraryReport(source, starred=kept.starred, tagged=kept.tagged, bookmarked=kept.bookmarked)


async def finish_import(runtime: Runtime, user_id: int, report: LibraryReport, items: int) -> None:
    """`items`: how many feeds, read marks and entries were brought in."""
    async with runtime.db.write() as tx:
        detail = {"source": report.source, "feeds": report.imported, "starred": report.starred}
        await events.note(tx, runtime.now(), "library_imported", user_id, detail)
    await runtime.bus.publish(Hint("subscriptions", user_id=user_id))
    await announce_counts(runtime, user_id)
    with suppress(Unavailable):  # everything is in: PostgreSQL refreshes its statistics later by itself
        await runtime.db.analyze_after(items)


async def homes_of(runtime: Runtime, user_id: int, feeds: Sequence[ForeignFeed]) -> dict[str, Home]:
    """The feed here, for each that this user follows now, by its name there."""
    async with runtime.db.read() as tx:
        followed = await subscriptions.every(tx, user_id)
        rows = await folders.of_user(tx, user_id)
    names = {row.id: row.name for row in rows}
    by_address: dict[str, Home] = {}
    for one in followed:
        around = ancestors(rows, one.folder_id) if one.folder_id is not None else ()
        home = Home(one.feed.id, frozenset(names[id_] for id_ in around))
        by_address |= {one.asked_url: home, one.feed.url: home}
    found = ((feed.key, by_address.get(address_key(feed.url))) for feed in feeds)
    return {key: home for key, home in found if home is not None}


async def _put_into_folders(runtime: Runtime, user_id: int, feeds: Sequence[ForeignFeed]) -> None:
    """A list of entries names the folder of their feed: it gets one if it is followed and has none."""
    named = [feed for feed in feeds if feed.path]
    homes = await homes_of(runtime, user_id, named) if named else {}
    async with runtime.db.write() as tx:
        for feed in named:
            home = homes.get(feed.key)
            if home is None or home.folder_names:
                continue
            folder_id = await find_or_create_path(tx, runtime, user_id, feed.path)
            if folder_id is not None:
                await subscriptions.put_where_none(tx, user_id, home.feed_id, folder_id)


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
    return LibraryReport(source, done.imported, done.skipped, done.lines)


async def _bring_reads(
    runtime: Runtime, user_id: int, marks: Sequence[ReadMark], homes: Mapping[str, Home]
) -> int:
    by_feed: defaultdict[int, list[ReadMark]] = defaultdict(list)
    for mark in marks:
        if mark.feed_key in homes:
            by_feed[homes[mark.feed_key].feed_id].append(mark)
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
