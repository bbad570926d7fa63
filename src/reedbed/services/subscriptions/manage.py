"""Following: subscribe by any address, change, pause, leave and come back."""

import asyncio
from contextlib import suppress
from dataclasses import field, replace

import structlog

from reedbed.domain.errors import Conflict, Invalid, NotFound, Unavailable
from reedbed.domain.feeds import check_login, check_password, check_username
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.outcomes import Outcome
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.retention import RetentionOverride as Keep
from reedbed.domain.retention import check_wish
from reedbed.domain.subscriptions import Discovery, Subscription, check_full_text, check_interval
from reedbed.domain.summaries import check_summary_words
from reedbed.domain.text import shown_line
from reedbed.domain.times import Instant, Millis
from reedbed.domain.unset import UNSET, Unset
from reedbed.domain.urls import feed_name, is_private_address
from reedbed.services.newsletters.senders import leave_list
from reedbed.services.refresh import check as crawl
from reedbed.services.refresh.check import refresh_feed, request_refresh, reschedule, wake_worker
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.rules.match import ask_rules_later
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import (
    Address,
    fetch_candidate,
    find_feeds,
    previewed,
    split_credentials,
    typed_login,
)
from reedbed.store import folders, refresh, subscriptions, users
from reedbed.store.engine.database import Tx
from reedbed.store.feeds import admin as operator_feeds
from reedbed.store.feeds import feeds
from reedbed.store.read_state import unread

log = structlog.get_logger()

LOOK_SECONDS = 12.0
"""How long a person waits for us to look behind an address; after that it is followed as it was given."""

MAX_SUBSCRIPTIONS = 10_000
ALREADY_ADDED = "You have already added this feed"
ALREADY_THERE = "A feed with this URL already exists"
NO_SUCH = "Feed not found"


class AlreadyFollowed(Conflict):
    def __init__(self, subscription_id: int) -> None:
        super().__init__(ALREADY_ADDED, field="url")
        self.subscription_id = subscription_id


@record
class SubscribeOptions:
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
    username: str | None = None
    """With a password, in place of those in the address; the feed is private then."""
    password: str | None = field(default=None, repr=False)
    feed_title: str = ""
    """What a new feed is called until its first document says so."""


async def subscribe(runtime: Runtime, user_id: int, wish: SubscribeOptions) -> Subscription:
    """Follow the feed at or behind an address. What was fetched to find it is stored as its first check."""
    asked = typed_login(wish.url, wish.username, wish.password)
    title = feed_name(wish.title) if wish.title is not None else None
    found = None if wish.looked else await _look_behind(runtime, user_id, wish, asked)
    address = asked.at(found.candidates[0].url) if found and found.candidates else asked
    answer = _first_answer(found, address.url)
    async with runtime.db.write() as tx:
        await _check_folder(tx, user_id, wish.folder_id)
        subscription_id = await follow_address(
            tx,
            runtime.now(),
            user_id,
            replace(
                wish,
                url=address.url,
                username=address.username,
                password=address.password,
                title=title,
                feed_title=shown_line(found.candidates[0].title) if found and found.candidates else "",
            ),
            asked_url=wish.asked_as or asked.url,
        )
        await users.record_event(
            tx, runtime.now(), "feed_added", user_id, {"subscription_id": subscription_id}
        )
        made = await subscriptions.get(tx, user_id, subscription_id)
        assert made is not None
        due = await _lease_for_first_check(tx, runtime, made) if answer is not None else None
    runtime.meters.subscriptions.add()
    # Before its first entries: a live stream passes on those of feeds that it knows to be followed.
    await _announce(runtime, user_id)
    if due is not None and answer is not None:
        await _first_check(runtime, due, answer)
        made = await _get(runtime, user_id, subscription_id)
        await _announce(runtime, user_id)
    return made


