"""Passwords: changed by who knows the old one, reset by who reads the account's mail."""

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

import orjson

from reedbed.domain.auth import EXPIRED, MailLink, check_password
from reedbed.domain.email import NotSent, Sent, email_address, known_as, link_email
from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound, TooMany, Unauthorized
from reedbed.domain.records import record
from reedbed.domain.times import MINUTE
from reedbed.domain.users import (
    Caller,
    NewSession,
    Preferences,
    User,
    change_preferences,
    check_role,
    read_preferences,
)
from reedbed.services.auth import add_session, publish_changed, publish_revoked
from reedbed.services.email import (
    check_mail_allowance,
    find_link,
    make_link,
    may_notify,
    note_wish,
    request_mail,
    spend_link,
)
from reedbed.services.jobs import wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.security import (
    give_back_login,
    hash_password,
    is_outdated,
    known_device,
    password_matches,
    spend,
    spend_attempt,
    spend_login,
)
from reedbed.store import auth, instance, users
from reedbed.store.engine.database import Tx

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
        return not await users.exists_any(tx)


async def create_owner(runtime: Runtime, email: str, password: str) -> User:
    address = email_address(email)
    check_password(password, address)
    if not await needs_owner(runtime):
        raise _owned()
    password_hash = await hash_password(password)
    now = runtime.now()
    async with runtime.db.write() as tx:
        # Whoever comes second waits here for the first to be done, also on PostgreSQL.
        await instance.set_setting(tx, "owner_made_at", str(now), now)
        if await users.exists_any(tx):
            raise _owned()
        owner = await users.add(
            tx, email=address, password_hash=password_hash, role="owner", now=now, verified=True
        )
        await users.record_event(tx, now, "user_registered", owner.id, {"how": "setup"})
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
        found = await users.get_by_email(tx, address)
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
        await users.record_event(tx, runtime.now(), "user_login", user.id, {"ip": ip})
        return await add_session(runtime, tx, user, user_agent=user_agent, ip=ip)


async def log_out(runtime: Runtime, caller: Caller) -> None:
    if caller.session_id is None:
        return
    async with runtime.db.write() as tx:
        await auth.delete_session(tx, caller.user_id, caller.session_id)
    await publish_revoked(runtime, caller.user_id, session_id=caller.session_id)


async def check_own_password(runtime: Runtime, caller: Caller, password: str, field: str) -> None:
    """Before what cannot be undone: the session alone may be somebody at an open laptop."""
    await spend(runtime, f"password:{caller.user_id}", runtime.limits.login)
    async with runtime.db.read() as tx:
        password_hash = await users.password_hash(tx, caller.user_id)
        opened_at = await auth.session_opened_at(tx, caller.session_id or 0)
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
        await users.delete_user(tx, user.id)
        await users.record_event(tx, runtime.now(), "user_deleted", None)
    await publish_revoked(runtime, user.id)


async def keep_an_owner(tx: Tx, user: User) -> None:
    """Refuse what would leave the server without an owner who can log in."""
    if user.role == "owner" and user.disabled_at is None and await users.list_owners(tx) <= 1:
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
        await users.record_event(tx, runtime.now(), "login_failed", user.id if user else None, {"ip": ip})


def _owned() -> Conflict:
    return Conflict("This server has an owner already. Log in instead.")


NO_SUCH = "There is no such user."


async def add_member(runtime: Runtime, email: str, password: str | None, role: str = "user") -> User:
    """By the operator, whatever the registration; without a password they need a reset link."""
    address = email_address(email)
    check_role(role)
    if password is not None:
        check_password(password, address)
    password_hash = await hash_password(password) if password is not None else None
    now = runtime.now()
    async with runtime.db.write() as tx:
        user = await users.add_if_new(
            tx, email=address, password_hash=password_hash, role=role, now=now, verified=True
        )
        if user is None:
            raise Conflict("This address has an account already.", field="email")
        await users.record_event(tx, now, "user_registered", user.id, {"how": "operator"})
    return user


async def find_member(runtime: Runtime, email: str) -> User:
    async with runtime.db.read() as tx:
        found = await users.get_by_email(tx, email_address(email))
    if found is None:
        raise NotFound(NO_SUCH)
    return found[0]


async def member(runtime: Runtime, user_id: int) -> User:
    async with runtime.db.read() as tx:
        found = await users.get(tx, user_id)
    if found is None:
        raise NotFound(NO_SUCH)
    return found


