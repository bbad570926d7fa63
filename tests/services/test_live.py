"""What a live stream hears, and what it is not even woken for."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from reedbed.domain.live import ChangeEvent
from reedbed.domain.users import Caller, User
from reedbed.events.bus import LocalHub
from reedbed.services import live
from reedbed.services.auth import identify, open_session, revoke_other_sessions, revoke_session
from reedbed.services.live import BEGINNING, EventFilter, follow, hide_muted
from reedbed.services.runtime import Runtime
from reedbed.services.users import disable_member
from reedbed.store import auth, users
from tests.harness import open_harness
from tests.store.library import Library

MINE, OTHER = 1, 2


@pytest.fixture
async def runtime(sqlite_url: str) -> AsyncIterator[Runtime]:
    async with open_harness(sqlite_url) as harness:
        yield harness.runtime


def followed(*feeds: int) -> EventFilter:
    ear = EventFilter(MINE)
    ear.learn(frozenset(feeds), because=BEGINNING)
    return ear


@pytest.mark.parametrize(
    ("hint", "wanted"),
    [
        (ChangeEvent("new_entry", feed_id=7), True),
        (ChangeEvent("new_entry", feed_id=8), False),
        (ChangeEvent("counts", user_id=MINE), True),
        (ChangeEvent("counts", user_id=OTHER), False),
        (ChangeEvent("revoked", user_id=MINE), True),
        (ChangeEvent("revoked", user_id=OTHER), False),
        (ChangeEvent("stopping"), True),
        (ChangeEvent("resync"), True),
        (ChangeEvent("wake", data={"for": "jobs"}), False),
    ],
)
def test_what_concerns_somebody_else_is_not_wanted(hint: ChangeEvent, wanted: bool) -> None:
    assert followed(7).wants(hint) is wanted


def test_until_a_change_is_learnt_no_feed_is_left_out() -> None:
    ear = followed(7)
    first, second = ChangeEvent("subscriptions", user_id=MINE), ChangeEvent("subscriptions", user_id=MINE)
    news = ChangeEvent("new_entry", feed_id=8)
    for change in (first, second):
        assert ear.wants(change)
    ear.learn(frozenset({7}), because=first)
    assert ear.wants(news), "the second change is not learnt yet"
    ear.learn(frozenset({7, 8}), because=second)
    assert ear.wants(news)
    assert not ear.wants(ChangeEvent("new_entry", feed_id=9))


async def test_hints_for_others_do_not_hold_back_the_heartbeat(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy closes a stream on which nothing comes, however much is told to everybody else."""
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.2)
    me = await _signed_in(runtime)

    async def chatter() -> None:
        while True:
            await runtime.bus.publish(ChangeEvent("counts", user_id=me.user_id + 1))
            await asyncio.sleep(0.01)

    talking = asyncio.create_task(chatter())
    hints = follow(runtime, me, None)
    async with asyncio.timeout(30):
        assert await anext(hints) is None
    talking.cancel()
    await hints.aclose()


async def test_a_stream_does_not_announce_muted_entries(runtime: Runtime) -> None:
    me = await _signed_in(runtime)
    stream = follow(runtime, me, None)
    event = ChangeEvent("new_entry", user_id=me.user_id, data={"feed_id": "7", "ids": ["1", "2"]})
    waiting = asyncio.ensure_future(anext(stream))
    await _listening(runtime)
    await runtime.bus.publish(hide_muted(event, {me.user_id: [1, 2]}))
    await runtime.bus.publish(hide_muted(event, {me.user_id: [1], me.user_id + 1: [2]}))
    async with asyncio.timeout(30):
        received = await waiting
    await stream.aclose()
    assert received is not None and received.data == {"feed_id": "7", "ids": ["2"]}


@pytest.mark.parametrize("how", ["one", "others", "everything"])
async def test_a_stream_ends_within_a_second_of_its_session(runtime: Runtime, how: str) -> None:
    me = await _signed_in(runtime)
    other = await _signed_in(runtime, me.user)
    assert other.session_id is not None
    stream = asyncio.create_task(_listen(follow(runtime, other, None)))
    await _listening(runtime)

    match how:
        case "one":
            await revoke_session(runtime, me, other.session_id)
        case "others":
            await revoke_other_sessions(runtime, me)
        case _:
            await disable_member(runtime, me.user)

    async with asyncio.timeout(10):
        await stream


async def test_a_stream_that_missed_the_word_of_its_end_asks_and_ends(runtime: Runtime) -> None:
    """Redis was away while the session was revoked elsewhere."""
    me = await _signed_in(runtime)
    assert me.session_id is not None
    stream = asyncio.create_task(_listen(follow(runtime, me, None)))
    await _listening(runtime)
    async with runtime.db.write() as tx:
        await auth.delete_session(tx, me.user_id, me.session_id)
    assert isinstance(runtime.bus, LocalHub)

    runtime.bus.miss()

    async with asyncio.timeout(10):
        await stream


async def test_a_stream_whose_session_ended_while_it_was_opened_ends_at_once(runtime: Runtime) -> None:
    me = await _signed_in(runtime)
    assert me.session_id is not None

    await revoke_session(runtime, me, me.session_id)

    async with asyncio.timeout(10):
        await _listen(follow(runtime, me, None))


async def test_a_stream_that_missed_the_word_of_a_new_feed_hears_of_its_entries(runtime: Runtime) -> None:
    """Redis was away while a feed was followed elsewhere."""
    library = Library(runtime.db)
    me = await _signed_in(runtime)
    hints = follow(runtime, me, None)
    next_hint = asyncio.create_task(anext(hints))
    await _listening(runtime)
    feed = await library.feed()
    await library.follow(me.user_id, feed)
    assert isinstance(runtime.bus, LocalHub)

    runtime.bus.miss()
    await runtime.bus.publish(ChangeEvent("new_entry", feed_id=feed))

    heard = []
    async with asyncio.timeout(10):
        heard.append(await next_hint)
        while (hint := await anext(hints)) and hint.topic != "new_entry":
            heard.append(hint)
    assert {hint.topic for hint in heard if hint} == {"resync"}
    await hints.aclose()


async def _listen(hints: AsyncGenerator[ChangeEvent | None]) -> None:
    async for _ in hints:
        pass


async def _listening(runtime: Runtime) -> None:
    async with asyncio.timeout(30):
        while not runtime.metrics.open_streams:  # noqa: ASYNC110  a meter tells nobody that it moved
            await asyncio.sleep(0)


async def _signed_in(runtime: Runtime, user: User | None = None) -> Caller:
    if user is None:
        async with runtime.db.write() as tx:
            user = await users.add(
                tx, email="reader@example.org", password_hash=None, role="user", now=1, verified=True
            )
    session = await open_session(runtime, user)
    me = await identify(runtime, session.token)
    assert me is not None
    return me
