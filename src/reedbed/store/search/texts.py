"""The texts of entries for search: to index, to match against, to rank by and to take excerpts from."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, ClauseElement, bindparam, column, table, tuple_

from reedbed.domain.records import record
from reedbed.domain.search.results import RankCandidate
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, Query, QueryFamily, among, func, keyed, select
from reedbed.store.entries.columns import categories_in
from reedbed.store.tables import entries, entry_bodies

Position = tuple[Instant, int]
"""Position of an entry in lists: its `sort_at` and its id."""
NEWEST: Position = (HIGHEST, 0)

MAX_READ = 60_000
"""Characters of markup; excerpts come from the beginning of a text."""

_CANDIDATES = Query(
    select(entries.c.id, entries.c.sort_at, entries.c.title, entries.c.summary, entries.c.author).where(
        among(entries.c.id, "ids")
    ),
    into=RankCandidate,
)
_ORIGINAL = func.coalesce(entry_bodies.c.full_content + "\n" + entry_bodies.c.content, entry_bodies.c.content)
_FULL_TEXT = func.coalesce(_ORIGINAL + "\n" + entry_bodies.c.translated, _ORIGINAL)
_TRANSCRIPT = func.coalesce(entry_bodies.c.transcript, "")


@record
class Body:
    markup: str
    """The beginning of the sanitised markup."""
    transcript: str


_BODIES = Query(
    select(entry_bodies.c.entry_id, func.substr(_FULL_TEXT, 1, MAX_READ), _TRANSCRIPT).where(
        among(entry_bodies.c.entry_id, "ids")
    ),
    into=keyed(int, Body),
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
    """Sanitised markup: the full article if it was fetched, the content from the feed, then the translations."""
    language: str | None = None
    extra: str = "{}"
    """JSON of the fields that are only shown on the page of the entry."""
    transcript: str = ""

    @property
    def categories(self) -> tuple[str, ...]:
        return categories_in(self.extra)


_TO_INDEX = select(
    entries.c.id,
    entries.c.sort_at,
    entries.c.title,
    entries.c.author,
    _FULL_TEXT,
    entries.c.language,
    entry_bodies.c.extra,
    _TRANSCRIPT,
).join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
_TEXT = Query(_TO_INDEX.where(among(entries.c.id, "ids")), into=IndexedText)
_BELOW = Query(
    _TO_INDEX.where(entries.c.id < bindparam("id"))
    .order_by(entries.c.id.desc())
    .limit(bindparam("limit", type_=BigInteger)),
    into=IndexedText,
)

_LOWEST_ID = Query(select(func.coalesce(func.min(entries.c.id), 0)), into=int)
_HIGHEST_ID = Query(select(func.coalesce(func.max(entries.c.id), 0)), into=int)


def _select_unindexed(engine: str) -> ClauseElement:
    indexed = _INDEXED[engine]
    beyond = tuple_(bindparam("at", type_=BigInteger), bindparam("id", type_=BigInteger))
    existing = select(indexed.c.entry_id).where(indexed.c.entry_id == entries.c.id).correlate(entries)
    return (
        _TO_INDEX.where(~existing.exists(), tuple_(entries.c.sort_at, entries.c.id) < beyond)
        .order_by(entries.c.sort_at.desc(), entries.c.id.desc())
        .limit(bindparam("limit", type_=BigInteger))
    )


def _possible_texts(
    id_: int,
    sort_at: Instant,
    title: str,
    author: str | None,
    content: str,
    full: str | None,
    extra: str,
    translated: str | None,
    transcript: str,
) -> list[IndexedText]:
    texts = [content] if full is None else [content, f"{full}\n{content}"]
    if translated is not None:
        texts += [f"{text}\n{translated}" for text in texts]
    return [IndexedText(id_, sort_at, title, author, text, extra=extra, transcript=transcript) for text in texts]


_TEXTS = Query(
    select(
        entries.c.id,
        entries.c.sort_at,
        entries.c.title,
        entries.c.author,
        entry_bodies.c.content,
        entry_bodies.c.full_content,
        entry_bodies.c.extra,
        entry_bodies.c.translated,
        _TRANSCRIPT,
    )
    .join_from(entries, entry_bodies, entry_bodies.c.entry_id == entries.c.id)
    .where(among(entries.c.id, "ids")),
    into=_possible_texts,
)
_UNINDEXED = QueryFamily(_select_unindexed, into=IndexedText)


async def unindexed(tx: Tx, limit: int, beyond: Position = NEWEST) -> list[IndexedText]:
    """The newest entries that are not in the index, among those older than the position `beyond`."""
    params = {"limit": limit, "at": beyond[0], "id": beyond[1]}
    return await tx.all(_UNINDEXED(tx.engine), params)


async def indexed_text(tx: Tx, ids: Sequence[int]) -> list[IndexedText]:
    """The text that each entry is indexed with."""
    return await tx.all(_TEXT, {"ids": list(ids)})


async def below_id(tx: Tx, entry_id: int, limit: int) -> list[IndexedText]:
    """The texts of the entries with the highest ids below this one."""
    return await tx.all(_BELOW, {"id": entry_id, "limit": limit})


async def possibly_indexed(tx: Tx, ids: Sequence[int]) -> list[IndexedText]:
    """Every text an entry may have been indexed with: the feed's, with or without full article and translations.

    A transcript is stored and indexed in one transaction, so that it is part of all or of none.
    """
    rows = await tx.all(_TEXTS, {"ids": list(ids)})
    return [text for texts in rows for text in texts]


async def id_range(tx: Tx) -> tuple[int, int]:
    """The lowest and the highest id of all entries."""
    return await tx.get(_LOWEST_ID), await tx.get(_HIGHEST_ID)


async def candidates(tx: Tx, ids: Sequence[int]) -> list[RankCandidate]:
    return await tx.all(_CANDIDATES, {"ids": list(ids)})


async def bodies(tx: Tx, ids: Sequence[int]) -> dict[int, Body]:
    return dict(await tx.all(_BODIES, {"ids": list(ids)}))
