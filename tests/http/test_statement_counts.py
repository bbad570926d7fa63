"""However much a reader has, a page or a list costs the same number of statements."""

from typing import Any

from reedbed.http.auth import SESSION_COOKIE
from reedbed.roles.app import Application
from reedbed.store.engine.database import counting
from tests.clients import Client, SignIn, new_client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness
from tests.http.api.test_rules import HERONS
from tests.http.web.routes import page_routes

FEW, MANY = 2, 9
SPREAD = 1
"""What is looked up or noted now and then, such as a session's last use, comes or does not come."""
# A saved search is counted by a statement of its own within a time limit, and an export goes in pieces.
GROWING = {"/searches", "/api/v1/searches/counts", "/api/v1/export", "/api/v1/highlights/export.zip"}
STREAMS = {"/api/v1/events"}


async def test_more_things_cost_no_more_statements(
    app: Application, harness: RuntimeHarness, site: FeedSite, signed_in: SignIn
) -> None:
    reader = await signed_in("reader@example.org", role="owner")
    await _own(reader, harness, site, range(FEW))
    few = await _costs(app, reader)
    await _own(reader, harness, site, range(FEW, MANY))
    many = await _costs(app, reader)

    assert len(few) > 80
    assert {url: (few[url], many[url]) for url in few if many[url] > few[url] + SPREAD} == {}


async def _own(reader: Client, harness: RuntimeHarness, site: FeedSite, numbers: range) -> None:
    for n in numbers:
        site.publish(f"One {n}", feed=f"f{n}", content="<p>A heron in the reeds.</p>")
        await _make(reader, "subscriptions", url=site.feed_url(f"f{n}"))
        await _make(reader, "folders", name=f"Folder {n}")
        await _make(reader, "searches", name=f"Search {n}", query=f"heron{n}")
        await _make(reader, "tags", name=f"tag{n}")
        await _make(reader, "rules", **{**HERONS, "name": f"Rule {n}"})
        await _make(reader, "webhooks", url=f"https://example.org/{n}")
        await _make(reader, "published-feeds", name=f"View {n}")
    await harness.check()
    for entry in (await reader.get("/api/v1/entries")).json()["items"]:
        await _make(reader, "bookmarks", entry_id=entry["id"])
        await _make(reader, "highlights", entry_id=entry["id"], quote="heron")


async def _make(reader: Client, what: str, **fields: Any) -> None:
    made = await reader.post(f"/api/v1/{what}", json=fields)
    assert made.status_code < 300, f"{what}: {made.text}"


async def _costs(app: Application, reader: Client) -> dict[str, int]:
    pages = [route.path for route in page_routes() if "GET" in route.methods]
    endpoints = [path for path, methods in app.openapi()["paths"].items() if "get" in methods]
    async with new_client(app, cookies={SESSION_COOKIE: reader.token}) as browser:
        costs = {url: await _cost(browser, url) for url in _plain(pages)}
    return costs | {url: await _cost(reader, url) for url in _plain(endpoints)}


def _plain(urls: list[str]) -> list[str]:
    return [url for url in urls if "{" not in url and url not in GROWING | STREAMS]


async def _cost(client: Client, url: str) -> int:
    await client.get(url)
    with counting() as count:
        await client.get(url)
    return count.value
