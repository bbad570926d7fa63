"""A database that cannot be written to for a moment, as in a deadlock."""

from dataclasses import dataclass
from typing import Any

from reedbed.domain.errors import Unavailable


@dataclass
class Stumbling:
    database: Any
    fails: int = 1
    """So many of the next writes fail."""

    def write(self) -> Any:
        if self.fails:
            self.fails -= 1
            raise Unavailable("PostgreSQL does not answer.")
        return self.database.write()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)
