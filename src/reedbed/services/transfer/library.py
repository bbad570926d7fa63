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
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from reedbed.domain.bookmarks import Snapshot
from reedbed.domain.entries import LONGEST as MAX_TAG_LENGTH
from reedbed.domain.entries import MAX_TAGS
from reedbed.domain.errors import Invalid, Unavailable
from reedbed.domain.feeds import ParsedEntry, ParsedFeed
from reedbed.domain.folders import ancestors
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import change_hash, sort_at
from reedbed.domain.retention import removed_key
from reedbed.domain.text import clean_line, storable
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
from reedbed.ingest.transfer import (
    NothingStarred,
    is_archive,
    read_miniflux,
    read_opml,
    read_starred,
    readable_members,
)
from reedbed.services.bookmarks import MAX_BOOKMARKS
from reedbed.services.folders import find_or_create_path
from reedbed.services.live import publish_counts
from reedbed.services.refresh.diff import words_of
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import without_credentials
from reedbed.services.transfer.opml import LISTED_TWICE, duplicates, feed_url_key, opml_feeds, subscribe_lines
from reedbed.store import bookmarks, folders, search, subscriptions, tags, transfer, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries.write import NewEntryRow
from reedbed.store.feeds import feeds
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.transfer import read_database
from reedbed.store.visibility import lock_feed

T = TypeVar("T")

FEEDS_AT_ONCE = 100
READS_AT_ONCE = 500
KEPT_AT_ONCE = 50
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
    for some_feeds in _split(library.feeds, FEEDS_AT_ONCE):
        yield FeedBatch(some_feeds)
    for reads in _split(library.reads, READS_AT_ONCE):
        yield ReadBatch(reads)
    for entries in _split(library.kept, KEPT_AT_ONCE, lambda entry: len(entry.content)):
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


def _split(
    rows: Sequence[T], limit: int, size_of: Callable[[T], int] = lambda _: 0
) -> Iterator[tuple[T, ...]]:
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


# --- Saved entries

IMPORTED_FEED_URL = "reedbed:imported"
IMPORTED_FEED_TITLE = "Imported entries"
_MAX_AUTHOR_LENGTH = 300

Pair = tuple[ImportedEntry, NewEntryRow]


class Home(NamedTuple):
    """A feed the user is subscribed to."""

    feed_id: int
    folder_names: frozenset[str]
    """Names of its folder and of the parent folders."""


@record
class Brought:
    starred: int = 0
    tagged: int = 0
    bookmarked: int = 0

    def __add__(self, other: "Brought") -> "Brought":
        return Brought(
            self.starred + other.starred, self.tagged + other.tagged, self.bookmarked + other.bookmarked
        )


async def import_saved(
    runtime: Runtime, user_id: int, imported: Sequence[ImportedEntry], homes: Mapping[str, Home]
) -> Brought:
    """`homes` maps the feed keys of the other reader to feeds here."""
    now = runtime.now()
    imported = [_without_folders(entry, homes.get(entry.feed_key)) for entry in imported]
    rows = await asyncio.to_thread(lambda: [_row(entry, now) for entry in imported])
    pairs = list(zip(imported, rows, strict=True))
    async with runtime.db.write() as tx:
        stored = await _store(tx, user_id, pairs, homes, now)
        starred = [id_ for entry, id_ in stored if entry.starred]
        return Brought(
            await marks.set_flag(tx, user_id, "starred", starred, now),
            await _tag(tx, user_id, stored, now),
            await _bookmark(tx, user_id, [pair for pair in pairs if pair[0].bookmarked], now),
        )


def _without_folders(entry: ImportedEntry, home: Home | None) -> ImportedEntry:
    """Drop labels named like a folder of the feed: the format uses labels for both folders and tags."""
    if home is None or not home.folder_names.intersection(entry.tags):
        return entry
    return replace(entry, tags=tuple(tag for tag in entry.tags if tag not in home.folder_names))


