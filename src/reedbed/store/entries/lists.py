"""The lists of 6.1: every view, both orders, one SELECT a page, keyset on (sort_at, id), no body.

Each page first finds its entries in a narrow table, at most `limit` of them, then joins what the list shows.
There are three ways to find them, chosen by what the counts say:

- `one`: the rows of one feed, by the index that has the feed first;
- `few`: the first rows of each of a few feeds, merged. A small folder in a big pile, or a handful of unread
  entries among rows that are dead but not yet swept, is found without walking the pile;
- `many`: a walk along (sort_at, id) with the feeds as filter; `all`: without one.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    FromClause,
    Select,
    and_,
    bindparam,
    literal_column,
)

from reedbed.domain.entries import EntryPage, ViewQuery
from reedbed.domain.pagination import DEFAULT_LIMIT, MAX_LIMIT, Cursor, Order
from reedbed.domain.records import record
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import (
    Shapes,
    among,
    beyond,
    entry_id_of,
    in_direction,
    in_order,
    select,
    unindexed,
    up_to,
)
from reedbed.store.entries.columns import (
    LISTED,
    entry_row,
    followed,
    has_mark,
    has_tag,
    is_unread,
    tag_id,
    tags_of,
    visible,
    with_states,
)
from reedbed.store.tables import (
    entries,
    entry_tags,
    later,
    muted,
    read_history,
    starred,
    subscriptions,
    unread,
)
from reedbed.store.visibility import VisibleScope, above_mark, alive, resolve, shows

FEW = 100
"""Merging costs some 20 to 50 µs a feed, so it is kept for so many at most."""

HANDFUL = 500
"""So few unread entries may lie far apart under rows that are dead, so they are fetched from their feeds."""

USUAL = DEFAULT_LIMIT + 1

_MARKS: dict[str, FromClause] = {"starred": starred, "later": later, "muted": muted}


@record
class _ListVariant:
    """What makes the SQL of two pages differ."""

    view: str
    order: Order
    found: str
    """one, few, many, or all: without a filter by feed."""
    tagged: bool
    continued: bool
    since: bool
    usual: bool
    """As many entries as usual, said in the SQL: seeing the number, PostgreSQL keeps one plan for all users.
    With a parameter it plans each page anew, which takes longer than the page."""


async def page(
    tx: Tx, user_id: int, query: ViewQuery, cursor: Cursor | None = None, limit: int = 50
) -> EntryPage | None:
    """None when the feed or folder asked for is not this user's."""
    scope = await resolve(tx, user_id, query)
    if scope is None:
        return None
    wanted = limit + 1 if scope.unread is None else min(limit + 1, scope.unread)
    if wanted == 0 or scope.feeds == ():
        return EntryPage((), None)
    shape = _ListVariant(
        view=query.view,
        order=query.order,
        found=_way(query, scope),
        tagged=query.tag is not None,
        continued=cursor is not None,
        since=query.since is not None,
        usual=wanted == USUAL,
    )
    rows = await tx.all(_PAGE(shape), _params(user_id, query, scope, cursor, wanted))
    return await _page_of(tx, user_id, rows, limit)


def _way(query: ViewQuery, scope: VisibleScope) -> str:
    feeds = scope.feeds
    if feeds is None:
        return "all"
    if len(feeds) == 1:
        return "one"
    walk = "many" if scope.narrowed else "all"
    if len(feeds) > FEW or query.tag is not None or query.view not in ("unread", "all"):
        return walk
    return "few" if _merging_is_cheaper(query, scope, len(feeds)) else walk


def _merging_is_cheaper(query: ViewQuery, scope: VisibleScope, feeds: int) -> bool:
    """A merge reads two pages' worth of each feed, a walk passes everything that lies between."""
    if scope.unread is not None and scope.unread <= HANDFUL:
        return True
    within = feeds if query.view == "all" else scope.unread or 1
    return scope.pile > 2 * feeds * within


def _params(
    user_id: int, query: ViewQuery, scope: VisibleScope, cursor: Cursor | None, wanted: int
) -> dict[str, Any]:
    feeds = list(scope.feeds or ())
    return {
        "user_id": user_id,
        "feed_ids": feeds,
        "feed_id": feeds[0] if len(feeds) == 1 else None,
        "tag": query.tag,
        "since": query.since,
        "sort_at": cursor.sort_at if cursor else None,
        "id": cursor.id if cursor else None,
        "wanted": wanted,
        "rank": wanted - 1,
    }


async def _page_of(tx: Tx, user_id: int, rows: Sequence[Row], limit: int) -> EntryPage:
    shown = rows[:limit]
    tags = await tags_of(tx, user_id, [row["id"] for row in shown])
    last = shown[-1] if len(rows) > limit else None
    following = Cursor(last["key"], last["id"]) if last else None
    return EntryPage(tuple(entry_row(row, tags) for row in shown), following)


# ---- the SQL of a page -----------------------------------------------------------------------------


def _build(shape: _ListVariant) -> ClauseElement:
    found = (_merged(shape) if shape.found == "few" else _walked(shape)).subquery("found")
    source = with_states(found.join(entries, entries.c.id == found.c.entry_id))
    return (
        select(*LISTED, found.c.key)
        .select_from(source)
        .order_by(*in_direction(shape.order, found.c.key, found.c.entry_id))
    )


