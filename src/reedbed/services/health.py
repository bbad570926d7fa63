"""Every five minutes one process looks whether all is well; all of them know what it found.

Web processes look, too: when the last worker is gone, somebody must be left to say so.
"""

import asyncio
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

import orjson
import structlog

from reedbed.domain.errors import ReedbedError, Unavailable
from reedbed.domain.health import NO_DATABASE, SILENT_AFTER, Measured, Problem, problems
from reedbed.domain.times import HOUR, MINUTE, Instant, Millis
from reedbed.services.leases import while_alone
from reedbed.services.runtime import Runtime
from reedbed.store import ai_state, app_settings, health
from reedbed.store.database import Tx
from reedbed.store.feed_history import hour_of

log = structlog.get_logger()

EVERY: Millis = 5 * MINUTE
WHILE_UNWELL: Millis = MINUTE
"""A remedy should show soon."""
LOOK_SECONDS = 20.0
REPORT, WARNING, OPEN_SINCE = "health_report", "health_warning", "breaker_open_since"


async def watch(runtime: Runtime) -> None:
    """Until cancelled: check when it is time, else read what another process found."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await _look(runtime)
        except Unavailable:
            runtime.board.problems = (NO_DATABASE,)
        except ReedbedError as error:
            log.warning("health could not be checked", error=error.message)
        except Exception:
            log.exception("health could not be checked")


async def check(runtime: Runtime) -> tuple[Problem, ...]:
    """Look now, write down and log what is wrong."""
    found = await look_now(runtime)
    async with runtime.db.write() as tx:
        before = {one.check for one in await reported(tx)}
        await _write_down(tx, found, runtime.now())
    _log(found, before)
    runtime.board.problems = found
    return found


async def look_now(runtime: Runtime) -> tuple[Problem, ...]:
    """Look and tell nobody else."""
    return problems(await _measure(runtime))


async def reported(tx: Tx) -> tuple[Problem, ...]:
    """What the last check found."""
    kept = await app_settings.get(tx, REPORT)
    return tuple(Problem(**one) for one in orjson.loads(kept)["problems"]) if kept else ()


async def _look(runtime: Runtime) -> None:
    async with runtime.db.read() as tx:
        at, runtime.board.problems = await _checked_at(tx), await reported(tx)
    if not at <= runtime.now() < at + (WHILE_UNWELL if runtime.board.problems else EVERY):

        async def work() -> None:
            await check(runtime)

        await while_alone(runtime, "health", work)


async def _checked_at(tx: Tx) -> Instant:
    kept = await app_settings.get(tx, REPORT)
    return orjson.loads(kept)["at"] if kept else 0


async def _measure(runtime: Runtime) -> Measured:
    now = runtime.now()
    async with runtime.db.read() as tx:
        known = await health.known(tx, hour_of(now) - HOUR)
        overdue = _since(known.first_due, now)
        last = await health.last_check(tx) if overdue > SILENT_AFTER else now
        too_large = await app_settings.get(tx, "db_size_warning")
        backup_failed = await app_settings.get(tx, "backup_warning")
    return Measured(
        free_bytes=await _free_bytes(runtime),
        too_large=bool(too_large),
        backup_failed=bool(backup_failed),
        workers=known.workers,
        oldest_in_queue=_since(known.oldest_lock, now),
        oldest_job=_since(known.oldest_job, now),
        breaker_open_for=await _breaker_open_for(runtime, now),
        overdue=overdue,
        last_check=None if last is None else now - last,
        checks=known.checks,
        failures=known.failures,
    )


async def _breaker_open_for(runtime: Runtime, now: Instant) -> Millis:
    """The breaker opens and half-opens all the time; what counts is since when it was never seen closed."""
    if runtime.ai.model is None:
        return 0
    async with runtime.db.write() as tx:
        breaker = await ai_state.breaker_of(tx, runtime.ai.model.name)
        since = int(await app_settings.get(tx, OPEN_SINCE) or 0)
        if breaker.state == "CLOSED" or not since:
            since = 0 if breaker.state == "CLOSED" else now
            await app_settings.put(tx, OPEN_SINCE, str(since), now)
    return now - since if since else 0


async def _free_bytes(runtime: Runtime) -> int | None:
    if not runtime.volume:
        return None
    with suppress(OSError):
        return (await asyncio.to_thread(shutil.disk_usage, os.fspath(runtime.volume))).free
    return None


async def _write_down(tx: Tx, found: Sequence[Problem], now: Instant) -> None:
    report = orjson.dumps({"at": now, "problems": [asdict(one) for one in found]}).decode()
    await app_settings.put(tx, REPORT, report, now)
    await app_settings.put(tx, WARNING, " ".join(one.text for one in found), now)


def _log(found: Sequence[Problem], before: set[str]) -> None:
    for one in found:
        tell = log.error if one.alarm else log.warning
        tell("not well", check=one.check, problem=one.text, new=one.check not in before)
    for gone in sorted(before - {one.check for one in found}):
        log.info("well again", check=gone)


def _since(moment: Instant | None, now: Instant) -> Millis:
    return 0 if moment is None else max(0, now - moment)
