"""Import and export: read databases of other readers, remember imported read marks, list saved searches."""

import html
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Text, bindparam, delete, exists, or_

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import SECOND, Instant, from_datetime
from reedbed.domain.transfer import (
    MAX_CONTENT_LENGTH,
    MAX_FEEDS,
    MAX_KEPT,
    MAX_READS,
    MAX_TEXT_LENGTH,
    READS_PER_FEED,
    ImportedEntry,
    ImportedFeed,
    Library,
    ReadMark,
)
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, delete_some, insert, optional, row_of, select
from reedbed.store.entries.columns import visible
from reedbed.store.tables import entries, feeds, imported_reads, searches

SECONDS = 60.0
_PROGRESS_STEPS = 10_000
_UNKNOWN = "This SQLite file does not come from FreshRSS, Fusion or ReedMe."
_READ_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_ALLOWED_FUNCTIONS = {"substr", "coalesce", "row_number", "count"}

FRESHRSS = {"category", "feed", "entry"}
FUSION = {"groups", "feeds", "items"}


def read_database(path: Path) -> Library:
    try:
        with closing(_open(path)) as connection:
            tables = _known_tables(connection)
            if tables.keys() >= FRESHRSS:
                return _read_freshrss(connection, tables)
            if tables.keys() >= FUSION:
                return _read_fusion(connection, tables)
    except sqlite3.Error as error:
        raise Invalid("This database cannot be read: %(error)s.", field="file", error=str(error)) from error
    raise Invalid(_UNKNOWN, field="file")


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 20_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = _decode
    ends_at = time.monotonic() + SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > ends_at), _PROGRESS_STEPS)
    connection.set_authorizer(_authorize)
    return connection


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _authorize(action: int, first: str | None, second: str | None, _: str | None, inner: str | None) -> int:
    """Allow only plain reads; nothing that a view or trigger in the file would run."""
    if inner is not None:
        return sqlite3.SQLITE_DENY
    if action in _READ_ACTIONS or (action == sqlite3.SQLITE_FUNCTION and second in _ALLOWED_FUNCTIONS):
        return sqlite3.SQLITE_OK
    is_table_info = action == sqlite3.SQLITE_PRAGMA and first == "table_info"
    return sqlite3.SQLITE_OK if is_table_info else sqlite3.SQLITE_DENY


def _known_tables(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Return known plain tables and their columns."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' LIMIT 200").fetchall()
    known = {"category", "feed", "entry", "tag", "entrytag", "groups", "feeds", "items", "bookmarks"}
    names = {name for name, sql in rows if name in known and _text(sql).upper().startswith("CREATE TABLE")}
    return {name: {row[1] for row in connection.execute(f"PRAGMA table_info({name})")} for name in names}


# --- FreshRSS


def _read_freshrss(connection: sqlite3.Connection, tables: dict[str, set[str]]) -> Library:
    feeds = tuple(
        ImportedFeed(str(id_), _unescaped(url), _unescaped(name), (_unescaped(folder),) if folder else ())
        for id_, url, name, folder in connection.execute(
            "SELECT feed.id, feed.url, feed.name, category.name FROM feed"
            " LEFT JOIN category ON category.id = feed.category AND category.id <> 1 LIMIT ?",
            (MAX_FEEDS,),
        )
    )
    titles = {feed.key: feed.title for feed in feeds}
    labels = _read_labels(connection) if {"tag", "entrytag"} <= tables.keys() else {}
    marked = _limited(
        ImportedEntry(
            str(feed),
            titles.get(str(feed), ""),
            _unescaped(guid) or None,
            _unescaped(link) or None,
            _unescaped(title),
            _text(content),
            _unescaped(author) or None,
            _timestamp(date),
            starred=bool(favorite),
            tags=labels.get(id_, ()),
        )
        for id_, feed, guid, link, title, content, author, date, favorite in connection.execute(
            "SELECT id, id_feed, guid, link, title, substr(content, 1, ?), author, date, is_favorite"
            " FROM entry WHERE is_favorite = 1 OR id IN (SELECT id_entry FROM entrytag)"
            if labels
            else "SELECT id, id_feed, guid, link, title, substr(content, 1, ?), author, date, is_favorite"
            " FROM entry WHERE is_favorite = 1",
            (MAX_TEXT_LENGTH,),
        )
    )
    reads = _read_marks(connection, "entry", "id_feed", "is_read = 1", "date")
    return Library("FreshRSS", feeds, tuple(marked), reads)


