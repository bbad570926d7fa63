"""The steps from a feed that names a hub to an entry that it pushed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.websub import read_pushes, renew_hub_subscriptions
from tests.clients import session_of
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.hub import Hub


async def followed(site: FeedSite, hub: Hub, harness: RuntimeHarness) -> int:
    name_hub(site, hub)
    return await harness.follow(site.feed_url())


async def subscribed(site: FeedSite, hub: Hub, harness: RuntimeHarness) -> int:
    """A feed with one entry, checked, and its hub's confirmation."""
    site.publish("One")
    feed_id = await followed(site, hub, harness)
    await harness.check()
    await tend(harness, hub)
    assert await states(harness) == ["active"]
    return feed_id


def name_hub(site: FeedSite, hub: Hub) -> None:
    links = f'<{hub.url}>; rel="hub", <{site.feed_url()}>; rel="self"'
    site.misbehave(headers={"Link": links})


async def tend(harness: RuntimeHarness, hub: Hub) -> None:
    await renew_hub_subscriptions(harness.runtime)
    await hub.settle()


async def take_in(harness: RuntimeHarness) -> None:
    async with OutcomeWriter(harness.runtime) as writer:
        await read_pushes(harness.runtime, writer)


async def tuples(harness: RuntimeHarness, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await harness.rows(sql)]


@asynccontextmanager
async def client_of(harness: RuntimeHarness, email: str) -> AsyncIterator[httpx.AsyncClient]:
    _, token = await session_of(harness.runtime, email, "user")
    headers = {"Authorization": f"Bearer {token}"}
    url = harness.runtime.accounts.base_url
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        yield client


async def states(harness: RuntimeHarness) -> list[str]:
    return await harness.column("SELECT state FROM websub_subscriptions")


async def until(true, seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  what is waited for happens elsewhere
            await asyncio.sleep(0.02)
