"""A copy of the SQLite file each night; the newest few are kept. PostgreSQL has its own means."""

import asyncio
from datetime import datetime
from pathlib import Path

import structlog

from reedbed.domain.errors import ReedbedError
from reedbed.domain.retention import is_due
from reedbed.domain.times import SECOND
from reedbed.services.chore_runs import first_look
from reedbed.services.runtime import Runtime
from reedbed.store import app_settings, backup

log = structlog.get_logger()

WARNING = "backup_warning"


async def back_up_when_due(runtime: Runtime) -> Path | None:
    """Once a day at the hour of the cleanup, before it; the copy, if one was made."""
    policy, now = runtime.backups, runtime.now()
    if policy is None:
        return None
    last = await asyncio.to_thread(backup.latest_copy, policy, now)
    if last is None:
        last = await first_look(runtime, "backup")
    local = datetime.fromtimestamp(now / SECOND).astimezone()
    if not is_due(last, now, local, runtime.keeping.hour):
        return None
    try:
        made = await asyncio.to_thread(backup.make_daily_copy, policy, now)
    except ReedbedError as error:
        log.error("the nightly copy failed", error=error.message)
        await _warn(runtime, error.message)
        return None
    await _warn(runtime, "")
    log.info("copied the database", file=str(made))
    return made


async def _warn(runtime: Runtime, warning: str) -> None:
    async with runtime.db.write() as tx:
        await app_settings.put(tx, WARNING, warning, runtime.now())
