"""Opens the database that a URL names."""

from pathlib import Path

from reedbed.domain.errors import Unavailable
from reedbed.store.engine.database import Database
from reedbed.store.engine.encryption import Vault


async def open_database(url: str, *, pool_size: int = 10, vault: Vault | None = None) -> Database:
    """Connect to `sqlite:///path` or `postgresql://…`. Raises `Unavailable` when it cannot be reached.

    Without a vault, passwords are stored as plain text.
    """
    if url.startswith("sqlite:"):
        from reedbed.store.engine.sqlite import open_sqlite

        return open_sqlite(sqlite_path(url), vault=vault or Vault())
    if url.startswith(("postgresql:", "postgres:")):
        from reedbed.store.engine.postgresql import open_postgresql

        return await open_postgresql(url, pool_size=pool_size, vault=vault)
    raise Unavailable("The database address must start with sqlite:/// or postgresql://.")


async def open_with_replica(url: str, replica_url: str, *, pool_size: int = 10, vault: Vault | None = None) -> Database:
    """Also connect to a PostgreSQL replica for lists, which may be down at start."""
    from reedbed.store.engine.postgresql import open_postgresql
    from reedbed.store.engine.replica import ReplicatedDatabase

    primary = await open_database(url, pool_size=pool_size, vault=vault)
    replica = await open_postgresql(replica_url, pool_size=pool_size, must_answer=False, vault=vault)
    return ReplicatedDatabase(primary, replica)


def read_only(path: str | Path) -> str:
    """A URI that makes SQLite open the file read-only; special characters in its name are escaped."""
    return f"{Path(path).absolute().as_uri()}?mode=ro"


def sqlite_path(url: str) -> str:
    """`sqlite:///data/x.db` is relative, `sqlite:////data/x.db` absolute."""
    return url.removeprefix("sqlite:///")
