"""Reads entries: single ones with bodies and versions, and full texts for highlights, rules and exports.

How a user wants to see each list is read and written here too.

Also re-exports the lists of `lists` and `streams`, so that callers need one import.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import BigInteger, Integer, and_, bindparam, delete, or_

from reedbed.domain.entries import (
    EVERY_LIST,
    MAX_POST,
    Entry,
    EntryRow,
    EntryVersion,
    ListSettings,
    PostSource,
    ViewQuery,
)
from reedbed.domain.feeds import Author, Enclosure
from reedbed.domain.records import record
from reedbed.domain.subscriptions import all_folders
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, among, func, insert, keyed, row_of, select
from reedbed.store.entries.columns import LISTED, categories_in, entry_row, visible, with_states, with_tags
from reedbed.store.entries.lists import newest, page
from reedbed.store.entries.streams import all_stream_ids, how_many, ids_page, length
from reedbed.store.folders import other_folders_of_row, parse_folders
from reedbed.store.tables import entries, entry_bodies, entry_versions, feeds, list_settings, subscriptions
from reedbed.store.visibility import shows

__all__ = [
    "all_stream_ids",
    "by_ids",
    "get",
    "how_many",
    "ids_page",
    "length",
    "newest",
    "page",
    "place",
    "post_sources",
    "rows_by_ids",
    "shown_rows",
    "versions",
]

_with_body = (
    select(*LISTED, entry_bodies.c.content, entry_bodies.c.full_content, entry_bodies.c.extra)
    .select_from(with_states(entries.outerjoin(entry_bodies, entry_bodies.c.entry_id == entries.c.id)))
    .where(among(entries.c.id, "ids"))
)


def _entry(*columns: Any) -> Entry:
    *listed, content, full_content, extra_json = columns
    extra: dict[str, Any] = orjson.loads(extra_json or "{}")
    return Entry(
        row=entry_row(*listed),
        content=content or "",
        full_content=full_content,
        authors=tuple(Author(**author) for author in extra.get("authors", ())),
        categories=tuple(extra.get("categories", ())),
        enclosures=tuple(Enclosure(**enclosure) for enclosure in extra.get("enclosures", ())),
        comments_url=extra.get("comments_url"),
        external_url=extra.get("external_url"),
    )


_WITH_BODY = Query(_with_body.where(visible()), into=_entry)
_ALSO_MUTED = Query(_with_body.where(visible(with_muted=True)), into=_entry)
_ROWS = Query(
    select(*LISTED).select_from(with_states(entries)).where(among(entries.c.id, "ids"), visible(with_muted=True)),
    into=entry_row,
)
_SHOWN_ROWS = Query(
    select(*LISTED).select_from(with_states(entries)).where(among(entries.c.id, "ids"), visible()), into=entry_row
)


def _post_source(entry_id: int, content: str, extra: str, feed_url: str, site_url: str | None) -> PostSource:
    external_url = orjson.loads(extra).get("external_url") if '"external_url"' in extra else None
    return PostSource(entry_id, content, external_url or "", feed_url, site_url or "")


_POST_SOURCES = Query(
    select(
        entries.c.id,
        func.substr(entry_bodies.c.content, 1, bindparam("length", type_=Integer)),
        entry_bodies.c.extra,
        feeds.c.url,
        feeds.c.site_url,
    )
    .select_from(
        entries.join(entry_bodies, entry_bodies.c.entry_id == entries.c.id).join(feeds, feeds.c.id == entries.c.feed_id)
    )
    .where(among(entries.c.id, "ids"), visible(with_muted=True)),
    into=_post_source,
)
_POSITION = Query(
    select(entries.c.sort_at, entries.c.id).where(entries.c.id == bindparam("id"), visible(with_muted=True)),
    into=row_of(int, int),
)
_VERSIONS = Query(
    select(entry_versions.c.version, entry_versions.c.title, entry_versions.c.content, entry_versions.c.replaced_at)
    .where(entry_versions.c.entry_id == bindparam("id"))
    .order_by(entry_versions.c.version.desc())
    .limit(bindparam("limit", type_=BigInteger)),
    into=EntryVersion,
)


async def get(tx: Tx, user_id: int, entry_id: int) -> Entry | None:
    """None if there is no such entry or this user cannot see it. Muted entries are found."""
    matches = await _with_bodies(tx, _ALSO_MUTED, user_id, [entry_id])
    return matches[0] if matches else None


async def by_ids(tx: Tx, user_id: int, ids: list[int]) -> list[Entry]:
    """With bodies, in the order of `ids`, without entries this user cannot see or has muted."""
    return await _with_bodies(tx, _WITH_BODY, user_id, ids)


async def _with_bodies(tx: Tx, query: Query[Entry], user_id: int, ids: list[int]) -> list[Entry]:
    found = await tx.all(query, {"user_id": user_id, "ids": ids})
    rows = await with_tags(tx, user_id, (entry.row for entry in found))
    by_id = {row.id: replace(entry, row=row) for entry, row in zip(found, rows, strict=True)}
    return [by_id[id] for id in dict.fromkeys(ids) if id in by_id]


async def rows_by_ids(tx: Tx, user_id: int, ids: list[int]) -> list[EntryRow]:
    """Like `by_ids`, without bodies, and including muted entries."""
    rows = await tx.all(_ROWS, {"user_id": user_id, "ids": ids})
    by_id = {row.id: row for row in await with_tags(tx, user_id, rows)}
    return [by_id[id] for id in dict.fromkeys(ids) if id in by_id]


async def post_sources(tx: Tx, user_id: int, ids: list[int], length: int = MAX_POST) -> list[PostSource]:
    """Of these entries, those that this user can see; of their texts, at most so many characters.

    Sizes of pictures are looked for there, too.
    """
    return await tx.all(_POST_SOURCES, {"user_id": user_id, "ids": ids, "length": length})


async def shown_rows(tx: Tx, user_id: int, query: ViewQuery, ids: list[int]) -> list[EntryRow]:
    """Those of these entries that are in the view now, in the order of `ids`."""
    found = await tx.all(_SHOWN_ROWS, {"user_id": user_id, "ids": ids})
    rows = {row.id: row for row in await with_tags(tx, user_id, found) if _is_in(row, query)}
    return [rows[id_] for id_ in ids if id_ in rows]


def _is_in(row: EntryRow, query: ViewQuery) -> bool:
    states = row.states
    of_view = {"unread": not states.read, "starred": states.starred, "later": states.later}
    return of_view.get(query.view, True) and (query.tag is None or query.tag in states.tags)


async def place(tx: Tx, user_id: int, entry_id: int) -> tuple[Instant, int] | None:
    """The position of the entry in lists: `sort_at` and id."""
    return await tx.one(_POSITION, {"user_id": user_id, "id": entry_id})


async def versions(tx: Tx, entry_id: int, *, limit: int = 50) -> list[EntryVersion]:
    """The versions before the current one, newest first. Does not check access: call `get` first."""
    return await tx.all(_VERSIONS, {"id": entry_id, "limit": limit})


# --- Full texts


@record
class EntryText:
    """The full text of an entry as one user sees it."""

    id: int
    feed_id: int
    guid: str | None
    url: str | None
    title: str
    author: str | None
    summary: str
    language: str | None
    published_at: Instant | None
    fetched_at: Instant
    changed_at: Instant | None
    sort_at: Instant
    content: str
    """Sanitised HTML; the full article if it was fetched."""
    feed_content: str
    """The content from the feed."""
    feed_title: str
    """The user's own title for the feed, if set."""
    folder_id: int | None
    extra: str = "{}"
    """JSON of the fields that are only shown on the page of the entry."""
    other_folders: str | None = None
    """The folders of the feed besides `folder_id`, as `parse_folders` reads them."""
    transcript: str = ""
    """Of the recording, as plain text, if it was ever requested."""

    @property
    def folder_ids(self) -> tuple[int, ...]:
        return all_folders(self.folder_id, parse_folders(self.other_folders))

    @property
    def categories(self) -> tuple[str, ...]:
        return categories_in(self.extra)


