"""Moments and spans.

A moment is an `int`: milliseconds since 1970 in UTC. It sorts, compares and stores the same way in Python,
SQLite, PostgreSQL and a cursor; only the surfaces turn it into text.
"""

from datetime import UTC, date, datetime
from functools import lru_cache

Instant = int
Millis = int

SECOND: Millis = 1_000
MINUTE: Millis = 60 * SECOND
HOUR: Millis = 60 * MINUTE
DAY: Millis = 24 * HOUR
LEEWAY: Millis = HOUR
"""What is noted as done further ahead than this was noted by a clock that has been set back since."""

FIRST_DAY = date(1970, 1, 1).toordinal()

# Year 1 and year 9999 in UTC: what `datetime` and RFC 3339 can say.
EARLIEST: Instant = -62_135_596_800_000
LATEST: Instant = 253_402_300_799_999


def from_datetime(moment: datetime) -> Instant:
    """Without a zone it is taken as UTC. Raises ValueError where the offset leads out of the calendar."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    found = int(aware.timestamp() * 1000)
    if not is_sayable(found):
        raise ValueError("outside the years 1 to 9999")
    return found


def is_sayable(moment: Instant) -> bool:
    return EARLIEST <= moment <= LATEST


def is_ahead(done: Instant, now: Instant) -> bool:
    return done > now + LEEWAY


def to_datetime(moment: Instant) -> datetime:
    return datetime.fromtimestamp(moment / 1000, UTC)


def rfc3339(moment: Instant) -> str:
    """`2026-11-15T09:30:00Z`, with milliseconds only where there are any."""
    # By hand, because a list has hundreds of them and most lie on the same few days.
    day, rest = divmod(moment, DAY)
    minutes, rest = divmod(rest, MINUTE)
    seconds, millis = divmod(rest, SECOND)
    fraction = f".{millis:03}" if millis else ""
    return f"{_date(day)}T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}Z"


@lru_cache(maxsize=4_000)
def _date(day: int) -> str:
    return date.fromordinal(FIRST_DAY + day).isoformat()
