"""The feeds, folders and tags that a user can name in a search, and how many of some entries belong to each."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, and_, bindparam, union_all

from reedbed.domain.search.suggestions import Name
from reedbed.domain.subscriptions import all_folders
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Query, among, func, optional, row_of, select
from reedbed.store.folders import other_folders, parse_folders, with_other_folders
from reedbed.store.tables import entries, entry_tags, feeds, folders, subscription_folders, subscriptions, tags

_USER = bindparam("user_id", type_=BigInteger)
_COUNT_OF = row_of(optional(int), int)


def _named_feed(*columns: Any) -> tuple[int, tuple[int, ...], str, str]:
    feed_id, folder_id, others, title, url = columns
    return feed_id, all_folders(folder_id, parse_folders(others)), title, url


FEEDS = Query(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        other_folders.c.ids,
        func.coalesce(subscriptions.c.title, feeds.c.title),
        feeds.c.url,
    )
    .select_from(with_other_folders)
    .join(feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None)),
    into=_named_feed,
)
"""Feed id, folders, title and URL."""
FOLDERS = Query(
    select(folders.c.id, folders.c.parent_id, folders.c.name).where(folders.c.user_id == _USER),
    into=row_of(int, optional(int), str),
)
TAGS = Query(select(tags.c.id, tags.c.name).where(tags.c.user_id == _USER), into=row_of(int, str))

_PER_FEED = Query(
    select(entries.c.feed_id, func.count()).where(among(entries.c.id, "ids")).group_by(entries.c.feed_id),
    into=_COUNT_OF,
)
_of_entries = (
    select(subscriptions.c.id, subscriptions.c.folder_id)
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .where(among(entries.c.id, "ids"), subscriptions.c.user_id == _USER)
    .cte("of_entries")
)
_their_folders = union_all(
    select(_of_entries.c.folder_id),
    select(subscription_folders.c.folder_id).join_from(
        _of_entries,
        subscription_folders,
        and_(subscription_folders.c.user_id == _USER, subscription_folders.c.subscription_id == _of_entries.c.id),
    ),
).subquery("their_folders")
_PER_FOLDER = Query(
    select(_their_folders.c.folder_id, func.count()).group_by(_their_folders.c.folder_id), into=_COUNT_OF
)
_PER_TAG = Query(
    select(entry_tags.c.tag_id, func.count())
    .where(entry_tags.c.user_id == _USER, among(entry_tags.c.entry_id, "ids"))
    .group_by(entry_tags.c.tag_id),
    into=_COUNT_OF,
)
_COUNTS = {"feed": _PER_FEED, "folder": _PER_FOLDER, "tag": _PER_TAG}


async def of_user(tx: Tx, user_id: int, kinds: Sequence[str]) -> list[Name]:
    """The names of these kinds: `feed`, `folder` and `tag`."""
    names: list[Name] = []
    params = {"user_id": user_id}
    if "feed" in kinds:
        rows = await tx.all(FEEDS, params)
        names += [Name("feed", feed_id, title or url, url) for feed_id, _, title, url in rows]
    if "folder" in kinds:
        names += [Name("folder", folder_id, name) for folder_id, _, name in await tx.all(FOLDERS, params)]
    if "tag" in kinds:
        names += [Name("tag", tag_id, name) for tag_id, name in await tx.all(TAGS, params)]
    return names


async def count(tx: Tx, user_id: int, kind: str, entry_ids: Sequence[int]) -> dict[int, int]:
    """How many of these entries each feed, folder or tag has; a folder without its subfolders."""
    rows = await tx.all(_COUNTS[kind], {"user_id": user_id, "ids": list(entry_ids)})
    return {id_: number for id_, number in rows if id_ is not None}
