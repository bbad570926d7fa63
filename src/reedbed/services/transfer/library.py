"""Import a library from another feed reader: feeds, folders, read marks, starred and tagged entries.

Feeds are shared between users, so imported content is never written into a shared feed. A saved entry that
its feed does not have goes into a feed owned by this user alone. A read mark for an entry that has not
arrived yet is stored and applied when the entry arrives.
"""

import asyncio
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import orjson

from reedbed.domain.errors import Invalid, Unavailable
from reedbed.domain.folders import ancestors
from reedbed.domain.records import record
from reedbed.domain.retention import removed_key
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.transfer import (
    MAX_CONTENT_LENGTH,
    MAX_KEPT,
    MAX_READS,
    STARRED_JSON,
    ImportedEntry,
    ImportedFeed,
    ImportLine,
    Library,
    LibraryReport,
    OpmlFeed,
    OpmlOutline,
    ReadMark,
)
from reedbed.domain.urls import normalize_url
from reedbed.ingest.archives import is_archive, readable_members
from reedbed.ingest.transfer import NothingStarred, read_miniflux, read_opml, read_starred
from reedbed.services.folders import find_or_create_path
from reedbed.services.live import publish_counts, publish_subscriptions
from reedbed.services.runtime import Runtime
from reedbed.services.transfer.entries import Home, import_saved
from reedbed.services.transfer.opml import duplicates, feed_url_key, listed_twice, opml_feeds, subscribe_lines
from reedbed.store import folders, subscriptions, transfer, users
from reedbed.store.engine.database import Tx
from reedbed.store.read_state import rows as reading
from reedbed.store.transfer import read_database

T = TypeVar("T")

FEEDS_PER_BATCH = 100
READS_PER_BATCH = 500
SAVED_PER_BATCH = 50
MAX_BATCH_LENGTH = 1_000_000
"""Characters of content in one batch of saved entries. A single longer entry still gets its own batch."""


@record
class FeedBatch:
    items: tuple[ImportedFeed, ...]


@record
class ReadBatch:
    items: tuple[ReadMark, ...]


@record
class SavedEntries:
    items: tuple[ImportedEntry, ...]


ImportBatch = FeedBatch | ReadBatch | SavedEntries

_BATCH_KINDS: Mapping[type[ImportBatch], str] = {FeedBatch: "feeds", ReadBatch: "reads", SavedEntries: "kept"}
"""Stored with each batch in the database."""


def split_library(library: Library) -> Iterator[ImportBatch]:
    """Feeds come first: marks and entries can be assigned only after the feeds are subscribed."""
    for some_feeds in _split(library.feeds, FEEDS_PER_BATCH):
        yield FeedBatch(some_feeds)
    for reads in _split(library.reads, READS_PER_BATCH):
        yield ReadBatch(reads)
    for entries in _split(library.kept, SAVED_PER_BATCH, lambda entry: len(entry.content)):
        yield SavedEntries(entries)


def packed(batch: ImportBatch) -> tuple[str, bytes]:
    return _BATCH_KINDS[type(batch)], zlib.compress(orjson.dumps(batch.items), level=1)


def unpacked(kind: str, data: bytes) -> ImportBatch:
    rows: list[dict[str, Any]] = orjson.loads(zlib.decompress(data))
    match kind:
        case "feeds":
            return FeedBatch(tuple(map(_feed_from_json, rows)))
        case "reads":
            return ReadBatch(tuple(ReadMark(**row) for row in rows))
        case _:
            return SavedEntries(tuple(replace(ImportedEntry(**row), tags=tuple(row["tags"])) for row in rows))


def _split(rows: Sequence[T], limit: int, size_of: Callable[[T], int] = lambda _: 0) -> Iterator[tuple[T, ...]]:
    batch: list[T] = []
    size = 0
    for row in rows:
        if batch and (len(batch) == limit or size + size_of(row) > MAX_BATCH_LENGTH):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(row)
        size += size_of(row)
    if batch:
        yield tuple(batch)


def _feed_from_json(row: Mapping[str, Any]) -> ImportedFeed:
    attributes = tuple((name, value) for name, value in row["attributes"])
    path, follow = tuple(row["path"]), row.get("follow", True)
    return ImportedFeed(row["key"], row["url"], row["title"], path, attributes, follow)


# --- Reading files

Tell = Callable[[int, int], None]
"""Called with the number of feeds, marks and entries done, and the total."""
MAX_JSON = 30_000_000
MAX_OPML = 10_000_000
_UNKNOWN_FORMAT = (
    "This is no file that Reedbed knows. It takes OPML, the starred JSON of Google Takeout, Feedly, "
    "Inoreader or FreshRSS, the SQLite databases of FreshRSS, Fusion and ReedMe, and zip archives of these."
)
_NOTHING_IN_ARCHIVE = (
    "This zip archive holds no file that Reedbed knows. It takes OPML, starred JSON and SQLite databases."
)

_SECOND_DATABASE = "Only one database of an archive is read. Import this one separately."
_CUT_OFF = "This OPML file ends in its middle. Export it again from your other reader."


