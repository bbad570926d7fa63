"""Following: subscribe by any address, change, pause, leave and come back."""

import asyncio
from dataclasses import dataclass, replace

from reedbed.domain.auto_summaries import check_summary_words
from reedbed.domain.discovery import Discovery
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.hints import Hint
from reedbed.domain.retention import Wish as Keep
from reedbed.domain.retention import check_wish
from reedbed.domain.same import SAME, Same
from reedbed.domain.subscriptions import Subscription, check_full_text, check_interval
from reedbed.domain.times import Instant, Millis
from reedbed.domain.urls import feed_address, feed_name, is_private_address
from reedbed.ingest.discover import discover
from reedbed.services.arrival import ask_rules_later
from reedbed.services.credentials import split_credentials
from reedbed.services.newsletter_senders import leave_list
from reedbed.services.refresh import request_refresh, wake_worker
from reedbed.services.runtime import Runtime
from reedbed.store import events, feeds, fetch_state, folders, operator_feeds, subscriptions, unread
from reedbed.store.database import Tx

LOOK_SECONDS = 12.0
"""How long a person waits for us to look behind an address; after that it is followed as it was given."""

MOST_SUBSCRIPTIONS = 10_000
ALREADY_ADDED = "You have already added this feed"
ALREADY_THERE = "A feed with this URL already exists"
NO_SUCH = "Feed not found"


class AlreadyFollowed(Conflict):
    pass


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user asks for when following; `looked` when somebody has checked that it is a feed."""

    url: str
    folder_id: int | None = None
    title: str | None = None
    opml: str | None = None
    looked: bool = False
    only_found: bool = False
    """Not an address that does not answer: for programs, which cannot show what is wrong with it."""
    asked_as: str | None = None
    """The address letter by letter, for programs that look for it again; never with credentials."""


async def subscribe(runtime: Runtime, user_id: int, wish: Wish) -> Subscription:
    """Follow the feed at or behind an address; fetched at once."""
    asked = feed_address(wish.url)
    title = feed_name(wish.title) if wish.title is not None else None
    address = (
        asked if wish.looked else await _look_behind(runtime, user_id, asked, only_found=wish.only_found)
    )
    async with runtime.db.write() as tx:
        await _check_folder(tx, user_id, wish.folder_id)
        subscription_id = await follow_address(
            tx,
            runtime.now(),
            user_id,
            replace(wish, url=address, title=title),
            asked_url=wish.asked_as or split_credentials(asked).url,
        )
        await events.note(tx, runtime.now(), "feed_added", user_id, {"subscription_id": subscription_id})
        made = await subscriptions.get(tx, user_id, subscription_id)
    assert made is not None
    runtime.meters.subscriptions.add()
    await _announce(runtime, user_id)
    return made


async def follow_address(tx: Tx, now: Instant, user_id: int, wish: Wish, *, asked_url: str) -> int:
    """The writes of following one address."""
    address = split_credentials(wish.url)
    private = address.secret or is_private_address(wish.url)
    feed_id, made = await feeds.find_or_add(tx, address.url, now, owner_id=user_id if private else None)
    if not made:
        await operator_feeds.welcome_reader(tx, feed_id)
    if made and address.username is not None:
        await feeds.set_credentials(tx, feed_id, address.username, address.password)
    known = await subscriptions.by_feed(tx, user_id, feed_id)
    if known is not None and known[1]:
        raise AlreadyFollowed(ALREADY_ADDED, field="url")
    if known is not None:
        await subscriptions.come_back(
            tx, user_id, feed_id, folder_id=wish.folder_id, title=wish.title, asked_url=asked_url, now=now
        )
        await unread.unpark(tx, user_id, feed_id)
        await ask_rules_later(tx, user_id, feed_id, now)
        await fetch_state.wake(tx, feed_id, now)
        return known[0]
    if await subscriptions.count(tx, user_id) >= MOST_SUBSCRIPTIONS:
        raise Conflict(f"There can be at most {MOST_SUBSCRIPTIONS} feeds.")
    subscription_id = await subscriptions.add(
        tx,
        user_id,
        feed_id,
        folder_id=wish.folder_id,
        title=wish.title,
        asked_url=asked_url,
        opml=wish.opml,
        now=now,
    )
    await unread.open_for(tx, user_id, feed_id)
    if not made:
        await ask_rules_later(tx, user_id, feed_id, now)
    await fetch_state.wake(tx, feed_id, now)
    return subscription_id


@dataclass(frozen=True, slots=True)
class Change:
    """What to change of a subscription; what is not given stays."""

    title: str | Same | None = SAME
    folder_id: int | Same | None = SAME
    url: str | Same = SAME
    paused: bool | Same = SAME
    interval: Millis | Same | None = SAME
    full_text: str | Same = SAME
    notify: bool | Same = SAME
    keep_entries: int | Same | None = SAME
    keep_days: int | Same | None = SAME
    keep_unread_days: int | Same | None = SAME
    summary_words: int | Same | None = SAME
    local_only: bool | Same = SAME


async def change_subscription(
    runtime: Runtime, user_id: int, subscription_id: int, change: Change
) -> Subscription:
    current = await _get(runtime, user_id, subscription_id)
    wanted = _changed(current, change)
    # A form sends back the address it was shown, also one that nobody could type, like a newsletter's.
    kept = isinstance(change.url, Same) or change.url == current.url
    address = None if kept else feed_address(str(change.url))
    async with runtime.db.write() as tx:
        await _check_folder(tx, user_id, wanted.folder_id)
        await subscriptions.change(tx, user_id, wanted)
        if current.paused and not wanted.paused:
            await fetch_state.wake(tx, current.feed.id, runtime.now())
        if address is not None and address not in (current.url, current.feed.url):
            await _move(tx, runtime.now(), user_id, wanted, address)
        changed = await subscriptions.get(tx, user_id, subscription_id)
    assert changed is not None
    await _announce(runtime, user_id)
    return changed


async def unsubscribe(runtime: Runtime, user_id: int, subscription_id: int) -> None:
    """Soft: the read state waits, should the user come back."""
    current = await _get(runtime, user_id, subscription_id)
    async with runtime.db.write() as tx:
        await _leave(tx, runtime.now(), user_id, current)
        if current.feed.kind == "mail":
            await leave_list(tx, runtime.now(), user_id, current.feed.id)
    await _announce(runtime, user_id)


async def refresh_subscription(runtime: Runtime, user_id: int, subscription_id: int) -> bool:
    """Ask for a check now; False while the server has asked to be left alone."""
    current = await _get(runtime, user_id, subscription_id)
    return bool(await request_refresh(runtime, [current.feed.id], user_id=user_id))


async def refresh_all(runtime: Runtime, user_id: int) -> int:
    """Ask for a check of everything that is not paused; how many will be looked at."""
    async with runtime.db.read() as tx:
        wanted = await subscriptions.feeds_of(tx, user_id)
    return len(await request_refresh(runtime, wanted, user_id=user_id)) if wanted else 0


async def _look_behind(runtime: Runtime, user_id: int, address: str, *, only_found: bool) -> str:
    """The feed's own address. A site that is down or slow may still be followed: the crawler will tell."""
    async with runtime.db.read() as tx:
        if await feeds.by_url(tx, address) or await feeds.by_url(tx, address, user_id):
            return address
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            found = await discover(runtime.fetcher, address)
    except TimeoutError:
        found = Discovery(reason="The site took too long to answer.", unreachable=True)
    if found.candidates:
        return found.candidates[0].url
    if found.unreachable and not only_found:
        return address
    raise Invalid(found.reason or "No feed was found at this address.", field="url")


