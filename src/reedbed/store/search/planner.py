"""Runs the plans of a search in bounded steps and reads the lists that the list plan walks.

`fill_page` alternates between plans and always continues with the one that looks cheaper. `listed` reads the
next entries of a list in index order, without any other condition: if hardly any row passed an extra
condition, a statement with it would scan without end. The caller checks the conditions on each step.
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
    Query,
    QueryFamily,
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
    """Cursor to continue after this hit. With id 0 its time is a key of the SQLite index."""
    entry_id: int | None
    """None: the entry was deleted."""


def ids_of(hits: Sequence[Hit]) -> tuple[int, ...]:
    return tuple(hit.entry_id for hit in hits if hit.entry_id is not None)


@record
class IdRange:
    order: Order
    after: Instant | None = None
    """Inclusive."""
    before: Instant | None = None
    """Exclusive."""
    beyond: Cursor | None = None
    """Only entries after this cursor."""


@record
class Checked:
    good: set[int]
    cost: float
    """Estimated µs."""


MIN_STEP = 20
"""The smallest step."""
STEP_COST = 500.0
"""µs for the few statements of a step, whatever they read."""


@record
class MatchingIds:
    ids: tuple[int, ...]
    """In the requested order."""
    next: Cursor | None
    """Cursor for the next page; None on the last page."""


@record
class StepResult:
    hits: Sequence[Hit]
    """The next hits; fewer than requested at the end."""
    good: set[int]
    """Which of them are matches this user can see."""
    cost: float
    """Estimated µs."""


@dataclass(slots=True)
class SearchPlan:
    step: Callable[[IdRange, int], Awaitable[StepResult]]
    span: IdRange
    guess: float
    """µs per match, before anything was measured."""
    size: int
    """Of the first step, if the budget allows it."""
    fixed_cost: Callable[[], float] = lambda: 0.0
    """µs for a step of any size."""
    estimate_cost: Callable[[], Awaitable[float]] | None = None
    """µs per entry; called before the first step."""
    found: list[Hit] = field(default_factory=list[Hit])
    looked: int = 0
    spent: float = 0.0
    ended: bool = False

    def price(self, limit: int) -> float:
        """Estimated µs for the rest of the page, from the steps so far."""
        cost_per_match = self.spent / (len(self.found) + 0.5) if self.looked else self.guess
        return self._missing(limit) * cost_per_match + self.fixed_cost()

    async def go_on(self, limit: int, budget: float) -> float:
        if self.looked:
            size = self._next_size(limit, budget)
        else:
            entry_cost = await self.estimate_cost() if self.estimate_cost else self.guess
            size = max(MIN_STEP, min(max(self.size, limit + 1), int(budget / entry_cost)))
        stepped = await self.step(self.span, size)
        self.found += [hit for hit in stepped.hits if hit.entry_id in stepped.good]
        self.looked += len(stepped.hits)
        cost = stepped.cost + STEP_COST
        self.spent += cost
        self.ended = len(stepped.hits) < size
        if stepped.hits:
            self.span = replace(self.span, beyond=stepped.hits[-1].place)
        return cost

    def _next_size(self, limit: int, budget: float) -> int:
        likely = self._missing(limit) * self.looked / (len(self.found) + 0.5)
        affordable = budget / (self.spent / self.looked)
        return max(MIN_STEP, int(min(likely * 1.4, affordable, self.looked * 3)))

    def _missing(self, limit: int) -> int:
        return limit + 1 - len(self.found)


async def fill_page(plans: Sequence[SearchPlan], limit: int, budget: float) -> MatchingIds:
    min_budget = budget / 20
    while budget > min_budget:
        affordable = [plan for plan in plans if plan.fixed_cost() < budget]
        if not affordable and any(plan.looked for plan in plans):
            break
        plan = min(affordable or plans, key=lambda candidate: candidate.price(limit))
        budget -= await plan.go_on(limit, budget)
        if plan.ended or len(plan.found) > limit:
            last = plan.found[limit - 1].place if len(plan.found) > limit else None
            return MatchingIds(ids_of(plan.found[:limit]), last)
    farthest = max(plans, key=_progress)
    return MatchingIds(ids_of(farthest.found), farthest.span.beyond)


def _progress(plan: SearchPlan) -> tuple[int, float]:
    """How many matches the plan found; among equals, how far it got."""
    if plan.span.beyond is None:
        return 0, float("-inf")
    time = plan.span.beyond.sort_at
    return len(plan.found), -time if plan.span.order == "newest" else time


# --- The lists of the list plan


SMALL_SELECTION = 100
"""At most this many lists are merged; with more feeds, the list of all feeds is walked."""
PASSED_OVER = 7
"""Skipping one entry costs as much as this many rows of merged lists."""

_USER: ColumnElement[int] = bindparam("user_id", type_=BigInteger)
_LIMIT: ColumnElement[int] = bindparam("limit", type_=BigInteger)

_SUBSCRIBED = Query(
    select(subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None))
    .limit(_LIMIT),
    into=int,
)
_COUNT_FEEDS = Query(select(func.count()).select_from(select(all_feeds.c.id).limit(_LIMIT).subquery()), into=int)
_COUNT_OWN_FEEDS = Query(
    select(func.count()).select_from(
        select(subscriptions.c.feed_id).where(subscriptions.c.user_id == _USER).limit(_LIMIT).subquery()
    ),
    into=int,
)


@record
class _Bounds:
    order: Order
    beyond: bool
    after: bool
    before: bool


@record
class Lists:
    """What the list plan walks: one list (`feeds` is None), or the merged lists of some feeds."""

    feeds: Sequence[int] | None

    @property
    def number(self) -> int:
        """How many rows are read per row returned."""
        return 1 if self.feeds is None else max(1, len(self.feeds))


async def load_lists(tx: Tx, user_id: int, narrow: SearchFilter) -> Lists:
    feeds = await _mergeable_feeds(tx, user_id, narrow)
    if feeds is not None and await _walk_is_cheaper(tx, user_id, narrow, len(feeds)):
        feeds = None
    return Lists(feeds)


async def _mergeable_feeds(tx: Tx, user_id: int, narrow: SearchFilter) -> list[int] | None:
    """The feeds whose lists can be merged; None if there is a single list to walk."""
    if narrow.feeds is not None and narrow.of_table in (entries, unread):
        return sorted(narrow.feeds) if 1 < len(narrow.feeds) <= SMALL_SELECTION else None
    if narrow.of_table is not entries:
        return None
    rows = await tx.all(_SUBSCRIBED, {"user_id": user_id, "limit": SMALL_SELECTION + 1})
    return rows if len(rows) <= SMALL_SELECTION else None


async def _walk_is_cheaper(tx: Tx, user_id: int, narrow: SearchFilter, number: int) -> bool:
    """Whether these are so many of all feeds that it is cheaper to walk the whole list and skip the rest."""
    limit = number * number // PASSED_OVER
    count = _COUNT_FEEDS if narrow.of_table is entries else _COUNT_OWN_FEEDS
    params = {"user_id": user_id, "limit": limit + 1}
    return number <= limit and await tx.get(count, params) <= limit


async def listed(tx: Tx, user_id: int, narrow: SearchFilter, lists: Lists, span: IdRange, limit: int) -> list[Hit]:
    """The next entries of the list. `filters.allowed` decides which of them pass the filter."""
    bounds = _Bounds(span.order, span.beyond is not None, span.after is not None, span.before is not None)
    if lists.feeds is None:
        single_feed = narrow.feeds is not None and len(narrow.feeds) == 1
        statement = _WALKED(narrow.of_table, single_feed, bounds)
    else:
        statement = _MERGED(narrow.of_table, narrow.feeds is None, bounds)
    beyond = span.beyond or Cursor(0, 0)
    params = {
        **params_of(user_id, narrow),
        "feeds": lists.feeds,
        "limit": limit,
        "rank": limit - 1,
        "beyond_at": beyond.sort_at,
        "beyond_id": beyond.id,
    }
    return await tx.all(statement, params)


# --- SQL of one list


def _select_walked(table: FromClause, single_feed: bool, bounds: _Bounds) -> Select[Any]:
    conditions = _of_user(table)
    if table is entry_tags:
        conditions.append(entry_tags.c.tag_id == bindparam("tag"))
    elif single_feed and "feed_id" in table.c:
        conditions.append(table.c.feed_id == bindparam("feed"))
    return (
        select(table.c.sort_at, entry_id_of(table))
        .where(*conditions, *_within(bounds, table))
        .order_by(*in_direction(bounds.order, table.c.sort_at, entry_id_of(table)))
        .limit(_LIMIT)
    )


def _hit(sort_at: Instant, entry_id: int) -> Hit:
    return Hit(Cursor(sort_at, entry_id), entry_id)


_WALKED = QueryFamily(_select_walked, into=_hit)


# --- SQL of several merged lists


def _select_merged(table: FromClause, with_kept: bool, bounds: _Bounds) -> ClauseElement:
    """The first `limit` entries of each list, and of these the first `limit` overall.

    A search without a feed also covers starred, saved and tagged entries of feeds the user has left, so
    `with_kept` adds these lists.
    """
    by_feed = _first_of_each(table.c.feed_id, subscriptions.c.feed_id, bounds)
    by_feed = by_feed.where(among(subscriptions.c.feed_id, "feeds"))
    if not with_kept:
        return _in_order(by_feed.subquery("merged"), bounds)
    by_tag = _first_of_each(entry_tags.c.tag_id, tags.c.id, bounds)
    flagged = [_select_walked(table, False, bounds).subquery().select() for table in (starred, later)]
    return _in_order(union(by_feed, by_tag, *flagged).subquery("merged"), bounds)


_MERGED = QueryFamily(_select_merged, into=_hit)


def _in_order(merged: FromClause, bounds: _Bounds) -> Select[Any]:
    key, entry_id = merged.c
    return select(key, entry_id).order_by(*in_direction(bounds.order, key, entry_id)).limit(_LIMIT)


def _first_of_each(of: Any, owner_id: Any, bounds: _Bounds) -> Select[Any]:
    """The entries of each of this user's feeds or tags, up to the `limit`-th."""
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


# --- Shared conditions


def _of_user(table: FromClause) -> list[ColumnElement[bool]]:
    return [table.c.user_id == _USER] if "user_id" in table.c else []


def _within(bounds: _Bounds, table: FromClause) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if bounds.beyond:
        cursor = (bindparam("beyond_at", type_=BigInteger), bindparam("beyond_id", type_=BigInteger))
        conditions.append(beyond(bounds.order, (table.c.sort_at, entry_id_of(table)), cursor))
    if bounds.after:
        conditions.append(table.c.sort_at >= bindparam("after", type_=BigInteger))
    if bounds.before:
        conditions.append(table.c.sort_at < bindparam("before", type_=BigInteger))
    return conditions
