"""Manage subscriptions: subscribe by any URL, change, pause, refresh, unsubscribe and resubscribe."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace

import structlog

from reedbed.domain.errors import Conflict, Invalid, NotFound, Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import check_login, check_password, check_username
from reedbed.domain.page_feeds import PageRecipe
from reedbed.domain.records import UNSET, Unset, record
from reedbed.domain.refresh.outcomes import Outcome
from reedbed.domain.refresh.state import DueFeed
from reedbed.domain.retention import RetentionOverride as Keep
from reedbed.domain.retention import check_retention_override
from reedbed.domain.subscriptions import (
    Discovery,
    Subscription,
    all_folders,
    check_full_text,
    check_interval,
    check_muted_until,
    check_unread_display,
    check_unread_limit,
)
from reedbed.domain.summaries import check_summary_words
from reedbed.domain.text import clean_line
from reedbed.domain.times import Instant, Millis
from reedbed.domain.urls import feed_name, is_secret_url
from reedbed.services.live import publish_subscriptions
from reedbed.services.newsletters.senders import request_list_unsubscribe
from reedbed.services.refresh.check import refresh_feed, release, reschedule, wake_worker
from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.rules.match import enqueue_rules, keep_unread_limits
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import (
    Address,
    answering_url,
    find_and_fetch,
    first_outcome,
    parse_feed_login,
    split_credentials,
    take_preview,
)
from reedbed.services.users import preferences_of
from reedbed.store import folders, page_feeds, refresh, subscriptions, translations, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import repeats
from reedbed.store.feeds import admin as feed_admin
from reedbed.store.feeds import feeds
from reedbed.store.read_state import rows as reading
from reedbed.store.read_state import unread

log = structlog.get_logger()

MAX_SUBSCRIPTIONS = 10_000
MAX_FOLDERS_OF_FEED = 50
ALREADY_ADDED = "You have already added this feed"
ALREADY_THERE = "A feed with this URL already exists"
NO_SUCH = "Feed not found"


class AlreadySubscribed(Conflict):
    def __init__(self, subscription_id: int) -> None:
        super().__init__(ALREADY_ADDED, field="url")
        self.subscription_id = subscription_id


@record
class SubscribeOptions:
    """Options for subscribing. `looked` means the URL is already known to be a feed."""

    url: str
    folder_id: int | None = None
    title: str | None = None
    opml: str | None = None
    looked: bool = False
    only_found: bool = False
    """Reject a URL that does not respond. For API clients, which cannot show what is wrong with it."""
    asked_as: str | None = None
    """The URL exactly as entered, for clients that look it up again; never with credentials."""
    username: str | None = None
    """Replaces the credentials in the URL, together with `password`. The feed is then private."""
    password: str | None = field(default=None, repr=False)
    feed_title: str = ""
    """The title of a new feed until its first document provides one."""
    folder_ids: tuple[int, ...] | None = None
    """All its folders, instead of `folder_id`."""
    recipe: PageRecipe | None = None
    """How the list on the page at the URL is found. The feed is then private."""


async def subscribe(runtime: Runtime, user_id: int, options: SubscribeOptions) -> Subscription:
    """Subscribe to the feed at a URL or discovered from it. What was fetched for this is its first check."""
    requested = parse_feed_login(options.url, options.username, options.password)
    title = feed_name(options.title) if options.title is not None else None
    discovery = None if options.looked else await _discover_unless_known(runtime, user_id, options, requested)
    candidate = discovery.candidates[0] if discovery and discovery.candidates else None
    answered_url = discovery.answered_url if discovery else None
    login = requested.at(candidate.url if candidate else answered_url or requested.url)
    fetched = first_outcome(discovery, login.url)
    async with runtime.db.write() as tx:
        await _check_folders(tx, user_id, _chosen_folders(options))
        subscription_id = await subscribe_to_url(
            tx,
            runtime.now(),
            user_id,
            replace(
                options,
                url=login.url,
                username=login.username,
                password=login.password,
                title=title,
                feed_title=clean_line(candidate.title) if candidate else "",
            ),
            asked_url=options.asked_as or answered_url or requested.url,
        )
        await users.record_event(tx, runtime.now(), "feed_added", user_id, {"subscription_id": subscription_id})
        subscription = await subscriptions.get(tx, user_id, subscription_id)
        assert subscription is not None
        due = await _claim_for_first_check(tx, runtime, subscription) if fetched is not None else None
    runtime.metrics.subscriptions.add()
    # Publish before the first entries arrive: a live stream only forwards entries of feeds it knows about.
    await _publish_and_wake(runtime, user_id)
    if due is not None and fetched is not None:
        await _store_first_check(runtime, due, fetched)
        subscription = await _get(runtime, user_id, subscription_id)
        await _publish_and_wake(runtime, user_id)
    return subscription


async def subscribe_to_url(tx: Tx, now: Instant, user_id: int, options: SubscribeOptions, *, asked_url: str) -> int:
    """Write the subscription to one URL; return its id."""
    login = split_credentials(options.url)
    if options.username is not None:
        login = Address(login.url, options.username, options.password)
    of_page = options.recipe is not None
    feed_id, created = await _feed_at(tx, now, user_id, login, options.feed_title, of_page=of_page)
    existing = None
    if not created:
        await feed_admin.start_polling_for_subscriber(tx, feed_id)
        existing = await subscriptions.get_by_feed(tx, user_id, feed_id)
    if existing is not None and existing[1]:
        raise AlreadySubscribed(existing[0])
    if login.secret:
        await _set_credentials(tx, now, feed_id, login, fetched=not created)
    if options.recipe is not None:
        await page_feeds.put(tx, feed_id, options.recipe)
    chosen = _chosen_folders(options)
    first = chosen[0] if chosen else None
    if existing is not None:
        await subscriptions.resubscribe(
            tx, user_id, feed_id, folder_id=first, title=options.title, asked_url=asked_url, now=now
        )
        await folders.put_in_others(tx, user_id, existing[0], chosen[1:])
        await unread.restore_unread(tx, user_id, feed_id)
        await _read_repeated(tx, user_id, feed_id)
        await enqueue_rules(tx, user_id, feed_id, now)
        await refresh.wake(tx, feed_id, now)
        return existing[0]
    if await subscriptions.count(tx, user_id) >= MAX_SUBSCRIPTIONS:
        raise Conflict("There can be at most %(limit)s feeds.", limit=MAX_SUBSCRIPTIONS)
    subscription_id = await subscriptions.add(
        tx, user_id, feed_id, folder_id=first, title=options.title, asked_url=asked_url, opml=options.opml, now=now
    )
    if chosen[1:]:
        await folders.put_in_others(tx, user_id, subscription_id, chosen[1:])
    if not created:  # a new feed has no entries yet, and is due already
        await unread.init_unread(tx, user_id, feed_id)
        await _read_repeated(tx, user_id, feed_id)
        await enqueue_rules(tx, user_id, feed_id, now)
        await refresh.wake(tx, feed_id, now)
    return subscription_id


# --- Changing a subscription


@record
class SubscriptionChange:
    """Changes to a subscription. Unset fields stay as they are."""

    title: str | Unset | None = UNSET
    folder_id: int | Unset | None = UNSET
    """Its first folder; the others stay. None takes it out of all."""
    folder_ids: tuple[int, ...] | Unset = UNSET
    """All its folders, the first one first."""
    url: str | Unset = UNSET
    username: str | Unset | None = UNSET
    """None removes username and password. A feed with credentials belongs to this user alone."""
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
    muted_until: Instant | Unset | None = UNSET
    unread_display: str | Unset = UNSET
    in_unread: bool | Unset = UNSET
    unread_limit: int | Unset | None = UNSET
    without_shorts: bool | Unset = UNSET


async def change_subscription(
    runtime: Runtime, user_id: int, subscription_id: int, change: SubscriptionChange
) -> Subscription:
    current = await _get(runtime, user_id, subscription_id)
    updated = _with_changes(current, change, runtime.now())
    if not isinstance(change.url, Unset):
        url = await answering_url(runtime, change.url, known=(current.feed.url, current.asked_url))
        change = replace(change, url=url)
    async with runtime.db.write() as tx:
        await _check_folders(tx, user_id, updated.folder_ids)
        await subscriptions.change(tx, user_id, updated)
        await keep_unread_limits(tx, [current.feed.id])
        interval_changed = _effective_interval(updated) != _effective_interval(current)
        if interval_changed:
            await reschedule(tx, runtime, current.feed.id)
        if current.paused and not updated.paused:
            await refresh.wake(tx, current.feed.id, runtime.now())
        if not all(isinstance(value, Unset) for value in (change.url, change.username, change.password)):
            await _change_address(tx, runtime.now(), user_id, updated, change)
        changed = await subscriptions.get(tx, user_id, subscription_id)
    assert changed is not None
    await _publish_and_wake(runtime, user_id)
    if interval_changed:
        await wake_worker(runtime)
    return changed


def _effective_interval(subscription: Subscription) -> Millis | None:
    return None if subscription.paused else subscription.interval


async def unsubscribe(runtime: Runtime, user_id: int, subscription_id: int) -> None:
    """Soft delete: the read state is kept in case the user resubscribes."""
    current = await _get(runtime, user_id, subscription_id)
    async with runtime.db.write() as tx:
        await _unsubscribe(tx, runtime.now(), user_id, current)
        if current.feed.kind == "mail":
            await request_list_unsubscribe(tx, runtime.now(), user_id, current.feed.id)
    await _publish_and_wake(runtime, user_id)


# --- Helpers


async def _feed_at(
    tx: Tx, now: Instant, user_id: int, login: Address, title: str, *, of_page: bool
) -> tuple[int, bool]:
    """The user's own feed at this URL, else the shared one; and whether it was created."""
    own = await feeds.get_by_url(tx, login.url, user_id)
    if own is not None:
        return own, False
    private = of_page or login.secret or is_secret_url(login.url)
    if private and not login.secret and not of_page:
        # This feed was shared before URLs like this one were recognized as private.
        shared = await feeds.get_by_url(tx, login.url)
        existing = await subscriptions.get_by_feed(tx, user_id, shared) if shared is not None else None
        if shared is not None and existing is not None and existing[1]:
            return shared, False
    return await feeds.find_or_add(tx, login.url, now, owner_id=user_id if private else None, title=title)


