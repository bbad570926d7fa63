"""What was read in another program: applied when the entry arrives here."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Text, bindparam, delete, exists, or_
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import among
from reedbed.store.entry_columns import visible
from reedbed.store.sql import select
from reedbed.store.statements import Statement, delete_some
from reedbed.store.tables import entries, feeds, imported_reads

_REMEMBER = Statement(
    insert(imported_reads).on_conflict_do_nothing(), columns=["feed_id", "key", "user_id", "created_at"]
)
_FEEDS_WITH_ANY = Statement(
    select(feeds.c.id).where(among(feeds.c.id, "ids"), exists().where(imported_reads.c.feed_id == feeds.c.id))
)
_TAKE = Statement(
    delete(imported_reads)
    .where(imported_reads.c.feed_id == bindparam("feed_id"), among(imported_reads.c.key, "keys"))
    .returning(imported_reads.c.user_id, imported_reads.c.key)
)
_FORGET = Statement(delete_some(imported_reads, imported_reads.c.created_at < bindparam("before")))
_KNOWN = Statement(
    select(entries.c.id, entries.c.guid, entries.c.normalized_url).where(
        entries.c.feed_id == bindparam("feed_id"),
        entries.c.audience_id.is_(None),
        or_(among(entries.c.guid, "guids", Text()), among(entries.c.normalized_url, "urls", Text())),
    )
)
_SEEN = Statement(
    select(entries.c.id)
    .where(
        entries.c.feed_id == bindparam("feed_id"),
        or_(among(entries.c.guid, "guids", Text()), among(entries.c.normalized_url, "urls", Text())),
        visible(),
    )
    .order_by(entries.c.id)
    .limit(1)
)


async def remember(tx: Tx, user_id: int, feed_id: int, keys: Iterable[int], now: Instant) -> None:
    await tx.run_each(
        _REMEMBER,
        [
            {"feed_id": feed_id, "key": key, "user_id": user_id, "created_at": now}
            for key in dict.fromkeys(keys)
        ],
    )


async def feeds_with_any(tx: Tx, feed_ids: Sequence[int]) -> list[int]:
    """Those of these feeds of which somebody read something elsewhere that has not arrived here."""
    return [row[0] for row in await tx.all(_FEEDS_WITH_ANY, {"ids": list(feed_ids)})]


async def take(tx: Tx, feed_id: int, keys: Sequence[int]) -> list[tuple[int, int]]:
    """Who had read these elsewhere: user and key. They are forgotten here."""
    return [(row[0], row[1]) for row in await tx.all(_TAKE, {"feed_id": feed_id, "keys": list(keys)})]


async def known(
    tx: Tx, feed_id: int, guids: Sequence[str], urls: Sequence[str]
) -> list[tuple[int, str | None, str | None]]:
    """Entries of this feed with one of these guids or normalised addresses: id, guid, address."""
    params = {"feed_id": feed_id, "guids": list(guids), "urls": list(urls)}
    return [(row[0], row[1], row[2]) for row in await tx.all(_KNOWN, params)]


async def seen(tx: Tx, user_id: int, feed_id: int, guids: Sequence[str], urls: Sequence[str]) -> int | None:
    """The same for one entry, if this user can see it."""
    params = {"user_id": user_id, "feed_id": feed_id, "guids": list(guids), "urls": list(urls)}
    row = await tx.one(_SEEN, params)
    return row[0] if row else None


async def forget(tx: Tx, before: Instant, *, most: int) -> int:
    return await tx.run(_FORGET, {"before": before, "most": most})
