"""Unread, starred and saved counts of a user, and the repair of stored unread counts.

`subscriptions.unread` should always equal the number of its rows. `recount` finds and corrects deviations.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, case, exists, update

from reedbed.domain.entries import Counts, ReadingDay, SubscriptionCount, roll_up
from reedbed.domain.folders import FolderRow, kept_out
from reedbed.domain.records import record
from reedbed.domain.subscriptions import all_folders
from reedbed.domain.times import Instant
from reedbed.store import folders, tags
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, optional, row_of, select, total
from reedbed.store.folders import other_folders, parse_folders, with_other_folders
from reedbed.store.tables import (
    entries,
    feed_fetch_state,
    later,
    playback_queue,
    read_history,
    starred,
    subscriptions,
    unread,
)
from reedbed.store.visibility import alive, follows, lock_user


def _subscription_count(*columns: Any) -> SubscriptionCount:
    return SubscriptionCount(*columns[:-1], other_folders=parse_folders(columns[-1]))


def _folder_counts(*columns: Any) -> tuple[tuple[int, ...], int, int, int]:
    folder_id, others, unread_entries, in_unread, number = columns
    return all_folders(folder_id, parse_folders(others)), int(unread_entries), int(in_unread), number


_SUBSCRIPTIONS = Query(
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        subscriptions.c.unread,
        subscriptions.c.muted_until.is_not(None),
        subscriptions.c.in_unread,
        other_folders.c.ids,
    )
    .select_from(with_other_folders)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None)),
    into=_subscription_count,
)
_BY_FOLDER = Query(
    select(
        subscriptions.c.folder_id,
        other_folders.c.ids,
        total(case((subscriptions.c.muted_until.is_(None), subscriptions.c.unread), else_=0)),
        total(
            case((subscriptions.c.muted_until.is_(None) & subscriptions.c.in_unread, subscriptions.c.unread), else_=0)
        ),
        func.count(),
    )
    .select_from(with_other_folders)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
    .group_by(subscriptions.c.folder_id, other_folders.c.ids),
    into=_folder_counts,
)
_COUNT_FLAGS = Query(
    select(
        select(func.count()).select_from(starred).where(starred.c.user_id == bindparam("user_id")).scalar_subquery(),
        select(func.count()).select_from(later).where(later.c.user_id == bindparam("user_id")).scalar_subquery(),
        exists(select(playback_queue.c.place).where(playback_queue.c.user_id == bindparam("user_id"))),
    ),
    into=row_of(int, int, bool),
)


async def counts(tx: Tx, user_id: int) -> Counts:
    user = {"user_id": user_id}
    subscribed = tuple(await tx.all(_SUBSCRIPTIONS, user))
    by_folder = [
        (row.folder_ids, row.unread, row.unread if row.in_unread else 0) for row in subscribed if not row.muted
    ]
    counted = await _build_counts(tx, user_id, by_folder, await folders.of_user(tx, user_id))
    return replace(counted, subscriptions=subscribed)


async def totals(tx: Tx, user_id: int, tree: Sequence[FolderRow]) -> tuple[Counts, int]:
    """The same without the single subscriptions, and their number; for callers that have already loaded the folders."""
    rows = await tx.all(_BY_FOLDER, {"user_id": user_id})
    counted = await _build_counts(tx, user_id, [row[:3] for row in rows], tree)
    return counted, sum(number for *_, number in rows)


async def _build_counts(
    tx: Tx, user_id: int, by_folder: Sequence[tuple[tuple[int, ...], int, int]], tree: Sequence[FolderRow]
) -> Counts:
    """`by_folder` holds what is unread, and what of it the list of everything unread shows."""
    flags = await tx.one(_COUNT_FLAGS, {"user_id": user_id})
    assert flags is not None
    left_out = kept_out(tree)
    return Counts(
        unread=sum(shown for inside, _, shown in by_folder if left_out.isdisjoint(inside[:1])),
        folders=roll_up([(inside, unread) for inside, unread, _ in by_folder], {row.id: row.parent_id for row in tree}),
        tags=tuple(await tags.counts(tx, user_id)),
        starred=flags[0],
        later=flags[1],
        queued=flags[2],
    )


_REAL = (
    select(func.count())
    .where(follows(unread, subscriptions), alive(unread, subscriptions))
    .correlate(subscriptions)
    .scalar_subquery()
)
_USERS = Query(select(subscriptions.c.user_id).where(subscriptions.c.unsubscribed_at.is_(None)).distinct(), into=int)


@record
class CountMismatch:
    subscription_id: int
    feed_id: int
    counted: int
    real: int


_DRIFTED = Query(
    select(subscriptions.c.id, subscriptions.c.feed_id, subscriptions.c.unread, _REAL.label("real")).where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        subscriptions.c.unread != _REAL,
    ),
    into=CountMismatch,
)
_SET = Command(update(subscriptions).where(subscriptions.c.id == bindparam("id")).values(unread=bindparam("real")))


async def users_to_recount(tx: Tx) -> list[int]:
    return await tx.all(_USERS)


async def recount(tx: Tx, user_id: int) -> list[CountMismatch]:
    """Correct wrong counts; returns what was wrong."""
    await lock_user(tx, user_id)
    drifts = await tx.all(_DRIFTED, {"user_id": user_id})
    await tx.run_many(_SET, [{"id": drift.subscription_id, "real": drift.real} for drift in drifts])
    return drifts


# --- The day of a reader

_READ_SINCE = Query(
    select(func.count(), func.coalesce(total(entries.c.words), 0))
    .select_from(read_history.join(entries, entries.c.id == read_history.c.entry_id))
    .where(read_history.c.user_id == bindparam("user_id"), read_history.c.read_at >= bindparam("since")),
    into=row_of(int, int),
)
_STARRED_SINCE = Query(
    select(func.count()).where(starred.c.user_id == bindparam("user_id"), starred.c.marked_at >= bindparam("since")),
    into=int,
)
_NEXT_CHECK = Query(
    select(func.min(feed_fetch_state.c.next_check_at))
    .select_from(subscriptions.join(feed_fetch_state, feed_fetch_state.c.feed_id == subscriptions.c.feed_id))
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None)),
    into=optional(int),
)


async def reading_day(tx: Tx, user_id: int, since: Instant) -> ReadingDay:
    """What the user has read and starred since this time, and when the next feed is checked."""
    params = {"user_id": user_id, "since": since}
    read, words = await tx.get(_READ_SINCE, params)
    starred_count = await tx.get(_STARRED_SINCE, params)
    return ReadingDay(read, words, starred_count, await tx.get(_NEXT_CHECK, {"user_id": user_id}))
