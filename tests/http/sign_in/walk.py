"""The steps of somebody who logs in with an account elsewhere."""

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

from reedbed.domain.users import User
from reedbed.services.security import hash_password
from reedbed.store import users
from tests.clients import Client
from tests.harness import RuntimeHarness
from tests.oidcprovider import OidcProvider

PASSWORD = "seven herons in the reeds"
Browse = Callable[..., Client]


async def new_person(harness: RuntimeHarness, email: str = "reader@example.org") -> User:
    hashed = await hash_password(PASSWORD)
    async with harness.runtime.db.write() as tx:
        return await users.add(tx, email=email, password_hash=hashed, role="user", now=1, verified=True)


async def log_in(browser: Client, email: str = "reader@example.org") -> None:
    page = await browser.get("/login")
    token = hidden_fields(page.text)["csrf_token"]
    answer = await browser.post("/login", data={"email": email, "password": PASSWORD, "csrf_token": token})
    assert answer.status_code == 303


async def go(browser: Client, provider: OidcProvider, endpoint: str = "/login/with/oidc") -> Any:
    """To the provider and back, as somebody who says yes."""
    begun = await browser.get(endpoint)
    assert begun.status_code == 303, begun.text
    return await come_back(browser, provider.approve(begun.headers["location"]))


async def come_back(browser: Client, url: str) -> Any:
    """Our callback leads on to a page."""
    on = await browser.get(_path(url))
    return await browser.get(on.headers["location"])


async def link_account(browser: Client, provider: OidcProvider) -> None:
    back = await go(browser, provider)
    page = await browser.get(back.headers["location"])
    assert (await send(browser, page.text, password=PASSWORD)).status_code == 303


async def send(browser: Client, page: str, **typed: str) -> Any:
    act = "register" if 'value="register"' in page else "link"
    return await browser.post("/login/finish", data={**hidden_fields(page), "act": act, **typed})


def moments(harness: RuntimeHarness) -> dict[str, int]:
    now = harness.runtime.now() // 1000
    return {"iat": now, "exp": now + 300}


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


class _Hidden(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input" and given.get("type") == "hidden":
            self.fields.setdefault(str(given["name"]), given.get("value") or "")


def hidden_fields(page: str) -> dict[str, str]:
    reader = _Hidden()
    reader.feed(page)
    return reader.fields
