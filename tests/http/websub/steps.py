"""The steps from a feed that names a hub to an entry that it pushed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from reedbed.services.refresh.write import OutcomeWriter
from reedbed.services.websub import read_pushes, tend_hubs
from tests.clients import session_of
from tests.crawling import Crawl
from tests.feedsite import FeedSite
from tests.hub import Hub


async def followed(site: FeedSite, hub: Hub, crawl: Crawl) -> int:
    name_hub(site, hub)
    return await crawl.follow(site.feed_url())


async def subscribed(site: FeedSite, hub: Hub, crawl: Crawl) -> int:
    """A feed with one entry, checked, and its hub's confirmation."""
    site.publish("One")
    feed_id = await followed(site, hub, crawl)
    await crawl.check()
    await tend(crawl, hub)
    assert await states(crawl) == ["active"]
    return feed_id


def name_hub(site: FeedSite, hub: Hub) -> None:
    links = f'<{hub.url}>; rel="hub", <{site.feed_url()}>; rel="self"'
    site.misbehave(headers={"Link": links})


async def tend(crawl: Crawl, hub: Hub) -> None:
    await tend_hubs(crawl.runtime)
    await hub.settle()


async def take_in(crawl: Crawl) -> None:
    async with OutcomeWriter(crawl.runtime) as writer:
        await read_pushes(crawl.runtime, writer)


async def tuples(crawl: Crawl, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await crawl.rows(sql)]


@asynccontextmanager
async def client_of(crawl: Crawl, email: str) -> AsyncIterator[httpx.AsyncClient]:
    _, token = await session_of(crawl.runtime, email, "user")
    headers = {"Authorization": f"Bearer {token}"}
    url = crawl.runtime.accounts.base_url
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        yield client


async def states(crawl: Crawl) -> list[str]:
    return await crawl.column("SELECT state FROM websub_subscriptions")


async def until(true, seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  what is waited for happens elsewhere
            await asyncio.sleep(0.02)
