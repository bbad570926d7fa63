"""Cleaning up because somebody asked for it, and what people are told about cleanups."""

from reedbed.domain.accounts import User
from reedbed.domain.errors import Conflict
from reedbed.services import jobs, retention
from reedbed.services.jobs import Done, Later
from reedbed.services.leases import while_alone
from reedbed.services.runtime import Runtime
from reedbed.store import cleanups, events
from reedbed.store.cleanups import Cleanup, Notice
from reedbed.store.jobs import Job

CLEANUP_JOB = "cleanup"
LEASE = "cleanup"
"""The nightly one holds it, too: there is one cleanup at a time."""


async def ask_for_cleanup(runtime: Runtime, asker: User) -> int:
    """The id of the job."""
    async with runtime.db.write() as tx:
        await events.note(tx, runtime.now(), "cleanup_asked", asker.id, {})
    return await jobs.enqueue(runtime, CLEANUP_JOB, {}, user_id=asker.id)


async def run_cleanup(runtime: Runtime, job: Job) -> Done | Later:
    await clean_up_alone(runtime)
    return Done()


async def clean_up_alone(runtime: Runtime) -> Cleanup:
    """Raises `Conflict` while another process cleans up."""
    done: list[Cleanup] = []

    async def clean() -> None:
        done.append(await retention.clean_up(runtime))

    if not await while_alone(runtime, LEASE, clean):
        raise Conflict("A cleanup is running already.")
    return done[0]


async def notice_for(runtime: Runtime, user_id: int) -> Notice | None:
    async with runtime.db.read() as tx:
        return await cleanups.notice(tx, user_id)


async def dismiss_notice(runtime: Runtime, user_id: int) -> None:
    async with runtime.db.write() as tx:
        await cleanups.dismiss(tx, user_id)