async def disable_member(runtime: Runtime, user: User) -> User:
    """They are logged out everywhere, and their tokens do nothing until they are enabled again."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        await keep_an_owner(tx, user)
        await users.set_disabled(tx, user.id, now)
        await auth.delete_other_sessions(tx, user.id, None)
        await users.record_event(tx, now, "user_disabled", user.id)
    await publish_revoked(runtime, user.id)
    return await member(runtime, user.id)


async def enable_member(runtime: Runtime, user: User) -> User:
    async with runtime.db.write() as tx:
        await users.set_disabled(tx, user.id, None)
        await users.record_event(tx, runtime.now(), "user_enabled", user.id)
    return await member(runtime, user.id)


async def set_role(runtime: Runtime, user: User, role: str) -> User:
    check_role(role)
    async with runtime.db.write() as tx:
        if role != "owner":
            await keep_an_owner(tx, user)
        await users.set_role(tx, user.id, role)
        await users.record_event(tx, runtime.now(), "role_changed", user.id, {"role": role})
    await publish_changed(runtime, user.id)
    return await member(runtime, user.id)


async def delete_member(runtime: Runtime, user: User) -> None:
    await remove_user(runtime, user)


async def member_to_change(runtime: Runtime, actor: User, user_id: int, becoming: str = "user") -> User:
    user = await member(runtime, user_id)
    if not may_change(actor, user, becoming):
        raise Forbidden("Only an owner may make or change an operator.")
    return user


def may_change(actor: User, user: User, becoming: str = "user") -> bool:
    """Owners look after everybody, admins after plain users."""
    return actor.role == "owner" or (not user.operates and becoming == "user")


def preferences_of(user: User) -> Preferences:
    return read_preferences(orjson.loads(user.preferences))


async def set_preferences(runtime: Runtime, caller: Caller, changes: Mapping[str, Any]) -> User:
    async with runtime.db.write() as tx:
        user = await users.get(tx, caller.user_id)
        if user is None:
            raise NotFound("This account is gone.")
        changed = change_preferences(preferences_of(user), changes)
        await users.set_preferences(tx, user.id, orjson.dumps(asdict(changed)).decode())
        user = await users.get(tx, user.id)
    assert user is not None
    await publish_changed(runtime, user.id)
    return user


CLOSED = "Registration is closed on this server. Ask its operator for an account."
BY_INVITATION = "This server takes new people by invitation only. Ask its operator for one."
CHECK_MAIL = "Almost done: open the link in the mail that we send to this address."
MAY_LOG_IN = "If the address was new, the account is ready: log in."
ACCEPT = "Please accept the privacy note."


@record
class Registration:
    email: str
    password: str = field(repr=False)
    privacy_accepted: bool = False
    invite: str = field(default="", repr=False)
    user_agent: str | None = None
    ip: str | None = None


@record
class Pending:
    """The one answer to every stranger, known or not."""

    message: str


async def register(runtime: Runtime, wish: Registration) -> NewSession | Pending:
    if runtime.accounts.registration == "closed":
        raise Forbidden(CLOSED)
    if runtime.accounts.registration == "invite" and not wish.invite:
        raise Forbidden(BY_INVITATION)
    await spend_attempt(runtime, "register", wish.ip)
    address = email_address(wish.email)
    check_password(wish.password, address)
    if not wish.privacy_accepted:
        raise Invalid(ACCEPT, field="privacy_accepted")
    if wish.invite:
        return await _accept_invite(runtime, wish, address)
    return await _register_stranger(runtime, wish, address)


async def verify_email(runtime: Runtime, token: str) -> User:
    """The link of a letter was opened: the address is theirs."""
    async with runtime.db.write() as tx:
        link = await spend_link(runtime, tx, "verify", token)
        user_id = link.user_id
        if user_id is None or not await users.verify(tx, user_id, link.email, runtime.now()):
            raise Invalid(EXPIRED, field="token")
        user = await users.get(tx, user_id)
        await users.record_event(tx, runtime.now(), "email_verified", user_id)
    assert user is not None
    await publish_changed(runtime, user_id)
    return user


@record
class Invite:
    email: str
    url: str = field(repr=False)
    mailed: bool


async def invite(runtime: Runtime, email: str, *, by_user_id: int | None = None) -> Invite:
    """A link for one person; mailed when the server can, shown to the operator in any case."""
    if runtime.accounts.registration == "closed":
        raise Conflict(
            "Registration is closed. Set REEDBED_REGISTRATION=invite to let people in by invitation."
        )
    address = email_address(email)
    async with runtime.db.read() as tx:
        if await users.get_by_email(tx, address):
            raise Conflict("This address has an account already.", field="email")
    url = await make_link(runtime, "invite", address, None)
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "user_invited", by_user_id)
    if runtime.mailer is None:
        return Invite(address, url, mailed=False)
    posted = await runtime.mailer.send(link_email(address, "invite", url), runtime.now())
    if isinstance(posted, NotSent) and posted.try_again and await may_notify(runtime, address):
        async with runtime.db.write() as tx:
            await note_wish(runtime, tx, "invite", address)
        await wake_jobs(runtime)
    return Invite(address, url, mailed=isinstance(posted, Sent))


async def find_invite(runtime: Runtime, token: str) -> MailLink | None:
    """For the page behind the link: whom it is for."""
    return await find_link(runtime, "invite", token)


async def open_invites(runtime: Runtime) -> list[MailLink]:
    async with runtime.db.read() as tx:
        return list(await auth.list_invites(tx, runtime.now()))


async def withdraw_invite(runtime: Runtime, link_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await auth.delete_invite(tx, link_id):
            raise NotFound("There is no such invitation.")


async def _accept_invite(runtime: Runtime, wish: Registration, address: str) -> NewSession:
    password_hash = await hash_password(wish.password)
    now = runtime.now()
    async with runtime.db.write() as tx:
        link = await spend_link(runtime, tx, "invite", wish.invite)
        if link.email != address:
            raise Invalid("This invitation is for another e-mail address.", field="email")
        user = await users.add_if_new(
            tx,
            email=address,
            password_hash=password_hash,
            role="user",
            now=now,
            verified=True,
            privacy_accepted=True,
        )
        if user is None:
            raise Conflict("This address has an account already. Log in instead.", field="email")
        await users.record_event(tx, now, "user_registered", user.id, {"how": "invite"})
        return await add_session(runtime, tx, user, user_agent=wish.user_agent, ip=wish.ip)


async def _register_stranger(runtime: Runtime, wish: Registration, address: str) -> Pending:
    """Every step is taken for a known address, too: neither the answer nor its time may tell."""
    password_hash = await hash_password(wish.password)
    if runtime.mailer is not None:
        await check_mail_allowance(runtime, address)
    now = runtime.now()
    async with runtime.db.write() as tx:
        user = await users.add_if_new(
            tx,
            email=address,
            password_hash=password_hash,
            role="user",
            now=now,
            verified=False,
            privacy_accepted=True,
        )
        kind = "user_registered" if user else "register_again"
        await users.record_event(tx, now, kind, user.id if user else None, {"ip": wish.ip})
        if runtime.mailer is not None:
            await note_wish(runtime, tx, "register", address)
    await wake_jobs(runtime)
    return Pending(CHECK_MAIL if runtime.mailer is not None else MAY_LOG_IN)


NO_MAIL = "This server cannot send mail. Ask its operator for a link: reedbed admin user reset-link."
CHECK_RESET_MAIL = "If this address has an account, a mail with a link is on its way."


async def change_password(runtime: Runtime, caller: Caller, current: str, new: str) -> None:
    """Every other device is logged out."""
    check_password(new, caller.user.email, "new_password")
    await check_own_password(runtime, caller, current, "current_password")
    password_hash = await hash_password(new)
    letter = await may_notify(runtime, caller.user.email)
    async with runtime.db.write() as tx:
        await _set(runtime, tx, caller.user, password_hash, kept_session=caller.session_id, letter=letter)
    await publish_revoked(runtime, caller.user_id, except_session_id=caller.session_id)
    await wake_jobs(runtime)


async def forgot_password(runtime: Runtime, email: str, *, ip: str | None = None) -> str:
    """The sentence to show; the same for every address."""
    if runtime.mailer is None:
        raise Conflict(NO_MAIL)
    await spend_attempt(runtime, "forgot", ip)
    await request_mail(runtime, "reset", email_address(email))
    return CHECK_RESET_MAIL


async def reset_link_is_open(runtime: Runtime, token: str) -> bool:
    """For the page behind the link."""
    return await find_link(runtime, "reset", token) is not None


async def reset_password(runtime: Runtime, token: str, password: str, *, ip: str | None = None) -> User:
    """Every device is logged out. The mail was read, so the address is proven as well."""
    await spend_attempt(runtime, "reset", ip)
    link = await find_link(runtime, "reset", token)
    if link is None:
        raise Invalid(EXPIRED, field="token")
    check_password(password, link.email)
    password_hash = await hash_password(password)
    letter = await may_notify(runtime, link.email)
    async with runtime.db.write() as tx:
        link = await spend_link(runtime, tx, "reset", token)
        user = await users.get(tx, link.user_id or 0)
        if user is None or user.disabled_at is not None:
            raise Invalid(EXPIRED, field="token")
        await users.verify(tx, user.id, link.email, runtime.now())
        await _set(runtime, tx, user, password_hash, kept_session=None, letter=letter)
    await publish_revoked(runtime, user.id)
    await wake_jobs(runtime)
    return user


async def reset_link(runtime: Runtime, user: User) -> str:
    """For the operator to hand over by other means."""
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "reset_link_made", user.id)
    return await make_link(runtime, "reset", user.email, user.id)


async def _set(
    runtime: Runtime, tx: Tx, user: User, password_hash: str, *, kept_session: int | None, letter: bool
) -> None:
    await users.set_password(tx, user.id, password_hash)
    await auth.delete_other_sessions(tx, user.id, kept_session)
    await users.record_event(tx, runtime.now(), "password_changed", user.id)
    if letter:
        await note_wish(runtime, tx, "password_changed", user.email)
