"""A user's highlights in entries, and the notes on them."""

from sqlalchemy import ClauseElement, ColumnElement, Text, bindparam, delete, or_, update

from reedbed.domain.highlights import FIRST_COLOR, Color, Highlight, HighlightFilter, Passage
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    HIGHEST,
    Command,
    Param,
    Query,
    QueryFamily,
    containing,
    func,
    insert,
    select,
)
from reedbed.store.tables import highlights

_COLUMNS = (
    highlights.c.id,
    highlights.c.entry_id,
    highlights.c.entry_title,
    highlights.c.entry_url,
    highlights.c.quote,
    highlights.c.prefix,
    highlights.c.suffix,
    highlights.c.note,
    highlights.c.created_at,
    highlights.c.updated_at,
    highlights.c.color,
    highlights.c.reviewed_at,
)
_is_own = highlights.c.user_id == bindparam("owner")


def _highlight(
    id_: int,
    entry_id: int | None,
    title: str,
    url: str | None,
    quote: str,
    prefix: str,
    suffix: str,
    note: str,
    created_at: int,
    updated_at: int,
    color: Color,
    reviewed_at: int | None,
) -> Highlight:
    passage = Passage(quote, prefix, suffix)
    return Highlight(id_, entry_id, title, url, passage, note, created_at, updated_at, color, reviewed_at)


_ADD = Query(
    insert(highlights).returning(*_COLUMNS),
    columns=[
        "user_id",
        "entry_id",
        "entry_title",
        "entry_url",
        "quote",
        "prefix",
        "suffix",
        "note",
        "created_at",
        "updated_at",
        "color",
    ],
    into=_highlight,
)
_GET = Query(select(*_COLUMNS).where(_is_own, highlights.c.id == bindparam("highlight")), into=_highlight)
_SET = Query(
    update(highlights)
    .where(_is_own, highlights.c.id == bindparam("highlight"))
    .values(note=bindparam("new_note"), color=bindparam("new_color"), updated_at=bindparam("now"))
    .returning(*_COLUMNS),
    into=_highlight,
)
_DELETE = Command(delete(highlights).where(_is_own, highlights.c.id == bindparam("highlight")))


_REVIEWED = Query(
    update(highlights)
    .where(_is_own, highlights.c.id == bindparam("highlight"))
    .values(reviewed_at=bindparam("now"))
    .returning(*_COLUMNS),
    into=_highlight,
)
_seen_at = func.coalesce(highlights.c.reviewed_at, highlights.c.created_at)
_DUE = Query(
    select(*_COLUMNS)
    .where(_is_own, _seen_at < bindparam("seen_before"))
    .order_by(_seen_at, highlights.c.id)
    .limit(bindparam("limit")),
    into=_highlight,
)
_COUNT_DUE = Query(
    select(func.count()).select_from(highlights).where(_is_own, _seen_at < bindparam("seen_before")), into=int
)


def _conditions(of_entry: bool, of_color: bool, with_text: bool) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [_is_own]
    if of_entry:
        conditions.append(highlights.c.entry_id == bindparam("entry_id"))
    if of_color:
        conditions.append(highlights.c.color == bindparam("of_color"))
    if with_text:
        searched = (highlights.c.quote, highlights.c.note, highlights.c.entry_title)
        pattern = bindparam("pattern", type_=Text)
        conditions.append(or_(*(func.lower(column).like(pattern, escape="\\") for column in searched)))
    return conditions


def _select_newest(of_entry: bool, of_color: bool, with_text: bool) -> ClauseElement:
    return (
        select(*_COLUMNS)
        .where(*_conditions(of_entry, of_color, with_text), highlights.c.id < bindparam("before"))
        .order_by(highlights.c.id.desc())
        .limit(bindparam("limit"))
    )


def _select_count(of_entry: bool, of_color: bool, with_text: bool) -> ClauseElement:
    return select(func.count()).select_from(highlights).where(*_conditions(of_entry, of_color, with_text))


_NEWEST = QueryFamily(_select_newest, into=_highlight)
_COUNT = QueryFamily(_select_count, into=int)
EVERY = HighlightFilter()


async def add(
    tx: Tx,
    user_id: int,
    entry: tuple[int, str, str | None],
    passage: Passage,
    now: Instant,
    *,
    note: str = "",
    color: Color = FIRST_COLOR,
) -> Highlight:
    """`entry` is its id, title and URL."""
    entry_id, title, url = entry
    return await tx.get(
        _ADD,
        {
            "user_id": user_id,
            "entry_id": entry_id,
            "entry_title": title,
            "entry_url": url,
            "quote": passage.quote,
            "prefix": passage.prefix,
            "suffix": passage.suffix,
            "note": note,
            "created_at": now,
            "updated_at": now,
            "color": color,
        },
    )


async def count(tx: Tx, user_id: int, chosen: HighlightFilter = EVERY) -> int:
    return await tx.get(_COUNT(*_variant(chosen)), {"owner": user_id, **_params(chosen)})


async def get(tx: Tx, user_id: int, highlight_id: int) -> Highlight | None:
    return await tx.one(_GET, {"owner": user_id, "highlight": highlight_id})


async def set_note_and_color(
    tx: Tx, user_id: int, highlight_id: int, note: str, color: Color, now: Instant
) -> Highlight | None:
    params = {"owner": user_id, "highlight": highlight_id, "new_note": note, "new_color": color, "now": now}
    return await tx.one(_SET, params)


async def set_reviewed(tx: Tx, user_id: int, highlight_id: int, now: Instant) -> Highlight | None:
    return await tx.one(_REVIEWED, {"owner": user_id, "highlight": highlight_id, "now": now})


async def due(tx: Tx, user_id: int, seen_before: Instant, limit: int) -> list[Highlight]:
    """Those that were made or reviewed longest ago, before this time."""
    return await tx.all(_DUE, {"owner": user_id, "seen_before": seen_before, "limit": limit})


async def count_due(tx: Tx, user_id: int, seen_before: Instant) -> int:
    return await tx.get(_COUNT_DUE, {"owner": user_id, "seen_before": seen_before})


async def remove(tx: Tx, user_id: int, highlight_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "highlight": highlight_id}) == 1


async def newest(
    tx: Tx, user_id: int, *, before: int | None = None, limit: int, chosen: HighlightFilter = EVERY
) -> list[Highlight]:
    """Return highlights with ids below `before`."""
    params = {"owner": user_id, "before": HIGHEST if before is None else before, "limit": limit, **_params(chosen)}
    return await tx.all(_NEWEST(*_variant(chosen)), params)


def _variant(chosen: HighlightFilter) -> tuple[bool, bool, bool]:
    return chosen.entry_id is not None, chosen.color is not None, bool(chosen.text)


def _params(chosen: HighlightFilter) -> dict[str, Param]:
    return {"entry_id": chosen.entry_id, "of_color": chosen.color, "pattern": containing(chosen.text)}
