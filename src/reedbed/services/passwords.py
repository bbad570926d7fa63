"""Passwords: changed by who knows the old one, reset by who reads the account's mail."""

from reedbed.domain.accounts import Caller, User
from reedbed.domain.emails import email_address
from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.mail_links import EXPIRED
from reedbed.domain.passwords import check_password
from reedbed.services.accounts import check_own_password
from reedbed.services.jobs import wake_jobs
from reedbed.services.limits import spend_attempt
from reedbed.services.mail import may_notify, note_wish, request_mail
from reedbed.services.mail_links import find_link, make_link, spend_link
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import hash_password
from reedbed.services.sessions import announce_revoked
from reedbed.store import events, sessions, users
from reedbed.store.database import Tx

NO_MAIL = "This server cannot send mail. Ask its operator for a link: reedbed admin user reset-link."
CHECK_MAIL = "If this address has an account, a mail with a link is on its way."


async def change_password(runtime: Runtime, caller: Caller, current: str, new: str) -> None:
    """Every other device is logged out."""
    check_password(new, caller.user.email, "new_password")
    await check_own_password(runtime, caller, current, "current_password")
    password_hash = await hash_password(new)
    letter = await may_notify(runtime, caller.user.email)
    async with runtime.db.write() as tx:
        await _set(runtime, tx, caller.user, password_hash, kept_session=caller.session_id, letter=letter)
    await announce_revoked(runtime, caller.user_id, except_session_id=caller.session_id)
    await wake_jobs(runtime)


async def forgot_password(runtime: Runtime, email: str, *, ip: str | None = None) -> str:
    """The sentence to show; the same for every address."""
    if runtime.mailer is None:
        raise Conflict(NO_MAIL)
    await spend_attempt(runtime, "forgot", ip)
    await request_mail(runtime, "reset", email_address(email))
    return CHECK_MAIL


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
        user = await users.by_id(tx, link.user_id or 0)
        if user is None or user.disabled_at is not None:
            raise Invalid(EXPIRED, field="token")
        await users.verify(tx, user.id, link.email, runtime.now())
        await _set(runtime, tx, user, password_hash, kept_session=None, letter=letter)
    await announce_revoked(runtime, user.id)
    await wake_jobs(runtime)
    return user


async def reset_link(runtime: Runtime, user: User) -> str:
    """For the operator to hand over by other means."""
    async with runtime.db.write() as tx:
        await events.note(tx, runtime.now(), "reset_link_made", user.id)
    return await make_link(runtime, "reset", user.email, user.id)


async def _set(
    runtime: Runtime, tx: Tx, user: User, password_hash: str, *, kept_session: int | None, letter: bool
) -> None:
    await users.set_password(tx, user.id, password_hash)
    await sessions.remove_others(tx, user.id, kept_session)
    await events.note(tx, runtime.now(), "password_changed", user.id)
    if letter:
        await note_wish(runtime, tx, "password_changed", user.email)