_PAGE = Shapes(_build)


def _walked(shape: _ListVariant) -> Select[Any, Any]:
    table, key, entry_id = _source(shape)
    return (
        select(key.label("key"), entry_id.label("entry_id"))
        .select_from(table)
        .where(
            *_belongs(shape, table, entry_id),
            *_in_feeds(shape, table, entry_id),
            *_within(shape, key, entry_id),
        )
        .order_by(*in_direction(shape.order, key, entry_id))
        .limit(_wanted(shape))
    )


def _source(shape: _ListVariant) -> tuple[FromClause, ColumnElement[Any], ColumnElement[Any]]:
    if shape.view == "history":
        return read_history, read_history.c.read_at, read_history.c.entry_id
    if shape.tagged:
        return entry_tags, entry_tags.c.sort_at, entry_tags.c.entry_id
    if shape.view == "all":
        return entries, entries.c.sort_at, entries.c.id
    table = _MARKS.get(shape.view, unread)
    return table, table.c.sort_at, table.c.entry_id


def _belongs(
    shape: _ListVariant, table: FromClause, entry_id: ColumnElement[Any]
) -> list[ColumnElement[bool]]:
    """The row is this user's and in the view."""
    if table is entries:
        return [followed()]
    conditions = [table.c.user_id == bindparam("user_id")]
    if table is entry_tags:
        conditions.append(entry_tags.c.tag_id == tag_id("tag"))
    elif shape.tagged:
        conditions.append(has_tag("tag", entry_id))
    if shape.view == "unread":
        conditions.append(above_mark(unread) if table is unread else is_unread(entry_id))
    if shape.view in _MARKS and table is not _MARKS[shape.view]:
        conditions.append(has_mark(_MARKS[shape.view], entry_id))
    if table is read_history or shape.view == "muted":
        conditions.append(_can_be_seen(entry_id))
    return conditions


def _can_be_seen(entry_id: ColumnElement[Any]) -> ColumnElement[bool]:
    seen = select(entries.c.id).where(entries.c.id == entry_id, visible(with_muted=True))
    return seen.correlate_except(entries).exists()


def _in_feeds(
    shape: _ListVariant, table: FromClause, entry_id: ColumnElement[Any]
) -> list[ColumnElement[bool]]:
    if shape.found == "all":
        return []
    if "feed_id" in table.c:
        return [_feeds(shape, table.c.feed_id)]
    of_feed = select(entries.c.id).where(entries.c.id == entry_id, _feeds(shape, entries.c.feed_id))
    return [of_feed.correlate_except(entries).exists()]


def _feeds(shape: _ListVariant, feed_id: ColumnElement[Any]) -> ColumnElement[bool]:
    return feed_id == bindparam("feed_id") if shape.found == "one" else among(feed_id, "feed_ids")


def _within(
    shape: _ListVariant, key: ColumnElement[Any], entry_id: ColumnElement[Any]
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.continued:
        conditions.append(beyond(shape.order, (key, entry_id), (bindparam("sort_at"), bindparam("id"))))
    if shape.since:
        conditions.append(key >= bindparam("since"))
    return conditions


def _wanted(shape: _ListVariant) -> ColumnElement[int]:
    return literal_column(str(USUAL)) if shape.usual else bindparam("wanted", type_=BigInteger)


def _merged(shape: _ListVariant) -> Select[Any, Any]:
    """Of each feed the rows up to its own `wanted`-th; of all these the first `wanted`."""
    table = entries if shape.view == "all" else unread
    key, entry_id = table.c.sort_at, entry_id_of(table)
    reaches = up_to(shape.order, key, _last_of_feed(shape, table))
    joined = in_order(subscriptions, table, and_(*_of(table), reaches))
    return (
        select(key.label("key"), entry_id.label("entry_id"))
        .select_from(joined)
        .where(
            subscriptions.c.user_id == bindparam("user_id"),
            among(subscriptions.c.feed_id, "feed_ids"),
            *_within(shape, key, entry_id),
        )
        .order_by(*in_direction(shape.order, unindexed(key), entry_id))
        .limit(_wanted(shape))
    )


def _last_of_feed(shape: _ListVariant, table: FromClause) -> ColumnElement[int]:
    row = table.alias("one")
    key, entry_id = row.c.sort_at, entry_id_of(row)
    return (
        select(key)
        .where(*_of(row), *_within(shape, key, entry_id))
        .order_by(*in_direction(shape.order, key, entry_id))
        .offset(literal_column(str(USUAL - 1)) if shape.usual else bindparam("rank", type_=BigInteger))
        .limit(1)
        .correlate(subscriptions)
        .scalar_subquery()
    )


def _of(row: FromClause) -> list[ColumnElement[bool]]:
    """The row shows in the list of the subscription beside it."""
    if "entry_id" not in row.c:
        return [row.c.feed_id == subscriptions.c.feed_id, shows(subscriptions, row)]
    return [
        row.c.user_id == subscriptions.c.user_id,
        row.c.feed_id == subscriptions.c.feed_id,
        alive(row, subscriptions),
    ]


assert MAX_LIMIT + 1 < 256, "a scope of 256 unread feeds must be enough for any page"
