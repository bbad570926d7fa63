"""A server that takes mail for one domain."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from reedbed.domain.newsletters import MailPolicy
from tests.crawling import Crawl, crawl_on
from tests.services.newsletters.letters import DOMAIN


@pytest.fixture
async def crawl(database_url: str) -> AsyncIterator[Crawl]:
    async with crawl_on(database_url) as crawl:
        crawl.runtime = replace(crawl.runtime, mail=MailPolicy(domain=DOMAIN, max_bytes=600_000))
        yield crawl
