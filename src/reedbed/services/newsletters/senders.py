"""Newsletter senders (block, resume, unsubscribe from the list) and the addresses that receive their mail."""

import secrets

import structlog

from reedbed.domain.email import Email, NotSent, known_as
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.newsletters import MAX_ADDRESSES, IngestAddress, Sender, check_name, parse_mailto, sender_key
from reedbed.domain.refresh.outcomes import TEMPORARY, Failed, is_retryable
from reedbed.domain.times import DAY, HOUR, Instant
from reedbed.services.jobs import Done, Later, try_again
from reedbed.services.live import publish_subscriptions
from reedbed.services.runtime import Runtime
from reedbed.store import jobs, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.store.jobs import Job
from reedbed.store.newsletters import inbound
from reedbed.store.read_state import unread

log = structlog.get_logger()

# --- Senders

LEAVING_JOB = "newsletter_leaving"
CONFIRMATIONS_RETENTION = 14 * DAY
GIVE_UP_AFTER = 12 * HOUR
NO_SUCH = "There is no such sender."

NO_WAY_OUT = Failure(FailureCode.UNSUBSCRIBE_IMPOSSIBLE)
BY_HAND = Failure(FailureCode.UNSUBSCRIBE_BY_HAND)
REFUSED = Failure(FailureCode.UNSUBSCRIBE_REFUSED)


async def block_sender(runtime: Runtime, user_id: int, sender_id: int) -> Sender:
    """Reject mail from this sender from now on. Earlier entries stay."""
    return await _set_blocked(runtime, user_id, sender_id, runtime.now())


async def unblock_sender(runtime: Runtime, user_id: int, sender_id: int) -> Sender:
    return await _set_blocked(runtime, user_id, sender_id, None)


async def block_address(runtime: Runtime, user_id: int, address: str) -> Sender:
    """Block an email address, even one that has never sent anything."""
    key = sender_key(address)
    if not known_as(address):
        raise Invalid("This does not look like an e-mail address.", field="address")
    async with runtime.db.write() as tx:
        await inbound.add_sender(tx, user_id, key, "", runtime.now())
        sender = await inbound.sender_by_address(tx, user_id, key)
    assert sender is not None
    return await block_sender(runtime, user_id, sender.id)


async def resume_sender(runtime: Runtime, user_id: int, sender_id: int) -> Sender:
    """Accept its mail again. The user may have to sign up to the list itself again."""
    async with runtime.db.write() as tx:
        sender = await _get(tx, user_id, sender_id)
        await inbound.set_left(tx, user_id, sender_id, None)
        await inbound.set_blocked(tx, user_id, sender_id, None)
        if sender.feed_id is not None:
            await _resubscribe(tx, runtime.now(), user_id, sender.feed_id)
    await publish_subscriptions(runtime, user_id)
    return await get_sender(runtime, user_id, sender_id)


async def get_sender(runtime: Runtime, user_id: int, sender_id: int) -> Sender:
    async with runtime.db.read() as tx:
        return await _get(tx, user_id, sender_id)


async def dismiss_confirmation(runtime: Runtime, user_id: int, entry_id: int) -> None:
    async with runtime.db.write() as tx:
        dismissed = await inbound.dismiss(tx, user_id, entry_id, runtime.now())
    if not dismissed:
        raise NotFound("There is no such confirmation.")


async def request_list_unsubscribe(tx: Tx, now: Instant, user_id: int, feed_id: int) -> None:
    """Called in the transaction that unsubscribes. A job notifies the list: wake it after the commit."""
    sender = await inbound.sender_of_feed(tx, user_id, feed_id)
    if sender is None:
        return
    methods = sender.ways_out
    if methods.post or methods.mailto:
        await inbound.set_left(tx, user_id, sender.id, now, Failure(FailureCode.UNSUBSCRIBE_PENDING))
        await jobs.add(tx, LEAVING_JOB, {"sender_id": sender.id, "left_at": now}, now=now, user_id=user_id)
    else:
        await inbound.set_left(tx, user_id, sender.id, now, BY_HAND if methods.page else NO_WAY_OUT)


async def run_list_unsubscribe(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: unsubscribe by one-click POST, else by mail, unless the user has resubscribed since."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        sender = await inbound.sender(tx, job.user_id, job.payload["sender_id"])
    if sender is None or sender.left_at != job.payload["left_at"]:
        return Done()
    result = await _unsubscribe_from_list(runtime, sender)
    if result is None:
        later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER)
        if later is not None:
            return later
        result = REFUSED
    async with runtime.db.write() as tx:
        await inbound.set_unsubscribe_result(tx, sender.user_id, sender.id, result)
    return Done({"result": result.code})


