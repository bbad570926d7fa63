"""Entries that were kept in another reader: marked in their feed, or put on a shelf of their user alone."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from reedbed.domain.bookmarks import Snapshot
from reedbed.domain.dedupe import change_hash, sort_at
from reedbed.domain.feeds import ParsedEntry, ParsedFeed
from reedbed.domain.libraries import ForeignEntry
from reedbed.domain.records import record
from reedbed.domain.tags import LONGEST as LONGEST_TAG
from reedbed.domain.tags import MOST_TAGS
from reedbed.domain.texts import shown_line, storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import normalize_url
from reedbed.services.bookmarks import MOST_BOOKMARKS
from reedbed.services.refresh_words import words_of
from reedbed.services.runtime import Runtime
from reedbed.store import (
    bookmarks,
    entry_writes,
    feed_merge,
    feeds,
    imported,
    marks,
    search,
    subscriptions,
    tags,
    unread,
)
from reedbed.store.alive import lock_feed
from reedbed.store.database import Tx
from reedbed.store.entry_writes import EntryRow
from reedbed.store.unread import Arrival

SHELF_URL = "reedbed:imported"
SHELF_TITLE = "Imported entries"
_LONGEST_AUTHOR = 300

Pair = tuple[ForeignEntry, EntryRow]


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


async def bring_kept(
    runtime: Runtime, user_id: int, some: Sequence[ForeignEntry], homes: Mapping[str, Home]
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
            await marks.put(tx, user_id, "starred", starred, now),
            await _tag(tx, user_id, placed, now),
            await _bookmark(tx, user_id, [pair for pair in pairs if pair[0].bookmarked], now),
        )


def _without_folders(entry: ForeignEntry, home: Home | None) -> ForeignEntry:
    """The format has one word for both: a label named like the folder of the feed is no tag."""
    if home is None or not home.folder_names.intersection(entry.tags):
        return entry
    return replace(entry, tags=tuple(tag for tag in entry.tags if tag not in home.folder_names))


async def _place(
    tx: Tx, user_id: int, some: Sequence[Pair], homes: Mapping[str, Home], now: Instant
) -> list[tuple[ForeignEntry, int]]:
    """Each entry with its id here: in its feed, else in the user's own feed of imported entries."""
    placed: list[tuple[ForeignEntry, int]] = []
    homeless: list[Pair] = []
    at_home: list[tuple[EntryRow, int]] = []
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


async def _at_home(tx: Tx, user_id: int, entry: ForeignEntry, row: EntryRow, home: Home | None) -> int | None:
    if home is None:
        return None
    guids, urls = (
        [storable(entry.guid)] if entry.guid else [],
        [row.normalized_url] if row.normalized_url else [],
    )
    return await imported.seen(tx, user_id, home.feed_id, guids, urls) if guids or urls else None


async def _take_off_shelf(tx: Tx, user_id: int, at_home: Sequence[tuple[EntryRow, int]]) -> None:
    """Copies of an earlier import, made before the feed had these entries, hand over their marks."""
    shelf = await feeds.by_url(tx, SHELF_URL, user_id) if at_home else None
    if shelf is None:
        return
    guids = {row.guid: home for row, home in at_home if row.guid}
    urls = {row.normalized_url: home for row, home in at_home if row.normalized_url}
    copies = await imported.known(tx, shelf, list(guids), list(urls))
    moves = {id_: guids.get(guid or "") or urls.get(url or "") for id_, guid, url in copies}
    await feed_merge.move_marks(tx, [(id_, home) for id_, home in moves.items() if home is not None])


async def _shelve(tx: Tx, user_id: int, some: Sequence[Pair], now: Instant) -> list[tuple[ForeignEntry, int]]:
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


async def _on_shelf(tx: Tx, shelf: int, rows: Sequence[EntryRow]) -> dict[str | None, int]:
    """Copies of an earlier import, by guid. Where another program names the feed differently: by address."""
    urls = [row.normalized_url for row in rows if row.normalized_url]
    found = await imported.known(tx, shelf, [row.guid for row in rows if row.guid], urls)
    by_guid: dict[str | None, int] = {guid: id_ for id_, guid, _ in found}
    by_url: dict[str | None, int] = {url: id_ for id_, _, url in found if url}
    ids = {row.guid: by_guid.get(row.guid) or by_url.get(row.normalized_url) for row in rows}
    return {guid: id_ for guid, id_ in ids.items() if id_ is not None}


async def _shelf(tx: Tx, user_id: int, now: Instant) -> int:
    """The user's own feed of what came along; followed, so that it can be seen."""
    feed_id, _ = await feeds.find_or_add(
        tx, SHELF_URL, now, owner_id=user_id, kind="saved", title=SHELF_TITLE
    )
    if await subscriptions.by_feed(tx, user_id, feed_id) is None:
        await subscriptions.add(
            tx, user_id, feed_id, folder_id=None, title=None, asked_url=SHELF_URL, opml=None, now=now
        )
        await unread.open_for(tx, user_id, feed_id)
    return feed_id


async def _tag(tx: Tx, user_id: int, placed: Sequence[tuple[ForeignEntry, int]], now: Instant) -> int:
    by_tag: defaultdict[str, list[int]] = defaultdict(list)
    for entry, id_ in placed:
        for name in map(shown_line, entry.tags):
            if name:
                by_tag[name[:LONGEST_TAG]].append(id_)
    known = set(await tags.names(tx, user_id)) if by_tag else set[str]()
    room = MOST_TAGS - len(known)
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
    room = MOST_BOOKMARKS - await bookmarks.count(tx, user_id)
    for entry, row in addressed[: max(room, 0)]:
        snapshot = Snapshot(
            None, row.url, row.text.title, row.text.content, storable(entry.feed_title), row.published_at
        )
        await bookmarks.put(tx, user_id, snapshot, now)
    return min(len(addressed), max(room, 0))


def _row(entry: ForeignEntry, now: Instant) -> EntryRow:
    url = storable(entry.url) if entry.url else None
    normalized = normalize_url(url) if url else None
    title, content = storable(entry.title), storable(entry.content)
    name = entry.guid or normalized or f"{title}\0{content}"
    parsed = ParsedEntry(guid=None, url=url if normalized else None, title=title, content=content)
    words = words_of(parsed, ParsedFeed("rss", storable(entry.feed_title), ()))
    return EntryRow(
        feed_id=0,
        guid=sha256(f"{entry.feed_key}\0{name}".encode("utf-8", "replace")).hexdigest()[:32],
        url=url if normalized else None,
        normalized_url=normalized,
        change_hash=change_hash(title, content),
        published_at=entry.published,
        fetched_at=now,
        sort_at=sort_at(entry.published, now),
        text=words._replace(author=storable(entry.author or entry.feed_title)[:_LONGEST_AUTHOR] or None),
    )
