"""A user's books: request, list, open and delete them, and the plans that make them by the clock."""

import asyncio
from collections.abc import AsyncGenerator
from time import monotonic
from zoneinfo import ZoneInfo

from reedbed.domain.books import (
    MAX_KEPT,
    MAX_PLANS,
    Book,
    BookPlan,
    BookSource,
    check_weekday,
    list_name,
    next_book_time,
)
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.languages import Texts
from reedbed.domain.times import MINUTE
from reedbed.domain.users import Allowance, User
from reedbed.services.books.content import is_empty
from reedbed.services.books.mail import MAX_A_DAY, TOO_MANY, check_mail_allowed, enqueue_book_mail
from reedbed.services.email import texts_for
from reedbed.services.jobs import BOOK_JOB, enqueue, wake_jobs
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import books, digests, folders, jobs, sidebar, subscriptions, tags, users
from reedbed.store.books import PART_BYTES
from reedbed.store.engine.database import Tx
from reedbed.store.search import saved as searches

MAX_PENDING = 3
"""Books of one user that are being made."""
MAILS_AGAIN = Allowance(MAX_A_DAY, MAX_A_DAY / 86_400)
"""Finished books that one user may mail, or mail again."""
FRESH = 10 * MINUTE
"""How long a book is the answer to the same request."""
LOOK_SECONDS = 0.3
NO_SUCH = "There is no such book"
NOTHING = "There is nothing in this list."


async def request_book(runtime: Runtime, user: User, source: BookSource, *, mail: bool = False) -> Book:
    """A pending book. The one that was made of the same list a moment ago, unless it is to be mailed."""
    mail_to = await check_mail_allowed(runtime, user) if mail else ""
    now = runtime.now()
    async with runtime.db.read() as tx:
        title = await name_of_source(tx, user, source, texts_for(runtime, user))
        found = None if mail else await books.latest_of(tx, user.id, source, now - FRESH)
    if found is not None:
        return found
    if await is_empty(runtime, user.id, source):
        raise NotFound(NOTHING)
    async with runtime.db.write() as tx:
        if await books.count_pending(tx, user.id) >= MAX_PENDING:
            raise Conflict("Several of your books are being made. Wait until one of them is ready.")
        book = await books.add(tx, user.id, source, title, now, mail_to=mail_to)
        await jobs.add(tx, BOOK_JOB, {"book_id": book.id}, now=now, user_id=user.id)
    await wake_jobs(runtime)
    return book


async def name_of_source(tx: Tx, user: User, source: BookSource, texts: Texts) -> str:
    """What the list is called, in the user's language. Raises `NotFound` if it does not exist."""
    if source.digest_id is not None:
        digest = await digests.get(tx, user.id, source.digest_id)
        if digest is None or digest.status != "ready":
            raise NotFound("There is no such digest")
    return await _name_of_list(tx, user.id, source, texts)


async def _name_of_list(tx: Tx, user_id: int, source: BookSource, texts: Texts) -> str:
    if source.feed_id is not None:
        found = await subscriptions.get_by_feed(tx, user_id, source.feed_id)
        feeds = await sidebar.list_by_ids(tx, user_id, [source.feed_id]) if found else []
        if not feeds:
            raise NotFound("There is no such feed.")
        return feeds[0].title
    if source.folder_id is not None:
        folder = await folders.get(tx, user_id, source.folder_id)
        if folder is None:
            raise NotFound("There is no such folder.")
        return texts.translate("Folder: %(name)s", name=folder.name)
    if source.tag is not None:
        if await tags.id_of(tx, user_id, source.tag) is None:
            raise NotFound("There is no such tag")
        return texts.translate("Tag: %(name)s", name=source.tag)
    if source.search_id is not None:
        search = await searches.get(tx, user_id, source.search_id)
        if search is None:
            raise NotFound("There is no such search")
        return texts.translate("Search: %(name)s", name=search.name)
    return list_name(source, texts)


async def get_book(runtime: Runtime, user_id: int, book_id: int) -> Book:
    async with runtime.db.read() as tx:
        book = await books.get(tx, user_id, book_id)
    if book is None:
        raise NotFound(NO_SUCH)
    return book


async def list_books(runtime: Runtime, user_id: int) -> list[Book]:
    async with runtime.db.read() as tx:
        return await books.newest(tx, user_id, limit=2 * MAX_KEPT)


