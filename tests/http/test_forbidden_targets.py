"""A forbidden address at every endpoint that fetches what it is given: nothing behind the guard is reached."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from ipaddress import ip_network
from urllib.parse import urlsplit, urlunsplit

import pytest

from reedbed.domain.users import Allowance, RateLimits
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.guard import Guard
from reedbed.roles.app import create_app
from tests.clients import Client, new_client, session_of
from tests.faulty_servers import MisbehavingServer
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness, open_harness
from tests.unit.ingest.test_guard import CLOSED_ADDRESSES, CLOSED_SPELLINGS, NO_WEB_ADDRESS

PLENTY = Allowance(1_000_000, 1_000)
FEW_LIMITS = RateLimits(requests=PLENTY, search=PLENTY, refresh=PLENTY)
OUTSIDE = "127.0.0.2"
"""The only address this instance may talk to; it stands for the public web."""

TARGETS = [
    *CLOSED_SPELLINGS,
    *NO_WEB_ADDRESS,
    *(f"http://[{each}]/" if ":" in each else f"http://{each}/" for each in CLOSED_ADDRESSES if "%" not in each),
]
HOPS = 5
STATUSES = (301, 302, 303, 307, 308)


@pytest.fixture
async def harness(sqlite_url: str) -> AsyncIterator[RuntimeHarness]:
    """On one engine: no database has a say in this."""
    async with open_harness(sqlite_url) as harness:
        harness.runtime = replace(harness.runtime, limits=FEW_LIMITS)
        yield harness


@pytest.fixture
async def canary() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as server:
        yield server


@pytest.fixture
async def outside() -> AsyncIterator[FeedSite]:
    async with FeedSite(host=OUTSIDE) as site:
        yield site


@pytest.fixture
async def reader(harness: RuntimeHarness) -> AsyncIterator[Client]:
    """A reader of an instance that may reach the outside and nothing else on this machine."""
    fetcher = Fetcher(Guard([ip_network(f"{OUTSIDE}/32")]), timeout=30)
    harness.runtime = replace(harness.runtime, fetcher=fetcher)
    _, token = await session_of(harness.runtime, "reader@example.org", "user")
    headers = {"Authorization": f"Bearer {token}"}
    async with new_client(create_app(harness.runtime), headers=headers) as client:
        yield client
    await fetcher.close()


def test_there_are_enough_targets() -> None:
    assert len(set(TARGETS)) >= 150


Endpoint = Callable[[Client, str], Awaitable[object]]
ENDPOINTS: dict[str, Endpoint] = {
    "preview": lambda client, url: client.get("/api/v1/feeds/preview", params={"url": url}),
    "discover": lambda client, url: client.get("/api/v1/feeds/discover", params={"url": url}),
    "validate": lambda client, url: client.post("/api/v1/feeds/validate", json={"url": url}),
    "subscribe": lambda client, url: client.post("/api/v1/subscriptions", json={"url": url}),
    "page": lambda client, url: client.get("/add", params={"url": url}),
}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_no_spelling_of_this_machine_opens_an_endpoint(
    endpoint: str, reader: Client, canary: MisbehavingServer, harness: RuntimeHarness
) -> None:
    for target in TARGETS:
        answer = await ENDPOINTS[endpoint](reader, _at_port(target, canary.port))
        assert answer.status_code < 500, target
    await harness.check()
    assert canary.connections == 0
    assert await _feeds_with_entries(harness) == 0


async def test_no_redirect_leads_inside_at_any_hop(
    reader: Client, canary: MisbehavingServer, outside: FeedSite
) -> None:
    closed = [f"http://127.0.0.1:{canary.port}/fine", f"http://[::ffff:7f00:1]:{canary.port}/fine"]
    closed += [_at_port(target, canary.port) for target in CLOSED_SPELLINGS[:20]]
    for number, target in enumerate(closed):
        first = _chain(outside, f"r{number}", target, hops=number % HOPS + 1)
        answer = await reader.get("/api/v1/feeds/preview", params={"url": first})
        assert 400 <= answer.status_code < 500, target
    assert canary.connections == 0
    assert outside.requests


async def test_what_a_feed_names_is_not_fetched_from_inside(
    reader: Client, canary: MisbehavingServer, outside: FeedSite, harness: RuntimeHarness
) -> None:
    """Icons, pictures, whole articles and hubs that an outside feed points at this machine."""
    inside = f"http://127.0.0.1:{canary.port}/fine"
    outside.put("evil.feed", _pointing_at(inside), content_type="application/rss+xml", headers=_links(inside))
    made = await reader.post("/api/v1/subscriptions", json={"url": f"{outside.url}/evil.feed"})
    assert made.status_code == 201, made.text
    await harness.check()
    from reedbed.services.images import fetch_missing_icons

    await fetch_missing_icons(harness.runtime, limit=10)
    entries = (await reader.get("/api/v1/entries")).json()["items"]
    assert entries
    for entry in entries:
        await reader.get(f"/api/v1/entries/{entry['id']}/full")
    await asyncio.sleep(0.1)
    assert canary.connections == 0


def _at_port(target: str, port: int) -> str:
    """The same spelling, at the canary's port where it can have one."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return target
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc or parts.netloc.endswith("%2f"):
        return target
    host = parts.netloc if "]" not in parts.netloc else parts.netloc[: parts.netloc.index("]") + 1]
    if "\\" in host or (":" in host and "]" not in host and "@" not in host):
        return target
    return urlunsplit(parts._replace(netloc=f"{host}:{port}", path=parts.path or "/fine"))


def _chain(site: FeedSite, name: str, target: str, *, hops: int) -> str:
    for hop in range(hops - 1):
        following = site.feed_url(f"{name}-{hop + 1}")
        site.redirect(following, feed=f"{name}-{hop}", status=STATUSES[hop])
    site.redirect(target, feed=f"{name}-{hops - 1}", status=302)
    return site.feed_url(f"{name}-0")


def _links(inside: str) -> dict[str, str]:
    return {"Link": f'<{inside}>; rel="hub", <{inside}>; rel="self", <{inside}>; rel="icon"'}


def _pointing_at(inside: str) -> str:
    return (
        '<?xml version="1.0"?><rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel>'
        f'<title>Evil</title><link>{inside}</link><a:link rel="hub" href="{inside}"/>'
        f"<a:icon>{inside}</a:icon>"
        f"<image><url>{inside}</url></image><item><title>One</title><guid>1</guid><link>{inside}</link>"
        f"<description>&lt;img src='{inside}'&gt;</description>"
        f'<enclosure url="{inside}" type="image/png" length="1"/></item></channel></rss>'
    )


async def _feeds_with_entries(harness: RuntimeHarness) -> int:
    (count,) = await harness.column("SELECT count(DISTINCT feed_id) FROM entries")
    return count