_TEXT_COLUMNS = (
    entries.c.id,
    entries.c.feed_id,
    entries.c.guid,
    entries.c.url,
    entries.c.title,
    entries.c.author,
    entries.c.summary,
    entries.c.language,
    entries.c.published_at,
    entries.c.fetched_at,
    entries.c.changed_at,
    entries.c.sort_at,
    func.coalesce(entry_bodies.c.full_content, entry_bodies.c.content, ""),
    func.coalesce(entry_bodies.c.content, ""),
    func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url),
    subscriptions.c.folder_id,
    func.coalesce(entry_bodies.c.extra, "{}"),
    other_folders_of_row,
    func.coalesce(entry_bodies.c.transcript, ""),
)
_VISIBLE_TEXTS = Query(
    select(*_TEXT_COLUMNS)
    .select_from(
        entries.join(feeds, feeds.c.id == entries.c.feed_id)
        .outerjoin(entry_bodies, entry_bodies.c.entry_id == entries.c.id)
        .outerjoin(
            subscriptions,
            and_(subscriptions.c.user_id == bindparam("user_id"), subscriptions.c.feed_id == entries.c.feed_id),
        )
    )
    .where(among(entries.c.id, "ids"), visible()),
    into=EntryText,
)

_subscribed = (
    select(entries.c.id)
    .join_from(subscriptions, entries, entries.c.feed_id == subscriptions.c.feed_id)
    .where(
        subscriptions.c.user_id == bindparam("user_id"),
        subscriptions.c.unsubscribed_at.is_(None),
        shows(subscriptions, entries),
    )
    .limit(bindparam("limit", type_=BigInteger))
)
_COUNT = Query(select(func.count()).select_from(_subscribed.subquery()), into=int)


