"""Moving in from another reader: feeds and folders are followed, read and starred marks come along.

Feeds are shared, so what a person's file says of an entry is never written into one: a kept entry that its
feed does not have goes to a feed of this user alone, and what was read is remembered until it arrives.
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
from reedbed.domain.text import shown_line, storable
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
from reedbed.services.transfer.opml import LISTED_TWICE, address_key, duplicates, follow_lines, listed_feeds
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
"""Characters of kept entries in one piece, if there is more than one entry in it."""


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


def batches_of(library: Library) -> Iterator[ImportBatch]:
    """Feeds first: where entries belong is known when they are followed."""
    for some in _cut(library.feeds, FEEDS_AT_ONCE):
        yield FeedBatch(some)
    for reads in _cut(library.reads, READS_AT_ONCE):
        yield ReadBatch(reads)
    for kept in _cut(library.kept, KEPT_AT_ONCE, lambda entry: len(entry.content)):
        yield SavedEntries(kept)


def packed(piece: ImportBatch) -> tuple[str, bytes]:
    return type(piece).__name__.lower(), zlib.compress(orjson.dumps(piece.items), level=1)


def unpacked(kind: str, data: bytes) -> ImportBatch:
    rows: list[dict[str, Any]] = orjson.loads(zlib.decompress(data))
    match kind:
        case "feeds":
            return FeedBatch(tuple(map(_feed, rows)))
        case "reads":
            return ReadBatch(tuple(ReadMark(**row) for row in rows))
        case _:
            return SavedEntries(tuple(replace(ImportedEntry(**row), tags=tuple(row["tags"])) for row in rows))


def _cut(rows: Sequence[T], most: int, weight: Callable[[T], int] = lambda _: 0) -> Iterator[tuple[T, ...]]:
    some: list[T] = []
    weighed = 0
    for row in rows:
        if some and (len(some) == most or weighed + weight(row) > MAX_BATCH_LENGTH):
            yield tuple(some)
            some, weighed = [], 0
        some.append(row)
        weighed += weight(row)
    if some:
        yield tuple(some)


def _feed(row: Mapping[str, Any]) -> ImportedFeed:
    attributes = tuple((name, value) for name, value in row["attributes"])
    path, follow = tuple(row["path"]), row.get("follow", True)
    return ImportedFeed(row["key"], row["url"], row["title"], path, attributes, follow)


SHELF_URL = "reedbed:imported"
SHELF_TITLE = "Imported entries"
_MAX_AUTHOR_LENGTH = 300

Pair = tuple[ImportedEntry, NewEntryRow]


class Home(NamedTuple):
    """A feed that the user follows."""

    feed_id: int
    folder_names: frozenset[str]
    """Of the folder it lies in, and of those around it."""


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
    runtime: Runtime, user_id: int, some: Sequence[ImportedEntry], homes: Mapping[str, Home]
) -> Brought:
    """`homes` are the feeds here, by their names there."""
    now = runtime.now()
    some = [_without_folders(entry, homes.get(entry.feed_key)) for entry in some]
    rows = await asyncio.to_thread(lambda: [_row(entry, now) for entry in some])
    pairs = list(zip(some, rows, strict=True))
    async with runtime.db.write() as tx:
        placed = await _place(tx, user_id, pairs, homes, now)
        starred = [id_ for entry, id_ in placed if entry.starred]
        return Brought(
            await marks.set_flag(tx, user_id, "starred", starred, now),
            await _tag(tx, user_id, placed, now),
            await _bookmark(tx, user_id, [pair for pair in pairs if pair[0].bookmarked], now),
        )


def _without_folders(entry: ImportedEntry, home: Home | None) -> ImportedEntry:
    """The format has one word for both: a label named like the folder of the feed is no tag."""
    if home is None or not home.folder_names.intersection(entry.tags):
        return entry
    return replace(entry, tags=tuple(tag for tag in entry.tags if tag not in home.folder_names))


async def _place(
    tx: Tx, user_id: int, some: Sequence[Pair], homes: Mapping[str, Home], now: Instant
) -> list[tuple[ImportedEntry, int]]:
    """Each entry with its id here: in its feed, else in the user's own feed of imported entries."""
    placed: list[tuple[ImportedEntry, int]] = []
    homeless: list[Pair] = []
    at_home: list[tuple[NewEntryRow, int]] = []
    for entry, row in some:
        if not (entry.starred or entry.tags):
            continue
        found = await _at_home(tx, user_id, entry, row, homes.get(entry.feed_key))
        if found is None:
            homeless.append((entry, row))
        else:
            placed.append((entry, found))
            at_home.append((row, found))
    await _take_off_shelf(tx, user_id, at_home)
    return placed + (await _shelve(tx, user_id, homeless, now) if homeless else [])