def _read_labels(connection: sqlite3.Connection) -> dict[Any, tuple[str, ...]]:
    by_entry: dict[Any, dict[str, None]] = {}
    rows = connection.execute(
        "SELECT entrytag.id_entry, tag.name FROM entrytag JOIN tag ON tag.id = entrytag.id_tag LIMIT ?", (MAX_READS,)
    )
    for entry_id, name in rows:
        by_entry.setdefault(entry_id, {})[_unescaped(name)] = None
    return {entry_id: tuple(names) for entry_id, names in by_entry.items()}


# --- Fusion and ReedMe


def _read_fusion(connection: sqlite3.Connection, tables: dict[str, set[str]]) -> Library:
    not_deleted = {name: f"{name}.deleted_at IS NULL" if "deleted_at" in tables[name] else "1" for name in FUSION}
    feeds = tuple(
        ImportedFeed(str(id_), _text(url), _text(name), () if group == 1 or not folder else (_text(folder),))
        for id_, url, name, group, folder in connection.execute(
            "SELECT feeds.id, feeds.link, feeds.name, feeds.group_id, groups.name FROM feeds"  # noqa: S608  conditions of our own
            f" LEFT JOIN groups ON groups.id = feeds.group_id WHERE {not_deleted['feeds']} LIMIT ?",
            (MAX_FEEDS,),
        )
    )
    titles = {feed.key: feed.title for feed in feeds}
    marked: list[ImportedEntry] = []
    if "bookmark" in tables["items"]:
        marked += _limited(
            ImportedEntry(
                str(feed),
                titles.get(str(feed), ""),
                _text(guid) or None,
                _text(link) or None,
                _text(title),
                _text(content),
                published=_timestamp(date),
            )
            for feed, guid, link, title, content, date in connection.execute(
                "SELECT feed_id, guid, link, title, substr(content, 1, ?), pub_date FROM items"  # noqa: S608  as above
                f" WHERE bookmark = 1 AND {not_deleted['items']}",
                (MAX_TEXT_LENGTH,),
            )
        )
    if "bookmarks" in tables:
        marked += _limited(
            ImportedEntry(
                "",
                _text(feed),
                None,
                _text(link) or None,
                _text(title),
                _text(content),
                published=_timestamp(date),
                starred=False,
                bookmarked=True,
            )
            for link, title, content, date, feed in connection.execute(
                "SELECT link, title, substr(content, 1, ?), pub_date, feed_name FROM bookmarks", (MAX_TEXT_LENGTH,)
            )
        )
    reads = _read_marks(connection, "items", "feed_id", f"unread = 0 AND {not_deleted['items']}", "pub_date")
    return Library("Fusion" if "deleted_at" in tables["items"] else "ReedMe", feeds, tuple(marked), reads)


# --- Used by both


def _read_marks(
    connection: sqlite3.Connection, table: str, feed: str, condition: str, newest: str
) -> tuple[ReadMark, ...]:
    """Return the newest read entries of each feed."""
    rows = connection.execute(
        f"SELECT {feed}, guid, link FROM (SELECT {feed}, guid, link,"  # noqa: S608  names of our own
        f" row_number() OVER (PARTITION BY {feed} ORDER BY {newest} DESC) AS place"
        f" FROM {table} WHERE {condition}) WHERE place <= {READS_PER_FEED} LIMIT {MAX_READS}"
    )
    return tuple(ReadMark(str(key), _unescaped(guid) or None, _unescaped(link) or None) for key, guid, link in rows)


def _limited(entries: Iterator[ImportedEntry]) -> list[ImportedEntry]:
    limited: list[ImportedEntry] = []
    size = 0
    for entry in entries:
        size += len(entry.content)
        if len(limited) >= MAX_KEPT or size > MAX_CONTENT_LENGTH:
            raise Invalid(
                "This file holds too much: at most %(limit)s entries are taken.", field="file", limit=MAX_KEPT
            )
        limited.append(entry)
    return limited


