"""Registering: closed, by invitation, or open with a letter that proves the address."""

from dataclasses import field

from reedbed.domain.accounts import NewSession, User
from reedbed.domain.emails import email_address
from reedbed.domain.errors import Conflict, Forbidden, Invalid, NotFound
from reedbed.domain.letters import NotSent, Sent, link_letter
from reedbed.domain.mail_links import EXPIRED, MailLink
from reedbed.domain.passwords import check_password
from reedbed.domain.records import record
from reedbed.services.jobs import wake_jobs
from reedbed.services.limits import spend_attempt
from reedbed.services.mail import check_mail_allowance, may_notify, note_wish
from reedbed.services.mail_links import find_link, make_link, spend_link
from reedbed.services.runtime import Runtime
from reedbed.services.secrets import hash_password
from reedbed.services.sessions import add_session, announce_changed
from reedbed.store import events, mail_links, users

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
        user = await users.by_id(tx, user_id)
        await events.note(tx, runtime.now(), "email_verified", user_id)
    assert user is not None
    await announce_changed(runtime, user_id)
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
        if await users.by_email(tx, address):
            raise Conflict("This address has an account already.", field="email")
    url = await make_link(runtime, "invite", address, None)
    async with runtime.db.write() as tx:
        await events.note(tx, runtime.now(), "user_invited", by_user_id)
    if runtime.mailer is None:
        return Invite(address, url, mailed=False)
    posted = await runtime.mailer.send(link_letter(address, "invite", url), runtime.now())
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
        return list(await mail_links.invites(tx, runtime.now()))


async def withdraw_invite(runtime: Runtime, link_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await mail_links.remove_invite(tx, link_id):
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
        await events.note(tx, now, "user_registered", user.id, {"how": "invite"})
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
        await events.note(tx, now, kind, user.id if user else None, {"ip": wish.ip})
        if runtime.mailer is not None:
            await note_wish(runtime, tx, "register", address)
    await wake_jobs(runtime)
    return Pending(CHECK_MAIL if runtime.mailer is not None else MAY_LOG_IN)