async def follow_address(
    tx: Tx, now: Instant, user_id: int, wish: SubscribeOptions, *, asked_url: str
) -> int:
    """The writes of following one address."""
    address = split_credentials(wish.url)
    if wish.username is not None:
        address = Address(address.url, wish.username, wish.password)
    feed_id, made = await _feed_at(tx, now, user_id, address, wish.feed_title)
    if not made:
        await operator_feeds.welcome_reader(tx, feed_id)
    known = await subscriptions.get_by_feed(tx, user_id, feed_id)
    if known is not None and known[1]:
        raise AlreadyFollowed(known[0])
    if address.secret:
        await _set_credentials(tx, now, feed_id, address, fetched=not made)
    if known is not None:
        await subscriptions.resubscribe(
            tx, user_id, feed_id, folder_id=wish.folder_id, title=wish.title, asked_url=asked_url, now=now
        )
        await unread.restore_unread(tx, user_id, feed_id)
        await ask_rules_later(tx, user_id, feed_id, now)
        await refresh.wake(tx, feed_id, now)
        return known[0]
    if await subscriptions.count(tx, user_id) >= MAX_SUBSCRIPTIONS:
        raise Conflict(f"There can be at most {MAX_SUBSCRIPTIONS} feeds.")
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
    await unread.init_unread(tx, user_id, feed_id)
    if not made:
        await ask_rules_later(tx, user_id, feed_id, now)
    await refresh.wake(tx, feed_id, now)
    return subscription_id


@record
class SubscriptionChange:
    """What to change of a subscription; what is not given stays."""

    title: str | Unset | None = UNSET
    folder_id: int | Unset | None = UNSET
    url: str | Unset = UNSET
    username: str | Unset | None = UNSET
    """None takes name and password away; with either, the feed is the user's own."""
    password: str | Unset | None = field(default=UNSET, repr=False)
    paused: bool | Unset = UNSET
    interval: Millis | Unset | None = UNSET
    full_text: str | Unset = UNSET
    notify: bool | Unset = UNSET
    keep_entries: int | Unset | None = UNSET
    keep_days: int | Unset | None = UNSET
    keep_unread_days: int | Unset | None = UNSET
    summary_words: int | Unset | None = UNSET
    local_only: bool | Unset = UNSET


async def change_subscription(
    runtime: Runtime, user_id: int, subscription_id: int, change: SubscriptionChange
) -> Subscription:
    current = await _get(runtime, user_id, subscription_id)
    wanted = _changed(current, change)
    async with runtime.db.write() as tx:
        await _check_folder(tx, user_id, wanted.folder_id)
        await subscriptions.change(tx, user_id, wanted)
        other_interval = _interval_in_force(wanted) != _interval_in_force(current)
        if other_interval:
            await reschedule(tx, runtime, current.feed.id)
        if current.paused and not wanted.paused:
            await refresh.wake(tx, current.feed.id, runtime.now())
        if not all(isinstance(given, Unset) for given in (change.url, change.username, change.password)):
            await _change_address(tx, runtime.now(), user_id, wanted, change)
        changed = await subscriptions.get(tx, user_id, subscription_id)
    assert changed is not None
    await _announce(runtime, user_id)
    if other_interval:
        await wake_worker(runtime)
    return changed


def _interval_in_force(subscription: Subscription) -> Millis | None:
    return None if subscription.paused else subscription.interval


async def unsubscribe(runtime: Runtime, user_id: int, subscription_id: int) -> None:
    """Soft: the read state waits, should the user come back."""
    current = await _get(runtime, user_id, subscription_id)
    async with runtime.db.write() as tx:
        await _leave(tx, runtime.now(), user_id, current)
        if current.feed.kind == "mail":
            await leave_list(tx, runtime.now(), user_id, current.feed.id)
    await _announce(runtime, user_id)


@record
class RefusedRefresh:
    subscription_id: int
    reason: str
    retry_at: Instant | None = None
    """When the site may be asked again."""


async def refresh_subscription(runtime: Runtime, user_id: int, subscription_id: int) -> RefusedRefresh | None:
    """Ask for a check now; None when it was taken."""
    current = await _get(runtime, user_id, subscription_id)
    asked = await request_refresh(runtime, [current.feed.id], user_id=user_id)
    return None if asked else _refused_refresh(current)


