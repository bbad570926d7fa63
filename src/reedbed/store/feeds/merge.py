"""Merges a feed into another, or moves it to a new URL, without showing its entries to other users.

A redirect cannot be trusted: anyone can subscribe to a feed of their own and redirect it to any other feed.
So the entries of the old feed are never shown to the other subscribers of the new one. They move with an
audience: the subscribers of the old feed, each with the `since_id` they had there.

If the new feed has published the same entry (same guid or URL: a "duplicate"), the old entry passes its states to
the duplicate and is deleted, at the merge or when the duplicate arrives later. Unread entries stay unread: their rows
become `kept`, because a read marker compares ids of one feed and these come from two.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Select, Table, and_, bindparam, delete, exists, or_, true, update

from reedbed.domain.records import record
from reedbed.store import articles, translations
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Params, Query, among, func, insert, larger, row_of, select
from reedbed.store.feeds import feeds as feed_store
from reedbed.store.framing import settings as framing
from reedbed.store.read_state import unread as unread_rows
from reedbed.store.tables import (
    audience_members,
    audiences,
    bookmarks,
    entries,
    entry_tags,
    feeds,
    highlights,
    later,
    muted,
    parked_unread,
    playback_positions,
    playback_queue,
    read_history,
    repeated_entries,
    starred,
    story_entries,
    subscriptions,
    translation_views,
    unread,
)
from reedbed.store.visibility import alive, follows, lock_feed, lock_subscribers

_old, _new = bindparam("old", type_=BigInteger), bindparam("new", type_=BigInteger)
_old_entry, _new_entry = entries.alias("here"), entries.alias("there")


@record
class _Duplicate:
    id: int
    target_id: int
    sort_at: int


def _duplicates(key: str) -> Query[_Duplicate]:
    return Query(
        select(_old_entry.c.id, _new_entry.c.id, _new_entry.c.sort_at)
        .join_from(_old_entry, _new_entry, _old_entry.c[key] == _new_entry.c[key])
        .where(
            _old_entry.c.feed_id == _old,
            _new_entry.c.feed_id == _new,
            _new_entry.c.audience_id.is_(None),
            _new_entry.c[key].is_not(None),
            _new_entry.c.id > bindparam("floor", type_=BigInteger),
        )
        .order_by(_new_entry.c.id),
        into=_Duplicate,
    )


def _arrived_duplicates(key: str) -> Query[_Duplicate]:
    return Query(
        select(_old_entry.c.id, _new_entry.c.id, _new_entry.c.sort_at)
        .join_from(
            _new_entry,
            _old_entry,
            and_(_old_entry.c.feed_id == _new_entry.c.feed_id, _old_entry.c[key] == _new_entry.c[key]),
        )
        .where(
            among(_new_entry.c.id, "ids"),
            _new_entry.c[key].is_not(None),
            _old_entry.c[key].is_not(None),
            _old_entry.c.audience_id.is_not(None),
        )
        .order_by(_new_entry.c.id),
        into=_Duplicate,
    )


_KEYS = ("normalized_url", "guid")
_DUPLICATES = tuple(_duplicates(key) for key in _KEYS)
_ARRIVED_DUPLICATES = tuple(_arrived_duplicates(key) for key in _KEYS)


def _copy_flags(table: Table, *more: str) -> Command:
    """Copy the flag to the target, unless it is set there already."""
    copied = ["user_id", *more]
    return Command(
        insert(table)
        .from_select(
            [*copied, "entry_id", "sort_at"],
            select(
                *(table.c[name] for name in copied),
                bindparam("target", type_=BigInteger),
                bindparam("target_sort_at", type_=BigInteger),
            ).where(table.c.entry_id == bindparam("id")),
        )
        .on_conflict_do_nothing()
    )


def _point_to_duplicate(table: Table) -> Command:
    return Command(update(table).where(table.c.entry_id == bindparam("id")).values(entry_id=bindparam("target")))


_COPY_HISTORY = Command(
    insert(read_history)
    .from_select(
        ["user_id", "entry_id", "read_at"],
        select(read_history.c.user_id, bindparam("target", type_=BigInteger), read_history.c.read_at).where(
            read_history.c.entry_id == bindparam("id")
        ),
    )
    .on_conflict_do_nothing()
)


def _copy_rows(table: Table) -> Command:
    """Copy the rows to the duplicate, such as positions in recordings, unless it has some already."""
    kept = [column.name for column in table.columns if column.name != "entry_id"]
    return Command(
        insert(table)
        .from_select(
            [*kept, "entry_id"],
            select(*(table.c[name] for name in kept), bindparam("target", type_=BigInteger)).where(
                table.c.entry_id == bindparam("id")
            ),
        )
        .on_conflict_do_nothing()
    )


def _copy_repeats(replaced: str, other: str) -> Command:
    """Where one of a pair is replaced, the duplicate repeats the other entry, or the other entry the duplicate."""
    target = bindparam("target", type_=BigInteger)
    return Command(
        insert(repeated_entries)
        .from_select(
            ["user_id", other, replaced],
            select(repeated_entries.c.user_id, repeated_entries.c[other], target).where(
                repeated_entries.c[replaced] == bindparam("id"), repeated_entries.c[other] != target
            ),
        )
        .on_conflict_do_nothing()
    )


_COPY_STATES = (
    _copy_rows(playback_positions),
    _copy_rows(playback_queue),
    _copy_rows(translation_views),
    _copy_repeats("entry_id", "first_id"),
    _copy_repeats("first_id", "entry_id"),
    _copy_flags(starred, "marked_at"),
    _copy_flags(later, "marked_at"),
    _copy_flags(muted, "marked_at"),
    _copy_flags(entry_tags, "tag_id"),
    _COPY_HISTORY,
    _point_to_duplicate(bookmarks),
    _point_to_duplicate(highlights),
)

_other_subscription = subscriptions.alias("both")


def _subscribes_to_new(user: ColumnElement[int]) -> ColumnElement[bool]:
    return exists().where(
        _other_subscription.c.user_id == user,
        _other_subscription.c.feed_id == _new,
        _other_subscription.c.unsubscribed_at.is_(None),
    )


_of_old_feed = subscriptions.c.feed_id == _old
_DROP_DEAD = Command(
    delete(unread).where(
        exists().where(_of_old_feed, follows(unread, subscriptions), ~alive(unread, subscriptions)),
        unread.c.feed_id == _old,
    )
)


def _rows_of(table: Table, entry: ColumnElement[int]) -> Select[Any]:
    """A subscriber's row for an entry, found through the user's id, with which every index begins."""
    return select(table.c.user_id).join_from(
        subscriptions, table, (table.c.user_id == subscriptions.c.user_id) & (table.c.entry_id == entry)
    )


_is_repeated_by_target = exists().where(
    repeated_entries.c.user_id == subscriptions.c.user_id,
    repeated_entries.c.entry_id == bindparam("target"),
    repeated_entries.c.first_id == bindparam("id"),
)
_UNREAD_ON_DUPLICATE = Command(
    insert(unread)
    .from_select(
        ["user_id", "sort_at", "entry_id", "feed_id", "kept"],
        _rows_of(unread, bindparam("id", type_=BigInteger))
        .add_columns(bindparam("target_sort_at", type_=BigInteger), bindparam("target", type_=BigInteger), _new, true())
        # For a user who subscribes to both feeds, the state of the target counts, unless it is read only because
        # it came second.
        .where(_of_old_feed, or_(~_subscribes_to_new(subscriptions.c.user_id), _is_repeated_by_target)),
    )
    .on_conflict_do_nothing()
)


def _drop_duplicates(table: Table) -> Command:
    return Command(
        delete(table).where(
            table.c.user_id.in_(select(subscriptions.c.user_id).where(_of_old_feed)), among(table.c.entry_id, "ids")
        )
    )


def _move_rows(table: Table, **more: Any) -> Command:
    subscribers = select(subscriptions.c.user_id).where(_of_old_feed)
    return Command(
        update(table).where(table.c.user_id.in_(subscribers), table.c.feed_id == _old).values(feed_id=_new, **more)
    )


# --- The audience

_audience = bindparam("audience", type_=BigInteger)
_ADD_AUDIENCE = Query(insert(audiences).values(feed_id=_new).returning(audiences.c.id), into=int)
_ADD_MEMBERS = Command(
    insert(audience_members).from_select(
        ["user_id", "audience_id", "since_id"],
        # Without users who unsubscribed from this feed and subscribe to the other one.
        select(subscriptions.c.user_id, _audience, subscriptions.c.since_id).where(
            _of_old_feed,
            or_(subscriptions.c.unsubscribed_at.is_(None), _old == _new, ~_subscribes_to_new(subscriptions.c.user_id)),
        ),
    )
)
_MOVE_ENTRIES = Command(
    update(entries)
    .where(entries.c.feed_id == _old, ~among(entries.c.id, "ids"))
    .values(feed_id=_new, audience_id=func.coalesce(entries.c.audience_id, _audience))
)
_MOVE_AUDIENCES = Command(update(audiences).where(audiences.c.feed_id == _old).values(feed_id=_new))
# A story is shared and shows all its entries to every subscriber of the feed.
_REMOVE_FROM_STORIES = Command(delete(story_entries).where(story_entries.c.feed_id == _old))
_WITH_AUDIENCE = Query(select(audiences.c.feed_id).distinct().where(among(audiences.c.feed_id, "ids")), into=int)


async def restrict_entries(tx: Tx, pair: Mapping[str, int], duplicates: Sequence["_Duplicate"]) -> None:
    """Move all entries except those with duplicates to the other feed, visible only to their audience."""
    audience = await tx.one(_ADD_AUDIENCE, pair)
    await tx.run(_ADD_MEMBERS, {**pair, "audience": audience})
    await tx.run(_MOVE_ENTRIES, {**pair, "audience": audience, "ids": [duplicate.id for duplicate in duplicates]})
    await tx.run(_REMOVE_FROM_STORIES, pair)
    await tx.run(_MOVE_AUDIENCES, pair)


# --- Merging a feed into another


class _Subscribed(NamedTuple):
    user_id: int
    since_id: int
    unsubscribed_at: int | None


_SUBSCRIPTIONS = Query(
    select(subscriptions.c.user_id, subscriptions.c.since_id, subscriptions.c.unsubscribed_at).where(
        subscriptions.c.feed_id == bindparam("feed_id")
    ),
    into=_Subscribed,
)
_of_pair: tuple[ColumnElement[bool], ...] = (
    subscriptions.c.user_id == bindparam("user_id"),
    subscriptions.c.feed_id == bindparam("feed_id"),
)
_DELETE_SUBSCRIPTION = Command(delete(subscriptions).where(*_of_pair))
_MOVE_SUBSCRIPTION = Command(
    update(subscriptions)
    .where(*_of_pair)
    .values(feed_id=bindparam("new_feed_id"), since_id=bindparam("floor", type_=BigInteger))
)
_newest = select(func.coalesce(func.max(entries.c.id), 0)).where(
    entries.c.feed_id == _new, entries.c.audience_id.is_(None)
)
_alive_rows = (
    select(func.count())
    .where(follows(unread, subscriptions), alive(unread, subscriptions))
    .correlate(subscriptions)
    .scalar_subquery()
)
_RECOUNT = Command(
    update(subscriptions)
    .where(
        subscriptions.c.feed_id == _new,
        subscriptions.c.unsubscribed_at.is_(None),
        among(subscriptions.c.user_id, "users"),
    )
    .values(unread=_alive_rows, newest_id=larger(subscriptions.c.newest_id, _newest.scalar_subquery()))
)
_SORT_AT = Query(select(entries.c.id, entries.c.sort_at).where(among(entries.c.id, "ids")), into=row_of(int, int))
_DELETE_FLAGS = tuple(
    Command(delete(marks).where(among(marks.c.entry_id, "ids"))) for marks in (starred, later, muted, entry_tags)
)
_KEEP_RECORDINGS = Command(
    update(feeds)
    .where(feeds.c.id == _new, select(feeds.c.has_recordings).where(feeds.c.id == _old).scalar_subquery() == true())
    .values(has_recordings=true())
)
_DELETE_FEED = Command(delete(feeds).where(feeds.c.id == _old))


async def merge(tx: Tx, old: int, new: int) -> list[int]:
    """Merge the feed `old` into `new`; returns the users who subscribed to `old`."""
    for feed_id in sorted((old, new)):
        await lock_feed(tx, feed_id)
        await lock_subscribers(tx, feed_id)
    pair = {"old": old, "new": new}
    old_subscriptions = await tx.all(_SUBSCRIPTIONS, {"feed_id": old})
    new_subscriptions = {row.user_id: row for row in await tx.all(_SUBSCRIPTIONS, {"feed_id": new})}
    since_id = await unread_rows.initial_since_id(tx, new)
    # A target may replace an entry only if all moving users can see it.
    max_since_id = max(
        [
            since_id,
            *(new_subscriptions[row.user_id].since_id for row in old_subscriptions if row.user_id in new_subscriptions),
        ]
    )
    duplicates = await _find_duplicates(tx, _DUPLICATES, {**pair, "floor": max_since_id})
    await _move_unread_rows(tx, pair, duplicates)
    await restrict_entries(tx, pair, duplicates)
    for row in old_subscriptions:
        await _move_subscription(tx, pair, row, new_subscriptions.get(row.user_id), since_id)
    await framing.copy_framing(tx, old, new)
    await articles.copy_selectors(tx, old, new)
    await translations.copy_modes(tx, old, new)
    await feed_store.copy_urls(tx, old, new)
    users = [row.user_id for row in old_subscriptions]
    await tx.run(_RECOUNT, {**pair, "users": users})
    await tx.run(_KEEP_RECORDINGS, pair)
    await tx.run(_DELETE_FEED, pair)
    return users


async def list_subscribers(tx: Tx, feed_id: int) -> list[int]:
    return [row.user_id for row in await tx.all(_SUBSCRIPTIONS, {"feed_id": feed_id})]


async def move_flags(tx: Tx, pairs: Sequence[tuple[int, int]]) -> None:
    """Move stars, tags, highlights and the like from the first entry of each pair to the second."""
    sort_at = dict(await tx.all(_SORT_AT, {"ids": [target for _, target in pairs]}))
    params = [{"id": id_, "target": target, "target_sort_at": sort_at[target]} for id_, target in pairs]
    for statement in _COPY_STATES:
        await tx.run_many(statement, params)
    for statement in _DELETE_FLAGS:
        await tx.run(statement, {"ids": [id_ for id_, _ in pairs]})


async def _find_duplicates(tx: Tx, queries: Sequence[Query[_Duplicate]], params: Params) -> list[_Duplicate]:
    """By guid if possible, otherwise by URL."""
    by_id: dict[int, _Duplicate] = {}
    for query in queries:
        by_id |= {duplicate.id: duplicate for duplicate in await tx.all(query, params)}
    return list(by_id.values())


async def _move_unread_rows(tx: Tx, pair: Mapping[str, int], duplicates: Sequence[_Duplicate]) -> None:
    await tx.run(_DROP_DEAD, pair)
    for statement in (*_COPY_STATES, _UNREAD_ON_DUPLICATE):
        await tx.run_many(statement, [_duplicate_params(pair, duplicate) for duplicate in duplicates])
    replaced = {**pair, "ids": [duplicate.id for duplicate in duplicates]}
    for statement in _DROP_DUPLICATES:
        await tx.run(statement, replaced)
    for statement in _MOVE_ROWS:
        await tx.run(statement, pair)


def _duplicate_params(pair: Mapping[str, int], duplicate: _Duplicate) -> dict[str, int]:
    return {**pair, "id": duplicate.id, "target": duplicate.target_id, "target_sort_at": duplicate.sort_at}


_DROP_DUPLICATES = (_drop_duplicates(unread), _drop_duplicates(parked_unread))
_MOVE_ROWS = (_move_rows(unread, kept=true()), _move_rows(parked_unread))


async def _move_subscription(
    tx: Tx, pair: Mapping[str, int], row: _Subscribed, other: _Subscribed | None, since_id: int
) -> None:
    """If the user has both subscriptions, keep the active one, or else that of the new feed."""
    user_id = row.user_id
    if other is not None and (row.unsubscribed_at is not None or other.unsubscribed_at is None):
        await tx.run(_DELETE_SUBSCRIPTION, {"user_id": user_id, "feed_id": pair["old"]})
        return
    if other is not None:
        await tx.run(_DELETE_SUBSCRIPTION, {"user_id": user_id, "feed_id": pair["new"]})
        since_id = min(since_id, other.since_id)
    await tx.run(
        _MOVE_SUBSCRIPTION, {"user_id": user_id, "feed_id": pair["old"], "new_feed_id": pair["new"], "floor": since_id}
    )


# --- Duplicates that arrive after a merge

_member = and_(
    audience_members.c.audience_id == _old_entry.c.audience_id, audience_members.c.since_id < _old_entry.c.id
)
_HAD_READ = Query(
    select(subscriptions.c.user_id, bindparam("target", type_=BigInteger))
    .join_from(_old_entry, audience_members, _member)
    .join(
        subscriptions,
        and_(subscriptions.c.user_id == audience_members.c.user_id, subscriptions.c.feed_id == _old_entry.c.feed_id),
    )
    .outerjoin(unread, and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == _old_entry.c.id))
    .where(
        _old_entry.c.id == bindparam("id", type_=BigInteger),
        or_(unread.c.entry_id.is_(None), ~alive(unread, subscriptions)),
    ),
    into=row_of(int, int),
)
_UNREAD_ON_ARRIVED = Command(
    insert(unread)
    .from_select(
        ["user_id", "sort_at", "entry_id", "feed_id", "kept"],
        _rows_of(unread, bindparam("id", type_=BigInteger))
        .add_columns(bindparam("target_sort_at", type_=BigInteger), bindparam("target", type_=BigInteger), _new, true())
        .where(subscriptions.c.feed_id == _new, alive(unread, subscriptions)),
    )
    .on_conflict_do_nothing()
)
_MEMBERS = Query(
    select(audience_members.c.user_id)
    .distinct()
    .join_from(_old_entry, audience_members, _member)
    .where(among(_old_entry.c.id, "ids")),
    into=int,
)
_DELETE_ENTRIES = Command(delete(entries).where(among(entries.c.id, "ids")))


@record
class ArrivingDuplicates:
    """Entries that arrived in a feed and that some subscribers already had from a merged feed."""

    feed_id: int
    pairs: Sequence[_Duplicate] = ()
    read: Mapping[int, Set[int]] = field(default_factory=dict[int, Set[int]])
    """By user, the new entries whose duplicates the user had read."""


async def arriving_duplicates(tx: Tx, new: Mapping[int, Sequence[int]]) -> list[ArrivingDuplicates]:
    """Of these new entries (by feed), those that a merged feed had already brought."""
    arrived: list[ArrivingDuplicates] = []
    for feed_id in await tx.all(_WITH_AUDIENCE, {"ids": list(new)}):
        pairs = await _find_duplicates(tx, _ARRIVED_DUPLICATES, {"ids": list(new[feed_id])})
        if not pairs:
            continue
        await lock_feed(tx, feed_id)
        await lock_subscribers(tx, feed_id)
        read: dict[int, set[int]] = {}
        had_read = await tx.each(_HAD_READ, [{"id": pair.id, "target": pair.target_id} for pair in pairs])
        for user_id, target in had_read:
            read.setdefault(user_id, set()).add(target)
        arrived.append(ArrivingDuplicates(feed_id, pairs, read))
    return arrived


async def replace_duplicates(tx: Tx, duplicates: ArrivingDuplicates) -> None:
    """Pass the states of the old entries to the new ones and delete the old ones."""
    feed = {"new": duplicates.feed_id}
    replaced = [duplicate.id for duplicate in duplicates.pairs]
    users = await tx.all(_MEMBERS, {"ids": replaced})
    for statement in (*_COPY_STATES, _UNREAD_ON_ARRIVED):
        await tx.run_many(statement, [_duplicate_params(feed, duplicate) for duplicate in duplicates.pairs])
    await unread_rows.delete_rows_of(tx, replaced)
    await tx.run(_DELETE_ENTRIES, {"ids": replaced})
    await tx.run(_RECOUNT, {**feed, "users": users})
