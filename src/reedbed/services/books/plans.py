"""Books by the clock: plans at a time of day in the user's zone, on the scheduler of the digests."""

from zoneinfo import ZoneInfo

from reedbed.domain.books import MAX_PLANS, BookPlan, BookSource, check_weekday, next_book_time
from reedbed.domain.errors import Conflict, Invalid, NotFound
from reedbed.domain.users import User
from reedbed.services.books.mail import check_mail_allowed
from reedbed.services.books.manage import name_of_source
from reedbed.services.email import texts_for
from reedbed.services.jobs import BOOK_JOB, enqueue
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import books, users

MINUTES_OF_DAY = 24 * 60
AT_A_TIME = 50
NO_SUCH = "There is no such plan"


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
            raise NotFound(NO_SUCH)


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
