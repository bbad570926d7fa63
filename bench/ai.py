"""What summaries and digests cost without a model, in CPU time."""

import random
import tempfile
import time
from pathlib import Path

from bench.table import cpu_per_call, record
from reedbed.ai.extractive import extract
from reedbed.services.digests import DIGEST_JOB as JOB_KIND
from reedbed.services.digests import ask_digest
from reedbed.services.jobs import claim, run
from reedbed.store.migrations import migrate
from reedbed.worker.jobs import HANDLERS
from tests.harness import open_harness
from tests.services.writing import Desk, new_desk

DESCRIPTION = "built-in summaries and digests"

ARTICLES = 100
SENTENCES = 60
WORDS_EACH = 17
_SMALL = ("the", "of", "and", "to", "in", "a", "is", "that", "for", "was", "on", "with", "as", "by", "from")
_SYLLABLES = ("bal", "der", "fin", "gor", "kun", "lam", "men", "nir", "pol", "rus", "sat", "ten")
_WORDS = [first + second for first in _SYLLABLES for second in _SYLLABLES]


async def main() -> None:
    text = article(0)
    took = cpu_per_call(lambda: extract("A title", text), calls=20)
    record("extract of 1,000 words", took * 1000, "ms", compared_to="promise", other=20, cpu_seconds=took)
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = await _digests(f"sqlite:///{Path(folder) / 'bench.db'}")
    record("digest of 100 entries, cold", cold, "s", compared_to="promise", other=3, cpu_seconds=cold)
    record("digest of 100 entries, cached", warm, "s", compared_to="promise", other=1, cpu_seconds=warm)


def article(number: int) -> str:
    """A thousand words that no other article shares all of."""
    chance = random.Random(number)
    topic = chance.sample(_WORDS, 40)
    sentences = (
        " ".join(chance.choice(_SMALL if place % 2 else topic) for place in range(WORDS_EACH)) for _ in range(SENTENCES)
    )
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


async def _digests(url: str) -> tuple[float, float]:
    await migrate(url)
    async with open_harness(url) as harness:
        desk = await new_desk(harness)
        for number in range(ARTICLES):
            await desk.entry(article(number), title=f"Article {number}")
        return await _one_digest(desk), await _one_digest(desk)


async def _one_digest(desk: Desk) -> float:
    started = time.process_time()
    await ask_digest(desk.runtime, desk.user)
    while (job := await claim(desk.runtime, [JOB_KIND])) is not None:
        await run(desk.runtime, job, HANDLERS[job.kind])
    return time.process_time() - started