async def visible_texts(tx: Tx, user_id: int, ids: Sequence[int]) -> list[EntryText]:
    """The texts of those entries that the user can see, in the order of `ids`."""
    texts = {text.id: text for text in await tx.all(_VISIBLE_TEXTS, {"user_id": user_id, "ids": list(ids)})}
    return [texts[id_] for id_ in ids if id_ in texts]


async def count_texts(tx: Tx, user_id: int, limit: int) -> int:
    """Entries in the feeds this user subscribes to, counted up to `limit`."""
    return await tx.get(_COUNT, {"user_id": user_id, "limit": limit})


async def visible_text(tx: Tx, user_id: int, entry_id: int) -> EntryText | None:
    return next(iter(await visible_texts(tx, user_id, [entry_id])), None)


# --- How a user wants to see each list


_MINE = list_settings.c.user_id == bindparam("owner")
_THIS = list_settings.c.list == bindparam("this")
_FIELDS = ("show", "order", "layout", "days")
_ROW = (list_settings.c.list, *(list_settings.c[name] for name in _FIELDS))

_ALL = Query(select(*_ROW).where(_MINE).order_by(list_settings.c.list), into=keyed(str, ListSettings))
_OF_LIST = Query(
    select(*_ROW).where(_MINE, or_(_THIS, list_settings.c.list == EVERY_LIST)), into=keyed(str, ListSettings)
)
_ADD = insert(list_settings)
_SET = Command(
    _ADD.on_conflict_do_update(
        index_elements=["user_id", "list"], set_={name: _ADD.excluded[name] for name in _FIELDS}
    ),
    columns=("user_id", "list", *_FIELDS),
)
_REMOVE_ALL = Command(delete(list_settings).where(_MINE))


async def of_user(tx: Tx, user_id: int) -> Mapping[str, ListSettings]:
    """By the name of the list."""
    return dict(await tx.all(_ALL, {"owner": user_id}))


async def of_list(tx: Tx, user_id: int, name: str) -> ListSettings:
    """The settings of this list, with those for every list where it has none."""
    kept = dict(await tx.all(_OF_LIST, {"owner": user_id, "this": name}))
    return kept.get(name, ListSettings()).over(kept.get(EVERY_LIST, ListSettings()))


async def keep(tx: Tx, user_id: int, name: str, settings: ListSettings) -> None:
    await tx.run(_SET, {"user_id": user_id, "list": name, **{field: getattr(settings, field) for field in _FIELDS}})


async def remove_all(tx: Tx, user_id: int) -> None:
    await tx.run(_REMOVE_ALL, {"owner": user_id})
