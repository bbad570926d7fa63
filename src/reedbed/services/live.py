"""Live streams (SSE): the change events a user receives, and publishing the user's own changes."""

import random
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from reedbed.domain.entries import StateChange
from reedbed.domain.errors import TooMany
from reedbed.domain.live import ChangeEvent
from reedbed.domain.times import HOUR, MINUTE, Instant
from reedbed.domain.users import Caller
from reedbed.events.bus import Listener, new_event_id
from reedbed.services.auth import is_still_valid
from reedbed.services.runtime import Metrics, Runtime
from reedbed.store import subscriptions

HEARTBEAT_SECONDS = 30.0
TTL = HOUR
SHOWN = frozenset(
    {"new_entry", "entry_updated", "state_changed", "counts", "progress", "subscriptions", "notice", "resync"}
)
DELIVERED = SHOWN | {"stopping"}
BEGINNING = ChangeEvent("beginning")
MANY_STREAMS = "Too many live streams of yours are open. Close some pages or apps that show news."
RETRY_SECONDS = 60


def check_stream_limit(runtime: Runtime, caller: Caller) -> None:
    """Raise `TooMany` if this user has the maximum number of streams open."""
    if not _below_stream_limit(runtime, caller):
        raise TooMany(MANY_STREAMS, RETRY_SECONDS)


async def follow(runtime: Runtime, caller: Caller, last_id: str | None) -> AsyncGenerator[ChangeEvent | None]:
    """Yield the events for this caller; None is a heartbeat. Ends after about an hour or when revoked."""
    event_filter = EventFilter(caller.user_id)
    if not _below_stream_limit(runtime, caller):  # others were opened since `check_stream_limit`
        return
    with runtime.bus.listen(event_filter.wants) as listener, _count_stream(runtime.metrics, caller.user_id):
        # A revocation may have arrived between the request and the start of listening.
        if not await is_still_valid(runtime, caller):
            return
        event_filter.learn(await _subscribed_feeds(runtime, caller.user_id), because=BEGINNING)
        for event in _catch_up(runtime, last_id):
            if event_filter.shows(event) and (visible := _without_muted(event, caller.user_id)):
                yield visible
        ends_at = runtime.now() + TTL + random.randrange(5 * MINUTE)  # noqa: S311  spreads reconnects, no secret
        async for event in _received(runtime, listener, caller, ends_at):
            if event is None:
                yield event
                continue
            if event_filter.is_change(event):
                event_filter.learn(await _subscribed_feeds(runtime, caller.user_id), because=event)
            if event_filter.shows(event) and (visible := _without_muted(event, caller.user_id)):
                yield visible


def hide_muted(event: ChangeEvent, muted: Mapping[int, Sequence[int]]) -> ChangeEvent:
    """Mark the entries of a `new_entry` event that rules muted, by user. `follow` takes them out again."""
    if not muted:
        return event
    by_user = {str(user_id): [str(entry_id) for entry_id in ids] for user_id, ids in muted.items()}
    return replace(event, data={**event.data, "muted": by_user})


def _without_muted(event: ChangeEvent, user_id: int) -> ChangeEvent | None:
    """The event as this user may see it; None if all of its entries are muted."""
    muted = event.data.get("muted")
    if muted is None:
        return event
    hidden = frozenset(muted.get(str(user_id), ()))
    ids = [entry_id for entry_id in event.data["ids"] if entry_id not in hidden]
    return replace(event, data={"feed_id": event.data["feed_id"], "ids": ids}) if ids else None


