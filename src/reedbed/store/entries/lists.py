"""Entry lists: every view, both orders, one SELECT per page, keyset pagination on (sort_at, id), no bodies.

Each page first finds its entries in a narrow table, at most `limit` of them, then joins what the list shows.
There are four strategies to find them, chosen by the counts:

- `one`: the rows of one feed, through the index that starts with the feed;
- `few`: the first rows of each of a few feeds, merged. This finds the entries of a small folder in a large
  library, or a handful of unread entries among read rows that are not yet deleted, without a long walk;
- `many`: a walk along (sort_at, id) with the feeds as a filter;
- `all`: the same walk without a filter.

The orders `important` and `shortest` have no index: they rank the newest `RANKED` entries of the list.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, FromClause, Select, and_, bindparam, literal_column

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.pagination import DEFAULT_LIMIT, MAX_LIMIT, Cursor, ListOrder, Order
from reedbed.domain.records import record
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Param,
    QueryFamily,
    among,
    beyond,
    entry_id_of,
    func,
    in_direction,
    in_order,
    select,
    unindexed,
    up_to,
)
from reedbed.store.entries import repeats
from reedbed.store.entries.columns import (
    LISTED,
    entry_row,
    followed,
    has_flag,
    has_tag,
    is_unread,
    tag_id,
    visible,
    with_states,
    with_tags,
)
from reedbed.store.tables import (
    entries,
    entry_tags,
    later,
    muted,
    read_history,
    repeated_entries,
    starred,
    story_entries,
    subscriptions,
    unread,
)
from reedbed.store.visibility import VisibleScope, above_read_marker, alive, in_hidden_feed, resolve, shows

if TYPE_CHECKING:
    from reedbed.domain.interest.features import Candidate

SMALL_SELECTION = 100
"""Merging costs about 20 to 50 µs per feed, so it is used for at most this many feeds."""

HANDFUL = 500
"""Up to this many unread entries are read from their feeds: they may be far apart among read rows."""

DEFAULT_SIZE = DEFAULT_LIMIT + 1

RANKED = 1_000
"""How many of the newest entries are ranked by importance or length."""

_MARKS: dict[str, FromClause] = {"starred": starred, "later": later, "muted": muted}


@record
class _ListVariant:
    """The query properties that change the SQL of a page."""

    view: str
    order: Order
    strategy: str
    """One, few, many or all."""
    rank: ListOrder
    """The order of the page; `order` is the direction of its sort key."""
    tagged: bool
    continued: bool
    since: bool
    has_hidden: bool
    once: bool
    """Leave out what repeats the address of an entry in the list."""
    has_default_size: bool
    """The page has the default size, so the SQL contains the number. PostgreSQL then reuses one plan for all
    users. With a parameter it plans each page again, which takes longer than the page itself."""


async def page(
    tx: Tx, user_id: int, query: ViewQuery, cursor: Cursor | None = None, limit: int = 50
) -> EntryPage | None:
    """None if the requested feed or folder does not belong to this user."""
    scope = await resolve(tx, user_id, query)
    if scope is None:
        return None
    size = limit + 1 if scope.unread is None else min(limit + 1, scope.unread)
    if size == 0 or scope.feeds == ():
        return EntryPage((), None)
    variant = _ListVariant(
        view=query.view,
        order="oldest" if query.order in ("oldest", "shortest") else "newest",
        strategy=_strategy(query, scope),
        rank=query.order,
        tagged=query.tag is not None,
        continued=cursor is not None,
        since=query.since is not None,
        has_hidden=scope.has_hidden,
        once=_once(query, scope),
        has_default_size=size == DEFAULT_SIZE,
    )
    rows = await tx.all(_PAGE(variant), _params(user_id, query, scope, cursor, size))
    if query.view == "history":
        rows = [(replace(row, read_at=key), key) for row, key in rows]
    return await _page_of(tx, user_id, rows, limit, has_repeats=scope.has_repeats)


async def newest(tx: Tx, user_id: int, query: ViewQuery, limit: int) -> "list[Candidate] | None":
    """The newest entries of the list, with what a ranking needs of them; None as for `page`."""
    scope = await resolve(tx, user_id, query)
    if scope is None:
        return None
    if scope.feeds == ():
        return []
    variant = _ListVariant(
        view=query.view,
        order="newest",
        strategy=_strategy(replace(query, order="important"), scope),
        rank="newest",
        tagged=query.tag is not None,
        continued=False,
        since=query.since is not None,
        has_hidden=scope.has_hidden,
        once=_once(query, scope),
        has_default_size=False,
    )
    return await tx.all(_newest_family()(variant), _params(user_id, query, scope, None, limit))


def _strategy(query: ViewQuery, scope: VisibleScope) -> str:
    feeds = scope.feeds
    if feeds is None:
        return "all"
    if len(feeds) == 1:
        return "one"
    walk = "many" if scope.narrowed else "all"
    is_ranked = query.order in ("important", "shortest")
    if len(feeds) > SMALL_SELECTION or query.tag is not None or query.view not in ("unread", "all") or is_ranked:
        return walk
    return "few" if _merging_is_cheaper(query, scope, len(feeds)) else walk


def _merging_is_cheaper(query: ViewQuery, scope: VisibleScope, feeds: int) -> bool:
    """A merge reads two pages of each feed; a walk reads everything in between."""
    if scope.unread is not None and scope.unread <= HANDFUL:
        return True
    size = feeds if query.view == "all" else scope.unread or 1
    return scope.total > 2 * feeds * size


def _params(user_id: int, query: ViewQuery, scope: VisibleScope, cursor: Cursor | None, size: int) -> dict[str, Param]:
    feeds = list(scope.feeds or ())
    return {
        "user_id": user_id,
        "feed_ids": feeds,
        "feed_id": feeds[0] if len(feeds) == 1 else None,
        "tag": query.tag,
        "since": query.since,
        "sort_at": cursor.sort_at if cursor else None,
        "id": cursor.id if cursor else None,
        "wanted": RANKED if query.order in ("important", "shortest") else size,
        "page": size,
        "rank": size - 1,
    }


async def _page_of(
    tx: Tx, user_id: int, rows: Sequence[tuple[EntryRow, int]], limit: int, *, has_repeats: bool
) -> EntryPage:
    last, key = rows[limit - 1] if len(rows) > limit else (None, 0)
    next_cursor = Cursor(key, last.id) if last else None
    listed = await with_tags(tx, user_id, (row for row, _ in rows[:limit]))
    if has_repeats:
        others = await repeats.also_in(tx, user_id, [row.id for row in listed])
        listed = [replace(row, also_in=others[row.id]) if row.id in others else row for row in listed]
    return EntryPage(tuple(listed), next_cursor)


def _once(query: ViewQuery, scope: VisibleScope) -> bool:
    """A repeated entry is never unread by itself, and the list of one feed shows all that it has."""
    return scope.has_repeats and query.view == "all" and query.feed_id is None


def _row_and_key(*columns: Any) -> tuple[EntryRow, int]:
    *listed, key = columns
    return entry_row(*listed), key


# --- SQL of a page


def _build(variant: _ListVariant) -> ClauseElement:
    positions = _positions(variant).subquery("found")
    source = with_states(positions.join(entries, entries.c.id == positions.c.entry_id))
    return (
        select(*LISTED, positions.c.key)
        .select_from(source)
        .order_by(*in_direction(variant.order, positions.c.key, positions.c.entry_id))
    )


_PAGE = QueryFamily(_build, into=_row_and_key)


def _build_newest(variant: _ListVariant) -> ClauseElement:
    from reedbed.domain.interest.features import Candidate

    positions = _walked(variant).subquery("found")
    return (
        select(*(entries.c[name] for name in Candidate._fields))
        .select_from(positions.join(entries, entries.c.id == positions.c.entry_id))
        .order_by(positions.c.key.desc(), positions.c.entry_id.desc())
    )


@cache
def _newest_family() -> "QueryFamily[Candidate]":
    from reedbed.domain.interest.features import Candidate  # few lists are ranked

    return QueryFamily(_build_newest, into=Candidate)


def _positions(variant: _ListVariant) -> Select[Any]:
    if variant.rank in ("important", "shortest"):
        return _ranked(variant)
    return _merged(variant) if variant.strategy == "few" else _walked(variant)


def _ranked(variant: _ListVariant) -> Select[Any]:
    newest = _walked(replace(variant, order="newest", continued=False, has_default_size=False)).subquery("newest")
    if variant.rank == "shortest":
        ranked = select(entries.c.words.label("key"), newest.c.entry_id).join_from(
            newest, entries, entries.c.id == newest.c.entry_id
        )
    else:
        ranked = select(_outlets(newest.c.entry_id).label("key"), newest.c.entry_id)
    found = ranked.subquery("ranked")
    return (
        select(found.c.key, found.c.entry_id)
        .where(*_bounds(replace(variant, since=False), found.c.key, found.c.entry_id))
        .order_by(*in_direction(variant.order, found.c.key, found.c.entry_id))
        .limit(bindparam("page", type_=BigInteger))
    )


def _outlets(entry_id: ColumnElement[Any]) -> ColumnElement[int]:
    """How many of the user's feeds report the event of this entry."""
    story, others = story_entries.alias("story"), story_entries.alias("others")
    return (
        select(func.count(others.c.feed_id.distinct()))
        .select_from(story.join(others, others.c.story_id == story.c.story_id))
        .join(subscriptions, subscriptions.c.feed_id == others.c.feed_id)
        .where(
            story.c.entry_id == entry_id,
            subscriptions.c.user_id == bindparam("user_id"),
            subscriptions.c.unsubscribed_at.is_(None),
        )
        .correlate_except(story, others, subscriptions)
        .scalar_subquery()
    )