async def refresh_all(runtime: Runtime, user_id: int) -> tuple[int, list[RefusedRefresh]]:
    """Ask for a check of everything that is not paused; how many will be looked at, and what will not."""
    async with runtime.db.read() as tx:
        wanted = await subscriptions.feeds_of(tx, user_id)
    asked = set(await request_refresh(runtime, wanted, user_id=user_id)) if wanted else set[int]()
    left = set(wanted) - asked
    if not left:
        return len(asked), []
    async with runtime.db.read() as tx:
        followed = await subscriptions.every(tx, user_id)
    return len(asked), [_refused_refresh(one) for one in followed if one.feed.id in left]


def _refused_refresh(one: Subscription) -> RefusedRefresh:
    if one.feed.kind != "web":
        return RefusedRefresh(one.id, "Nothing is fetched for this feed: its entries come by other ways.")
    if not one.feed.enabled:
        return RefusedRefresh(one.id, "The operator of this server has turned this feed off.")
    until = one.feed.state.retry_after_until
    return RefusedRefresh(one.id, "The site has asked to be left alone for a while.", until)


async def _feed_at(tx: Tx, now: Instant, user_id: int, address: Address, title: str) -> tuple[int, bool]:
    """The user's own feed at this address, else the one that all share; and whether it was made."""
    own = await feeds.get_by_url(tx, address.url, user_id)
    if own is not None:
        return own, False
    private = address.secret or is_private_address(address.url)
    if private and not address.secret:
        # It was shared before addresses like this one were known to be private.
        shared = await feeds.get_by_url(tx, address.url)
        known = await subscriptions.get_by_feed(tx, user_id, shared) if shared is not None else None
        if shared is not None and known is not None and known[1]:
            return shared, False
    return await feeds.find_or_add(tx, address.url, now, owner_id=user_id if private else None, title=title)


async def _set_credentials(tx: Tx, now: Instant, feed_id: int, address: Address, *, fetched: bool) -> None:
    """Of a private feed. What is known of its document was perhaps written for somebody else."""
    await feeds.set_credentials(tx, feed_id, address.username, address.password)
    if fetched:
        await operator_feeds.read_anew(tx, feed_id)
        await refresh.request_check(tx, [feed_id], now)


async def _look_behind(
    runtime: Runtime, user_id: int, wish: SubscribeOptions, asked: Address
) -> Discovery | None:
    """What is at the address, None for a feed that is known here.

    A site that is down or slow may still be followed: its checks will say what is wrong.
    """
    async with runtime.db.read() as tx:
        known = await feeds.get_by_url(tx, asked.url, user_id)
        if known is not None or (not asked.secret and await feeds.get_by_url(tx, asked.url) is not None):
            return None
    found = previewed(runtime, user_id, asked) or await _discover(runtime, wish, asked)
    if found.candidates or (found.unreachable and not wish.only_found):
        return found
    raise Invalid(found.reason or "No feed was found at this address.", field="url")


async def _discover(runtime: Runtime, wish: SubscribeOptions, asked: Address) -> Discovery:
    """Within the time that a person waits, so perhaps without the document of the feed that was found."""
    found = Discovery(reason="The site took too long to answer.", unreachable=True)
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            found = await find_feeds(runtime, wish.url, username=asked.username, password=asked.password)
            found = await fetch_candidate(runtime, asked, found)
    return found


def _first_answer(found: Discovery | None, url: str) -> Outcome | None:
    """What the server of this feed has just said, so that it need not be asked again."""
    if found is None or found.document is None:
        return None if found is None else found.failure
    if found.document.url == url:  # the feed is followed where a permanent redirect has led to
        return replace(found.document, redirected=None)
    return found.document


