"""The operator's hand on feeds: added to be deframed, enabled, polled, run now, grouped by root domain.

`enabled` is the gate of doors and workers, `polling` arms the next run after a good one; neither starts one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.feeds import (
    FeedFetching,
    check_failures,
    check_login,
    check_password,
    check_proxy,
    check_user_agent,
    check_username,
)
from reedbed.domain.framing import FeedFraming, check_prompt, check_root_domain
from reedbed.domain.records import record
from reedbed.domain.subscriptions import check_interval
from reedbed.domain.times import Millis
from reedbed.domain.unset import UNSET, Unset
from reedbed.domain.urls import is_private_address, root_domain
from reedbed.ingest.discovery import typed_address
from reedbed.services.framing.public import build_documents
from reedbed.services.jobs import ask_feed_later
from reedbed.services.refresh.check import wake_worker
from reedbed.services.runtime import Runtime
from reedbed.store import refresh
from reedbed.store.engine.database import Tx
from reedbed.store.feeds import admin as operator_feeds
from reedbed.store.feeds import feeds
from reedbed.store.feeds.admin import AdminFeed
from reedbed.store.framing import documents as framed_documents
from reedbed.store.framing import settings as framing


@record
class FeedSettings:
    """What to change of a feed; what is not given stays, None or an empty text takes it back."""

    polling: bool | Unset = UNSET
    """From its next good run on, a feed is scheduled again after each, or not."""
    proxy: str | Unset | None = field(default=UNSET, repr=False)
    user_agent: str | Unset | None = UNSET
    username: str | Unset | None = UNSET
    """Without one there is no password."""
    password: str | Unset | None = field(default=UNSET, repr=False)
    interval: Millis | Unset | None = UNSET
    max_failures: int | Unset | None = UNSET
    allow_duplicate_urls: bool | Unset = UNSET
    deframe: bool | Unset = UNSET
    root_domain: str | Unset | None = UNSET
    enforce_domain: bool | Unset = UNSET
    prompt: str | Unset | None = UNSET


async def change_settings(tx: Tx, runtime: Runtime, feed: AdminFeed, wanted: FeedSettings) -> bool:
    """Whether the feed is due now because of it."""
    if not isinstance(wanted.polling, Unset):
        await operator_feeds.set_polling(tx, feed.id, polling=wanted.polling)
        feed = replace(feed, polling=wanted.polling)
    changed = _changed_fetching(runtime, feed.fetching, wanted)
    await operator_feeds.set_fetching(tx, feed.id, changed)
    await _change_framing(tx, runtime, feed, wanted)
    if not changed:
        return False
    await operator_feeds.read_anew(tx, feed.id)
    # A password shuts the public door, and its end opens it again.
    await build_documents(tx, runtime, [feed.id], runtime.now())
    return feed.is_polled and bool(await refresh.request_check(tx, [feed.id], runtime.now()))


def _changed_fetching(runtime: Runtime, current: FeedFetching, wanted: FeedSettings) -> Mapping[str, Any]:
    """The columns that are another now. Everything is checked before anything is written."""
    checks: Mapping[str, Callable[[Any], Any]] = {
        "proxy": lambda text: _checked_proxy(runtime, current, text),
        "user_agent": check_user_agent,
        "username": check_username,
        "interval": check_interval,
        "max_failures": check_failures,
        "allow_duplicate_urls": bool,
    }
    given = {name: getattr(wanted, name) for name in checks}
    checked: dict[str, Any] = {
        name: checks[name](value) for name, value in given.items() if not isinstance(value, Unset)
    }
    changed: dict[str, Any] = {
        name: value for name, value in checked.items() if value != getattr(current, name)
    }
    return changed | _changed_password(current, wanted, changed.get("username", current.username))


def _checked_proxy(runtime: Runtime, current: FeedFetching, text: str | None) -> str | None:
    if text is not None and text.strip() == current.shown_proxy:
        return current.proxy
    proxy = check_proxy(text)
    if proxy is not None and (reason := runtime.fetcher.refuse_proxy(proxy)) is not None:
        raise Invalid(reason, field="proxy")
    return proxy


def _changed_password(current: FeedFetching, wanted: FeedSettings, username: str | None) -> dict[str, Any]:
    """What was there is never read, so one that is given counts as another."""
    password = wanted.password if isinstance(wanted.password, Unset) else check_password(wanted.password)
    if not isinstance(password, Unset):
        check_login(username, password)
    if isinstance(password, str):
        return {"password": password}
    gone = username is None or password is None
    return {"password": None} if gone and current.has_password else {}


async def _change_framing(tx: Tx, runtime: Runtime, feed: AdminFeed, wanted: FeedSettings) -> None:
    known = await framing.settings_of(tx, feed.id)
    current = known or FeedFraming()
    given = {
        "deframe": wanted.deframe,
        "root_domain": _checked(wanted.root_domain, _root_domain),
        "enforce_domain": wanted.enforce_domain,
        "prompt": _checked(wanted.prompt, check_prompt),
    }
    changed = replace(current, **{name: value for name, value in given.items() if value is not UNSET})
    if known is None and changed.deframe and changed.root_domain is None:
        # Like one that is added to be deframed: it belongs to its site until the operator says otherwise.
        changed = replace(changed, root_domain=root_domain(feed.url))
    if changed == current:
        return
    await framing.put(tx, feed.id, changed)
    await build_documents(tx, runtime, [feed.id], runtime.now())
    await ask_feed_later(tx, feed.id, runtime.now())


def _checked(value: str | Unset | None, check: Callable[[str | None], str | None]) -> str | Unset | None:
    return value if isinstance(value, Unset) else check(value)


def _root_domain(text: str | None) -> str | None:
    return check_root_domain(text) if text and text.strip() else None


NO_SUCH_FEED = "There is no such feed."
ALREADY_ADDED = "This feed has been added already."
IS_DELETED = "This feed is deleted. Add it again first."
IS_DISABLED = "This feed is disabled. Enable it first."
MAX_NUMBER_LENGTH = 16
IS_PRIVATE = "This address holds a secret, so its feed belongs to one reader and is never shown to others."


async def list_feeds(runtime: Runtime) -> Sequence[AdminFeed]:
    async with runtime.db.read() as tx:
        return await operator_feeds.every(tx, runtime.now())


async def add_feed(
    runtime: Runtime, url: str, settings: FeedSettings | None = None, *, with_root_domain: bool = True
) -> AdminFeed:
    """A new feed is neither enabled nor polled; one that people follow already stays as it is for them."""
    address = typed_address(url)
    if is_private_address(address):
        raise Invalid(IS_PRIVATE, field="url")
    now = runtime.now()
    async with runtime.db.write() as tx:
        known = await operator_feeds.by_url(tx, address, now)
        if known is not None and known.operator_added and not known.deleted:
            raise Conflict(ALREADY_ADDED, field="url")
        feed_id, _ = await feeds.find_or_add(tx, address, now, by_operator=True)
        if known is not None and known.deleted:
            await operator_feeds.revive(tx, feed_id, on=False)
        await operator_feeds.set_operator_added(tx, feed_id, added=True)
        root = root_domain(address) if with_root_domain else None
        await framing.put(tx, feed_id, FeedFraming(deframe=True, root_domain=root))
        if settings is not None:
            await change_settings(tx, runtime, await _now(tx, runtime, feed_id), settings)
        return await _now(tx, runtime, feed_id)


async def delete_feed(runtime: Runtime, named: str) -> AdminFeed:
    """Softly: its address may be added or followed again. Those who follow it go on reading it."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        await framing.drop(tx, feed.id)
        await framed_documents.drop(tx, feed.id)
        await operator_feeds.set_operator_added(tx, feed.id, added=False)
        if not feed.followers:
            await operator_feeds.delete(tx, feed.id, runtime.now())
        return await _now(tx, runtime, feed.id)


