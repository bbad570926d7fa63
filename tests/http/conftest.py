"""The whole application in process, on both engines.

| fixture | what a test gets |
|---|---|
| `harness` | the runtime with a clock that moves, a bus that remembers, feeds on demand |
| `runtime` | what the services take |
| `app`, `client` | the application, and a stranger's `httpx.AsyncClient` on it |
| `signed_in` | `await signed_in("a@example.org")`: a client whose bearer token is this user's (made if new) |
| `by_cookie` | the same with the session cookie, as a browser has it, without a form token |
| `reader` | one client from `signed_in`, where one is enough |
| `desk` | entries for that reader, and what a model or the built-in extract writes about them |

Clients from `signed_in` and `by_cookie` carry the user's id as `client.user_id`.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from reedbed.api.reader_apps.common import EtagCache
from reedbed.domain.users import Allowance, RateLimits
from reedbed.http.auth import SESSION_COOKIE
from reedbed.roles.app import Application, create_app
from reedbed.services.runtime import CallerCache, Runtime
from tests.answers import compared_with_documentation
from tests.clients import Client, SignIn, new_client, session_of
from tests.harness import RuntimeHarness, open_harness
from tests.services.writing import Desk, new_desk

PLENTY = Allowance(1_000_000, 1_000)
# Tests of one feature should not meet the limits of another; the limits have tests of their own.
FEW_LIMITS = RateLimits(requests=PLENTY, search=PLENTY, refresh=PLENTY)


@pytest.fixture
async def harness(database_url: str) -> AsyncIterator[RuntimeHarness]:
    async with open_harness(database_url) as harness:
        # Who called once stays known: where statements are counted, a busy machine must not add one.
        known = CallerCache(lambda: 0.0)
        harness.runtime = replace(harness.runtime, limits=FEW_LIMITS, callers=known)
        yield harness


@pytest.fixture(autouse=True)
def documented_answers() -> Iterator[None]:
    with compared_with_documentation():
        yield


@pytest.fixture
def runtime(harness: RuntimeHarness) -> Runtime:
    return harness.runtime


_halves: dict[str, Any] = {}


@pytest.fixture
def app(runtime: Runtime) -> Application:
    """Its routes are imported once; each test gets a runtime of its own."""
    app = create_app(runtime)
    if not _halves:
        _halves.update(state=app.state, page_routes=app.page_routes, program_routes=app.program_routes)
    vars(app).update(_halves)
    app.state.runtime = runtime
    app.state.reader_etags = EtagCache()
    app.state.include_programs = app.program_routes.include_all
    return app


@pytest.fixture
async def client(app: Application) -> AsyncIterator[Client]:
    async with new_client(app) as client:
        yield client


@pytest.fixture
async def signed_in(app: Application, runtime: Runtime) -> AsyncIterator[SignIn]:
    async with AsyncExitStack() as clients:

        async def sign_in(email: str = "reader@example.org", *, role: str = "user") -> Client:
            user_id, token = await session_of(runtime, email, role)
            client = await clients.enter_async_context(new_client(app, headers={"Authorization": f"Bearer {token}"}))
            client.user_id, client.token = user_id, token
            return client

        yield sign_in


@pytest.fixture
async def by_cookie(app: Application, runtime: Runtime) -> AsyncIterator[SignIn]:
    async with AsyncExitStack() as clients:

        async def sign_in(email: str = "reader@example.org", *, role: str = "user") -> Client:
            user_id, token = await session_of(runtime, email, role)
            client = await clients.enter_async_context(new_client(app, cookies={SESSION_COOKIE: token}))
            client.user_id, client.token = user_id, token
            return client

        yield sign_in


@pytest.fixture
async def reader(signed_in: SignIn) -> Client:
    return await signed_in("reader@example.org")


@pytest.fixture
async def desk(reader: Client, harness: RuntimeHarness) -> Desk:
    return await new_desk(harness, reader.user_id)
