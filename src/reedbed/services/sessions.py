"""Sessions: opened by a login, told by their token, listed and revoked."""

from contextlib import suppress
from dataclasses import replace

from reedbed.domain.accounts import Caller, NewSession, Session, User
from reedbed.domain.errors import NotFound, Unavailable
from reedbed.domain.hints import Hint
from reedbed.domain.times import MINUTE, Instant
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import API_TOKEN_PREFIX, new_token, token_hash
from reedbed.store import events, sessions, tokens
from reedbed.store.database import Tx

TOUCH_EVERY = 5 * MINUTE
"""`last_active_at` need not be exact, and a write for each request would be."""

LONGEST_TOKEN = 200
MOST_SHOWN = 200
LOG_IN = "Log in first."
MADE_AHEAD = "You had logged in while the clock of this server was wrong. Log in again."
REVOKED, CHANGED = "revoked", "account_changed"


async def open_session(
    runtime: Runtime, user: User, *, user_agent: str | None = None, ip: str | None = None
) -> NewSession:
    async with runtime.db.write() as tx:
        return await add_session(runtime, tx, user, user_agent=user_agent, ip=ip)


async def add_session(
    runtime: Runtime, tx: Tx, user: User, *, user_agent: str | None, ip: str | None
) -> NewSession:
    now, token = runtime.now(), new_token()
    expires_at = now + runtime.accounts.session_life
    await sessions.add(
        tx,
        user.id,
        token_hash=token_hash(token),
        user_agent=user_agent[:300] if user_agent else None,
        ip=ip,
        now=now,
        expires_at=expires_at,
    )
    return NewSession(token, expires_at, user)


async def identify(runtime: Runtime, token: str, *, by_cookie: bool = False) -> Caller | None:
    """The caller behind a session token or an API token, or None. Only sessions come as cookies."""
    if len(token) > LONGEST_TOKEN or (by_cookie and token.startswith(API_TOKEN_PREFIX)):
        return None
    hashed = token_hash(token)
    caller = runtime.callers.get(hashed)
    if caller is None:
        look = runtime.callers.look()
        caller = await _look_up(runtime, hashed, of_program=token.startswith(API_TOKEN_PREFIX))
        if caller is None:
            return None
        runtime.callers.remember(hashed, caller, look)
    return replace(caller, by_cookie=True) if by_cookie else caller


async def why_refused(runtime: Runtime, token: str) -> str:
    """What to say to somebody whose token `identify` does not know."""
    if len(token) <= LONGEST_TOKEN and not token.startswith(API_TOKEN_PREFIX):
        async with runtime.db.read() as tx:
            if await sessions.was_made_ahead(tx, token_hash(token), runtime.now()):
                return MADE_AHEAD
    return LOG_IN


async def still_open(runtime: Runtime, caller: Caller) -> bool:
    """For what outlives a request: whether the door it came in by is still open. In doubt, it is."""
    now = runtime.now()
    try:
        async with runtime.db.read() as tx:
            if caller.session_id is not None:
                idle_since = now - runtime.accounts.session_idle
                return await sessions.is_open(tx, caller.session_id, now=now, idle_since=idle_since)
            return caller.token_id is None or await tokens.by_id(tx, "api", caller.token_id) is not None
    except Unavailable:
        return True


async def list_sessions(runtime: Runtime, user_id: int) -> list[Session]:
    """The last active first."""
    now = runtime.now()
    async with runtime.db.read() as tx:
        return list(
            await sessions.of_user(
                tx, user_id, now=now, idle_since=now - runtime.accounts.session_idle, limit=MOST_SHOWN
            )
        )


async def revoke_session(runtime: Runtime, caller: Caller, session_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await sessions.remove(tx, caller.user_id, session_id):
            raise NotFound("There is no such session.")
        await events.note(tx, runtime.now(), "session_revoked", caller.user_id, {"session_id": session_id})
    await announce_revoked(runtime, caller.user_id, session_id=session_id)


async def revoke_other_sessions(runtime: Runtime, caller: Caller) -> int:
    """All but the one that asks; how many."""
    async with runtime.db.write() as tx:
        count = await sessions.remove_others(tx, caller.user_id, caller.session_id)
        await events.note(tx, runtime.now(), "sessions_revoked", caller.user_id, {"count": count})
    await announce_revoked(runtime, caller.user_id, except_session_id=caller.session_id)
    return count


async def revoke_all_sessions(runtime: Runtime, caller: Caller) -> None:
    async with runtime.db.write() as tx:
        count = await sessions.remove_others(tx, caller.user_id, None)
        await events.note(tx, runtime.now(), "sessions_revoked", caller.user_id, {"count": count})
    await announce_revoked(runtime, caller.user_id)


async def announce_revoked(runtime: Runtime, user_id: int, **which: int | None) -> None:
    """`session_id`, `token_id` or `except_session_id`; none of them: everything of this user."""
    runtime.callers.forget_user(user_id)
    await runtime.bus.publish(Hint(REVOKED, user_id=user_id, data=which))


async def announce_changed(runtime: Runtime, user_id: int) -> None:
    """The account looks different now, though nobody has to log in again."""
    runtime.callers.forget_user(user_id)
    await runtime.bus.publish(Hint(CHANGED, user_id=user_id))


async def watch_revocations(runtime: Runtime) -> None:
    """Forgets what other processes have changed; runs as long as the process."""
    with runtime.bus.listen() as listener:
        async for hint in listener:
            if listener.missed:
                listener.missed = False
                runtime.callers.forget_all()
            if hint.topic in (REVOKED, CHANGED) and hint.user_id is not None:
                runtime.callers.forget_user(hint.user_id)


async def _look_up(runtime: Runtime, hashed: str, *, of_program: bool) -> Caller | None:
    now = runtime.now()
    async with runtime.db.read() as tx:
        if of_program:
            found = await tokens.by_secret(tx, "api", hashed)
        else:
            idle_since = now - runtime.accounts.session_idle
            found = await sessions.caller(tx, hashed, now=now, idle_since=idle_since)
    if found is None:
        return None
    caller, last_seen = found
    await touch(runtime, caller, last_seen)
    return caller


async def touch(runtime: Runtime, caller: Caller, last_seen: Instant | None) -> None:
    now = runtime.now()
    if last_seen is not None and now - last_seen <= TOUCH_EVERY:
        return
    # Who can only be read about, because the disk is full, may still read.
    with suppress(Unavailable):
        await _note_seen(runtime, caller, now)


async def _note_seen(runtime: Runtime, caller: Caller, now: Instant) -> None:
    async with runtime.db.write() as tx:
        if caller.session_id is not None:
            await sessions.touch(tx, caller.session_id, now)
        elif caller.token_id is not None:
            await tokens.touch(tx, caller.token_id, now)
