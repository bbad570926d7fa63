"""Digests by the clock: each user's own time of day, in their own zone."""

from zoneinfo import ZoneInfo

import structlog

from reedbed.domain.accounts import User
from reedbed.domain.cited import Scope
from reedbed.domain.digests import next_time
from reedbed.domain.errors import Conflict, Invalid, NotFound, Unavailable
from reedbed.services.digests import ask_digest
from reedbed.services.runtime import Runtime
from reedbed.store import digests, folders, users
from reedbed.store.digests import Schedule

log = structlog.get_logger()

NO_MAIL = "This server cannot send mail: its operator has set no REEDBED_SMTP_HOST."
MINUTES_OF_DAY = 24 * 60
AT_A_TIME = 50


async def set_schedule(
    runtime: Runtime, user: User, *, minute: int, zone: str, scope: Scope, mail: bool
) -> Schedule:
    if not 0 <= minute < MINUTES_OF_DAY:
        raise Invalid("The time must be between 00:00 and 23:59.", field="time")
    if mail and runtime.mailer is None:
        raise Conflict(NO_MAIL, field="mail")
    wanted = Schedule(user.id, minute, zone, scope, mail, next_time(minute, _zone(zone), runtime.now()))
    async with runtime.db.write() as tx:
        if scope.folder_id is not None and await folders.get(tx, user.id, scope.folder_id) is None:
            raise NotFound("There is no such folder.")
        await digests.schedule(tx, wanted)
    return wanted


async def end_schedule(runtime: Runtime, user_id: int) -> None:
    async with runtime.db.write() as tx:
        await digests.unschedule(tx, user_id)


async def ask_due_digests(runtime: Runtime) -> int:
    """A chore: how many were asked for. A time missed while nothing ran is made good once."""
    now, asked = runtime.now(), 0
    async with runtime.db.read() as tx:
        due = await digests.due(tx, now, most=AT_A_TIME)
    for one in due:
        async with runtime.db.write() as tx:
            mine = await digests.move_on(tx, one, next_time(one.minute, _zone(one.zone), now))
            user = await users.by_id(tx, one.user_id)
        if mine and user is not None and user.disabled_at is None:
            asked += await _ask(runtime, user, one)
    return asked


async def _ask(runtime: Runtime, user: User, due: Schedule) -> int:
    try:
        await ask_digest(runtime, user, due.scope, since_last=True, mail=due.mail)
    except (NotFound, Unavailable) as error:
        log.info("no digest today", user=user.id, why=error.message)
        return 0
    return 1


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError) as error:
        raise Invalid("There is no such time zone.", field="time_zone") from error
