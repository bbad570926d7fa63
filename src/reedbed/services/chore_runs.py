"""When chores last ran, kept in the database: a run that was missed is made up for by the next process."""

from collections.abc import Awaitable, Callable

from reedbed.domain.errors import Unavailable
from reedbed.domain.times import Instant, Millis, is_ahead
from reedbed.services.runtime import Runtime
from reedbed.store import app_settings


async def run_every(
    runtime: Runtime, name: str, every: Millis, chore: Callable[[Runtime], Awaitable[int]]
) -> int:
    """Run it unless it ran within `every`; what it did.

    One that is broken off is run again by the next call. One that fails waits for its next turn.
    """
    now, key = runtime.now(), f"chore_ran_at:{name}"
    last = await _moment(runtime, key)
    if last is not None and now < last + every:
        return 0
    try:
        done = await chore(runtime)
    except Unavailable:
        raise
    except Exception:
        await _note(runtime, key, now)
        raise
    await _note(runtime, key, now)
    return done


async def first_look(runtime: Runtime, name: str) -> Instant | None:
    """Since when the night of a chore that never ran is waited for; None at the first look."""
    key = f"chore_awaited_since:{name}"
    since = await _moment(runtime, key)
    if since is None:
        await _note(runtime, key, runtime.now())
    return since


async def _moment(runtime: Runtime, key: str) -> Instant | None:
    """None also for one that only a wrong clock can have written."""
    async with runtime.db.read() as tx:
        kept = await app_settings.get(tx, key)
    return None if kept is None or is_ahead(int(kept), runtime.now()) else int(kept)


async def _note(runtime: Runtime, key: str, moment: Instant) -> None:
    async with runtime.db.write() as tx:
        await app_settings.put(tx, key, str(moment), runtime.now())
