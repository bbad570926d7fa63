"""Full-text search on SQLite: a contentless FTS5 index whose rowids follow the sort order of lists.

FTS5 returns matches one by one in rowid order. If rowids grow with `sort_at`, the newest matches of a very
common word cost no more than those of a rare one. So `search_keys` gives each entry a key: the second of its
`sort_at`, or a free one soon after. The index stores no copy of the texts, which would double its size. FTS5
can then delete an entry only if it gets exactly the indexed text; `digest` verifies that. A changed entry
leaves its old key behind, without an entry, until `services.search` rebuilds the index.

Measured with 12,000 texts of 2.7 KB, 240 per transaction; ms and bytes per entry (busy machine: compare the
ratios):

    rowid = entry id, detail=full, automerge 4      0.19   2,240
    the same, unicode61 instead of ascii            0.19   2,240   text is normalized, ascii splits at spaces
    the same, detail=column                         0.16   1,130   no phrases, not even of three characters
    rowid = second of sort_at, automerge 4          0.32   2,880   merging overlapping segments is expensive
    the same, automerge 16                          0.25   3,140
    the same, no automerge, hashsize 8 MB           0.14   3,160   chosen: merge later, when idle
    the same, prefix=3                              0.40   4,900   prefixes match without it, too
    rowid = millisecond and id                      0.35   4,450
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from sqlalchemy import text

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.search.indexing import SearchWords
from reedbed.domain.times import SECOND, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, LOWEST, Command, Query, optional, row_of
from reedbed.store.search.filters import NO_WORDS, Part, Words
from reedbed.store.search.planner import Checked, Hit, IdRange

Number = TypeVar("Number", int, float)

MERGE_PAGES = 16
"""Takes the single writer a few milliseconds, and at most 25 where words are common."""
DELETE_BATCH_SIZE = 1_000
"""Rows per batch; takes a few milliseconds."""
DEAD_ROWS_LIMIT = 20_000
BUDGET = 10_000.0
FIRST_HITS: int = 50
CHECK_COST = 25.0
BROAD = 120
"""Index pages of all prefixes; FTS5 reads and sorts them all before it returns the first match."""
PREFIX_COST = 60.0
PAGE_COST = 35.0
PHRASE_COST = 80.0
LOOKUP_COST = 14.0
KEY_COST = 2.0
"""Estimated µs: per page read for a prefix, per page scanned, per page scanned for a phrase, per lookup of a
word in one segment for one entry, and per key of an entry."""
_MAX_OFFSET = 3_600
"""Seconds by which a key may be later than its entry, when many entries share a second."""

_DETACH_KEYS = Command(
    text("UPDATE search_keys SET entry_id = NULL WHERE entry_id IN (SELECT value FROM json_each(:ids))")
)
_SORT_TIMES = Query(
    text("SELECT id, sort_at FROM entries WHERE id IN (SELECT value FROM json_each(:ids))"), into=row_of(int, int)
)
_CLAIM = Command(
    text("INSERT INTO search_keys (key, entry_id, digest) VALUES (:key, :id, :digest) ON CONFLICT (key) DO NOTHING")
)
_CLAIMED = Query(
    text("SELECT entry_id, key FROM search_keys WHERE entry_id IN (SELECT value FROM json_each(:ids))"),
    into=row_of(int, int),
)
_INSERT = Command(text("INSERT INTO search_words (rowid, title, text, author) VALUES (:key, :title, :text, :author)"))
_MATCHES: dict[Order, Query[tuple[int, int]]] = {
    "newest": Query(
        text(
            "SELECT hit.key, search_keys.entry_id FROM ("
            " SELECT rowid AS key FROM search_words"
            " WHERE search_words MATCH :match AND rowid > :above AND rowid < :below"
            " ORDER BY rowid DESC LIMIT :limit"
            ") AS hit CROSS JOIN search_keys ON search_keys.key = hit.key"
        ),
        into=row_of(int, int),
    ),
    "oldest": Query(
        text(
            "SELECT hit.key, search_keys.entry_id FROM ("
            " SELECT rowid AS key FROM search_words"
            " WHERE search_words MATCH :match AND rowid > :above AND rowid < :below"
            " ORDER BY rowid LIMIT :limit"
            ") AS hit CROSS JOIN search_keys ON search_keys.key = hit.key"
        ),
        into=row_of(int, int),
    ),
}
# One scan of the matches between the first and the last of these entries, 0.1 µs each. The + stops SQLite
# from looking up key by key, which would restart the scan for each key in every segment of the index.
_SCAN = Query(
    text(
        "SELECT rowid FROM search_words WHERE search_words MATCH :match"
        " AND rowid >= :first AND rowid <= :last"
        " AND +rowid IN (SELECT value FROM json_each(:keys))"
    ),
    into=int,
)
_LOOKUP = Query(
    text(
        "SELECT search_words.rowid FROM json_each(:keys) AS wanted"
        " CROSS JOIN search_words ON search_words.rowid = wanted.value"
        " WHERE search_words MATCH :match"
    ),
    into=int,
)
_KEYS_OF = Query(
    text("SELECT key, entry_id FROM search_keys WHERE entry_id IN (SELECT value FROM json_each(:ids))"),
    into=row_of(int, int),
)
_RANGE = Query(
    text("SELECT (SELECT max(key) FROM search_keys) - (SELECT min(key) FROM search_keys)"), into=optional(int)
)
# How many index pages lie between two words, estimated from the first word of each page, which is what FTS5 itself
# looks up first. A page holds a few hundred matches.
_PAGES = Query(
    text(
        "WITH RECURSIVE segment (number) AS ("
        " SELECT min(segid) FROM search_words_idx UNION ALL"
        " SELECT (SELECT min(segid) FROM search_words_idx WHERE segid > number)"
        " FROM segment WHERE number IS NOT NULL)"
        " SELECT asked.key, count(*), total("
        " coalesce((SELECT pgno FROM search_words_idx WHERE segid = number"
        " AND term >= CAST(json_extract(asked.value, '$[1]') AS BLOB) ORDER BY term LIMIT 1),"
        " (SELECT pgno FROM search_words_idx WHERE segid = number ORDER BY term DESC LIMIT 1))"
        " - (SELECT pgno FROM search_words_idx WHERE segid = number"
        " AND term <= CAST(json_extract(asked.value, '$[0]') AS BLOB) ORDER BY term DESC LIMIT 1)) / 2"
        " FROM json_each(:spans) AS asked, segment WHERE number IS NOT NULL GROUP BY asked.key"
    ),
    into=row_of(int, int, float),
)
_MERGE = Command(text("INSERT INTO search_words (search_words, rank) VALUES ('merge', :pages)"))
_KEYS = Query(text("SELECT count(*), count(entry_id) FROM search_keys"), into=row_of(int, int))
_DELETE_TEXT = Command(
    text(
        "INSERT INTO search_words (search_words, rowid, title, text, author)"
        " VALUES ('delete', :key, :title, :text, :author)"
    )
)
_DELETE_KEY = Command(text("DELETE FROM search_keys WHERE key = :key"))
_INDEXED_KEYS = Query(
    text("SELECT entry_id, key, digest FROM search_keys WHERE entry_id IN (SELECT value FROM json_each(:ids))"),
    into=row_of(int, int, int),
)
_DEFINITIONS = Query(text("SELECT sql FROM sqlite_master WHERE name IN ('search_words', 'search_keys')"), into=str)
_RENAME = (
    Command(text("ALTER TABLE search_words RENAME TO search_words_worn")),
    Command(text("ALTER TABLE search_keys RENAME TO search_keys_worn")),
)
_COPY_CONFIG = Command(
    text("INSERT INTO search_words (search_words, rank) SELECT k, v FROM search_words_worn_config WHERE k <> 'version'")
)
_RENAMED_EXISTS = Query(text("SELECT 1 FROM sqlite_master WHERE name = 'search_words_worn'"), into=int)
_EMPTY_SOME = (
    Command(
        text(
            # The first rows describe the structure of the index; without them it cannot even be dropped.
            "DELETE FROM search_words_worn_data WHERE id IN"
            " (SELECT id FROM search_words_worn_data WHERE id > 10 LIMIT :limit)"
        )
    ),
    Command(
        text(
            "DELETE FROM search_words_worn_idx WHERE (segid, term) IN"
            " (SELECT segid, term FROM search_words_worn_idx LIMIT :limit)"
        )
    ),
    Command(text("DELETE FROM search_keys_worn WHERE key IN (SELECT key FROM search_keys_worn LIMIT :limit)")),
)
_DROP = (Command(text("DROP TABLE search_words_worn")), Command(text("DROP TABLE search_keys_worn")))
_CHANGES = Query(text("SELECT total_changes()"), into=int)


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run(_DETACH_KEYS, {"ids": [entry_id for entry_id, _ in rows]})
    keys = await _claim_keys(tx, {entry_id: _digest(words) for entry_id, words in rows})
    keyed = {keys[entry_id]: words for entry_id, words in rows if entry_id in keys}
    await tx.run_many(_INSERT, _rows_by_key(keyed))


async def index_missing(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    existing = {entry_id for entry_id, _ in await tx.all(_CLAIMED, {"ids": [entry_id for entry_id, _ in rows]})}
    await index(tx, [row for row in rows if row[0] not in existing])


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """FTS5 needs exactly the text it indexed; any other text corrupts its counts."""
    by_digest = {entry_id: {_digest(words): words for words in possible} for entry_id, possible in rows}
    indexed = await tx.all(_INDEXED_KEYS, {"ids": list(by_digest)})
    keyed = {key: by_digest[id_][digest] for id_, key, digest in indexed if digest in by_digest[id_]}
    await tx.run_many(_DELETE_TEXT, _rows_by_key(keyed))
    await tx.run_many(_DELETE_KEY, [{"key": key} for key in keyed])


def _rows_by_key(keyed: Mapping[int, SearchWords]) -> list[dict[str, int | str]]:
    # FTS5 starts a new segment for every rowid that is not larger than the one before.
    return [
        {"key": key, "title": words.title, "text": words.text, "author": words.author}
        for key, words in sorted(keyed.items(), key=_first)
    ]


@dataclass(slots=True)
class SqlitePlan:
    index: Words
    text: Words
    """Terms that are too expensive for FTS5: prefixes with too many index pages."""
    gathered: float = 0.0
    """Index pages of the prefixes in `index`."""
    weight: "_Costs | None" = None


@record
class _Costs:
    scan: float
    """µs to scan all matches."""
    lookup: float
    """µs to look up one entry."""
    seconds: int
    """Between the first key and the last."""


async def plan(tx: Tx, words: Words) -> SqlitePlan:
    prefixes = [part for part in dict.fromkeys(words.parts) if part.prefix]
    if not prefixes:
        return SqlitePlan(words, NO_WORDS)
    pages, _ = await _pages(tx, [(part.tokens[-1], f"{part.tokens[-1]}\U0010ffff") for part in prefixes])
    gathered, broad = 0.0, set[Part]()
    for number, part in sorted(zip(pages, prefixes, strict=True), key=_first):
        if gathered + number > BROAD:
            broad.add(part)
        else:
            gathered += number
    return SqlitePlan(*words.split(broad), gathered)


async def matches(tx: Tx, plan: SqlitePlan, span: IdRange, limit: int) -> list[Hit]:
    params = {"match": expression(plan.index), **_key_range(span), "limit": limit}
    rows = await tx.all(_MATCHES[span.order], params)
    return [Hit(Cursor(key * SECOND, 0), entry_id) for key, entry_id in rows]


async def check(tx: Tx, plan: SqlitePlan, ids: Sequence[int], max_cost: float) -> Checked | None:
    """Which of these entries match; None if that is too expensive."""
    words = plan.index
    keys = dict(await tx.all(_KEYS_OF, {"ids": list(ids)}))
    if not keys:
        return Checked(set() if words.groups else set(ids), 0)
    first, last = min(keys), max(keys)
    await estimate_cost(tx, plan)
    assert plan.weight
    costs = plan.weight
    scan_cost = fixed_cost(plan) + costs.scan * (last - first + 1) / (costs.seconds + 1)
    lookup_cost = costs.lookup * len(keys)
    scans = plan.gathered > 0 or scan_cost < lookup_cost
    if (scan_cost if scans else lookup_cost) > max_cost:
        return None
    params = {"match": expression(words) if words.groups else _any_of(words.excluded), "keys": list(keys)}
    rows = await tx.all(_SCAN if scans else _LOOKUP, {**params, "first": first, "last": last})
    matching = {keys[key] for key in rows}
    cost = KEY_COST * len(ids) + (scan_cost if scans else lookup_cost)
    return Checked(matching if words.groups else set(ids) - matching, cost)


def fixed_cost(plan: SqlitePlan) -> float:
    """FTS5 returns matches one by one in order; only those of a prefix are collected first."""
    return plan.gathered * PREFIX_COST


def typical_cost(plan: SqlitePlan) -> float:
    """A prefix that is cheap enough to collect occurs in at most one of ten entries."""
    return 10 * CHECK_COST if plan.gathered else CHECK_COST


async def estimate_cost(tx: Tx, plan: SqlitePlan) -> float:
    if plan.weight is None:
        parts = plan.index.parts
        tokens = [token for part in parts for token in part.tokens]
        pages, segments = await _pages(tx, [(token, f"{token}\x01") for token in tokens])
        page_cost = PHRASE_COST if any(len(part.tokens) > 1 for part in parts) else PAGE_COST
        lookup_cost = LOOKUP_COST * segments * len(tokens)
        plan.weight = _Costs(sum(pages) * page_cost, lookup_cost, await tx.one(_RANGE) or 0)
    return KEY_COST + (0.0 if plan.gathered else plan.weight.lookup)


async def _pages(tx: Tx, spans: Sequence[tuple[str, str]]) -> tuple[list[float], int]:
    """The index pages of each span of words, and the number of segments."""
    rows = await tx.all(_PAGES, {"spans": [(f"0{first}", f"0{last}") for first, last in spans]})
    pages = {row[0]: row[2] for row in rows}
    return [pages.get(number, 0.0) for number in range(len(spans))], max((row[1] for row in rows), default=0)


async def index_needs_rebuild(tx: Tx) -> bool:
    """More keys have no entry than have one."""
    keys, with_entry = await tx.get(_KEYS)
    return keys - with_entry > max(with_entry, DEAD_ROWS_LIMIT)


async def clear(tx: Tx) -> None:
    """Rename the old index and create an empty one; emptying the old one in place would take seconds.

    If a renamed index exists already, another process has just done this.
    """
    if await tx.one(_RENAMED_EXISTS) is not None:
        return
    definitions = await tx.all(_DEFINITIONS)
    for statement in (*_RENAME, *(Command(text(definition)) for definition in definitions), _COPY_CONFIG):
        await tx.run(statement)


async def delete_old_index_batch(tx: Tx) -> bool:
    """Delete a batch of the renamed index; returns whether there is more."""
    if await tx.one(_RENAMED_EXISTS) is None:
        return False
    for statement in _EMPTY_SOME:
        if await tx.run(statement, {"limit": DELETE_BATCH_SIZE}):
            return True
    for statement in _DROP:
        await tx.run(statement)
    return False


async def merge_index_batch(tx: Tx) -> bool:
    """Merge a few segments; returns whether there are more."""
    before = await tx.get(_CHANGES)
    await tx.run(_MERGE, {"pages": MERGE_PAGES})
    return await tx.get(_CHANGES) - before > 1


def expression(words: Words) -> str:
    """An FTS5 query. Tokens are letters and digits, so quoting them is safe."""
    required = " AND ".join(map(_any_of, words.groups))
    return f"({required}) NOT {_any_of(words.excluded)}" if words.excluded else required


def _any_of(parts: Sequence[Part]) -> str:
    return f"({' OR '.join(map(_term, parts))})"


def _term(part: Part) -> str:
    column = f"{part.column} : " if part.column else ""
    return f'{column}"{" ".join(part.tokens)}"{" *" if part.prefix else ""}'


async def _claim_keys(tx: Tx, digests: Mapping[int, int]) -> dict[int, int]:
    """Claim a free key per entry. If a second is taken, try others in an ever wider range after it."""
    seconds = {id_: _second(at) for id_, at in await tx.all(_SORT_TIMES, {"ids": list(digests)})}
    keys: dict[int, int] = {}
    pending, width = list(seconds), 1
    while pending and width <= 2**40:
        # Reading afterwards which claims succeeded is several times cheaper than RETURNING for each row.
        await tx.run_many(
            _CLAIM,
            [{"key": seconds[id_] + _key_offset(id_, width), "id": id_, "digest": digests[id_]} for id_ in pending],
        )
        keys |= dict(await tx.all(_CLAIMED, {"ids": pending}))
        pending, width = [id_ for id_ in pending if id_ not in keys], width * 4
    return keys


def _key_offset(entry_id: int, width: int) -> int:
    return entry_id * 2_654_435_761 // 128 % width


def _key_range(span: IdRange) -> dict[str, int]:
    """The exclusive range of keys between two times, or beyond the key of the last match."""
    above = LOWEST if span.after is None else _second(span.after) - 1
    below = HIGHEST if span.before is None else _second(span.before) + _MAX_OFFSET
    if span.beyond is None:
        return {"above": above, "below": below}
    last = _second(span.beyond.sort_at)
    if span.order == "newest":
        return {"above": above, "below": min(below, last)}
    return {"above": max(above, last), "below": below}


def _digest(words: SearchWords) -> int:
    """A digest of the indexed text, to recognise it when it must be removed from the index."""
    indexed = f"{words.title}\0{words.text}\0{words.author}".encode("utf-8", "surrogatepass")
    return int.from_bytes(sha256(indexed).digest()[:8]) >> 1


def _second(time: Instant) -> int:
    return time // SECOND


def _first(pair: tuple[Number, Any]) -> Number:
    return pair[0]
