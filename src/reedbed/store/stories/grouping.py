"""The grouping of new entries into stories: what was grouped, doubtful pairs, and what users have set apart."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, Text, bindparam, cast, delete, or_, update

from reedbed.domain.records import record
from reedbed.domain.stories.corrections import SplitEntry, TextPair
from reedbed.domain.stories.index import Headline, ResolvedStory
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, larger, row_of, select
from reedbed.store.tables import (
    entries,
    feeds,
    stories,
    story_entries,
    story_follows,
    story_joins,
    story_pairs,
    story_splits,
    subscriptions,
    users,
)

_ID = bindparam("id", type_=BigInteger)
_after, _most = bindparam("after", type_=BigInteger), bindparam("limit", type_=BigInteger)
_HEADLINE = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.title,
    entries.c.sort_at,
    feeds.c.owner_id.is_not(None),
    entries.c.summary,
    func.coalesce(entries.c.language, ""),
)
_NEWEST = Query(select(func.coalesce(func.max(entries.c.id), 0)), into=int)
_NEW_HEADLINES = Query(
    select(*_HEADLINE)
    .join_from(entries, feeds, feeds.c.id == entries.c.feed_id)
    .where(entries.c.id > _after, entries.c.audience_id.is_(None), feeds.c.kind != "listening")  # an article read aloud
    .order_by(entries.c.id)
    .limit(_most),
    into=Headline,
)


def _headline_and_story(*columns: Any) -> tuple[Headline, int]:
    *headline, story_id = columns
    return Headline(*headline), story_id


_GROUPED_HEADLINES = Query(
    select(*_HEADLINE, func.coalesce(story_entries.c.story_id, entries.c.id))
    .join_from(entries, feeds, feeds.c.id == entries.c.feed_id)
    .outerjoin(story_entries, story_entries.c.entry_id == entries.c.id)
    .where(entries.c.id > _after, entries.c.id <= bindparam("up_to", type_=BigInteger), entries.c.audience_id.is_(None))
    .order_by(entries.c.id)
    .limit(_most),
    into=_headline_and_story,
)
_new_story = insert(stories).values(id=bindparam("id"), newest_at=bindparam("newest_at"))
_SAVE_STORY = Command(
    _new_story.on_conflict_do_update(
        index_elements=["id"], set_={"newest_at": larger(stories.c.newest_at, _new_story.excluded.newest_at)}
    )
)
# Selected from `entries`, to skip entries that retention deleted since or that not everyone may see.
_ADD_ENTRY = Command(
    insert(story_entries)
    .from_select(
        ["entry_id", "story_id", "feed_id", "sort_at"],
        select(entries.c.id, bindparam("story_id", type_=BigInteger), entries.c.feed_id, entries.c.sort_at).where(
            entries.c.id == bindparam("id", type_=BigInteger), entries.c.audience_id.is_(None)
        ),
    )
    .on_conflict_do_nothing()
)
_merged_id, _target_id = bindparam("gone", type_=BigInteger), bindparam("home", type_=BigInteger)
_MOVE_ENTRIES = Command(update(story_entries).where(story_entries.c.story_id == _merged_id).values(story_id=_target_id))
_SET_MERGED_INTO = Command(
    update(stories)
    .where(or_(stories.c.id == _merged_id, stories.c.merged_into == _merged_id))
    .values(merged_into=_target_id)
)
_others = story_joins.alias("others")
_MOVE_JOINS = (
    Command(
        delete(story_joins).where(
            story_joins.c.story_id == _merged_id,
            select(_others.c.story_id)
            .where(_others.c.user_id == story_joins.c.user_id, _others.c.story_id == _target_id)
            .exists(),
        )
    ),
    Command(update(story_joins).where(story_joins.c.story_id == _merged_id).values(story_id=_target_id)),
    Command(update(story_joins).where(story_joins.c.target_id == _merged_id).values(target_id=_target_id)),
    Command(delete(story_joins).where(story_joins.c.story_id == story_joins.c.target_id)),
    # A target is never joined itself.
    Command(
        update(story_joins)
        .where(
            story_joins.c.target_id == _target_id,
            _others.c.user_id == story_joins.c.user_id,
            _others.c.story_id == _target_id,
        )
        .values(target_id=_others.c.target_id)
    ),
    Command(delete(story_joins).where(story_joins.c.story_id == story_joins.c.target_id)),
)
_MOVE_FOLLOWS = (
    Command(
        insert(story_follows)
        .from_select(
            ["user_id", "story_id", "created_at"],
            select(story_follows.c.user_id, cast(_target_id, BigInteger), story_follows.c.created_at).where(
                story_follows.c.story_id == _merged_id
            ),
        )
        .on_conflict_do_nothing()
    ),
    Command(delete(story_follows).where(story_follows.c.story_id == _merged_id)),
)
_DELETE_OLD = Command(delete(stories).where(stories.c.newest_at < bindparam("before")))


async def newest_entry(tx: Tx) -> int:
    return await tx.get(_NEWEST)


async def new_headlines(tx: Tx, after: int, limit: int) -> list[Headline]:
    return await tx.all(_NEW_HEADLINES, {"after": after, "limit": limit})


async def placed(tx: Tx, after: int, up_to: int, limit: int) -> list[tuple[Headline, int]]:
    """Return entries with their story ids; an ungrouped entry is its own story."""
    return await tx.all(_GROUPED_HEADLINES, {"after": after, "up_to": up_to, "limit": limit})


async def save(tx: Tx, resolved: ResolvedStory) -> None:
    await tx.run_many(_SAVE_STORY, [{"id": id_, "newest_at": at} for id_, at in resolved.newest.items()])
    moves: Sequence[dict[str, int]] = [
        {"gone": merged_id, "home": target_id} for merged_id, target_id in resolved.merges.items()
    ]
    await tx.run_many(_MOVE_ENTRIES, moves)
    await tx.run_many(_SET_MERGED_INTO, moves)
    for command in (*_MOVE_JOINS, *_MOVE_FOLLOWS):
        await tx.run_many(command, moves)
    await tx.run_many(_ADD_ENTRY, [{"id": id_, "story_id": target_id} for id_, target_id in resolved.homes.items()])


async def delete_old(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD, {"before": before})


async def ensure_story(tx: Tx, entry_id: int, at: Instant) -> None:
    """Make the entry a story of its own, unless it is in one."""
    await tx.run(_SAVE_STORY, {"id": entry_id, "newest_at": at})
    await tx.run(_ADD_ENTRY, {"id": entry_id, "story_id": entry_id})


# --- Doubtful pairs


@record
class WaitingPair:
    """Two entries whose stories may be one. `other_id` was the first entry of its story."""

    entry_id: int
    other_id: int
    feed_ids: tuple[int, int]
    texts: TextPair


def _waiting_pair(entry_id: int, other_id: int, *columns: Any) -> WaitingPair:
    feed_id, title, lead, other_feed_id, other_title, other_lead = columns
    texts = TextPair((title or "", lead or ""), (other_title or "", other_lead or ""))
    return WaitingPair(entry_id, other_id, (feed_id, other_feed_id), texts)


_NEW_PAIR = Command(
    insert(story_pairs)
    .values(entry_id=_ID, other_id=bindparam("other_id", type_=BigInteger), added_at=bindparam("now"))
    .on_conflict_do_nothing()
)
_is_waiting = story_pairs.c.status == "waiting"
_overflow = (
    select(story_pairs.c.entry_id)
    .where(_is_waiting)
    .order_by(story_pairs.c.entry_id.desc())
    .limit(1)
    .offset(bindparam("kept", type_=BigInteger))
    .scalar_subquery()
)
_DELETE_OVERFLOW = Command(delete(story_pairs).where(_is_waiting, story_pairs.c.entry_id <= _overflow))
_other, _other_feed = entries.alias("other"), feeds.alias("other_feed")
_WAITING = Query(
    select(
        story_pairs.c.entry_id,
        story_pairs.c.other_id,
        entries.c.feed_id,
        entries.c.title,
        entries.c.summary,
        _other.c.feed_id,
        _other.c.title,
        _other.c.summary,
    )
    .join_from(story_pairs, entries, entries.c.id == story_pairs.c.entry_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(_other, _other.c.id == story_pairs.c.other_id)
    .join(_other_feed, _other_feed.c.id == _other.c.feed_id)
    .where(
        _is_waiting,
        story_pairs.c.added_at >= bindparam("since", type_=BigInteger),
        # All users share the stories, so texts of private feeds are not sent to the model.
        feeds.c.owner_id.is_(None),
        _other_feed.c.owner_id.is_(None),
        entries.c.audience_id.is_(None),
        _other.c.audience_id.is_(None),
    )
    .order_by(story_pairs.c.entry_id.desc())
    .limit(_most),
    into=_waiting_pair,
)
_FOLLOWERS = Query(
    select(subscriptions.c.feed_id, subscriptions.c.local_only, users.c.preferences)
    .distinct()
    .join_from(subscriptions, users, users.c.id == subscriptions.c.user_id)
    .where(
        among(subscriptions.c.feed_id, "ids"), subscriptions.c.unsubscribed_at.is_(None), users.c.disabled_at.is_(None)
    ),
    into=row_of(int, bool, str),
)
_SET_STATUS = Command(
    update(story_pairs)
    .where(story_pairs.c.entry_id == _ID, story_pairs.c.other_id == bindparam("other_id", type_=BigInteger))
    .values(status=bindparam("new_status", type_=Text))
)
_SAME = Query(
    select(story_pairs.c.entry_id, story_pairs.c.other_id)
    .where(story_pairs.c.status == "same")
    .order_by(story_pairs.c.entry_id)
    .limit(_most),
    into=row_of(int, int),
)
_STORY_OF = Query(
    select(func.coalesce(story_entries.c.story_id, entries.c.id))
    .join_from(entries, story_entries, story_entries.c.entry_id == entries.c.id, isouter=True)
    .where(entries.c.id == _ID, entries.c.audience_id.is_(None)),
    into=int,
)
_DELETE_OLD_PAIRS = Command(delete(story_pairs).where(story_pairs.c.added_at < bindparam("before")))


async def add_pairs(tx: Tx, pairs: Sequence[tuple[int, int]], now: Instant, *, limit: int) -> None:
    """Store pairs for a model to decide; of all that wait, the newest are kept."""
    await tx.run_many(_NEW_PAIR, [{"id": id_, "other_id": other_id, "now": now} for id_, other_id in pairs])
    await tx.run(_DELETE_OVERFLOW, {"kept": limit})


async def waiting_pairs(tx: Tx, since: Instant, limit: int) -> list[WaitingPair]:
    """Return undecided pairs, the newest first, without private entries."""
    return await tx.all(_WAITING, {"since": since, "limit": limit})


async def followers(tx: Tx, feed_ids: Sequence[int]) -> list[tuple[int, bool, str]]:
    """Return for each feed what its followers have set: whether it is local only, and their preferences."""
    return await tx.all(_FOLLOWERS, {"ids": list(feed_ids)})


async def set_status(tx: Tx, statuses: Sequence[tuple[int, int, str]]) -> None:
    await tx.run_many(
        _SET_STATUS, [{"id": id_, "other_id": other_id, "new_status": status} for id_, other_id, status in statuses]
    )


async def same_pairs(tx: Tx, limit: int) -> list[tuple[int, int]]:
    """Return pairs that were found to be the same, and are not in one story yet."""
    return await tx.all(_SAME, {"limit": limit})


async def story_of_entry(tx: Tx, entry_id: int) -> int | None:
    """Return the story of an entry for all users; one that stands alone is its own."""
    return await tx.one(_STORY_OF, {"id": entry_id})


async def delete_old_pairs(tx: Tx, before: Instant) -> int:
    return await tx.run(_DELETE_OLD_PAIRS, {"before": before})


# --- Entries that follow one which a user has split

_SPLITS = Query(
    select(
        story_splits.c.user_id,
        story_splits.c.entry_id,
        func.coalesce(story_splits.c.because_id, story_splits.c.entry_id),
        story_entries.c.story_id,
    )
    .join_from(story_entries, story_splits, story_splits.c.entry_id == story_entries.c.entry_id)
    .where(among(story_entries.c.story_id, "ids")),
    into=row_of(int, int, int, int),
)
_MEMBERS = Query(
    select(*_HEADLINE, story_entries.c.story_id)
    .join_from(story_entries, entries, entries.c.id == story_entries.c.entry_id)
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .where(among(story_entries.c.story_id, "ids"))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
    .limit(_most),
    into=_headline_and_story,
)
_UNGROUPED = Query(
    select(*_HEADLINE)
    .join_from(entries, feeds, feeds.c.id == entries.c.feed_id)
    .outerjoin(story_entries, story_entries.c.entry_id == entries.c.id)
    .where(among(entries.c.id, "ids"), entries.c.audience_id.is_(None), story_entries.c.entry_id.is_(None))
    .order_by(entries.c.id),
    into=Headline,
)
_FOLLOW_SPLIT = Command(
    insert(story_splits)
    .values(
        user_id=bindparam("user_id", type_=BigInteger),
        entry_id=_ID,
        because_id=bindparam("because_id", type_=BigInteger),
        created_at=bindparam("now"),
    )
    .on_conflict_do_nothing()
)


async def splits_in(tx: Tx, story_ids: Sequence[int]) -> list[tuple[SplitEntry, int]]:
    """Return the entries that users have split from these stories, with their story."""
    rows = await tx.all(_SPLITS, {"ids": list(story_ids)})
    return [(SplitEntry(user_id, entry_id, because_id), story_id) for user_id, entry_id, because_id, story_id in rows]


async def members(tx: Tx, story_ids: Sequence[int], limit: int) -> list[tuple[Headline, int]]:
    """Return the newest entries of these stories, with their story."""
    return await tx.all(_MEMBERS, {"ids": list(story_ids), "limit": limit})


async def ungrouped(tx: Tx, entry_ids: Sequence[int]) -> list[Headline]:
    """Return those of the entries that are in no story yet."""
    return await tx.all(_UNGROUPED, {"ids": list(entry_ids)})


async def add_splits(tx: Tx, splits: Sequence[SplitEntry], now: Instant) -> None:
    await tx.run_many(
        _FOLLOW_SPLIT,
        [
            {"user_id": split.user_id, "id": split.entry_id, "because_id": split.because_id, "now": now}
            for split in splits
        ],
    )
