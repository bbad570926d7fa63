"""A user's published feeds. Only hashes of their URL tokens are stored."""

from typing import Any

import orjson
from sqlalchemy import bindparam, delete, insert, update

from reedbed.domain.published_feeds import PublishedFeed, PublishedView
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Row, Tx
from reedbed.store.engine.statements import Statement, func, select
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

_LIST = Statement(select(*_COLUMNS).where(_is_own).order_by(published_feeds.c.id.desc()))
_GET = Statement(select(*_COLUMNS).where(*_is_this))
_COUNT = Statement(select(func.count()).select_from(published_feeds).where(_is_own))
_ADD = Statement(
    insert(published_feeds).returning(*_COLUMNS),
    columns=["user_id", "name", "token_hash", "view", "created_at"],
)
_RENAME = Statement(
    update(published_feeds).where(*_is_this).values(name=bindparam("new_name")).returning(*_COLUMNS)
)
_RENEW = Statement(
    update(published_feeds).where(*_is_this).values(token_hash=bindparam("new_hash")).returning(*_COLUMNS)
)
_DELETE = Statement(delete(published_feeds).where(*_is_this))
_BY_TOKEN = Statement(
    select(*_COLUMNS, published_feeds.c.user_id)
    .join_from(published_feeds, users, users.c.id == published_feeds.c.user_id)
    .where(published_feeds.c.token_hash == bindparam("hash"), users.c.disabled_at.is_(None))
)
_TOUCH = Statement(
    update(published_feeds)
    .where(published_feeds.c.id == bindparam("feed"))
    .values(last_used_at=bindparam("now"))
)
_SEARCH = Statement(
    select(searches.c.query).where(
        searches.c.user_id == bindparam("owner"), searches.c.id == bindparam("search")
    )
)


async def of_user(tx: Tx, user_id: int) -> list[PublishedFeed]:
    return [_feed(row) for row in await tx.all(_LIST, {"owner": user_id})]


async def get(tx: Tx, user_id: int, feed_id: int) -> PublishedFeed | None:
    return _feed_or_none(await tx.one(_GET, {"owner": user_id, "feed": feed_id}))


async def count(tx: Tx, user_id: int) -> int:
    return await tx.value(_COUNT, {"owner": user_id})


async def add(
    tx: Tx, user_id: int, name: str, view: PublishedView, *, token_hash: str, now: Instant
) -> PublishedFeed:
    row = await tx.one(
        _ADD,
        {
            "user_id": user_id,
            "name": name,
            "token_hash": token_hash,
            "view": orjson.dumps(view).decode(),
            "created_at": now,
        },
    )
    assert row is not None
    return _feed(row)


async def rename(tx: Tx, user_id: int, feed_id: int, name: str) -> PublishedFeed | None:
    return _feed_or_none(await tx.one(_RENAME, {"owner": user_id, "feed": feed_id, "new_name": name}))


async def renew(tx: Tx, user_id: int, feed_id: int, *, token_hash: str) -> PublishedFeed | None:
    """Give it a new URL; the old one stops working."""
    return _feed_or_none(await tx.one(_RENEW, {"owner": user_id, "feed": feed_id, "new_hash": token_hash}))


async def remove(tx: Tx, user_id: int, feed_id: int) -> bool:
    return await tx.run(_DELETE, {"owner": user_id, "feed": feed_id}) == 1


async def by_token(tx: Tx, token_hash: str) -> tuple[int, PublishedFeed] | None:
    """Return the user and the feed with this URL token."""
    row = await tx.one(_BY_TOKEN, {"hash": token_hash})
    if row is None:
        return None
    *feed, user_id = row
    return user_id, _feed(feed)


async def touch(tx: Tx, feed_id: int, now: Instant) -> None:
    await tx.run(_TOUCH, {"feed": feed_id, "now": now})


async def search_text(tx: Tx, user_id: int, search_id: int) -> str | None:
    """Return the query of a saved search; None if it does not exist."""
    return await tx.value(_SEARCH, {"owner": user_id, "search": search_id})


def _feed_or_none(row: Row | None) -> PublishedFeed | None:
    return None if row is None else _feed(row)


def _feed(row: Row | list[Any]) -> PublishedFeed:
    id_, name, view, created_at, last_used_at = row
    return PublishedFeed(id_, name, PublishedView(**orjson.loads(view)), created_at, last_used_at)
