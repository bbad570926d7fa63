"""Timestamps and durations.

A timestamp is an `int`: milliseconds since 1970 in UTC. It sorts, compares and is stored the same way in
Python, SQLite, PostgreSQL and a cursor; only the HTTP and mail layers format it.
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
"""A recorded time further in the future was written before the clock was set back."""

FIRST_DAY = date(1970, 1, 1).toordinal()

# Year 1 and year 9999 in UTC: the range of `datetime` and RFC 3339.
EARLIEST: Instant = -62_135_596_800_000
LATEST: Instant = 253_402_300_799_999


def from_datetime(time: datetime) -> Instant:
    """A value without a zone is UTC. Raises ValueError if the offset leads out of the range."""
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    milliseconds = int(aware.timestamp() * 1000)
    if not is_representable(milliseconds):
        raise ValueError("outside the years 1 to 9999")
    return milliseconds


def is_representable(timestamp: Instant) -> bool:
    return EARLIEST <= timestamp <= LATEST


def is_ahead(done: Instant, now: Instant) -> bool:
    return done > now + LEEWAY


def to_datetime(timestamp: Instant) -> datetime:
    return datetime.fromtimestamp(timestamp / 1000, UTC)


def rfc3339(timestamp: Instant) -> str:
    """`2026-11-15T09:30:00Z`, with milliseconds only if they are not zero."""
    # Hand-written for speed: a list has hundreds of timestamps, most of them on the same few days.
    minutes, remainder = divmod(timestamp, MINUTE)
    day, minute = divmod(minutes, DAY // MINUTE)
    fraction = f".{remainder % SECOND:03}" if remainder % SECOND else ""
    return f"{_date(day)}T{_clock(minute)}:{remainder // SECOND:02}{fraction}Z"


@lru_cache(maxsize=DAY // MINUTE)
def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


@lru_cache(maxsize=4_000)
def _date(day: int) -> str:
    return date.fromordinal(FIRST_DAY + day).isoformat()
