"""Moments that lie further ahead than any the program writes: a clock was wrong, and has been set back."""

from sqlalchemy import bindparam, delete, null, or_, update

from reedbed.domain.times import DAY, HOUR, MINUTE, Instant, Millis
from reedbed.domain.websub import LONGEST_LEASE
from reedbed.store.database import Tx
from reedbed.store.statements import Statement
from reedbed.store.tables import (
    digest_schedules,
    feed_fetch_state,
    jobs,
    leases,
    mail_boxes,
    summary_queue,
    websub_subscriptions,
)

_FEEDS = Statement(
    update(feed_fetch_state)
    .where(feed_fetch_state.c.next_check_at > bindparam("limit"))
    .values(next_check_at=bindparam("now"))
)
_LEASES = Statement(delete(leases).where(leases.c.expires_at > bindparam("limit")))
_JOBS = Statement(
    update(jobs)
    .where(jobs.c.state == "running", jobs.c.leased_until > bindparam("limit"))
    .values(leased_until=bindparam("now"))
)
_LATE_JOBS = Statement(
    update(jobs)
    .where(jobs.c.state == "pending", jobs.c.run_at > bindparam("limit"))
    .values(run_at=bindparam("now"))
)
_SUMMARIES = Statement(
    update(summary_queue)
    .where(summary_queue.c.locked_at > bindparam("limit"))
    .values(locked_at=null(), lease_holder=null())
)
_COOLING = Statement(
    update(summary_queue)
    .where(summary_queue.c.cooldown_until > bindparam("limit"))
    .values(cooldown_until=null())
)
_MAIL_BOXES = Statement(
    update(mail_boxes)
    .where(mail_boxes.c.next_check_at > bindparam("limit"))
    .values(next_check_at=bindparam("now"))
)
_DIGESTS = Statement(
    update(digest_schedules)
    .where(digest_schedules.c.next_at > bindparam("limit"))
    .values(next_at=bindparam("now"))
)
# A hub that was last asked then has long stopped sending: its feed is not to be left to it.
_HUBS = Statement(
    update(websub_subscriptions)
    .where(
        or_(
            websub_subscriptions.c.due_at > bindparam("limit"),
            websub_subscriptions.c.expires_at > bindparam("limit"),
        )
    )
    .values(due_at=bindparam("now"), expires_at=bindparam("now"))
)


async def bring_back(tx: Tx, now: Instant, *, longest_rest: Millis) -> int:
    """Make due what would wait for a moment that is years away; how many rows."""
    limits = (
        (_FEEDS, longest_rest + DAY),
        (_LEASES, HOUR),
        (_JOBS, HOUR),
        (_LATE_JOBS, 2 * DAY),
        (_SUMMARIES, MINUTE),
        (_COOLING, 2 * DAY),
        (_MAIL_BOXES, 2 * DAY),
        (_DIGESTS, 2 * DAY),
        (_HUBS, LONGEST_LEASE + DAY),
    )
    return sum([await tx.run(statement, {"now": now, "limit": now + ahead}) for statement, ahead in limits])