async def _unsubscribe_from_list(runtime: Runtime, sender: Sender) -> Failure | None:
    """The result for the user, or None to try again later."""
    methods = sender.ways_out
    if methods.post:
        posted = await _post_one_click(runtime, methods.post)
        if posted != REFUSED or not methods.mailto:
            return posted
    request = parse_mailto(methods.mailto)
    if request is None:
        return REFUSED if methods.post else NO_WAY_OUT
    if runtime.mailer is None:
        return BY_HAND if methods.page else Failure(FailureCode.UNSUBSCRIBE_NEEDS_MAIL)
    to, subject, text = request
    result = await runtime.mailer.send(Email(to, subject, text), runtime.now())
    if isinstance(result, NotSent):
        log.info("unsubscribe mail not sent", sender=sender.id, reason=result.reason)
        return None if result.try_again else REFUSED
    return Failure(FailureCode.UNSUBSCRIBE_MAILED)


async def _post_one_click(runtime: Runtime, url: str) -> Failure | None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await runtime.fetcher.post(url, b"List-Unsubscribe=One-Click", headers)
    if isinstance(response, Failed):
        return None if response.kind == TEMPORARY else REFUSED
    if 200 <= response < 400:
        return Failure(FailureCode.UNSUBSCRIBE_ACCEPTED)
    return None if is_retryable(response) else REFUSED


async def _set_blocked(runtime: Runtime, user_id: int, sender_id: int, at: Instant | None) -> Sender:
    async with runtime.db.write() as tx:
        await _get(tx, user_id, sender_id)
        await inbound.set_blocked(tx, user_id, sender_id, at)
        return await _get(tx, user_id, sender_id)


async def _get(tx: Tx, user_id: int, sender_id: int) -> Sender:
    sender = await inbound.sender(tx, user_id, sender_id)
    if sender is None:
        raise NotFound(NO_SUCH)
    return sender


async def _resubscribe(tx: Tx, now: Instant, user_id: int, feed_id: int) -> None:
    existing = await subscriptions.get_by_feed(tx, user_id, feed_id)
    if existing is None or existing[1]:
        return
    await subscriptions.resubscribe(tx, user_id, feed_id, folder_id=None, title=None, asked_url="", now=now)
    await unread.restore_unread(tx, user_id, feed_id)


# --- Addresses that receive newsletters

NO_DOMAIN = (
    "This server takes no mail at addresses of its own: its operator has set no REEDBED_MAIL_DOMAIN. "
    "You can still add a mailbox."
)
NO_SUCH_ADDRESS = "There is no such address."

# Without characters that are easily confused when read out or typed.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_LENGTH = 16
"""79 bits: addresses cannot be guessed."""


def written(runtime: Runtime, address: IngestAddress) -> str:
    return f"{address.local}@{runtime.mail.domain}"


async def add_address(runtime: Runtime, user_id: int, name: str) -> IngestAddress:
    if not runtime.mail.domain:
        raise Conflict(NO_DOMAIN)
    checked_name = check_name(name)
    async with runtime.db.write() as tx:
        if len(await inbound.list_addresses(tx, user_id)) >= MAX_ADDRESSES:
            raise Conflict("There can be at most %(limit)s addresses. Revoke one first.", limit=MAX_ADDRESSES)
        address = None
        while address is None:
            address = await inbound.add_address(tx, user_id, checked_name, _random_local_part(), runtime.now())
    return address


async def rename_address(runtime: Runtime, user_id: int, address_id: int, name: str) -> IngestAddress:
    checked_name = check_name(name)
    async with runtime.db.write() as tx:
        address = await inbound.rename_address(tx, user_id, address_id, checked_name)
    if address is None:
        raise NotFound(NO_SUCH_ADDRESS)
    return address


async def revoke_address(runtime: Runtime, user_id: int, address_id: int) -> None:
    """Reject mail to this address forever. Its name is never assigned again."""
    async with runtime.db.write() as tx:
        revoked = await inbound.revoke_address(tx, user_id, address_id, runtime.now())
    if not revoked:
        raise NotFound(NO_SUCH_ADDRESS)


def _random_local_part() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
