"""Whole articles beside what the feed gave of them."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, exists, or_, update

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.entry_columns import visible
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import (
    article_selectors,
    entries,
    entry_bodies,
    entry_summaries,
    feeds,
    subscriptions,
)

_NOTE_ATTEMPT = Statement(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("id"))
    .values(full_attempted_at=bindparam("now"))
)
_KEEP = Statement(
    update(entry_bodies)
    .where(entry_bodies.c.entry_id == bindparam("id"))
    .values(full_content=bindparam("content"), full_attempted_at=bindparam("now"))
)
_OUTDATED = Statement(
    delete(entry_summaries).where(
        entry_summaries.c.entry_id == bindparam("id"),
        entry_summaries.c.of_full,
        exists().where(
            entry_bodies.c.entry_id == bindparam("id"), entry_bodies.c.full_content != bindparam("content")
        ),
    )
)
_ALWAYS_WANTED = Statement(
    select(subscriptions.c.feed_id)
    .distinct()
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        among(subscriptions.c.feed_id, "ids"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.full_text == "always",
        feeds.c.kind == "web",
    )
)
_MISSING = Statement(
    select(entries.c.id, entries.c.url)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .outerjoin(article_selectors, article_selectors.c.feed_id == entries.c.feed_id)
    .where(
        among(entries.c.id, "ids"),
        entries.c.url.is_not(None),
        # Never, or with other selectors than the feed has now.
        func.coalesce(entry_bodies.c.full_attempted_at, -1)
        < func.coalesce(article_selectors.c.changed_at, 0),
    )
    .order_by(entries.c.id)
)
_GIVEN = Statement(select(entry_bodies.c.content).where(entry_bodies.c.entry_id == bindparam("id")))
_READ_WHOLE = Statement(
    select(entry_bodies.c.entry_id).where(
        among(entry_bodies.c.entry_id, "ids"), entry_bodies.c.full_content.is_not(None)
    )
)
_USER = bindparam("user_id", type_=BigInteger)
_SEEN_AT = Statement(
    select(entries.c.id)
    .where(
        # Feed by feed, since that is how addresses are indexed.
        or_(
            entries.c.feed_id.in_(select(subscriptions.c.feed_id).where(subscriptions.c.user_id == _USER)),
            entries.c.feed_id.in_(select(feeds.c.id).where(feeds.c.owner_id == _USER)),
        ),
        entries.c.normalized_url == bindparam("address"),
        visible(),
    )
    .order_by(entries.c.id.desc())
    .limit(1)
)


async def note_attempt(tx: Tx, entry_id: int, now: Instant) -> None:
    await tx.run(_NOTE_ATTEMPT, {"id": entry_id, "now": now})


async def keep(tx: Tx, entry_id: int, content: str, now: Instant) -> None:
    """Read anew it may be another text, with other selectors; then nobody sees the summary of the old one."""
    await tx.run(_OUTDATED, {"id": entry_id, "content": content})
    await tx.run(_KEEP, {"id": entry_id, "content": content, "now": now})


async def always_wanted(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Of these feeds, those with a follower who chose to read its articles whole."""
    return [row[0] for row in await tx.all(_ALWAYS_WANTED, {"ids": list(feed_ids)})]


async def seen_at(tx: Tx, user_id: int, address: str) -> int | None:
    """The newest entry with this normalised address that the user sees."""
    return await tx.value(_SEEN_AT, {"user_id": user_id, "address": address})


async def never_tried(tx: Tx, entry_ids: Sequence[int]) -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in await tx.all(_MISSING, {"ids": list(entry_ids)})]


async def given(tx: Tx, entry_id: int) -> str:
    """The HTML that the feed gives of this entry."""
    return await tx.value(_GIVEN, {"id": entry_id}) or ""


async def read_whole(tx: Tx, entry_ids: Sequence[int]) -> set[int]:
    """Which of these entries hold their whole article."""
    return {row[0] for row in await tx.all(_READ_WHOLE, {"ids": list(entry_ids)})}
