"""The texts of entries for search: to index, to match against, to rank by and to take excerpts from."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, ClauseElement, bindparam, column, table, tuple_

from reedbed.domain.records import record
from reedbed.domain.search import RankCandidate
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Statement, StatementFamily, among, func, select
from reedbed.store.tables import entries, entry_bodies

ReadingList = tuple[Instant, int]
"""Position of an entry in lists: its `sort_at` and its id."""
NEWEST: ReadingList = (HIGHEST, 0)

MAX_READ = 60_000
"""Characters of markup; excerpts come from the beginning of a text."""

_CANDIDATES = Statement(
    select(entries.c.id, entries.c.sort_at, entries.c.title, entries.c.summary, entries.c.author).where(
        among(entries.c.id, "ids")
    )
)
_FULL_TEXT = func.coalesce(
    entry_bodies.c.full_content + "\n" + entry_bodies.c.content, entry_bodies.c.content
)
_BODIES = Statement(
    select(entry_bodies.c.entry_id, func.substr(_FULL_TEXT, 1, MAX_READ)).where(
        among(entry_bodies.c.entry_id, "ids")
    )
)

_INDEXED = {
    "sqlite": table("search_keys", column("entry_id")),
    "postgresql": table("search_entries", column("entry_id")),
}


@record
class IndexedText:
    id: int
    sort_at: Instant
    title: str
    author: str | None
    content: str
    """Sanitised markup: the full article if it was fetched, then the content from the feed."""


_TO_INDEX = select(
    entries.c.id,
    entries.c.sort_at,
    entries.c.title,
    entries.c.author,
    _FULL_TEXT,
).join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
_TEXT = Statement(_TO_INDEX.where(among(entries.c.id, "ids")))


def _select_unindexed(engine: str) -> ClauseElement:
    indexed = _INDEXED[engine]
    beyond = tuple_(bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger))
    existing = select(indexed.c.entry_id).where(indexed.c.entry_id == entries.c.id).correlate(entries)
    return (
        _TO_INDEX.where(~existing.exists(), tuple_(entries.c.sort_at, entries.c.id) < beyond)
        .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
        .limit(bindparam("most", type_=BigInteger))
    )


_TEXTS = Statement(
    select(
        entries.c.id,
        entries.c.sort_at,
        entries.c.title,
        entries.c.author,
        entry_bodies.c.content,
        entry_bodies.c.full_content,
    )
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(among(entries.c.id, "ids"))
)
_UNINDEXED = StatementFamily(_select_unindexed)


async def unindexed(tx: Tx, limit: int, beyond: ReadingList = NEWEST) -> list[IndexedText]:
    """The newest entries that are not in the index, among those older than the position `beyond`."""
    params = {"most": limit, "at": beyond[0], "id": beyond[1]}
    return [IndexedText(*row) for row in await tx.all(_UNINDEXED(tx.engine), params)]


async def indexed_text(tx: Tx, ids: Sequence[int]) -> list[IndexedText]:
    """The text that each entry is indexed with."""
    return [IndexedText(*row) for row in await tx.all(_TEXT, {"ids": list(ids)})]


async def possibly_indexed(tx: Tx, ids: Sequence[int]) -> list[IndexedText]:
    """Every text an entry may have been indexed with: the feed's alone, and with the full article."""
    rows = await tx.all(_TEXTS, {"ids": list(ids)})
    return [
        IndexedText(id_, sort_at, title, author, text)
        for id_, sort_at, title, author, content, full in rows
        for text in ([content] if full is None else [content, f"{full}\n{content}"])
    ]


async def candidates(tx: Tx, ids: Sequence[int]) -> list[RankCandidate]:
    return [RankCandidate(*row) for row in await tx.all(_CANDIDATES, {"ids": list(ids)})]


async def bodies(tx: Tx, ids: Sequence[int]) -> dict[int, str]:
    """The beginning of each entry's sanitised markup."""
    return {row[0]: row[1] for row in await tx.all(_BODIES, {"ids": list(ids)})}
