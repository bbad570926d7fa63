"""Full-text search on PostgreSQL: a tsvector for each entry, with a GIN index.

GIN returns all matches before they can be sorted. That is fast for a word in a few thousand entries. For a
common word the list plan is cheaper: walk the list, newest first, and test the tsvector of each entry. The
list plan always runs first: its first entries show how many matches GIN would have to collect.

Vectors are built here, not by `to_tsvector`: its parser depends on the server's locale, and under "C" it
knows no letters beyond ASCII.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import text

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.search.indexing import SearchWords
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, LOWEST, Command, Query, optional, row_of
from reedbed.store.search.filters import NO_WORDS, Part, Words
from reedbed.store.search.planner import Checked, Hit, IdRange

BUDGET = 80_000.0
FIRST_HITS: int = 500
SHORT_COST, LONG_COST = 6.0, 30.0
GATHER_COST = 2.0
"""Estimated µs: to test a short vector, to test one so long that it is stored compressed, and per match that
GIN collects."""
SHORT, LONG = 1_000, 1_500
"""Bytes of a stored row."""
_MAX_POSITIONS = 16_000
"""Positions in a vector end at 16,383; of what is beyond, words are found and phrases are not."""
_MAX_BYTES = 1_000_000
"""Of all tokens. PostgreSQL rejects a vector of a megabyte or more."""
_WEIGHTS = {"title": "A", "author": "B", None: ""}
_ANY_COLUMN = ("A", "B", "D")

_INSERT = (
    "INSERT INTO search_entries (entry_id, sort_at, words)"
    " SELECT id, sort_at, CAST(CAST(:words AS text) AS tsvector)"
    " FROM entries WHERE id = CAST(:id AS bigint) ON CONFLICT (entry_id)"
)
_INDEX = Command(text(f"{_INSERT} DO UPDATE SET words = excluded.words"))
_INDEX_MISSING = Command(text(f"{_INSERT} DO NOTHING"))
_MATCHES: dict[Order, Query[tuple[int, int]]] = {
    "newest": Query(
        text(
            "WITH hits AS MATERIALIZED ("
            " SELECT entry_id, sort_at FROM search_entries"
            " WHERE words @@ CAST(CAST(:match AS text) AS tsquery)"
            " AND sort_at >= CAST(:after AS bigint) AND sort_at < CAST(:before AS bigint))"
            " SELECT sort_at, entry_id FROM hits"
            " WHERE (sort_at, entry_id) < (CAST(:beyond_at AS bigint), CAST(:beyond_id AS bigint))"
            " ORDER BY sort_at DESC, entry_id DESC LIMIT CAST(:limit AS bigint)"
        ),
        into=row_of(int, int),
    ),
    "oldest": Query(
        text(
            "WITH hits AS MATERIALIZED ("
            " SELECT entry_id, sort_at FROM search_entries"
            " WHERE words @@ CAST(CAST(:match AS text) AS tsquery)"
            " AND sort_at >= CAST(:after AS bigint) AND sort_at < CAST(:before AS bigint))"
            " SELECT sort_at, entry_id FROM hits"
            " WHERE (sort_at, entry_id) > (CAST(:beyond_at AS bigint), CAST(:beyond_id AS bigint))"
            " ORDER BY sort_at, entry_id LIMIT CAST(:limit AS bigint)"
        ),
        into=row_of(int, int),
    ),
}
_CHECK = Query(
    text(
        "SELECT entry_id FROM search_entries WHERE entry_id = ANY(CAST(:ids AS bigint[]))"
        # IS TRUE prevents the GIN index: read these few entries by id, not all entries with the word.
        " AND (words @@ CAST(CAST(:match AS text) AS tsquery)) IS TRUE"
    ),
    into=int,
)
_CLEAR = Command(text("TRUNCATE search_entries"))
_SIZE = Query(
    text(
        "SELECT reltuples, relpages * 8192.0 / nullif(reltuples, 0)"
        " FROM pg_class WHERE oid = to_regclass('search_entries')"
    ),
    into=row_of(float, optional(float)),
)


@dataclass(slots=True)
class PostgresqlPlan:
    index: Words
    text: Words
    entries: float
    """Total number, from the last ANALYZE."""
    asking: float
    """µs to test one vector."""
    asked: int = 0
    """How many entries were tested so far."""
    rough: int = 0
    """How many of them GIN would have returned, before its recheck."""

    @property
    def rechecks(self) -> bool:
        return any(len(part.tokens) > 1 or part.column for part in self.index.parts)


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run_many(_INDEX, _params(rows))


async def index_missing(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run_many(_INDEX_MISSING, _params(rows))


def _params(rows: Sequence[tuple[int, SearchWords]]) -> list[dict[str, int | str]]:
    return [{"id": entry_id, "words": _vector(words)} for entry_id, words in rows]


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """Nothing to do: the vector is deleted with its entry."""


async def plan(tx: Tx, words: Words) -> PostgresqlPlan:
    size = await tx.one(_SIZE)
    entries, length = (size[0], size[1] or LONG) if size else (0.0, LONG)
    share = min(max((length - SHORT) / (LONG - SHORT), 0.0), 1.0)
    return PostgresqlPlan(words, NO_WORDS, max(entries, 0.0), SHORT_COST + share * (LONG_COST - SHORT_COST))


async def matches(tx: Tx, plan: PostgresqlPlan, span: IdRange, limit: int) -> list[Hit]:
    first = Cursor(HIGHEST, 0) if span.order == "newest" else Cursor(LOWEST, 0)
    beyond = span.beyond or first
    params = {
        "match": expression(plan.index),
        "after": LOWEST if span.after is None else span.after,
        "before": HIGHEST if span.before is None else span.before,
        "beyond_at": beyond.sort_at,
        "beyond_id": beyond.id,
        "limit": limit,
    }
    rows = await tx.all(_MATCHES[span.order], params)
    return [Hit(Cursor(sort_at, entry_id), entry_id) for sort_at, entry_id in rows]


async def check(tx: Tx, plan: PostgresqlPlan, ids: Sequence[int], max_cost: float) -> Checked:
    """Which of these entries match."""
    words = plan.index
    query = expression(words) if words.groups else _any_of(words.excluded)
    matching = await _matching(tx, query, ids)
    cost = plan.asking * len(ids)
    if not plan.rechecks:
        plan.asked, plan.rough = plan.asked + len(ids), plan.rough + len(matching)
    elif words.groups and not plan.asked:
        plan.asked, plan.rough = len(ids), len(await _matching(tx, _without_positions(words), ids))
        cost *= 2
    return Checked(matching if words.groups else set(ids) - matching, cost)


def typical_cost(plan: PostgresqlPlan) -> float:
    return plan.asking


async def estimate_cost(tx: Tx, plan: PostgresqlPlan) -> float:
    return plan.asking


def fixed_cost(plan: PostgresqlPlan) -> float:
    """The cost of collecting all matches, if they are as frequent as among the entries tested so far.

    GIN knows neither word order nor weights, so for phrases and columns every vector is tested again.
    """
    share = (plan.rough + 0.25) / (plan.asked + 1)
    return share * plan.entries * (plan.asking if plan.rechecks else GATHER_COST)


async def _matching(tx: Tx, match: str, ids: Sequence[int]) -> set[int]:
    return set(await tx.all(_CHECK, {"match": match, "ids": list(ids)}))


async def index_needs_rebuild(tx: Tx) -> bool:
    """Never: vacuum removes deleted entries from the index."""
    return False


async def clear(tx: Tx) -> None:
    await tx.run(_CLEAR)


async def delete_old_index_batch(tx: Tx) -> bool:
    """Nothing to do: `clear` truncates the table."""
    return False


async def merge_index_batch(tx: Tx) -> bool:
    """Nothing to do: autovacuum maintains the index."""
    return False


def expression(words: Words) -> str:
    """The text of a tsquery. Tokens are letters and digits, so quoting them is safe."""
    return " & ".join((*map(_any_of, words.groups), *(f"!({_term(part)})" for part in words.excluded)))


def _any_of(parts: Iterable[Part]) -> str:
    return f"({' | '.join(map(_term, parts))})"


def _term(part: Part) -> str:
    if len(part.tokens) == 1 or part.column is not None:
        return _phrase(part, _WEIGHTS[part.column])
    # The columns are concatenated in a vector; a phrase must not span two of them.
    return f"({' | '.join(_phrase(part, weight) for weight in _ANY_COLUMN)})"


def _phrase(part: Part, weight: str) -> str:
    *first, last = (f"'{token}'" for token in part.tokens)
    flags = f"{'*' if part.prefix else ''}{weight}"
    terms = [*(f"{token}:{weight}" if weight else token for token in first), f"{last}:{flags}" if flags else last]
    return f"({' <-> '.join(terms)})"


def _without_positions(words: Words) -> str:
    """The part of the query that GIN itself can answer: the words, in any order and any column."""
    return " & ".join(f"({' | '.join(map(_all_tokens, group))})" for group in words.groups)


def _all_tokens(part: Part) -> str:
    *first, last = (f"'{token}'" for token in part.tokens)
    return f"({' & '.join((*first, f'{last}:*' if part.prefix else last))})"


def _vector(words: SearchWords) -> str:
    columns = ((words.title, "A"), (words.author, "B"), (words.text, ""))
    tokens = [(token, weight) for column, weight in columns for token in column.split()]
    lexemes = [f"{token}:{place}{weight}" for place, (token, weight) in enumerate(tokens[:_MAX_POSITIONS], 1)]
    remaining = _MAX_BYTES - sum(len(token.encode()) for token, _ in tokens[:_MAX_POSITIONS])
    for token in dict.fromkeys(token for token, _ in tokens[_MAX_POSITIONS:]):
        remaining -= len(token.encode())
        if remaining < 0:
            break
        lexemes.append(token)
    return " ".join(lexemes)