async def _set_credentials(tx: Tx, now: Instant, feed_id: int, login: Address, *, fetched: bool) -> None:
    """Set the credentials of a private feed. Its last document may belong to another login, so refetch it."""
    await feeds.set_credentials(tx, feed_id, login.username, login.password)
    if fetched:
        await feed_admin.reset_document_state(tx, feed_id)
        await refresh.request_check(tx, [feed_id], now)


async def _discover_unless_known(
    runtime: Runtime, user_id: int, options: SubscribeOptions, requested: Address
) -> Discovery | None:
    """Discover what is at the URL; None for a feed that already exists here.

    A site that is down or slow can still be subscribed: its checks will report the problem.
    """
    async with runtime.db.read() as tx:
        own = await feeds.get_by_url(tx, requested.url, user_id)
        if own is not None or (not requested.secret and await feeds.get_by_url(tx, requested.url) is not None):
            return None
    discovery = take_preview(runtime, user_id, requested) or await find_and_fetch(runtime, options.url, requested)
    if discovery.candidates or (discovery.unreachable and not options.only_found):
        return discovery
    raise Invalid(discovery.reason or Failure(FailureCode.NO_FEED_FOUND), field="url")


async def _claim_for_first_check(tx: Tx, runtime: Runtime, subscription: Subscription) -> DueFeed | None:
    """Claim in the transaction that creates the feed, so that no worker fetches it at the same time."""
    if subscription.feed.state.last_checked_at is not None or not subscription.feed.enabled:
        return None
    return await refresh.claim(tx, subscription.feed.id, runtime.name, runtime.now(), runtime.fetching.lease)


