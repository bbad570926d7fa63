"""Grouping entries into stories: what is new, what was placed, and where it belongs now."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, or_, update
from sqlalchemy.dialects.postgresql import insert

from reedbed.domain.stories import Settled
from reedbed.domain.story_index import Headline
from reedbed.domain.times import Instant
from reedbed.store.database import Tx
from reedbed.store.dialect import larger
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import entries, feeds, stories, story_entries

_after, _most = bindparam("after", type_=BigInteger), bindparam("most", type_=BigInteger)
_HEADLINE = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.title,
    entries.c.sort_at,
    feeds.c.owner_id.is_not(None),
)
_NEWEST = Statement(select(func.coalesce(func.max(entries.c.id), 0)))
_NEW = Statement(
    select(*_HEADLINE)
    .join_from(entries, feeds, feeds.c.id == entries.c.feed_id)
    .where(entries.c.id > _after, entries.c.audience_id.is_(None))
    .order_by(entries.c.id)
    .limit(_most)
)
_PLACED = Statement(
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
_begin = insert(stories).values(id=bindparam("id"), newest_at=bindparam("newest_at"))
_BEGIN = Statement(
    _begin.on_conflict_do_update(
        index_elements=["id"], set_={"newest_at": larger(stories.c.newest_at, _begin.excluded.newest_at)}
    )
)
# From the entries: one that retention has taken since, or that not everybody may see, is left out.
_PUT = Statement(
    insert(story_entries)
    .from_select(
        ["entry_id", "story_id", "feed_id", "sort_at"],
        select(
            entries.c.id, bindparam("story_id", type_=BigInteger), entries.c.feed_id, entries.c.sort_at
        ).where(entries.c.id == bindparam("id", type_=BigInteger), entries.c.audience_id.is_(None)),
    )
    .on_conflict_do_nothing()
)
_gone, _home = bindparam("gone", type_=BigInteger), bindparam("home", type_=BigInteger)
_MOVE = Statement(update(story_entries).where(story_entries.c.story_id == _gone).values(story_id=_home))
_POINT = Statement(
    update(stories)
    .where(or_(stories.c.id == _gone, stories.c.merged_into == _gone))
    .values(merged_into=_home)
)
_FORGET = Statement(delete(stories).where(stories.c.newest_at < bindparam("before")))


async def newest_entry(tx: Tx) -> int:
    return await tx.value(_NEWEST)


async def new_headlines(tx: Tx, after: int, most: int) -> list[Headline]:
    return [Headline(*row) for row in await tx.all(_NEW, {"after": after, "most": most})]


async def placed(tx: Tx, after: int, up_to: int, most: int) -> list[tuple[Headline, int]]:
    """Entries with their stories; one that is alone is its own."""
    rows = await tx.all(_PLACED, {"after": after, "up_to": up_to, "most": most})
    return [(Headline(*tuple(row)[:-1]), row[len(row) - 1]) for row in rows]


async def keep(tx: Tx, settled: Settled) -> None:
    await tx.run_each(_BEGIN, [{"id": id_, "newest_at": at} for id_, at in settled.newest.items()])
    moves: Sequence[dict[str, int]] = [{"gone": gone, "home": home} for gone, home in settled.merges.items()]
    await tx.run_each(_MOVE, moves)
    await tx.run_each(_POINT, moves)
    await tx.run_each(_PUT, [{"id": id_, "story_id": home} for id_, home in settled.homes.items()])


async def forget(tx: Tx, before: Instant) -> int:
    return await tx.run(_FORGET, {"before": before})
