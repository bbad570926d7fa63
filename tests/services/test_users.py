"""Accounts through the services, on both engines."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from reedbed.domain.errors import Conflict, Forbidden, Invalid, TooMany, Unauthorized
from reedbed.domain.times import DAY
from reedbed.domain.users import Caller, NewSession, User
from reedbed.events.limits import MemoryLimiter
from reedbed.services.auth import identify, list_sessions, open_session, revoke_other_sessions, revoke_session
from reedbed.services.email import enqueue_mail
from reedbed.services.runtime import Runtime
from reedbed.services.security import FRESH_ADDRESSES, PER_ACCOUNT, charge_login, hash_password, password_matches
from reedbed.services.users import (
    add_member,
    change_password,
    create_owner,
    delete_account,
    disable_member,
    enable_member,
    log_in,
    log_out,
    needs_owner,
    remove_user,
    set_role,
)
from reedbed.store.tables import metadata
from tests.harness import RuntimeHarness

GOOD = "seven herons in the reeds"
BETTER = "eight herons in the reeds"


@pytest.fixture
def runtime(harness: RuntimeHarness) -> Runtime:
    return harness.runtime


async def caller_of(runtime: Runtime, session: NewSession) -> Caller:
    caller = await identify(runtime, session.token)
    assert caller is not None
    return caller


async def reader(runtime: Runtime, email: str = "reader@example.org") -> User:
    return await add_member(runtime, email, GOOD)


async def test_the_first_visit_makes_one_owner_even_when_two_come_at_once(runtime: Runtime) -> None:
    assert await needs_owner(runtime)

    outcomes = await asyncio.gather(
        *(create_owner(runtime, f"owner{number}@example.org", GOOD) for number in range(3)), return_exceptions=True
    )

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict", "Conflict", "User"]
    assert not await needs_owner(runtime)


async def test_a_login_opens_a_session_that_says_who_calls(runtime: Runtime) -> None:
    user = await reader(runtime)

    session = await log_in(runtime, " Reader@Example.org ", GOOD, user_agent="curl/8", ip="192.0.2.1")

    caller = await caller_of(runtime, session)
    assert (caller.user_id, caller.by_cookie) == (user.id, False)
    assert session.token not in repr(session)
    (listed,) = await list_sessions(runtime, user.id)
    assert (listed.user_agent, listed.ip) == ("curl/8", "192.0.2.1")


async def test_a_wrong_password_and_an_unknown_address_sound_alike(runtime: Runtime, harness: RuntimeHarness) -> None:
    await reader(runtime)

    for email in ("reader@example.org", "nobody@example.org", "not an address", "\0"):
        with pytest.raises(Unauthorized, match=r"^Invalid email or password$"):
            await log_in(runtime, email, "wrong")

    kinds = await harness.column("SELECT kind FROM event_log WHERE kind = 'login_failed'")
    assert len(kinds) == 4
    assert "wrong" not in "".join(await harness.column("SELECT detail FROM event_log"))


async def test_an_unknown_address_costs_a_hash_as_well() -> None:
    real = await hash_password(GOOD)
    times: dict[str | None, float] = {}
    for password_hash in (real, None):
        began = time.process_time()
        for _ in range(3):
            assert not await password_matches("wrong", password_hash)
        times[password_hash] = time.process_time() - began
    assert 0.3 < times[None] / times[real] < 3


async def test_the_sixth_login_in_a_minute_from_one_address_waits(runtime: Runtime) -> None:
    runtime = replace(runtime, limiter=MemoryLimiter(clock=lambda: 0.0))
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await log_in(runtime, "nobody@example.org", "wrong", ip="192.0.2.1")

    with pytest.raises(TooMany) as stopped:
        await log_in(runtime, "nobody@example.org", "wrong", ip="192.0.2.1")
    assert 1 <= stopped.value.retry_after <= 12

    with pytest.raises(Unauthorized):
        await log_in(runtime, "nobody@example.org", "wrong", ip="192.0.2.2")


async def test_guessing_from_many_addresses_is_slowed_per_account(runtime: Runtime) -> None:
    runtime = replace(runtime, limiter=MemoryLimiter(clock=lambda: 0.0))
    spent = 0
    with pytest.raises(TooMany):
        for number in range(1_000):
            await charge_login(runtime, "victim@example.org", f"198.51.{number // 250}.{number % 250}", None)
            spent += 1
    assert spent == PER_ACCOUNT.burst + FRESH_ADDRESSES.burst

    with pytest.raises(TooMany) as stopped:
        await log_in(runtime, "victim@example.org", "x", ip="192.0.2.1")

    assert stopped.value.retry_after == 10


async def test_a_session_ends_by_age_and_by_silence(runtime: Runtime, harness: RuntimeHarness) -> None:
    user = await reader(runtime)
    idle, busy = [await open_session(runtime, user) for _ in range(2)]

    for _ in range(3):
        harness.clock.ahead += 9 * DAY
        runtime.callers.forget_all()
        assert await identify(runtime, busy.token) is not None
    assert await identify(runtime, idle.token) is None

    harness.clock.ahead += 4 * DAY
    runtime.callers.forget_all()
    assert await identify(runtime, busy.token) is None


async def test_logging_out_ends_only_this_session_and_at_once(runtime: Runtime, harness: RuntimeHarness) -> None:
    user = await reader(runtime)
    one, two = [await open_session(runtime, user) for _ in range(2)]
    caller = await caller_of(runtime, one)

    await log_out(runtime, caller)

    assert await identify(runtime, one.token) is None
    assert await identify(runtime, two.token) is not None
    assert harness.heard("revoked")[-1].data == {"session_id": caller.session_id}


async def test_sessions_are_revoked_one_by_one_or_all_but_this(runtime: Runtime, harness: RuntimeHarness) -> None:
    user = await reader(runtime)
    here, there, elsewhere = [await open_session(runtime, user) for _ in range(3)]
    me, other = await caller_of(runtime, here), await caller_of(runtime, there)
    assert other.session_id is not None

    await revoke_session(runtime, me, other.session_id)
    assert await identify(runtime, there.token) is None
    assert await identify(runtime, elsewhere.token) is not None

    assert await revoke_other_sessions(runtime, me) == 1
    assert await identify(runtime, elsewhere.token) is None
    assert await identify(runtime, here.token) is not None
    assert harness.heard("revoked")[-1].data == {"except_session_id": me.session_id}


async def test_a_changed_password_logs_out_every_other_device(runtime: Runtime) -> None:
    user = await reader(runtime)
    here, there = [await open_session(runtime, user) for _ in range(2)]
    me = await caller_of(runtime, here)

    with pytest.raises(Invalid, match="not your password"):
        await change_password(runtime, me, "wrong", BETTER)
    with pytest.raises(Invalid, match="at least 10"):
        await change_password(runtime, me, GOOD, "short")
    await change_password(runtime, me, GOOD, BETTER)

    assert await identify(runtime, here.token) is not None
    assert await identify(runtime, there.token) is None
    await log_in(runtime, user.email, BETTER)
    with pytest.raises(Unauthorized):
        await log_in(runtime, user.email, GOOD)


async def test_a_disabled_user_is_out_at_once_and_told_why_only_with_the_password(runtime: Runtime) -> None:
    user = await reader(runtime)
    session = await open_session(runtime, user)
    assert await identify(runtime, session.token) is not None

    disabled = await disable_member(runtime, user)

    assert await identify(runtime, session.token) is None
    with pytest.raises(Forbidden, match="disabled"):
        await log_in(runtime, user.email, GOOD)
    with pytest.raises(Unauthorized):
        await log_in(runtime, user.email, "wrong")
    await enable_member(runtime, disabled)
    await log_in(runtime, user.email, GOOD)


async def test_the_last_owner_stays(runtime: Runtime) -> None:
    owner = await create_owner(runtime, "owner@example.org", GOOD)
    for refused in (disable_member(runtime, owner), remove_user(runtime, owner)):
        with pytest.raises(Conflict, match="only owner"):
            await refused
    with pytest.raises(Conflict, match="only owner"):
        await set_role(runtime, owner, "user")
    await set_role(runtime, await reader(runtime), "owner")
    assert (await set_role(runtime, owner, "user")).role == "user"


async def test_two_owners_who_leave_at_once_leave_one_behind(runtime: Runtime) -> None:
    first = await create_owner(runtime, "owner@example.org", GOOD)
    second = await add_member(runtime, "second@example.org", GOOD, "owner")
    leaving = (disable_member(runtime, first), set_role(runtime, second, "user"))
    outcomes = await asyncio.gather(*leaving, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(Conflict) == 1


async def test_a_deleted_account_leaves_nothing_behind(runtime: Runtime, harness: RuntimeHarness) -> None:
    user, other = await reader(runtime), await reader(runtime, "other@example.org")
    feed_id = await harness.follow("http://127.0.0.1:1/feed", user_id=user.id)
    await harness.follow("http://127.0.0.1:1/feed", user_id=other.id)
    await harness.change(
        "INSERT INTO unread (user_id, sort_at, entry_id, feed_id) VALUES (:user, 1, 1, :feed)",
        user=user.id,
        feed=feed_id,
    )
    for name in ("auto_summaries", "one_lines", "translations"):
        for one in (user, other):
            key = f"{name}:{one.id}"
            await harness.change("INSERT INTO app_settings (key, value, updated_at) VALUES (:key, '1', 1)", key=key)
    session = await log_in(runtime, user.email, GOOD)
    me = await caller_of(runtime, session)

    with pytest.raises(Invalid, match="not your password"):
        await delete_account(runtime, me, "wrong")
    await delete_account(runtime, me, GOOD)

    assert await identify(runtime, session.token) is None
    for table in metadata.tables.values():
        if "user_id" in table.c:
            left = await harness.column(f"SELECT count(*) FROM {table.name} WHERE user_id = :id", id=user.id)
            assert left == [0], table.name
    settings = await harness.column("SELECT key FROM app_settings WHERE key LIKE '%:%' ORDER BY key")
    assert settings == [f"{name}:{other.id}" for name in ("auto_summaries", "one_lines", "translations")]
    assert await harness.column("SELECT email FROM users") == ["other@example.org"]
    assert await harness.column("SELECT count(*) FROM subscriptions") == [1]


async def test_letters_to_similar_addresses_outlive_a_deleted_account(
    runtime: Runtime, harness: RuntimeHarness
) -> None:
    user = await reader(runtime, "a_b@example.org")
    others = ["axb@example.org", "za_b@example.org", "a_b@example.org.uk"]
    async with runtime.db.write() as tx:
        for email in (user.email, *others):
            await enqueue_mail(runtime, tx, "reset", email)
    await remove_user(runtime, user)
    left = await harness.column("SELECT payload FROM jobs WHERE kind = 'mail' ORDER BY id")
    assert [json.loads(payload)["email"] for payload in left] == others
