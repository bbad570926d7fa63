"""Removing entries for good: who may go, and taking everything of theirs along.

Candidates are looked for without a lock, then removed in small transactions that look again: what somebody
starred in between stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, and_, bindparam, delete, exists, or_, tuple_

from reedbed.domain.records import record
from reedbed.domain.retention import Wish, removed_keys
from reedbed.domain.search_words import SearchWords
from reedbed.domain.times import Instant
from reedbed.store import removed, search
from reedbed.store import tables as t
from reedbed.store.alive import alive, lock_followers_of_entries
from reedbed.store.database import Row, Tx
from reedbed.store.dialect import among
from reedbed.store.keyset import LOWEST
from reedbed.store.sql import func, select
from reedbed.store.statements import Shapes, Statement
from reedbed.store.unread import forget_entries

entries, subscriptions, unread, feeds = t.entries, t.subscriptions, t.unread, t.feeds

State = Literal["read", "unread", "any"]
Place = tuple[Instant, int]
"""When an entry arrived, and its id: candidates are walked in this order."""
START: Place = (LOWEST, 0)


@record
class Removed:
    entries: int = 0
    unread: int = 0
    """Those that somebody had not read."""
    lost: Mapping[int, int] = field(default_factory=dict[int, int])
    """By user: how many of their unread entries went."""


# ---- who may go ------------------------------------------------------------------------------------

_KEEPSAKES = (t.starred, t.later, t.entry_tags, t.highlights, t.bookmarks)


def _kept_by_somebody() -> ColumnElement[bool]:
    return or_(*(exists().where(kept.c.entry_id == entries.c.id).correlate(entries) for kept in _KEEPSAKES))


def _unread_by_somebody() -> ColumnElement[bool]:
    row = and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id)
    return (
        exists()
        .select_from(subscriptions.join(unread, row))
        .where(
            subscriptions.c.feed_id == entries.c.feed_id,
            subscriptions.c.unsubscribed_at.is_(None),
            alive(unread, subscriptions),
        )
        .correlate(entries)
    )


def may_go(state: State) -> list[ColumnElement[bool]]:
    saved_by_hand = select(feeds.c.id).where(feeds.c.kind == "saved")
    free = [entries.c.feed_id.not_in(saved_by_hand), ~_kept_by_somebody()]
    if state == "any":
        return free
    return [*free, _unread_by_somebody() if state == "unread" else ~_unread_by_somebody()]


def _aged(scope: Literal["most", "one"], state: State) -> ClauseElement:
    whose = entries.c.feed_id == bindparam("feed_id") if scope == "one" else ~among(entries.c.feed_id, "but")
    place = tuple_(entries.c.fetched_at, entries.c.id)
    beyond = tuple_(bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger))
    return (
        select(entries.c.fetched_at, entries.c.id)
        .where(entries.c.fetched_at < bindparam("before"), place > beyond, whose, *may_go(state))
        .order_by(entries.c.fetched_at, entries.c.id)
        .limit(bindparam("most", type_=BigInteger))
    )


def _below(state: State) -> ClauseElement:
    return (
        select(entries.c.id)
        .where(
            entries.c.feed_id == bindparam("feed_id"),
            entries.c.id > bindparam("beyond"),
            entries.c.id <= bindparam("top"),
            *may_go(state),
        )
        .order_by(entries.c.id)
        .limit(bindparam("most", type_=BigInteger))
    )


_AGED = Shapes(_aged)
_BELOW = Shapes(_below)
_CROWDED = Statement(
    select(entries.c.feed_id, func.count())
    .where(entries.c.audience_id.is_(None))
    .group_by(entries.c.feed_id)
    .having(func.count() > bindparam("least", type_=BigInteger))
)
_SURPLUS_TOP = Statement(
    select(entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), entries.c.audience_id.is_(None))
    .order_by(entries.c.id.desc())
    .offset(bindparam("kept", type_=BigInteger))
    .limit(1)
)
_active = subscriptions.c.unsubscribed_at.is_(None)
_WISHES = Statement(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.keep_entries,
        subscriptions.c.keep_days,
        subscriptions.c.keep_unread_days,
    ).where(
        _active,
        subscriptions.c.feed_id.in_(
            select(subscriptions.c.feed_id).where(
                _active,
                func.coalesce(
                    subscriptions.c.keep_entries, subscriptions.c.keep_days, subscriptions.c.keep_unread_days
                ).is_not(None),
            )
        ),
    )
)
_OLDEST = Statement(select(func.min(entries.c.fetched_at)))
_HOW_MANY = Statement(select(func.count()).select_from(entries))


async def wishes(tx: Tx) -> dict[int, list[Wish]]:
    """Of all who follow a feed of which somebody wants more or less kept."""
    found: dict[int, list[Wish]] = {}
    for feed_id, *wanted in await tx.all(_WISHES):
        found.setdefault(feed_id, []).append(Wish(*wanted))
    return found


async def aged(
    tx: Tx, state: State, before: Instant, beyond: Place, *, most: int, but: Sequence[int] = ()
) -> list[Place]:
    """What arrived before this moment, oldest first, in all feeds but these."""
    return _places(
        await tx.all(_AGED("most", state), _aged_params(before, beyond, most) | {"but": list(but)})
    )


async def aged_in(
    tx: Tx, feed_id: int, state: State, before: Instant, beyond: Place, *, most: int
) -> list[Place]:
    return _places(
        await tx.all(_AGED("one", state), _aged_params(before, beyond, most) | {"feed_id": feed_id})
    )


async def crowded(tx: Tx, least: int) -> dict[int, int]:
    """Feeds with more entries than this, and how many."""
    return {row[0]: row[1] for row in await tx.all(_CROWDED, {"least": least})}


async def surplus_top(tx: Tx, feed_id: int, kept: int) -> int | None:
    """The newest entry beyond those that stay."""
    return await tx.value(_SURPLUS_TOP, {"feed_id": feed_id, "kept": kept})


async def below(tx: Tx, feed_id: int, state: State, top: int, *, beyond: int, most: int) -> list[int]:
    params = {"feed_id": feed_id, "beyond": beyond, "top": top, "most": most}
    return [row[0] for row in await tx.all(_BELOW(state), params)]


async def oldest_arrival(tx: Tx) -> Instant | None:
    return await tx.value(_OLDEST)


async def how_many(tx: Tx) -> int:
    return await tx.value(_HOW_MANY)


def _aged_params(before: Instant, beyond: Place, most: int) -> dict[str, int]:
    return {"before": before, "at": beyond[0], "id": beyond[1], "most": most}


def _places(rows: Sequence[Row]) -> list[Place]:
    return [(row[0], row[1]) for row in rows]


# ---- going -----------------------------------------------------------------------------------------

_HOLD = Statement(
    select(entries.c.id)
    .where(among(entries.c.id, "ids"))
    .order_by(entries.c.id)
    .with_for_update(skip_locked=True)
)


def _going(state: State) -> ClauseElement:
    columns = (
        entries.c.id,
        entries.c.feed_id,
        entries.c.guid,
        entries.c.normalized_url,
        entries.c.change_hash,
        entries.c.audience_id,
    )
    return select(*columns).where(among(entries.c.id, "ids"), *may_go(state))


_GOING = Shapes(_going)
_LOST = Statement(
    select(subscriptions.c.user_id, entries.c.id)
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .join(unread, and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == entries.c.id))
    .where(among(entries.c.id, "ids"), _active, alive(unread, subscriptions))
)
_DELETE = Statement(delete(entries).where(among(entries.c.id, "ids")))


async def remove(
    tx: Tx,
    entry_ids: Sequence[int],
    state: State,
    words: Sequence[tuple[int, Sequence[SearchWords]]] = (),
) -> Removed:
    """Remove those of these entries that still may go.

    `words` are what the search index may hold of them, see `search.forget`.
    """
    await lock_followers_of_entries(tx, list(entry_ids))
    going = await tx.all(_GOING(state), {"ids": await _hold(tx, list(entry_ids))})
    if not going:
        return Removed()
    ids = [row[0] for row in going]
    lost: Sequence[Row] = await tx.all(_LOST, {"ids": ids}) if state != "read" else ()
    await forget_entries(tx, ids)
    await removed.remember(
        tx,
        [
            (feed_id, key)
            for _, feed_id, *named, audience_id in going
            # What the feed never published must not keep it from publishing the same key.
            if audience_id is None
            for key in removed_keys(*named)
        ],
    )
    await search.forget(tx, [(id_, said) for id_, said in words if id_ in set(ids)])
    await tx.run(_DELETE, {"ids": ids})
    return Removed(len(ids), len({row[1] for row in lost}), _by_user(lost))


async def _hold(tx: Tx, entry_ids: list[int]) -> list[int]:
    """A star put on an entry at this moment holds it. The next statement sees what was put before."""
    if tx.engine == "sqlite":  # where nobody else writes
        return entry_ids
    return [row[0] for row in await tx.all(_HOLD, {"ids": entry_ids})]


def _by_user(lost: Sequence[Row]) -> dict[int, int]:
    counted: dict[int, int] = {}
    for user_id, _ in lost:
        counted[user_id] = counted.get(user_id, 0) + 1
    return counted
