"""Whether Ask, digests and summaries tell nothing that their sources do not say: without a model, and with one that
invents numbers and sources."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from bench.judged.asking import claims_of
from bench.judged.data import LabelledEntry, labelled_articles, labelled_entries, questions, within_a_day
from bench.judged.digesting import lines_of
from bench.judged.figures import Judged
from bench.judged.library import Library, end_of, open_library
from bench.judged.summarising import summaries_of
from reedbed.ai.openai import OpenAiModel
from reedbed.domain.ai import BreakerPolicy
from reedbed.domain.digests import MAX_ENTRIES, Sentence
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import AiPolicy
from reedbed.services.stories import StoryGrouper
from tests.modelserver import ModelServer, Question, Reply
from tests.services.writing import opted_in

HALF = "dev"
ASKED = 40
INVENTED = "987654321"
_NUMBER = re.compile(r"\d+(?:[.,'’\u202f\u00a0]\d+)*")


async def judge_grounding() -> list[Judged]:
    figures = await _judge("without a model", None)
    async with ModelServer() as server:
        server.behave = lie
        model = server.model()
        figures += await _judge("with a model that invents", model)
        await model.close()
        assert server.calls > ASKED, "the model was hardly asked"
    return figures


def lie(question: Question) -> Reply:
    """Beside a sentence of each source, sentences with numbers, sources and quotes that do not exist."""
    task, material = (message["content"] for message in question["messages"][:2])
    titles = re.findall(r"^\[(\d+)\] (.*) \(", material, re.MULTILINE)
    told = [{"text": title, "quote": title, "sources": [int(number)]} for number, title in titles]
    invented = [
        variant
        for sentence in told[:2]
        for variant in (
            {**sentence, "text": f"It cost {INVENTED} euros."},
            {**sentence, "quote": "Nobody wrote these words anywhere.", "text": f"It is {INVENTED}."},
            {**sentence, "sources": []},
            {**sentence, "sources": [9_999]},
        )
    ]
    sentences = [*invented[:4], *told[:2], *invented[4:], *told[2:]]
    if "paragraphs" in task:
        return Reply(text=json.dumps({"paragraphs": [{"heading": "", "sentences": sentences}]}))
    if '"claims"' in task:
        return Reply(text=json.dumps({"answered": True, "claims": sentences}))
    opening = material.split("\n\n")[-1][:200]
    return Reply(text=json.dumps({"one_line": f"It cost {INVENTED}.", "summary": f"{opening}. It cost {INVENTED}."}))


async def _judge(how: str, model: OpenAiModel | None) -> list[Judged]:
    entries, articles = labelled_entries(HALF), labelled_articles(HALF)
    day = within_a_day(entries[:MAX_ENTRIES], end_of(entries))
    async with open_library() as library:
        await _fill(library, [*entries, *articles], model)
        asked = [claim for question in questions(HALF)[:ASKED] for claim in await claims_of(library, question)]
        summaries = await summaries_of(library, articles)
        summed = [Sentence(one.summary, (library.ids[one.article.id],)) for one in summaries]
        counted = {
            "ask": _ungrounded(asked, library, [*entries, *articles]),
            "summaries": _ungrounded(summed, library, articles),
        }
    async with open_library() as library:
        await _fill(library, day, model)
        counted["digest"] = _ungrounded(await lines_of(library), library, day)
    return [
        Judged(HALF, f"{what}: {figure}, {how}", number)
        for what, numbers in counted.items()
        for figure, number in zip(("sentences without a source", "numbers not in the source"), numbers, strict=True)
    ]


async def _fill(library: Library, entries: Sequence[LabelledEntry], model: OpenAiModel | None) -> None:
    library.set_clock(end_of(entries))
    await library.receive(sorted(entries, key=lambda entry: entry.at))
    await StoryGrouper().group_new(library.runtime)
    if model is not None:
        policy = AiPolicy(model=model, breaker=BreakerPolicy(min_interval=0))
        library.harness.runtime = replace(library.runtime, ai=policy)
        library.user = await opted_in(library.runtime, library.user)


def _ungrounded(
    sentences: Sequence[Sentence], library: Library, entries: Sequence[LabelledEntry]
) -> tuple[float, float]:
    """How many sentences cite no entry, and how many numbers no cited entry has."""
    texts = {library.ids[entry.id]: f"{entry.title} {clean_text(entry.html)}" for entry in entries}
    assert sentences, "nothing was told, so nothing is judged"
    without = sum(not sentence.entry_ids for sentence in sentences)
    unknown = sum(
        len(numbers_in(sentence.text) - numbers_in(" ".join(texts.get(id_, "") for id_ in sentence.entry_ids)))
        for sentence in sentences
    )
    return float(without), float(unknown)


def numbers_in(text: str) -> set[str]:
    return {re.sub(r"\D", "", number) for number in _NUMBER.findall(text)}
