"""The lists a search can walk along instead of the words, in order and in bounded steps.

Each is read by an index that has its order, without asking anything else of a row: what has to be asked costs
so much a row, and where hardly any row would pass, a statement that asks would never end.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import BigInteger, ClauseElement, ColumnElement, FromClause, Select, and_, bindparam, union

from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import (
    Shapes,
    Statement,
    among,
    beyond,
    entry_id_of,
    func,
    in_direction,
    in_order,
    select,
    up_to,
)
from reedbed.store.search.filters import SearchFilter, params_of
from reedbed.store.tables import entries, entry_tags, later, starred, subscriptions, tags, unread
from reedbed.store.tables import feeds as all_feeds


@record
class Hit:
    place: Cursor
    """To go on behind it: a moment and an entry. With id 0 it is a key of the SQLite index, as a moment."""
    entry_id: int | None
    """None: the entry is gone."""


def ids_of(hits: Sequence[Hit]) -> tuple[int, ...]:
    return tuple(hit.entry_id for hit in hits if hit.entry_id is not None)


@record
class IdRange:
    order: Order
    after: Instant | None = None
    """At or after this moment."""
    before: Instant | None = None
    """Strictly before it."""
    beyond: Cursor | None = None
    """Only what the order shows after this place."""


@record
class Checked:
    good: set[int]
    cost: float
    """About so many µs."""


SHORTEST = 20
"""Of all steps."""
STEP_COST = 500.0
"""µs for a few statements, whatever they ask."""


@record
class FoundIds:
    ids: tuple[int, ...]
    """In the order asked for."""
    next: Cursor | None
    """Where the next page goes on; None when nothing is left."""


@record
class Stepped:
    hits: Sequence[Hit]
    """What lies next on the way; fewer than asked for where it ends."""
    good: set[int]
    """Which of them are matches this user can see."""
    cost: float
    """About so many µs."""


@dataclass(slots=True)
class SearchPlan:
    step: Callable[[IdRange, int], Awaitable[Stepped]]
    span: IdRange
    guess: float
    """µs for each match, as long as nothing is known."""
    size: int
    """Of the first step, if it can be afforded."""
    fixed_cost: Callable[[], float] = lambda: 0.0
    """µs for a step of any length."""
    weigh: Callable[[], Awaitable[float]] | None = None
    """µs for each entry, asked for before the first step."""
    found: list[Hit] = field(default_factory=list[Hit])
    looked: int = 0
    spent: float = 0.0
    ended: bool = False

    def price(self, limit: int) -> float:
        """What the rest of the page will cost, if it goes on as it went."""
        each = self.spent / (len(self.found) + 0.5) if self.looked else self.guess
        return self._missing(limit) * each + self.fixed_cost()

    async def go_on(self, limit: int, budget_ms: float) -> float:
        if self.looked:
            size = self._next_size(limit, budget_ms)
        else:
            each = await self.weigh() if self.weigh else self.guess
            size = max(SHORTEST, min(max(self.size, limit + 1), int(budget_ms / each)))
        stepped = await self.step(self.span, size)
        self.found += [hit for hit in stepped.hits if hit.entry_id in stepped.good]
        self.looked += len(stepped.hits)
        cost = stepped.cost + STEP_COST
        self.spent += cost
        self.ended = len(stepped.hits) < size
        if stepped.hits:
            self.span = replace(self.span, beyond=stepped.hits[-1].place)
        return cost

    def _next_size(self, limit: int, budget_ms: float) -> int:
        likely = self._missing(limit) * self.looked / (len(self.found) + 0.5)
        affordable = budget_ms / (self.spent / self.looked)
        return max(SHORTEST, int(min(likely * 1.4, affordable, self.looked * 3)))

    def _missing(self, limit: int) -> int:
        return limit + 1 - len(self.found)


async def fill_page(ways: Sequence[SearchPlan], limit: int, budget_ms: float) -> FoundIds:
    least = budget_ms / 20
    while budget_ms > least:
        affordable = [way for way in ways if way.fixed_cost() < budget_ms]
        if not affordable and any(way.looked for way in ways):
            break
        way = min(affordable or ways, key=lambda each: each.price(limit))
        budget_ms -= await way.go_on(limit, budget_ms)
        if way.ended or len(way.found) > limit:
            last = way.found[limit - 1].place if len(way.found) > limit else None
            return FoundIds(ids_of(way.found[:limit]), last)
    farthest = max(ways, key=_progress)
    return FoundIds(ids_of(farthest.found), farthest.span.beyond)


def _progress(way: SearchPlan) -> tuple[int, float]:
    """How many it found; of ways that found as many, how far it came."""
    if way.span.beyond is None:
        return 0, float("-inf")
    moment = way.span.beyond.sort_at
    return len(way.found), -moment if way.span.order == "newest" else moment


FEW = 100
"""At most so many lists are merged; beyond, the list of all feeds is walked."""
PASSED_OVER = 7
"""An entry passed over costs as much as so many rows of merged lists, each of which is read as far."""

_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)
_MOST: ColumnElement[int] = bindparam("most", type_=BigInteger)

_FOLLOWED = Statement(
    select(subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None))
    .limit(_MOST)
)
_COUNT_FEEDS = Statement(select(func.count()).select_from(select(all_feeds.c.id).limit(_MOST).subquery()))
_COUNT_OWN_FEEDS = Statement(
    select(func.count()).select_from(
        select(subscriptions.c.feed_id).where(subscriptions.c.user_id == _USER).limit(_MOST).subquery()
    )
)


@record
class _Bounds:
    order: Order
    beyond: bool
    after: bool
    before: bool


@record
class Lists:
    """What a search walks along: one list, or those of some feeds, merged."""

    feeds: Sequence[int] | None

    @property
    def number(self) -> int:
        """As many rows are read for each that is told."""
        return 1 if self.feeds is None else max(1, len(self.feeds))


async def lists_of(tx: Tx, user_id: int, narrow: SearchFilter) -> Lists:
    feeds = await _few_feeds(tx, user_id, narrow)
    if feeds is not None and await _are_most(tx, user_id, narrow, len(feeds)):
        feeds = None
    return Lists(feeds)


async def _few_feeds(tx: Tx, user_id: int, narrow: SearchFilter) -> list[int] | None:
    """The feeds whose lists can be merged; None where there is one list to walk."""
    if narrow.feeds is not None and narrow.of_table in (entries, unread):
        return sorted(narrow.feeds) if 1 < len(narrow.feeds) <= FEW else None
    if narrow.of_table is not entries:
        return None
    rows = await tx.all(_FOLLOWED, {"user_id": user_id, "most": FEW + 1})
    return [row[0] for row in rows] if len(rows) <= FEW else None


async def _are_most(tx: Tx, user_id: int, narrow: SearchFilter, number: int) -> bool:
    """Whether so many feeds are such a part of all in the list that it is shorter to pass over the others."""
    most = number * number // PASSED_OVER
    counted = _COUNT_FEEDS if narrow.of_table is entries else _COUNT_OWN_FEEDS
    given = {"user_id": user_id, "most": most + 1}
    return number <= most and await tx.value(counted, given) <= most


async def listed(
    tx: Tx, user_id: int, narrow: SearchFilter, lists: Lists, span: IdRange, most: int
) -> list[Hit]:
    """What lies next. `narrowing.allowed` says what of it belongs to the narrowed list."""
    bounds = _Bounds(span.order, span.beyond is not None, span.after is not None, span.before is not None)
    if lists.feeds is None:
        one = narrow.feeds is not None and len(narrow.feeds) == 1
        statement = _WALKED(narrow.of_table, one, bounds)
    else:
        statement = _MERGED(narrow.of_table, narrow.feeds is None, bounds)
    beyond = span.beyond or Cursor(0, 0)
    given = {
        **params_of(user_id, narrow),
        "feeds": lists.feeds,
        "most": most,
        "rank": most - 1,
        "beyond_at": beyond.sort_at,
        "beyond_id": beyond.id,
    }
    return [Hit(Cursor(sort_at, entry_id), entry_id) for sort_at, entry_id in await tx.all(statement, given)]


# ---- one list --------------------------------------------------------------------------------------


def _select_walked(table: FromClause, one: bool, bounds: _Bounds) -> Select[Any, Any]:
    conditions = _of_user(table)
    if table is entry_tags:
        conditions.append(entry_tags.c.tag_id == bindparam("tag"))
    elif one and "feed_id" in table.c:
        conditions.append(table.c.feed_id == bindparam("feed"))
    return (
        select(table.c.sort_at, entry_id_of(table))
        .where(*conditions, *_within(bounds, table))
        .order_by(*in_direction(bounds.order, table.c.sort_at, entry_id_of(table)))
        .limit(_MOST)
    )


_WALKED = Shapes(_select_walked)


# ---- several, merged -------------------------------------------------------------------------------


def _select_merged(table: FromClause, with_kept: bool, bounds: _Bounds) -> ClauseElement:
    """The first `most` of each list, and of these the first `most`.

    Who names no feed also finds what they keep of feeds they left, which is in lists of its own.
    """
    by_feed = _first_of_each(table.c.feed_id, subscriptions.c.feed_id, bounds)
    by_feed = by_feed.where(among(subscriptions.c.feed_id, "feeds"))
    if not with_kept:
        return _in_order(by_feed.subquery("merged"), bounds)
    by_tag = _first_of_each(entry_tags.c.tag_id, tags.c.id, bounds)
    marked = [_select_walked(mark, False, bounds).subquery().select() for mark in (starred, later)]
    return _in_order(union(by_feed, by_tag, *marked).subquery("merged"), bounds)


_MERGED = Shapes(_select_merged)


def _in_order(merged: FromClause, bounds: _Bounds) -> Select[Any, Any]:
    key, entry_id = merged.c
    return select(key, entry_id).order_by(*in_direction(bounds.order, key, entry_id)).limit(_MOST)


def _first_of_each(of: Any, owner_id: Any, bounds: _Bounds) -> Select[Any, Any]:
    """For each feed or tag of this user, its entries up to the `most`-th."""
    table, owner = of.table, owner_id.table
    row = table.alias("one")
    last = (
        select(row.c.sort_at)
        .where(*_of_user(row), row.c[of.name] == owner_id, *_within(bounds, row))
        .order_by(*in_direction(bounds.order, row.c.sort_at, entry_id_of(row)))
        .offset(bindparam("rank", type_=BigInteger))
        .limit(1)
        .correlate(owner)
        .scalar_subquery()
    )
    reaches = up_to(bounds.order, table.c.sort_at, last)
    joined = in_order(owner, table, and_(of == owner_id, *_of_user(table), reaches))
    return (
        select(table.c.sort_at, entry_id_of(table).label("entry_id"))
        .select_from(joined)
        .where(owner.c.user_id == _USER, *_within(bounds, table))
    )


# ---- both ------------------------------------------------------------------------------------------


def _of_user(table: FromClause) -> list[ColumnElement[bool]]:
    return [table.c.user_id == _USER] if "user_id" in table.c else []


def _within(bounds: _Bounds, table: FromClause) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if bounds.beyond:
        place = (bindparam("beyond_at", type_=BigInteger), bindparam("beyond_id", type_=BigInteger))
        conditions.append(beyond(bounds.order, (table.c.sort_at, entry_id_of(table)), place))
    if bounds.after:
        conditions.append(table.c.sort_at >= bindparam("after", type_=BigInteger))
    if bounds.before:
        conditions.append(table.c.sort_at < bindparam("before", type_=BigInteger))
    return conditions
