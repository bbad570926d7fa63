"""Entries one by one or by id, with their bodies; lists are in `entry_lists`, streams in `entry_streams`."""

from typing import Any

import orjson
from sqlalchemy import BigInteger, bindparam

from reedbed.domain.entries import Entry, EntryRow, EntryVersion
from reedbed.domain.feeds import Author, Enclosure
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.dialect import among
from reedbed.store.entry_columns import LISTED, entry_row, tags_of, visible, with_states
from reedbed.store.entry_lists import page
from reedbed.store.entry_streams import every_id, how_many, ids_page, length
from reedbed.store.sql import select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, entry_bodies, entry_versions

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
