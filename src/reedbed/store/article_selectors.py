"""Selectors for the whole articles of a feed."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.article_selectors import ArticleSelectors
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.database import Row, Tx
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import article_selectors, entries, entry_bodies

_CHOICE = (article_selectors.c.kept, article_selectors.c.dropped)
_OF_FEED = Statement(select(*_CHOICE).where(article_selectors.c.feed_id == bindparam("feed_id")))
_written = insert(article_selectors)
_PUT = Statement(
    _written.on_conflict_do_update(
        index_elements=["feed_id"],
        set_={name: _written.excluded[name] for name in ("kept", "dropped", "changed_at")},
    ),
    columns=["feed_id", "kept", "dropped", "changed_at"],
)
_CARRY_OVER = Statement(
    insert(article_selectors)
    .from_select(
        ["feed_id", "kept", "dropped", "changed_at"],
        select(bindparam("new", type_=BigInteger), *_CHOICE, article_selectors.c.changed_at).where(
            article_selectors.c.feed_id == bindparam("old")
        ),
    )
    .on_conflict_do_nothing()
)
_STANDING = Statement(
    select(*_CHOICE, entry_bodies.c.full_attempted_at, func.coalesce(article_selectors.c.changed_at, 0))
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(article_selectors, article_selectors.c.feed_id == entries.c.feed_id)
    .where(entries.c.id == bindparam("id"))
)
_READ_BEFORE = Statement(
    select(entries.c.id)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        entry_bodies.c.full_attempted_at.is_not(None),
    )
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(bindparam("most"))
)
_NEWEST = Statement(
    select(entries.c.id)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        entries.c.url.is_not(None),
    )
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(1)
)


@record
class Standing:
    """How far we are with the whole article of an entry."""

    selectors: ArticleSelectors
    tried_at: Instant | None
    """None also when other selectors have been set since: what was had is out of date."""


async def of_feed(tx: Tx, feed_id: int) -> ArticleSelectors:
    row = await tx.one(_OF_FEED, {"feed_id": feed_id})
    return ArticleSelectors() if row is None else _selectors(row)


async def put(tx: Tx, feed_id: int, selectors: ArticleSelectors, now: Instant) -> None:
    kept, dropped = "\n".join(selectors.keep), "\n".join(selectors.drop)
    await tx.run(_PUT, {"feed_id": feed_id, "kept": kept, "dropped": dropped, "changed_at": now})


async def carry_over(tx: Tx, old: int, new: int) -> None:
    """One feed becomes part of another; what that one has stays."""
    await tx.run(_CARRY_OVER, {"old": old, "new": new})


async def standing(tx: Tx, entry_id: int) -> Standing:
    row = await tx.one(_STANDING, {"id": entry_id})
    if row is None:
        return Standing(ArticleSelectors(), None)
    tried_at, changed_at = row[2], row[3]
    current = tried_at is not None and tried_at >= changed_at
    return Standing(_selectors(row), tried_at if current else None)


async def read_before(tx: Tx, feed_id: int, *, most: int) -> Sequence[int]:
    """The newest entries whose whole article was had or tried for."""
    return [row[0] for row in await tx.all(_READ_BEFORE, {"feed_id": feed_id, "most": most})]


async def newest_entry(tx: Tx, feed_id: int) -> int | None:
    """With an address to read an article from."""
    return await tx.value(_NEWEST, {"feed_id": feed_id})


def _selectors(row: Row) -> ArticleSelectors:
    return ArticleSelectors(tuple((row[0] or "").splitlines()), tuple((row[1] or "").splitlines()))
