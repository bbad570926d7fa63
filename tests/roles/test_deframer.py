"""The deframer on real processes: from `feed add` to a served document, through an error and back."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import feedparser
import httpx

from tests.feedsite import FeedSite
from tests.framing_harness import LONG
from tests.modelserver import ModelServer
from tests.processes import reedbed, run_once, wait_for
from tests.serving import in_thread


def test_the_whole_walk_with_two_workers(
    tmp_path: Path, free_port: int, postgres_url: str, redis_url: str, threaded_site: FeedSite
) -> None:
    with running(tmp_path, free_port, postgres_url, redis_url) as (web, admin, model):
        for number in range(6):
            threaded_site.publish(f"SHOCK {number}", key=str(number), content=f"{LONG}<p>{number}</p>")
        url = threaded_site.feed_url()

        def served() -> httpx.Response:
            return httpx.get(f"{web}/rss", params={"url": url}, timeout=60)

        assert served().status_code == 404
        assert admin("feed", "add", url, "--max-failures", "1")[0]["enabled"] is False
        assert served().status_code == 403
        admin("feed", "enable", url)
        assert served().status_code == 404
        admin("feed", "sync", url)
        wait_for("six items", lambda: served().text.count("<item>") == 6)
        first = served()
        titles = {entry.title for entry in feedparser.parse(first.content).entries}
        assert titles == {f"Calm: SHOCK {number}" for number in range(6)}
        assert model.calls == 6, "two workers, and nothing was asked twice"
        site = httpx.get(f"{web}/api/site", params={"root": "127.0.0.1"}, timeout=60).json()
        assert len(site["items"]) == 6

        threaded_site.misbehave(status=503)
        admin("feed", "sync", url)
        wait_for("the failed fetch", lambda: threaded_site.count(status=503))
        broken = wait_for("the error", lambda: [one for one in admin("feed", "list") if one["last_error"]])
        assert broken[0]["next_run_at"] is None and broken[0]["stop_reason"]
        assert served().headers["etag"] == first.headers["etag"]

        threaded_site.behave()
        threaded_site.publish("SHOCK 6", key="6", content=f"{LONG}<p>6</p>")
        assert admin("feed", "sync", url)[0]["last_error"] is None
        wait_for("the seventh", lambda: served().text.count("<item>") == 7)
        assert model.calls == 7
        admin("feed", "disable", url)
        assert served().status_code == 403


@contextmanager
def running(home: Path, port: int, database_url: str, redis_url: str) -> Iterator[tuple[str, Any, ModelServer]]:
    with ExitStack() as stack:
        model = stack.enter_context(in_thread(ModelServer()))
        parts = {
            "database_url": database_url,
            "redis_url": redis_url,
            "ai_provider": "openai",
            "ai_base_url": model.url,
            "ai_model": "scripted",
            "ai_max_rpm": "60000",
            "deframer_rate_burst": "100000",
        }

        def admin(*words: str) -> Any:
            done = run_once("admin", *words, "--json", cwd=home, **parts)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        web = stack.enter_context(reedbed("web", port=port, cwd=home, **parts))
        for _ in range(2):
            stack.enter_context(reedbed("worker", cwd=home, **parts))
        yield web.url, admin, model
