"""What an operator sets of a feed: how it is fetched, and how it is deframed."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from reedbed.domain.errors import Invalid
from reedbed.domain.feed_fetching import (
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
from reedbed.domain.same import SAME, Same
from reedbed.domain.subscriptions import check_interval
from reedbed.domain.times import Millis
from reedbed.domain.urls import root_domain
from reedbed.services.framed_documents import build_documents
from reedbed.services.framing_jobs import ask_feed_later
from reedbed.services.runtime import Runtime
from reedbed.store import fetch_state, framing, operator_feeds
from reedbed.store.database import Tx
from reedbed.store.operator_feeds import OperatorFeed


@record
class FeedSettings:
    """What to change of a feed; what is not given stays, None or an empty text takes it back."""

    polling: bool | Same = SAME
    """From its next good run on, a feed is scheduled again after each, or not."""
    proxy: str | Same | None = field(default=SAME, repr=False)
    user_agent: str | Same | None = SAME
    username: str | Same | None = SAME
    """Without one there is no password."""
    password: str | Same | None = field(default=SAME, repr=False)
    interval: Millis | Same | None = SAME
    max_failures: int | Same | None = SAME
    allow_duplicate_urls: bool | Same = SAME
    deframe: bool | Same = SAME
    root_domain: str | Same | None = SAME
    enforce_domain: bool | Same = SAME
    prompt: str | Same | None = SAME


async def change_settings(tx: Tx, runtime: Runtime, feed: OperatorFeed, wanted: FeedSettings) -> bool:
    """Whether the feed is due now because of it."""
    if not isinstance(wanted.polling, Same):
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
    return feed.is_polled and bool(await fetch_state.ask(tx, [feed.id], runtime.now()))


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
        name: checks[name](value) for name, value in given.items() if not isinstance(value, Same)
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
    password = wanted.password if isinstance(wanted.password, Same) else check_password(wanted.password)
    if not isinstance(password, Same):
        check_login(username, password)
    if isinstance(password, str):
        return {"password": password}
    gone = username is None or password is None
    return {"password": None} if gone and current.has_password else {}


async def _change_framing(tx: Tx, runtime: Runtime, feed: OperatorFeed, wanted: FeedSettings) -> None:
    known = await framing.settings_of(tx, feed.id)
    current = known or FeedFraming()
    given = {
        "deframe": wanted.deframe,
        "root_domain": _checked(wanted.root_domain, _root_domain),
        "enforce_domain": wanted.enforce_domain,
        "prompt": _checked(wanted.prompt, check_prompt),
    }
    changed = replace(current, **{name: value for name, value in given.items() if value is not SAME})
    if known is None and changed.deframe and changed.root_domain is None:
        # Like one that is added to be deframed: it belongs to its site until the operator says otherwise.
        changed = replace(changed, root_domain=root_domain(feed.url))
    if changed == current:
        return
    await framing.put(tx, feed.id, changed)
    await build_documents(tx, runtime, [feed.id], runtime.now())
    await ask_feed_later(tx, feed.id, runtime.now())


def _checked(value: str | Same | None, check: Callable[[str | None], str | None]) -> str | Same | None:
    return value if isinstance(value, Same) else check(value)


def _root_domain(text: str | None) -> str | None:
    return check_root_domain(text) if text and text.strip() else None
