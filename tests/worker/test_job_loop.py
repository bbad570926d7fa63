"""The loop that runs jobs, on a real database."""

import asyncio

import pytest

from reedbed.domain.live import ChangeEvent
from reedbed.services.jobs import Done, enqueue
from reedbed.services.runtime import Runtime
from reedbed.store.jobs import Job
from reedbed.worker import jobs
from reedbed.worker.sleep import wake_events
from tests.harness import RuntimeHarness


async def test_a_hint_begins_a_job_and_stopping_ends_the_loop_without_a_look_at_the_clock(
    harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: asyncio.Queue[int] = asyncio.Queue()

    async def work(runtime: Runtime, job: Job) -> Done:
        done.put_nowait(job.payload["number"])
        return Done()

    monkeypatch.setattr(jobs, "HANDLERS", {"work": work})
    monkeypatch.setattr(jobs, "POLL_SECONDS", 3_600.0)
    stop = asyncio.Event()
    async with asyncio.timeout(30):
        running = asyncio.create_task(jobs.run_jobs(harness.runtime, stop, grace=5))
        for number in range(3):
            await enqueue(harness.runtime, "work", {"number": number})
            assert await done.get() == number
        stop.set()
        await running


async def test_a_hint_that_comes_while_the_loop_begins_is_heard(harness: RuntimeHarness) -> None:
    async with asyncio.timeout(10), wake_events(harness.runtime, asyncio.Event(), "wake") as wake:
        await harness.runtime.bus.publish(ChangeEvent("wake"))
        await wake.wait()


async def test_a_job_that_outlasts_the_grace_has_ended_when_the_loop_has(
    harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work(runtime: Runtime, job: Job) -> Done:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await harness.column("SELECT 1")  # as who puts something back
            ended.set()
        return Done()

    monkeypatch.setattr(jobs, "HANDLERS", {"work": work})
    stop = asyncio.Event()
    async with asyncio.timeout(30):
        running = asyncio.create_task(jobs.run_jobs(harness.runtime, stop, grace=0.1))
        await enqueue(harness.runtime, "work", {})
        await begun.wait()
        stop.set()
        await running
    assert ended.is_set()
