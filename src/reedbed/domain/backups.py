"""Which copies of the database are kept."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from reedbed.domain.times import Instant, from_datetime, to_datetime

_NAME = re.compile(r"daily-(\d{8}-\d{6})\.db")
_FORM = "%Y%m%d-%H%M%S"


@dataclass(frozen=True, slots=True)
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


def surplus(names: Iterable[str], kept: int) -> list[str]:
    """The copies beyond the newest so many."""
    ours = sorted((name for name in names if moment_of(name) is not None), reverse=True)
    return ours[kept:]
