"""Search on PostgreSQL: a vector of words for each entry, under a GIN index.

GIN hands out all that matches before anything can be put in order. That is quick for a word in a few thousand
entries; for a common one the list is walked instead, newest first, and each entry's vector is asked. The walk
begins in any case: what its first entries say tells how many there will be for GIN to gather.

Vectors are written out here, not by `to_tsvector`: its parser goes by the server's locale, and under "C" it
knows no letters beyond ASCII.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from sqlalchemy import text

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.search import SearchWords
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, LOWEST, Statement
from reedbed.store.search.filters import NO_WORDS, Part, Words
from reedbed.store.search.planner import Checked, Hit, IdRange

BUDGET = 80_000.0
FIRST_HITS: int = 500
SHORT_COST, LONG_COST = 6.0, 30.0
GATHER_COST = 2.0
"""µs for asking one short vector, for asking one that is so long that it is kept compressed, and for a match
that GIN gathers."""
SHORT, LONG = 1_000, 1_500
"""Bytes of a row, as it is kept."""
_MAX_POSITIONS = 16_000
"""A vector counts to 16,383; beyond it no phrase is found."""
_WEIGHTS = {"title": "A", "author": "B", None: ""}
_ANY_COLUMN = ("A", "B", "D")

_INSERT = (
    "INSERT INTO search_entries (entry_id, sort_at, words)"
    " SELECT id, sort_at, CAST(CAST(:words AS text) AS tsvector)"
    " FROM entries WHERE id = CAST(:id AS bigint) ON CONFLICT (entry_id)"
)
_INDEX = Statement(text(f"{_INSERT} DO UPDATE SET words = excluded.words"))
_INDEX_MISSING = Statement(text(f"{_INSERT} DO NOTHING"))
_MATCHES: dict[Order, Statement] = {
    "newest": Statement(
        text(
            "WITH hits AS MATERIALIZED ("
            " SELECT entry_id, sort_at FROM search_entries"
            " WHERE words @@ CAST(CAST(:match AS text) AS tsquery)"
            " AND sort_at >= CAST(:after AS bigint) AND sort_at < CAST(:before AS bigint))"
            " SELECT sort_at, entry_id FROM hits"
            " WHERE (sort_at, entry_id) < (CAST(:beyond_at AS bigint), CAST(:beyond_id AS bigint))"
            " ORDER BY sort_at DESC, entry_id DESC LIMIT CAST(:most AS bigint)"
        )
    ),
    "oldest": Statement(
        text(
            "WITH hits AS MATERIALIZED ("
            " SELECT entry_id, sort_at FROM search_entries"
            " WHERE words @@ CAST(CAST(:match AS text) AS tsquery)"
            " AND sort_at >= CAST(:after AS bigint) AND sort_at < CAST(:before AS bigint))"
            " SELECT sort_at, entry_id FROM hits"
            " WHERE (sort_at, entry_id) > (CAST(:beyond_at AS bigint), CAST(:beyond_id AS bigint))"
            " ORDER BY sort_at, entry_id LIMIT CAST(:most AS bigint)"
        )
    ),
}
_CHECK = Statement(
    text(
        "SELECT entry_id FROM search_entries WHERE entry_id = ANY(CAST(:ids AS bigint[]))"
        # IS TRUE keeps GIN out of it: the few entries are read by their ids, never all that hold the word.
        " AND (words @@ CAST(CAST(:match AS text) AS tsquery)) IS TRUE"
    )
)
_CLEAR = Statement(text("TRUNCATE search_entries"))
_SIZE = Statement(
    text(
        "SELECT reltuples, relpages * 8192.0 / nullif(reltuples, 0)"
        " FROM pg_class WHERE oid = to_regclass('search_entries')"
    )
)


@dataclass(slots=True)
class PostgresqlPlan:
    index: Words
    text: Words
    entries: float
    """In all, as ANALYZE last saw them."""
    asking: float
    """µs for asking one vector."""
    asked: int = 0
    rough: int = 0
    """So many entries were asked for their words, and so many of them would GIN have taken for matches."""

    @property
    def rechecks(self) -> bool:
        return any(len(part.tokens) > 1 or part.column for part in self.index.parts)


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run_many(_INDEX, _given(rows))


async def index_missing(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run_many(_INDEX_MISSING, _given(rows))


def _given(rows: Sequence[tuple[int, SearchWords]]) -> list[dict[str, int | str]]:
    return [{"id": entry_id, "words": _vector(words)} for entry_id, words in rows]


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """A vector goes with its entry."""


async def plan(tx: Tx, words: Words) -> PostgresqlPlan:
    size = await tx.one(_SIZE)
    entries, length = (size[0], float(size[1] or LONG)) if size else (0.0, LONG)
    share = min(max((length - SHORT) / (LONG - SHORT), 0.0), 1.0)
    return PostgresqlPlan(words, NO_WORDS, max(entries, 0.0), SHORT_COST + share * (LONG_COST - SHORT_COST))


async def matches(tx: Tx, plan: PostgresqlPlan, span: IdRange, most: int) -> list[Hit]:
    first = Cursor(HIGHEST, 0) if span.order == "newest" else Cursor(LOWEST, 0)
    beyond = span.beyond or first
    params = {
        "match": expression(plan.index),
        "after": LOWEST if span.after is None else span.after,
        "before": HIGHEST if span.before is None else span.before,
        "beyond_at": beyond.sort_at,
        "beyond_id": beyond.id,
        "most": most,
    }
    rows = await tx.all(_MATCHES[span.order], params)
    return [Hit(Cursor(sort_at, entry_id), entry_id) for sort_at, entry_id in rows]


async def check(tx: Tx, plan: PostgresqlPlan, ids: Sequence[int], most: float) -> Checked:
    """Which of these entries match."""
    words = plan.index
    asked = expression(words) if words.groups else _any_of(words.excluded)
    matching = await _asked(tx, asked, ids)
    cost = plan.asking * len(ids)
    if not plan.rechecks:
        plan.asked, plan.rough = plan.asked + len(ids), plan.rough + len(matching)
    elif words.groups and not plan.asked:
        plan.asked, plan.rough = len(ids), len(await _asked(tx, _roughly(words), ids))
        cost *= 2
    return Checked(matching if words.groups else set(ids) - matching, cost)


def usual(plan: PostgresqlPlan) -> float:
    return plan.asking


async def weigh(tx: Tx, plan: PostgresqlPlan) -> float:
    return plan.asking


def fixed_cost(plan: PostgresqlPlan) -> float:
    """Of gathering all matches, if there are as many everywhere as among the entries asked so far.

    GIN knows neither the order of words nor their weights, so for those every vector is asked nevertheless.
    """
    share = (plan.rough + 0.25) / (plan.asked + 1)
    return share * plan.entries * (plan.asking if plan.rechecks else GATHER_COST)


async def _asked(tx: Tx, match: str, ids: Sequence[int]) -> set[int]:
    return {row[0] for row in await tx.all(_CHECK, {"match": match, "ids": list(ids)})}


async def is_worn(tx: Tx) -> bool:
    """What is deleted leaves the index with the next vacuum."""
    return False


async def clear(tx: Tx) -> None:
    await tx.run(_CLEAR)


async def empty_some(tx: Tx) -> bool:
    """Nothing is put aside here."""
    return False


async def merge_some(tx: Tx) -> bool:
    """Autovacuum keeps the index tidy."""
    return False


def expression(words: Words) -> str:
    """The text of a tsquery. Tokens are letters and digits, so between quotes nothing can be misread."""
    return " & ".join((*map(_any_of, words.groups), *(f"!({_term(part)})" for part in words.excluded)))


def _any_of(parts: Iterable[Part]) -> str:
    return f"({' | '.join(map(_term, parts))})"


def _term(part: Part) -> str:
    if len(part.tokens) == 1 or part.column is not None:
        return _phrase(part, _WEIGHTS[part.column])
    # The columns follow each other in a vector; a phrase must not begin in one and end in the next.
    return f"({' | '.join(_phrase(part, weight) for weight in _ANY_COLUMN)})"


def _phrase(part: Part, weight: str) -> str:
    *first, last = (f"'{token}'" for token in part.tokens)
    marks = f"{'*' if part.prefix else ''}{weight}"
    words = [
        *(f"{token}:{weight}" if weight else token for token in first),
        f"{last}:{marks}" if marks else last,
    ]
    return f"({' <-> '.join(words)})"


def _roughly(words: Words) -> str:
    """What GIN knows of it: the words, in any order and any field."""
    return " & ".join(f"({' | '.join(map(_loosely, group))})" for group in words.groups)


def _loosely(part: Part) -> str:
    *first, last = (f"'{token}'" for token in part.tokens)
    return f"({' & '.join((*first, f'{last}:*' if part.prefix else last))})"


def _vector(words: SearchWords) -> str:
    places = count(1)
    columns = ((words.title, "A"), (words.author, "B"), (words.text, ""))
    pieces = (
        f"{token}:{place}{weight}"
        for column, weight in columns
        for token, place in zip(column.split(), places, strict=False)
    )
    return " ".join(piece for piece, _ in zip(pieces, range(_MAX_POSITIONS), strict=False))
