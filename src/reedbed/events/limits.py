"""Rate limits per caller, and throttling of requests to each host: one per `delay`, and few at a time."""

import errno
import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from reedbed.domain.records import record
from reedbed.domain.times import HOUR, SECOND, Millis
from reedbed.domain.users import Allowance

MAX_BUCKETS = 100_000


class Limiter(Protocol):
    async def wait_for(self, key: str, allowance: Allowance) -> float:
        """Take a token and return 0, or return the seconds to wait for one."""
        ...

    async def give_back(self, key: str, allowance: Allowance) -> None:
        """Put a token back."""
        ...


class MemoryLimiter:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    async def wait_for(self, key: str, allowance: Allowance) -> float:
        now = self._clock()
        tokens, updated_at = self._buckets.get(key, (allowance.burst, now))
        # Even a monotonic clock can go back if a machine or a test sets it.
        tokens = min(allowance.burst, tokens + max(0.0, now - updated_at) * allowance.per_second)
        if tokens < 1:
            self._buckets[key] = (tokens, now)
            return (1 - tokens) / allowance.per_second
        if len(self._buckets) >= MAX_BUCKETS and key not in self._buckets:
            self._delete_oldest()
        self._buckets[key] = (tokens - 1, now)
        return 0.0

    async def give_back(self, key: str, allowance: Allowance) -> None:
        if key in self._buckets:
            tokens, updated_at = self._buckets[key]
            self._buckets[key] = (min(allowance.burst, tokens + 1), updated_at)

    def _delete_oldest(self) -> None:
        oldest_first = sorted(self._buckets, key=lambda key: self._buckets[key][1])
        for key in oldest_first[: MAX_BUCKETS // 10]:
            del self._buckets[key]


CLEAN_UP_ABOVE = 4_096
MAX_WAIT: Millis = HOUR
"""The longest queue of a host; a later turn means that the clock was changed."""


@record
class HostTurn:
    """One of the concurrent requests to a host."""

    token: str
    wait: Millis
    """How long to wait before the request."""


class HostThrottle(Protocol):
    async def reserve(self, host: str, delay: Millis) -> Millis:
        """How long to wait for this caller's turn; the next turn is `delay` later."""
        ...

    async def enter(self, host: str, limit: int, *, lease: Millis, delay: Millis) -> HostTurn | None:
        """A turn for one of `limit` concurrent requests, `delay` after the one before; None if all are in use.

        A turn that is not returned, because its process died, expires with its lease.
        """
        ...

    async def leave(self, host: str, token: str) -> None: ...


class MemoryHostThrottle:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, Millis] = {}
        self._in_flight: dict[str, dict[str, Millis]] = {}

    async def reserve(self, host: str, delay: Millis) -> Millis:
        now = int(self._clock() * SECOND)
        turn = min(max(now, self._next.get(host, 0)), now + MAX_WAIT)
        self._next[host] = turn + delay
        if len(self._next) > CLEAN_UP_ABOVE:
            self._next = {name: host_slot for name, host_slot in self._next.items() if host_slot > now}
        return turn - now

    async def enter(self, host: str, limit: int, *, lease: Millis, delay: Millis) -> HostTurn | None:
        now = int(self._clock() * SECOND)
        held = {token: end for token, end in self._in_flight.get(host, {}).items() if end > now}
        self._in_flight[host] = held
        if len(held) >= limit:
            return None
        token = secrets.token_hex(8)
        held[token] = now + lease
        return HostTurn(token, await self.reserve(host, delay))

    async def leave(self, host: str, token: str) -> None:
        held = self._in_flight.get(host, {})
        held.pop(token, None)
        if not held:
            self._in_flight.pop(host, None)


class FileHostThrottle(MemoryHostThrottle):
    """The limit of concurrent requests holds for all processes of one machine, by locks on parts of a file.

    Each concurrent request holds a lock on one byte, which need not exist: so the file stays empty, a request
    costs two system calls, and what a process held is free when it dies. Each process keeps the delay for itself.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._locked: dict[str, tuple[int, Millis]] = {}
        """The byte of each turn and the end of its lease, by its token."""

    def close(self) -> None:
        os.close(self._file)

    async def enter(self, host: str, limit: int, *, lease: Millis, delay: Millis) -> HostTurn | None:
        now, first = int(self._clock() * SECOND), _first_byte(host)
        self._locked = {token: held for token, held in self._locked.items() if held[1] > now}
        own = {byte for byte, _ in self._locked.values()}  # the system refuses no process what it has locked itself
        byte = next((byte for byte in range(first, first + limit) if byte not in own and self._lock(byte)), None)
        if byte is None:
            return None
        turn = await super().enter(host, limit, lease=lease, delay=delay)
        if turn is None:
            self._unlock(byte)
            return None
        self._locked[turn.token] = byte, now + lease
        return turn

    async def leave(self, host: str, token: str) -> None:
        await super().leave(host, token)
        held = self._locked.pop(token, None)
        if held is not None:
            self._unlock(held[0])

    def _lock(self, byte: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            # Some file systems know no locks: then each process counts for itself.
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        return True

    def _unlock(self, byte: int) -> None:
        with suppress(OSError):
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)


MAX_CONCURRENT = 1024


def _first_byte(host: str) -> int:
    digest = hashlib.blake2b(host.encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") * MAX_CONCURRENT
