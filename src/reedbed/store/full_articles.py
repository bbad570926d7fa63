"""Whole articles beside what the feed gave of them."""

from collections.abc import Sequence

from sqlalchemy import bindparam, select, update

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, entry_bodies, feeds, subscriptions

_ATTEMPTED = Statement(
    select(entry_bodies.c.full_attempted_at).where(entry_bodies.c.entry_id == bindparam("id"))
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
_MODES = Statement(
    select(subscriptions.c.full_text)
    .distinct()
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.feed_id == bindparam("feed_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        feeds.c.kind == "web",
    )
)
_MISSING = Statement(
    select(entries.c.id, entries.c.url)
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(
        among(entries.c.id, "ids"),
        entries.c.url.is_not(None),
        entry_bodies.c.full_content.is_(None),
        entry_bodies.c.full_attempted_at.is_(None),
    )
    .order_by(entries.c.id)
)


async def attempted_at(tx: Tx, entry_id: int) -> Instant | None:
    return await tx.value(_ATTEMPTED, {"id": entry_id})


async def note_attempt(tx: Tx, entry_id: int, now: Instant) -> None:
    await tx.run(_NOTE_ATTEMPT, {"id": entry_id, "now": now})


async def keep(tx: Tx, entry_id: int, content: str, now: Instant) -> None:
    await tx.run(_KEEP, {"id": entry_id, "content": content, "now": now})


async def modes(tx: Tx, feed_id: int) -> set[str]:
    """What those who follow this feed want of its articles: `auto`, `always`, `never`."""
    return {row[0] for row in await tx.all(_MODES, {"feed_id": feed_id})}


async def never_tried(tx: Tx, entry_ids: Sequence[int]) -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in await tx.all(_MISSING, {"ids": list(entry_ids)})]
