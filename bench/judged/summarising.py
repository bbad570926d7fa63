"""Whether summaries are shown where they save reading, and only there, and what they are made of."""

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from bench.judged.data import LabelledEntry, labelled_articles, labelled_entries
from bench.judged.figures import Judged
from bench.judged.library import Library, end_of, open_library
from reedbed.ai.extractive import sentences
from reedbed.domain.text import index_text
from reedbed.ingest.text import clean_text
from reedbed.services.ai_worker import NothingDue, Task, next_task, write_task
from reedbed.services.summaries import get_summary

OPENING = 3
_MARK = re.compile(r"(\w+[.,]?)<sup><a[^>]*>(\d+)</a></sup>")


@dataclass(frozen=True, slots=True)
class ShownSummary:
    article: LabelledEntry
    summary: str

    @property
    def text(self) -> str:
        return clean_text(self.article.html)

    @property
    def is_from_opening(self) -> bool:
        opening = _folded(" ".join(sentence for _, sentence in list(sentences(self.text))[:OPENING]))
        return all(_folded(sentence) in opening for _, sentence in sentences(self.summary))

    @property
    def is_the_text(self) -> bool:
        return len(self.summary) > 0.8 * len(self.text)

    @property
    def has_trimmings(self) -> bool:
        """A caption or the mark of a footnote stands in it."""
        captions = [node.text() for node in LexborHTMLParser(self.article.html).css("figcaption")]
        marks = (rf"{re.escape(before)}\s?\[?{mark}\b" for before, mark in _MARK.findall(self.article.html))
        summary = _folded(self.summary)
        return any(_folded(text) in summary for text in captions) or any(
            re.search(mark, self.summary) for mark in marks
        )

    @property
    def key_share(self) -> float:
        return statistics.mean(_folded(fact) in _folded(self.summary) for fact in self.article.key_facts)


async def judge_summaries(half: str) -> list[Judged]:
    articles, short = labelled_articles(half), [entry for entry in labelled_entries(half) if entry.html]
    async with open_library() as library:
        library.set_clock(end_of(articles))
        await library.receive([*articles, *short])
        shown = await summaries_of(library, [*articles, *short])
    useful = [one for one in shown if one.article.wants_summary]
    useless = [article for article in articles if not article.wants_summary]
    brief = {entry.id for entry in short}
    return [
        Judged(half, "summaries: shown on long articles", len(useful) / sum(one.wants_summary for one in articles)),
        Judged(half, "summaries: shown on articles that need none", _share_of(shown, {one.id for one in useless})),
        Judged(half, "summaries: shown on short entries", _share_of(shown, brief)),
        Judged(half, "summaries: whole from the first three sentences", _mean([one.is_from_opening for one in useful])),
        Judged(half, "summaries: over 80 % of the text", _mean([one.is_the_text for one in shown])),
        Judged(half, "summaries: holds a caption or footnote mark", _mean([one.has_trimmings for one in useful])),
        Judged(half, "summaries: key facts told", _mean([one.key_share for one in useful])),
        Judged(half, "summaries: characters", _mean([len(one.summary) for one in useful])),
    ]


async def summaries_of(library: Library, entries: Sequence[LabelledEntry]) -> list[ShownSummary]:
    for entry in entries:
        await get_summary(library.runtime, library.user, library.ids[entry.id])
    while not isinstance(task := await next_task(library.runtime), NothingDue):
        if isinstance(task, Task):
            await write_task(library.runtime, task)
    states = [(entry, await get_summary(library.runtime, library.user, library.ids[entry.id])) for entry in entries]
    return [ShownSummary(entry, state.summary.text) for entry, state in states if state.summary is not None]


def _share_of(shown: Sequence[ShownSummary], ids: set[str]) -> float:
    return sum(one.article.id in ids for one in shown) / max(1, len(ids))


def _mean(values: Sequence[float]) -> float:
    return statistics.mean(values) if values else 0.0


def _folded(text: str) -> str:
    return f" {' '.join(index_text(text).split())} "