async def _store(
    tx: Tx, user_id: int, pairs: Sequence[Pair], homes: Mapping[str, Home], now: Instant
) -> list[tuple[ImportedEntry, int]]:
    """Each entry with its id here, in its own feed or else in the user's feed of imported entries."""
    stored: list[tuple[ImportedEntry, int]] = []
    missing: list[Pair] = []
    existing: list[tuple[NewEntryRow, int]] = []
    for entry, row in pairs:
        if not (entry.starred or entry.tags):
            continue
        entry_id = await _find_in_feed(tx, user_id, entry, row, homes.get(entry.feed_key))
        if entry_id is None:
            missing.append((entry, row))
        else:
            stored.append((entry, entry_id))
            existing.append((row, entry_id))
    await _move_marks_from_copies(tx, user_id, existing)
    return stored + (await _store_in_own_feed(tx, user_id, missing, now) if missing else [])


async def _find_in_feed(
    tx: Tx, user_id: int, entry: ImportedEntry, row: NewEntryRow, home: Home | None
) -> int | None:
    if home is None:
        return None
    guids, urls = (
        [storable(entry.guid)] if entry.guid else [],
        [row.normalized_url] if row.normalized_url else [],
    )
    return (
        await transfer.find_visible_imported(tx, user_id, home.feed_id, guids, urls)
        if guids or urls
        else None
    )


async def _move_marks_from_copies(tx: Tx, user_id: int, existing: Sequence[tuple[NewEntryRow, int]]) -> None:
    """Move marks from copies that an earlier import made before the feed had these entries."""
    imported_feed_id = await feeds.get_by_url(tx, IMPORTED_FEED_URL, user_id) if existing else None
    if imported_feed_id is None:
        return
    guids = {row.guid: home for row, home in existing if row.guid}
    urls = {row.normalized_url: home for row, home in existing if row.normalized_url}
    copies = await transfer.find_imported_entries(tx, imported_feed_id, list(guids), list(urls))
    moves = {id_: guids.get(guid or "") or urls.get(url or "") for id_, guid, url in copies}
    await feed_merge.move_flags(tx, [(id_, home) for id_, home in moves.items() if home is not None])


async def _store_in_own_feed(
    tx: Tx, user_id: int, pairs: Sequence[Pair], now: Instant
) -> list[tuple[ImportedEntry, int]]:
    feed_id = await _own_feed(tx, user_id, now)
    await lock_feed(tx, feed_id)  # of two concurrent imports, the second must see what the first stored
    by_guid = {row.guid: (entry, row._replace(feed_id=feed_id)) for entry, row in pairs}
    ids_by_guid = await _existing_copies(tx, feed_id, [row for _, row in by_guid.values()])
    new_rows = [row for guid, (_, row) in by_guid.items() if guid not in ids_by_guid]
    stored = await entry_writes.insert_new(tx, new_rows)
    await search.index(tx, [(id_, row.text.search) for id_, row in stored])
    if ids := [id_ for id_, _ in stored]:
        await unread.fan_out(tx, [Arrival(feed_id, ids, silent={user_id: set(ids)})])
    ids_by_guid |= {row.guid: id_ for id_, row in stored if row.guid}
    return [(entry, ids_by_guid[guid]) for guid, (entry, _) in by_guid.items() if guid in ids_by_guid]


async def _existing_copies(tx: Tx, feed_id: int, rows: Sequence[NewEntryRow]) -> dict[str | None, int]:
    """Copies from an earlier import, matched by guid or, if another program used other feed keys, by URL."""
    urls = [row.normalized_url for row in rows if row.normalized_url]
    copies = await transfer.find_imported_entries(tx, feed_id, [row.guid for row in rows if row.guid], urls)
    by_guid: dict[str | None, int] = {guid: id_ for id_, guid, _ in copies}
    by_url: dict[str | None, int] = {url: id_ for id_, _, url in copies if url}
    ids = {row.guid: by_guid.get(row.guid) or by_url.get(row.normalized_url) for row in rows}
    return {guid: id_ for guid, id_ in ids.items() if id_ is not None}


