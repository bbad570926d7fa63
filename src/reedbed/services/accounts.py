"""Accounts: the first owner, logging in and out, and leaving for good."""

from reedbed.domain.accounts import Caller, NewSession, User
from reedbed.domain.emails import email_address, known_as
from reedbed.domain.errors import Conflict, Forbidden, Invalid, TooMany, Unauthorized
from reedbed.domain.passwords import check_password
from reedbed.domain.times import MINUTE
from reedbed.services.limits import give_back_login, spend, spend_login
from reedbed.services.mail import request_mail
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import hash_password, is_outdated, known_device, password_matches
from reedbed.services.sessions import add_session, announce_revoked
from reedbed.store import app_settings, events, sessions, users
from reedbed.store.database import Tx

WRONG = "Invalid email or password"
WRONG_PASSWORD = "This is not your password."  # noqa: S105  a sentence
LOG_IN_AGAIN = "Your account has no password. Log out, log in again, and do this within a quarter of an hour."
UNVERIFIED = "Confirm your e-mail address first: open the link in the mail that we have just sent you."
UNCONFIRMED = "Confirm your e-mail address first: open the link in the mail that we sent you."
DISABLED = "This account is disabled. Ask the operator of this server."
LAST_OWNER = "This is the only owner. Make somebody else an owner first."

FRESH = 15 * MINUTE
"""How long a log-in by a provider stands for the password that the account does not have."""


async def needs_owner(runtime: Runtime) -> bool:
    async with runtime.db.read() as tx:
        return not await users.any_user(tx)


async def create_owner(runtime: Runtime, email: str, password: str) -> User:
    address = email_address(email)
    check_password(password, address)
    if not await needs_owner(runtime):
        raise _owned()
    password_hash = await hash_password(password)
    now = runtime.now()
    async with runtime.db.write() as tx:
        # Whoever comes second waits here for the first to be done, also on PostgreSQL.
        await app_settings.put(tx, "owner_made_at", str(now), now)
        if await users.any_user(tx):
            raise _owned()
        owner = await users.add(
            tx, email=address, password_hash=password_hash, role="owner", now=now, verified=True
        )
        await events.note(tx, now, "user_registered", owner.id, {"how": "setup"})
    return owner


async def log_in(
    runtime: Runtime,
    email: str,
    password: str,
    *,
    user_agent: str | None = None,
    ip: str | None = None,
    device: str | None = None,
) -> NewSession:
    """`device`: what `remember_device` gave to this browser."""
    address = known_as(email)
    spent = await spend_login(runtime, address, ip, known_device(runtime.secret, device, address))
    async with runtime.db.read() as tx:
        found = await users.by_email(tx, address)
    user, password_hash = found or (None, None)
    if not await password_matches(password, password_hash) or user is None or password_hash is None:
        await _note_failure(runtime, user, ip)
        raise Unauthorized(WRONG)
    await _check_welcome(runtime, user)
    await give_back_login(runtime, address, spent)
    fresh = await hash_password(password) if is_outdated(password_hash) else None
    async with runtime.db.write() as tx:
        if fresh is not None:
            await users.set_password(tx, user.id, fresh)
        await events.note(tx, runtime.now(), "user_login", user.id, {"ip": ip})
        return await add_session(runtime, tx, user, user_agent=user_agent, ip=ip)


async def log_out(runtime: Runtime, caller: Caller) -> None:
    if caller.session_id is None:
        return
    async with runtime.db.write() as tx:
        await sessions.remove(tx, caller.user_id, caller.session_id)
    await announce_revoked(runtime, caller.user_id, session_id=caller.session_id)


async def check_own_password(runtime: Runtime, caller: Caller, password: str, field: str) -> None:
    """Before what cannot be undone: the session alone may be somebody at an open laptop."""
    await spend(runtime, f"password:{caller.user_id}", runtime.limits.login)
    async with runtime.db.read() as tx:
        password_hash = await users.password_hash(tx, caller.user_id)
        opened_at = await sessions.opened_at(tx, caller.session_id or 0)
    if password_hash is None:  # who logs in by a provider proves it there
        if opened_at is None or runtime.now() - opened_at > FRESH:
            raise Invalid(LOG_IN_AGAIN, field=field)
    elif not await password_matches(password, password_hash):
        raise Invalid(WRONG_PASSWORD, field=field)


async def has_password(runtime: Runtime, user_id: int) -> bool:
    """Not those who came by a provider."""
    async with runtime.db.read() as tx:
        return await users.password_hash(tx, user_id) is not None


async def delete_account(runtime: Runtime, caller: Caller, password: str) -> None:
    """The account with everything it owns, at once and for good."""
    await check_own_password(runtime, caller, password, "password")
    await remove_user(runtime, caller.user)


async def remove_user(runtime: Runtime, user: User) -> None:
    async with runtime.db.write() as tx:
        await keep_an_owner(tx, user)
        await users.remove(tx, user.id)
        await events.note(tx, runtime.now(), "user_deleted", None)
    await announce_revoked(runtime, user.id)


async def keep_an_owner(tx: Tx, user: User) -> None:
    """Refuse what would leave the server without an owner who can log in."""
    if user.role == "owner" and user.disabled_at is None and await users.owners(tx) <= 1:
        raise Conflict(LAST_OWNER)


async def _check_welcome(runtime: Runtime, user: User) -> None:
    """Told only to whoever knows the password."""
    if user.disabled_at is not None:
        raise Forbidden(DISABLED)
    if user.email_verified_at is None and runtime.mailer is not None:
        try:
            await request_mail(runtime, "register", user.email)
        except TooMany as error:
            raise Forbidden(f"{UNCONFIRMED} {error.message}") from error
        raise Forbidden(UNVERIFIED)


async def _note_failure(runtime: Runtime, user: User | None, ip: str | None) -> None:
    """Without what was typed: people put passwords into the wrong field."""
    async with runtime.db.write() as tx:
        await events.note(tx, runtime.now(), "login_failed", user.id if user else None, {"ip": ip})


def _owned() -> Conflict:
    return Conflict("This server has an owner already. Log in instead.")
