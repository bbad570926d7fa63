"""The look at the instance every five minutes."""

from dataclasses import replace

import pytest

from reedbed.ai.model import MockModel
from reedbed.domain.ai import Breaker
from reedbed.domain.times import HOUR, MINUTE
from reedbed.services.instance import check
from reedbed.services.runtime import AiPolicy
from reedbed.store import ai, instance, jobs
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness


@pytest.fixture
async def harness(database_url):
    async with open_harness(database_url) as harness:
        async with harness.runtime.db.write() as tx:
            await jobs.record_heartbeat(tx, "w", role="worker", version="1", started_at=harness.runtime.now())
        yield harness


async def found(harness: RuntimeHarness) -> set[str]:
    return {one.check for one in await check(harness.runtime)}


async def warning(harness: RuntimeHarness) -> str | None:
    async with harness.runtime.db.read() as tx:
        return await instance.get_setting(tx, "health_warning")


async def test_an_instance_at_work_is_well(harness, site: FeedSite):
    site.publish("One")
    await harness.follow(site.feed_url())
    await harness.check()
    assert await found(harness) == set()
    assert await warning(harness) == ""


async def test_feeds_that_nobody_checks_are_an_alarm_that_ends_with_the_next_check(harness, site: FeedSite):
    site.publish("One")
    await harness.follow(site.feed_url())
    harness.clock.ahead += 20 * MINUTE
    (problem,) = await check(harness.runtime)
    assert (problem.check, problem.alarm) == ("fetching", True)
    assert await warning(harness) == problem.text
    await harness.check()
    assert await found(harness) == set()
    assert await warning(harness) == ""


async def test_an_instance_without_a_worker_is_an_alarm(harness):
    async with harness.runtime.db.write() as tx:
        await jobs.remove_process(tx, "w")
    assert await found(harness) == {"workers"}


async def test_checks_that_all_fail_point_to_the_network(harness, site: FeedSite):
    for number in range(25):
        await harness.follow(f"{site.url}/gone-{number}")
    await harness.check()
    assert await found(harness) == {"network"}


async def test_a_job_that_waits_for_an_hour_is_told(harness):
    await harness.change(
        "INSERT INTO jobs (kind, payload, run_at, created_at) VALUES ('mail', '{}', :at, :at)", at=harness.runtime.now()
    )
    assert await found(harness) == set()
    harness.clock.ahead += HOUR + MINUTE
    assert await found(harness) == {"jobs"}


async def test_a_breaker_that_stays_open_for_an_hour_is_told(harness):
    model = MockModel()
    harness.runtime = replace(harness.runtime, ai=AiPolicy(model=model))
    async with harness.runtime.db.write() as tx:
        await ai.lock_breakers(tx, [model.name])
        await ai.save_breaker(tx, model.name, Breaker(state="OPEN", failures=5, last_failure_at=1))
    assert await found(harness) == set()
    harness.clock.ahead += HOUR + MINUTE
    assert await found(harness) == {"breaker"}


async def test_a_database_that_no_cleanup_makes_small_enough_is_told(harness):
    async with harness.runtime.db.write() as tx:
        await instance.set_setting(tx, "db_size_warning", "too large", 1)
    assert await found(harness) == {"size"}
