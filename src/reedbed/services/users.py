"""Users: the first owner, login, registration, invitations, passwords, preferences and roles."""

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

import orjson

from reedbed.domain.auth import EXPIRED, MailLink, check_password
from reedbed.domain.email import NotSent, Sent, email_address, known_as, link_email
from reedbed.domain.errors import CodeRequired, Conflict, Forbidden, Invalid, NotFound, TooMany, Unauthorized
from reedbed.domain.records import record
from reedbed.domain.users import Caller, NewSession, Preferences, User, change_preferences, check_role, read_preferences
from reedbed.services.auth import (
    LoginOrigin,
    add_session,
    check_confirmed,
    publish_changed,
    publish_revoked,
    sign_in_session,
)
from reedbed.services.codes import CODE_NEEDED, CodeAttempt, are_codes_on, check_code
from reedbed.services.email import (
    check_mail_allowance,
    enqueue_mail,
    get_link,
    make_link,
    may_notify,
    request_mail,
    use_link,
)
from reedbed.services.jobs import wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.security import (
    charge_login,
    hash_password,
    is_outdated,
    known_device,
    password_matches,
    refund_login,
    spend,
    spend_attempt,
)
from reedbed.store import auth, instance, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import repeats

WRONG = "Invalid email or password"
WRONG_PASSWORD = "This is not your password."  # noqa: S105  a sentence
UNVERIFIED = "Confirm your e-mail address first: open the link in the mail that we have just sent you."
UNCONFIRMED = (
    "Confirm your e-mail address first: open the link in the mail that we sent you. "
    "Mails to this address were requested too often. The next one can be sent in %(minutes)s min."
)
DISABLED = "This account is disabled. Ask the operator of this server."
OWNER_EXISTS = "This server has an owner already. Log in instead."
LAST_OWNER = "This is the only owner. Make somebody else an owner first."


async def needs_owner(runtime: Runtime) -> bool:
    async with runtime.db.read() as tx:
        return not await users.exists_any(tx)


async def create_owner(runtime: Runtime, email: str, password: str) -> User:
    normalized = email_address(email)
    check_password(password, normalized)
    if not await needs_owner(runtime):
        raise Conflict(OWNER_EXISTS)
    password_hash = await hash_password(password)
    now = runtime.now()
    async with runtime.db.write() as tx:
        # This write takes a lock: a second caller waits for the first one, on PostgreSQL too.
        await instance.set_setting(tx, "owner_made_at", str(now), now)
        if await users.exists_any(tx):
            raise Conflict(OWNER_EXISTS)
        owner = await users.add(tx, email=normalized, password_hash=password_hash, role="owner", now=now, verified=True)
        await users.record_event(tx, now, "user_registered", owner.id, {"how": "setup"})
    return owner


async def log_in(
    runtime: Runtime,
    email: str,
    password: str,
    *,
    code: str = "",
    user_agent: str | None = None,
    ip: str | None = None,
    device: str | None = None,
) -> NewSession:
    """`device` is the cookie that `remember_device` set in this browser. `CodeRequired` if only a code is missing."""
    user = await check_login(runtime, email, password, ip=ip, device=device)
    if await are_codes_on(runtime, user.id):
        if not code:
            raise CodeRequired(CODE_NEEDED)
        await check_code(runtime, user, CodeAttempt(code, ip, device))
    return await log_in_user(runtime, user, user_agent=user_agent, ip=ip, device=device)


async def log_in_user(
    runtime: Runtime, user: User, *, user_agent: str | None, ip: str | None, device: str | None
) -> NewSession:
    """For a user who has proved everything that a login needs."""
    async with runtime.db.write() as tx:
        return await sign_in_session(runtime, tx, user, LoginOrigin(user_agent, ip, device))


async def check_login(runtime: Runtime, email: str, password: str, *, ip: str | None, device: str | None) -> User:
    """The user with this password, who may log in. Whether a code is needed as well is not checked here."""
    email_key = known_as(email)
    charged = await charge_login(runtime, email_key, ip, known_device(runtime.secret, device, email_key))
    async with runtime.db.read() as tx:
        account = await users.get_by_email(tx, email_key)
    user, password_hash = account or (None, None)
    if not await password_matches(password, password_hash) or user is None or password_hash is None:
        await _record_failed_login(runtime, user, ip)
        raise Unauthorized(WRONG)
    await check_may_log_in(runtime, user)
    await refund_login(runtime, email_key, charged)
    if is_outdated(password_hash):
        new_hash = await hash_password(password)
        async with runtime.db.write() as tx:
            await users.set_password(tx, user.id, new_hash)
    return user


