"""A reader in front of the page.

| fixture | what a test gets |
|---|---|
| `reader` | a client with a session cookie whose changes come from our own page |
| `reading` | the same, following a feed that holds three entries |
"""

import pytest

from tests.clients import Client, SignIn
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.web.forms import OWN_PAGE


@pytest.fixture
async def reader(by_cookie: SignIn) -> Client:
    client = await by_cookie("reader@example.org")
    client.headers.update(OWN_PAGE)
    return client


@pytest.fixture
async def reading(reader: Client, site: FeedSite, harness: RuntimeHarness) -> Client:
    site.feed(title="The Marrowby Courier")
    for number in (1, 2, 3):
        site.publish(f"Herons {number}", key=str(number), content=f"<p>Grey birds in the reeds, {number}.</p>")
    await harness.follow(site.feed_url(), user_id=reader.user_id)
    await harness.check()
    return reader
