"""Jobs are leased, tried again after a crash or a fault, and give up in plain words."""

import asyncio
from dataclasses import replace

import orjson
import pytest

from reedbed.domain.errors import Invalid, Unavailable
from reedbed.domain.failures import Failure
from reedbed.domain.times import HOUR, SECOND
from reedbed.services import jobs
from reedbed.services.jobs import Done, Later
from reedbed.services.runtime import Runtime
from reedbed.store.jobs import Job
from tests.harness import RuntimeHarness


async def test_a_job_is_claimed_once_and_again_when_its_worker_dies(harness: RuntimeHarness) -> None:
    await jobs.enqueue(harness.runtime, "work", {"n": 1})
    other = replace(harness.runtime, name="that worker")

    first = await jobs.claim(harness.runtime, ["work"])
    assert first is not None and (first.payload, first.attempts) == ({"n": 1}, 1)
    assert await jobs.claim(other, ["work"]) is None

    harness.clock.ahead += HOUR
    again = await jobs.claim(other, ["work"])
    assert again is not None and (again.id, again.attempts) == (first.id, 2)


async def test_other_kinds_are_left_alone(harness: RuntimeHarness) -> None:
    await jobs.enqueue(harness.runtime, "work", {})
    assert await jobs.claim(harness.runtime, ["play"]) is None


async def test_what_is_done_is_reported_and_what_is_put_off_comes_again(harness: RuntimeHarness) -> None:
    async def handler(runtime: Runtime, job: Job) -> Done | Later:
        await jobs.report_job_progress(runtime, job, len(seen), 2)
        seen.append(job.attempts)
        return Done({"rounds": len(seen)}) if len(seen) == 2 else Later(runtime.now() + HOUR)

    seen: list[int] = []
    person = await harness.person()
    await jobs.enqueue(harness.runtime, "work", {}, user_id=person)
    await _run_next(harness, handler)
    assert await jobs.claim(harness.runtime, ["work"]) is None
    harness.clock.ahead += HOUR
    await _run_next(harness, handler)

    assert seen == [1, 1]
    assert [tuple(row) for row in await harness.rows("SELECT state, report FROM jobs")] == [("done", '{"rounds":2}')]
    assert [hint.data["done"] for hint in harness.heard("progress")] == [0, 1]


async def test_a_fault_is_tried_again_a_refusal_is_not(harness: RuntimeHarness) -> None:
    async def faulty(runtime: Runtime, job: Job) -> Done | Later:
        raise RuntimeError("a bug")

    async def refusing(runtime: Runtime, job: Job) -> Done | Later:
        raise Invalid("This file is no OPML.")

    await jobs.enqueue(harness.runtime, "work", {})
    await _run_next(harness, faulty)
    assert await harness.column("SELECT state FROM jobs") == ["pending"]
    harness.clock.ahead += HOUR
    await _run_next(harness, refusing)
    rows = await harness.rows("SELECT state, report FROM jobs")
    ((state, report),) = rows
    assert state == "failed"
    assert Failure.load(orjson.loads(report)["error"]).message == "This file is no OPML."


async def test_a_job_that_met_a_busy_database_runs_again_soon_and_as_its_first_try(harness: RuntimeHarness) -> None:
    async def meeting_trouble(runtime: Runtime, job: Job) -> Done | Later:
        raise Unavailable("PostgreSQL does not answer.")

    await jobs.enqueue(harness.runtime, "work", {})
    with pytest.raises(Unavailable):
        await _run_next(harness, meeting_trouble)
    harness.clock.ahead += 5 * SECOND
    again = await jobs.claim(harness.runtime, ["work"])
    assert again is not None and again.attempts == 1


async def test_a_job_broken_off_by_a_stop_is_given_back_at_once(harness: RuntimeHarness) -> None:
    started = asyncio.Event()

    async def endless(runtime: Runtime, job: Job) -> Done | Later:
        started.set()
        await asyncio.Event().wait()
        return Done()

    await jobs.enqueue(harness.runtime, "work", {})
    running = asyncio.create_task(_run_next(harness, endless))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    harness.clock.ahead += 5 * SECOND
    again = await jobs.claim(harness.runtime, ["work"])
    assert again is not None and again.attempts == 1


async def test_a_job_that_kills_whoever_runs_it_is_given_up(harness: RuntimeHarness) -> None:
    async def unharmed(runtime: Runtime, job: Job) -> Done | Later:
        return Done()

    await jobs.enqueue(harness.runtime, "work", {})
    for _ in range(jobs.MAX_DEATHS):
        assert await jobs.claim(harness.runtime, ["work"]) is not None
        harness.clock.ahead += HOUR
    await _run_next(harness, unharmed)
    assert await harness.column("SELECT state FROM jobs") == ["failed"]


async def _run_next(harness: RuntimeHarness, handler: jobs.Handler) -> None:
    job = await jobs.claim(harness.runtime, ["work"])
    assert job is not None
    await jobs.run(harness.runtime, job, handler)