async def _store_first_check(runtime: Runtime, due: DueFeed, outcome: Outcome) -> None:
    """Store the first document like any other check. If that fails, a worker fetches the feed."""
    try:
        async with OutcomeWriter(runtime) as writer:
            await refresh_feed(runtime, due, writer, outcome)
    except Exception:
        log.exception("the first document of a feed could not be stored", feed=due.id)
        with suppress(Unavailable):
            await release(runtime, [due.id])


async def _change_address(
    tx: Tx, now: Instant, user_id: int, current: Subscription, change: SubscriptionChange
) -> None:
    credentials = (await feeds.credentials(tx, user_id)).get(current.feed.id, (None, None))
    before = Address(current.feed.url, *credentials)
    after = _changed_login(_changed_url(before, current, change), change)
    if after == before:
        return
    if after.url == before.url and current.feed.private:
        await _set_credentials(tx, now, current.feed.id, after, fetched=True)
    else:
        await _move(tx, now, user_id, current, after)


def _changed_url(before: Address, current: Subscription, change: SubscriptionChange) -> Address:
    # A form sends back the URL it displayed, which may be one that cannot be entered, like a newsletter's.
    if isinstance(change.url, Unset) or change.url in (current.feed.url, current.asked_url):
        return before
    typed = parse_feed_login(change.url)
    if not typed.secret and typed.url in (current.feed.url, current.asked_url):
        return before
    return typed if typed.secret else before.at(typed.url)


