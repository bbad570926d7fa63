"""Tell a user's other devices what changed."""

import random
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from reedbed.domain.entries import StateChange
from reedbed.domain.errors import TooMany
from reedbed.domain.live import ChangeEvent
from reedbed.domain.times import HOUR, MINUTE, Instant
from reedbed.domain.users import Caller
from reedbed.events.bus import Listener, new_event_id
from reedbed.services.auth import still_open
from reedbed.services.runtime import Metrics, Runtime
from reedbed.store import subscriptions

HEARTBEAT_SECONDS = 30.0
LIFE = HOUR
SHOWN = frozenset(
    {"new_entry", "entry_updated", "state_changed", "counts", "progress", "subscriptions", "notice", "resync"}
)
HEARD = SHOWN | {"stopping"}
BEGINNING = ChangeEvent("beginning")
MANY_STREAMS = "Too many live streams of yours are open. Close some pages or apps that show news."
RETRY_SECONDS = 60


def check_room(runtime: Runtime, caller: Caller) -> None:
    """Raises `TooMany` where this user has as many streams open as one may have."""
    if not _has_room(runtime, caller):
        raise TooMany(MANY_STREAMS, RETRY_SECONDS)


async def follow(runtime: Runtime, caller: Caller, last_id: str | None) -> AsyncGenerator[ChangeEvent | None]:
    """Hints for this caller; None is a heartbeat. Ends by itself after about an hour, or when revoked."""
    ear = EventListener(caller.user_id)
    if not _has_room(runtime, caller):  # others were opened since `check_room`
        return
    with runtime.bus.listen(ear.wants) as listener, _counted(runtime.meters, caller.user_id):
        # The hint that this stream must end may have come between its request and the first listening.
        if not await still_open(runtime, caller):
            return
        ear.learn(await _followed(runtime, caller.user_id), because=BEGINNING)
        for hint in _catch_up(runtime, last_id):
            if ear.shows(hint):
                yield hint
        ends_at = runtime.now() + LIFE + random.randrange(5 * MINUTE)  # noqa: S311  spreads reconnects, no secret
        async for hint in _heard(runtime, listener, caller, ends_at):
            if hint is None:
                yield hint
                continue
            if ear.is_change(hint):
                ear.learn(await _followed(runtime, caller.user_id), because=hint)
            if ear.shows(hint):
                yield hint


class EventListener:
    """What of all hints concerns a user.

    While it is not known which feeds they follow, nothing of any feed is left out: a hint of a feed that was
    followed just now may come before that is read.
    """

    __slots__ = ("_change", "_feeds", "_user_id")

    def __init__(self, user_id: int) -> None:
        self._user_id = user_id
        self._feeds = frozenset[int]()
        self._change: ChangeEvent | None = BEGINNING
        """The last that was heard of and is not learnt yet."""

    def wants(self, hint: ChangeEvent) -> bool:
        # Asked of every stream for every hint of anybody's: what most of them are is known first.
        if hint.user_id is not None and hint.user_id != self._user_id:
            return False
        if hint.feed_id is not None:
            return hint.feed_id in self._feeds or self._change is not None
        if self.is_change(hint):
            self._change = hint
        return hint.user_id is not None or hint.topic in HEARD

    def is_change(self, hint: ChangeEvent) -> bool:
        """Whether this user may follow other feeds now."""
        return hint.topic == "resync" or (hint.topic == "subscriptions" and hint.user_id == self._user_id)

    def learn(self, feeds: frozenset[int], *, because: ChangeEvent) -> None:
        self._feeds = feeds
        if self._change is because:
            self._change = None

    def shows(self, hint: ChangeEvent) -> bool:
        if hint.topic not in SHOWN:
            return False
        if hint.user_id is not None:
            return hint.user_id == self._user_id
        return hint.feed_id is None or hint.feed_id in self._feeds


async def _heard(
    runtime: Runtime, listener: Listener, caller: Caller, ends_at: Instant
) -> AsyncGenerator[ChangeEvent | None]:
    while runtime.now() < ends_at:
        hint = await listener.next(HEARTBEAT_SECONDS)
        missed, listener.missed = listener.missed, False
        # The hint that this stream must end may be among those that were missed.
        if (missed or hint is None) and not await still_open(runtime, caller):
            return
        if missed:
            yield _resync()
        if hint is not None and (hint.topic == "stopping" or _revokes(hint, caller)):
            return
        yield hint


def _has_room(runtime: Runtime, caller: Caller) -> bool:
    return runtime.meters.streams_by_user.get(caller.user_id, 0) < runtime.limits.streams


@contextmanager
def _counted(meters: Metrics, user_id: int) -> Generator[None]:
    by_user = meters.streams_by_user
    meters.open_streams += 1
    by_user[user_id] = by_user.get(user_id, 0) + 1
    try:
        yield
    finally:
        meters.open_streams -= 1
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


def _revokes(hint: ChangeEvent, caller: Caller) -> bool:
    if hint.topic != "revoked" or hint.user_id != caller.user_id:
        return False
    session, token = hint.data.get("session_id"), hint.data.get("token_id")
    if session is None and token is None:
        kept = hint.data.get("except_session_id")
        return kept is None or kept != caller.session_id
    return (session is not None and session == caller.session_id) or (
        token is not None and token == caller.token_id
    )


async def _followed(runtime: Runtime, user_id: int) -> frozenset[int]:
    async with runtime.db.read() as tx:
        return await subscriptions.feed_ids(tx, user_id)


MAX_NAMED = 200
"""A hint about more entries names none of them: the list is read again."""


async def publish_states(
    runtime: Runtime, user_id: int, entry_ids: Sequence[int], change: StateChange
) -> None:
    named = [str(id) for id in entry_ids] if len(entry_ids) <= MAX_NAMED else []
    data: dict[str, Any] = {"ids": named}
    for name in ("read", "starred", "later", "tags"):
        if (value := getattr(change, name)) is not None:
            data[name] = value
    await runtime.bus.publish(ChangeEvent("state_changed", user_id=user_id, data=data))
    await publish_counts(runtime, user_id)


async def publish_counts(runtime: Runtime, user_id: int) -> None:
    await runtime.bus.publish(ChangeEvent("counts", user_id=user_id))
