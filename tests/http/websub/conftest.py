"""A hub on loopback, and a server that it can call."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from reedbed.roles.app import create_app
from reedbed.services.runtime import AccountPolicy, HubPolicy
from tests.crawling import Crawl
from tests.hub import Hub
from tests.serving import listener, served, url_of


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    async with Hub() as hub:
        yield hub


@pytest.fixture
async def pushed(crawl: Crawl) -> AsyncIterator[Crawl]:
    """The crawl of a server that hubs can call."""
    bound = listener()
    crawl.runtime = replace(
        crawl.runtime, hubs=HubPolicy(off=None), accounts=AccountPolicy(base_url=url_of(bound))
    )
    async with served(create_app(crawl.runtime), bound):
        yield crawl
