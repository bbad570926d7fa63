"""Sessions, API tokens with scopes, and app passwords for reader apps."""

import hmac
from contextlib import suppress
from dataclasses import field, replace

import orjson

from reedbed.domain.email import known_as
from reedbed.domain.errors import ConfirmationRequired, Conflict, Forbidden, NotFound, Unauthorized, Unavailable
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.times import MINUTE, Instant
from reedbed.domain.users import (
    APP_SCOPES,
    ApiToken,
    Caller,
    NewApiToken,
    NewSession,
    Session,
    TokenScope,
    User,
    check_token_name,
    device_name,
)
from reedbed.services.runtime import Runtime
from reedbed.services.security import (
    API_TOKEN_PREFIX,
    app_password_hash,
    fever_digest,
    fever_key,
    known_device,
    network_of,
    new_api_token,
    new_app_password,
    new_token,
    spend_attempt,
    token_hash,
)
from reedbed.store import auth, users
from reedbed.store.engine.database import Tx

# --- Sessions

TOUCH_EVERY = 5 * MINUTE
"""`last_active_at` need not be exact; this avoids a write for each request."""

MAX_TOKEN_LENGTH = 200
MAX_SHOWN = 200
LOG_IN = "Log in first."
MADE_AHEAD = "You had logged in while the clock of this server was wrong. Log in again."
REVOKED, CHANGED = "revoked", "account_changed"


async def open_session(
    runtime: Runtime, user: User, *, user_agent: str | None = None, ip: str | None = None
) -> NewSession:
    async with runtime.db.write() as tx:
        return await add_session(runtime, tx, user, user_agent=user_agent, ip=ip)


async def add_session(
    runtime: Runtime,
    tx: Tx,
    user: User,
    *,
    user_agent: str | None,
    ip: str | None,
    confirmed: bool = True,
    new_place: bool = False,
) -> NewSession:
    now, token = runtime.now(), new_token()
    expires_at = now + runtime.accounts.session_life
    await auth.add_session(
        tx,
        user.id,
        token_hash=token_hash(token),
        user_agent=user_agent[:300] if user_agent else None,
        ip=ip,
        now=now,
        expires_at=expires_at,
        confirmed=confirmed,
        new_place=new_place,
    )
    return NewSession(token, expires_at, user)


# --- Signing in

LOGINS_COMPARED = 200


@record
class LoginOrigin:
    """The browser and the network that a sign-in comes from."""

    user_agent: str | None = None
    ip: str | None = None
    device: str | None = field(default=None, repr=False)
    """The cookie of a browser that has logged in before; see `security.known_device`."""


async def sign_in_session(
    runtime: Runtime, tx: Tx, user: User, origin: LoginOrigin, *, how: str = "", confirmed: bool = True
) -> NewSession:
    """Open a session and record the login, with whether browser and network are both new to this account."""
    detail: dict[str, object] = {"ip": origin.ip, "device": device_name(origin.user_agent)}
    if how:
        detail["with"] = how
    if await _is_new_place(runtime, tx, user, origin):
        detail["new_place"] = True
    await users.record_event(tx, runtime.now(), "user_login", user.id, detail)
    return await add_session(
        runtime,
        tx,
        user,
        user_agent=origin.user_agent,
        ip=origin.ip,
        confirmed=confirmed,
        new_place="new_place" in detail,
    )


async def _is_new_place(runtime: Runtime, tx: Tx, user: User, origin: LoginOrigin) -> bool:
    if known_device(runtime.secret, origin.device, user.email) is not None:
        return False
    earlier = await users.list_events(tx, user_id=user.id, kind="user_login", limit=LOGINS_COMPARED)
    networks = {network_of(orjson.loads(event.detail).get("ip")) for event in earlier}
    return bool(networks) and network_of(origin.ip) not in networks


# --- Confirmation

CONFIRMED_FOR = 10 * MINUTE
"""How long a login or a confirmation allows dangerous changes."""
CONFIRM_FIRST = "Confirm that it is you first: with your password, a passkey or a one-time code."


async def confirmed_until(runtime: Runtime, caller: Caller) -> Instant | None:
    """Until when this session may make dangerous changes; None if it may not."""
    async with runtime.db.read() as tx:
        at = await auth.confirmed_at(tx, caller.session_id or 0)
    is_fresh = at is not None and at <= runtime.now() + MINUTE and runtime.now() - at < CONFIRMED_FOR
    return at + CONFIRMED_FOR if at is not None and is_fresh else None


async def check_confirmed(runtime: Runtime, caller: Caller) -> None:
    """Require a fresh proof before a dangerous change: the session may be an unattended laptop.

    API tokens cannot prove anything; their scopes say what they may do.
    """
    if caller.session_id is not None and await confirmed_until(runtime, caller) is None:
        raise ConfirmationRequired(CONFIRM_FIRST)


