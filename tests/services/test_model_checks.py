"""What a model writes: no sentence without a source, and no number that its sources lack, whatever the model says."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from reedbed.ai.responses import numbers_of
from reedbed.services.digests import DIGEST_JOB, ask_digest, get_digest
from reedbed.services.jobs import claim, run
from reedbed.services.questions import JOB_KIND, ask_question, get_question
from reedbed.services.search.upkeep import repair_search
from reedbed.worker.jobs import HANDLERS
from tests.modelserver import ModelServer, Reply, obey_the_task, summary
from tests.services.writing import Desk

TEXTS = {
    "Heron": "The heron of Lorne laid 5 eggs in 2019. It nests in a crane of 42 metres.",
    "Bread": "A baker sells 1,200 loaves a day in Lorne. The bread costs 3 euros.",
    "Pier": "The pier of Lorne burned down in 1987. It takes 18 months to rebuild it.",
}


def invent(question: dict[str, Any]) -> Reply:
    """A model that adds numbers, sources and quotes of its own to what it was given."""
    task = question["messages"][0]["content"]
    claims = [
        {"text": "The pier burned down in 1987.", "quote": "burned down in 1987", "sources": [1, 2, 3]},
        {"text": "The pier burned down in 1978.", "quote": "burned down in 1978", "sources": [1, 2, 3]},
        {"text": "It cost 77 million.", "quote": "It takes 18 months to rebuild it", "sources": [1, 2, 3]},
        {"text": "Nobody was hurt.", "quote": "The pier of Lorne", "sources": []},
        {"text": "It takes 18 months.", "quote": "", "sources": [99]},
    ]
    if '"claims"' in task:
        return Reply(text=json.dumps({"answered": True, "claims": claims}))
    if "paragraphs" in task:
        return Reply(text=json.dumps({"paragraphs": [{"heading": "News", "sentences": claims}]}))
    return Reply(text=summary("It has 66 lamps.", "It is so. There are 66 lamps and 12 more. Work began in 2031."))


@pytest.mark.parametrize("behave", [obey_the_task, invent], ids=["obedient", "inventive"])
async def test_no_sentence_lacks_a_source_and_no_number_is_new(
    modelled: Desk, server: ModelServer, behave: Callable[[dict[str, Any]], Reply]
) -> None:
    server.behave = behave
    told = {await modelled.entry(text, title=title): f"{title} {text}" for title, text in TEXTS.items()}
    more = " ".join([await modelled.value("SELECT content FROM entry_bodies WHERE entry_id = :id", id=min(told))])
    await repair_search(modelled.runtime)

    digest = await ask_digest(modelled.runtime, modelled.user)
    question = await ask_question(modelled.runtime, modelled.user, "When did the pier of Lorne burn down?")
    while (job := await claim(modelled.runtime, [DIGEST_JOB, JOB_KIND])) is not None:
        await run(modelled.runtime, job, HANDLERS[job.kind])
    written = (await get_digest(modelled.runtime, modelled.user.id, digest.id)).text
    answered = (await get_question(modelled.runtime, modelled.user.id, question.id)).answer
    sentences = [sentence for paragraph in written.paragraphs for sentence in paragraph.sentences]
    assert sentences and answered.claims and server.calls
    for sentence in [*sentences, *answered.claims]:
        sources = " ".join(told[id_] for id_ in sentence.entry_ids)
        assert sources and numbers_of(sentence.text) <= numbers_of(f"{sources} {more}")

    for entry_id in told:
        await modelled.ask(entry_id)
    await modelled.write()
    for entry_id, text in told.items():
        shown = (await modelled.ask(entry_id)).summary
        assert shown is None or numbers_of(f"{shown.one_line} {shown.text}") <= numbers_of(f"{text} {more}")
