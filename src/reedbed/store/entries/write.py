"""Stores new and changed entries, finds existing ones, and keeps the keys of removed ones.

A removed entry leaves its key, so that it does not come back as new while the feed still lists it. The key is
deleted once the feed has not listed it for a while.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Text, bindparam, delete, null, update

from reedbed.domain.playback import Recording
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import ExistingEntry, Seen
from reedbed.domain.search.indexing import SearchWords
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Command,
    Param,
    Query,
    among,
    delete_some,
    func,
    insert,
    optional,
    row_of,
    select,
)
from reedbed.store.entries.columns import categories_in
from reedbed.store.tables import entries, entry_bodies, entry_versions, removed_keys

MAX_VERSIONS = 20


class NewEntryText(NamedTuple):
    """The text of an entry to store; the markup is sanitised."""

    title: str
    content: str
    plain: str = ""
    """The content without markup; not stored."""
    author: str | None = None
    summary: str = ""
    image: str | None = None
    language: str | None = None
    words: int = 0
    extra: str = "{}"
    search: SearchWords = SearchWords()
    recordings: tuple[Recording, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        return categories_in(self.extra)


class NewEntryRow(NamedTuple):
    feed_id: int
    guid: str | None
    url: str | None
    normalized_url: str | None
    change_hash: str
    published_at: Instant | None
    fetched_at: Instant
    sort_at: Instant
    text: NewEntryText


@record
class EntryUpdate:
    """An existing entry whose content changed."""

    entry_id: int
    feed_id: int
    url: str | None
    normalized_url: str | None
    change_hash: str
    changed_at: Instant
    text: NewEntryText


class _Known(NamedTuple):
    id: int
    guid: str | None
    normalized_url: str | None
    change_hash: str
    title: str
    published_at: Instant | None


_fingerprint = (
    entries.c.id,
    entries.c.guid,
    entries.c.normalized_url,
    entries.c.change_hash,
    entries.c.title,
    entries.c.published_at,
)
_BY_GUIDS = Query(
    select(*_fingerprint).where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        among(entries.c.guid, "keys", Text()),
    ),
    into=_Known,
)
_BY_URLS = Query(
    select(*_fingerprint).where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        among(entries.c.normalized_url, "keys", Text()),
    ),
    into=_Known,
)
_NEWEST_ENTRIES = Query(
    select(*_fingerprint)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(bindparam("limit")),
    into=_Known,
)

_text_columns = ("title", "author", "summary", "image", "language", "words")
_INSERT = Command(
    insert(entries).on_conflict_do_nothing(),
    columns=[
        "feed_id",
        "guid",
        "url",
        "normalized_url",
        "change_hash",
        "published_at",
        "fetched_at",
        "sort_at",
        *_text_columns,
    ],
)
_NEWEST = Query(select(func.coalesce(func.max(entries.c.id), 0)), into=int)
_SINCE = Query(
    select(entries.c.id, entries.c.feed_id, entries.c.guid, entries.c.change_hash)
    .where(entries.c.id > bindparam("before"))
    .order_by(entries.c.id),
    into=row_of(int, int, optional(str), str),
)
_INSERT_BODY = Command(insert(entry_bodies), columns=["entry_id", "content", "extra"])

_has_changed = (entries.c.id == bindparam("id")) & (entries.c.change_hash != bindparam("new_hash"))
_SAVE_VERSION = Command(
    insert(entry_versions)
    .from_select(
        ["entry_id", "version", "title", "content", "change_hash", "replaced_at"],
        select(
            entries.c.id,
            entries.c.version,
            entries.c.title,
            entry_bodies.c.content,
            entries.c.change_hash,
            bindparam("now", type_=entry_versions.c.replaced_at.type),
        )
        .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
        .where(_has_changed),
    )
    .on_conflict_do_nothing()
)
_REWRITE = Query(
    update(entries)
    .where(_has_changed)
    .values(
        change_hash=bindparam("new_hash"),
        url=func.coalesce(bindparam("new_url", type_=Text()), entries.c.url),
        normalized_url=func.coalesce(bindparam("new_normalized_url", type_=Text()), entries.c.normalized_url),
        version=entries.c.version + 1,
        changed_at=bindparam("now"),
        **{name: bindparam(f"new_{name}") for name in _text_columns},
    )
    .returning(entries.c.id),
    into=int,
)
_REWRITE_BODY = Command(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("id"))
    .values(content=bindparam("new_content"), extra=bindparam("new_extra"), translated=null())
)
_DROP_OLD_VERSIONS = Command(
    delete(entry_versions).where(
        entry_versions.c.entry_id == bindparam("id"),
        entry_versions.c.version
        < select(entries.c.version - MAX_VERSIONS).where(entries.c.id == bindparam("id")).scalar_subquery(),
    )
)


async def entries_by_guid(tx: Tx, feed_id: int, guids: Sequence[str]) -> dict[str, Seen]:
    rows = await tx.all(_BY_GUIDS, {"feed_id": feed_id, "keys": list(guids)})
    return {row.guid: _seen(row) for row in rows if row.guid is not None}


async def entries_by_url(tx: Tx, feed_id: int, urls: Sequence[str]) -> dict[str, Seen]:
    """By normalized URL. If several entries share one, the newest counts."""
    rows = await tx.all(_BY_URLS, {"feed_id": feed_id, "keys": list(urls)})
    return {row.normalized_url: _seen(row) for row in sorted(rows, key=_id_of) if row.normalized_url is not None}


async def newest_by_key(tx: Tx, feed_id: int, limit: int) -> ExistingEntry:
    """The newest entries by every key, for feeds whose guids or URLs are unreliable."""
    rows = sorted(await tx.all(_NEWEST_ENTRIES, {"feed_id": feed_id, "limit": limit}), key=_id_of)
    return ExistingEntry(
        by_guid={row.guid: _seen(row) for row in rows if row.guid is not None},
        by_url={row.normalized_url: _seen(row) for row in rows if row.normalized_url is not None},
        by_hash={row.change_hash: _seen(row) for row in rows},
    )


async def insert_new(tx: Tx, rows: Sequence[NewEntryRow]) -> list[tuple[int, NewEntryRow]]:
    """Store these entries; returns only the new ones with their ids, in the given order."""
    # RETURNING for each row costs twice as much. Ids only grow, and leases keep other workers out.
    before = await tx.one(_NEWEST)
    await tx.run_many(_INSERT, [_entry_params(row) for row in rows])
    feed_ids = {row.feed_id for row in rows}
    since = await tx.all(_SINCE, {"before": before})
    stored = list(_matched(rows, [row for row in since if row[1] in feed_ids]))
    await tx.run_many(
        _INSERT_BODY, [{"entry_id": id_, "content": row.text.content, "extra": row.text.extra} for id_, row in stored]
    )
    return stored


async def rewrite(tx: Tx, rewrites: Sequence[EntryUpdate]) -> list[int]:
    """Save the old text as a version and store the new text; returns the ids that changed."""
    params = [_rewrite_params(change) for change in rewrites]
    await tx.run_many(_SAVE_VERSION, params)
    changed = set(await tx.each(_REWRITE, params))
    bodies = [values for values in params if values["id"] in changed]
    await tx.run_many(_REWRITE_BODY, bodies)
    await tx.run_many(_DROP_OLD_VERSIONS, bodies)
    return sorted(changed)


def _matched(
    rows: Iterable[NewEntryRow], stored: Sequence[tuple[int, int, str | None, str]]
) -> Iterator[tuple[int, NewEntryRow]]:
    """Rows with a conflict were not stored, so the stored rows are an ordered subset of the given ones."""
    index = 0
    for row in rows:
        if index == len(stored):
            return
        id_, feed_id, guid, digest = stored[index]
        if (feed_id, guid, digest) == (row.feed_id, row.guid, row.change_hash):
            index += 1
            yield id_, row


def _seen(row: _Known) -> Seen:
    return Seen(row.id, row.normalized_url, row.change_hash, row.title, row.published_at)


def _id_of(row: _Known) -> int:
    return row.id


def _entry_params(row: NewEntryRow) -> dict[str, Param]:
    text = row.text
    return {
        "feed_id": row.feed_id,
        "guid": row.guid,
        "url": row.url,
        "normalized_url": row.normalized_url,
        "change_hash": row.change_hash,
        "published_at": row.published_at,
        "fetched_at": row.fetched_at,
        "sort_at": row.sort_at,
        "title": text.title,
        "author": text.author,
        "summary": text.summary,
        "image": text.image,
        "language": text.language,
        "words": text.words,
    }


def _rewrite_params(change: EntryUpdate) -> dict[str, Param]:
    text = change.text
    return {
        "id": change.entry_id,
        "now": change.changed_at,
        "new_hash": change.change_hash,
        "new_url": change.url,
        "new_normalized_url": change.normalized_url,
        "new_title": text.title,
        "new_author": text.author,
        "new_summary": text.summary,
        "new_image": text.image,
        "new_language": text.language,
        "new_words": text.words,
        "new_content": text.content,
        "new_extra": text.extra,
    }


# --- Keys of removed entries

_ADD_REMOVED = Command(insert(removed_keys).on_conflict_do_nothing(), columns=["feed_id", "key"])
_REMOVED = Query(
    select(removed_keys.c.key).where(removed_keys.c.feed_id == bindparam("feed_id"), among(removed_keys.c.key, "keys")),
    into=int,
)
_MISSED = Command(
    update(removed_keys)
    .where(
        removed_keys.c.feed_id == bindparam("feed"),
        removed_keys.c.missed_at.is_(None),
        ~among(removed_keys.c.key, "listed"),
    )
    .values(missed_at=bindparam("now"))
)
_LISTED = Command(
    update(removed_keys)
    .where(
        removed_keys.c.feed_id == bindparam("feed"),
        removed_keys.c.missed_at.is_not(None),
        among(removed_keys.c.key, "listed"),
    )
    .values(missed_at=None)
)
_DELETE_MISSED = Command(delete_some(removed_keys, removed_keys.c.missed_at < bindparam("before")))


async def known(tx: Tx, feed_id: int, keys: Sequence[int]) -> set[int]:
    return set(await tx.all(_REMOVED, {"feed_id": feed_id, "keys": list(keys)}))


async def record_listed_keys(tx: Tx, documents: Sequence[tuple[int, Sequence[int]]], now: Instant) -> None:
    """Record which removed entries these feeds still list, by their keys."""
    params = [{"feed": feed_id, "listed": list(keys), "now": now} for feed_id, keys in documents]
    await tx.run_many(_MISSED, params)
    await tx.run_many(_LISTED, [values for values in params if values["listed"]])


async def delete_missed_keys(tx: Tx, before: Instant, *, limit: int) -> int:
    return await tx.run(_DELETE_MISSED, {"before": before, "limit": limit})


async def remember(tx: Tx, keys: Sequence[tuple[int, int]]) -> None:
    """Store keys of removed entries, as (feed id, key)."""
    await tx.run_many(_ADD_REMOVED, [{"feed_id": feed_id, "key": key} for feed_id, key in keys])
