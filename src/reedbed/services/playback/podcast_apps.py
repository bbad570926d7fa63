"""Podcast apps: which podcasts a user follows, what was played, and logins that the page grants."""

import secrets
from collections.abc import Sequence

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.playback import (
    APP_LOGIN_TTL,
    EpisodeAction,
    EpisodeKey,
    PlayedEpisode,
    PodcastChange,
    RecordingId,
    bare_address,
    find_episode,
)
from reedbed.domain.records import record
from reedbed.domain.text import clean_line
from reedbed.domain.times import Instant
from reedbed.domain.users import APP_SCOPES, Allowance, Caller
from reedbed.services.auth import create_app_password
from reedbed.services.playback.positions import apply_report, publish_queue
from reedbed.services.runtime import Runtime
from reedbed.services.security import network_of, spend, token_hash
from reedbed.services.subscriptions.discover import without_credentials
from reedbed.services.subscriptions.manage import AlreadySubscribed, SubscribeOptions, subscribe, unsubscribe
from reedbed.store import users
from reedbed.store.engine.database import Tx
from reedbed.store.playback import podcast_apps, positions
from reedbed.store.visibility import lock_entry

MAX_ACTIONS = 10_000
MAX_EPISODES = 20_000
MAX_PODCASTS = 1_000
APP_LOGINS = Allowance(20, 1 / 30)
MANY_LOGINS = "Too many logins. Try again in a few minutes."


async def list_podcasts(runtime: Runtime, user_id: int, since: Instant) -> tuple[list[PodcastChange], list[str]]:
    """The podcasts followed since then, and the URLs of those left since then."""
    async with runtime.db.read() as tx:
        found = await podcast_apps.changes(tx, user_id)
    added = [one for one in found if one.unsubscribed_at is None and one.subscribed_at >= since]
    left = [one.shown_url for one in found if one.unsubscribed_at is not None and one.unsubscribed_at >= since > 0]
    return added, left


async def change_podcasts(runtime: Runtime, user_id: int, add: Sequence[str], remove: Sequence[str]) -> None:
    """Follow and leave podcasts by their URLs. What is no address of a feed is left out."""
    async with runtime.db.read() as tx:
        known = {bare_address(one.shown_url): one for one in await podcast_apps.changes(tx, user_id)}
    for url in list(dict.fromkeys(add))[:MAX_PODCASTS]:
        existing = known.get(bare_address(url))
        if existing is None or existing.unsubscribed_at is not None:
            await _follow(runtime, user_id, existing.url if existing else url, url)
    for url in remove[:MAX_PODCASTS]:
        existing = known.get(bare_address(url))
        if existing is not None and existing.unsubscribed_at is None:
            await unsubscribe(runtime, user_id, existing.subscription_id)


async def _follow(runtime: Runtime, user_id: int, url: str, asked_as: str) -> None:
    try:
        # The app has read the feed already and sends a hundred at a time, so they are not fetched first.
        options = SubscribeOptions(url, looked=True, asked_as=without_credentials(asked_as))
        subscription = await subscribe(runtime, user_id, options)
    except (AlreadySubscribed, Invalid, Conflict):
        return
    async with runtime.db.write() as tx:
        await podcast_apps.mark_podcast(tx, subscription.feed.id)


async def list_played(runtime: Runtime, user_id: int, since: Instant) -> list[PlayedEpisode]:
    async with runtime.db.read() as tx:
        return await podcast_apps.played_since(tx, user_id, since, limit=MAX_ACTIONS)


async def apply_actions(runtime: Runtime, user_id: int, actions: Sequence[EpisodeAction]) -> None:
    """Store the positions of an app. Actions about other users' podcasts or unknown episodes are left out."""
    async with runtime.db.read() as tx:
        followed = {bare_address(one.shown_url): one for one in await podcast_apps.changes(tx, user_id)}
        followed |= {bare_address(one.url): one for one in followed.values()}
        episodes: dict[int, list[EpisodeKey]] = {}
        found: list[tuple[RecordingId, EpisodeAction]] = []
        for action in actions[:MAX_ACTIONS]:
            podcast = followed.get(bare_address(action.podcast))
            if podcast is None or podcast.unsubscribed_at is not None or action.report() is None:
                continue
            if podcast.feed_id not in episodes:
                episodes[podcast.feed_id] = await _episodes(tx, user_id, podcast.feed_id)
            id = find_episode(episodes[podcast.feed_id], action)
            if id is not None:
                found.append((id, action))
    await _store(runtime, user_id, found)


async def _episodes(tx: Tx, user_id: int, feed_id: int) -> list[EpisodeKey]:
    return await podcast_apps.episodes(tx, user_id, feed_id, limit=MAX_EPISODES)


async def _store(runtime: Runtime, user_id: int, found: Sequence[tuple[RecordingId, EpisodeAction]]) -> None:
    if not found:
        return
    ended: set[RecordingId] = set()
    async with runtime.db.write() as tx:
        for id, action in sorted(found, key=lambda pair: pair[1].played_at or 0):
            report = action.report()
            # The entry may have been deleted since it was found.
            if report is None or not await lock_entry(tx, id.entry_id):
                continue
            stored = await apply_report(tx, runtime, user_id, id, report)
            if stored.applied and report.done:
                ended.add(id)
        if ended:
            await positions.lock_queue(tx, user_id)
            queue = await positions.queue_ids(tx, user_id)
            if ended.intersection(queue):
                await positions.set_queue(tx, user_id, [id for id in queue if id not in ended], runtime.now())
    await publish_queue(runtime, user_id, "")


# --- Logins that the page grants (the Login flow v2 of Nextcloud)


@record
class StartedLogin:
    poll_token: str
    code: str


@record
class GrantedLogin:
    email: str
    password: str


async def start_login(runtime: Runtime, name: str, ip: str | None) -> StartedLogin:
    await spend(runtime, f"app-logins:{network_of(ip)}", APP_LOGINS, MANY_LOGINS)
    started = StartedLogin(secrets.token_urlsafe(48), secrets.token_urlsafe(24))
    now = runtime.now()
    async with runtime.db.write() as tx:
        await podcast_apps.add_login(
            tx,
            token_hash(started.poll_token),
            token_hash(started.code),
            clean_line(name)[:100] or "A podcast app",
            created_at=now,
            expires_at=now + APP_LOGIN_TTL,
        )
    return started


async def pending_login(runtime: Runtime, code: str) -> tuple[str, bool]:
    """The name of the app that waits, and whether it was granted already."""
    async with runtime.db.read() as tx:
        found = await podcast_apps.get_login(tx, token_hash(code), runtime.now())
    if found is None:
        raise NotFound("This login has expired. Begin again in the app.")
    return found


async def grant_login(runtime: Runtime, caller: Caller, code: str) -> None:
    async with runtime.db.write() as tx:
        if not await podcast_apps.grant_login(tx, token_hash(code), caller.user_id, runtime.now()):
            raise NotFound("This login has expired. Begin again in the app.")


async def take_login(runtime: Runtime, poll_token: str) -> GrantedLogin | None:
    """An app password, made when the app asks for it after the grant; None until then."""
    async with runtime.db.write() as tx:
        taken = await podcast_apps.take_login(tx, token_hash(poll_token), runtime.now())
        user = await users.get(tx, taken[0]) if taken else None
    if taken is None or user is None or user.disabled_at is not None:
        return None
    made = await create_app_password(runtime, Caller(user, APP_SCOPES), taken[1])
    return GrantedLogin(user.email, made.secret)
