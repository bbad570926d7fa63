"""What entries leave behind: whole articles long read, feeds without followers, files nobody names."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, ColumnElement, Table, bindparam, delete, exists, or_, update

from reedbed.domain.times import Instant
from reedbed.store import tables as t
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.retention import may_go
from reedbed.store.sql import select
from reedbed.store.statements import Statement, delete_some

entries, subscriptions, feeds = t.entries, t.subscriptions, t.feeds

# ---- whole articles --------------------------------------------------------------------------------

_bodies = t.entry_bodies
_ARTICLES = Statement(
    select(entries.c.id)
    .join_from(_bodies, entries, entries.c.id == _bodies.c.entry_id)
    .where(
        _bodies.c.full_content.is_not(None),
        _bodies.c.entry_id > bindparam("beyond"),
        entries.c.fetched_at < bindparam("before"),
        *may_go("read"),
    )
    .order_by(_bodies.c.entry_id)
    .limit(bindparam("most", type_=BigInteger))
)
_CLEAR = Statement(
    update(_bodies)
    .where(
        _bodies.c.full_content.is_not(None),
        _bodies.c.entry_id.in_(select(entries.c.id).where(among(entries.c.id, "ids"), *may_go("read"))),
    )
    .values(full_content=None, full_attempted_at=None)
    .returning(_bodies.c.entry_id)
)


async def articles(tx: Tx, before: Instant, *, beyond: int, most: int) -> list[int]:
    """Read entries that arrived before this moment and still hold their whole article."""
    return [row[0] for row in await tx.all(_ARTICLES, {"before": before, "beyond": beyond, "most": most})]


async def clear_articles(tx: Tx, entry_ids: Sequence[int]) -> set[int]:
    """Those that did lose their article: what somebody marked meanwhile keeps it."""
    return {row[0] for row in await tx.all(_CLEAR, {"ids": list(entry_ids)})}


# ---- feeds that nobody follows ---------------------------------------------------------------------

_other = subscriptions.alias("other")


def _nobody_follows() -> list[ColumnElement[bool]]:
    recently = or_(_other.c.unsubscribed_at.is_(None), _other.c.unsubscribed_at > bindparam("left_since"))
    return [
        ~feeds.c.operator_added,
        feeds.c.kind != "saved",
        feeds.c.created_at <= bindparam("left_since"),
        ~exists().where(_other.c.feed_id == feeds.c.id, recently).correlate(feeds),
    ]


def _may_be_removed() -> list[ColumnElement[bool]]:
    return [*_nobody_follows(), ~exists().where(entries.c.feed_id == feeds.c.id).correlate(feeds)]


_UNFOLLOWED = Statement(select(feeds.c.id).where(*_nobody_follows()).order_by(feeds.c.id))
_HOLD_FEED = Statement(select(feeds.c.id).where(feeds.c.id == bindparam("id")).with_for_update())
_DROP_KEYS = Statement(
    delete_some(
        t.removed_keys,
        t.removed_keys.c.feed_id == bindparam("id"),
        exists().where(feeds.c.id == bindparam("id"), *_may_be_removed()),
    )
)
_DELETE_FEED = Statement(
    delete(feeds).where(
        feeds.c.id == bindparam("id"),
        *_may_be_removed(),
    )
)


async def unfollowed(tx: Tx, left_since: Instant) -> list[int]:
    """Feeds that everybody left before this moment, or nobody ever followed."""
    return [row[0] for row in await tx.all(_UNFOLLOWED, {"left_since": left_since})]


async def drop_keys(tx: Tx, feed_id: int, left_since: Instant, *, most: int) -> int:
    """Some of what such a feed does not tell as new; they would go with it, all at once."""
    return await tx.run(_DROP_KEYS, {"id": feed_id, "left_since": left_since, "most": most})


async def remove_feed(tx: Tx, feed_id: int, left_since: Instant) -> bool:
    """Only an empty one that still nobody follows."""
    await tx.all(_HOLD_FEED, {"id": feed_id})
    return await tx.run(_DELETE_FEED, {"id": feed_id, "left_since": left_since}) > 0


# ---- what belongs to nobody ------------------------------------------------------------------------


def _references(to: Table) -> list[ColumnElement[int]]:
    """Every column of every table that names a row of this one."""
    return [
        column
        for table in t.metadata.tables.values()
        for column in table.columns
        if any(key.column.table is to for key in column.foreign_keys)
    ]


_blobs = t.blobs
_ORPHANS = Statement(
    delete(_blobs).where(
        _blobs.c.id.in_(
            select(_blobs.c.id)
            .where(
                _blobs.c.created_at < bindparam("before"),
                # Read once as a set: not every one of these columns has an index.
                *(_blobs.c.id.not_in(select(one).where(one.is_not(None))) for one in _references(_blobs)),
            )
            .limit(bindparam("most", type_=BigInteger))
        )
    )
)
_FAILURES = Statement(delete(t.summary_failures).where(t.summary_failures.c.failed_at < bindparam("before")))


async def drop_orphan_blobs(tx: Tx, before: Instant, *, most: int = 10) -> int:
    return await tx.run(_ORPHANS, {"before": before, "most": most})


async def drop_failures(tx: Tx, before: Instant) -> int:
    return await tx.run(_FAILURES, {"before": before})