async def identify(runtime: Runtime, token: str, *, by_cookie: bool = False) -> Caller | None:
    """The caller for a session token or API token, or None. Cookies can only hold session tokens."""
    if len(token) > MAX_TOKEN_LENGTH or (by_cookie and token.startswith(API_TOKEN_PREFIX)):
        return None
    hashed = token_hash(token)
    caller = runtime.callers.get(hashed)
    if caller is None:
        lookup = runtime.callers.look()
        caller = await _look_up(runtime, hashed, is_api_token=token.startswith(API_TOKEN_PREFIX))
        if caller is None:
            return None
        runtime.callers.remember(hashed, caller, lookup)
    return replace(caller, by_cookie=True) if by_cookie else caller


async def rejection(runtime: Runtime, token: str) -> Unauthorized:
    """The error for a token that `identify` rejects."""
    if len(token) <= MAX_TOKEN_LENGTH and not token.startswith(API_TOKEN_PREFIX):
        async with runtime.db.read() as tx:
            if await auth.was_session_created_in_future(tx, token_hash(token), runtime.now()):
                return Unauthorized(MADE_AHEAD)
    return Unauthorized(LOG_IN)


async def is_still_valid(runtime: Runtime, caller: Caller) -> bool:
    """Whether a caller's session or token is still valid, for long streams. True if the database is down."""
    now = runtime.now()
    try:
        async with runtime.db.read() as tx:
            if caller.session_id is not None:
                idle_since = now - runtime.accounts.session_idle
                return await auth.is_session_open(tx, caller.session_id, now=now, idle_since=idle_since)
            return caller.token_id is None or await auth.get_token(tx, "api", caller.token_id) is not None
    except Unavailable:
        return True


async def list_sessions(runtime: Runtime, user_id: int) -> list[Session]:
    """Most recently active first."""
    now = runtime.now()
    async with runtime.db.read() as tx:
        return list(
            await auth.list_sessions(
                tx, user_id, now=now, idle_since=now - runtime.accounts.session_idle, limit=MAX_SHOWN
            )
        )


