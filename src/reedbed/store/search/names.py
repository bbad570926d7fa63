"""The names in a search (feed:, folder:, tag:, is:, lang:) as what they mean for this user."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlalchemy import bindparam

from reedbed.domain.entries import ViewQuery
from reedbed.domain.folding import fold
from reedbed.domain.records import record
from reedbed.domain.search import Filter, SearchQuery
from reedbed.store import scopes
from reedbed.store.database import Tx
from reedbed.store.search.narrowing import Narrow
from reedbed.store.sql import func, select
from reedbed.store.statements import Statement
from reedbed.store.tables import feeds, folders, subscriptions, tags

_FEEDS = Statement(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        func.coalesce(subscriptions.c.title, feeds.c.title),
        feeds.c.url,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.unsubscribed_at.is_(None))
)
_FOLDERS = Statement(
    select(folders.c.id, folders.c.parent_id, folders.c.name).where(folders.c.user_id == bindparam("user_id"))
)
_TAGS = Statement(select(tags.c.id, tags.c.name).where(tags.c.user_id == bindparam("user_id")))


@record
class NoSuchList:
    """The view names a feed or folder that is not this user's."""


async def narrow(tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery) -> Narrow | NoSuchList | None:
    """None: nothing can be in it."""
    states = _states(query, view)
    if states is None:
        return None
    within = await _within(tx, user_id, view)
    if isinstance(within, NoSuchList):
        return within
    narrowed = await _in_feeds(tx, user_id, query, replace(states, feeds=within))
    return await _tagged(tx, user_id, query, view, narrowed) if narrowed else None


async def unknown_names(tx: Tx, user_id: int, query: SearchQuery) -> tuple[Filter, ...]:
    """The feeds, folders and tags that the search is for and that this user has none of."""
    named: dict[str, Callable[[str], bool]] = {}
    if _of_kind(query, "feed"):
        feed_names = [
            (row[0], f"{fold(row[2])} {row[3]}".casefold())
            for row in await tx.all(_FEEDS, {"user_id": user_id})
        ]
        named["feed"] = lambda value: bool(_feeds_called(feed_names, value))
    if _of_kind(query, "folder"):
        tree = [tuple(row) for row in await tx.all(_FOLDERS, {"user_id": user_id})]
        named["folder"] = lambda value: bool(_folders_called(tree, value))
    if _of_kind(query, "tag"):
        tag_names = {row[1].casefold() for row in await tx.all(_TAGS, {"user_id": user_id})}
        named["tag"] = lambda value: value.casefold() in tag_names
    return tuple(
        each
        for each in query.filters
        if not each.negated and each.kind in named and not named[each.kind](each.value)
    )


def _states(query: SearchQuery, view: ViewQuery) -> Narrow | None:
    asked: dict[str, bool] = {} if view.view == "all" else {view.view: True}
    for each in _of_kind(query, "is"):
        name, wanted = ("unread", each.negated) if each.value == "read" else (each.value, not each.negated)
        if asked.setdefault(name, wanted) != wanted:
            return None
    after = max((moment for moment in (query.after, view.since) if moment is not None), default=None)
    languages = {each.value.lower(): each.negated for each in _of_kind(query, "lang")}
    return Narrow(
        unread=asked.get("unread"),
        starred=asked.get("starred"),
        later=asked.get("later"),
        muted=bool(asked.get("muted")),
        opened=asked.get("history"),
        languages=frozenset(name for name, negated in languages.items() if not negated),
        without_languages=frozenset(name for name, negated in languages.items() if negated),
        after=after,
        before=query.before,
    )


async def _within(tx: Tx, user_id: int, view: ViewQuery) -> frozenset[int] | NoSuchList | None:
    if view.feed_id is None and view.folder_id is None:
        return None
    found = await scopes.feeds_of(tx, user_id, feed_id=view.feed_id, folder_id=view.folder_id)
    return NoSuchList() if found is None else frozenset(found)


async def _in_feeds(tx: Tx, user_id: int, query: SearchQuery, narrowed: Narrow) -> Narrow | None:
    by_feed, by_folder = _of_kind(query, "feed"), _of_kind(query, "folder")
    if not by_feed and not by_folder:
        return narrowed if narrowed.feeds != frozenset() else None
    rows = await tx.all(_FEEDS, {"user_id": user_id})
    named = [(row[0], f"{fold(row[2])} {row[3]}".casefold()) for row in rows]
    chosen = [(each, _feeds_called(named, each.value)) for each in by_feed]
    if by_folder:
        tree = [tuple(row) for row in await tx.all(_FOLDERS, {"user_id": user_id})]
        for each in by_folder:
            inside = _folders_called(tree, each.value)
            chosen.append((each, frozenset(row[0] for row in rows if row[1] in inside)))
    wanted = [feed_ids for each, feed_ids in chosen if not each.negated]
    if narrowed.feeds is not None:
        wanted.append(narrowed.feeds)
    without = frozenset[int]().union(*(feed_ids for each, feed_ids in chosen if each.negated))
    within = frozenset[int].intersection(*wanted) - without if wanted else None
    return None if within == frozenset() else replace(narrowed, feeds=within, without_feeds=without)


async def _tagged(
    tx: Tx, user_id: int, query: SearchQuery, view: ViewQuery, narrowed: Narrow
) -> Narrow | None:
    asked = _of_kind(query, "tag")
    if view.tag is None and not asked:
        return narrowed
    known = {name.casefold(): id for id, name in await tx.all(_TAGS, {"user_id": user_id})}
    wanted = [each.value for each in asked if not each.negated]
    found = [known.get(name.casefold()) for name in (*wanted, *([view.tag] if view.tag else ()))]
    ids = frozenset(id for id in found if id is not None)
    without = frozenset(
        known[each.value.casefold()] for each in asked if each.negated and each.value.casefold() in known
    )
    return None if None in found else replace(narrowed, tags=ids, without_tags=without)


def _of_kind(query: SearchQuery, kind: str) -> list[Filter]:
    return [each for each in query.filters if each.kind == kind]


def _feeds_called(named: Iterable[tuple[int, str]], value: str) -> frozenset[int]:
    """By a part of the name or address, or by id."""
    matches = _holds(value)
    return frozenset(id for id, name in named if matches(name) or value == str(id))


def _holds(value: str) -> Callable[[str], bool]:
    folded, typed = " ".join(fold(value).split()), value.casefold()
    return lambda name: typed in name or (bool(folded) and folded in name)


def _folders_called(tree: Iterable[tuple[int, int | None, str]], value: str) -> set[int]:
    """The folders of this name or id, and all below them."""
    rows = list(tree)
    inside = {id for id, _, name in rows if fold(name).strip() == fold(value).strip() or value == str(id)}
    while grown := {id for id, parent, _ in rows if parent in inside} - inside:
        inside |= grown
    return inside
