"""Search on SQLite: an FTS5 index without content, whose rowids run in the order of lists.

A match is read in the order of rowids, one by one, so the newest matches of the commonest word cost as little
as those of a rare one, if rowids grow with `sort_at`. `search_keys` gives each entry such a key: the second
of its `sort_at`, or a free one soon after. The index keeps no copy of the texts, which would be as large
again; so it forgets an entry only when told its very words, which `digest` makes sure of. What changes leaves
a key that leads nowhere, until `services.search_upkeep` builds the index anew.

Measured on 12,000 texts of 2.7 KB, 240 to a transaction, ms and bytes per entry (busy machine, ratios count):

    rowid = entry id, detail=full, automerge 4      0.19   2,240
    the same, unicode61 instead of ascii            0.19   2,240   the text is folded, ascii splits at blanks
    the same, detail=column                         0.16   1,130   no phrases, not even of three signs
    rowid = second of sort_at, automerge 4          0.32   2,880   merging what overlaps is dear
    the same, automerge 16                          0.25   3,140
    the same, no automerge, hashsize 8 MB           0.14   3,160   chosen: merging is left to quiet minutes
    the same, prefix=3                              0.40   4,900   prefixes are found without it, too
    rowid = millisecond and id                      0.35   4,450
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from sqlalchemy import text

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.search import SearchWords
from reedbed.domain.times import SECOND, Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import HIGHEST, LOWEST, Statement
from reedbed.store.search.filters import NO_WORDS, Part, Words
from reedbed.store.search.planner import Checked, Hit, IdRange

Number = TypeVar("Number", int, float)

MERGE_PAGES = 16
"""A few milliseconds of the one writer, and where words are common no more than 25."""
EMPTIED_AT_ONCE = 1_000
"""Rows: a few milliseconds."""
FEW_DEAD = 20_000
BUDGET = 10_000.0
FIRST_HITS: int = 50
CHECK_COST = 25.0
BROAD = 120
"""Pages of prefixes, all of which FTS5 reads and sorts before it tells the first match."""
PREFIX_COST = 60.0
PAGE_COST = 35.0
PHRASE_COST = 80.0
LOOK_UP_COST = 14.0
KEY_COST = 2.0
"""µs for a page whose words are gathered, for one that is walked, for one walked with an eye on the order of
words, for a word looked up in one segment for one entry, and for the key of an entry."""
_DRIFT = 3_600
"""Seconds by which a key may lie after its entry, where many share a moment."""

_ABANDON = Statement(
    text("UPDATE search_keys SET entry_id = NULL WHERE entry_id IN (SELECT value FROM json_each(:ids))")
)
_MOMENTS = Statement(text("SELECT id, sort_at FROM entries WHERE id IN (SELECT value FROM json_each(:ids))"))
_CLAIM = Statement(
    text(
        "INSERT INTO search_keys (key, entry_id, digest) VALUES (:key, :id, :digest)"
        " ON CONFLICT (key) DO NOTHING"
    )
)
_CLAIMED = Statement(
    text("SELECT entry_id, key FROM search_keys WHERE entry_id IN (SELECT value FROM json_each(:ids))")
)
_INSERT = Statement(
    text("INSERT INTO search_words (rowid, title, text, author) VALUES (:key, :title, :text, :author)")
)
_MATCHES: dict[Order, Statement] = {
    "newest": Statement(
        text(
            "SELECT hit.key, search_keys.entry_id FROM ("
            " SELECT rowid AS key FROM search_words"
            " WHERE search_words MATCH :match AND rowid > :above AND rowid < :below"
            " ORDER BY rowid DESC LIMIT :most"
            ") AS hit CROSS JOIN search_keys ON search_keys.key = hit.key"
        )
    ),
    "oldest": Statement(
        text(
            "SELECT hit.key, search_keys.entry_id FROM ("
            " SELECT rowid AS key FROM search_words"
            " WHERE search_words MATCH :match AND rowid > :above AND rowid < :below"
            " ORDER BY rowid LIMIT :most"
            ") AS hit CROSS JOIN search_keys ON search_keys.key = hit.key"
        )
    ),
}
# One walk over the matches between the first and the last of these entries, 0.1 µs each; the + keeps SQLite
# from asking for one key after the other, which begins anew with each, in every segment of the index.
_WALK = Statement(
    text(
        "SELECT rowid FROM search_words WHERE search_words MATCH :match"
        " AND rowid >= :first AND rowid <= :last"
        " AND +rowid IN (SELECT value FROM json_each(:keys))"
    )
)
_LOOK_UP = Statement(
    text(
        "SELECT search_words.rowid FROM json_each(:keys) AS wanted"
        " CROSS JOIN search_words ON search_words.rowid = wanted.value"
        " WHERE search_words MATCH :match"
    )
)
_KEYS_OF = Statement(
    text("SELECT key, entry_id FROM search_keys WHERE entry_id IN (SELECT value FROM json_each(:ids))")
)
_RANGE = Statement(text("SELECT (SELECT max(key) FROM search_keys) - (SELECT min(key) FROM search_keys)"))
# How many pages of the index hold what lies between two words, by the first word of each page, which is what
# FTS5 itself looks up first. A page holds a few hundred matches.
_PAGES = Statement(
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
    )
)
_MERGE = Statement(text("INSERT INTO search_words (search_words, rank) VALUES ('merge', :pages)"))
_KEYS = Statement(text("SELECT count(*), count(entry_id) FROM search_keys"))
_FORGET = Statement(
    text(
        "INSERT INTO search_words (search_words, rowid, title, text, author)"
        " VALUES ('delete', :key, :title, :text, :author)"
    )
)
_FORGET_KEY = Statement(text("DELETE FROM search_keys WHERE key = :key"))
_WRITTEN = Statement(
    text(
        "SELECT entry_id, key, digest FROM search_keys WHERE entry_id IN (SELECT value FROM json_each(:ids))"
    )
)
_DEFINED = Statement(text("SELECT sql FROM sqlite_master WHERE name IN ('search_words', 'search_keys')"))
_PUT_ASIDE = (
    Statement(text("ALTER TABLE search_words RENAME TO search_words_worn")),
    Statement(text("ALTER TABLE search_keys RENAME TO search_keys_worn")),
)
_SET = Statement(
    text(
        "INSERT INTO search_words (search_words, rank)"
        " SELECT k, v FROM search_words_worn_config WHERE k <> 'version'"
    )
)
_IS_ASIDE = Statement(text("SELECT 1 FROM sqlite_master WHERE name = 'search_words_worn'"))
_EMPTY_SOME = (
    Statement(
        text(
            # The first rows say what the index is made of; without them it could not even be dropped.
            "DELETE FROM search_words_worn_data WHERE id IN"
            " (SELECT id FROM search_words_worn_data WHERE id > 10 LIMIT :most)"
        )
    ),
    Statement(
        text(
            "DELETE FROM search_words_worn_idx WHERE (segid, term) IN"
            " (SELECT segid, term FROM search_words_worn_idx LIMIT :most)"
        )
    ),
    Statement(
        text("DELETE FROM search_keys_worn WHERE key IN (SELECT key FROM search_keys_worn LIMIT :most)")
    ),
)
_DROP = (Statement(text("DROP TABLE search_words_worn")), Statement(text("DROP TABLE search_keys_worn")))
_CHANGES = Statement(text("SELECT total_changes()"))


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run(_ABANDON, {"ids": [entry_id for entry_id, _ in rows]})
    keys = await _claim_keys(tx, {entry_id: _digest(words) for entry_id, words in rows})
    keyed = {keys[entry_id]: words for entry_id, words in rows if entry_id in keys}
    await tx.run_many(_INSERT, _in_order(keyed))


async def index_missing(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    known = {row[0] for row in await tx.all(_CLAIMED, {"ids": [entry_id for entry_id, _ in rows]})}
    await index(tx, [one for one in rows if one[0] not in known])


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """FTS5 has to be told the very words it was given; with others it would lose count."""
    said = {entry_id: {_digest(words): words for words in possible} for entry_id, possible in rows}
    written = await tx.all(_WRITTEN, {"ids": list(said)})
    keyed = {key: said[id_][digest] for id_, key, digest in written if digest in said[id_]}
    await tx.run_many(_FORGET, _in_order(keyed))
    await tx.run_many(_FORGET_KEY, [{"key": key} for key in keyed])


def _in_order(keyed: Mapping[int, SearchWords]) -> list[dict[str, int | str]]:
    # A rowid that is not larger than the one before would make FTS5 write a segment of its own.
    return [
        {"key": key, "title": words.title, "text": words.text, "author": words.author}
        for key, words in sorted(keyed.items(), key=_first)
    ]


@dataclass(slots=True)
class SqlitePlan:
    index: Words
    text: Words
    """What FTS5 could only say by gathering too much: prefixes that begin a large part of all text."""
    gathered: float = 0.0
    """Pages of what begins with a prefix."""
    weight: "_Weight | None" = None


@record
class _Weight:
    walking: float
    """µs for all matches there are."""
    looking_up: float
    """µs for one entry."""
    seconds: int
    """From the first key to the last."""


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


async def matches(tx: Tx, plan: SqlitePlan, span: IdRange, most: int) -> list[Hit]:
    given = {"match": expression(plan.index), **_keys(span), "most": most}
    rows = await tx.all(_MATCHES[span.order], given)
    return [Hit(Cursor(key * SECOND, 0), entry_id) for key, entry_id in rows]


async def check(tx: Tx, plan: SqlitePlan, ids: Sequence[int], most: float) -> Checked | None:
    """Which of these entries match; None if that is too dear."""
    words = plan.index
    keys = {row[0]: row[1] for row in await tx.all(_KEYS_OF, {"ids": list(ids)})}
    if not keys:
        return Checked(set() if words.groups else set(ids), 0)
    first, last = min(keys), max(keys)
    await weigh(tx, plan)
    assert plan.weight
    weight = plan.weight
    walking = fixed_cost(plan) + weight.walking * (last - first + 1) / (weight.seconds + 1)
    looking_up = weight.looking_up * len(keys)
    walks = plan.gathered > 0 or walking < looking_up
    if (walking if walks else looking_up) > most:
        return None
    given = {"match": expression(words) if words.groups else _any_of(words.excluded), "keys": list(keys)}
    rows = await tx.all(_WALK if walks else _LOOK_UP, {**given, "first": first, "last": last})
    found = {keys[row[0]] for row in rows}
    cost = KEY_COST * len(ids) + (walking if walks else looking_up)
    return Checked(found if words.groups else set(ids) - found, cost)


def fixed_cost(plan: SqlitePlan) -> float:
    """Matches come in order and one by one here; only those of a prefix are gathered first."""
    return plan.gathered * PREFIX_COST


def usual(plan: SqlitePlan) -> float:
    """A prefix that can be gathered at all is in one of ten entries at most."""
    return 10 * CHECK_COST if plan.gathered else CHECK_COST


async def weigh(tx: Tx, plan: SqlitePlan) -> float:
    if plan.weight is None:
        parts = plan.index.parts
        tokens = [token for part in parts for token in part.tokens]
        pages, segments = await _pages(tx, [(token, f"{token}\x01") for token in tokens])
        page_cost = PHRASE_COST if any(len(part.tokens) > 1 for part in parts) else PAGE_COST
        looking_up = LOOK_UP_COST * segments * len(tokens)
        plan.weight = _Weight(sum(pages) * page_cost, looking_up, await tx.value(_RANGE) or 0)
    return KEY_COST + (0.0 if plan.gathered else plan.weight.looking_up)


async def _pages(tx: Tx, spans: Sequence[tuple[str, str]]) -> tuple[list[float], int]:
    """For each span of words the pages it has in the index, and the segments they are in."""
    rows = await tx.all(_PAGES, {"spans": [(f"0{first}", f"0{last}") for first, last in spans]})
    known = {row[0]: row[2] for row in rows}
    return [known.get(number, 0.0) for number in range(len(spans))], max((row[1] for row in rows), default=0)


async def is_worn(tx: Tx) -> bool:
    """More of the index leads nowhere than to an entry."""
    row = await tx.one(_KEYS)
    assert row is not None
    keys, alive = row
    return keys - alive > max(alive, FEW_DEAD)


async def clear(tx: Tx) -> None:
    """Begin with an empty index at once; emptying the old one would take seconds, so it is put aside.

    Where one is aside already, somebody else has just begun anew.
    """
    if await tx.value(_IS_ASIDE) is not None:
        return
    definitions = [row[0] for row in await tx.all(_DEFINED)]
    for statement in (*_PUT_ASIDE, *(Statement(text(definition)) for definition in definitions), _SET):
        await tx.run(statement)


async def empty_some(tx: Tx) -> bool:
    """Take some of an index away that was put aside; whether there is more."""
    if await tx.value(_IS_ASIDE) is None:
        return False
    for statement in _EMPTY_SOME:
        if await tx.run(statement, {"most": EMPTIED_AT_ONCE}):
            return True
    for statement in _DROP:
        await tx.run(statement)
    return False


async def merge_some(tx: Tx) -> bool:
    """Join segments for a moment; whether there is more to join."""
    before = await tx.value(_CHANGES)
    await tx.run(_MERGE, {"pages": MERGE_PAGES})
    return await tx.value(_CHANGES) - before > 1


def expression(words: Words) -> str:
    """FTS5's language. Tokens are letters and digits, so between quotes nothing can be misread."""
    wanted = " AND ".join(map(_any_of, words.groups))
    return f"({wanted}) NOT {_any_of(words.excluded)}" if words.excluded else wanted