async def _move(tx: Tx, now: Instant, user_id: int, current: Subscription, address: str) -> None:
    """The subscription keeps its id; what was read of the feed it leaves waits under another."""
    wish = Wish(address, current.folder_id, current.own_title)
    try:
        moved_to = await follow_address(tx, now, user_id, wish, asked_url=split_credentials(address).url)
    except AlreadyFollowed as error:
        raise Conflict(ALREADY_THERE, field="url") from error
    await _leave(tx, now, user_id, current)
    moved = await subscriptions.get(tx, user_id, moved_to)
    assert moved is not None
    await subscriptions.change(
        tx,
        user_id,
        replace(
            moved,
            paused=current.paused,
            interval=current.interval,
            full_text=current.full_text,
            notify=current.notify,
            keep=current.keep,
            summary_words=current.summary_words,
            local_only=current.local_only,
        ),
    )
    await subscriptions.exchange_ids(tx, user_id, current.id, moved_to)


async def _leave(tx: Tx, now: Instant, user_id: int, current: Subscription) -> None:
    await subscriptions.leave(tx, user_id, current.id, now)
    await unread.park(tx, user_id, current.feed.id)


def _changed(current: Subscription, change: Change) -> Subscription:
    title = change.title
    return replace(
        current,
        own_title=current.own_title
        if isinstance(title, Same)
        else feed_name(title)
        if title is not None
        else None,
        folder_id=current.folder_id if isinstance(change.folder_id, Same) else change.folder_id,
        paused=current.paused if isinstance(change.paused, Same) else change.paused,
        interval=current.interval if isinstance(change.interval, Same) else check_interval(change.interval),
        full_text=current.full_text
        if isinstance(change.full_text, Same)
        else check_full_text(change.full_text),
        notify=current.notify if isinstance(change.notify, Same) else change.notify,
        keep=_kept(current.keep, change),
        summary_words=current.summary_words
        if isinstance(change.summary_words, Same)
        else check_summary_words(change.summary_words),
        local_only=current.local_only if isinstance(change.local_only, Same) else change.local_only,
    )


def _kept(current: Keep, change: Change) -> Keep:
    entries, days, unread_days = change.keep_entries, change.keep_days, change.keep_unread_days
    return check_wish(
        Keep(
            entries=current.entries if isinstance(entries, Same) else entries,
            days=current.days if isinstance(days, Same) else days,
            unread_days=current.unread_days if isinstance(unread_days, Same) else unread_days,
        )
    )


async def _get(runtime: Runtime, user_id: int, subscription_id: int) -> Subscription:
    async with runtime.db.read() as tx:
        found = await subscriptions.get(tx, user_id, subscription_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def _check_folder(tx: Tx, user_id: int, folder_id: int | None) -> None:
    if folder_id is None:
        return
    if all(row.id != folder_id for row in await folders.of_user(tx, user_id)):
        raise NotFound("There is no such folder")


async def _announce(runtime: Runtime, user_id: int) -> None:
    await runtime.bus.publish(Hint("subscriptions", user_id=user_id))
    await wake_worker(runtime)