def _walked(variant: _ListVariant) -> Select[Any]:
    table, key, entry_id = _source(variant)
    return (
        select(key.label("key"), entry_id.label("entry_id"))
        .select_from(table)
        .where(
            *_is_in_view(variant, table, entry_id),
            *_in_feeds(variant, table, entry_id),
            *_not_repeated(variant, entry_id),
            *_bounds(variant, key, entry_id),
        )
        .order_by(*in_direction(variant.order, key, entry_id))
        .limit(_page_size(variant))
    )


def _source(variant: _ListVariant) -> tuple[FromClause, ColumnElement[Any], ColumnElement[Any]]:
    if variant.view == "history":
        return read_history, read_history.c.read_at, read_history.c.entry_id
    if variant.tagged:
        return entry_tags, entry_tags.c.sort_at, entry_tags.c.entry_id
    if variant.view == "all":
        return entries, entries.c.sort_at, entries.c.id
    table = _MARKS.get(variant.view, unread)
    return table, table.c.sort_at, table.c.entry_id


def _is_in_view(variant: _ListVariant, table: FromClause, entry_id: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    """The row belongs to this user and to the view."""
    if table is entries:
        return [followed()]
    conditions = [table.c.user_id == bindparam("user_id")]
    if table is entry_tags:
        conditions.append(entry_tags.c.tag_id == tag_id("tag"))
    elif variant.tagged:
        conditions.append(has_tag("tag", entry_id))
    if variant.view == "unread":
        conditions.append(above_read_marker(unread) if table is unread else is_unread(entry_id))
    if variant.view in _MARKS and table is not _MARKS[variant.view]:
        conditions.append(has_flag(_MARKS[variant.view], entry_id))
    if table is read_history or variant.view == "muted":
        conditions.append(_is_visible(entry_id))
    return conditions


def _is_visible(entry_id: ColumnElement[Any]) -> ColumnElement[bool]:
    visible_entry = select(entries.c.id).where(entries.c.id == entry_id, visible(with_muted=True))
    return visible_entry.correlate_except(entries).exists()


def _in_feeds(variant: _ListVariant, table: FromClause, entry_id: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    if variant.strategy == "all":
        return [~in_hidden_feed(table.c.feed_id, variant.view)] if variant.has_hidden else []
    if "feed_id" in table.c:
        return [_feeds(variant, table.c.feed_id)]
    of_feed = select(entries.c.id).where(entries.c.id == entry_id, _feeds(variant, entries.c.feed_id))
    return [of_feed.correlate_except(entries).exists()]


def _not_repeated(variant: _ListVariant, entry_id: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    if not variant.once:
        return []
    first = entries.alias("first_entry")
    listed = ~in_hidden_feed(first.c.feed_id, variant.view)
    if variant.strategy in ("few", "many"):
        listed &= among(first.c.feed_id, "feed_ids")
    repeated = (
        select(repeated_entries.c.entry_id)
        .join_from(repeated_entries, first, first.c.id == repeated_entries.c.first_id)
        .where(repeated_entries.c.user_id == bindparam("user_id"), repeated_entries.c.entry_id == entry_id, listed)
    )
    return [~repeated.correlate_except(repeated_entries, first).exists()]


def _feeds(variant: _ListVariant, feed_id: ColumnElement[Any]) -> ColumnElement[bool]:
    return feed_id == bindparam("feed_id") if variant.strategy == "one" else among(feed_id, "feed_ids")


def _bounds(variant: _ListVariant, key: ColumnElement[Any], entry_id: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if variant.continued:
        conditions.append(beyond(variant.order, (key, entry_id), (bindparam("sort_at"), bindparam("id"))))
    if variant.since:
        conditions.append(key >= bindparam("since"))
    return conditions


def _page_size(variant: _ListVariant) -> ColumnElement[int]:
    return literal_column(str(DEFAULT_SIZE)) if variant.has_default_size else bindparam("wanted", type_=BigInteger)


def _rank(variant: _ListVariant) -> ColumnElement[int]:
    return literal_column(str(DEFAULT_SIZE - 1)) if variant.has_default_size else bindparam("rank", type_=BigInteger)


def _merged(variant: _ListVariant) -> Select[Any]:
    """Of each feed, the rows up to its own `wanted`-th; of all these, the first `wanted`."""
    table = entries if variant.view == "all" else unread
    key, entry_id = table.c.sort_at, entry_id_of(table)
    reaches = up_to(variant.order, key, _last_of_feed(variant, table))
    joined = in_order(subscriptions, table, and_(*_visible_to_subscription(table), reaches))
    return (
        select(key.label("key"), entry_id.label("entry_id"))
        .select_from(joined)
        .where(
            subscriptions.c.user_id == bindparam("user_id"),
            among(subscriptions.c.feed_id, "feed_ids"),
            *_bounds(variant, key, entry_id),
            *_not_repeated(variant, entry_id),
        )
        .order_by(*in_direction(variant.order, unindexed(key), entry_id))
        .limit(_page_size(variant))
    )


def _last_of_feed(variant: _ListVariant, table: FromClause) -> ColumnElement[int]:
    row = table.alias("one")
    key, entry_id = row.c.sort_at, entry_id_of(row)
    return (
        select(key)
        .where(*_visible_to_subscription(row), *_bounds(variant, key, entry_id), *_not_repeated(variant, entry_id))
        .order_by(*in_direction(variant.order, key, entry_id))
        .offset(_rank(variant))
        .limit(1)
        .correlate(subscriptions)
        .scalar_subquery()
    )


def _visible_to_subscription(row: FromClause) -> list[ColumnElement[bool]]:
    """The row is visible to the subscription it is joined with."""
    if "entry_id" not in row.c:
        return [row.c.feed_id == subscriptions.c.feed_id, shows(subscriptions, row)]
    return [
        row.c.user_id == subscriptions.c.user_id,
        row.c.feed_id == subscriptions.c.feed_id,
        alive(row, subscriptions),
    ]


assert MAX_LIMIT + 1 < 256, "a scope of 256 unread feeds must be enough for any page"
