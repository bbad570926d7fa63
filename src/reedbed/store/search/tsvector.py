"""Search on PostgreSQL: a vector of words for each entry, under a GIN index.

GIN hands out all that matches before anything can be put in order. That is quick for a word in a few thousand
entries; for a common one the list is walked instead, newest first, and each entry's vector is asked. Which of
the two is decided by the share of entries that hold the word, as ANALYZE last saw it.

Vectors are written out here, not by `to_tsvector`: its parser goes by the server's locale, and under "C" it
knows no letters beyond ASCII.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count

from sqlalchemy import text

from reedbed.domain.paging import Cursor, Order
from reedbed.domain.search_words import SearchWords
from reedbed.store.database import Tx
from reedbed.store.search.parts import Part, Words
from reedbed.store.search.places import Hit, Span
from reedbed.store.statements import Statement

COMMON = 20_000
"""Matches that are still gathered and sorted, at about 2.5 µs each. Walking, an entry costs 60 µs, and fewer
have to be asked the more common the word; with 300,000 entries the two meet here."""
_MAX_POSITIONS = 16_000
"""A vector counts to 16,383; beyond it no phrase is found."""
_LOWEST, _HIGHEST = -(2**62), 2**62
_WEIGHTS = {"title": "A", "author": "B", None: ""}
_ANY_COLUMN = ("A", "B", "D")

_INDEX = Statement(
    text(
        "INSERT INTO search_entries (entry_id, sort_at, words)"
        " SELECT id, sort_at, CAST(CAST(:words AS text) AS tsvector)"
        " FROM entries WHERE id = CAST(:id AS bigint)"
        " ON CONFLICT (entry_id) DO UPDATE SET words = excluded.words"
    )
)
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
_CLEAR = Statement(text("DELETE FROM search_entries"))
_SHARES = Statement(
    text(
        "SELECT stat.word, stat.share * pg_class.reltuples FROM pg_stats, pg_class,"
        " unnest(CAST(CAST(most_common_elems AS text) AS text[]), most_common_elem_freqs)"
        " AS stat (word, share)"
        " WHERE pg_stats.schemaname = current_schema() AND pg_stats.tablename = 'search_entries'"
        " AND attname = 'words' AND pg_class.oid = to_regclass('search_entries') AND ("
        " stat.word = ANY(CAST(:words AS text[])) OR EXISTS ("
        " SELECT 1 FROM unnest(CAST(:prefixes AS text[])) AS prefix WHERE starts_with(stat.word, prefix)))"
    )
)


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run_each(_INDEX, [{"id": entry_id, "words": _vector(words)} for entry_id, words in rows])


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """A vector goes with its entry."""


async def matches(tx: Tx, words: Words, span: Span, most: int) -> list[Hit]:
    first = Cursor(_HIGHEST, 0) if span.order == "newest" else Cursor(_LOWEST, 0)
    beyond = span.beyond or first
    params = {
        "match": expression(words),
        "after": _LOWEST if span.after is None else span.after,
        "before": _HIGHEST if span.before is None else span.before,
        "beyond_at": beyond.sort_at,
        "beyond_id": beyond.id,
        "most": most,
    }
    rows = await tx.all(_MATCHES[span.order], params)
    return [Hit(Cursor(sort_at, entry_id), entry_id) for sort_at, entry_id in rows]


async def check(tx: Tx, words: Words, ids: Sequence[int]) -> set[int]:
    """Which of these entries match."""
    asked = expression(words) if words.groups else _any_of(words.excluded)
    matching = {row[0] for row in await tx.all(_CHECK, {"match": asked, "ids": list(ids)})}
    return matching if words.groups else set(ids) - matching


async def is_common(tx: Tx, words: Words) -> bool:
    """Whether too many entries are likely to match for gathering them all."""
    parts = list(chain.from_iterable(words.groups))
    counted = await tx.all(
        _SHARES,
        {
            "words": [token for part in parts for token in part.tokens],
            "prefixes": [part.tokens[-1] for part in parts if part.prefix],
        },
    )
    counts = {row[0]: row[1] for row in counted}
    return min((sum(_likely(part, counts) for part in group) for group in words.groups), default=0) > COMMON


async def is_worn(tx: Tx) -> bool:
    """What is deleted leaves the index with the next vacuum."""
    return False


async def clear(tx: Tx) -> None:
    await tx.run(_CLEAR)


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


def _vector(words: SearchWords) -> str:
    places = count(1)
    columns = ((words.title, "A"), (words.author, "B"), (words.text, ""))
    pieces = (
        f"{token}:{place}{weight}"
        for column, weight in columns
        for token, place in zip(column.split(), places, strict=False)
    )
    return " ".join(piece for piece, _ in zip(pieces, range(_MAX_POSITIONS), strict=False))


def _likely(part: Part, counts: Mapping[str, float]) -> float:
    """About how many entries a part matches: as many as its rarest word. A word nobody counted is rare."""
    *first, last = part.tokens
    ends = (n for word, n in counts.items() if word.startswith(last)) if part.prefix else ()
    return min(
        (*(counts.get(token, 0) for token in first), sum(ends) if part.prefix else counts.get(last, 0))
    )
