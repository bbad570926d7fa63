"""A user's published feeds. Only hashes of their URL tokens are stored."""

from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.published_feeds import PublishedFeed, PublishedView
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, select
from reedbed.store.tables import published_feeds, searches, users

_COLUMNS = (
    published_feeds.c.id,
    published_feeds.c.name,
    published_feeds.c.view,
    published_feeds.c.created_at,
    published_feeds.c.last_used_at,
)
_is_own = published_feeds.c.user_id == bindparam("owner")
_is_this = (_is_own, published_feeds.c.id == bindparam("feed"))


def _feed(id_: int, name: str, view: str, created_at: int, last_used_at: int | None) -> PublishedFeed:
    return PublishedFeed(id_, name, PublishedView(**orjson.loads(view)), created_at, last_used_at)


def _feed_with_user(*columns: Any) -> tuple[int, PublishedFeed]:
    *feed, user_id = columns
    return user_id, _feed(*feed)


_LIST = Query(select(*_COLUMNS).where(_is_own).order_by(published_feeds.c.id.desc()), into=_feed)
_GET = Query(select(*_COLUMNS).where(*_is_this), into=_feed)
_COUNT = Query(select(func.count()).select_from(published_feeds).where(_is_own), into=int)
_ADD = Query(
    insert(published_feeds).returning(*_COLUMNS),
    columns=["user_id", "name", "token_hash", "view", "created_at"],
    into=_feed,
)
_RENAME = Query(
    update(published_feeds).where(*_is_this).values(name=bindparam("new_name")).returning(*_COLUMNS), into=_feed
)
_RENEW = Query(
    update(published_feeds).where(*_is_this).values(token_hash=bindparam("new_hash")).returning(*_COLUMNS), into=_feed
)
_DELETE = Command(delete(published_feeds).where(*_is_this))
_BY_TOKEN = Query(
    select(*_COLUMNS, published_feeds.c.user_id)
    .join_from(published_feeds, users, users.c.id == published_feeds.c.user_id)
    .where(published_feeds.c.token_hash == bindparam("hash"), users.c.disabled_at.is_(None)),
    into=_feed_with_user,
)
_TOUCH = Command(
    update(published_feeds).where(published_feeds.c.id == bindparam("feed")).values(last_used_at=bindparam("now"))
)
_SEARCH = Query(
    select(searches.c.query).where(searches.c.user_id == bindparam("owner"), searches.c.id == bindparam("search")),
    into=str,
)


async def of_user(tx: Tx, user_id: int) -> list[PublishedFeed]:
    return await tx.all(_LIST, {"owner": user_id})


async def get(tx: Tx, user_id: int, feed_id: int) -> PublishedFeed | None:
    return await tx.one(_GET, {"owner": user_id, "feed": feed_id})


async def count(tx: Tx, user_id: int) -> int:
    return await tx.get(_COUNT, {"owner": user_id})


async def add(tx: Tx, user_id: int, name: str, view: PublishedView, *, token_hash: str, now: Instant) -> PublishedFeed:
    return await tx.get(
        _ADD,
        {
            "user_id": user_id,
            "name": name,
            "token_hash": token_hash,
            "view": orjson.dumps(view).decode(),
            "created_at": now,
        },
    )


async def rename(tx: Tx, user_id: int, feed_id: int, name: str) -> PublishedFeed | None:
    return await tx.one(_RENAME, {"owner": user_id, "feed": feed_id, "new_name": name})


async def renew(tx: Tx, user_id: int, feed_id: int, *, token_hash: str) -> PublishedFeed | None:
    """Give it a new URL; the old one stops working."""
    return await tx.one(_RENEW, {"owner": user_id, "feed": feed_id, "new_hash": token_hash})


async def remove(tx: Tx, user_id: int, feed_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "feed": feed_id}) == 1


async def by_token(tx: Tx, token_hash: str) -> tuple[int, PublishedFeed] | None:
    """Return the user and the feed with this URL token."""
    return await tx.one(_BY_TOKEN, {"hash": token_hash})


async def touch(tx: Tx, feed_id: int, now: Instant) -> None:
    await tx.run(_TOUCH, {"feed": feed_id, "now": now})


async def search_text(tx: Tx, user_id: int, search_id: int) -> str | None:
    """Return the query of a saved search; None if it does not exist."""
    return await tx.one(_SEARCH, {"owner": user_id, "search": search_id})