async def _own_feed(tx: Tx, user_id: int, now: Instant) -> int:
    """The user's own feed of imported entries. It is subscribed, so that its entries are visible."""
    feed_id, _ = await feeds.find_or_add(
        tx, IMPORTED_FEED_URL, now, owner_id=user_id, kind="saved", title=IMPORTED_FEED_TITLE
    )
    if await subscriptions.get_by_feed(tx, user_id, feed_id) is None:
        await subscriptions.add(
            tx, user_id, feed_id, folder_id=None, title=None, asked_url=IMPORTED_FEED_URL, opml=None, now=now
        )
        await unread.init_unread(tx, user_id, feed_id)
    return feed_id


async def _tag(tx: Tx, user_id: int, stored: Sequence[tuple[ImportedEntry, int]], now: Instant) -> int:
    by_tag: defaultdict[str, list[int]] = defaultdict(list)
    for entry, id_ in stored:
        for name in map(clean_line, entry.tags):
            if name:
                by_tag[name[:MAX_TAG_LENGTH]].append(id_)
    existing = set(await tags.names(tx, user_id)) if by_tag else set[str]()
    free = MAX_TAGS - len(existing)
    new_names = [name for name in by_tag if name not in existing][: max(free, 0)]
    await tags.add(tx, user_id, new_names, now)
    for name, ids in by_tag.items():
        if name in existing or name in new_names:
            await tags.put(tx, user_id, ids, [name])
    return len({id_ for ids in by_tag.values() for id_ in ids})


async def _bookmark(tx: Tx, user_id: int, pairs: Sequence[Pair], now: Instant) -> int:
    with_url = [(entry, row) for entry, row in pairs if row.normalized_url]
    if not with_url:
        return 0
    free = MAX_BOOKMARKS - await bookmarks.count(tx, user_id)
    for entry, row in with_url[: max(free, 0)]:
        snapshot = Snapshot(
            None, row.url, row.text.title, row.text.content, storable(entry.feed_title), row.published_at
        )
        await bookmarks.put(tx, user_id, snapshot, now)
    return min(len(with_url), max(free, 0))


def _row(entry: ImportedEntry, now: Instant) -> NewEntryRow:
    url = storable(entry.url) if entry.url else None
    normalized = normalize_url(url) if url else None
    title, content = storable(entry.title), storable(entry.content)
    name = entry.guid or normalized or f"{title}\0{content}"
    parsed = ParsedEntry(guid=None, url=url if normalized else None, title=title, content=content)
    text = words_of(parsed, ParsedFeed("rss", storable(entry.feed_title), ()))
    return NewEntryRow(
        feed_id=0,
        guid=sha256(f"{entry.feed_key}\0{name}".encode("utf-8", "replace")).hexdigest()[:32],
        url=url if normalized else None,
        normalized_url=normalized,
        change_hash=change_hash(title, content),
        published_at=entry.published,
        fetched_at=now,
        sort_at=sort_at(entry.published, now),
        text=text._replace(author=storable(entry.author or entry.feed_title)[:_MAX_AUTHOR_LENGTH] or None),
    )


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

_SECOND_DATABASE = "Only one database of an archive is read. Bring this one in by itself."
_CUT_OFF = "This OPML file ends in its middle. Export it again from your other reader."


