"""The order by interest: what a score, an act and a first page cost, and how well simulated tastes are learnt.

python -m bench interest
"""

import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from bench.table import cpu_per_call, record
from reedbed.domain.entries import ViewQuery
from reedbed.domain.interest.features import Candidate, features_of
from reedbed.domain.interest.model import InterestModel
from reedbed.domain.interest.order import rank
from reedbed.domain.times import DAY
from reedbed.services.interest import WINDOW, RankedList, list_ranked
from reedbed.store import interest
from reedbed.store.engine.connect import open_database
from reedbed.store.engine.database import Database
from reedbed.store.entries import lists as entry_lists
from reedbed.store.migrations import migrate
from tests import large_library
from tests.interest_readers import ASIDE, RANDOM, TUNED_ON, World, replay

DESCRIPTION = "scores, acts and a first page over 300,000 unread entries, and simulated readers"

SCORE_US, PAGE_MS, MODEL_KB = 20.0, 15.0, 1_000.0
ROUNDS = 30
READERS = 30
LIBRARY = large_library.LibrarySize(users=1, feeds=1_000, entries=300_000, followed=1_000)


async def main() -> None:
    world = World(Random("bench"))
    entries = [article.entry for day in range(60) for article in world.day(day)]
    model = InterestModel()
    for number, entry in enumerate(entries[:1_200]):
        model.learn(entry, "Source", "read" if number % 4 == 0 else "passed", number)
    _measure_model(model, entries)
    with tempfile.TemporaryDirectory() as directory:
        await _measure_pages(f"sqlite:///{Path(directory) / 'bench.db'}", model)
    for kind in (*TUNED_ON, *ASIDE, RANDOM):
        _measure_readers(kind)


def _measure_model(model: InterestModel, entries: list[Candidate]) -> None:
    some = entries[:WINDOW]
    score = cpu_per_call(lambda: [model.score(features_of(entry)) for entry in some], calls=5) / WINDOW
    record("score of an entry", score * 1e6, "µs", compared_to="promised", other=SCORE_US)
    ranked = cpu_per_call(lambda: rank(some, model, 60 * DAY), calls=5) / WINDOW
    record(f"ranking of {WINDOW}, for each", ranked * 1e6, "µs", compared_to="promised", other=SCORE_US)
    stored = model.dump()
    size = len(stored.numbers) + len(stored.names.encode()) + len(str(stored.rest))
    record(f"model with {len(model.weights)} features", size / 1_000, "KB", compared_to="promised", other=MODEL_KB)
    act = cpu_per_call(lambda: InterestModel.load(model.dump()), calls=5)
    record("load and store it for an act", act * 1_000, "ms", compared_to="promised", other=PAGE_MS)


async def _measure_pages(url: str, model: InterestModel) -> None:
    await migrate(url)
    db = await open_database(url, pool_size=1)
    await large_library.fill(db, LIBRARY)
    await large_library.make_unread(db, 1, every=1)
    await large_library.gather_statistics(db)
    async with db.write() as tx:
        await interest.put(tx, 1, model.dump(), 0)
    plain = await _page_ms(lambda: _plain(db))
    ranked = await _page_ms(lambda: _ranked(db))
    record("first page of 300,000 unread, newest", plain, "ms", compared_to="promised", other=PAGE_MS)
    record("the same by interest", ranked, "ms", compared_to="promised", other=PAGE_MS)
    kept = await _ranked(db)

    async def keep() -> None:
        assert kept.to_keep is not None
        ranking = kept.to_keep
        await db.write_now(lambda tx: interest.keep_ranking(tx, 1, ranking, 0))

    record("keep its ranking", await _page_ms(keep), "ms", compared_to="promised", other=PAGE_MS)
    await db.close()


async def _plain(db: Database) -> None:
    async with db.read() as tx:
        assert await entry_lists.page(tx, 1, ViewQuery("unread"), None, 40)


async def _ranked(db: Database) -> RankedList:
    async with db.read() as tx:
        ranked = await list_ranked(tx, 1, ViewQuery("unread", "interest"), None, 40, LIBRARY.entries * 1_000)
    assert ranked is not None and ranked.is_ranked and ranked.to_keep is not None
    return ranked


async def _page_ms(asking: Callable[[], Awaitable[object]]) -> float:
    await asking()
    started = time.process_time()
    for _ in range(ROUNDS):
        await asking()
    return (time.process_time() - started) / ROUNDS * 1_000


def _measure_readers(kind: str) -> None:
    result = replay(kind, range(100, 100 + READERS))
    aside = "" if kind in TUNED_ON else ", not tuned on"
    for name, (auc, ndcg) in (("newest first", result.newest.means), ("open rate", result.rate.means)):
        model_auc, model_ndcg = result.model.means
        record(f"{kind}{aside}: AUC", 100 * model_auc, "%", compared_to=name, other=100 * auc)
        record(f"{kind}{aside}: nDCG@10", 100 * model_ndcg, "%", compared_to=name, other=100 * ndcg)
