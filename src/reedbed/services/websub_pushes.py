"""News that came by themselves go the way of every check: read, compared, cleaned, written, announced."""

import asyncio
from dataclasses import replace

import structlog

from reedbed.domain.due import DueFeed
from reedbed.domain.errors import Unavailable
from reedbed.domain.fetching import Failed, Fetched
from reedbed.services.findings import Finding
from reedbed.services.outcome_writer import OutcomeWriter
from reedbed.services.refresh import check_of, request_refresh
from reedbed.services.refresh_news import body_hash, read_document
from reedbed.services.runtime import Runtime
from reedbed.store import fetch_state, websub, websub_deliveries
from reedbed.store.websub_deliveries import Waiting

log = structlog.get_logger()

AT_ONCE = 4
MOST_ATTEMPTS = 5


async def read_pushes(runtime: Runtime, writer: OutcomeWriter) -> bool:
    """Read what hubs have sent, one of each subscription; whether something is still waiting."""
    async with runtime.db.read() as tx:
        waiting = await websub_deliveries.waiting(tx, limit=AT_ONCE)
    await asyncio.gather(*(_read(runtime, writer, one) for one in waiting))
    return bool(waiting)


async def _read(runtime: Runtime, writer: OutcomeWriter, one: Waiting) -> None:
    async with runtime.db.write() as tx:
        # The lease keeps a check of the same feed from writing the same entries at the same time.
        due = await fetch_state.take(tx, one.feed_id, runtime.name, runtime.now(), runtime.fetching.lease)
        if due is None:
            return
        await websub_deliveries.note_attempt(tx, one.id)
    try:
        await _store(runtime, writer, one, due)
    except Unavailable:
        raise
    except Exception:
        log.exception("a push could not be read", feed=one.feed_id)
        await _drop(runtime, one, only_after=MOST_ATTEMPTS)


async def _store(runtime: Runtime, writer: OutcomeWriter, one: Waiting, due: DueFeed) -> None:
    async with runtime.db.read() as tx:
        body = await websub_deliveries.body_of(tx, one.id)
    if body is None:  # another worker has just read it
        return await _drop(runtime, one)
    finding = await _finding(runtime, one, due, body)
    if isinstance(finding, Failed):
        log.warning("a push is no feed", feed=due.id, error=finding.message)
        await _drop(runtime, one)
        # A hub that only rings the bell still says that there is something new.
        await request_refresh(runtime, [due.id])
        return None
    stored = await writer.store(finding)
    async with runtime.db.write() as tx:
        await websub.note_brought(tx, one.subscription_id, len(stored.new))
        await websub_deliveries.remove(tx, one.id)
    log.info("push read", feed=due.id, new=len(stored.new), changed=len(stored.changed))
    return None


async def _finding(runtime: Runtime, one: Waiting, due: DueFeed, body: bytes) -> Finding | Failed:
    check = check_of(runtime, due, runtime.now())
    fetched = Fetched(200, due.url, body, one.content_type)
    finding = await read_document(runtime, check, fetched, body_hash(body))
    if isinstance(finding, Failed):
        return finding
    # A push may hold the newest entries alone: what the feed says of itself is learnt by checks.
    tally = replace(finding.tally, checks=0)
    return replace(finding, pushed=True, about=None, listed=(), removed=None, tally=tally)


async def _drop(runtime: Runtime, one: Waiting, *, only_after: int = 0) -> None:
    async with runtime.db.write() as tx:
        await fetch_state.release(tx, runtime.name, [one.feed_id])
        if one.attempts + 1 >= only_after:
            await websub_deliveries.remove(tx, one.id)