async def log_out(runtime: Runtime, caller: Caller) -> None:
    if caller.session_id is None:
        return
    async with runtime.db.write() as tx:
        await auth.delete_session(tx, caller.user_id, caller.session_id)
    await publish_revoked(runtime, caller.user_id, session_id=caller.session_id)


async def check_own_password(runtime: Runtime, caller: Caller, password: str, field: str) -> None:
    """Ask for the password before an irreversible change; without one, for a fresh confirmation."""
    await spend(runtime, f"password:{caller.user_id}", runtime.limits.login)
    async with runtime.db.read() as tx:
        password_hash = await users.password_hash(tx, caller.user_id)
    if password_hash is None:
        await check_confirmed(runtime, caller)
    elif not await password_matches(password, password_hash):
        raise Invalid(WRONG_PASSWORD, field=field)


async def has_password(runtime: Runtime, user_id: int) -> bool:
    """False for users who only log in through a provider."""
    async with runtime.db.read() as tx:
        return await users.password_hash(tx, user_id) is not None


async def delete_account(runtime: Runtime, caller: Caller, password: str) -> None:
    """Delete the account and all its data immediately and permanently. A confirmation replaces the password."""
    if password:
        await check_own_password(runtime, caller, password, "password")
    else:
        await check_confirmed(runtime, caller)
    await remove_user(runtime, caller.user)


async def remove_user(runtime: Runtime, user: User) -> None:
    async with runtime.db.write() as tx:
        await check_owner_remains(tx, user)
        await users.delete_user(tx, user.id)
        await users.record_event(tx, runtime.now(), "user_deleted", None)
    await publish_revoked(runtime, user.id)


async def check_owner_remains(tx: Tx, user: User) -> None:
    """Raise `Conflict` if the server would be left without an owner who can log in."""
    if user.role == "owner" and user.disabled_at is None and await users.lock_and_count_owners(tx) <= 1:
        raise Conflict(LAST_OWNER)


async def check_may_log_in(runtime: Runtime, user: User) -> None:
    """Called after the password was verified, so it may reveal the state of the account."""
    if user.disabled_at is not None:
        raise Forbidden(DISABLED)
    if user.email_verified_at is None and runtime.mailer is not None:
        try:
            await request_mail(runtime, "register", user.email)
        except TooMany as error:
            raise Forbidden(UNCONFIRMED, **error.failure.values) from error
        raise Forbidden(UNVERIFIED)


async def _record_failed_login(runtime: Runtime, user: User | None, ip: str | None) -> None:
    # What was typed is not stored: people put passwords into the wrong field.
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "login_failed", user.id if user else None, {"ip": ip})


# --- Members, managed by an operator

NO_SUCH = "There is no such user."


async def add_member(runtime: Runtime, email: str, password: str | None, role: str = "user") -> User:
    """Add an account whatever the registration policy. Without a password, the user needs a reset link."""
    normalized = email_address(email)
    check_role(role)
    if password is not None:
        check_password(password, normalized)
    password_hash = await hash_password(password) if password is not None else None
    now = runtime.now()
    async with runtime.db.write() as tx:
        user = await users.add_if_new(
            tx, email=normalized, password_hash=password_hash, role=role, now=now, verified=True
        )
        if user is None:
            raise Conflict("This address has an account already.", field="email")
        await users.record_event(tx, now, "user_registered", user.id, {"how": "operator"})
    return user


async def find_member(runtime: Runtime, email: str) -> User:
    async with runtime.db.read() as tx:
        account = await users.get_by_email(tx, email_address(email))
    if account is None:
        raise NotFound(NO_SUCH)
    return account[0]


async def member(runtime: Runtime, user_id: int) -> User:
    async with runtime.db.read() as tx:
        user = await users.get(tx, user_id)
    if user is None:
        raise NotFound(NO_SUCH)
    return user


async def disable_member(runtime: Runtime, user: User) -> User:
    """Log the user out everywhere; their tokens do not work until the account is enabled again."""
    now = runtime.now()
    async with runtime.db.write() as tx:
        await check_owner_remains(tx, user)
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
            await check_owner_remains(tx, user)
        await users.set_role(tx, user.id, role)
        await users.record_event(tx, runtime.now(), "role_changed", user.id, {"role": role})
    await publish_changed(runtime, user.id)
    return await member(runtime, user.id)


