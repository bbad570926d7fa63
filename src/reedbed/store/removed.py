"""Keys of removed entries, so that what a feed still lists never comes back as new.

They are forgotten once the feed's document has not listed them for a while.
"""

from collections.abc import Sequence

from sqlalchemy import bindparam, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.sql import select
from reedbed.store.statements import Statement, delete_some
from reedbed.store.tables import removed_keys

_REMEMBER = Statement(insert(removed_keys).on_conflict_do_nothing(), columns=["feed_id", "key"])
_KNOWN = Statement(
    select(removed_keys.c.key).where(
        removed_keys.c.feed_id == bindparam("feed_id"), among(removed_keys.c.key, "keys")
    )
)
_MISSED = Statement(
    update(removed_keys)
    .where(
        removed_keys.c.feed_id == bindparam("feed"),
        removed_keys.c.missed_at.is_(None),
        ~among(removed_keys.c.key, "listed"),
    )
    .values(missed_at=bindparam("now"))
)
_LISTED = Statement(
    update(removed_keys)
    .where(
        removed_keys.c.feed_id == bindparam("feed"),
        removed_keys.c.missed_at.is_not(None),
        among(removed_keys.c.key, "listed"),
    )
    .values(missed_at=None)
)
_FORGET_KEYS = Statement(delete_some(removed_keys, removed_keys.c.missed_at < bindparam("before")))


async def known(tx: Tx, feed_id: int, keys: Sequence[int]) -> set[int]:
    return {row[0] for row in await tx.all(_KNOWN, {"feed_id": feed_id, "keys": list(keys)})}


async def note_listed(tx: Tx, documents: Sequence[tuple[int, Sequence[int]]], now: Instant) -> None:
    """Which removed entries these feeds still list, by their keys."""
    params = [{"feed": feed_id, "listed": list(keys), "now": now} for feed_id, keys in documents]
    await tx.run_each(_MISSED, params)
    await tx.run_each(_LISTED, [given for given in params if given["listed"]])


async def forget_missed(tx: Tx, before: Instant, *, most: int) -> int:
    return await tx.run(_FORGET_KEYS, {"before": before, "most": most})


async def remember(tx: Tx, keys: Sequence[tuple[int, int]]) -> None:
    """Each with its feed."""
    await tx.run_each(_REMEMBER, [{"feed_id": feed_id, "key": key} for feed_id, key in keys])
