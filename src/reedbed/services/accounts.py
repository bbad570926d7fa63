"""Accounts: the first owner, logging in and out, and telling who calls."""

from dataclasses import replace

from reedbed.domain.accounts import Caller, NewSession, User
from reedbed.domain.emails import email_address
from reedbed.domain.errors import Conflict, Unauthorized
from reedbed.domain.passwords import check_password
from reedbed.domain.times import MINUTE
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import hash_password, new_token, password_matches, token_hash
from reedbed.store import sessions, users

TOUCH_EVERY = 5 * MINUTE
"""`last_active_at` need not be exact, and a write for each request would be."""


async def needs_owner(runtime: Runtime) -> bool:
    async with runtime.db.read() as tx:
        return not await users.any_user(tx)


async def create_owner(runtime: Runtime, email: str, password: str) -> User:
    address = email_address(email)
    check_password(password, address)
    password_hash = await hash_password(password)
    async with runtime.db.write() as tx:
        if await users.any_user(tx):
            raise Conflict("This server has an owner already. Log in instead.")
        return await users.add(
            tx, email=address, password_hash=password_hash, role="owner", now=runtime.now(), verified=True
        )


async def log_in(
    runtime: Runtime, email: str, password: str, *, user_agent: str | None = None, ip: str | None = None
) -> NewSession:
    async with runtime.db.read() as tx:
        found = await users.by_email(tx, email.strip().lower())
    if not await password_matches(password, found[1] if found else None) or found is None:
        raise Unauthorized("Invalid email or password")
    return await open_session(runtime, found[0], user_agent=user_agent, ip=ip)


async def log_out(runtime: Runtime, caller: Caller) -> None:
    if caller.session_id is None:
        return
    async with runtime.db.write() as tx:
        await sessions.remove(tx, caller.user_id, caller.session_id)


async def identify(runtime: Runtime, token: str, *, by_cookie: bool = False) -> Caller | None:
    """The caller behind a session token, or None."""
    now = runtime.now()
    async with runtime.db.read() as tx:
        found = await sessions.caller(
            tx, token_hash(token), now=now, idle_since=now - runtime.accounts.session_idle
        )
    if found is None:
        return None
    caller, last_active_at = found
    if now - last_active_at > TOUCH_EVERY and caller.session_id is not None:
        async with runtime.db.write() as tx:
            await sessions.touch(tx, caller.session_id, now)
    return replace(caller, by_cookie=by_cookie)


async def open_session(
    runtime: Runtime, user: User, *, user_agent: str | None = None, ip: str | None = None
) -> NewSession:
    now = runtime.now()
    token = new_token()
    expires_at = now + runtime.accounts.session_life
    async with runtime.db.write() as tx:
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