async def import_file(
    runtime: Runtime, user_id: int, path: Path, report_progress: Tell = lambda done, total: None
) -> LibraryReport:
    """Import an export file of another reader. The format is detected from the content."""
    return await import_library(
        runtime, user_id, await asyncio.to_thread(read_library, path), report_progress
    )


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
        raise Invalid(f"This file holds too much: at most {MAX_KEPT} entries are taken.", field="file")
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
            title, url = without_credentials(feed.title), without_credentials(feed.url)
            repeated.append(ImportLine(title, url, LISTED_TWICE, "duplicate"))
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
            raise Invalid(f"A JSON file may have at most {MAX_JSON // 1_000_000} MB.", field="file")
        return read_starred(path.read_bytes())
    if start.startswith(b"<"):
        if path.stat().st_size > MAX_OPML:
            raise Invalid(f"An OPML file may have at most {MAX_OPML // 1_000_000} MB.", field="file")
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
    return await import_library(
        runtime, user_id, await read_miniflux(runtime.fetcher, url, token), report_progress
    )


async def import_library(
    runtime: Runtime, user_id: int, library: Library, report_progress: Tell
) -> LibraryReport:
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
            return LibraryReport(
                source, starred=saved.starred, tagged=saved.tagged, bookmarked=saved.bookmarked
            )


async def finish_import(runtime: Runtime, user_id: int, report: LibraryReport, items: int) -> None:
    """`items`: the number of imported feeds, read marks and entries."""
    async with runtime.db.write() as tx:
        detail = {"source": report.source, "feeds": report.imported, "starred": report.starred}
        await users.record_event(tx, runtime.now(), "library_imported", user_id, detail)
    await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    await publish_counts(runtime, user_id)
    with suppress(Unavailable):  # the import is complete, and PostgreSQL updates its statistics later anyway
        await runtime.db.analyze_after(items)


async def subscribed_feeds_by_key(
    runtime: Runtime, user_id: int, feeds: Sequence[ImportedFeed]
) -> dict[str, Home]:
    """The subscribed feeds among these, by the feed key of the other reader."""
    async with runtime.db.read() as tx:
        subscribed = await subscriptions.every(tx, user_id)
        rows = await folders.of_user(tx, user_id)
    names = {row.id: row.name for row in rows}
    by_url: dict[str, Home] = {}
    for subscription in subscribed:
        folder_ids = ancestors(rows, subscription.folder_id) if subscription.folder_id is not None else ()
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


async def _subscribe(
    runtime: Runtime, user_id: int, source: str, feeds: Sequence[ImportedFeed]
) -> LibraryReport:
    lines = [
        OpmlFeed(
            OpmlOutline(
                storable(feed.title), xml_url=storable(feed.url), type="rss", attributes=feed.attributes
            ),
            feed.path,
        )
        for feed in feeds
    ]
    done = await subscribe_lines(runtime, user_id, lines)
    return LibraryReport(source, done.imported, done.skipped, done.lines)


async def _import_reads(
    runtime: Runtime, user_id: int, marks: Sequence[ReadMark], homes: Mapping[str, Home]
) -> int:
    by_feed: defaultdict[int, list[ReadMark]] = defaultdict(list)
    for mark in marks:
        if mark.feed_key in homes:
            by_feed[homes[mark.feed_key].feed_id].append(mark)
    for feed_id, feed_marks in by_feed.items():
        async with runtime.db.write() as tx:
            await _import_feed_reads(tx, user_id, feed_id, feed_marks, runtime.now())
    return sum(map(len, by_feed.values()))


async def _import_feed_reads(
    tx: Tx, user_id: int, feed_id: int, marks: Sequence[ReadMark], now: Instant
) -> None:
    guids = {storable(mark.guid) for mark in marks if mark.guid}
    urls = {url for mark in marks if mark.url and (url := normalize_url(mark.url))}
    existing = await transfer.find_imported_entries(tx, feed_id, sorted(guids), sorted(urls))
    await reading.read(tx, user_id, [entry_id for entry_id, _, _ in existing])
    guids -= {guid for _, guid, _ in existing if guid}
    urls -= {url for _, _, url in existing if url}
    keys = [removed_key("guid", guid) for guid in guids] + [removed_key("url", url) for url in urls]
    await transfer.remember_imported(tx, user_id, feed_id, keys, now)