async def _at_home(
    tx: Tx, user_id: int, entry: ImportedEntry, row: NewEntryRow, home: Home | None
) -> int | None:
    if home is None:
        return None
    guids, urls = (
        [storable(entry.guid)] if entry.guid else [],
        [row.normalized_url] if row.normalized_url else [],
    )
    return await transfer.record_seen(tx, user_id, home.feed_id, guids, urls) if guids or urls else None


async def _take_off_shelf(tx: Tx, user_id: int, at_home: Sequence[tuple[NewEntryRow, int]]) -> None:
    """Copies of an earlier import, made before the feed had these entries, hand over their marks."""
    shelf = await feeds.get_by_url(tx, SHELF_URL, user_id) if at_home else None
    if shelf is None:
        return
    guids = {row.guid: home for row, home in at_home if row.guid}
    urls = {row.normalized_url: home for row, home in at_home if row.normalized_url}
    copies = await transfer.known_imported(tx, shelf, list(guids), list(urls))
    moves = {id_: guids.get(guid or "") or urls.get(url or "") for id_, guid, url in copies}
    await feed_merge.move_marks(tx, [(id_, home) for id_, home in moves.items() if home is not None])


async def _shelve(
    tx: Tx, user_id: int, some: Sequence[Pair], now: Instant
) -> list[tuple[ImportedEntry, int]]:
    shelf = await _shelf(tx, user_id, now)
    await lock_feed(tx, shelf)  # two imports at once: the second sees what the first has stored
    by_guid = {row.guid: (entry, row._replace(feed_id=shelf)) for entry, row in some}
    known = await _on_shelf(tx, shelf, [row for _, row in by_guid.values()])
    fresh = [row for guid, (_, row) in by_guid.items() if guid not in known]
    stored = await entry_writes.insert_new(tx, fresh)
    await search.index(tx, [(id_, row.text.search) for id_, row in stored])
    if ids := [id_ for id_, _ in stored]:
        await unread.fan_out(tx, [Arrival(shelf, ids, silent={user_id: set(ids)})])
    known |= {row.guid: id_ for id_, row in stored if row.guid}
    return [(entry, known[guid]) for guid, (entry, _) in by_guid.items() if guid in known]


async def _on_shelf(tx: Tx, shelf: int, rows: Sequence[NewEntryRow]) -> dict[str | None, int]:
    """Copies of an earlier import, by guid. Where another program names the feed differently: by address."""
    urls = [row.normalized_url for row in rows if row.normalized_url]
    found = await transfer.known_imported(tx, shelf, [row.guid for row in rows if row.guid], urls)
    by_guid: dict[str | None, int] = {guid: id_ for id_, guid, _ in found}
    by_url: dict[str | None, int] = {url: id_ for id_, _, url in found if url}
    ids = {row.guid: by_guid.get(row.guid) or by_url.get(row.normalized_url) for row in rows}
    return {guid: id_ for guid, id_ in ids.items() if id_ is not None}


async def _shelf(tx: Tx, user_id: int, now: Instant) -> int:
    """The user's own feed of what came along; followed, so that it can be seen."""
    feed_id, _ = await feeds.find_or_add(
        tx, SHELF_URL, now, owner_id=user_id, kind="saved", title=SHELF_TITLE
    )
    if await subscriptions.get_by_feed(tx, user_id, feed_id) is None:
        await subscriptions.add(
            tx, user_id, feed_id, folder_id=None, title=None, asked_url=SHELF_URL, opml=None, now=now
        )
        await unread.init_unread(tx, user_id, feed_id)
    return feed_id


