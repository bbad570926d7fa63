"""Books by mail: whose address is trusted, its confirmation, and the jobs that send."""

import hmac
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256

import orjson
import structlog

from reedbed.domain.books import BOOK_TYPE, MAX_MAIL_BYTES, Book, is_reader_address
from reedbed.domain.email import Attachment, Email, NotSent, email_address
from reedbed.domain.errors import Conflict, NotFound
from reedbed.domain.failures import Failure, FailureCode, untranslated
from reedbed.domain.times import DAY, HOUR
from reedbed.domain.users import User, change_preferences
from reedbed.services.auth import publish_changed
from reedbed.services.digests import NO_MAIL
from reedbed.services.email import check_mail_allowance, texts_for
from reedbed.services.jobs import Done, Later, enqueue, try_again
from reedbed.services.runtime import Runtime
from reedbed.services.users import member, preferences_of
from reedbed.store import books, users
from reedbed.store.books import PART_BYTES
from reedbed.store.jobs import Job

log = structlog.get_logger()

JOB_KIND = "book_mail"
GIVE_UP_AFTER = 12 * HOUR
MAX_A_DAY = 20
"""Books that one user may mail."""
NO_ADDRESS = "Set the address of your e-reader first."
UNCONFIRMED = "Open the link in the mail that was sent to %(address)s first: it confirms the address."
TOO_MANY = "At most %(limit)s books can be mailed in a day."
UNKNOWN_LINK = "This link is not valid. Set the address again under Books."


def sender_of(runtime: Runtime) -> str:
    """The address that an e-reader's list of approved senders must hold; empty without mail."""
    return runtime.mailer.sender if runtime.mailer is not None else ""


def is_confirmed(runtime: Runtime, user: User, address: str) -> bool:
    """Addresses of e-readers take mail from approved senders only; any other needs the owner's consent."""
    if is_reader_address(address) or address == user.email:
        return True
    return hmac.compare_digest(preferences_of(user).book_proof.encode(), _proof(runtime, user.id, address).encode())


async def check_mail_allowed(runtime: Runtime, user: User) -> str:
    """The address to send to. Raises `Conflict` if there is none yet."""
    address = preferences_of(user).book_address
    if runtime.mailer is None:
        raise Conflict(NO_MAIL, field="mail")
    if not address:
        raise Conflict(NO_ADDRESS, field="mail")
    if not is_confirmed(runtime, user, address):
        raise Conflict(UNCONFIRMED, field="mail", address=address)
    async with runtime.db.read() as tx:
        if await books.count_mailed(tx, user.id, runtime.now() - DAY) >= MAX_A_DAY:
            raise Conflict(TOO_MANY, field="mail", limit=MAX_A_DAY)
    return address


# --- The address


async def set_address(runtime: Runtime, user: User, address: str) -> User:
    """Set the address for books; empty removes it. Only the user's own and those of e-readers need no confirmation."""
    if not address.strip():
        return await _save(runtime, user.id, {"book_address": "", "book_proof": ""})
    if runtime.mailer is None:
        raise Conflict(NO_MAIL, field="address")
    checked = email_address(address)
    known = is_confirmed(runtime, user, checked)
    if not known:
        await check_mail_allowance(runtime, checked)
    changed = await _save(runtime, user.id, {"book_address": checked})
    if not known:
        await enqueue(runtime, JOB_KIND, {"confirm": checked}, user_id=user.id)
    return changed


async def confirm_address(runtime: Runtime, token: str) -> str:
    """The address that the link in a mail confirms. Repeating it is harmless."""
    user, address = await confirmed_user(runtime, token)
    await _save(runtime, user.id, {"book_proof": _proof(runtime, user.id, address)})
    return address


async def confirmed_user(runtime: Runtime, token: str) -> tuple[User, str]:
    """The user and the address of the link, if the address is still the current one."""
    number, _, proof = token.partition("-")
    user_id = int(number) if number.isascii() and number.isdigit() and len(number) <= 16 else 0
    async with runtime.db.read() as tx:
        user = await users.get(tx, user_id)
    address = preferences_of(user).book_address if user is not None else ""
    if (
        user is None
        or not address
        or not hmac.compare_digest(_proof(runtime, user_id, address).encode(), proof.encode())
    ):
        raise NotFound(UNKNOWN_LINK)
    return user, address


