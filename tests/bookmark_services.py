"""Services that keep links or show messages, on loopback: as strict about logins and forms as the real ones.

async with LinkKeepers() as keepers:
    ...                                   # let the program share to keepers.url("linkding")
    assert keepers.kept["linkding"] == [...]
"""

import hmac
from base64 import b64encode, urlsafe_b64decode
from typing import Any, Self

import orjson
from aiohttp import web

from tests.serving import close

TOKEN = "let-me-in"
WALLABAG = {"client_id": "1_abc", "client_secret": "shh", "username": "reader", "password": "heron & reed"}
_ACCESS = "wallabag-access"
_SHIORI_ACCESS = "shiori-session"
BOT = "123456:AAH-bot_token"
ROOM = "!reeds:example.org"

FIELDS: dict[str, dict[str, str]] = {
    "wallabag": WALLABAG,
    "readeck": {"token": TOKEN},
    "linkding": {"token": TOKEN},
    "karakeep": {"token": TOKEN},
    "linkwarden": {"token": TOKEN, "collection": "7"},
    "linkace": {"token": TOKEN},
    "shaarli": {"token": TOKEN},
    "shiori": {"username": "reader", "password": "heron & reed"},
    "raindrop": {"token": TOKEN, "collection": "7"},
    "pinboard": {"token": "reader:ABCDEF"},
    "instapaper": {"username": "reader@example.org", "password": "heron & reed"},
    "readwise": {"token": TOKEN},
    "notion": {"token": TOKEN, "page": "0123456789abcdef"},
    "ntfy": {"topic": "reeds", "token": TOKEN},
    "gotify": {"token": TOKEN},
    "pushover": {"token": TOKEN, "user": "u123"},
    "apprise": {"key": "home"},
    "telegram": {"token": BOT, "chat": "-1001", "thread": "5"},
    "matrix": {"token": TOKEN, "room": ROOM},
    "discord": {"webhook": "/api/webhooks/1/secret-part"},
    "slack": {"webhook": "/services/T/B/secret-part"},
    "mattermost": {"webhook": "/hooks/secret-part"},
    "template": {
        "method": "PUT",
        "webhook": "/save?u={url}",
        "headers": "X-Key: let-me-in\nX-Title: {title}",
        "body": '{"address": "{url}", "words": "{title}", "labels": "{tags}"}',
    },
}
"""What each asks for; a webhook is a path below `url(kind)`."""


