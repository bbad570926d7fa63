"""Stories: groups of entries about the same event, as a user sees them, and the grouping of new entries."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, and_, bindparam, case, delete, or_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.selectable import FromClause

from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.stories import (
    KEPT,
    LONGEST,
    MAX_OUTLETS,
    Headline,
    Outlet,
    ResolvedStory,
    StorySource,
    StorySummary,
)
from reedbed.domain.times import DAY, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Statement, StatementFamily, among, func, larger, select
from reedbed.store.entries.columns import LISTED, entry_row, followed, has_flag, tags_of, with_states
from reedbed.store.tables import (
    entries,
    feeds,
    muted,
    stories,
    story_entries,
    story_splits,
    subscriptions,
    unread,
)
from reedbed.store.visibility import alive

# --- Lists of stories

MAX_NAMED = 12
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


def _select_own_stories(*conditions: ColumnElement[bool]) -> FromClause:
    """Select the stories with at least one entry of the user's feeds."""
    return (
        select(story_entries.c.story_id)
        .join_from(subscriptions, story_entries, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
        .where(subscriptions.c.user_id == _USER, *conditions)
        .distinct()
        .subquery("mine")
    )


def _select_page(continued: bool, only_unread: bool) -> ClauseElement:
    since, until = bindparam("since", type_=BigInteger), bindparam("until", type_=BigInteger)
    mine = _select_own_stories(story_entries.c.sort_at >= since, story_entries.c.sort_at < until)
    newest = func.max(story_entries.c.sort_at)
    is_unread = and_(unread.c.entry_id.is_not(None), alive(unread, subscriptions))
    unread_count = func.sum(case((is_unread, 1), else_=0))
    having = [func.count(story_entries.c.feed_id.distinct()) >= MIN_FEEDS, newest >= since, newest < until]
    if continued:
        at, id_ = bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger)
        having.append(or_(newest < at, and_(newest == at, story_entries.c.story_id < id_)))
    if only_unread:
        having.append(unread_count > 0)
    return (
        select(
            story_entries.c.story_id,
            func.min(story_entries.c.sort_at),
            newest.label("newest"),
            func.count(),
            func.count(story_entries.c.feed_id.distinct()),
            unread_count,
        )
        .select_from(
            mine.join(story_entries, story_entries.c.story_id == mine.c.story_id)
            .join(subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
            .outerjoin(unread, and_(unread.c.user_id == _USER, unread.c.entry_id == story_entries.c.entry_id))
        )
        .where(~_is_split(story_entries.c.entry_id))
        .group_by(story_entries.c.story_id)
        .having(and_(*having))
        .order_by(newest.desc(), story_entries.c.story_id.desc())
        .limit(bindparam("most", type_=BigInteger))
    )


_PAGE = StatementFamily(_select_page)


async def page(
    tx: Tx, user_id: int, *, cursor: Cursor | None, limit: int, now: Instant, only_unread: bool = False
) -> list[StorySummary]:
    """Return up to `limit` stories, those with the newest entries first."""
    lines: list[StorySummary] = []
    until, length = HIGHEST if cursor is None else cursor.sort_at + 1, FIRST_SLICE
    since = (now if cursor is None else cursor.sort_at) - length
    oldest = now - KEPT - LONGEST
    while len(lines) < limit and until > oldest:
        params = {
            "user_id": user_id,
            "since": since,
            "until": until,
            "at": cursor.sort_at if cursor else None,
            "id": cursor.id if cursor else None,
            "most": limit - len(lines),
        }
        rows = await tx.all(_PAGE(cursor is not None, only_unread), params)
        lines += [StorySummary(*row) for row in rows]
        length *= 2
        until, since = since, since - length
    return await _with_sources(tx, user_id, lines)


_ranked = (
    select(
        story_entries.c.story_id,
        story_entries.c.entry_id,
        story_entries.c.feed_id,
        _title.label("feed"),
        feeds.c.icon_id,
        entries.c.title,
        func.coalesce(entries.c.language, "").label("language"),
        story_entries.c.sort_at,
        func.row_number()
        .over(
            partition_by=story_entries.c.story_id,
            order_by=(story_entries.c.sort_at, story_entries.c.entry_id),
        )
        .label("place"),
    )
    .join_from(story_entries, subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
    .join(feeds, feeds.c.id == story_entries.c.feed_id)
    .join(entries, entries.c.id == story_entries.c.entry_id)
    .where(among(story_entries.c.story_id, "ids"), ~_is_split(story_entries.c.entry_id))
    .subquery("ranked")
)
_SOURCES = Statement(
    select(*(column for column in _ranked.c if column.name != "place"))
    .where(_ranked.c.place <= MAX_NAMED)
    .order_by(_ranked.c.story_id, _ranked.c.place)
)


async def _with_sources(tx: Tx, user_id: int, lines: Sequence[StorySummary]) -> list[StorySummary]:
    by_story = await sources(tx, user_id, [line.id for line in lines]) if lines else {}
    return [replace(line, sources=tuple(by_story[line.id])) for line in lines if line.id in by_story]


async def sources(tx: Tx, user_id: int, story_ids: Sequence[int]) -> dict[int, list[StorySource]]:
    """Return the first entries of each story."""
    by_story: dict[int, list[StorySource]] = {}
    for story_id, *source in await tx.all(_SOURCES, {"user_id": user_id, "ids": list(story_ids)}):
        by_story.setdefault(story_id, []).append(StorySource(*source))
    return by_story


@record
class StoryNeighbours:
    """The story an entry is in, and how many feeds report it."""

    story_id: int
    feeds: int


_entry_itself = story_entries.alias("here")
_NEIGHBOURS = Statement(
    select(_entry_itself.c.entry_id, _entry_itself.c.story_id, func.count(story_entries.c.feed_id.distinct()))
    .join_from(_entry_itself, story_entries, story_entries.c.story_id == _entry_itself.c.story_id)
    .join(subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
    .where(
        among(_entry_itself.c.entry_id, "ids"),
        ~_is_split(_entry_itself.c.entry_id),
        ~_is_split(story_entries.c.entry_id),
    )
    .group_by(_entry_itself.c.entry_id, _entry_itself.c.story_id)
    .having(func.count(story_entries.c.feed_id.distinct()) >= MIN_FEEDS)
)


async def beside(tx: Tx, user_id: int, entry_ids: Sequence[int]) -> dict[int, StoryNeighbours]:
    """Return the story by entry, for entries whose story has other feeds, too."""
    rows = await tx.all(_NEIGHBOURS, {"user_id": user_id, "ids": list(entry_ids)})
    return {row[0]: StoryNeighbours(row[1], row[2]) for row in rows}


# --- One story

_CURRENT_ID = Statement(
    select(func.coalesce(stories.c.merged_into, stories.c.id)).where(
        stories.c.id == bindparam("id", type_=BigInteger)
    )
)
_OUTLETS = Statement(
    select(*LISTED, _title.label("feed"), feeds.c.icon_id, _is_split(entries.c.id).label("is_split"))
    .select_from(
        with_states(
            story_entries.join(entries, entries.c.id == story_entries.c.entry_id).join(
                feeds, feeds.c.id == entries.c.feed_id
            )
        )
    )
    .where(story_entries.c.story_id == bindparam("id", type_=BigInteger), followed())
    .order_by(entries.c.sort_at, entries.c.id)
    .limit(MAX_OUTLETS)
)


async def find(tx: Tx, story_id: int) -> int | None:
    """Return the story's id, or that of the story it was merged into."""
    return await tx.value(_CURRENT_ID, {"id": story_id})


async def outlets(tx: Tx, user_id: int, story_id: int) -> tuple[list[Outlet], list[Outlet]]:
    """Return the story's entries that the user can see, oldest first, and those the user split from it."""
    rows = await tx.all(_OUTLETS, {"user_id": user_id, "id": story_id})
    tags = await tags_of(tx, user_id, [row["id"] for row in rows])
    together, apart = list[Outlet](), list[Outlet]()
    for row in rows:
        outlet = Outlet(entry_row(row, tags), row["feed"], row["icon_id"])
        (apart if row["is_split"] else together).append(outlet)
    return together, apart


_STORY_OF_ENTRY = Statement(
    select(story_entries.c.story_id)
    .join_from(story_entries, entries, entries.c.id == story_entries.c.entry_id)
    .where(story_entries.c.entry_id == bindparam("id", type_=BigInteger), followed())
)
_UNREAD = Statement(
    select(unread.c.entry_id)
    .join_from(unread, story_entries, story_entries.c.entry_id == unread.c.entry_id)
    .join(subscriptions, _can_see(story_entries.c.entry_id, story_entries.c.feed_id))
    .where(
        unread.c.user_id == _USER,
        alive(unread, subscriptions),
        among(story_entries.c.story_id, "ids"),
        ~_is_split(story_entries.c.entry_id),
    )
)


async def story_of(tx: Tx, user_id: int, entry_id: int) -> int | None:
    """Return the entry's story if the user can see the entry."""
    return await tx.value(_STORY_OF_ENTRY, {"user_id": user_id, "id": entry_id})


async def unread_in(tx: Tx, user_id: int, story_ids: Sequence[int]) -> list[int]:
    return [row[0] for row in await tx.all(_UNREAD, {"user_id": user_id, "ids": list(story_ids)})]


_SPLIT = Statement(
    insert(story_splits)
    .values(user_id=_USER, entry_id=bindparam("id"), created_at=bindparam("now"))
    .on_conflict_do_nothing()
)
_UNSPLIT = Statement(
    delete(story_splits).where(story_splits.c.user_id == _USER, story_splits.c.entry_id == bindparam("id"))
)


async def split(tx: Tx, user_id: int, entry_id: int, now: Instant) -> None:
    await tx.run(_SPLIT, {"user_id": user_id, "id": entry_id, "now": now})


async def unsplit(tx: Tx, user_id: int, entry_id: int) -> None:
    await tx.run(_UNSPLIT, {"user_id": user_id, "id": entry_id})


# --- Grouping of new entries

_after, _most = bindparam("after", type_=BigInteger), bindparam("most", type_=BigInteger)
_HEADLINE = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.title,
    entries.c.sort_at,
    feeds.c.owner_id.is_not(None),
)
_NEWEST = Statement(select(func.coalesce(func.max(entries.c.id), 0)))
_NEW_HEADLINES = Statement(
    select(*_HEADLINE)
    .join_from(entries, feeds, feeds.c.id == entries.c.feed_id)
    .where(entries.c.id > _after, entries.c.audience_id.is_(None))
    .order_by(entries.c.id)
    .limit(_most)
)
_GROUPED_HEADLINES = Statement(
    select(*_HEADLINE, func.coalesce(story_entries.c.story_id, entries.c.id))
    .join_from(entries, feeds, feeds.c.id == entries.c.feed_id)
    .outerjoin(story_entries, story_entries.c.entry_id == entries.c.id)
    .where(
        entries.c.id > _after,
        entries.c.id <= bindparam("up_to", type_=BigInteger),
        entries.c.audience_id.is_(None),
    )
    .order_by(entries.c.id)
    .limit(_most)
)
_new_story = insert(stories).values(id=bindparam("id"), newest_at=bindparam("newest_at"))
_SAVE_STORY = Statement(
    _new_story.on_conflict_do_update(
        index_elements=["id"], set_={"newest_at": larger(stories.c.newest_at, _new_story.excluded.newest_at)}
    )
)
# Selected from `entries`, to skip entries that retention deleted since or that not everyone may see.
_ADD_ENTRY = Statement(
    insert(story_entries)
    .from_select(
        ["entry_id", "story_id", "feed_id", "sort_at"],
        select(
            entries.c.id, bindparam("story_id", type_=BigInteger), entries.c.feed_id, entries.c.sort_at
        ).where(entries.c.id == bindparam("id", type_=BigInteger), entries.c.audience_id.is_(None)),
    )
    .on_conflict_do_nothing()
)
_merged_id, _target_id = bindparam("gone", type_=BigInteger), bindparam("home", type_=BigInteger)
_MOVE_ENTRIES = Statement(
    update(story_entries).where(story_entries.c.story_id == _merged_id).values(story_id=_target_id)
)
_SET_MERGED_INTO = Statement(
    update(stories)
    .where(or_(stories.c.id == _merged_id, stories.c.merged_into == _merged_id))
    .values(merged_into=_target_id)
)
_DELETE_OLD = Statement(delete(stories).where(stories.c.newest_at < bindparam("before")))


async def newest_entry(tx: Tx) -> int:
    return await tx.value(_NEWEST)


async def new_headlines(tx: Tx, after: int, limit: int) -> list[Headline]:
    return [Headline(*row) for row in await tx.all(_NEW_HEADLINES, {"after": after, "most": limit})]


async def placed(tx: Tx, after: int, up_to: int, limit: int) -> list[tuple[Headline, int]]:
    """Return entries with their story ids; an ungrouped entry is its own story."""
    rows = await tx.all(_GROUPED_HEADLINES, {"after": after, "up_to": up_to, "most": limit})
    return [(Headline(*tuple(row)[:-1]), row[len(row) - 1]) for row in rows]


async def save(tx: Tx, resolved: ResolvedStory) -> None:
    await tx.run_many(_SAVE_STORY, [{"id": id_, "newest_at": at} for id_, at in resolved.newest.items()])
    moves: Sequence[dict[str, int]] = [
        {"gone": merged_id, "home": target_id} for merged_id, target_id in resolved.merges.items()
    ]
    await tx.run_many(_MOVE_ENTRIES, moves)
    await tx.run_many(_SET_MERGED_INTO, moves)
    await tx.run_many(
        _ADD_ENTRY, [{"id": id_, "story_id": target_id} for id_, target_id in resolved.homes.items()]
    )


async def delete_old(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD, {"before": before})
