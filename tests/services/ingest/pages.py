"""A site of a few fixed pages."""

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from aiohttp import web

RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>Reeds</title><link>https://example.org/</link>
<description>d</description><item><title>One</title><guid>1</guid></item></channel></rss>"""
ATOM = b"""<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Marsh</title><id>urn:x</id>
<updated>2026-01-01T00:00:00Z</updated><entry><title>One</title><id>urn:1</id></entry></feed>"""
JSON_FEED = b'{"version":"https://jsonfeed.org/version/1.1","title":"Pond","items":[{"id":"1","content_text":"x"}]}'


@dataclass
class Pages:
    pages: dict[str, bytes | tuple[int, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        page = self.pages.get(request.path_qs, (404, b"<html>Nothing here</html>"))
        status, body = page if isinstance(page, tuple) else (200, page)
        return web.Response(status=status, body=body, content_type="text/html")
