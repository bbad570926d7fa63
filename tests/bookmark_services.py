"""Wallabag, Readeck, Linkding and Karakeep on loopback: as strict about logins and forms as the real ones.

async with LinkKeepers() as keepers:
    ...                                   # let the program share to keepers.url("linkding")
    assert keepers.kept["linkding"] == [...]
"""

from typing import Any, Self

from aiohttp import web

from tests.serving import close

TOKEN = "let-me-in"
WALLABAG = {"client_id": "1_abc", "client_secret": "shh", "username": "reader", "password": "heron & reed"}
_ACCESS = "wallabag-access"


class LinkKeepers:
    def __init__(self) -> None:
        self.kept: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("wallabag", "readeck", "linkding", "karakeep")
        }
        self.status: int | None = None
        """Answer everything with this instead."""
        self.logins = 0
        self.port = 0

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._maybe_out_of_order])
        app.router.add_post("/wallabag/oauth/v2/token", self._wallabag_login)
        app.router.add_post("/wallabag/api/entries.json", self._wallabag)
        app.router.add_post("/readeck/api/bookmarks", self._readeck)
        app.router.add_post("/linkding/api/bookmarks/", self._linkding)
        app.router.add_post("/karakeep/api/v1/bookmarks", self._karakeep)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await close(self._runner)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    @web.middleware
    async def _maybe_out_of_order(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.status is not None:
            return web.Response(status=self.status)
        return await handler(request)

    async def _wallabag_login(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        if form != {"grant_type": "password", **WALLABAG}:
            return web.json_response({"error": "invalid_grant"}, status=400)
        self.logins += 1
        return web.json_response({"access_token": _ACCESS, "expires_in": 3600, "token_type": "bearer"})

    async def _wallabag(self, request: web.Request) -> web.Response:
        return await self._keep(request, "wallabag", f"Bearer {_ACCESS}", {"url", "title", "tags"}, 200)

    async def _readeck(self, request: web.Request) -> web.Response:
        return await self._keep(request, "readeck", f"Bearer {TOKEN}", {"url", "title", "labels"}, 202)

    async def _linkding(self, request: web.Request) -> web.Response:
        return await self._keep(request, "linkding", f"Token {TOKEN}", {"url", "title", "tag_names"}, 201)

    async def _karakeep(self, request: web.Request) -> web.Response:
        return await self._keep(request, "karakeep", f"Bearer {TOKEN}", {"type", "url", "title"}, 201)

    async def _keep(self, request: web.Request, name: str, login: str, fields: set[str], status: int) -> web.Response:
        if request.headers.get("Authorization") != login:
            return web.json_response({"detail": "Invalid token."}, status=401)
        if request.content_type != "application/json":
            return web.json_response({"detail": "Unsupported media type."}, status=415)
        said = await request.json()
        if not set(said) <= fields or not said.get("url"):
            return web.json_response({"detail": "Unknown fields."}, status=400)
        self.kept[name].append(said)
        return web.json_response({"id": len(self.kept[name])}, status=status)
