"""What podcast apps synchronise: podcasts followed and left, episodes, positions, and pending logins."""

from typing import Any

from sqlalchemy import BigInteger, bindparam, delete, true, update

from reedbed.domain.playback import EpisodeKey, PlayedEpisode, PodcastChange, RecordingId
from reedbed.domain.times import Instant
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Command, Query, func, insert, row_of, select
from reedbed.store.entries.columns import visible
from reedbed.store.tables import app_logins, entries, feeds, playback_positions, recordings, subscriptions

_USER = bindparam("user_id", type_=BigInteger)
_CHANGES = Query(
    select(
        subscriptions.c.id,
        subscriptions.c.feed_id,
        feeds.c.url,
        subscriptions.c.asked_url,
        subscriptions.c.subscribed_at,
        subscriptions.c.unsubscribed_at,
        func.coalesce(subscriptions.c.title, func.nullif(feeds.c.title, ""), feeds.c.url),
    )
    .join_from(subscriptions, feeds, feeds.c.id == subscriptions.c.feed_id)
    .where(subscriptions.c.user_id == _USER, feeds.c.has_recordings)
    .order_by(subscriptions.c.id),
    into=PodcastChange,
)
_EPISODES = Query(
    select(recordings.c.entry_id, recordings.c.number, entries.c.guid, recordings.c.url)
    .join_from(entries, recordings, recordings.c.entry_id == entries.c.id)
    .where(entries.c.feed_id == bindparam("feed_id"), visible(with_muted=True))
    .order_by(entries.c.sort_at.desc(), entries.c.id.desc(), recordings.c.number)
    .limit(bindparam("limit", type_=BigInteger)),
    into=EpisodeKey,
)
_MARK_PODCAST = Command(
    update(feeds).where(feeds.c.id == bindparam("feed"), ~feeds.c.has_recordings).values(has_recordings=true())
)


def _played(entry_id: int, number: int, *columns: Any) -> PlayedEpisode:
    *texts, done = columns
    return PlayedEpisode(RecordingId(entry_id, number), *texts, done=bool(done))


_PLAYED = Query(
    select(
        playback_positions.c.entry_id,
        playback_positions.c.number,
        feeds.c.url,
        subscriptions.c.asked_url,
        recordings.c.url,
        entries.c.guid,
        playback_positions.c.started,
        playback_positions.c.seconds,
        func.coalesce(playback_positions.c.total, recordings.c.seconds),
        playback_positions.c.played_at,
        playback_positions.c.done,
    )
    .join_from(playback_positions, entries, entries.c.id == playback_positions.c.entry_id)
    .join(
        recordings,
        (recordings.c.entry_id == playback_positions.c.entry_id) & (recordings.c.number == playback_positions.c.number),
    )
    .join(feeds, feeds.c.id == entries.c.feed_id)
    .join(subscriptions, (subscriptions.c.feed_id == feeds.c.id) & (subscriptions.c.user_id == _USER))
    .where(
        playback_positions.c.user_id == _USER,
        playback_positions.c.changed_at >= bindparam("since"),
        subscriptions.c.unsubscribed_at.is_(None),
    )
    .order_by(playback_positions.c.changed_at, playback_positions.c.entry_id)
    .limit(bindparam("limit", type_=BigInteger)),
    into=_played,
)


async def changes(tx: Tx, user_id: int) -> list[PodcastChange]:
    """The user's podcasts, and those the user has left."""
    return await tx.all(_CHANGES, {"user_id": user_id})


async def episodes(tx: Tx, user_id: int, feed_id: int, *, limit: int) -> list[EpisodeKey]:
    return await tx.all(_EPISODES, {"user_id": user_id, "feed_id": feed_id, "limit": limit})


async def played_since(tx: Tx, user_id: int, since: Instant, *, limit: int) -> list[PlayedEpisode]:
    return await tx.all(_PLAYED, {"user_id": user_id, "since": since, "limit": limit})


async def mark_podcast(tx: Tx, feed_id: int) -> None:
    """A podcast app follows the feed, so it is one even before its first check."""
    await tx.run(_MARK_PODCAST, {"feed": feed_id})


# --- Logins by the page, until the app has fetched its password

_ADD = Command(insert(app_logins), columns=["poll_hash", "code_hash", "name", "created_at", "expires_at"])
_NAME = Query(
    select(app_logins.c.name, app_logins.c.user_id.is_not(None)).where(
        app_logins.c.code_hash == bindparam("code"), app_logins.c.expires_at > bindparam("now")
    ),
    into=row_of(str, bool),
)
_GRANT = Command(
    update(app_logins)
    .where(
        app_logins.c.code_hash == bindparam("code"),
        app_logins.c.expires_at > bindparam("now"),
        app_logins.c.user_id.is_(None),
    )
    .values(user_id=bindparam("granting", type_=BigInteger))
)
_TAKE = Query(
    delete(app_logins)
    .where(
        app_logins.c.poll_hash == bindparam("poll"),
        app_logins.c.expires_at > bindparam("now"),
        app_logins.c.user_id.is_not(None),
    )
    .returning(app_logins.c.user_id, app_logins.c.name),
    into=row_of(int, str),
)
_DELETE_OLD_LOGINS = Command(delete(app_logins).where(app_logins.c.expires_at <= bindparam("now")))


async def add_login(
    tx: Tx, poll_hash: str, code_hash: str, name: str, *, created_at: Instant, expires_at: Instant
) -> None:
    await tx.run(_DELETE_OLD_LOGINS, {"now": created_at})
    params = {"poll_hash": poll_hash, "code_hash": code_hash, "name": name}
    await tx.run(_ADD, {**params, "created_at": created_at, "expires_at": expires_at})


async def get_login(tx: Tx, code_hash: str, now: Instant) -> tuple[str, bool] | None:
    """The name of the app, and whether a user has granted it."""
    return await tx.one(_NAME, {"code": code_hash, "now": now})


async def grant_login(tx: Tx, code_hash: str, user_id: int, now: Instant) -> bool:
    return await tx.run(_GRANT, {"code": code_hash, "granting": user_id, "now": now}) == 1


async def take_login(tx: Tx, poll_hash: str, now: Instant) -> tuple[int, str] | None:
    """The user and the app of a granted login, once."""
    return await tx.one(_TAKE, {"poll": poll_hash, "now": now})
