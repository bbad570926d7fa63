"""Stories: groups of entries about the same event, as a user sees them and corrects them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, and_, bindparam, case, delete, or_, union, update
from sqlalchemy.sql.selectable import CompoundSelect, FromClause

from reedbed.domain.digests import KnownStories
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.stories.index import MAX_AGE
from reedbed.domain.stories.story import (
    MAX_OUTLETS,
    RETENTION,
    JoinedStory,
    Outlet,
    StoryNews,
    StorySource,
    StorySummary,
)
from reedbed.domain.times import DAY, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    HIGHEST,
    Command,
    Query,
    QueryFamily,
    among,
    func,
    insert,
    keyed,
    optional,
    row_of,
    select,
    total,
)
from reedbed.store.entries.columns import LISTED, entry_row, followed, has_flag, with_states, with_tags
from reedbed.store.tables import (
    entries,
    feeds,
    muted,
    stories,
    story_entries,
    story_follows,
    story_joins,
    story_splits,
    subscriptions,
    unread,
)
from reedbed.store.visibility import alive

# --- Lists of stories

MAX_NAMED, NEWEST_NAMED = 12, 5
"""Sources listed by name for each story."""
FIRST_SLICE = 3 * DAY
MIN_FEEDS = 2

_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)
_title = func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url)


def _can_see(entry_id: ColumnElement[int], feed_id: ColumnElement[int]) -> ColumnElement[bool]:
    return and_(
        subscriptions.c.user_id == _USER,
        subscriptions.c.feed_id == feed_id,
        subscriptions.c.unsubscribed_at.is_(None),
        entry_id > subscriptions.c.since_id,
        ~has_flag(muted, entry_id),
    )


def _is_split(entry_id: ColumnElement[int]) -> ColumnElement[bool]:
    return (
        select(story_splits.c.entry_id)
        .where(story_splits.c.user_id == _USER, story_splits.c.entry_id == entry_id)
        .correlate_except(story_splits)
        .exists()
    )


def _joined(story_id: ColumnElement[int]) -> ColumnElement[int]:
    """The story that this user has joined the story to, or the story itself."""
    target = select(story_joins.c.target_id).where(story_joins.c.user_id == _USER, story_joins.c.story_id == story_id)
    return func.coalesce(target.correlate_except(story_joins).scalar_subquery(), story_id)


def _parts(roots: FromClause, *columns: str) -> FromClause:
    """Select the stories that each root consists of for this user: itself, and those joined to it."""
    kept = [roots.c[name] for name in columns]
    itself = select(*kept, roots.c.root, roots.c.root.label("story_id"))
    joined = select(*kept, roots.c.root, story_joins.c.story_id).join_from(
        roots,
        story_joins,
        and_(
            story_joins.c.user_id == _USER,
            story_joins.c.target_id == roots.c.root,
            story_joins.c.story_id != roots.c.root,
        ),
    )
    return itself.union_all(joined).subquery("parts")


def _roots_given() -> FromClause:
    return select(stories.c.id.label("root")).where(among(stories.c.id, "ids")).cte("roots")


def _select_own_stories(*conditions: ColumnElement[bool]) -> FromClause:
    """Select the stories with at least one entry of the user's feeds."""
    return (
        select(_joined(story_entries.c.story_id).label("root"))
        .join_from(subscriptions, story_entries, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
        .where(subscriptions.c.user_id == _USER, *conditions)
        .distinct()
        .cte("mine")
    )


def _select_page(continued: bool, only_unread: bool) -> ClauseElement:
    since, until = bindparam("since", type_=BigInteger), bindparam("until", type_=BigInteger)
    own = _select_own_stories(story_entries.c.sort_at >= since, story_entries.c.sort_at < until)
    parts = _parts(own)
    newest = func.max(story_entries.c.sort_at)
    is_unread = and_(unread.c.entry_id.is_not(None), alive(unread, subscriptions))
    unread_count = total(case((is_unread, 1), else_=0))
    having = [func.count(story_entries.c.feed_id.distinct()) >= MIN_FEEDS, newest >= since, newest < until]
    if continued:
        at, id_ = bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger)
        having.append(or_(newest < at, and_(newest == at, parts.c.root < id_)))
    if only_unread:
        having.append(unread_count > 0)
    return (
        select(
            parts.c.root,
            func.min(story_entries.c.sort_at),
            newest.label("newest"),
            func.count(),
            func.count(story_entries.c.feed_id.distinct()),
            unread_count,
        )
        .select_from(
            parts.join(story_entries, story_entries.c.story_id == parts.c.story_id)
            .join(subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
            .outerjoin(unread, and_(unread.c.user_id == _USER, unread.c.entry_id == story_entries.c.entry_id))
        )
        .where(~_is_split(story_entries.c.entry_id))
        .group_by(parts.c.root)
        .having(and_(*having))
        .order_by(newest.desc(), parts.c.root.desc())
        .limit(bindparam("limit", type_=BigInteger))
    )


_PAGE = QueryFamily(_select_page, into=StorySummary)


async def page(
    tx: Tx, user_id: int, *, cursor: Cursor | None, limit: int, now: Instant, only_unread: bool = False
) -> list[StorySummary]:
    """Return up to `limit` stories, those with the newest entries first."""
    lines: list[StorySummary] = []
    until, length = HIGHEST if cursor is None else cursor.sort_at + 1, FIRST_SLICE
    since = (now if cursor is None else cursor.sort_at) - length
    oldest = now - RETENTION - MAX_AGE
    while len(lines) < limit and until > oldest:
        params = {
            "user_id": user_id,
            "since": since,
            "until": until,
            "at": cursor.sort_at if cursor else None,
            "id": cursor.id if cursor else None,
            "limit": limit - len(lines),
        }
        lines += await tx.all(_PAGE(cursor is not None, only_unread), params)
        length *= 2
        until, since = since, since - length
    return await _with_sources(tx, user_id, lines)


_given = _parts(_roots_given())
_ranked = (
    select(
        _given.c.root,
        story_entries.c.entry_id,
        story_entries.c.feed_id,
        _title.label("feed"),
        feeds.c.icon_id,
        entries.c.title,
        func.coalesce(entries.c.language, "").label("language"),
        story_entries.c.sort_at,
        func.row_number()
        .over(partition_by=_given.c.root, order_by=(story_entries.c.sort_at, story_entries.c.entry_id))
        .label("place"),
        func.row_number()
        .over(partition_by=_given.c.root, order_by=(story_entries.c.sort_at.desc(), story_entries.c.entry_id.desc()))
        .label("place_from_end"),
    )
    .join_from(_given, story_entries, story_entries.c.story_id == _given.c.story_id)
    .join(subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
    .join(feeds, feeds.c.id == story_entries.c.feed_id)
    .join(entries, entries.c.id == story_entries.c.entry_id)
    .where(~_is_split(story_entries.c.entry_id))
    .subquery("ranked")
)
_SOURCES = Query(
    select(*(column for column in _ranked.c if column.name not in ("place", "place_from_end")))
    .where(or_(_ranked.c.place <= MAX_NAMED - NEWEST_NAMED, _ranked.c.place_from_end <= NEWEST_NAMED))
    .order_by(_ranked.c.root, _ranked.c.place),
    into=keyed(int, StorySource),
)


async def _with_sources(tx: Tx, user_id: int, lines: Sequence[StorySummary]) -> list[StorySummary]:
    by_story = await sources(tx, user_id, [line.id for line in lines]) if lines else {}
    return [replace(line, sources=tuple(by_story[line.id])) for line in lines if line.id in by_story]


async def sources(tx: Tx, user_id: int, story_ids: Sequence[int]) -> dict[int, list[StorySource]]:
    """Return the first and the newest entries of each story."""
    by_story: dict[int, list[StorySource]] = {}
    for story_id, source in await tx.all(_SOURCES, {"user_id": user_id, "ids": list(story_ids)}):
        by_story.setdefault(story_id, []).append(source)
    return by_story


@record
class StoryNeighbours:
    """The story an entry is in, and how many feeds report it."""

    story_id: int
    feeds: int


_entries_given = (
    select(story_entries.c.entry_id, _joined(story_entries.c.story_id).label("root"))
    .where(among(story_entries.c.entry_id, "ids"), ~_is_split(story_entries.c.entry_id))
    .cte("here")
)
_around = _parts(_entries_given, "entry_id")
_NEIGHBOURS = Query(
    select(_around.c.entry_id, _around.c.root, func.count(story_entries.c.feed_id.distinct()))
    .join_from(_around, story_entries, story_entries.c.story_id == _around.c.story_id)
    .join(subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
    .where(~_is_split(story_entries.c.entry_id))
    .group_by(_around.c.entry_id, _around.c.root)
    .having(func.count(story_entries.c.feed_id.distinct()) >= MIN_FEEDS),
    into=row_of(int, int, int),
)


async def neighbours(tx: Tx, user_id: int, entry_ids: Sequence[int]) -> dict[int, StoryNeighbours]:
    """Return the story by entry, for entries whose story has other feeds, too."""
    rows = await tx.all(_NEIGHBOURS, {"user_id": user_id, "ids": list(entry_ids)})
    return {row[0]: StoryNeighbours(row[1], row[2]) for row in rows}


_HOMES = Query(select(_entries_given.c.entry_id, _entries_given.c.root), into=row_of(int, int))
_APART = Query(
    select(story_splits.c.entry_id).where(story_splits.c.user_id == _USER, among(story_splits.c.entry_id, "ids")),
    into=int,
)


async def known_stories(tx: Tx, user_id: int, entry_ids: Sequence[int]) -> KnownStories:
    """The stories of entries that the user can see, as the user has corrected them."""
    named = {"user_id": user_id, "ids": list(entry_ids)}
    homes = {row[0]: row[1] for row in await tx.all(_HOMES, named)}
    return KnownStories(homes, frozenset(await tx.all(_APART, named)))


# --- One story

_ID = bindparam("id", type_=BigInteger)
_CURRENT_ID = Query(
    select(_joined(func.coalesce(stories.c.merged_into, stories.c.id))).where(stories.c.id == _ID), into=optional(int)
)
_part_ids = _parts(select(_ID.label("root")).cte("roots"))


def _outlet(*columns: Any) -> tuple[Outlet, bool]:
    *listed, feed, icon_id, is_split = columns
    return Outlet(entry_row(*listed), feed, icon_id), bool(is_split)


_OUTLETS = Query(
    select(*LISTED, _title.label("feed"), feeds.c.icon_id, _is_split(entries.c.id).label("is_split"))
    .select_from(
        with_states(
            story_entries.join(entries, entries.c.id == story_entries.c.entry_id).join(
                feeds, feeds.c.id == entries.c.feed_id
            )
        )
    )
    .where(story_entries.c.story_id.in_(select(_part_ids.c.story_id)), followed())
    .order_by(entries.c.sort_at, entries.c.id)
    .limit(MAX_OUTLETS),
    into=_outlet,
)


async def find(tx: Tx, user_id: int, story_id: int) -> int | None:
    """Return the story's id, or that of the story it was merged into or that the user joined it to."""
    return await tx.one(_CURRENT_ID, {"user_id": user_id, "id": story_id})


async def outlets(tx: Tx, user_id: int, story_id: int) -> tuple[list[Outlet], list[Outlet]]:
    """Return the story's entries that the user can see, oldest first, and those the user split from it."""
    rows = await tx.all(_OUTLETS, {"user_id": user_id, "id": story_id})
    entry_rows = await with_tags(tx, user_id, (outlet.row for outlet, _ in rows))
    together, apart = list[Outlet](), list[Outlet]()
    for (outlet, is_split), row in zip(rows, entry_rows, strict=True):
        (apart if is_split else together).append(replace(outlet, row=row))
    return together, apart


_STORY_OF_ENTRY = Query(
    select(_joined(story_entries.c.story_id))
    .join_from(story_entries, entries, entries.c.id == story_entries.c.entry_id)
    .where(story_entries.c.entry_id == _ID, followed()),
    into=int,
)
_UNREAD = Query(
    select(unread.c.entry_id)
    .join_from(unread, story_entries, story_entries.c.entry_id == unread.c.entry_id)
    .join(subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
    .where(
        unread.c.user_id == _USER,
        alive(unread, subscriptions),
        story_entries.c.story_id.in_(select(_given.c.story_id)),
        ~_is_split(story_entries.c.entry_id),
    ),
    into=int,
)


async def story_of(tx: Tx, user_id: int, entry_id: int) -> int | None:
    """Return the entry's story if the user can see the entry."""
    return await tx.one(_STORY_OF_ENTRY, {"user_id": user_id, "id": entry_id})


async def unread_in(tx: Tx, user_id: int, story_ids: Sequence[int]) -> list[int]:
    return await tx.all(_UNREAD, {"user_id": user_id, "ids": list(story_ids)})


_SPLIT = Command(
    insert(story_splits)
    .values(user_id=_USER, entry_id=bindparam("id"), created_at=bindparam("now"))
    .on_conflict_do_nothing()
)
_UNSPLIT = Command(
    delete(story_splits).where(
        story_splits.c.user_id == _USER, or_(story_splits.c.entry_id == _ID, story_splits.c.because_id == _ID)
    )
)


async def split(tx: Tx, user_id: int, entry_id: int, now: Instant) -> None:
    await tx.run(_SPLIT, {"user_id": user_id, "id": entry_id, "now": now})


async def unsplit(tx: Tx, user_id: int, entry_id: int) -> None:
    """Put the entry back, and those that were split because they are like it."""
    await tx.run(_UNSPLIT, {"user_id": user_id, "id": entry_id})


_FOLLOW = Command(
    insert(story_follows).values(user_id=_USER, story_id=_ID, created_at=bindparam("now")).on_conflict_do_nothing()
)
_of_parts = and_(story_follows.c.user_id == _USER, story_follows.c.story_id.in_(select(_part_ids.c.story_id)))
_UNFOLLOW = Command(delete(story_follows).where(_of_parts))
_IS_FOLLOWED = Query(select(story_follows.c.story_id).where(_of_parts).limit(1), into=int)


async def follow(tx: Tx, user_id: int, story_id: int, now: Instant) -> None:
    await tx.run(_FOLLOW, {"user_id": user_id, "id": story_id, "now": now})


async def unfollow(tx: Tx, user_id: int, story_id: int) -> None:
    """Also those of the stories that were joined to it."""
    await tx.run(_UNFOLLOW, {"user_id": user_id, "id": story_id})


async def is_followed(tx: Tx, user_id: int, story_id: int) -> bool:
    return await tx.one(_IS_FOLLOWED, {"user_id": user_id, "id": story_id}) is not None


def _root_for_follower(story_id: ColumnElement[int]) -> ColumnElement[int]:
    target = select(story_joins.c.target_id).where(
        story_joins.c.user_id == story_follows.c.user_id, story_joins.c.story_id == story_id
    )
    return func.coalesce(target.correlate_except(story_joins).scalar_subquery(), story_id)


def _near_stories() -> CompoundSelect[tuple[int]]:
    """The stories of new entries, and all that any user has joined to the same one."""
    arrived, own, others = story_entries.alias("arrived"), story_joins.alias("own"), story_joins.alias("others")
    is_new = among(arrived.c.entry_id, "ids")
    is_own = own.c.story_id == arrived.c.story_id
    is_other = and_(others.c.user_id == own.c.user_id, others.c.target_id == own.c.target_id)
    return union(
        select(arrived.c.story_id).where(is_new),
        select(own.c.target_id).join_from(arrived, own, is_own).where(is_new),
        select(others.c.story_id).join_from(arrived, others, others.c.target_id == arrived.c.story_id).where(is_new),
        select(others.c.story_id).join_from(arrived, own, is_own).join(others, is_other).where(is_new),
    )


_NEAR_FOLLOWERS = Query(
    select(story_follows.c.user_id).where(story_follows.c.story_id.in_(_near_stories())).distinct(), into=int
)
_followed_root, _entry_root = _root_for_follower(story_follows.c.story_id), _root_for_follower(story_entries.c.story_id)
_NEWS = Query(
    select(story_follows.c.user_id, _followed_root, entries.c.id, entries.c.title, _title)
    .distinct()
    .select_from(story_entries)
    .join(story_follows, _followed_root == _entry_root)
    .join(entries, entries.c.id == story_entries.c.entry_id)
    .join(feeds, feeds.c.id == story_entries.c.feed_id)
    .join(
        subscriptions,
        and_(
            subscriptions.c.user_id == story_follows.c.user_id,
            subscriptions.c.feed_id == story_entries.c.feed_id,
            subscriptions.c.unsubscribed_at.is_(None),
            entries.c.id > subscriptions.c.since_id,
        ),
    )
    .where(
        among(story_entries.c.entry_id, "ids"),
        among(story_follows.c.user_id, "user_ids"),
        ~select(muted.c.entry_id)
        .where(muted.c.user_id == story_follows.c.user_id, muted.c.entry_id == entries.c.id)
        .correlate_except(muted)
        .exists(),
        ~select(story_splits.c.entry_id)
        .where(story_splits.c.user_id == story_follows.c.user_id, story_splits.c.entry_id == entries.c.id)
        .correlate_except(story_splits)
        .exists(),
    )
    .order_by(entries.c.id),
    into=StoryNews,
)


async def news_for_followers(tx: Tx, entry_ids: Sequence[int]) -> list[StoryNews]:
    """Return for each follower the entries that are in a story they follow, and that they can see."""
    # Mostly nobody, and else few: they are found by the index, and not among all who subscribe to the feeds.
    user_ids = await tx.all(_NEAR_FOLLOWERS, {"ids": list(entry_ids)})
    return await tx.all(_NEWS, {"ids": list(entry_ids), "user_ids": user_ids}) if user_ids else []


_new_join = insert(story_joins).values(
    user_id=_USER, story_id=_ID, target_id=bindparam("target_id"), created_at=bindparam("now")
)
_JOIN = Command(
    _new_join.on_conflict_do_update(
        index_elements=["user_id", "story_id"], set_={"target_id": _new_join.excluded.target_id}
    )
)
_REDIRECT_JOINS = Command(
    update(story_joins)
    .where(story_joins.c.user_id == _USER, story_joins.c.target_id == _ID)
    .values(target_id=bindparam("to_id"))
)
_UNJOIN = Command(delete(story_joins).where(story_joins.c.user_id == _USER, story_joins.c.story_id == _ID))
_JOINED = Query(
    select(story_joins.c.story_id, func.coalesce(entries.c.title, ""))
    .join_from(story_joins, entries, entries.c.id == story_joins.c.story_id, isouter=True)
    .where(story_joins.c.user_id == _USER, story_joins.c.target_id == _ID)
    .order_by(story_joins.c.story_id),
    into=JoinedStory,
)


async def join(tx: Tx, user_id: int, story_id: int, target_id: int, now: Instant) -> None:
    """Make the story, and what was joined to it, part of the target for this user."""
    await tx.run(_REDIRECT_JOINS, {"user_id": user_id, "id": story_id, "to_id": target_id})
    await tx.run(_JOIN, {"user_id": user_id, "id": story_id, "target_id": target_id, "now": now})


async def unjoin(tx: Tx, user_id: int, story_id: int) -> None:
    await tx.run(_UNJOIN, {"user_id": user_id, "id": story_id})


async def joined(tx: Tx, user_id: int, story_id: int) -> list[JoinedStory]:
    """Return the stories that the user has joined to this one."""
    return await tx.all(_JOINED, {"user_id": user_id, "id": story_id})