class LinkKeepers:
    def __init__(self) -> None:
        self.kept: dict[str, list[Any]] = {name: [] for name in FIELDS}
        """The bodies that were taken; queries and headers where those carry the link."""
        self.status: int | None = None
        """Answer everything with this instead."""
        self.headers: dict[str, str] = {}
        self.text = ""
        self.logins = 0
        self.port = 0

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._maybe_out_of_order])
        app.router.add_route("*", "/{service}/{path:.*}", self._answer)
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

    def fields(self, name: str) -> dict[str, str]:
        fields = FIELDS[name]
        return fields if "webhook" not in fields else {**fields, "webhook": self.url(name) + fields["webhook"]}

    @web.middleware
    async def _maybe_out_of_order(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.status is not None:
            return web.Response(status=self.status, headers=self.headers, text=self.text)
        return await handler(request)

    async def _answer(self, request: web.Request) -> web.Response:
        handler = getattr(self, f"_{request.match_info['service']}", None)
        if handler is None:
            return web.Response(status=404)
        return await handler(request, f"{request.method} /{request.match_info['path']}")

    def _keep(self, name: str, what: Any, status: int = 200, **more: Any) -> web.Response:
        self.kept[name].append(what)
        return web.json_response({"id": len(self.kept[name]), **more}, status=status)

    async def _json(self, request: web.Request, required: set[str], optional: set[str]) -> dict[str, Any]:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        body = await request.json()
        if not required <= set(body) <= required | optional:
            raise web.HTTPBadRequest(text=f"fields: {sorted(body)}")
        return body

    async def _with_bearer(
        self, request: web.Request, name: str, optional: set[str], status: int, *, login: str = f"Bearer {TOKEN}"
    ) -> web.Response:
        if request.headers.get("Authorization") != login:
            return web.json_response({"detail": "Invalid token."}, status=401)
        required = {"link", "title"} if name == "raindrop" else {"url"}
        return self._keep(name, await self._json(request, required, optional), status)

    async def _wallabag(self, request: web.Request, what: str) -> web.Response:
        if what == "POST /oauth/v2/token":
            if dict(await request.post()) != {"grant_type": "password", **WALLABAG}:
                return web.json_response({"error": "invalid_grant"}, status=400)
            self.logins += 1
            return web.json_response({"access_token": _ACCESS, "expires_in": 3600, "token_type": "bearer"})
        assert what == "POST /api/entries.json", what
        return await self._with_bearer(request, "wallabag", {"title", "tags"}, 200, login=f"Bearer {_ACCESS}")

    async def _readeck(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /api/bookmarks", what
        return await self._with_bearer(request, "readeck", {"title", "labels"}, 202)

    async def _linkding(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /api/bookmarks/", what
        return await self._with_bearer(request, "linkding", {"title", "tag_names"}, 201, login=f"Token {TOKEN}")

    async def _karakeep(self, request: web.Request, what: str) -> web.Response:
        if what == "POST /api/v1/bookmarks":
            return await self._with_bearer(request, "karakeep", {"type", "title"}, 201)
        assert what == f"POST /api/v1/bookmarks/{len(self.kept['karakeep'])}/tags", what
        body = await self._json(request, {"tags"}, set())
        assert all(set(tag) == {"tagName"} for tag in body["tags"])
        self.kept["karakeep"][-1] |= body
        return web.json_response({"attached": []})

    async def _linkwarden(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /api/v1/links", what
        return await self._with_bearer(request, "linkwarden", {"name", "tags", "collection"}, 200)

    async def _linkace(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /api/v2/links", what
        return await self._with_bearer(request, "linkace", {"title", "tags"}, 200)

    async def _shaarli(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /api/v1/links", what
        token = request.headers["Authorization"].removeprefix("Bearer ")
        signed, _, signature = token.rpartition(".")
        made = hmac.digest(TOKEN.encode(), signed.encode(), "sha512")
        head, claims = (orjson.loads(urlsafe_b64decode(part + "==")) for part in signed.split("."))
        if urlsafe_b64decode(signature + "==") != made or head["alg"] != "HS512" or set(claims) != {"iat"}:
            return web.json_response({"message": "Not authorized: Invalid JWT signature"}, status=401)
        return self._keep("shaarli", await self._json(request, {"url", "title"}, {"tags"}), 201)

    async def _shiori(self, request: web.Request, what: str) -> web.Response:
        if what == "POST /api/v1/auth/login":
            body = await self._json(request, {"username", "password", "remember_me"}, set())
            if body["password"] != FIELDS["shiori"]["password"]:
                return web.json_response({"ok": False, "message": "username or password do not match"}, status=400)
            return web.json_response({"ok": True, "message": {"token": _SHIORI_ACCESS}})
        assert what == "POST /api/bookmarks", what
        return await self._with_bearer(request, "shiori", {"title", "tags"}, 200, login=f"Bearer {_SHIORI_ACCESS}")

    async def _raindrop(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /rest/v1/raindrop", what
        return await self._with_bearer(request, "raindrop", {"tags", "collection"}, 200)

    async def _pinboard(self, request: web.Request, what: str) -> web.Response:
        query = dict(request.query)
        if query.pop("auth_token") != "reader:ABCDEF":
            return web.Response(status=401, text="401 Forbidden")
        if what == "GET /v1/posts/get":
            known = [post for post in self.kept["pinboard"] if post["url"] == query["url"]]
            return web.json_response({"posts": known})
        assert what == "GET /v1/posts/add", what
        return self._keep("pinboard", query, result_code="done")

    async def _instapaper(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /api/add", what
        login = b64encode(b"reader@example.org:heron & reed").decode()
        if request.headers.get("Authorization") != f"Basic {login}":
            return web.Response(status=403, text="403")
        return self._keep("instapaper", dict(await request.post()), 201)

    async def _readwise(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /api/v3/save/", what
        return await self._with_bearer(request, "readwise", {"title", "tags"}, 201, login=f"Token {TOKEN}")

    async def _notion(self, request: web.Request, what: str) -> web.Response:
        assert what == "PATCH /v1/blocks/0123456789abcdef/children", what
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" or "Notion-Version" not in request.headers:
            return web.json_response({"code": "unauthorized", "message": "API token is invalid."}, status=401)
        (block,) = (await self._json(request, {"children"}, set()))["children"]
        assert (block["object"], block["type"]) == ("block", "bookmark")
        return self._keep("notion", block["bookmark"])

    async def _ntfy(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /", what
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.json_response({"code": 40301, "error": "forbidden"}, status=403)
        return self._keep("ntfy", await self._json(request, {"topic"}, {"title", "message", "click"}))

    async def _gotify(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /message", what
        if request.headers.get("X-Gotify-Key") != TOKEN:
            return web.json_response({"error": "Unauthorized", "errorCode": 401}, status=401)
        return self._keep("gotify", await self._json(request, {"message"}, {"title", "priority", "extras"}))

    async def _pushover(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /1/messages.json", what
        body = await self._json(request, {"token", "user", "message"}, {"title", "url"})
        if len(body["title"]) > 250 or len(body["message"]) > 1_024:
            return web.json_response({"errors": ["message is too long"], "status": 0}, status=400)
        if (body.pop("token"), body.pop("user")) != (TOKEN, "u123"):
            return web.json_response({"errors": ["application token is invalid"], "status": 0}, status=400)
        return self._keep("pushover", body)

    async def _apprise(self, request: web.Request, what: str) -> web.Response:
        assert what == "POST /notify/home", what
        return self._keep("apprise", await self._json(request, {"body"}, {"title"}))

    async def _telegram(self, request: web.Request, what: str) -> web.Response:
        if what != f"POST /bot{BOT}/sendMessage":
            return web.json_response({"ok": False, "error_code": 401, "description": "Unauthorized"}, status=401)
        return self._keep("telegram", await self._json(request, {"chat_id", "text"}, {"message_thread_id"}))

    async def _matrix(self, request: web.Request, what: str) -> web.Response:
        if what == "GET /.well-known/matrix/client":
            return web.json_response({"m.homeserver": {"base_url": f"http://{request.host}/matrix/server"}})
        assert what.startswith(f"PUT /server/_matrix/client/v3/rooms/{ROOM}/send/m.room.message/reedbed-"), what
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.json_response({"errcode": "M_UNKNOWN_TOKEN", "error": "Unrecognised access token"}, status=401)
        return self._keep("matrix", await self._json(request, {"msgtype", "body"}, {"format", "formatted_body"}))

    async def _discord(self, request: web.Request, what: str) -> web.Response:
        if what != "POST /api/webhooks/1/secret-part":
            return web.json_response({"message": "Unknown Webhook", "code": 10015}, status=404)
        (embed,) = (await self._json(request, {"embeds"}, set()))["embeds"]
        if len(embed["title"]) > 256:
            return web.json_response({"message": "Invalid Form Body", "code": 50035}, status=400)
        self.kept["discord"].append(embed)
        return web.Response(status=204)

    async def _slack(self, request: web.Request, what: str) -> web.Response:
        if what != "POST /services/T/B/secret-part":
            return web.Response(status=403, text="invalid_token")
        body = await self._json(request, {"text"}, set())
        if "<" in body["text"]:
            return web.Response(status=400, text="everybody in the channel was called")
        self._keep("slack", body)
        return web.Response(text="ok")

    async def _mattermost(self, request: web.Request, what: str) -> web.Response:
        if what != "POST /hooks/secret-part":
            return web.json_response({"message": "Couldn't find the webhook."}, status=400)
        body = await self._json(request, {"text"}, set())
        if any(f"@{name}" in body["text"] for name in ("all", "channel", "here")):
            return web.json_response({"message": "everybody in the channel was called"}, status=400)
        self._keep("mattermost", body)
        return web.Response(text="ok")

    async def _template(self, request: web.Request, what: str) -> web.Response:
        assert what == "PUT /save", what
        if request.headers.get("X-Key") != TOKEN:
            return web.Response(status=403, text="no key")
        body = await self._json(request, {"address", "words"}, {"labels"})
        return self._keep("template", {**body, "query": request.query["u"], "header": request.headers["X-Title"]})
