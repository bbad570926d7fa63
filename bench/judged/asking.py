"""Whether questions are answered from the entries, and whether those without an answer are left unanswered."""

import statistics
import time
from collections.abc import Sequence

from bench.judged.data import AskedQuestion, entries_to_ask, questions
from bench.judged.figures import Judged
from bench.judged.library import Library, end_of, open_library
from reedbed.ai.answer_types import inquire
from reedbed.ai.answers import answer
from reedbed.domain.digests import Sentence
from reedbed.domain.text import index_text
from reedbed.services import jobs
from reedbed.services.questions import EVERYTHING, JOB_KIND, answer_question, ask_question, find_passages, get_question
from reedbed.services.stories import StoryGrouper

BEST = 3


async def judge_ask(half: str) -> list[Judged]:
    entries, asked = entries_to_ask(half), questions(half)
    async with open_library() as library:
        library.set_clock(end_of(entries))
        await library.receive(entries)
        await StoryGrouper().group_new(library.runtime)
        await claims_of(library, asked[0])  # the first one loads the word lists
        started = time.process_time()
        answered = [(question, await claims_of(library, question)) for question in asked]
        milliseconds = (time.process_time() - started) / len(asked) * 1000
        labels = {id_: label for label, id_ in library.ids.items()}
        events = {library.ids[entry.id]: entry.story for entry in entries}
        answered_from_others = [
            await _is_answered_without(library, question, events) for question in asked if question.entries
        ]
    answerable = [(question, claims) for question, claims in answered if question.entries]
    places = [(question, place_of_answer(question, claims, labels)) for question, claims in answerable]
    silent = [not claims for question, claims in answered if not question.entries]
    unanswered = [not claims for _, claims in answerable]
    return [
        Judged(half, "ask: hit@1", statistics.mean(place == 1 for _, place in places)),
        Judged(half, f"ask: hit@{BEST}", statistics.mean(place <= BEST for _, place in places)),
        *(
            Judged(half, f"ask: hit@{BEST}, {language}", _share(places, language))
            for language in ("en", "de", "fr", "es")
        ),
        Judged(half, "ask: answerable, but not answered", statistics.mean(unanswered)),
        Judged(half, "ask: false answers", 1 - statistics.mean(silent)),
        Judged(
            half, "ask: answered although the answering entries were taken away", statistics.mean(answered_from_others)
        ),
        Judged(half, "ask: ms a question", milliseconds),
    ]


async def _is_answered_without(library: Library, question: AskedQuestion, events: dict[int, str]) -> bool:
    """Whether entries about other events than those of the answer are quoted if only these are left."""
    inquiry = inquire(question.text)
    passages, stories = await find_passages(library.runtime, library.user.id, EVERYTHING, inquiry)
    answering = {events[library.ids[label]] for label in question.entries}
    left = [passage for passage in passages if events[passage.entry_id] not in answering]
    their_stories = {id_: story for id_, story in stories.items() if events[id_] not in answering}
    return bool(answer(inquiry, left, their_stories).claims)


async def claims_of(library: Library, question: AskedQuestion) -> Sequence[Sentence]:
    runtime = library.runtime
    pending = await ask_question(runtime, library.user, question.text)
    job = await jobs.claim(runtime, [JOB_KIND])
    assert job is not None
    await jobs.run(runtime, job, answer_question)
    return (await get_question(runtime, library.user.id, pending.id)).answer.claims


def place_of_answer(question: AskedQuestion, claims: Sequence[Sentence], labels: dict[int, str]) -> int:
    """The number of the first claim that holds an answer and cites an entry that gives it; beyond all if none does."""
    answers = [_folded(answer) for answer in question.answers]
    for place, claim in enumerate(claims, 1):
        cited, text = {labels[id_] for id_ in claim.entry_ids}, _folded(claim.text)
        if cited & question.entries and any(answer in text for answer in answers):
            return place
    return max(len(claims), BEST) + 1


def _folded(text: str) -> str:
    return f" {' '.join(index_text(text).split())} "


def _share(places: Sequence[tuple[AskedQuestion, int]], language: str) -> float:
    return statistics.mean(place <= BEST for question, place in places if question.language == language)