def _text(value: Any) -> str:
    return value[:MAX_TEXT_LENGTH] if isinstance(value, str) else ""


def _unescaped(value: Any) -> str:
    """FreshRSS stores names and URLs HTML-escaped."""
    return html.unescape(_text(value))


def _timestamp(value: Any) -> Instant | None:
    """Accept seconds since 1970, or text as Go writes a time."""
    if isinstance(value, int):
        return value * SECOND if 0 < value < 10**11 else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip()[:19])
    except ValueError:
        return None
    return from_datetime(moment.replace(tzinfo=UTC))


# --- Imported read marks

_REMEMBER = Command(
    insert(imported_reads).on_conflict_do_nothing(), columns=["feed_id", "key", "user_id", "created_at"]
)
_FEEDS_WITH_ANY = Query(
    select(feeds.c.id).where(among(feeds.c.id, "ids"), exists().where(imported_reads.c.feed_id == feeds.c.id)), into=int
)
_POP = Query(
    delete(imported_reads)
    .where(imported_reads.c.feed_id == bindparam("feed_id"), among(imported_reads.c.key, "keys"))
    .returning(imported_reads.c.user_id, imported_reads.c.key),
    into=row_of(int, int),
)
_DELETE_OLD = Command(delete_some(imported_reads, imported_reads.c.created_at < bindparam("before")))
_KNOWN_ENTRIES = Query(
    select(entries.c.id, entries.c.guid, entries.c.normalized_url).where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        or_(among(entries.c.guid, "guids", Text()), among(entries.c.normalized_url, "urls", Text())),
    ),
    into=row_of(int, optional(str), optional(str)),
)
_VISIBLE_ENTRY = Query(
    select(entries.c.id)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        or_(among(entries.c.guid, "guids", Text()), among(entries.c.normalized_url, "urls", Text())),
        visible(),
    )
    .order_by(entries.c.id)
    .limit(1),
    into=int,
)


async def remember_imported(tx: Tx, user_id: int, feed_id: int, keys: Iterable[int], now: Instant) -> None:
    await tx.run_many(
        _REMEMBER,
        [{"feed_id": feed_id, "key": key, "user_id": user_id, "created_at": now} for key in dict.fromkeys(keys)],
    )


async def feeds_with_imported(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Return those of these feeds that have imported read marks for entries not yet fetched."""
    return await tx.all(_FEEDS_WITH_ANY, {"ids": list(feed_ids)})


async def pop_imported(tx: Tx, feed_id: int, keys: Sequence[int]) -> list[tuple[int, int]]:
    """Delete and return the read marks for these keys, as user and key."""
    return await tx.all(_POP, {"feed_id": feed_id, "keys": list(keys)})


async def find_imported_entries(
    tx: Tx, feed_id: int, guids: Sequence[str], urls: Sequence[str]
) -> list[tuple[int, str | None, str | None]]:
    """Return id, guid and normalized URL of this feed's entries with one of these guids or URLs."""
    params = {"feed_id": feed_id, "guids": list(guids), "urls": list(urls)}
    return await tx.all(_KNOWN_ENTRIES, params)


async def find_visible_imported(
    tx: Tx, user_id: int, feed_id: int, guids: Sequence[str], urls: Sequence[str]
) -> int | None:
    """Return one such entry that this user can see."""
    params = {"user_id": user_id, "feed_id": feed_id, "guids": list(guids), "urls": list(urls)}
    return await tx.one(_VISIBLE_ENTRY, params)


async def delete_imported(tx: Tx, before: Instant, *, limit: int) -> int:
    return await tx.run(_DELETE_OLD, {"before": before, "limit": limit})


# --- Export


@record
class ExportedSearch:
    name: str
    query: str
    created_at: Instant


_SEARCHES = Query(
    select(searches.c.name, searches.c.query, searches.c.created_at)
    .where(searches.c.user_id == bindparam("user_id"))
    .order_by(searches.c.position, searches.c.id),
    into=ExportedSearch,
)


async def list_searches(tx: Tx, user_id: int) -> list[ExportedSearch]:
    return await tx.all(_SEARCHES, {"user_id": user_id})