async def import_file(
    runtime: Runtime, user_id: int, path: Path, report_progress: Tell = lambda done, total: None
) -> LibraryReport:
    """Import an export file of another reader. The format is detected from the content."""
    return await import_library(runtime, user_id, await asyncio.to_thread(read_library, path), report_progress)


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
            lines.append(ImportLine(name, "", error.failure, "skipped"))
        except Invalid as error:
            lines.append(ImportLine(name, "", error.failure))
    if not libraries:
        raise Invalid(lines[0].failure or _NOTHING_IN_ARCHIVE if lines else _NOTHING_IN_ARCHIVE, field="file")
    return _merge_libraries(libraries, lines)


def _is_database(library: Library) -> bool:
    """Databases use feed numbers as keys, so the keys of two databases would collide."""
    return library.source not in ("OPML", STARRED_JSON)


def _merge_libraries(libraries: Sequence[Library], lines: Sequence[ImportLine]) -> Library:
    """Merge the files of one archive into one library, without duplicates."""
    feeds, repeated = _merge_feeds([feed for library in libraries for feed in library.feeds])
    entries: dict[tuple[str, str], ImportedEntry] = {}
    for entry in (entry for library in libraries for entry in library.kept):
        key = (entry.feed_key, entry.guid or entry.url or entry.title)
        entries[key] = _merge_entries(entries[key], entry) if key in entries else entry
    if len(entries) > MAX_KEPT or sum(len(entry.content) for entry in entries.values()) > MAX_CONTENT_LENGTH:
        raise Invalid("This file holds too much: at most %(limit)s entries are taken.", field="file", limit=MAX_KEPT)
    reads = dict.fromkeys(mark for library in libraries for mark in library.reads)
    return Library(
        ", ".join(dict.fromkeys(library.source for library in libraries)),
        feeds,
        tuple(entries.values()),
        tuple(reads)[:MAX_READS],
        (*(line for library in libraries for line in library.lines), *repeated, *lines),
    )


def _merge_feeds(feeds: Iterable[ImportedFeed]) -> tuple[tuple[ImportedFeed, ...], list[ImportLine]]:
    """One feed per key, with `follow` set once per URL, and a report line for each duplicate."""
    merged: dict[str, ImportedFeed] = {}
    followed: set[str] = set()
    repeated: list[ImportLine] = []
    for feed in sorted(feeds, key=lambda feed: not feed.follow):
        url_key = feed_url_key(feed.url)
        if feed.follow and url_key in followed:
            repeated.append(listed_twice(feed.title, feed.url))
        merged.setdefault(feed.key, replace(feed, follow=feed.follow and url_key not in followed))
        followed.add(url_key)
    return tuple(merged.values()), repeated


def _merge_entries(first: ImportedEntry, second: ImportedEntry) -> ImportedEntry:
    return replace(
        first,
        content=first.content or second.content,
        starred=first.starred or second.starred,
        tags=tuple(dict.fromkeys((*first.tags, *second.tags))),
    )