def _changed_login(login: Address, change: SubscriptionChange) -> Address:
    if isinstance(change.username, Unset) and isinstance(change.password, Unset):
        return login
    username = login.username if isinstance(change.username, Unset) else check_username(change.username)
    password = login.password if isinstance(change.password, Unset) else check_password(change.password)
    if not isinstance(change.password, Unset):
        check_login(username, password)
    return Address(login.url) if username is None else Address(login.url, username, password)


async def _move(tx: Tx, now: Instant, user_id: int, current: Subscription, login: Address) -> None:
    """Move a subscription to another feed. It keeps its id; the old feed's read state gets the new id."""
    options = SubscribeOptions(
        login.url,
        title=current.own_title,
        username=login.username,
        password=login.password,
        folder_ids=current.folder_ids,
    )
    try:
        moved_to = await subscribe_to_url(tx, now, user_id, options, asked_url=login.url)
    except AlreadySubscribed as error:
        raise Conflict(ALREADY_THERE, field="url") from error
    await _unsubscribe(tx, now, user_id, current)
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
            muted_until=current.muted_until,
            unread_display=current.unread_display,
            in_unread=current.in_unread,
            unread_limit=current.unread_limit,
            without_shorts=current.without_shorts,
        ),
    )
    await translations.set_mode(tx, user_id, moved.feed.id, await translations.mode_of(tx, user_id, current.feed.id))
    await subscriptions.exchange_ids(tx, user_id, current.id, moved_to)


async def _unsubscribe(tx: Tx, now: Instant, user_id: int, current: Subscription) -> None:
    orphans = await repeats.leave_feed(tx, user_id, current.feed.id)
    await subscriptions.unsubscribe(tx, user_id, current.id, now)
    await unread.park(tx, user_id, current.feed.id)
    if orphans:
        await reading.mark_unread(tx, user_id, orphans)


