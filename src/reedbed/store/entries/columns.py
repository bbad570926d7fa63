"""Columns, joins and conditions that all entry lists share, and the conversion of rows to `EntryRow`."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import BigInteger, BindParameter, ColumnElement, and_, bindparam, or_, true
from sqlalchemy.sql.selectable import FromClause

from reedbed.domain.entries import EntryRow, States
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Query, among, row_of, select
from reedbed.store.tables import entries, entry_tags, later, starred, subscriptions, tags, unread
from reedbed.store.visibility import above_read_marker, alive, shows

PLAIN = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.title,
    entries.c.url,
    entries.c.author,
    entries.c.summary,
    entries.c.image,
    entries.c.language,
    entries.c.words,
    entries.c.version,
    entries.c.published_at,
    entries.c.fetched_at,
    entries.c.changed_at,
    entries.c.sort_at,
)
IS_UNREAD = and_(unread.c.entry_id.is_not(None), alive(unread, subscriptions)).label("is_unread")
IS_STARRED = starred.c.entry_id.is_not(None).label("is_starred")
IS_LATER = later.c.entry_id.is_not(None).label("is_later")
LISTED = (*PLAIN, IS_UNREAD, IS_STARRED, IS_LATER)

_USER: BindParameter[int] = bindparam("user_id", type_=BigInteger)


def entry_row(*listed: Any) -> EntryRow:
    """The columns of `LISTED` as an entry, without its tags; see `with_tags`."""
    *plain, is_unread, is_starred, is_later = listed
    states = States(read=not is_unread, starred=bool(is_starred), later=bool(is_later))
    return EntryRow(*plain, states=states)


def categories_in(extra: str) -> tuple[str, ...]:
    """The feed's categories in the JSON of `entry_bodies.extra`; most entries have none, so look before parsing."""
    return tuple(orjson.loads(extra).get("categories", ())) if '"categories"' in extra else ()


def with_states(source: FromClause) -> FromClause:
    """Join this user's states (unread, starred, later) to the `entries` of the source."""
    return (
        source.outerjoin(unread, and_(unread.c.user_id == _USER, unread.c.entry_id == entries.c.id))
        .outerjoin(subscriptions, and_(subscriptions.c.user_id == _USER, subscriptions.c.feed_id == entries.c.feed_id))
        .outerjoin(starred, and_(starred.c.user_id == _USER, starred.c.entry_id == entries.c.id))
        .outerjoin(later, and_(later.c.user_id == _USER, later.c.entry_id == entries.c.id))
    )


def followed(*, with_muted: bool = False) -> ColumnElement[bool]:
    """The entry is in a feed this user subscribes to, and visible there; looked up by the entry's feed."""
    is_shown = select(shows(subscriptions, entries, with_muted=with_muted)).where(
        subscriptions.c.user_id == _USER,
        subscriptions.c.feed_id == entries.c.feed_id,
        subscriptions.c.unsubscribed_at.is_(None),
    )
    return is_shown.correlate(entries).scalar_subquery() == true()


def visible(*, with_muted: bool = False) -> ColumnElement[bool]:
    """Subscribed and not muted; or starred, saved for later or tagged, even after unsubscribing.

    Lookups by id use `with_muted`, so that they find muted entries too.
    """
    flagged = (has_flag(table, entries.c.id) for table in (starred, later, entry_tags))
    return or_(followed(with_muted=with_muted), *flagged)


def has_flag(table: FromClause, entry_id: ColumnElement[int]) -> ColumnElement[bool]:
    return (
        select(table.c.entry_id)
        .where(table.c.user_id == _USER, table.c.entry_id == entry_id)
        .correlate_except(table)
        .exists()
    )


def has_tag(name: str, entry_id: ColumnElement[int]) -> ColumnElement[bool]:
    """`name` is the bind parameter with the tag's name."""
    return (
        select(entry_tags.c.entry_id)
        .where(entry_tags.c.user_id == _USER, entry_tags.c.entry_id == entry_id, entry_tags.c.tag_id == tag_id(name))
        .correlate_except(entry_tags)
        .exists()
    )


def tag_id(name: str) -> ColumnElement[int]:
    return select(tags.c.id).where(tags.c.user_id == _USER, tags.c.name == bindparam(name)).scalar_subquery()


def is_unread(entry_id: ColumnElement[int]) -> ColumnElement[bool]:
    row = unread.alias("row")
    return (
        select(row.c.entry_id)
        .where(row.c.user_id == _USER, row.c.entry_id == entry_id, above_read_marker(row))
        .correlate_except(row)
        .exists()
    )


_TAGS = Query(
    select(entry_tags.c.entry_id, tags.c.name)
    .join_from(entry_tags, tags, tags.c.id == entry_tags.c.tag_id)
    .where(entry_tags.c.user_id == _USER, among(entry_tags.c.entry_id, "ids"))
    .order_by(tags.c.name),
    into=row_of(int, str),
)


async def tags_of(tx: Tx, user_id: int, ids: list[int]) -> dict[int, tuple[str, ...]]:
    names: dict[int, tuple[str, ...]] = {}
    if ids:
        for entry_id, name in await tx.all(_TAGS, {"user_id": user_id, "ids": ids}):
            names[entry_id] = (*names.get(entry_id, ()), name)
    return names


async def with_tags(tx: Tx, user_id: int, rows: Iterable[EntryRow]) -> list[EntryRow]:
    """These entries with the user's tags."""
    rows = list(rows)
    tags = await tags_of(tx, user_id, [row.id for row in rows])
    return [replace(row, states=replace(row.states, tags=tags[row.id])) if row.id in tags else row for row in rows]
