"""From an address to an open database."""

from reedbed.domain.errors import Unavailable
from reedbed.store.database import Database


async def open_database(url: str, *, pool_size: int = 10) -> Database:
    """Connect to `sqlite:///path` or `postgresql://…`. Raises `Unavailable` when it cannot be reached."""
    if url.startswith("sqlite:"):
        from reedbed.store.sqlite import open_sqlite

        return open_sqlite(sqlite_path(url))
    if url.startswith(("postgresql:", "postgres:")):
        from reedbed.store.postgresql import open_postgresql

        return await open_postgresql(url, pool_size=pool_size)
    raise Unavailable("The database address must start with sqlite:/// or postgresql://.")


def sqlite_path(url: str) -> str:
    """`sqlite:///data/x.db` is relative, `sqlite:////data/x.db` absolute."""
    return url.removeprefix("sqlite:///")
