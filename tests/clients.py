"""Clients of the application in process, for tests of pages and API."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from reedbed.roles.app import Application
from reedbed.services.auth import open_session
from reedbed.services.runtime import Runtime
from reedbed.store import users

BASE_URL = "http://127.0.0.1:8080"


class Client(httpx.AsyncClient):
    user_id: int
    token: str


SignIn = Callable[..., Awaitable[Client]]


def new_client(app: Application, **options: Any) -> Client:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return Client(transport=transport, base_url=BASE_URL, **options)


async def session_of(runtime: Runtime, email: str, role: str) -> tuple[int, str]:
    async with runtime.db.write() as tx:
        found = await users.get_by_email(tx, email)
        user = (
            found[0]
            if found
            else await users.add(tx, email=email, password_hash=None, role=role, now=runtime.now(), verified=True)
        )
    session = await open_session(runtime, user, user_agent="Tests", ip="127.0.0.1")
    return user.id, session.token
