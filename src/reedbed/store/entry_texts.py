"""Entries with all their words, for what is made of them: snapshots, highlights, rules, feeds, exports."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, and_, bindparam

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.alive import shows
from reedbed.store.database import Row, Tx
from reedbed.store.dialect import among
from reedbed.store.entry_columns import visible
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, entry_bodies, feeds, subscriptions


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


async def how_many(tx: Tx, user_id: int, most: int) -> int:
    """Entries in the feeds this user follows, counted up to `most`."""
    return await tx.value(_HOW_MANY, {"user_id": user_id, "most": most})


async def one_seen_by(tx: Tx, user_id: int, entry_id: int) -> EntryWords | None:
    return next(iter(await seen_by(tx, user_id, [entry_id])), None)


def _words(row: Row) -> EntryWords:
    return EntryWords(*row)
