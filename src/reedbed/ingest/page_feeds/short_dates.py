"""Dates of a list that are given without a year, or as the time of today, as the columns of tickers and forums do.

One `11-17` or `10:34` may be anything. A column of them that goes back in time is one of dates.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from reedbed.domain.times import Instant, from_datetime, to_datetime

MAX_SHORT = 18
_TIME = re.compile(r"[\[(]?([01]?\d|2[0-3])[:.]([0-5]\d)(?: ?uhr)?[\])]?", re.IGNORECASE)
_DAY = re.compile(r"[\[(]?(\d{1,2})([-./])(\d{1,2})\.?[\])]?(?:,?\s+\d{1,2}[:.]\d\d)?")
_MIN_ENTRIES = 3
_DESCENDING = 0.8


def short_dates(
    texts: Sequence[Sequence[str]], known: Sequence[Instant | None], now: Instant, *, month_first: bool
) -> list[Instant | None]:
    """The date of every entry, those of `known` as they are; `known` if the texts are no column of dates."""
    missing = [at for at, time in enumerate(known) if time is None]
    if len(known) < _MIN_ENTRIES or not missing:
        return list(known)
    today = to_datetime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    for first in (month_first, not month_first):
        found = [time if time is not None else _read(texts[at], today, first) for at, time in enumerate(known)]
        days = [day for day in found if day is not None]
        # Times alone say nothing of the day.
        if len(days) == len(known) and min(days) < from_datetime(today) and _goes_back(days):
            return found
    return list(known)


def _read(texts: Sequence[str], today: datetime, month_first: bool) -> Instant | None:
    for text in texts:
        if match := _DAY.fullmatch(text):
            one, other = int(match[1]), int(match[3])
            month, day = (one, other) if month_first and match[2] != "." else (other, one)
            return _latest(today, month, day)
    return from_datetime(today) if any(map(_TIME.fullmatch, texts)) else None


def _latest(today: datetime, month: int, day: int) -> Instant | None:
    """The latest such day that is not in the future."""
    for year in (today.year, today.year - 1):
        try:
            found = datetime(year, month, day, tzinfo=UTC)
        except ValueError:
            continue
        if found <= today:
            return from_datetime(found)
    return None


def _goes_back(days: Sequence[Instant]) -> bool:
    steps = [later >= earlier for later, earlier in pairwise(days)]
    return sum(steps) >= _DESCENDING * len(steps)