async def enable_feed(runtime: Runtime, named: str) -> AdminFeed:
    """The doors serve it and workers may take it, when it is scheduled; this alone schedules nothing."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        await operator_feeds.set_enabled(tx, feed.id, enabled=True)
        await operator_feeds.resume(tx, feed.id, runtime.now())
        await build_documents(tx, runtime, [feed.id], runtime.now())
        await ask_feed_later(tx, feed.id, runtime.now())
        changed = await _now(tx, runtime, feed.id)
    await wake_worker(runtime)
    return changed


async def disable_feed(runtime: Runtime, named: str) -> AdminFeed:
    """The doors are shut at once and no worker takes it, whatever the schedule says."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        await operator_feeds.set_enabled(tx, feed.id, enabled=False)
        return await _now(tx, runtime, feed.id)


async def sync_feed(runtime: Runtime, named: str) -> AdminFeed:
    """Run now: last error, lease and stop are cleared. A feed that is not polled runs this once."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        if not feed.enabled:
            raise Conflict(IS_DISABLED)
        await operator_feeds.run_now(tx, feed.id, runtime.now())
        await ask_feed_later(tx, feed.id, runtime.now())
        changed = await _now(tx, runtime, feed.id)
    await wake_worker(runtime)
    return changed


async def change_feed(runtime: Runtime, named: str, settings: FeedSettings) -> AdminFeed:
    """Another way of fetching is tried at once: the feed is due, its document is read anew, a stop ends."""
    async with runtime.db.write() as tx:
        feed = await _find(tx, runtime, named)
        due = await change_settings(tx, runtime, feed, settings)
        changed = await _now(tx, runtime, feed.id)
    if due:
        await wake_worker(runtime)
    return changed


async def list_root_domains(runtime: Runtime) -> Sequence[tuple[str, int]]:
    """Each with its number of feeds."""
    async with runtime.db.read() as tx:
        return await framing.root_domains(tx)


async def find_feed(runtime: Runtime, named: str) -> AdminFeed:
    async with runtime.db.read() as tx:
        feed = await _look_up(tx, runtime, named)
    if feed is None or feed.deleted:
        raise NotFound(NO_SUCH_FEED)
    return feed


async def _look_up(tx: Tx, runtime: Runtime, named: str) -> AdminFeed | None:
    """By its number or its address."""
    now, word = runtime.now(), named.strip()
    if word.isascii() and word.isdigit() and len(word) <= MAX_NUMBER_LENGTH:
        return await operator_feeds.by_id(tx, int(word), now)
    return await operator_feeds.by_url(tx, typed_address(word), now)


async def _find(tx: Tx, runtime: Runtime, named: str) -> AdminFeed:
    feed = await _look_up(tx, runtime, named)
    if feed is None:
        raise NotFound(NO_SUCH_FEED)
    if feed.deleted:
        raise Conflict(IS_DELETED)
    return feed


async def _now(tx: Tx, runtime: Runtime, feed_id: int) -> AdminFeed:
    feed = await operator_feeds.by_id(tx, feed_id, runtime.now())
    assert feed is not None
    return feed