class EventFilter:
    """Selects the events that concern a user.

    Until the user's subscriptions are loaded, events of all feeds pass: an event of a new subscription may
    arrive before the subscription is read.
    """

    __slots__ = ("_change", "_feeds", "_user_id")

    def __init__(self, user_id: int) -> None:
        self._user_id = user_id
        self._feeds = frozenset[int]()
        self._change: ChangeEvent | None = BEGINNING
        """The last change of subscriptions that is not loaded yet."""

    def wants(self, event: ChangeEvent) -> bool:
        # Called for every event and every stream, so the most common case comes first.
        if event.user_id is not None and event.user_id != self._user_id:
            return False
        if event.feed_id is not None:
            return event.feed_id in self._feeds or self._change is not None
        if self.is_change(event):
            self._change = event
        return event.user_id is not None or event.topic in DELIVERED

    def is_change(self, event: ChangeEvent) -> bool:
        """Whether this user's subscriptions may have changed."""
        return event.topic == "resync" or (event.topic == "subscriptions" and event.user_id == self._user_id)

    def learn(self, feeds: frozenset[int], *, because: ChangeEvent) -> None:
        self._feeds = feeds
        if self._change is because:
            self._change = None

    def shows(self, event: ChangeEvent) -> bool:
        if event.topic not in SHOWN:
            return False
        if event.user_id is not None:
            return event.user_id == self._user_id
        return event.feed_id is None or event.feed_id in self._feeds


async def _received(
    runtime: Runtime, listener: Listener, caller: Caller, ends_at: Instant
) -> AsyncGenerator[ChangeEvent | None]:
    while runtime.now() < ends_at:
        event = await listener.next(HEARTBEAT_SECONDS)
        missed, listener.missed = listener.missed, False
        # A revocation may be among the missed events.
        if (missed or event is None) and not await is_still_valid(runtime, caller):
            return
        if missed:
            yield _resync()
        if event is not None and (event.topic == "stopping" or _revokes(event, caller)):
            return
        yield event


def _below_stream_limit(runtime: Runtime, caller: Caller) -> bool:
    return runtime.metrics.streams_by_user.get(caller.user_id, 0) < runtime.limits.streams


@contextmanager
def _count_stream(metrics: Metrics, user_id: int) -> Generator[None]:
    by_user = metrics.streams_by_user
    metrics.open_streams += 1
    by_user[user_id] = by_user.get(user_id, 0) + 1
    try:
        yield
    finally:
        metrics.open_streams -= 1
        by_user[user_id] -= 1
        if not by_user[user_id]:
            del by_user[user_id]


def _catch_up(runtime: Runtime, last_id: str | None) -> list[ChangeEvent]:
    if not last_id:
        return []
    missed = runtime.bus.since(last_id)
    return [_resync()] if missed is None else missed


def _resync() -> ChangeEvent:
    return ChangeEvent("resync", id=new_event_id())


def _revokes(event: ChangeEvent, caller: Caller) -> bool:
    if event.topic != "revoked" or event.user_id != caller.user_id:
        return False
    session, token = event.data.get("session_id"), event.data.get("token_id")
    if session is None and token is None:
        kept_session = event.data.get("except_session_id")
        return kept_session is None or kept_session != caller.session_id
    return (session is not None and session == caller.session_id) or (token is not None and token == caller.token_id)


async def _subscribed_feeds(runtime: Runtime, user_id: int) -> frozenset[int]:
    async with runtime.db.read() as tx:
        return await subscriptions.feed_ids(tx, user_id)


# --- Publishing

MAX_NAMED = 200
"""An event about more entries names none of them, and clients reload the list."""


async def publish_states(runtime: Runtime, user_id: int, entry_ids: Sequence[int], change: StateChange) -> None:
    ids = [str(id) for id in entry_ids] if len(entry_ids) <= MAX_NAMED else []
    data: dict[str, object] = {"ids": ids}
    for name in ("read", "starred", "later", "tags"):
        if (value := getattr(change, name)) is not None:
            data[name] = value
    await runtime.bus.publish(ChangeEvent("state_changed", user_id=user_id, data=data))
    await publish_counts(runtime, user_id)


async def publish_change(runtime: Runtime, user_id: int, what: str, entry_id: int | None = None) -> None:
    """Something else of the user has changed, perhaps in an entry: rules, bookmarks, highlights …"""
    data: dict[str, object] = {"what": what, "ids": [] if entry_id is None else [str(entry_id)]}
    await runtime.bus.publish(ChangeEvent("state_changed", user_id=user_id, data=data))


async def publish_subscriptions(runtime: Runtime, user_id: int) -> None:
    """The user's feeds, folders or their settings have changed."""
    await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))


async def publish_counts(runtime: Runtime, user_id: int) -> None:
    await runtime.bus.publish(ChangeEvent("counts", user_id=user_id))