async def delete_book(runtime: Runtime, user_id: int, book_id: int) -> None:
    async with runtime.db.write() as tx:
        if not await books.remove(tx, user_id, book_id):
            raise NotFound(NO_SUCH)


async def mail_book(runtime: Runtime, user: User, book_id: int) -> Book:
    """Send a finished book, or send it again."""
    book = await get_book(runtime, user.id, book_id)
    to = await check_mail_allowed(runtime, user)
    if book.status != "ready":
        raise Conflict("This book is not ready.")
    if book.mail_status != "pending":
        # `check_mail_allowed` counts books that were made to be mailed, not how often one is sent.
        if await runtime.limiter.wait_for(f"book-mails:{user.id}", MAILS_AGAIN) > 0:
            raise Conflict(TOO_MANY, field="mail", limit=MAX_A_DAY)
        await enqueue_book_mail(runtime, book, to)
    return await get_book(runtime, user.id, book_id)


async def wait_for_book(runtime: Runtime, user_id: int, book_id: int, seconds: float) -> Book:
    """Return the book when it is made or has failed, or after `seconds`."""
    ends_at = monotonic() + seconds
    book = await get_book(runtime, user_id, book_id)
    while book.status == "pending" and monotonic() < ends_at:
        await asyncio.sleep(LOOK_SECONDS)
        book = await get_book(runtime, user_id, book_id)
    return book


# --- The file


async def read_book(runtime: Runtime, book: Book, first: int = 0, last: int | None = None) -> AsyncGenerator[bytes]:
    """Its bytes, or those of a range, a part at a time."""
    end = book.length if last is None else last + 1
    for number in range(first // PART_BYTES, -(-end // PART_BYTES)):
        async with runtime.db.read() as tx:
            data = await books.part(tx, book.id, number)
        if data is None:
            return
        start = number * PART_BYTES
        yield data[max(0, first - start) : end - start]


# --- Plans


MINUTES_OF_DAY = 24 * 60
AT_A_TIME = 50
NO_SUCH_PLAN = "There is no such plan"


async def add_plan(
    runtime: Runtime, user: User, source: BookSource, *, minute: int, weekday: int | None, zone: str, mail: bool
) -> BookPlan:
    if not 0 <= minute < MINUTES_OF_DAY:
        raise Invalid("The time must be between 00:00 and 23:59.", field="time")
    if source.digest_id is not None:
        raise Invalid("A plan makes books of lists or of the newest digest.", field="digest_id")
    if mail:
        await check_mail_allowed(runtime, user)
    now, weekday = runtime.now(), check_weekday(weekday)
    next_at = next_book_time(minute, weekday, _zone(zone), now)
    plan = BookPlan(0, user.id, source, minute, weekday, zone, mail, next_at, None)
    async with runtime.db.write() as tx:
        await name_of_source(tx, user, source, texts_for(runtime, user))
        if await books.count_plans(tx, user.id) >= MAX_PLANS:
            raise Conflict("There can be at most %(limit)s plans. Delete some first.", limit=MAX_PLANS)
        return await books.add_plan(tx, plan, now)


async def list_plans(runtime: Runtime, user_id: int) -> list[BookPlan]:
    async with runtime.db.read() as tx:
        return await books.plans(tx, user_id)


async def delete_plan(runtime: Runtime, user_id: int, plan_id: int) -> None:
    """Its books stay."""
    async with runtime.db.write() as tx:
        if not await books.remove_plan(tx, user_id, plan_id):
            raise NotFound(NO_SUCH_PLAN)


async def enqueue_due_books(runtime: Runtime) -> int:
    """Periodic task: enqueue the due plans and count them. Missed times are made up for once."""
    now, count = runtime.now(), 0
    async with runtime.db.read() as tx:
        due = await books.due(tx, now, limit=AT_A_TIME)
    for plan in due:
        next_at = next_book_time(plan.minute, plan.weekday, _zone(plan.zone), now)
        async with runtime.db.write() as tx:
            claimed = await books.move_on(tx, plan, next_at)
            user = await users.get(tx, plan.user_id)
        if claimed and user is not None and user.disabled_at is None:
            await enqueue(runtime, BOOK_JOB, {"plan_id": plan.id}, user_id=user.id)
            count += 1
    return count


def zone_for(user: User, device_zone: str = "") -> str:
    return preferences_of(user).time_zone or device_zone or "UTC"


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError) as error:
        raise Invalid("There is no such time zone.", field="time_zone") from error
