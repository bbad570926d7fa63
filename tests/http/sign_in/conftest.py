"""A provider on loopback, and browsers at a server that knows it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from reedbed.domain.sign_in import Provider
from reedbed.domain.users import Allowance, RateLimits
from reedbed.ingest.http.requests import HttpCaller
from reedbed.ingest.oidc import OidcClient
from reedbed.roles.app import create_app
from reedbed.services.runtime import AccountPolicy, SignInPolicy
from tests.clients import Client, new_client
from tests.harness import RuntimeHarness
from tests.http.sign_in.walk import Browse
from tests.oidcprovider import OidcProvider

PLENTY = Allowance(1_000, 1_000)


@pytest.fixture
async def provider() -> AsyncIterator[OidcProvider]:
    async with OidcProvider() as provider:
        yield provider


@pytest.fixture
async def browse(harness: RuntimeHarness, provider: OidcProvider) -> AsyncIterator[Browse]:
    """A new browser at a server that knows this provider."""
    opened: list[Client] = []
    exchanger = HttpCaller([provider.url], user_agent="tests", timeout=5)
    harness.runtime = replace(
        harness.runtime,
        limits=RateLimits(PLENTY, PLENTY, PLENTY, PLENTY),
        sign_in=SignInPolicy({"oidc": provider.as_oidc()}, OidcClient(exchanger, harness.clock)),
    )

    def browse(*others: Provider, registration: str = "closed", **changes: Any) -> Client:
        known = harness.runtime.sign_in.providers | {each.key: each for each in others}
        harness.runtime = replace(
            harness.runtime,
            accounts=AccountPolicy(registration=registration),
            sign_in=replace(harness.runtime.sign_in, providers=known),
            **changes,
        )
        opened.append(new_client(create_app(harness.runtime)))
        return opened[-1]

    yield browse
    for client in opened:
        await client.aclose()
    await exchanger.close()