def _any_of(parts: Sequence[Part]) -> str:
    return f"({' OR '.join(map(_term, parts))})"


def _term(part: Part) -> str:
    column = f"{part.column} : " if part.column else ""
    return f'{column}"{" ".join(part.tokens)}"{" *" if part.prefix else ""}'


async def _claim_keys(tx: Tx, digests: Mapping[int, int]) -> dict[int, int]:
    """A free key each. Where a moment is crowded, entries spread over ever more of the seconds after it."""
    seconds = {id_: _second(at) for id_, at in await tx.all(_MOMENTS, {"ids": list(digests)})}
    keys: dict[int, int] = {}
    waiting, width = list(seconds), 1
    while waiting and width <= 2**40:
        # Asking afterwards who was lucky is several times cheaper than RETURNING for each row.
        await tx.run_many(
            _CLAIM,
            [
                {"key": seconds[id_] + _drift(id_, width), "id": id_, "digest": digests[id_]}
                for id_ in waiting
            ],
        )
        keys |= {row[0]: row[1] for row in await tx.all(_CLAIMED, {"ids": waiting})}
        waiting, width = [id_ for id_ in waiting if id_ not in keys], width * 4
    return keys


def _drift(entry_id: int, width: int) -> int:
    return entry_id * 2_654_435_761 // 128 % width


def _keys(span: IdRange) -> dict[str, int]:
    """The open range of keys between two moments, or beyond the key of the last match."""
    above = LOWEST if span.after is None else _second(span.after) - 1
    below = HIGHEST if span.before is None else _second(span.before) + _DRIFT
    if span.beyond is None:
        return {"above": above, "below": below}
    here = _second(span.beyond.sort_at)
    if span.order == "newest":
        return {"above": above, "below": min(below, here)}
    return {"above": max(above, here), "below": below}


def _digest(words: SearchWords) -> int:
    """Of what was indexed, to know it again when it is to be taken out."""
    said = f"{words.title}\0{words.text}\0{words.author}".encode("utf-8", "surrogatepass")
    return int.from_bytes(sha256(said).digest()[:8]) >> 1


def _second(moment: Instant) -> int:
    return moment // SECOND


def _first(pair: tuple[Number, Any]) -> Number:
    return pair[0]
