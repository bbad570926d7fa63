"""Account emails: a request enqueues them, a worker writes and sends them.

A request enqueues a job in the same way whether or not the email address has an account, so that neither the
response nor its timing reveals that. The link is created when the email is written, so its token is never
stored.
"""

import math
from dataclasses import asdict, replace
from typing import Literal

import orjson
import structlog

from reedbed.domain.auth import EXPIRED, LINK_LIFETIMES, MailLink, Purpose, link_url
from reedbed.domain.email import Email, NotSent, already_registered_email, link_email, password_changed_email
from reedbed.domain.errors import Invalid, TooMany
from reedbed.domain.languages import Texts
from reedbed.domain.times import HOUR, MINUTE
from reedbed.domain.users import Allowance, User, read_preferences
from reedbed.services.jobs import Done, Later, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.security import new_token, token_hash
from reedbed.store import auth, jobs, users
from reedbed.store.engine.database import Tx
from reedbed.store.jobs import Job


async def make_link(runtime: Runtime, purpose: Purpose, email: str, user_id: int | None) -> str:
    """The URL to send or print. It is the only place that contains the token."""
    now, token = runtime.now(), new_token()
    async with runtime.db.write() as tx:
        await auth.add_mail_link(
            tx,
            purpose=purpose,
            email=email,
            user_id=user_id,
            token_hash=token_hash(token),
            now=now,
            expires_at=now + LINK_LIFETIMES[purpose],
        )
    return link_url(runtime.accounts.base_url, purpose, token)


async def get_link(runtime: Runtime, purpose: Purpose, token: str) -> MailLink | None:
    """Look up a link for its page, without using it up."""
    async with runtime.db.read() as tx:
        return await auth.get_mail_link(tx, purpose, token_hash(token), runtime.now())


async def use_link(runtime: Runtime, tx: Tx, purpose: Purpose, token: str) -> MailLink:
    link = await auth.use_mail_link(tx, purpose, token_hash(token), runtime.now())
    if link is None:
        raise Invalid(EXPIRED, field="token")
    return link


# --- Languages


def texts_for(runtime: Runtime, user: User, language: str = "") -> Texts:
    """The texts of mails and notifications to this user."""
    preferences = read_preferences(orjson.loads(user.preferences))
    return runtime.texts(preferences.language or preferences.mail_language or language)


async def texts_of(runtime: Runtime, user_id: int) -> Texts:
    """For what is written for a user once, such as the title of a feed of theirs."""
    async with runtime.db.read() as tx:
        user = await users.get(tx, user_id)
    return texts_for(runtime, user) if user is not None else runtime.texts("")


async def remember_language(runtime: Runtime, user: User, language: str) -> None:
    """Write to this user in the language of the browser that logs in first, unless one is chosen."""
    preferences = read_preferences(orjson.loads(user.preferences))
    if preferences.language or preferences.mail_language or not language:
        return
    changed = asdict(replace(preferences, mail_language=language))
    async with runtime.db.write() as tx:
        await users.set_preferences(tx, user.id, orjson.dumps(changed).decode())


# --- Sending

log = structlog.get_logger()

JOB_KIND = "mail"
MailKind = Literal["reset", "register", "password_changed", "invite"]

PER_ADDRESS = Allowance(3, 3 / 3600)
"""Keeps others from flooding a mailbox."""
GIVE_UP_AFTER = 4 * HOUR
TRY_AGAIN_AFTER = 2 * MINUTE


async def request_mail(runtime: Runtime, kind: MailKind, email: str) -> None:
    """Send a mail that anyone can request. Raises `TooMany` if it was requested too often."""
    await check_mail_allowance(runtime, email)
    async with runtime.db.write() as tx:
        await enqueue_mail(runtime, tx, kind, email)
    await wake_jobs(runtime)


async def check_mail_allowance(runtime: Runtime, email: str) -> None:
    """Count one mail that anyone can request, before any transaction.

    Addresses without an account are counted in the same way. Mails caused by the account's owner are counted
    separately (`may_notify`): otherwise the limit would reveal to others that the account exists.
    """
    wait = await runtime.limiter.wait_for(f"letters:{email}", PER_ADDRESS)
    if wait > 0:
        minutes = math.ceil(wait / 60)
        raise TooMany(
            "Mails to this address were requested too often. The next one can be sent in %(minutes)s min.",
            math.ceil(wait),
            minutes=minutes,
        )


async def may_notify(runtime: Runtime, email: str) -> bool:
    """Whether this server sends mail and the limit allows a notice. Call before any transaction."""
    if runtime.mailer is None:
        return False
    return await runtime.limiter.wait_for(f"notices:{email}", PER_ADDRESS) == 0


async def enqueue_mail(runtime: Runtime, tx: Tx, kind: MailKind, email: str, language: str = "") -> None:
    """Enqueue in the caller's transaction, after the allowance check. Call `wake_jobs` after the commit.

    `language` is that of the page, for who has none yet.
    """
    payload = {"letter": kind, "email": email, "language": language}
    await jobs.add(tx, JOB_KIND, payload, now=runtime.now())


async def send_email_job(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: write and send the email."""
    email = await _write(runtime, job.payload["letter"], job.payload["email"], job.payload.get("language", ""))
    if email is None or runtime.mailer is None:
        return Done()
    now = runtime.now()
    result = await runtime.mailer.send(email, now)
    if not isinstance(result, NotSent):
        return Done()
    log.warning("a mail was not sent", letter=job.payload["letter"], reason=result.reason)
    if result.try_again and now - job.created_at < GIVE_UP_AFTER:
        return Later(now + TRY_AGAIN_AFTER)
    return Done({"error": result.reason})


async def _write(runtime: Runtime, kind: MailKind, email: str, language: str) -> Email | None:
    if kind == "invite":
        return await _write_invite(runtime, email, language)
    async with runtime.db.read() as tx:
        match = await users.get_by_email(tx, email)
    if match is None or match[0].disabled_at is not None:
        return None
    return await _write_to(runtime, kind, match[0], texts_for(runtime, match[0], language))


async def _write_invite(runtime: Runtime, email: str, language: str) -> Email | None:
    """A new link, if the invitation is still open and unused."""
    async with runtime.db.read() as tx:
        taken = await users.get_by_email(tx, email) is not None
        open_invites = await auth.list_invites(tx, runtime.now())
    if taken or all(link.email != email for link in open_invites):
        return None
    url = await make_link(runtime, "invite", email, None)
    return link_email(email, "invite", url, runtime.texts(language))


async def _write_to(runtime: Runtime, kind: MailKind, user: User, texts: Texts) -> Email:
    base_url = runtime.accounts.base_url
    match kind:
        case "reset":
            return link_email(user.email, "reset", await make_link(runtime, "reset", user.email, user.id), texts)
        case "register" if user.email_verified_at is None:
            return link_email(user.email, "verify", await make_link(runtime, "verify", user.email, user.id), texts)
        case "register":
            return already_registered_email(user.email, base_url, texts)
        case _:
            return password_changed_email(user.email, base_url, texts)
