"""A real WebSub hub on loopback, for tests: in the loop of the test, or as a process of its own.

    async with Hub() as hub:
        site.name_hub(...)                    # let the program find hub.url in a feed
        await hub.publish(site.feed_url())    # fetch the topic and send it to whoever has subscribed

It takes subscriptions, verifies the intent of each, signs what it sends, and can refuse, fall silent or send
what it likes. `python -m tests.hub PORT` serves one; POST `hub.mode=publish&hub.url=…` publishes there.
"""

import asyncio
import hmac
import secrets
import sys
from dataclasses import dataclass, field
from io import BytesIO
from typing import Self

from aiohttp import ClientSession, ClientTimeout, web
from multidict import MultiMapping

from tests.serving import close

PATIENCE = ClientTimeout(total=60)


@dataclass
class Subscriber:
    topic: str
    callback: str
    secret: str
    lease: int


@dataclass
class Hub:
    port: int = 0
    lease: int | None = None
    """Seconds granted; None grants what is asked for."""
    method: str = "sha256"
    refuses: str | None = None
    verifies: bool = True
    subscribers: dict[tuple[str, str], Subscriber] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)
    """What the subscriber said to each verification."""
    status: int = 202

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/", self._ask)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        self._session = ClientSession(timeout=PATIENCE)
        self._verifying: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.settle()
        await self._session.close()
        await close(self._runner)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def settle(self) -> None:
        """Until every verification is through."""
        while self._verifying:
            await asyncio.gather(*self._verifying)

    async def publish(self, topic: str) -> list[int]:
        async with self._session.get(topic) as answer:
            body, kind = await answer.read(), answer.headers.get("Content-Type", "")
        return [await self.send(one, body, kind) for one in self._of(topic)]

    async def send(
        self, one: Subscriber, body: bytes, kind: str = "application/rss+xml", *, signature: str | None = None
    ) -> int:
        """What the subscriber answers; `signature` forges one, and an empty one sends none."""
        if signature is None:
            signature = f"{self.method}={hmac.new(one.secret.encode(), body, self.method).hexdigest()}"
        headers = {"Content-Type": kind, "Link": f'<{self.url}>; rel="hub", <{one.topic}>; rel="self"'}
        if signature:
            headers["X-Hub-Signature"] = signature
        async with self._session.post(one.callback, data=BytesIO(body), headers=headers) as answer:
            return answer.status

    async def say(self, callback: str, **said: str) -> tuple[int, str]:
        """A GET to the callback; names are given without `hub.`."""
        params = {f"hub.{name}": value for name, value in said.items()}
        async with self._session.get(callback, params=params) as answer:
            return answer.status, await answer.text()

    def _of(self, topic: str) -> list[Subscriber]:
        return [one for one in self.subscribers.values() if one.topic == topic]

    async def _ask(self, request: web.Request) -> web.Response:
        form = await request.post()
        said = {name: str(value) for name, value in form.items()}
        if said.get("hub.mode") == "publish":
            sent = await self.publish(said["hub.url"])
            return web.json_response(sent)
        self.asked.append(said)
        if self.status < 300:
            task = asyncio.create_task(self._verify(form))
            self._verifying.add(task)
            task.add_done_callback(self._verifying.discard)
        return web.Response(status=self.status)

    async def _verify(self, form: MultiMapping[object]) -> None:
        mode, topic, callback = (str(form[f"hub.{name}"]) for name in ("mode", "topic", "callback"))
        if self.refuses is not None:
            await self.say(callback, mode="denied", topic=topic, reason=self.refuses)
            return
        if not self.verifies:
            return
        lease = self.lease or int(str(form.get("hub.lease_seconds", "60")))
        challenge = secrets.token_hex(8)
        extra = {"lease_seconds": str(lease)} if mode == "subscribe" else {}
        status, echoed = await self.say(callback, mode=mode, topic=topic, challenge=challenge, **extra)
        self.answers.append((status, "echoed" if echoed == challenge else echoed))
        if status // 100 != 2 or echoed != challenge:
            return
        if mode == "subscribe":
            one = Subscriber(topic, callback, str(form.get("hub.secret", "")), lease)
            self.subscribers[topic, callback] = one
        else:
            self.subscribers.pop((topic, callback), None)


async def _serve(port: int) -> None:
    async with Hub(port):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