async def member_to_change(runtime: Runtime, actor: User, user_id: int, becoming: str = "user") -> User:
    user = await member(runtime, user_id)
    if not may_change(actor, user, becoming):
        raise Forbidden("Only an owner may make or change an operator.")
    return user


def may_change(actor: User, user: User, becoming: str = "user") -> bool:
    """Owners may change all users, admins only plain users."""
    return actor.role == "owner" or (not user.operates and becoming == "user")


# --- Preferences


def preferences_of(user: User) -> Preferences:
    return read_preferences(orjson.loads(user.preferences))


async def set_preferences(runtime: Runtime, caller: Caller, changes: Mapping[str, Any]) -> User:
    async with runtime.db.write() as tx:
        user = await users.get(tx, caller.user_id)
        if user is None:
            raise NotFound("This account is gone.")
        changed = asdict(change_preferences(preferences_of(user), changes))
        await users.set_preferences(tx, user.id, orjson.dumps(changed).decode())
        if changes.get("same_address_once") is False:
            await repeats.clear(tx, user.id)
    await publish_changed(runtime, user.id)
    return await member(runtime, user.id)


# --- Registration and invitations

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
    language: str = ""


@record
class Pending:
    """The same response for every address, whether it has an account or not."""

    message: str


def check_may_register(runtime: Runtime, invite: str | None) -> None:
    if runtime.accounts.registration == "closed":
        raise Forbidden(CLOSED)
    if runtime.accounts.registration == "invite" and not invite:
        raise Forbidden(BY_INVITATION)


async def register(runtime: Runtime, registration: Registration) -> NewSession | Pending:
    check_may_register(runtime, registration.invite)
    await spend_attempt(runtime, "register", registration.ip)
    email = email_address(registration.email)
    check_password(registration.password, email)
    if not registration.privacy_accepted:
        raise Invalid(ACCEPT, field="privacy_accepted")
    if registration.invite:
        return await _accept_invite(runtime, registration, email)
    return await _register_unknown(runtime, registration, email)


async def verify_email(runtime: Runtime, token: str) -> User:
    """The link in the email was opened, so the address belongs to this user."""
    async with runtime.db.write() as tx:
        link = await use_link(runtime, tx, "verify", token)
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


async def invite(runtime: Runtime, email: str, *, by_user_id: int | None = None, language: str = "") -> Invite:
    """Make a link for one person. It is mailed if the server can send mail, and always returned."""
    if runtime.accounts.registration == "closed":
        raise Conflict("Registration is closed. Set REEDBED_REGISTRATION=invite to let people in by invitation.")
    normalized = email_address(email)
    async with runtime.db.read() as tx:
        if await users.get_by_email(tx, normalized):
            raise Conflict("This address has an account already.", field="email")
    url = await make_link(runtime, "invite", normalized, None)
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "user_invited", by_user_id)
    if runtime.mailer is None:
        return Invite(normalized, url, mailed=False)
    sent = await runtime.mailer.send(link_email(normalized, "invite", url, runtime.texts(language)), runtime.now())
    if isinstance(sent, NotSent) and sent.try_again and await may_notify(runtime, normalized):
        async with runtime.db.write() as tx:
            await enqueue_mail(runtime, tx, "invite", normalized, language)
        await wake_jobs(runtime)
    return Invite(normalized, url, mailed=isinstance(sent, Sent))


async def find_invite(runtime: Runtime, token: str) -> MailLink | None:
    """The invitation behind a link, for the page that shows it."""
    return await get_link(runtime, "invite", token)


async def open_invites(runtime: Runtime) -> list[MailLink]:
    async with runtime.db.read() as tx:
        return list(await auth.list_invites(tx, runtime.now()))


