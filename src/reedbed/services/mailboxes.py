"""Mailboxes: a folder of the user's own mail account, looked into for newsletters every few minutes."""

import asyncio
from dataclasses import field

import structlog

from reedbed.domain.errors import Conflict, Invalid, NotFound, Unavailable
from reedbed.domain.list_headers import ANY_SERVER
from reedbed.domain.newsletters import MOST_MAILBOXES
from reedbed.domain.records import record
from reedbed.domain.texts import ENTER_AGAIN, storable
from reedbed.domain.times import HOUR, MINUTE, Millis
from reedbed.ingest.mail.mailbox import ABOVE_ALL, FoundMail, Looked, MailboxLogin, NoLook, Security
from reedbed.services.newsletters import Delivery, Received, receive
from reedbed.services.runtime import Runtime
from reedbed.store import mailboxes
from reedbed.store.mailboxes import Mailbox

log = structlog.get_logger()

EVERY: Millis = 5 * MINUTE
LONGEST_WAIT: Millis = 6 * HOUR
LEASE: Millis = 10 * MINUTE
AT_ONCE = 4
_MAX_FIELD = 200
"""Three of them in one index: PostgreSQL takes no more than a third of a page."""
NO_SUCH = "There is no such mailbox."


@record
class MailboxWish:
    host: str
    username: str
    password: str = field(repr=False)
    port: int = 993
    security: str = "tls"
    folder: str = "INBOX"


async def add_mailbox(runtime: Runtime, user_id: int, wish: MailboxWish) -> Mailbox:
    """Tried before it is kept, so that a typing error is seen by who made it."""
    login = _checked(wish)
    async with runtime.db.read() as tx:
        if await mailboxes.count(tx, user_id) >= MOST_MAILBOXES:
            raise Conflict(f"There can be at most {MOST_MAILBOXES} mailboxes.")
    looked = await _look(runtime, login, None, ABOVE_ALL)
    if isinstance(looked, NoLook):
        raise Invalid(looked.reason, field="host")
    async with runtime.db.write() as tx:
        made = await mailboxes.add(
            tx,
            user_id,
            host=login.host,
            port=login.port,
            security=login.security,
            username=login.username,
            password=login.password,
            folder=login.folder,
            now=runtime.now(),
        )
    if made is None:
        raise Conflict("This folder is being looked into already.", field="folder")
    return made


async def remove_mailbox(runtime: Runtime, user_id: int, mailbox_id: int) -> None:
    """Nothing in the mailbox changes, and what came from it stays."""
    async with runtime.db.write() as tx:
        if not await mailboxes.remove(tx, user_id, mailbox_id):
            raise NotFound(NO_SUCH)


async def ask_for_look(runtime: Runtime, user_id: int, mailbox_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await mailboxes.ask(tx, user_id, mailbox_id, runtime.now()):
            raise NotFound(NO_SUCH)


async def check_due_mailboxes(runtime: Runtime) -> int:
    """A chore: how many were looked into, a few side by side."""
    return sum(await asyncio.gather(*(_check_some(runtime) for _ in range(AT_ONCE))))


async def _check_some(runtime: Runtime) -> int:
    looked = 0
    while True:
        now = runtime.now()
        async with runtime.db.write() as tx:
            due = await mailboxes.claim_due(tx, now, now + LEASE)
        if due is None:
            return looked
        await _check(runtime, due)
        looked += 1


async def _check(runtime: Runtime, box: Mailbox) -> None:
    """A mailbox with which something is wrong must not stand in the way of the others."""
    try:
        await check_mailbox(runtime, box)
    except Unavailable:
        raise
    except Exception:
        log.exception("looking into a mailbox broke down", mailbox=box.id)
        await _note_trouble(runtime, box, "A mail in it could not be read.")


async def check_mailbox(runtime: Runtime, box: Mailbox) -> None:
    """Each mail is stored before it is counted as had: whatever breaks off is taken up again."""
    if not box.password:
        return await _note_trouble(runtime, box, ENTER_AGAIN)
    validity, last_uid = box.uid_validity, box.last_uid
    while True:
        found = await _look(runtime, _login(box), validity, last_uid)
        if isinstance(found, NoLook):
            return await _note_trouble(runtime, box, found.reason)
        for mail in found.mails:
            await _take(runtime, box, found.uid_validity, mail)
            last_uid = mail.uid
        validity = found.uid_validity
        if not found.more or not found.mails:
            break
    now = runtime.now()
    async with runtime.db.write() as tx:
        await mailboxes.note_checked(tx, box.id, validity, now, now + EVERY)
    return None


async def _take(runtime: Runtime, box: Mailbox, validity: int, mail: FoundMail) -> None:
    outcome = None
    if mail.raw is not None:
        delivery = Delivery("imap", user_id=box.user_id, believed=ANY_SERVER)
        outcome = await receive(runtime, delivery, mail.raw)
    new = outcome.new if isinstance(outcome, Received) else 0
    async with runtime.db.write() as tx:
        await mailboxes.note_taken(tx, box.id, validity, mail.uid, new)


async def _note_trouble(runtime: Runtime, box: Mailbox, reason: str) -> None:
    log.info("a mailbox could not be looked into", mailbox=box.id, reason=reason)
    now = runtime.now()
    wait = min(EVERY * 2 ** min(box.failures, 10), LONGEST_WAIT)
    async with runtime.db.write() as tx:
        await mailboxes.note_trouble(tx, box.id, reason, now, now + wait)


async def _look(
    runtime: Runtime, login: MailboxLogin, validity: int | None, last_uid: int
) -> Looked | NoLook:
    # The client takes a thirtieth of a second to load, which only those pay who have a mailbox.
    from reedbed.ingest.mail.imap import look_into

    try:
        address = await runtime.fetcher.look_up(login.host, login.port)
    except OSError as error:
        return NoLook(f"The mail server could not be reached: {error.strerror or error}")
    return await asyncio.to_thread(
        look_into,
        login,
        address,
        uid_validity=validity,
        last_uid=last_uid,
        max_bytes=runtime.mail.max_bytes,
    )


def _login(box: Mailbox) -> MailboxLogin:
    return MailboxLogin(box.host, box.port, _security(box.security), box.username, box.password, box.folder)


def _checked(wish: MailboxWish) -> MailboxLogin:
    host, username, folder = (_line(value) for value in (wish.host, wish.username, wish.folder))
    if not host or "/" in host:
        raise Invalid("Write the name of the mail server, like imap.example.org.", field="host")
    if not username:
        raise Invalid("A user name is required.", field="username")
    if not wish.password or _line(wish.password) != wish.password.strip():
        raise Invalid("A password is required.", field="password")
    if not 1 <= wish.port <= 65_535:
        raise Invalid("The port must be between 1 and 65535.", field="port")
    return MailboxLogin(host, wish.port, _security(wish.security), username, wish.password, folder or "INBOX")


def _security(text: str) -> Security:
    if text == "tls" or text == "starttls" or text == "none":
        return text
    raise Invalid("security must be one of tls, starttls, none", field="security")


def _line(text: str) -> str:
    return " ".join(storable(text).split())[:_MAX_FIELD]