async def revoke_session(runtime: Runtime, caller: Caller, session_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await auth.delete_session(tx, caller.user_id, session_id):
            raise NotFound("There is no such session.")
        await users.record_event(tx, runtime.now(), "session_revoked", caller.user_id, {"session_id": session_id})
    await publish_revoked(runtime, caller.user_id, session_id=session_id)


async def revoke_other_sessions(runtime: Runtime, caller: Caller) -> int:
    """Revoke all sessions except the caller's; return how many."""
    async with runtime.db.write() as tx:
        count = await auth.delete_other_sessions(tx, caller.user_id, caller.session_id)
        await users.record_event(tx, runtime.now(), "sessions_revoked", caller.user_id, {"count": count})
    await publish_revoked(runtime, caller.user_id, except_session_id=caller.session_id)
    return count


async def revoke_all_sessions(runtime: Runtime, caller: Caller) -> None:
    await end_sessions(runtime, caller.user_id)


async def end_sessions(runtime: Runtime, user_id: int) -> int:
    async with runtime.db.write() as tx:
        count = await auth.delete_other_sessions(tx, user_id, None)
        await users.record_event(tx, runtime.now(), "sessions_revoked", user_id, {"count": count})
    await publish_revoked(runtime, user_id)
    return count


async def publish_revoked(runtime: Runtime, user_id: int, **which: int | None) -> None:
    """Pass `session_id`, `token_id` or `except_session_id`; without any, all of this user's are revoked."""
    runtime.callers.forget_user(user_id)
    await runtime.bus.publish(ChangeEvent(REVOKED, user_id=user_id, data=which))


async def publish_changed(runtime: Runtime, user_id: int) -> None:
    """The account has changed, but its sessions stay valid."""
    runtime.callers.forget_user(user_id)
    await runtime.bus.publish(ChangeEvent(CHANGED, user_id=user_id))


async def watch_revocations(runtime: Runtime) -> None:
    """Drop cached callers when another process changes them. Runs for the life of the process."""
    with runtime.bus.listen() as listener:
        async for event in listener:
            if listener.missed:
                listener.missed = False
                runtime.callers.forget_all()
            if event.topic in (REVOKED, CHANGED) and event.user_id is not None:
                runtime.callers.forget_user(event.user_id)


async def _look_up(runtime: Runtime, hashed: str, *, is_api_token: bool) -> Caller | None:
    now = runtime.now()
    async with runtime.db.read() as tx:
        if is_api_token:
            match = await auth.get_token_by_secret(tx, "api", hashed)
        else:
            idle_since = now - runtime.accounts.session_idle
            match = await auth.get_caller(tx, hashed, now=now, idle_since=idle_since)
    if match is None:
        return None
    caller, last_seen = match
    await touch(runtime, caller, last_seen)
    return caller


async def touch(runtime: Runtime, caller: Caller, last_seen: Instant | None) -> None:
    now = runtime.now()
    if last_seen is not None and now - last_seen <= TOUCH_EVERY:
        return
    # When the database is read-only, for example because the disk is full, reading still works.
    with suppress(Unavailable):
        await _record_activity(runtime, caller, now)


async def _record_activity(runtime: Runtime, caller: Caller, now: Instant) -> None:
    async with runtime.db.write() as tx:
        if caller.session_id is not None:
            await auth.touch_session(tx, caller.session_id, now)
        elif caller.token_id is not None:
            await auth.touch_token(tx, caller.token_id, now)


# --- API tokens and app passwords

MAX_TOKENS = 100


async def create_api_token(runtime: Runtime, caller: Caller, name: str, scopes: frozenset[TokenScope]) -> NewApiToken:
    if TokenScope.ADMIN in scopes and not caller.user.operates:
        raise Forbidden("Only an operator of this server may make a token with the admin scope.")
    secret = new_api_token()
    token = await _add_token(runtime, caller, "api", name, scopes, token_hash(secret), None)
    return NewApiToken(token, secret)


async def create_app_password(runtime: Runtime, caller: Caller, name: str) -> NewApiToken:
    """For Google Reader and Fever logins, together with the account's email."""
    secret = new_app_password()
    digest = fever_digest(fever_key(caller.user.email, secret))
    token = await _add_token(runtime, caller, "app_password", name, APP_SCOPES, app_password_hash(secret), digest)
    return NewApiToken(token, secret)


async def list_tokens(runtime: Runtime, user_id: int) -> list[ApiToken]:
    """API tokens and app passwords, newest first."""
    async with runtime.db.read() as tx:
        return list(await auth.list_tokens(tx, user_id))


async def revoke_token(runtime: Runtime, caller: Caller, token_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await auth.delete_token(tx, caller.user_id, token_id):
            raise NotFound("There is no such token.")
        await users.record_event(tx, runtime.now(), "token_revoked", caller.user_id, {"token_id": token_id})
    await publish_revoked(runtime, caller.user_id, token_id=token_id)


async def app_password_login(runtime: Runtime, email: str, password: str, *, ip: str | None = None) -> Caller | None:
    """The caller for an email and one of its app passwords. The account's own password is not accepted."""
    async with runtime.db.read() as tx:
        match = await auth.get_token_by_secret(tx, "app_password", app_password_hash(password))
    typed = known_as(email).encode("utf-8", "replace")
    if match is None or not hmac.compare_digest(match[0].user.email.encode(), typed):
        return await _count_failed_login(runtime, ip)
    return await _record_use(runtime, *match)


async def fever_login(runtime: Runtime, api_key: str, *, ip: str | None = None) -> Caller | None:
    """The caller for a Fever key: the MD5 of `email:app-password`."""
    async with runtime.db.read() as tx:
        match = await auth.get_token_by_fever_digest(tx, fever_digest(api_key))
    if match is None:
        return await _count_failed_login(runtime, ip)
    return await _record_use(runtime, *match)


async def _add_token(
    runtime: Runtime,
    caller: Caller,
    kind: str,
    name: str,
    scopes: frozenset[TokenScope],
    secret_hash: str,
    digest: str | None,
) -> ApiToken:
    checked_name, now = check_token_name(name), runtime.now()
    await check_confirmed(runtime, caller)
    async with runtime.db.write() as tx:
        if await auth.count_tokens(tx, caller.user_id) >= MAX_TOKENS:
            raise Conflict(
                "There can be at most %(limit)s tokens. Delete one that is not used any more.", limit=MAX_TOKENS
            )
        token = await auth.add_token(
            tx,
            caller.user_id,
            kind=kind,
            name=checked_name,
            scopes=scopes,
            secret_hash=secret_hash,
            fever_digest=digest,
            now=now,
        )
        await users.record_event(tx, now, "token_created", caller.user_id, {"kind": kind, "token_id": token.id})
    return token


async def _count_failed_login(runtime: Runtime, ip: str | None) -> None:
    """Only failures are rate limited: Fever clients send their key with every request."""
    await spend_attempt(runtime, "app-login", ip)


async def _record_use(runtime: Runtime, caller: Caller, last_used: Instant | None) -> Caller:
    await touch(runtime, caller, last_used)
    return caller
