"""What the deframer's endpoints cost: a stored document, a not-modified, and one that is filtered on the spot."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench.ai import article
from bench.table import record
from reedbed.ai.model import MockModel
from reedbed.domain.ai import BreakerPolicy
from reedbed.domain.users import Allowance, RateLimits
from reedbed.roles.app import create_app
from reedbed.services.runtime import AiPolicy
from reedbed.store.migrations import migrate
from tests.feedsite import FeedSite
from tests.framing_harness import FramingHarness
from tests.harness import open_harness
from tests.modelserver import ModelServer

DESCRIPTION = "the deframer's endpoints"

ITEMS = 50
CALLS = 200
ROUNDS = 5


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
        await migrate(url)
        async with open_harness(url) as harness, FeedSite() as site:
            await _measure(FramingHarness(harness, site, ModelServer()))


async def _measure(room: FramingHarness) -> None:
    plenty = RateLimits(deframer=Allowance(10**9, 10**9))
    ai = AiPolicy(model=MockModel(), breaker=BreakerPolicy(min_interval=0))
    room.harness.runtime = replace(room.runtime, limits=plenty, ai=ai)
    for number in range(ITEMS):
        room.site.publish(f"Article {number}", key=str(number), content=f"<p>{article(number)}</p>")
    started = time.process_time()
    await room.open_feed()
    built = (time.process_time() - started) / ITEMS
    app = create_app(room.runtime)
    query = {"url": room.site.feed_url()}
    tag, size = await _ask(app, query)
    served = await _cpu(app, query)
    unchanged = await _cpu(app, query, tag)
    filtered = await _cpu(app, {**query, "max_score": "0.5"})
    record("a stored document", served * 1000, "ms", compared_to="promise", other=1, cpu_seconds=served)
    record("not modified", unchanged * 1000, "ms", compared_to="stored", other=served * 1000)
    record("filtered by a score", filtered * 1000, "ms", compared_to="stored", other=served * 1000)
    record("fetched, read and built, an item", built * 1000, "ms", compared_to="promise", other=50)
    record("size of the document", size / 1000, "KB", compared_to="50 items", other=ITEMS)


async def _cpu(app: Any, query: dict[str, str], tag: bytes = b"") -> float:
    """CPU seconds of one request, all threads: the best of a few rounds."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(CALLS):
            await _ask(app, query, tag)
        rounds.append((time.process_time() - started) / CALLS)
    return min(rounds)


async def _ask(app: Any, query: dict[str, str], tag: bytes = b"") -> tuple[bytes, int]:
    """The application itself, without a client's cost; the tag and the bytes of its answer."""
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/rss",
        "raw_path": b"/rss",
        "query_string": urlencode(query).encode(),
        "headers": [(b"host", b"reader.example"), *([(b"if-none-match", tag)] if tag else [])],
        "client": ("192.0.2.1", 1),
        "server": ("reader.example", 80),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
    }
    await app(scope, receive, send)
    start = said[0]
    assert start["status"] == (304 if tag else 200), start["status"]
    size = sum(len(part.get("body", b"")) for part in said[1:])
    return dict(start["headers"])[b"etag"], size
