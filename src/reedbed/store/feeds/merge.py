"""A feed merges into another or takes another address: its followers keep what they had, nobody else gets it.

A redirect is only the word of the server that sends it. Whoever follows a feed of their own can redirect it
to any other feed, so its entries are never shown to others as entries of that other feed. They move over with
an audience: those who followed their feed, each above the floor they had there.

An entry that the other feed has published too (same guid or same address: a twin) gives its states to its
twin and goes, at the merge or when the twin arrives later. What was unread stays unread: the rows are `kept`,
since marks are counted in the ids of a feed and these come from two.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    false,
    null,
    or_,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store import articles
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, among, func, larger, select
from reedbed.store.feeds import feeds as former_addresses
from reedbed.store.framing import documents as framed_documents
from reedbed.store.framing import settings as framing
from reedbed.store.read_state import unread as unread_rows
from reedbed.store.tables import (
    audience_members,
    audiences,
    bookmarks,
    entries,
    entry_tags,
    feed_fetch_state,
    feeds,
    highlights,
    imported_reads,
    later,
    muted,
    parked_unread,
    read_history,
    removed_keys,
    starred,
    story_entries,
    subscriptions,
    unread,
    websub_subscriptions,
)
from reedbed.store.visibility import alive, follows, lock_feed, lock_followers

_old, _new = bindparam("old", type_=BigInteger), bindparam("new", type_=BigInteger)
_here, _there = entries.alias("here"), entries.alias("there")


def _twins(key: str) -> Statement:
    return Statement(
        select(_here.c.id, _there.c.id, _there.c.sort_at)
        .join_from(_here, _there, _here.c[key] == _there.c[key])
        .where(
            _here.c.feed_id == _old,
            _there.c.feed_id == _new,
            _there.c.audience_id.is_(None),
            _there.c[key].is_not(None),
            _there.c.id > bindparam("floor", type_=BigInteger),
        )
        .order_by(_there.c.id)
    )


def _arrived_twins(key: str) -> Statement:
    return Statement(
        select(_here.c.id, _there.c.id, _there.c.sort_at)
        .join_from(_there, _here, and_(_here.c.feed_id == _there.c.feed_id, _here.c[key] == _there.c[key]))
        .where(
            among(_there.c.id, "ids"),
            _there.c[key].is_not(None),
            _here.c[key].is_not(None),
            _here.c.audience_id.is_not(None),
        )
        .order_by(_there.c.id)
    )


_KEYS = ("normalized_url", "guid")
_TWINS = tuple(_twins(key) for key in _KEYS)
_ARRIVED_TWINS = tuple(_arrived_twins(key) for key in _KEYS)


def _copy_marks(marks: Table, *more: str) -> Statement:
    """The same mark on the twin, unless it is there already."""
    copied = ["user_id", *more]
    return Statement(
        insert(marks)
        .from_select(
            [*copied, "entry_id", "sort_at"],
            select(
                *(marks.c[name] for name in copied),
                bindparam("twin", type_=BigInteger),
                bindparam("twin_sort_at", type_=BigInteger),
            ).where(marks.c.entry_id == bindparam("id")),
        )
        .on_conflict_do_nothing()
    )


def _point_to_twin(table: Table) -> Statement:
    return Statement(
        update(table).where(table.c.entry_id == bindparam("id")).values(entry_id=bindparam("twin"))
    )


_COPY_HISTORY = Statement(
    insert(read_history)
    .from_select(
        ["user_id", "entry_id", "read_at"],
        select(read_history.c.user_id, bindparam("twin", type_=BigInteger), read_history.c.read_at).where(
            read_history.c.entry_id == bindparam("id")
        ),
    )
    .on_conflict_do_nothing()
)
_KEEPSAKES = (
    _copy_marks(starred, "marked_at"),
    _copy_marks(later, "marked_at"),
    _copy_marks(muted, "marked_at"),
    _copy_marks(entry_tags, "tag_id"),
    _COPY_HISTORY,
    _point_to_twin(bookmarks),
    _point_to_twin(highlights),
)

_both = subscriptions.alias("both")


def _also_follows(user: ColumnElement[int]) -> ColumnElement[bool]:
    return exists().where(_both.c.user_id == user, _both.c.feed_id == _new, _both.c.unsubscribed_at.is_(None))


_of_old_followers = subscriptions.c.feed_id == _old
_DROP_DEAD = Statement(
    delete(unread).where(
        exists().where(_of_old_followers, follows(unread, subscriptions), ~alive(unread, subscriptions)),
        unread.c.feed_id == _old,
    )
)


def _rows_of(table: Table, entry: ColumnElement[int]) -> Select[Any]:
    """A follower's row on an entry; the user's id leads to it, as every index begins with one."""
    return select(table.c.user_id).join_from(
        subscriptions, table, (table.c.user_id == subscriptions.c.user_id) & (table.c.entry_id == entry)
    )


_UNREAD_ON_TWIN = Statement(
    insert(unread)
    .from_select(
        ["user_id", "sort_at", "entry_id", "feed_id", "kept"],
        _rows_of(unread, bindparam("id", type_=BigInteger))
        .add_columns(
            bindparam("twin_sort_at", type_=BigInteger), bindparam("twin", type_=BigInteger), _new, true()
        )
        # Who follows both has read it, or not, at its twin.
        .where(_of_old_followers, ~_also_follows(subscriptions.c.user_id)),
    )
    .on_conflict_do_nothing()
)


def _drop_twins(table: Table) -> Statement:
    return Statement(
        delete(table).where(
            table.c.user_id.in_(select(subscriptions.c.user_id).where(_of_old_followers)),
            among(table.c.entry_id, "ids"),
        )
    )


def _move_rows(table: Table, **more: Any) -> Statement:
    followers = select(subscriptions.c.user_id).where(_of_old_followers)
    return Statement(
        update(table)
        .where(table.c.user_id.in_(followers), table.c.feed_id == _old)
        .values(feed_id=_new, **more)
    )


# ---- the audience ----------------------------------------------------------------------------------

_audience = bindparam("audience", type_=BigInteger)
_ADD_AUDIENCE = Statement(insert(audiences).values(feed_id=_new).returning(audiences.c.id))
_ADD_MEMBERS = Statement(
    insert(audience_members).from_select(
        ["user_id", "audience_id", "since_id"],
        # Not those who left this feed and follow the other one.
        select(subscriptions.c.user_id, _audience, subscriptions.c.since_id).where(
            _of_old_followers,
            or_(
                subscriptions.c.unsubscribed_at.is_(None),
                _old == _new,
                ~_also_follows(subscriptions.c.user_id),
            ),
        ),
    )
)
_MOVE_ENTRIES = Statement(
    update(entries)
    .where(entries.c.feed_id == _old, ~among(entries.c.id, "ids"))
    .values(feed_id=_new, audience_id=func.coalesce(entries.c.audience_id, _audience))
)
_MOVE_AUDIENCES = Statement(update(audiences).where(audiences.c.feed_id == _old).values(feed_id=_new))
# A story is shared, and shows whatever is in it to everybody who follows the feed.
_LEAVE_STORIES = Statement(delete(story_entries).where(story_entries.c.feed_id == _old))
_WITH_AUDIENCE = Statement(select(audiences.c.feed_id).distinct().where(among(audiences.c.feed_id, "ids")))


async def _restrict_entries(tx: Tx, pair: Mapping[str, int], twins: Sequence["_Duplicate"]) -> None:
    """All entries of the one feed but these become entries of the other that only their audience sees."""
    audience = await tx.value(_ADD_AUDIENCE, pair)
    await tx.run(_ADD_MEMBERS, {**pair, "audience": audience})
    await tx.run(_MOVE_ENTRIES, {**pair, "audience": audience, "ids": [twin.id for twin in twins]})
    await tx.run(_LEAVE_STORIES, pair)
    await tx.run(_MOVE_AUDIENCES, pair)


# ---- one feed merges into another ------------------------------------------------------------------

_FOLLOWERS = Statement(
    select(subscriptions.c.user_id, subscriptions.c.since_id, subscriptions.c.unsubscribed_at).where(
        subscriptions.c.feed_id == bindparam("feed_id")
    )
)
_of_pair: tuple[ColumnElement[bool], ...] = (
    subscriptions.c.user_id == bindparam("user_id"),
    subscriptions.c.feed_id == bindparam("feed_id"),
)
_LEAVE = Statement(delete(subscriptions).where(*_of_pair))
_FOLLOW = Statement(
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
_RECOUNT = Statement(
    update(subscriptions)
    .where(
        subscriptions.c.feed_id == _new,
        subscriptions.c.unsubscribed_at.is_(None),
        among(subscriptions.c.user_id, "users"),
    )
    .values(unread=_alive_rows, newest_id=larger(subscriptions.c.newest_id, _newest.scalar_subquery()))
)
_SORT_AT = Statement(select(entries.c.id, entries.c.sort_at).where(among(entries.c.id, "ids")))
_TAKE_MARKS = tuple(
    Statement(delete(marks).where(among(marks.c.entry_id, "ids")))
    for marks in (starred, later, muted, entry_tags)
)
_REMOVE = Statement(delete(feeds).where(feeds.c.id == _old))


@record
class _Duplicate:
    id: int
    twin: int
    sort_at: int


async def merge(tx: Tx, old: int, new: int) -> list[int]:
    """Make `old` a part of `new`; the users who followed it."""
    for feed_id in sorted((old, new)):
        await lock_feed(tx, feed_id)
        await lock_followers(tx, feed_id)
    pair = {"old": old, "new": new}
    moving = await tx.all(_FOLLOWERS, {"feed_id": old})
    there = {row["user_id"]: row for row in await tx.all(_FOLLOWERS, {"feed_id": new})}
    floor = await unread_rows.floor_for_latecomers(tx, new)
    # A twin stands in for an entry only where all who move can see it.
    highest = max([floor, *(there[row["user_id"]]["since_id"] for row in moving if row["user_id"] in there)])
    twins = await _find(tx, _TWINS, {**pair, "floor": highest})
    await _move_followers_rows(tx, pair, twins)
    await _restrict_entries(tx, pair, twins)
    for row in moving:
        await _move_follower(tx, pair, row, there.get(row["user_id"]), floor)
    await framing.carry_over(tx, old, new)
    await articles.copy_selectors(tx, old, new)
    await former_addresses.copy_urls(tx, old, new)
    users = [row["user_id"] for row in moving]
    await tx.run(_RECOUNT, {**pair, "users": users})
    await tx.run(_REMOVE, pair)
    return users


async def move_marks(tx: Tx, pairs: Sequence[tuple[int, int]]) -> None:
    """Move stars, tags, notes and the like from an entry to another; of each pair, from the first."""
    sort_at = {row[0]: row[1] for row in await tx.all(_SORT_AT, {"ids": [twin for _, twin in pairs]})}
    params = [{"id": id_, "twin": twin, "twin_sort_at": sort_at[twin]} for id_, twin in pairs]
    for statement in _KEEPSAKES:
        await tx.run_many(statement, params)
    for statement in _TAKE_MARKS:
        await tx.run(statement, {"ids": [id_ for id_, _ in pairs]})


async def _find(tx: Tx, statements: Sequence[Statement], params: Mapping[str, Any]) -> list[_Duplicate]:
    """By guid where it can be, else by address."""
    found: dict[int, _Duplicate] = {}
    for statement in statements:
        found |= {row[0]: _Duplicate(*row) for row in await tx.all(statement, params)}
    return list(found.values())


async def _move_followers_rows(tx: Tx, pair: Mapping[str, int], twins: Sequence[_Duplicate]) -> None:
    await tx.run(_DROP_DEAD, pair)
    params = [{**pair, "id": each.id, "twin": each.twin, "twin_sort_at": each.sort_at} for each in twins]
    for statement in (*_KEEPSAKES, _UNREAD_ON_TWIN):
        await tx.run_many(statement, params)
    gone = {**pair, "ids": [each.id for each in twins]}
    for statement in _DROP_TWINS:
        await tx.run(statement, gone)
    for statement in _MOVE_ROWS:
        await tx.run(statement, pair)


_DROP_TWINS = (_drop_twins(unread), _drop_twins(parked_unread))
_MOVE_ROWS = (_move_rows(unread, kept=true()), _move_rows(parked_unread))


async def _move_follower(tx: Tx, pair: Mapping[str, int], row: Row, other: Row | None, floor: int) -> None:
    """Of two subscriptions the active one stays, else that of the other feed."""
    user_id, left = row["user_id"], row["unsubscribed_at"]
    if other is not None and (left is not None or other["unsubscribed_at"] is None):
        await tx.run(_LEAVE, {"user_id": user_id, "feed_id": pair["old"]})
        return
    if other is not None:
        await tx.run(_LEAVE, {"user_id": user_id, "feed_id": pair["new"]})
        floor = min(floor, other["since_id"])
    await tx.run(
        _FOLLOW, {"user_id": user_id, "feed_id": pair["old"], "new_feed_id": pair["new"], "floor": floor}
    )


# ---- a feed takes another address ------------------------------------------------------------------

_READ_THERE = Statement(
    insert(imported_reads)
    .from_select(
        ["feed_id", "key", "user_id", "created_at"],
        select(
            removed_keys.c.feed_id,
            removed_keys.c.key,
            subscriptions.c.user_id,
            bindparam("now", type_=BigInteger),
        )
        .join_from(removed_keys, subscriptions, subscriptions.c.feed_id == removed_keys.c.feed_id)
        .where(removed_keys.c.feed_id == _new, removed_keys.c.missed_at.is_(None)),
    )
    .on_conflict_do_nothing()
)
_FORGET_REMOVED = Statement(delete(removed_keys).where(removed_keys.c.feed_id == _new))
_LEAVE_HUB = Statement(delete(websub_subscriptions).where(websub_subscriptions.c.feed_id == _new))
_FORGET_ABOUT = Statement(
    update(feeds)
    .where(feeds.c.id == _new)
    .values(
        description=null(),
        site_url=null(),
        self_url=null(),
        hub_url=null(),
        language=null(),
        icon_url=null(),
        icon_id=null(),
        icon_checked_at=null(),
        guid_unreliable=false(),
        guid_collisions=0,
    )
)
_START_OVER = Statement(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == _new)
    .values(
        status="pending",
        etag=null(),
        last_modified=null(),
        cache_control=null(),
        body_hash=null(),
        last_success_at=null(),
        newest_entry_id=0,
        newest_entry_at=null(),
        oldest_listed_id=0,
        average_gap=null(),
        next_check_at=bindparam("now", type_=BigInteger),
        urgent=true(),
    )
)


async def start_over(tx: Tx, feed_id: int, now: Instant) -> list[int]:
    """Keep what the feed held for its present followers, and learn it anew from where it is now; the users.

    Its next document counts as its first. What these users had and find in it again keeps its states.
    """
    await lock_feed(tx, feed_id)
    await lock_followers(tx, feed_id)
    users = [row["user_id"] for row in await tx.all(_FOLLOWERS, {"feed_id": feed_id})]
    itself = {"old": feed_id, "new": feed_id, "now": now}
    await _restrict_entries(tx, itself, ())
    await framed_documents.drop(tx, feed_id)
    for statement in (_READ_THERE, _FORGET_REMOVED, _LEAVE_HUB, _FORGET_ABOUT, _START_OVER):
        await tx.run(statement, itself)
    return users


# ---- a twin arrives --------------------------------------------------------------------------------

_member = and_(
    audience_members.c.audience_id == _here.c.audience_id, audience_members.c.since_id < _here.c.id
)
_HAD_READ = Statement(
    select(subscriptions.c.user_id, bindparam("twin", type_=BigInteger))
    .join_from(_here, audience_members, _member)
    .join(
        subscriptions,
        and_(
            subscriptions.c.user_id == audience_members.c.user_id, subscriptions.c.feed_id == _here.c.feed_id
        ),
    )
    .outerjoin(unread, and_(unread.c.user_id == subscriptions.c.user_id, unread.c.entry_id == _here.c.id))
    .where(
        _here.c.id == bindparam("id", type_=BigInteger),
        or_(unread.c.entry_id.is_(None), ~alive(unread, subscriptions)),
    )
)
_UNREAD_ON_ARRIVED = Statement(
    insert(unread)
    .from_select(
        ["user_id", "sort_at", "entry_id", "feed_id", "kept"],
        _rows_of(unread, bindparam("id", type_=BigInteger))
        .add_columns(
            bindparam("twin_sort_at", type_=BigInteger), bindparam("twin", type_=BigInteger), _new, true()
        )
        .where(subscriptions.c.feed_id == _new, alive(unread, subscriptions)),
    )
    .on_conflict_do_nothing()
)
_MEMBERS = Statement(
    select(audience_members.c.user_id)
    .distinct()
    .join_from(_here, audience_members, _member)
    .where(among(_here.c.id, "ids"))
)
_DELETE = Statement(delete(entries).where(among(entries.c.id, "ids")))


@record
class Twins:
    """Entries that a feed publishes and some of its followers had already."""

    feed_id: int
    pairs: Sequence[_Duplicate] = ()
    read: Mapping[int, Set[int]] = field(default_factory=dict[int, Set[int]])
    """By user, the arriving entries whose twins they had read."""


async def arriving_twins(tx: Tx, new: Mapping[int, Sequence[int]]) -> list[Twins]:
    """Of new entries, by feed, those that came along with another feed before."""
    found: list[Twins] = []
    for row in await tx.all(_WITH_AUDIENCE, {"ids": list(new)}):
        pairs = await _find(tx, _ARRIVED_TWINS, {"ids": list(new[row[0]])})
        if not pairs:
            continue
        await lock_feed(tx, row[0])
        await lock_followers(tx, row[0])
        read: dict[int, set[int]] = {}
        had_read = await tx.each(_HAD_READ, [{"id": each.id, "twin": each.twin} for each in pairs])
        for user_id, twin in had_read:
            read.setdefault(user_id, set()).add(twin)
        found.append(Twins(row[0], pairs, read))
    return found


async def replace_twins(tx: Tx, twins: Twins) -> None:
    """The entries that have arrived take over from those that came along."""
    pair = {"new": twins.feed_id}
    gone = [each.id for each in twins.pairs]
    users = [row[0] for row in await tx.all(_MEMBERS, {"ids": gone})]
    params = [
        {**pair, "id": each.id, "twin": each.twin, "twin_sort_at": each.sort_at} for each in twins.pairs
    ]
    for statement in (*_KEEPSAKES, _UNREAD_ON_ARRIVED):
        await tx.run_many(statement, params)
    await unread_rows.delete_rows_of(tx, gone)
    await tx.run(_DELETE, {"ids": gone})
    await tx.run(_RECOUNT, {**pair, "users": users})
