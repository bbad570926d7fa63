"""Import starred and tagged entries of another feed reader."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from reedbed.domain.bookmarks import Snapshot
from reedbed.domain.entries import MAX_TAG_LENGTH, MAX_TAGS
from reedbed.domain.feeds import ParsedEntry, ParsedFeed
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import change_hash, sort_at
from reedbed.domain.text import clean_line, storable
from reedbed.domain.times import Instant
from reedbed.domain.transfer import ImportedEntry
from reedbed.domain.urls import normalize_url
from reedbed.services.bookmarks import MAX_BOOKMARKS
from reedbed.services.email import texts_of
from reedbed.services.refresh.diff import words_of
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import learn_words
from reedbed.store import bookmarks, search, subscriptions, tags, transfer
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries.write import NewEntryRow
from reedbed.store.feeds import feeds
from reedbed.store.feeds import merge as feed_merge
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.visibility import lock_feed

IMPORTED_FEED_URL = "reedbed:imported"
_MAX_AUTHOR_LENGTH = 300

Pair = tuple[ImportedEntry, NewEntryRow]


class Home(NamedTuple):
    """A feed the user is subscribed to."""

    feed_id: int
    folder_names: frozenset[str]
    """Names of its folder and of the parent folders."""


@record
class ImportedCounts:
    starred: int = 0
    tagged: int = 0
    bookmarked: int = 0

    def __add__(self, other: "ImportedCounts") -> "ImportedCounts":
        return ImportedCounts(
            self.starred + other.starred, self.tagged + other.tagged, self.bookmarked + other.bookmarked
        )


async def import_saved(
    runtime: Runtime, user_id: int, imported: Sequence[ImportedEntry], homes: Mapping[str, Home]
) -> ImportedCounts:
    """`homes` maps the feed keys of the other reader to feeds here."""
    now = runtime.now()
    imported = [_without_folders(entry, homes.get(entry.feed_key)) for entry in imported]
    rows = await asyncio.to_thread(lambda: [_row(entry, now) for entry in imported])
    pairs = list(zip(imported, rows, strict=True))
    feed_title = (await texts_of(runtime, user_id)).translate("Imported entries")
    async with runtime.db.write() as tx:
        stored = await _store(tx, user_id, pairs, homes, feed_title, now)
        starred = [id_ for entry, id_ in stored if entry.starred]
        return ImportedCounts(
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
    tx: Tx, user_id: int, pairs: Sequence[Pair], homes: Mapping[str, Home], feed_title: str, now: Instant
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
    return stored + (await _store_in_own_feed(tx, user_id, missing, feed_title, now) if missing else [])


async def _find_in_feed(tx: Tx, user_id: int, entry: ImportedEntry, row: NewEntryRow, home: Home | None) -> int | None:
    if home is None:
        return None
    guids, urls = ([storable(entry.guid)] if entry.guid else [], [row.normalized_url] if row.normalized_url else [])
    return await transfer.find_visible_imported(tx, user_id, home.feed_id, guids, urls) if guids or urls else None


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
    tx: Tx, user_id: int, pairs: Sequence[Pair], feed_title: str, now: Instant
) -> list[tuple[ImportedEntry, int]]:
    feed_id = await _own_feed(tx, user_id, feed_title, now)
    await lock_feed(tx, feed_id)  # of two concurrent imports, the second must see what the first stored
    by_guid = {row.guid: (entry, row._replace(feed_id=feed_id)) for entry, row in pairs}
    ids_by_guid = await _existing_copies(tx, feed_id, [row for _, row in by_guid.values()])
    new_rows = [row for guid, (_, row) in by_guid.items() if guid not in ids_by_guid]
    stored = await entry_writes.insert_new(tx, new_rows)
    await learn_words(tx, [(row.text.language, row.text.search) for _, row in stored])
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


async def _own_feed(tx: Tx, user_id: int, title: str, now: Instant) -> int:
    """The user's own feed of imported entries. It is subscribed, so that its entries are visible."""
    feed_id, _ = await feeds.find_or_add(tx, IMPORTED_FEED_URL, now, owner_id=user_id, kind="saved", title=title)
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
