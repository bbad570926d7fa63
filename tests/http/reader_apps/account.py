"""A reader's world for apps: what is followed, the page beside it, and ways to log in."""

from dataclasses import dataclass, field
from hashlib import md5
from typing import Any

import httpx

from reedbed.domain.users import Caller
from reedbed.services.auth import create_app_password
from reedbed.store import users
from tests.clients import Client
from tests.feedsite import FeedSite
from tests.harness import RuntimeHarness

EMAIL = "reader@example.org"
API = "/api/greader.php/reader/api/0"
READ = "user/-/state/com.google/read"
STARRED = "user/-/state/com.google/starred"
KEPT_UNREAD = "user/-/state/com.google/kept-unread"
READING_LIST = "user/-/state/com.google/reading-list"
LONG = "tag:google.com,2005:reader/item/"


@dataclass
class AppAccount:
    app: Client
    """What the app speaks through."""
    page: Client
    """The same reader at the page's API."""
    harness: RuntimeHarness
    site: FeedSite
    password: str
    password_id: int
    feeds: dict[str, int] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)

    @property
    def fever_key(self) -> str:
        return md5(f"{EMAIL}:{self.password}".encode()).hexdigest()

    async def log_in(self, base: str = "/api/greader.php") -> dict[str, str]:
        """The header of all later calls."""
        answer = await self.app.post(f"{base}/accounts/ClientLogin", data={"Email": EMAIL, "Passwd": self.password})
        assert answer.status_code == 200, answer.text
        lines = dict(line.split("=", 1) for line in answer.text.split("\n"))
        return {"Authorization": f"GoogleLogin auth={lines['Auth']}"}

    async def open_app(self, base: str = API) -> "App":
        return App(self.app, await self.log_in(), base)

    async def fever(self, asked: str = "", **body: Any) -> dict[str, Any]:
        answer = await self.app.post(f"/fever/?api&{asked}", data={"api_key": self.fever_key, **body})
        assert answer.status_code == 200
        return answer.json()

    async def publish(self, title: str, *, feed: str = "news", **more: Any) -> int:
        """A new entry, crawled; its id."""
        self.site.publish(title, feed=feed, **more)
        self.harness.clock.ahead += 2_000
        await self.harness.check_anyway(self.feeds[feed])
        return await self.id_of(title)

    async def id_of(self, title: str) -> int:
        return (await self.harness.column("SELECT id FROM entries WHERE title = :title", title=title))[0]

    async def fetched_at(self, entry_id: int) -> int:
        return (await self.harness.column("SELECT fetched_at FROM entries WHERE id = :id", id=entry_id))[0]

    async def unread_titles(self) -> set[str]:
        """As the page shows them."""
        items = (await self.page.get("/api/v1/entries", params={"view": "unread"})).json()["items"]
        return {item["title"] for item in items}

    async def state_of(self, entry_id: int) -> dict[str, Any]:
        return (await self.page.get(f"/api/v1/entries/{entry_id}")).json()


@dataclass
class App:
    """An app that has logged in to Google Reader."""

    client: httpx.AsyncClient
    headers: dict[str, str]
    base: str = API

    async def get(self, path: str, **params: Any) -> httpx.Response:
        return await self.client.get(f"{self.base}/{path}", params={"output": "json", **params}, headers=self.headers)

    async def read(self, path: str, **params: Any) -> Any:
        answer = await self.get(path, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, **body: Any) -> httpx.Response:
        return await self.client.post(f"{self.base}/{path}", data=body, headers=self.headers)

    async def ids(self, **params: Any) -> list[int]:
        answer = await self.read("stream/items/ids", **{"s": READING_LIST, "n": 10_000, **params})
        return [int(ref["id"]) for ref in answer["itemRefs"]]


async def new_shelf(stranger: Client, page: Client, harness: RuntimeHarness, site: FeedSite) -> AppAccount:
    async with harness.runtime.db.read() as tx:
        user = await users.get(tx, page.user_id)
    assert user is not None
    made = await create_app_password(harness.runtime, Caller(user), "A phone")
    account = AppAccount(stranger, page, harness, site, made.secret, made.token.id)
    for name, titles in {"news": ("One", "Two", "Three"), "tech": ("Four", "Five")}.items():
        for title in titles:
            site.publish(title, feed=name)
        folder = (await page.post("/api/v1/folders", json={"name": name.capitalize()})).json()
        followed = await page.post(
            "/api/v1/subscriptions", json={"url": site.feed_url(name), "folder_id": folder["id"]}
        )
        account.feeds[name], account.folders[name] = int(followed.json()["feed_id"]), folder["id"]
        await harness.check()
        harness.clock.ahead += 2_000
    return account