async def withdraw_invite(runtime: Runtime, link_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await auth.delete_invite(tx, link_id):
            raise NotFound("There is no such invitation.")


async def _accept_invite(runtime: Runtime, registration: Registration, email: str) -> NewSession:
    password_hash = await hash_password(registration.password)
    now = runtime.now()
    async with runtime.db.write() as tx:
        link = await use_link(runtime, tx, "invite", registration.invite)
        if link.email != email:
            raise Invalid("This invitation is for another e-mail address.", field="email")
        user = await users.add_if_new(
            tx, email=email, password_hash=password_hash, role="user", now=now, verified=True, privacy_accepted=True
        )
        if user is None:
            raise Conflict("This address has an account already. Log in instead.", field="email")
        await users.record_event(tx, now, "user_registered", user.id, {"how": "invite"})
        return await add_session(runtime, tx, user, user_agent=registration.user_agent, ip=registration.ip)


async def _register_unknown(runtime: Runtime, registration: Registration, email: str) -> Pending:
    """Take the same steps for an address that has an account: neither response nor timing may reveal it."""
    password_hash = await hash_password(registration.password)
    if runtime.mailer is not None:
        await check_mail_allowance(runtime, email)
    now = runtime.now()
    async with runtime.db.write() as tx:
        user = await users.add_if_new(
            tx, email=email, password_hash=password_hash, role="user", now=now, verified=False, privacy_accepted=True
        )
        kind = "user_registered" if user else "register_again"
        await users.record_event(tx, now, kind, user.id if user else None, {"ip": registration.ip})
        if runtime.mailer is not None:
            await enqueue_mail(runtime, tx, "register", email, registration.language)
    await wake_jobs(runtime)
    return Pending(CHECK_MAIL if runtime.mailer is not None else MAY_LOG_IN)


# --- Passwords

NO_MAIL = "This server cannot send mail. Ask its operator for a link: reedbed admin user reset-link."
CHECK_RESET_MAIL = "If this address has an account, a mail with a link is on its way."


async def change_password(runtime: Runtime, caller: Caller, current: str, new: str) -> None:
    """Change the password and log out every other device."""
    check_password(new, caller.user.email, "new_password")
    await check_own_password(runtime, caller, current, "current_password")
    password_hash = await hash_password(new)
    notify = await may_notify(runtime, caller.user.email)
    async with runtime.db.write() as tx:
        await _set_password(runtime, tx, caller.user, password_hash, kept_session=caller.session_id, notify=notify)
    await publish_revoked(runtime, caller.user_id, except_session_id=caller.session_id)
    await wake_jobs(runtime)


async def forgot_password(runtime: Runtime, email: str, *, ip: str | None = None) -> str:
    """Return the message to show, which is the same for every address."""
    if runtime.mailer is None:
        raise Conflict(NO_MAIL)
    await spend_attempt(runtime, "forgot", ip)
    await request_mail(runtime, "reset", email_address(email))
    return CHECK_RESET_MAIL


async def is_reset_link_valid(runtime: Runtime, token: str) -> bool:
    """For the page that the link opens."""
    return await get_link(runtime, "reset", token) is not None


async def reset_password(runtime: Runtime, token: str, password: str, *, ip: str | None = None) -> User:
    """Log out every device. The user has read the email, so this verifies the address as well."""
    await spend_attempt(runtime, "reset", ip)
    link = await get_link(runtime, "reset", token)
    if link is None:
        raise Invalid(EXPIRED, field="token")
    check_password(password, link.email)
    password_hash = await hash_password(password)
    notify = await may_notify(runtime, link.email)
    async with runtime.db.write() as tx:
        link = await use_link(runtime, tx, "reset", token)
        user = await users.get(tx, link.user_id or 0)
        if user is None or user.disabled_at is not None:
            raise Invalid(EXPIRED, field="token")
        await users.verify(tx, user.id, link.email, runtime.now())
        await _set_password(runtime, tx, user, password_hash, kept_session=None, notify=notify)
    await publish_revoked(runtime, user.id)
    await wake_jobs(runtime)
    return user


async def reset_link(runtime: Runtime, user: User) -> str:
    """A link that the operator passes on to the user."""
    async with runtime.db.write() as tx:
        await users.record_event(tx, runtime.now(), "reset_link_made", user.id)
    return await make_link(runtime, "reset", user.email, user.id)


async def _set_password(
    runtime: Runtime, tx: Tx, user: User, password_hash: str, *, kept_session: int | None, notify: bool
) -> None:
    await users.set_password(tx, user.id, password_hash)
    await auth.delete_other_sessions(tx, user.id, kept_session)
    await users.record_event(tx, runtime.now(), "password_changed", user.id)
    if notify:
        await enqueue_mail(runtime, tx, "password_changed", user.email)