async def _tag(tx: Tx, user_id: int, placed: Sequence[tuple[ImportedEntry, int]], now: Instant) -> int:
    by_tag: defaultdict[str, list[int]] = defaultdict(list)
    for entry, id_ in placed:
        for name in map(shown_line, entry.tags):
            if name:
                by_tag[name[:MAX_TAG_LENGTH]].append(id_)
    known = set(await tags.names(tx, user_id)) if by_tag else set[str]()
    room = MAX_TAGS - len(known)
    fresh = [name for name in by_tag if name not in known][: max(room, 0)]
    await tags.add(tx, user_id, fresh, now)
    for name, ids in by_tag.items():
        if name in known or name in fresh:
            await tags.put(tx, user_id, ids, [name])
    return len({id_ for ids in by_tag.values() for id_ in ids})


async def _bookmark(tx: Tx, user_id: int, some: Sequence[Pair], now: Instant) -> int:
    addressed = [(entry, row) for entry, row in some if row.normalized_url]
    if not addressed:
        return 0
    room = MAX_BOOKMARKS - await bookmarks.count(tx, user_id)
    for entry, row in addressed[: max(room, 0)]:
        snapshot = Snapshot(
            None, row.url, row.text.title, row.text.content, storable(entry.feed_title), row.published_at
        )
        await bookmarks.put(tx, user_id, snapshot, now)
    return min(len(addressed), max(room, 0))


def _row(entry: ImportedEntry, now: Instant) -> NewEntryRow:
    url = storable(entry.url) if entry.url else None
    normalized = normalize_url(url) if url else None
    title, content = storable(entry.title), storable(entry.content)
    name = entry.guid or normalized or f"{title}\0{content}"
    parsed = ParsedEntry(guid=None, url=url if normalized else None, title=title, content=content)
    words = words_of(parsed, ParsedFeed("rss", storable(entry.feed_title), ()))
    return NewEntryRow(
        feed_id=0,
        guid=sha256(f"{entry.feed_key}\0{name}".encode("utf-8", "replace")).hexdigest()[:32],
        url=url if normalized else None,
        normalized_url=normalized,
        change_hash=change_hash(title, content),
        published_at=entry.published,
        fetched_at=now,
        sort_at=sort_at(entry.published, now),
        text=words._replace(author=storable(entry.author or entry.feed_title)[:_MAX_AUTHOR_LENGTH] or None),
    )


Tell = Callable[[int, int], None]
"""How many feeds, marks and entries are done, and of how many."""
MAX_JSON = 30_000_000
MAX_OPML = 10_000_000
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
    kept: dict[tuple[str, str], ImportedEntry] = {}
    for entry in (entry for one in libraries for entry in one.kept):
        key = (entry.feed_key, entry.guid or entry.url or entry.title)
        kept[key] = _both(kept[key], entry) if key in kept else entry
    if len(kept) > MAX_KEPT or sum(len(entry.content) for entry in kept.values()) > MAX_CONTENT_LENGTH:
        raise Invalid(f"This file holds too much: at most {MAX_KEPT} entries are taken.", field="file")
    reads = dict.fromkeys(mark for one in libraries for mark in one.reads)
    return Library(
        ", ".join(dict.fromkeys(one.source for one in libraries)),
        feeds,
        tuple(kept.values()),
        tuple(reads)[:MAX_READS],
        (*(line for one in libraries for line in one.lines), *repeated, *lines),
    )


def _joined_feeds(feeds: Iterable[ImportedFeed]) -> tuple[tuple[ImportedFeed, ...], list[ImportLine]]:
    """Each name that entries know their feed by, each address followed once; and the repeated lines."""
    joined: dict[str, ImportedFeed] = {}
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


