"""The feeds, folders and tags that a user can name in a search, and how many of some entries belong to each."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam

from reedbed.domain.search.suggestions import Name
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Query, among, func, optional, row_of, select
from reedbed.store.tables import entries, entry_tags, feeds, folders, subscriptions, tags

_USER = bindparam("user_id", type_=BigInteger)
_COUNT_OF = row_of(optional(int), int)

FEEDS = Query(
    select(
        subscriptions.c.feed_id,
        subscriptions.c.folder_id,
        func.coalesce(subscriptions.c.title, feeds.c.title),
        feeds.c.url,
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == _USER, subscriptions.c.unsubscribed_at.is_(None)),
    into=row_of(int, optional(int), str, str),
)
FOLDERS = Query(
    select(folders.c.id, folders.c.parent_id, folders.c.name).where(folders.c.user_id == _USER),
    into=row_of(int, optional(int), str),
)
TAGS = Query(select(tags.c.id, tags.c.name).where(tags.c.user_id == _USER), into=row_of(int, str))

_PER_FEED = Query(
    select(entries.c.feed_id, func.count()).where(among(entries.c.id, "ids")).group_by(entries.c.feed_id),
    into=_COUNT_OF,
)
_PER_FOLDER = Query(
    select(subscriptions.c.folder_id, func.count())
    .join_from(entries, subscriptions, subscriptions.c.feed_id == entries.c.feed_id)
    .where(among(entries.c.id, "ids"), subscriptions.c.user_id == _USER)
    .group_by(subscriptions.c.folder_id),
    into=_COUNT_OF,
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