async def _lease_for_first_check(tx: Tx, runtime: Runtime, made: Subscription) -> DueFeed | None:
    """In the transaction that makes the feed, so that no worker fetches it at the same time."""
    if made.feed.state.last_checked_at is not None or not made.feed.enabled:
        return None
    return await refresh.claim(tx, made.feed.id, runtime.name, runtime.now(), runtime.fetching.lease)


async def _first_check(runtime: Runtime, due: DueFeed, answer: Outcome) -> None:
    """On the way of every check. Where it fails, a worker fetches the feed."""
    try:
        async with OutcomeWriter(runtime) as writer:
            await refresh_feed(runtime, due, writer, answer)
    except Exception:
        log.exception("the first document of a feed could not be stored", feed=due.id)
        with suppress(Unavailable):
            await crawl.release(runtime, [due.id])


async def _change_address(
    tx: Tx, now: Instant, user_id: int, current: Subscription, change: SubscriptionChange
) -> None:
    known = (await feeds.credentials(tx, user_id)).get(current.feed.id, (None, None))
    before = Address(current.feed.url, *known)
    after = _changed_login(_changed_address(before, current, change), change)
    if after == before:
        return
    if after.url == before.url and current.feed.private:
        await _set_credentials(tx, now, current.feed.id, after, fetched=True)
    else:
        await _move(tx, now, user_id, current, after)


def _changed_address(before: Address, current: Subscription, change: SubscriptionChange) -> Address:
    # A form sends back the address it was shown, also one that nobody could type, like a newsletter's.
    if isinstance(change.url, Unset) or change.url in (current.feed.url, current.asked_url):
        return before
    typed = typed_login(change.url)
    if not typed.secret and typed.url in (current.feed.url, current.asked_url):
        return before
    return typed if typed.secret else before.at(typed.url)


def _changed_login(address: Address, change: SubscriptionChange) -> Address:
    if isinstance(change.username, Unset) and isinstance(change.password, Unset):
        return address
    username = address.username if isinstance(change.username, Unset) else check_username(change.username)
    password = address.password if isinstance(change.password, Unset) else check_password(change.password)
    if not isinstance(change.password, Unset):
        check_login(username, password)
    return Address(address.url) if username is None else Address(address.url, username, password)


async def _move(tx: Tx, now: Instant, user_id: int, current: Subscription, to: Address) -> None:
    """The subscription keeps its id; what was read of the feed it leaves waits under another."""
    wish = SubscribeOptions(
        to.url, current.folder_id, current.own_title, username=to.username, password=to.password
    )
    try:
        moved_to = await follow_address(tx, now, user_id, wish, asked_url=to.url)
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
    await subscriptions.unsubscribe(tx, user_id, current.id, now)
    await unread.park(tx, user_id, current.feed.id)


def _changed(current: Subscription, change: SubscriptionChange) -> Subscription:
    title = change.title
    return replace(
        current,
        own_title=current.own_title
        if isinstance(title, Unset)
        else feed_name(title)
        if title is not None
        else None,
        folder_id=current.folder_id if isinstance(change.folder_id, Unset) else change.folder_id,
        paused=current.paused if isinstance(change.paused, Unset) else change.paused,
        interval=current.interval if isinstance(change.interval, Unset) else check_interval(change.interval),
        full_text=current.full_text
        if isinstance(change.full_text, Unset)
        else check_full_text(change.full_text),
        notify=current.notify if isinstance(change.notify, Unset) else change.notify,
        keep=_kept(current.keep, change),
        summary_words=current.summary_words
        if isinstance(change.summary_words, Unset)
        else check_summary_words(change.summary_words),
        local_only=current.local_only if isinstance(change.local_only, Unset) else change.local_only,
    )


def _kept(current: Keep, change: SubscriptionChange) -> Keep:
    entries, days, unread_days = change.keep_entries, change.keep_days, change.keep_unread_days
    return check_wish(
        Keep(
            entries=current.entries if isinstance(entries, Unset) else entries,
            days=current.days if isinstance(days, Unset) else days,
            unread_days=current.unread_days if isinstance(unread_days, Unset) else unread_days,
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
    await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    await wake_worker(runtime)