async def _read_repeated(tx: Tx, user_id: int, feed_id: int) -> None:
    """Of a feed that was just followed, what repeats other feeds of the user counts as read, if they want that."""
    user = await users.get(tx, user_id)
    if user is None or not preferences_of(user).same_address_once:
        return
    arrived = await repeats.arriving(tx, await repeats.unread_of_feed(tx, user_id, feed_id), user_id)
    found = [repeated for repeated, _ in arrived]
    if found:
        await reading.mark_read(tx, user_id, [repeated.entry_id for repeated in found])
        await repeats.add(tx, found)


def _with_changes(current: Subscription, change: SubscriptionChange, now: Instant) -> Subscription:
    title = change.title
    folder_ids = _changed_folders(current, change)
    return replace(
        current,
        own_title=current.own_title if isinstance(title, Unset) else feed_name(title) if title is not None else None,
        folder_id=folder_ids[0] if folder_ids else None,
        other_folders=folder_ids[1:],
        paused=current.paused if isinstance(change.paused, Unset) else change.paused,
        interval=current.interval if isinstance(change.interval, Unset) else check_interval(change.interval),
        full_text=current.full_text if isinstance(change.full_text, Unset) else check_full_text(change.full_text),
        notify=current.notify if isinstance(change.notify, Unset) else change.notify,
        keep=_retention(current.keep, change),
        summary_words=current.summary_words
        if isinstance(change.summary_words, Unset)
        else check_summary_words(change.summary_words),
        local_only=current.local_only if isinstance(change.local_only, Unset) else change.local_only,
        muted_until=current.muted_until
        if isinstance(change.muted_until, Unset)
        else check_muted_until(change.muted_until, now),
        unread_display=current.unread_display
        if isinstance(change.unread_display, Unset)
        else check_unread_display(change.unread_display),
        in_unread=current.in_unread if isinstance(change.in_unread, Unset) else change.in_unread,
        unread_limit=current.unread_limit
        if isinstance(change.unread_limit, Unset)
        else check_unread_limit(change.unread_limit),
        without_shorts=current.without_shorts if isinstance(change.without_shorts, Unset) else change.without_shorts,
    )


def _changed_folders(current: Subscription, change: SubscriptionChange) -> tuple[int, ...]:
    if not isinstance(change.folder_ids, Unset):
        return tuple(dict.fromkeys(change.folder_ids))
    if isinstance(change.folder_id, Unset):
        return current.folder_ids
    return all_folders(change.folder_id, [id_ for id_ in current.other_folders if id_ != change.folder_id])


def _chosen_folders(options: SubscribeOptions) -> tuple[int, ...]:
    if options.folder_ids is not None:
        return tuple(dict.fromkeys(options.folder_ids))
    return all_folders(options.folder_id, ())


def _retention(current: Keep, change: SubscriptionChange) -> Keep:
    entries, days, unread_days = change.keep_entries, change.keep_days, change.keep_unread_days
    return check_retention_override(
        Keep(
            entries=current.entries if isinstance(entries, Unset) else entries,
            days=current.days if isinstance(days, Unset) else days,
            unread_days=current.unread_days if isinstance(unread_days, Unset) else unread_days,
        )
    )


async def _get(runtime: Runtime, user_id: int, subscription_id: int) -> Subscription:
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, user_id, subscription_id)
    if subscription is None:
        raise NotFound(NO_SUCH)
    return subscription


async def _check_folders(tx: Tx, user_id: int, folder_ids: Sequence[int]) -> None:
    if not folder_ids:
        return
    if len(folder_ids) > MAX_FOLDERS_OF_FEED:
        raise Invalid("A feed can be in at most %(limit)s folders.", field="folder_ids", limit=MAX_FOLDERS_OF_FEED)
    if not {row.id for row in await folders.of_user(tx, user_id)}.issuperset(folder_ids):
        raise NotFound("There is no such folder")


async def _publish_and_wake(runtime: Runtime, user_id: int) -> None:
    await publish_subscriptions(runtime, user_id)
    await wake_worker(runtime)
