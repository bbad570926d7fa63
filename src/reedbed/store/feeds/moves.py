"""Moves a feed to a new URL as if it were a new feed, without showing its present entries to new subscribers."""

from sqlalchemy import BigInteger, bindparam, delete, false, null, true, update

from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, insert, select
from reedbed.store.feeds.merge import list_subscribers, restrict_entries
from reedbed.store.framing import documents as framed_documents
from reedbed.store.tables import (
    feed_fetch_state,
    feeds,
    imported_reads,
    removed_keys,
    subscriptions,
    websub_subscriptions,
)
from reedbed.store.visibility import lock_feed, lock_subscribers

_feed = bindparam("feed", type_=BigInteger)
_IMPORT_REMOVED_AS_READ = Command(
    insert(imported_reads)
    .from_select(
        ["feed_id", "key", "user_id", "created_at"],
        select(removed_keys.c.feed_id, removed_keys.c.key, subscriptions.c.user_id, bindparam("now", type_=BigInteger))
        .join_from(removed_keys, subscriptions, subscriptions.c.feed_id == removed_keys.c.feed_id)
        .where(removed_keys.c.feed_id == _feed, removed_keys.c.missed_at.is_(None)),
    )
    .on_conflict_do_nothing()
)
_DELETE_REMOVED_KEYS = Command(delete(removed_keys).where(removed_keys.c.feed_id == _feed))
_DELETE_HUB = Command(delete(websub_subscriptions).where(websub_subscriptions.c.feed_id == _feed))
_CLEAR_METADATA = Command(
    update(feeds)
    .where(feeds.c.id == _feed)
    .values(
        description=null(),
        site_url=null(),
        self_url=null(),
        hub_url=null(),
        language=null(),
        icon_url=null(),
        icon_id=null(),
        icon_checked_at=null(),
        guid_unreliable=false(),
        guid_collisions=0,
    )
)
_RESET_FETCH_STATE = Command(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.feed_id == _feed)
    .values(
        status="pending",
        etag=null(),
        last_modified=null(),
        cache_control=null(),
        body_hash=null(),
        last_success_at=null(),
        newest_entry_id=0,
        newest_entry_at=null(),
        oldest_listed_id=0,
        average_gap=null(),
        next_check_at=bindparam("now", type_=BigInteger),
        urgent=true(),
    )
)


async def start_over(tx: Tx, feed_id: int, now: Instant) -> list[int]:
    """Restrict the present entries to the current subscribers and fetch the feed as if it were new.

    Entries of the next document that these users already had keep their states. Returns these users.
    """
    await lock_feed(tx, feed_id)
    await lock_subscribers(tx, feed_id)
    users = await list_subscribers(tx, feed_id)
    await restrict_entries(tx, {"old": feed_id, "new": feed_id}, ())
    await framed_documents.drop(tx, feed_id)
    for statement in (_IMPORT_REMOVED_AS_READ, _DELETE_REMOVED_KEYS, _DELETE_HUB, _CLEAR_METADATA, _RESET_FETCH_STATE):
        await tx.run(statement, {"feed": feed_id, "now": now})
    return users
