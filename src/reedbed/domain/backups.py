"""Which copies of the database are kept."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from reedbed.domain.records import record
from reedbed.domain.times import Instant, from_datetime, is_ahead, to_datetime

_NAME = re.compile(r"daily-(\d{8}-\d{6})\.db")
_FORM = "%Y%m%d-%H%M%S"


@record
class BackupPolicy:
    file: str
    """The SQLite file."""
    folder: str
    kept: int = 7


def name_of(moment: Instant) -> str:
    return f"daily-{to_datetime(moment).strftime(_FORM)}.db"


def moment_of(name: str) -> Instant | None:
    """When the copy of this name was made; None for files that are not ours to remove."""
    found = _NAME.fullmatch(name)
    try:
        return from_datetime(datetime.strptime(found[1], _FORM).replace(tzinfo=UTC)) if found else None
    except ValueError:
        return None


def newest_of(names: Iterable[str], now: Instant) -> Instant | None:
    """When the last copy was made; what only a wrong clock can have named does not count."""
    moments = (moment_of(name) for name in names)
    return max(
        (moment for moment in moments if moment is not None and not is_ahead(moment, now)), default=None
    )


def surplus(names: Iterable[str], kept: int, now: Instant) -> list[str]:
    """The copies beyond the newest so many. Those that a wrong clock named count as the oldest."""
    ours = [(moment, name) for name in names if (moment := moment_of(name)) is not None]
    ours.sort(key=lambda one: (not is_ahead(one[0], now), one), reverse=True)
    return [name for _, name in ours[kept:]]
