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
from hashlib import blake2b

from sqlalchemy import text

from reedbed.domain.paging import Cursor, Order
from reedbed.domain.search_words import SearchWords
from reedbed.domain.times import SECOND, Instant
from reedbed.store.database import Tx
from reedbed.store.search.parts import Part, Words
from reedbed.store.search.places import Hit, Span
from reedbed.store.statements import Statement

MERGE_PAGES = 16
"""A few milliseconds of the one writer, and where words are common no more than 25."""
FEW_DEAD = 20_000
_DRIFT = 3_600
"""Seconds by which a key may lie after its entry, where many share a moment."""
_LOWEST, _HIGHEST = -(2**62), 2**62

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
_OF_IDS = "search_keys WHERE entry_id IN (SELECT value FROM json_each(:ids))"
# One walk over the matches between the first and the last of these entries, 0.3 µs each. Asking FTS5 for each
# entry by its rowid costs up to milliseconds each; the + keeps SQLite from doing so.
_CHECK = Statement(
    text(
        "SELECT search_keys.entry_id FROM search_words"  # noqa: S608  the pieces are above
        " CROSS JOIN search_keys ON search_keys.key = search_words.rowid"
        " WHERE search_words MATCH :match"
        f" AND search_words.rowid >= (SELECT min(key) FROM {_OF_IDS})"
        f" AND search_words.rowid <= (SELECT max(key) FROM {_OF_IDS})"
        f" AND +search_words.rowid IN (SELECT key FROM {_OF_IDS})"
    )
)
_MERGE = Statement(text("INSERT INTO search_words (search_words, rank) VALUES ('merge', :pages)"))
_KEYS = Statement(text("SELECT count(*), count(entry_id) FROM search_keys"))
_DELETE_ALL = Statement(text("INSERT INTO search_words (search_words) VALUES ('delete-all')"))
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
_DELETE_KEYS = Statement(text("DELETE FROM search_keys"))
_CHANGES = Statement(text("SELECT total_changes()"))


async def index(tx: Tx, rows: Sequence[tuple[int, SearchWords]]) -> None:
    await tx.run(_ABANDON, {"ids": [entry_id for entry_id, _ in rows]})
    keys = await _claim_keys(tx, {entry_id: _digest(words) for entry_id, words in rows})
    keyed = {keys[entry_id]: words for entry_id, words in rows if entry_id in keys}
    await tx.run_each(_INSERT, _in_order(keyed))


async def forget(tx: Tx, rows: Sequence[tuple[int, Sequence[SearchWords]]]) -> None:
    """FTS5 has to be told the very words it was given; with others it would lose count."""
    said = {entry_id: {_digest(words): words for words in possible} for entry_id, possible in rows}
    written = await tx.all(_WRITTEN, {"ids": list(said)})
    keyed = {key: said[id_][digest] for id_, key, digest in written if digest in said[id_]}
    await tx.run_each(_FORGET, _in_order(keyed))
    await tx.run_each(_FORGET_KEY, [{"key": key} for key in keyed])


def _in_order(keyed: Mapping[int, SearchWords]) -> list[dict[str, int | str]]:
    # A rowid that is not larger than the one before would make FTS5 write a segment of its own.
    return [
        {"key": key, "title": words.title, "text": words.text, "author": words.author}
        for key, words in sorted(keyed.items(), key=_first)
    ]


async def matches(tx: Tx, words: Words, span: Span, most: int) -> list[Hit]:
    rows = await tx.all(_MATCHES[span.order], {"match": expression(words), **_keys(span), "most": most})
    return [Hit(Cursor(key, 0), entry_id) for key, entry_id in rows]


async def check(tx: Tx, words: Words, ids: Sequence[int]) -> set[int]:
    """Which of these entries match."""
    asked = expression(words) if words.groups else _any_of(words.excluded)
    matching = {row[0] for row in await tx.all(_CHECK, {"match": asked, "ids": list(ids)})}
    return matching if words.groups else set(ids) - matching


async def is_common(tx: Tx, words: Words) -> bool:
    """Matches come in order and one by one here, so no word is too common."""
    return False


async def is_worn(tx: Tx) -> bool:
    """More of the index leads nowhere than to an entry."""
    row = await tx.one(_KEYS)
    assert row is not None
    keys, alive = row
    return keys - alive > max(alive, FEW_DEAD)


async def clear(tx: Tx) -> None:
    await tx.run(_DELETE_ALL)
    await tx.run(_DELETE_KEYS)


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
        await tx.run_each(
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


def _keys(span: Span) -> dict[str, int]:
    """The open range of keys between two moments, or beyond the key of the last match."""
    above = _LOWEST if span.after is None else _second(span.after) - 1
    below = _HIGHEST if span.before is None else _second(span.before) + _DRIFT
    if span.beyond is None:
        return {"above": above, "below": below}
    if span.order == "newest":
        return {"above": above, "below": min(below, span.beyond.sort_at)}
    return {"above": max(above, span.beyond.sort_at), "below": below}


def _digest(words: SearchWords) -> int:
    """Of what was indexed, to know it again when it is to be taken out."""
    said = f"{words.title}\0{words.text}\0{words.author}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(said, digest_size=8).digest()) >> 1


def _second(moment: Instant) -> int:
    return moment // SECOND


def _first(pair: tuple[int, SearchWords]) -> int:
    return pair[0]