async def _save(runtime: Runtime, user_id: int, changes: Mapping[str, str]) -> User:
    async with runtime.db.write() as tx:
        user = await users.get(tx, user_id)
        if user is None:
            raise NotFound("This account is gone.")
        changed = asdict(change_preferences(preferences_of(user), changes))
        await users.set_preferences(tx, user_id, orjson.dumps(changed).decode())
    await publish_changed(runtime, user_id)
    return await member(runtime, user_id)


def _proof(runtime: Runtime, user_id: int, address: str) -> str:
    return hmac.new(runtime.secret, f"book-mail\0{user_id}\0{address}".encode(), sha256).hexdigest()[:40]


# --- Jobs


async def enqueue_book_mail(runtime: Runtime, book: Book, to: str) -> None:
    async with runtime.db.write() as tx:
        await books.set_mail(tx, book.id, to, "pending")
    await enqueue(runtime, JOB_KIND, {"book_id": book.id}, user_id=book.user_id)


async def send_book(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: mail a book, or the link that confirms an address."""
    assert job.user_id is not None
    async with runtime.db.read() as tx:
        user = await users.get(tx, job.user_id)
    if user is None or user.disabled_at is not None or runtime.mailer is None:
        return Done()
    if "confirm" in job.payload:
        return await _send_link(runtime, job, user, job.payload["confirm"])
    async with runtime.db.read() as tx:
        book = await books.get(tx, user.id, job.payload["book_id"])
    if book is None or book.status != "ready" or book.mail_status != "pending":
        return Done()
    return await _send_book(runtime, job, user, book)


async def _send_link(runtime: Runtime, job: Job, user: User, address: str) -> Done | Later:
    texts = texts_for(runtime, user)
    url = f"{runtime.accounts.base_url}/books/confirm/{user.id}-{_proof(runtime, user.id, address)}"
    opening = texts.translate(
        "Somebody, perhaps you, wants Reedbed to send books to this address. To allow that, open this link:"
    )
    closing = texts.translate("If it was not you, there is nothing to do.")
    subject = texts.translate("Confirm the address for your books")
    email = Email(address, subject, f"{opening}\n\n{url}\n\n{closing}\n")
    assert runtime.mailer is not None
    result = await runtime.mailer.send(email, runtime.now())
    if not isinstance(result, NotSent):
        return Done()
    log.warning("the link for an address of books was not sent", error=result.reason)
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER) if result.try_again else None
    return later or Done({"error": result.reason})


async def _send_book(runtime: Runtime, job: Job, user: User, book: Book) -> Done | Later:
    assert runtime.mailer is not None
    if book.length > MAX_MAIL_BYTES:
        return await _note(runtime, book, "failed", Failure(FailureCode.BOOK_TOO_LARGE))
    text = texts_for(runtime, user).translate(
        "The book “%(title)s” is attached. Your Reedbed made it.", title=book.title
    )
    data = await _file(runtime, book)
    attachment = Attachment(book.file_name, BOOK_TYPE, data)
    email = Email(book.mail_to, book.title, f"{text}\n", attachment=attachment)
    result = await runtime.mailer.send(email, runtime.now())
    if not isinstance(result, NotSent):
        return await _note(runtime, book, "sent")
    log.warning("a book was not mailed", book=book.id, error=result.reason)
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER) if result.try_again else None
    await _note(runtime, book, "pending" if later else "failed", untranslated(result.reason))
    return later or Done({"error": result.reason})


async def _note(runtime: Runtime, book: Book, status: str, error: Failure | None = None) -> Done:
    async with runtime.db.write() as tx:
        await books.set_mail(tx, book.id, book.mail_to, status, error)
    return Done({"error": error.message} if error else {"sent": "mail"})


async def _file(runtime: Runtime, book: Book) -> bytes:
    parts: list[bytes] = []
    for number in range(-(-book.length // PART_BYTES)):
        async with runtime.db.read() as tx:
            parts.append(await books.part(tx, book.id, number) or b"")
    return b"".join(parts)
