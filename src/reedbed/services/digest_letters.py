"""Digests by mail: queued, posted by a worker, and ended by one click on a link that needs no log-in."""

import hmac
from hashlib import sha256

import structlog

from reedbed.domain.accounts import User
from reedbed.domain.digest_letters import digest_letter
from reedbed.domain.errors import NotFound
from reedbed.domain.letters import NotSent
from reedbed.domain.times import HOUR
from reedbed.services.jobs import Done, Later, enqueue, try_again
from reedbed.services.runtime import Runtime
from reedbed.store import digests, events, users
from reedbed.store.jobs import Job

log = structlog.get_logger()

JOB_KIND = "digest_mail"
GIVE_UP_AFTER = 12 * HOUR
UNKNOWN_LINK = "This link does not end anything. Log in and look under Digests."


async def send_digest(runtime: Runtime, user: User, digest_id: int) -> None:
    """Note the wish; the digest is on the page whether or not the letter goes out."""
    if runtime.mailer is not None:
        await enqueue(runtime, JOB_KIND, {"digest_id": digest_id}, user_id=user.id)


async def post_digest(runtime: Runtime, job: Job) -> Done | Later:
    """The handler of the job. Whoever has ended digests by mail meanwhile gets no more."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.by_id(tx, job.user_id)
        digest = await digests.get(tx, job.user_id, job.payload["digest_id"])
        planned = await digests.schedule_of(tx, job.user_id)
    unwanted = planned is not None and not planned.mail
    if user is None or user.disabled_at is not None or digest is None or unwanted or runtime.mailer is None:
        return Done()
    link = unsubscribe_link(runtime, user.id)
    letter = digest_letter(user.email, digest, runtime.accounts.base_url, link)
    posted = await runtime.mailer.send(letter, runtime.now())
    if not isinstance(posted, NotSent):
        return Done({"sent": "mail"})
    log.warning("a digest was not mailed", digest=digest.id, error=posted.reason)
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER) if posted.try_again else None
    return later or Done({"error": posted.reason})


def unsubscribe_link(runtime: Runtime, user_id: int) -> str:
    token = f"{user_id}-{_signature(runtime, user_id)}"
    return f"{runtime.accounts.base_url}/digests/unsubscribe/{token}"


def reader_of(runtime: Runtime, token: str) -> int:
    """Whose digests the link ends. Nobody but this server can write one."""
    number, _, given = token.partition("-")
    user_id = int(number) if number.isascii() and number.isdigit() and len(number) <= 16 else 0
    if not hmac.compare_digest(_signature(runtime, user_id).encode(), given.encode("utf-8", "replace")):
        raise NotFound(UNKNOWN_LINK)
    return user_id


async def end_digest_mail(runtime: Runtime, token: str) -> None:
    """By the link in a letter. Twice is harmless; the digests themselves go on."""
    user_id = reader_of(runtime, token)
    async with runtime.db.write() as tx:
        if await digests.stop_mail(tx, user_id):
            await events.note(tx, runtime.now(), "digest_mail_ended", user_id)


def _signature(runtime: Runtime, user_id: int) -> str:
    return hmac.new(runtime.secret, f"digest-mail\0{user_id}".encode(), sha256).hexdigest()[:40]
