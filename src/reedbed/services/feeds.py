"""Feeds as the operator manages them: add, enable, poll, sync, change settings, group by root domain.

`enabled` lets endpoints serve a feed and workers check it. `polling` schedules the next check after a
successful one. Neither starts a check.
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
from reedbed.domain.records import UNSET, Unset, record
from reedbed.domain.subscriptions import check_interval
from reedbed.domain.times import Millis
from reedbed.domain.urls import check_feed_url, is_secret_url, root_domain
from reedbed.ingest.discovery import url_from_typed, urls_from_typed
from reedbed.services.framing.manage import build_documents
from reedbed.services.jobs import enqueue_framing
from reedbed.services.refresh.check import wake_worker
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import answering_url
from reedbed.store import refresh
from reedbed.store.engine.database import Tx
from reedbed.store.engine.statements import Param, Params
from reedbed.store.feeds import admin as operator_feeds
from reedbed.store.feeds import feeds
from reedbed.store.feeds.admin import AdminFeed
from reedbed.store.framing import documents as framed_documents
from reedbed.store.framing import settings as framing


@record
class FeedSettings:
    """Changes to a feed: unset fields stay as they are, None or an empty text clears a setting."""

    polling: bool | Unset = UNSET
    """Whether the next check is scheduled after each successful one."""
    proxy: str | Unset | None = field(default=UNSET, repr=False)
    user_agent: str | Unset | None = UNSET
    username: str | Unset | None = UNSET
    """Clearing it also clears the password."""
    password: str | Unset | None = field(default=UNSET, repr=False)
    interval: Millis | Unset | None = UNSET
    max_failures: int | Unset | None = UNSET
    allow_duplicate_urls: bool | Unset = UNSET
    deframe: bool | Unset = UNSET
    root_domain: str | Unset | None = UNSET
    enforce_domain: bool | Unset = UNSET
    prompt: str | Unset | None = UNSET


async def change_settings(tx: Tx, runtime: Runtime, feed: AdminFeed, changes: FeedSettings) -> bool:
    """Apply the changes; return whether the feed is due now because of them."""
    if not isinstance(changes.polling, Unset):
        await operator_feeds.set_polling(tx, feed.id, polling=changes.polling)
        feed = replace(feed, polling=changes.polling)
    changed = _changed_fetching(runtime, feed.fetching, changes)
    await operator_feeds.set_fetching(tx, feed.id, changed)
    await _change_framing(tx, runtime, feed, changes)
    if not changed:
        return False
    await operator_feeds.reset_document_state(tx, feed.id)
    # A feed with a password is not public; without one it is again.
    await build_documents(tx, runtime, [feed.id], runtime.now())
    return feed.is_polled and bool(await refresh.request_check(tx, [feed.id], runtime.now()))


def _changed_fetching(runtime: Runtime, current: FeedFetching, changes: FeedSettings) -> Params:
    """The columns that change. Everything is validated before anything is written."""
    checks: Mapping[str, Callable[[Any], Param]] = {
        "proxy": lambda text: _checked_proxy(runtime, current, text),
        "user_agent": check_user_agent,
        "username": check_username,
        "interval": check_interval,
        "max_failures": check_failures,
        "allow_duplicate_urls": bool,
    }
    values = {name: getattr(changes, name) for name in checks}
    checked: dict[str, Param] = {
        name: checks[name](value) for name, value in values.items() if not isinstance(value, Unset)
    }
    changed: dict[str, Param] = {name: value for name, value in checked.items() if value != getattr(current, name)}
    username = changed.get("username", current.username)
    assert isinstance(username, str | None)
    return changed | _changed_password(current, changes, username)


def _checked_proxy(runtime: Runtime, current: FeedFetching, text: str | None) -> str | None:
    if text is not None and text.strip() == current.shown_proxy:
        return current.proxy
    proxy = check_proxy(text)
    if proxy is not None and (reason := runtime.fetcher.proxy_problem(proxy)) is not None:
        raise Invalid(reason, field="proxy")
    return proxy


def _changed_password(current: FeedFetching, changes: FeedSettings, username: str | None) -> dict[str, Param]:
    """The stored password is never read, so a new value always counts as a change."""
    password = changes.password if isinstance(changes.password, Unset) else check_password(changes.password)
    if not isinstance(password, Unset):
        check_login(username, password)
    if isinstance(password, str):
        return {"password": password}
    is_cleared = username is None or password is None
    return {"password": None} if is_cleared and current.has_password else {}


async def _change_framing(tx: Tx, runtime: Runtime, feed: AdminFeed, changes: FeedSettings) -> None:
    stored = await framing.settings_of(tx, feed.id)
    current = stored or FeedFraming()
    values = {
        "deframe": changes.deframe,
        "root_domain": _checked(changes.root_domain, _root_domain),
        "enforce_domain": changes.enforce_domain,
        "prompt": _checked(changes.prompt, check_prompt),
    }
    changed = replace(current, **{name: value for name, value in values.items() if value is not UNSET})
    if stored is None and changed.deframe and changed.root_domain is None:
        # Like a feed added to be deframed, it belongs to its site until the operator changes that.
        changed = replace(changed, root_domain=root_domain(feed.url))
    if changed == current:
        return
    await framing.put(tx, feed.id, changed)
    await build_documents(tx, runtime, [feed.id], runtime.now())
    await enqueue_framing(tx, feed.id, runtime.now())


def _checked(value: str | Unset | None, check: Callable[[str | None], str | None]) -> str | Unset | None:
    return value if isinstance(value, Unset) else check(value)


def _root_domain(text: str | None) -> str | None:
    return check_root_domain(text) if text and text.strip() else None


# --- Operations

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
    """A new feed is neither enabled nor polled; a feed that has subscribers does not change for them."""
    feed_url = url_from_typed(await answering_url(runtime, url))
    if is_secret_url(feed_url):
        raise Invalid(IS_PRIVATE, field="url")
    now = runtime.now()
    async with runtime.db.write() as tx:
        existing = await operator_feeds.by_url(tx, feed_url, now)
        if existing is not None and existing.operator_added and not existing.deleted:
            raise Conflict(ALREADY_ADDED, field="url")
        feed_id, _ = await feeds.find_or_add(tx, feed_url, now, by_operator=True)
        if existing is not None and existing.deleted:
            await operator_feeds.revive(tx, feed_id, on=False)
        await operator_feeds.set_operator_added(tx, feed_id, added=True)
        root = root_domain(feed_url) if with_root_domain else None
        await framing.put(tx, feed_id, FeedFraming(deframe=True, root_domain=root))
        if settings is not None:
            await change_settings(tx, runtime, await _reload(tx, runtime, feed_id), settings)
        return await _reload(tx, runtime, feed_id)


async def delete_feed(runtime: Runtime, named: str) -> AdminFeed:
    """Soft delete: the URL may be added or subscribed to again. Subscribers keep the feed."""
    async with runtime.db.write() as tx:
        feed = await _require_feed(tx, runtime, named)
        await framing.drop(tx, feed.id)
        await framed_documents.drop(tx, feed.id)
        await operator_feeds.set_operator_added(tx, feed.id, added=False)
        if not feed.followers:
            await operator_feeds.delete(tx, feed.id, runtime.now())
        return await _reload(tx, runtime, feed.id)


async def enable_feed(runtime: Runtime, named: str) -> AdminFeed:
    """Endpoints serve the feed and workers check it when it is due; this alone schedules nothing."""
    async with runtime.db.write() as tx:
        feed = await _require_feed(tx, runtime, named)
        await operator_feeds.set_enabled(tx, feed.id, enabled=True)
        await operator_feeds.resume(tx, feed.id, runtime.now())
        await build_documents(tx, runtime, [feed.id], runtime.now())
        await enqueue_framing(tx, feed.id, runtime.now())
        changed = await _reload(tx, runtime, feed.id)
    await wake_worker(runtime)
    return changed


async def disable_feed(runtime: Runtime, named: str) -> AdminFeed:
    """Endpoints stop serving it immediately and no worker checks it, whatever the schedule."""
    async with runtime.db.write() as tx:
        feed = await _require_feed(tx, runtime, named)
        await operator_feeds.set_enabled(tx, feed.id, enabled=False)
        return await _reload(tx, runtime, feed.id)


async def sync_feed(runtime: Runtime, named: str) -> AdminFeed:
    """Check now: clears the last error, lease and stop. A feed that is not polled is checked once."""
    async with runtime.db.write() as tx:
        feed = await _require_feed(tx, runtime, named)
        if not feed.enabled:
            raise Conflict(IS_DISABLED)
        await operator_feeds.run_now(tx, feed.id, runtime.now())
        await enqueue_framing(tx, feed.id, runtime.now())
        changed = await _reload(tx, runtime, feed.id)
    await wake_worker(runtime)
    return changed


async def change_feed(runtime: Runtime, named: str, settings: FeedSettings) -> AdminFeed:
    """New fetch settings are tried immediately: the feed is due, re-read in full and no longer stopped."""
    async with runtime.db.write() as tx:
        feed = await _require_feed(tx, runtime, named)
        due = await change_settings(tx, runtime, feed, settings)
        changed = await _reload(tx, runtime, feed.id)
    if due:
        await wake_worker(runtime)
    return changed


async def list_root_domains(runtime: Runtime) -> Sequence[tuple[str, int]]:
    """Root domains with their number of feeds."""
    async with runtime.db.read() as tx:
        return await framing.root_domains(tx)


async def find_feed(runtime: Runtime, named: str) -> AdminFeed:
    async with runtime.db.read() as tx:
        feed = await _lookup(tx, runtime, named)
    if feed is None or feed.deleted:
        raise NotFound(NO_SUCH_FEED)
    return feed


async def _lookup(tx: Tx, runtime: Runtime, named: str) -> AdminFeed | None:
    """Find a feed by its id or its URL."""
    now, text = runtime.now(), named.strip()
    if text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER_LENGTH:
        return await operator_feeds.by_id(tx, int(text), now)
    for url in urls_from_typed(text) or (text,):  # without a scheme: https, then http
        if (found := await operator_feeds.by_url(tx, check_feed_url(url), now)) is not None:
            return found
    return None


async def _require_feed(tx: Tx, runtime: Runtime, named: str) -> AdminFeed:
    feed = await _lookup(tx, runtime, named)
    if feed is None:
        raise NotFound(NO_SUCH_FEED)
    if feed.deleted:
        raise Conflict(IS_DELETED)
    return feed


async def _reload(tx: Tx, runtime: Runtime, feed_id: int) -> AdminFeed:
    feed = await operator_feeds.by_id(tx, feed_id, runtime.now())
    assert feed is not None
    return feed
