"""CPU of a crawl over a synthetic site: first fetch, nothing new, a tenth of the feeds changed.

The site, Reedbed and the peer run in a process of their own each, one after the other, so that each figure is
the CPU time of one program alone. Reedbed's includes its search index; `reader` runs without one. Both run
twice, and the better run counts: what else a machine does can only lengthen it.

Where other work or a neighbour slows the processor down, a figure tells more of that than of the program:
keep all of it on one core then (`taskset -c 0`), and see `bench.instructions`.
"""

import asyncio
import gc
import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.logs import write_logs_away
from bench.table import record

DESCRIPTION = "A crawl of 1,000 feeds of 20 to 40 entries, against reader and bare feedparser."

FEEDS = int(os.environ.get("BENCH_FEEDS", "1000"))
CHANGED = 0.1
ROUNDS = ("first", "unchanged", "changed")
RUNS = 2


def main() -> None:
    ours, theirs, bare = (
        _best([_measured(harness) for _ in range(RUNS)])
        for harness in (crawl_with_reedbed, crawl_with_reader, parse_with_feedparser)
    )
    for name in ROUNDS:
        record(f"crawl, {name}", ours[name], "s", compared_to="reader", other=theirs[name], cpu_seconds=ours[name])
    record("crawl, unchanged feed", ours["unchanged"] / FEEDS * 1000, "ms", compared_to="promised", other=0.7)
    record("crawl, first", ours["first"], "s", compared_to="feedparser alone", other=bare["first"])


def _best(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: min(run[name] for run in runs) for name in runs[0]}


def _measured(harness: Callable[[str], dict[str, float]]) -> dict[str, float]:
    """Run one program against a fresh site, in a fresh process."""
    with site() as url, multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(harness, (url,))


@contextmanager
def site(feeds: int = FEEDS) -> Iterator[str]:
    command = [sys.executable, "-m", "bench.site", "--feeds", str(feeds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def addresses(url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/list") as answer:
        return answer.read().decode().split()


def _advance(url: str) -> int:
    with urllib.request.urlopen(f"{url}/advance?share={CHANGED}") as answer:
        return int(answer.read())


def crawl_with_reedbed(url: str, rounds: Sequence[str] = ROUNDS) -> dict[str, float]:
    import uvloop

    write_logs_away()
    return uvloop.run(_crawl_with_reedbed(url, rounds))


async def _crawl_with_reedbed(url: str, rounds: Sequence[str]) -> dict[str, float]:
    from reedbed.store.migrations import migrate
    from reedbed.worker.refresh import fetch_due_feeds
    from tests.harness import open_harness

    with tempfile.TemporaryDirectory() as directory:
        database = f"sqlite:///{directory}/reedbed.db"
        await migrate(database)
        async with open_harness(database) as harness:
            person = await harness.person()
            feeds = addresses(url)
            for address in feeds:
                await harness.follow(address, user_id=person)
            gc.freeze()  # as every role does when it has started
            figures: dict[str, float] = {}
            for name in rounds:
                news = _advance(url) if name == "changed" else 0
                (before,) = await harness.column("SELECT count(*) FROM entries")
                figures[name] = await _cpu(lambda: _round(harness, fetch_due_feeds))
                (after,) = await harness.column("SELECT count(*) FROM entries")
                if name == "first":
                    assert 20 * len(feeds) <= after <= 40 * len(feeds), after
                else:
                    assert after == before + news, (before, after, news)
    return figures


async def _round(harness: Any, fetch: Callable[..., Coroutine[Any, Any, None]]) -> None:
    """Let the worker's own loop run until nothing is due any more."""
    stop = asyncio.Event()
    working = asyncio.create_task(fetch(harness.runtime, stop, grace=5))
    while (await harness.column("SELECT count(*) FROM feed_fetch_state WHERE urgent"))[0]:  # noqa: ASYNC110  in a database
        await asyncio.sleep(0.3)
    stop.set()
    await working
    await harness.change("UPDATE feed_fetch_state SET urgent = 1, next_check_at = 1")


async def _cpu(work: Callable[[], Awaitable[None]]) -> float:
    started = time.process_time()
    await work()
    return time.process_time() - started


def crawl_with_reader(url: str, rounds: Sequence[str] = ROUNDS) -> dict[str, float]:
    # It asks for the module under the name it has beside older versions of feedparser.
    sys.modules.setdefault("sgmllib", importlib.import_module("feedparser_sgmllib"))
    # By name: `make check` runs where the peers are not installed.
    make_reader = importlib.import_module("reader").make_reader
    with tempfile.TemporaryDirectory() as directory:
        reader = make_reader(f"{directory}/reader.db", search_enabled=False)
        for address in addresses(url):
            reader.add_feed(address)
        figures: dict[str, float] = {}
        for name in rounds:
            if name == "changed":
                _advance(url)
            started = time.process_time()
            reader.update_feeds(scheduled=False, workers=10)
            figures[name] = time.process_time() - started
    return figures


def parse_with_feedparser(url: str) -> dict[str, float]:
    import feedparser

    bodies = []
    for address in addresses(url):
        with urllib.request.urlopen(address) as answer:
            bodies.append(answer.read())
    started = time.process_time()
    for body in bodies:
        feedparser.parse(body)
    return {"first": time.process_time() - started}


if __name__ == "__main__":
    main()
