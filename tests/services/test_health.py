"""The look at the instance every five minutes."""

from dataclasses import replace

import pytest

from reedbed.ai.model import MockModel
from reedbed.domain.ai import Breaker
from reedbed.domain.times import HOUR, MINUTE
from reedbed.services.instance import check
from reedbed.services.runtime import AiPolicy
from reedbed.store import ai, instance, jobs
from tests.crawling import Crawl, crawl_on
from tests.feedsite import FeedSite


@pytest.fixture
async def crawl(database_url):
    async with crawl_on(database_url) as crawl:
        async with crawl.runtime.db.write() as tx:
            await jobs.beat_process(tx, "w", role="worker", version="1", started_at=crawl.runtime.now())
        yield crawl


async def found(crawl: Crawl) -> set[str]:
    return {one.check for one in await check(crawl.runtime)}


async def warning(crawl: Crawl) -> str | None:
    async with crawl.runtime.db.read() as tx:
        return await instance.get_setting(tx, "health_warning")


async def test_an_instance_at_work_is_well(crawl, site: FeedSite):
    site.publish("One")
    await crawl.follow(site.feed_url())
    await crawl.check()
    assert await found(crawl) == set()
    assert await warning(crawl) == ""


async def test_feeds_that_nobody_checks_are_an_alarm_that_ends_with_the_next_check(crawl, site: FeedSite):
    site.publish("One")
    await crawl.follow(site.feed_url())
    crawl.clock.ahead += 20 * MINUTE
    (problem,) = await check(crawl.runtime)
    assert (problem.check, problem.alarm) == ("fetching", True)
    assert await warning(crawl) == problem.text
    await crawl.check()
    assert await found(crawl) == set()
    assert await warning(crawl) == ""


async def test_an_instance_without_a_worker_is_an_alarm(crawl):
    async with crawl.runtime.db.write() as tx:
        await jobs.remove_process(tx, "w")
    assert await found(crawl) == {"workers"}


async def test_checks_that_all_fail_point_to_the_network(crawl, site: FeedSite):
    for number in range(25):
        await crawl.follow(f"{site.url}/gone-{number}")
    await crawl.check()
    assert await found(crawl) == {"network"}


async def test_a_job_that_waits_for_an_hour_is_told(crawl):
    await crawl.change(
        "INSERT INTO jobs (kind, payload, run_at, created_at) VALUES ('mail', '{}', :at, :at)",
        at=crawl.runtime.now(),
    )
    assert await found(crawl) == set()
    crawl.clock.ahead += HOUR + MINUTE
    assert await found(crawl) == {"jobs"}


async def test_a_breaker_that_stays_open_for_an_hour_is_told(crawl):
    model = MockModel()
    crawl.runtime = replace(crawl.runtime, ai=AiPolicy(model=model))
    async with crawl.runtime.db.write() as tx:
        await ai.lock_breakers(tx, [model.name])
        await ai.save_breaker(tx, model.name, Breaker(state="OPEN", failures=5, last_failure_at=1))
    assert await found(crawl) == set()
    crawl.clock.ahead += HOUR + MINUTE
    assert await found(crawl) == {"breaker"}


async def test_a_database_that_no_cleanup_makes_small_enough_is_told(crawl):
    async with crawl.runtime.db.write() as tx:
        await instance.set_setting(tx, "db_size_warning", "too large", 1)
    assert await found(crawl) == {"size"}
