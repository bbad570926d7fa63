"""Who calls: remembered for seconds, forgotten everywhere within one."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from reedbed.domain.times import DAY, HOUR
from reedbed.domain.users import Caller, User
from reedbed.events.redis import RedisAvailability, RedisBus, connect
from reedbed.services.auth import (
    LOG_IN,
    MADE_AHEAD,
    identify,
    list_sessions,
    open_session,
    rejection,
    revoke_session,
    watch_revocations,
)
from reedbed.services.maintenance import delete_expired_sessions
from reedbed.services.runtime import CACHE_SECONDS, CallerCache, Runtime
from reedbed.services.runtime import MAX_CACHED_CALLERS as MOST
from reedbed.services.users import set_role
from reedbed.store import auth, users
from reedbed.store.engine.database import counting
from tests.harness import open_harness


def caller(user_id: int = 1) -> Caller:
    return Caller(User(user_id, f"p{user_id}@example.org", "user", 0), session_id=user_id)


@pytest.fixture
async def runtime(sqlite_url: str) -> AsyncIterator[Runtime]:
    async with open_harness(sqlite_url) as harness:
        yield harness.runtime


async def _user(runtime: Runtime) -> User:
    async with runtime.db.write() as tx:
        return await users.add(tx, email="reader@example.org", password_hash=None, role="user", now=1, verified=True)


async def test_a_caller_is_looked_up_once_for_many_requests(runtime: Runtime) -> None:
    runtime = replace(runtime, callers=CallerCache(lambda: 0.0))
    session = await open_session(runtime, await _user(runtime))

    with counting() as count:
        for _ in range(20):
            assert await identify(runtime, session.token) is not None
    assert count.value == 1


async def test_a_session_whose_token_would_begin_like_an_api_token_is_valid(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([f"rb_{'x' * 40}", "x" * 43])
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: next(drawn))
    session = await open_session(runtime, await _user(runtime))
    assert await identify(runtime, session.token)
    assert not list(drawn)


async def test_a_session_made_by_a_clock_years_ahead_ends_when_it_is_set_back(database_url: str) -> None:
    """It would be valid for ten years; one that was made before lives on."""
    async with open_harness(database_url) as harness:
        user = await _user(harness.runtime)
        before = await open_session(harness.runtime, user)
        harness.clock.ahead += 3650 * DAY
        ahead = await open_session(harness.runtime, user)
        assert await identify(harness.runtime, ahead.token) is not None
        harness.clock.ahead -= 3650 * DAY
        runtime = replace(harness.runtime, callers=CallerCache())

        assert await identify(runtime, ahead.token) is None
        assert (await rejection(runtime, ahead.token)).message == MADE_AHEAD
        assert await identify(runtime, before.token) is not None
        assert len(await list_sessions(runtime, user.id)) == 1
        assert await delete_expired_sessions(runtime) == 1
        assert (await rejection(runtime, ahead.token)).message == LOG_IN


async def test_an_hour_that_a_clock_was_ahead_logs_nobody_out(database_url: str) -> None:
    async with open_harness(database_url) as harness:
        session = await open_session(harness.runtime, await _user(harness.runtime))
        harness.clock.ahead -= HOUR
        assert await identify(replace(harness.runtime, callers=CallerCache()), session.token) is not None


async def test_a_link_made_by_a_clock_years_ahead_opens_nothing(database_url: str) -> None:
    async with open_harness(database_url) as harness:
        user, now = await _user(harness.runtime), harness.runtime.now()
        async with harness.runtime.db.write() as tx:
            for made in (now, now + 3650 * DAY):
                link = {"email": user.email, "user_id": user.id, "token_hash": str(made)}
                await auth.add_mail_link(tx, purpose="reset", **link, now=made, expires_at=made + HOUR)
                opened = await auth.use_mail_link(tx, "reset", str(made), now)
                assert (opened is not None) is (made == now)


async def test_a_cached_caller_still_tells_cookies_from_tokens(runtime: Runtime) -> None:
    session = await open_session(runtime, await _user(runtime))

    by_cookie = await identify(runtime, session.token, by_cookie=True)
    by_bearer = await identify(runtime, session.token)

    assert by_cookie is not None and by_bearer is not None
    assert (by_cookie.by_cookie, by_bearer.by_cookie) == (True, False)


async def test_a_new_role_is_seen_by_the_next_request(runtime: Runtime) -> None:
    user = await _user(runtime)
    session = await open_session(runtime, user)
    await identify(runtime, session.token)

    await set_role(runtime, user, "admin")

    seen = await identify(runtime, session.token)
    assert seen is not None and seen.user.role == "admin"


async def test_another_process_hears_of_a_revoked_session_within_a_second(runtime: Runtime, redis_url: str) -> None:
    clients = [await connect(redis_url) for _ in range(2)]
    buses = [RedisBus(client, RedisAvailability()) for client in clients]
    for bus in buses:
        await bus.ready()
    here, there = [replace(runtime, bus=bus, callers=CallerCache()) for bus in buses]
    watching = asyncio.create_task(watch_revocations(there))
    session = await open_session(here, await _user(here))
    caller = await identify(here, session.token)
    assert caller is not None and caller.session_id is not None
    assert await identify(there, session.token) is not None

    await revoke_session(here, caller, caller.session_id)

    assert await identify(here, session.token) is None
    for _ in range(100):
        if await identify(there, session.token) is None:
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("still remembered after a second")
    watching.cancel()
    for bus, client in zip(buses, clients, strict=True):
        await bus.close()
        await client.aclose()


def test_what_was_read_before_a_revocation_is_not_remembered_after_it() -> None:
    cache = CallerCache()
    look = cache.look()
    cache.forget_user(1)

    cache.remember("hash", caller(), look)

    assert cache.get("hash") is None


def test_a_caller_is_forgotten_after_some_seconds_and_alone() -> None:
    now = 0.0
    cache = CallerCache(lambda: now)
    cache.remember("one", caller(1), cache.look())
    cache.remember("two", caller(2), cache.look())

    cache.forget_user(1)
    assert (cache.get("one"), cache.get("two")) == (None, caller(2))

    now = CACHE_SECONDS
    assert cache.get("two") is None


def test_a_slow_answer_of_the_database_makes_the_moment_no_longer() -> None:
    now = 0.0
    cache = CallerCache(lambda: now)
    look = cache.look()
    now = 0.5

    cache.remember("one", caller(1), look)

    assert cache.get("one") == caller(1)
    now = CACHE_SECONDS
    assert cache.get("one") is None


def test_the_cache_is_bounded_and_loses_the_oldest_first() -> None:
    cache = CallerCache(lambda: 0.0)
    for number in range(MOST + 1):
        cache.remember(str(number), caller(number), cache.look())

    assert cache.get("0") is None
    assert cache.get(str(MOST)) == caller(MOST)