def _read_plain(path: Path) -> Library:
    with path.open("rb") as file:
        head = file.read(200)
    if head.startswith(b"SQLite format 3\0"):
        return read_database(path)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"{", b"[")):
        if path.stat().st_size > MAX_JSON:
            raise Invalid("A JSON file may have at most %(limit)s MB.", field="file", limit=MAX_JSON // 1_000_000)
        return read_starred(path.read_bytes())
    if start.startswith(b"<"):
        if path.stat().st_size > MAX_OPML:
            raise Invalid("An OPML file may have at most %(limit)s MB.", field="file", limit=MAX_OPML // 1_000_000)
        return _from_opml(path.read_bytes())
    raise Invalid(_UNKNOWN_FORMAT, field="file")


def _from_opml(body: bytes) -> Library:
    document = read_opml(body)
    if document.cut_off:
        raise Invalid(_CUT_OFF, field="file")
    listed, others = opml_feeds(document)
    feeds = tuple(
        ImportedFeed(
            line.outline.xml_url or "",
            line.outline.xml_url or "",
            line.outline.title,
            line.path,
            line.outline.attributes,
        )
        for line in listed
    )
    return Library("OPML", feeds, lines=tuple(others))


# --- Importing


async def import_miniflux(
    runtime: Runtime, user_id: int, url: str, token: str, report_progress: Tell = lambda done, total: None
) -> LibraryReport:
    return await import_library(runtime, user_id, await read_miniflux(runtime.fetcher, url, token), report_progress)


async def import_library(runtime: Runtime, user_id: int, library: Library, report_progress: Tell) -> LibraryReport:
    report, homes, done = empty_report(library.source, library.lines), None, 0
    for batch in split_library(library):
        if homes is None and not isinstance(batch, FeedBatch):
            homes = await subscribed_feeds_by_key(runtime, user_id, library.feeds)
        report += await import_batch(runtime, user_id, library.source, batch, homes or {})
        done += len(batch.items)
        report_progress(done, library.size)
    await finish_import(runtime, user_id, report, done)
    return report


def empty_report(source: str, lines: Sequence[ImportLine]) -> LibraryReport:
    return LibraryReport(source, skipped=duplicates(lines), lines=tuple(lines))


async def import_batch(
    runtime: Runtime, user_id: int, source: str, batch: ImportBatch, homes: Mapping[str, Home]
) -> LibraryReport:
    """`homes` maps the feed keys of the other reader to feeds here. Importing a batch twice is harmless."""
    match batch:
        case FeedBatch(feeds):
            # Batches written by version 0.1 do not mark the feeds of a starred JSON file as `follow=False`.
            follow = [feed for feed in feeds if feed.follow and source != STARRED_JSON]
            await _move_unfiled_feeds(runtime, user_id, [feed for feed in feeds if not feed.follow])
            return await _subscribe(runtime, user_id, source, follow) if follow else LibraryReport(source)
        case ReadBatch(marks):
            return LibraryReport(source, read=await _import_reads(runtime, user_id, marks, homes))
        case SavedEntries(entries):
            saved = await import_saved(runtime, user_id, entries, homes)
            return LibraryReport(source, starred=saved.starred, tagged=saved.tagged, bookmarked=saved.bookmarked)


async def finish_import(runtime: Runtime, user_id: int, report: LibraryReport, items: int) -> None:
    """`items`: the number of imported feeds, read marks and entries."""
    async with runtime.db.write() as tx:
        detail = {"source": report.source, "feeds": report.imported, "starred": report.starred}
        await users.record_event(tx, runtime.now(), "library_imported", user_id, detail)
    await publish_subscriptions(runtime, user_id)
    await publish_counts(runtime, user_id)
    with suppress(Unavailable):  # the import is complete, and PostgreSQL updates its statistics later anyway
        await runtime.db.analyze_after(items)


async def subscribed_feeds_by_key(runtime: Runtime, user_id: int, feeds: Sequence[ImportedFeed]) -> dict[str, Home]:
    """The subscribed feeds among these, by the feed key of the other reader."""
    async with runtime.db.read() as tx:
        subscribed = await subscriptions.every(tx, user_id)
        rows = await folders.of_user(tx, user_id)
    names = {row.id: row.name for row in rows}
    by_url: dict[str, Home] = {}
    for subscription in subscribed:
        folder_ids = [id_ for folder_id in subscription.folder_ids for id_ in ancestors(rows, folder_id)]
        home = Home(subscription.feed.id, frozenset(names[id_] for id_ in folder_ids))
        by_url |= {subscription.asked_url: home, subscription.feed.url: home}
    matches = ((feed.key, by_url.get(feed_url_key(feed.url))) for feed in feeds)
    return {key: home for key, home in matches if home is not None}


async def _move_unfiled_feeds(runtime: Runtime, user_id: int, feeds: Sequence[ImportedFeed]) -> None:
    """Move subscribed feeds without a folder into the folder that a list of entries names for them."""
    with_path = [feed for feed in feeds if feed.path]
    homes = await subscribed_feeds_by_key(runtime, user_id, with_path) if with_path else {}
    async with runtime.db.write() as tx:
        for feed in with_path:
            home = homes.get(feed.key)
            if home is None or home.folder_names:
                continue
            folder_id = await find_or_create_path(tx, runtime, user_id, feed.path)
            if folder_id is not None:
                await subscriptions.move_unfiled(tx, user_id, home.feed_id, folder_id)


async def _subscribe(runtime: Runtime, user_id: int, source: str, feeds: Sequence[ImportedFeed]) -> LibraryReport:
    lines = [
        OpmlFeed(
            OpmlOutline(storable(feed.title), xml_url=storable(feed.url), type="rss", attributes=feed.attributes),
            feed.path,
        )
        for feed in feeds
    ]
    done = await subscribe_lines(runtime, user_id, lines)
    return LibraryReport(source, done.imported, done.skipped, done.lines)


async def _import_reads(runtime: Runtime, user_id: int, marks: Sequence[ReadMark], homes: Mapping[str, Home]) -> int:
    by_feed: defaultdict[int, list[ReadMark]] = defaultdict(list)
    for mark in marks:
        if mark.feed_key in homes:
            by_feed[homes[mark.feed_key].feed_id].append(mark)
    for feed_id, feed_marks in by_feed.items():
        async with runtime.db.write() as tx:
            await _import_feed_reads(tx, user_id, feed_id, feed_marks, runtime.now())
    return sum(map(len, by_feed.values()))


async def _import_feed_reads(tx: Tx, user_id: int, feed_id: int, marks: Sequence[ReadMark], now: Instant) -> None:
    guids = {storable(mark.guid) for mark in marks if mark.guid}
    urls = {url for mark in marks if mark.url and (url := normalize_url(mark.url))}
    existing = await transfer.find_imported_entries(tx, feed_id, sorted(guids), sorted(urls))
    await reading.mark_read(tx, user_id, [entry_id for entry_id, _, _ in existing])
    guids -= {guid for _, guid, _ in existing if guid}
    urls -= {url for _, _, url in existing if url}
    keys = [removed_key("guid", guid) for guid in guids] + [removed_key("url", url) for url in urls]
    await transfer.remember_imported(tx, user_id, feed_id, keys, now)
