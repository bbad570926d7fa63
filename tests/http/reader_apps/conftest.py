"""A reader with two folders of feeds, an app password, and apps that speak as the real ones do.

| fixture | what a test gets |
|---|---|
| `account` | the reader's world: feeds `news` and `tech`, in folders of the same names, three and two entries |
| `app_client` | a client of nobody, as an app before it has logged in |
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from reedbed.roles.app import Application
from tests.clients import SignIn, new_client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.reader_apps.account import AppAccount, new_shelf


@pytest.fixture
async def account(
    app: Application, harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> AsyncIterator[AppAccount]:
    async with AsyncExitStack() as stack:
        stranger = await stack.enter_async_context(new_client(app))
        yield await new_shelf(stranger, await signed_in("reader@example.org"), harness, site)