def _both(one: ImportedEntry, other: ImportedEntry) -> ImportedEntry:
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
        if path.stat().st_size > MAX_JSON:
            raise Invalid(f"A JSON file may have at most {MAX_JSON // 1_000_000} MB.", field="file")
        return read_starred(path.read_bytes())
    if start.startswith(b"<"):
        if path.stat().st_size > MAX_OPML:
            raise Invalid(f"An OPML file may have at most {MAX_OPML // 1_000_000} MB.", field="file")
        return _from_opml(path.read_bytes())
    raise Invalid(_NEITHER, field="file")


def _from_opml(body: bytes) -> Library:
    document = read_opml(body)
    if document.cut_off:
        raise Invalid(_CUT_OFF, field="file")
    listed, others = listed_feeds(document)
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


async def import_miniflux(
    runtime: Runtime, user_id: int, address: str, token: str, tell: Tell = lambda done, total: None
) -> LibraryReport:
    return await import_library(runtime, user_id, await read_miniflux(runtime.fetcher, address, token), tell)


async def import_library(runtime: Runtime, user_id: int, library: Library, tell: Tell) -> LibraryReport:
    report, homes, done = empty_report(library.source, library.lines), None, 0
    for piece in batches_of(library):
        if homes is None and not isinstance(piece, FeedBatch):
            homes = await homes_of(runtime, user_id, library.feeds)
        report += await import_batch(runtime, user_id, library.source, piece, homes or {})
        done += len(piece.items)
        tell(done, library.size)
    await finish_import(runtime, user_id, report, done)
    return report


def empty_report(source: str, lines: Sequence[ImportLine]) -> LibraryReport:
    return LibraryReport(source, skipped=duplicates(lines), lines=tuple(lines))


async def import_batch(
    runtime: Runtime, user_id: int, source: str, piece: ImportBatch, homes: Mapping[str, Home]
) -> LibraryReport:
    """`homes` are the feeds here, by their names there. Brought again, a piece changes nothing."""
    match piece:
        case FeedBatch(feeds):
            # Pieces that 0.1 has written do not say that the feeds of a starred JSON are not to be followed.
            follow = [feed for feed in feeds if feed.follow and source != STARRED_JSON]
            await _put_into_folders(runtime, user_id, [feed for feed in feeds if not feed.follow])
            return await _follow(runtime, user_id, source, follow) if follow else LibraryReport(source)
        case ReadBatch(marks):
            return LibraryReport(source, read=await _bring_reads(runtime, user_id, marks, homes))
        case SavedEntries(entries):
            kept = await import_saved(runtime, user_id, entries, homes)
            return LibraryReport(source, starred=kept.starred, tagged=kept.tagged, bookmarked=kept.bookmarked)


async def finish_import(runtime: Runtime, user_id: int, report: LibraryReport, items: int) -> None:
    """`items`: how many feeds, read marks and entries were brought in."""
    async with runtime.db.write() as tx:
        detail = {"source": report.source, "feeds": report.imported, "starred": report.starred}
        await users.record_event(tx, runtime.now(), "library_imported", user_id, detail)
    await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    await publish_counts(runtime, user_id)
    with suppress(Unavailable):  # everything is in: PostgreSQL refreshes its statistics later by itself
        await runtime.db.analyze_after(items)


async def homes_of(runtime: Runtime, user_id: int, feeds: Sequence[ImportedFeed]) -> dict[str, Home]:
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


async def _put_into_folders(runtime: Runtime, user_id: int, feeds: Sequence[ImportedFeed]) -> None:
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
                await subscriptions.move_unfiled(tx, user_id, home.feed_id, folder_id)


async def _follow(
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
    known = await transfer.known_imported(tx, feed_id, sorted(guids), sorted(urls))
    await reading.read(tx, user_id, [entry_id for entry_id, _, _ in known])
    guids -= {guid for _, guid, _ in known if guid}
    urls -= {url for _, _, url in known if url}
    keys = [removed_key("guid", guid) for guid in guids] + [removed_key("url", url) for url in urls]
    await transfer.remember_imported(tx, user_id, feed_id, keys, now)
