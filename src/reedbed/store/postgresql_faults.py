"""What PostgreSQL or the way to it can do to us, in plain words."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import asyncpg as untyped_asyncpg  # pyright: ignore[reportMissingTypeStubs] - has none

from reedbed.domain.errors import Unavailable

asyncpg: Any = untyped_asyncpg

LOCKED = "Another session keeps a table of the database locked. Try again in a moment."

_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,  # disk full, out of memory, too many connections
    asyncpg.OperatorInterventionError,  # shut down, crashed, starting, cancelled
    asyncpg.PostgresSystemError,  # input and output errors on its side
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InternalClientError,  # the protocol's own, on a connection the server is just taking away
    OSError,
    TimeoutError,
)


@contextmanager
def explained() -> Generator[None]:
    """Faults become `Unavailable`; our own mistakes pass."""
    try:
        yield
    except asyncpg.DiskFullError as error:
        raise Unavailable("The disk of PostgreSQL is full. Nothing that was saved is lost.") from error
    except asyncpg.LockNotAvailableError as error:
        raise Unavailable(LOCKED) from error
    except _LOST as error:
        raise Unavailable("PostgreSQL does not answer. Try again in a moment.") from error
    except asyncpg.InterfaceError as error:
        # asyncpg says both "connection is closed" and "wrong number of arguments" with this class.
        if "clos" in str(error) or "released" in str(error):
            raise Unavailable("The connection to PostgreSQL was lost. Try again in a moment.") from error
        raise
