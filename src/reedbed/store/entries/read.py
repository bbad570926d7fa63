"""Entries with all their words, for what is made of them: snapshots, highlights, rules, feeds, exports."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import BigInteger, and_, bindparam

from reedbed.domain.entries import Entry, EntryRow, EntryVersion
from reedbed.domain.feeds import Author, Enclosure
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, among, func, select
from reedbed.store.entries.columns import LISTED, entry_row, tags_of, visible, with_states
from reedbed.store.entries.lists import page
from reedbed.store.entries.streams import every_id, how_many, ids_page, length
from reedbed.store.tables import entries, entry_bodies, entry_versions, feeds, subscriptions
from reedbed.store.visibility import shows

__all__ = [
    "by_ids",
    "every_id",
    "get",
    "how_many",
    "ids_page",
    "length",
    "page",
    "place",
    "rows_by_ids",
    "versions",
]

_with_body = (
    select(*LISTED, entry_bodies.c.content, entry_bodies.c.full_content, entry_bodies.c.extra)
    .select_from(with_states(entries.outerjoin(entry_bodies, entry_bodies.c.entry_id == entries.c.id)))
    .where(among(entries.c.id, "ids"))
)
_WITH_BODY = Statement(_with_body.where(visible()))
_ALSO_MUTED = Statement(_with_body.where(visible(with_muted=True)))
_ROWS = Statement(
    select(*LISTED)
    .select_from(with_states(entries))
    .where(among(entries.c.id, "ids"), visible(with_muted=True))
)
_PLACE = Statement(
    select(entries.c.sort_at, entries.c.id).where(entries.c.id == bindparam("id"), visible(with_muted=True))
)
_VERSIONS = Statement(
    select(
        entry_versions.c.version,
        entry_versions.c.title,
        entry_versions.c.content,
        entry_versions.c.replaced_at,
    )
    .where(entry_versions.c.entry_id == bindparam("id"))
    .order_by(entry_versions.c.version.desc())
    .limit(bindparam("most", type_=BigInteger))
)


async def get(tx: Tx, user_id: int, entry_id: int) -> Entry | None:
    """None when there is no such entry, or this user cannot see it. One that is muted is found."""
    found = await _with_bodies(tx, _ALSO_MUTED, user_id, [entry_id])
    return found[0] if found else None


async def by_ids(tx: Tx, user_id: int, ids: list[int]) -> list[Entry]:
    """With bodies, in the order asked for; what this user cannot see or has muted is left out."""
    return await _with_bodies(tx, _WITH_BODY, user_id, ids)


async def _with_bodies(tx: Tx, statement: Statement, user_id: int, ids: list[int]) -> list[Entry]:
    rows = await tx.all(statement, {"user_id": user_id, "ids": ids})
    tags = await tags_of(tx, user_id, [row["id"] for row in rows])
    found = {row["id"]: _entry(row, entry_row(row, tags)) for row in rows}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


async def rows_by_ids(tx: Tx, user_id: int, ids: list[int]) -> list[EntryRow]:
    """Like `by_ids`, without bodies, and with muted ones."""
    rows = await tx.all(_ROWS, {"user_id": user_id, "ids": ids})
    tags = await tags_of(tx, user_id, [row["id"] for row in rows])
    found = {row["id"]: entry_row(row, tags) for row in rows}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


async def place(tx: Tx, user_id: int, entry_id: int) -> tuple[Instant, int] | None:
    """Where the entry stands in the order of lists."""
    row = await tx.one(_PLACE, {"user_id": user_id, "id": entry_id})
    return (row["sort_at"], row["id"]) if row else None


async def versions(tx: Tx, entry_id: int, *, most: int = 50) -> list[EntryVersion]:
    """The versions before the current one, newest first. Ask `get` first whether the user may see them."""
    return [EntryVersion(*row) for row in await tx.all(_VERSIONS, {"id": entry_id, "most": most})]


def _entry(row: Row, listed: EntryRow) -> Entry:
    extra: dict[str, Any] = orjson.loads(row["extra"] or "{}")
    return Entry(
        row=listed,
        content=row["content"] or "",
        full_content=row["full_content"],
        authors=tuple(Author(**author) for author in extra.get("authors", ())),
        categories=tuple(extra.get("categories", ())),
        enclosures=tuple(Enclosure(**enclosure) for enclosure in extra.get("enclosures", ())),
        comments_url=extra.get("comments_url"),
        external_url=extra.get("external_url"),
    )


@record
class EntryWords:
    """An entry as one user reads it."""

    id: int
    feed_id: int
    guid: str | None
    url: str | None
    title: str
    author: str | None
    summary: str
    language: str | None
    published_at: Instant | None
    fetched_at: Instant
    changed_at: Instant | None
    sort_at: Instant
    content: str
    """Sanitised HTML; the full article where it was fetched."""
    feed_content: str
    """As the feed gave it."""
    feed_title: str
    """The user's own name for the feed, if there is one."""
    folder_id: int | None


_WORDS = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.guid,
    entries.c.url,
    entries.c.title,
    entries.c.author,
    entries.c.summary,
    entries.c.language,
    entries.c.published_at,
    entries.c.fetched_at,
    entries.c.changed_at,
    entries.c.sort_at,
    func.coalesce(entry_bodies.c.full_content, entry_bodies.c.content, ""),
    func.coalesce(entry_bodies.c.content, ""),
    func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url),
    subscriptions.c.folder_id,
)
_SEEN = Statement(
    select(*_WORDS)
    .select_from(
        entries.join(feeds, feeds.c.id == entries.c.feed_id)
        .outerjoin(entry_bodies, entry_bodies.c.entry_id == entries.c.id)
        .outerjoin(
            subscriptions,
            and_(
                subscriptions.c.user_id == bindparam("user_id"),
                subscriptions.c.feed_id == entries.c.feed_id,
            ),
        )
    )
    .where(among(entries.c.id, "ids"), visible())
)

_followed = (
    select(entries.c.id)
    .join_from(subscriptions, entries, entries.c.feed_id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        shows(subscriptions, entries),
    )
    .limit(bindparam("most", type_=BigInteger))
)
_HOW_MANY = Statement(select(func.count()).select_from(_followed.subquery()))


async def seen_by(tx: Tx, user_id: int, ids: Sequence[int]) -> list[EntryWords]:
    """Those of these entries that the user may see, in the order given."""
    found = {row[0]: row for row in await tx.all(_SEEN, {"user_id": user_id, "ids": list(ids)})}
    return [_words(found[id_]) for id_ in ids if id_ in found]


async def count_texts(tx: Tx, user_id: int, most: int) -> int:
    """Entries in the feeds this user follows, counted up to `most`."""
    return await tx.value(_HOW_MANY, {"user_id": user_id, "most": most})


async def one_seen_by(tx: Tx, user_id: int, entry_id: int) -> EntryWords | None:
    return next(iter(await seen_by(tx, user_id, [entry_id])), None)


def _words(row: Row) -> EntryWords:
    return EntryWords(*row)
