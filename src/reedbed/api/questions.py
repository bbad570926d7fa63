"""Questions about the user's entries. Every claim of an answer cites its entries."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Response
from pydantic import Field

from reedbed.api.digests import CitedSourceResponse, ScopeRequest, ScopeResponse, SentenceResponse, scope_of
from reedbed.domain.pagination import page_limit
from reedbed.domain.questions import Question, names_to_ask
from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import FailureName, FailureText, JsonId, ListPage, Timestamp
from reedbed.http.params import IdPath, PageCursor, PageLimit, SearchLimit, before_of, newest_first
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.questions import ask_question, delete_question, get_question, watch_question
from reedbed.store import questions

router = ApiRouter(prefix="/api/v1/questions", tags=["questions"])

_CURSOR_VIEW = "questions"


class QuestionRequest(ScopeRequest):
    question: str = Field(max_length=2_000, examples=["What did the council say about the bridge?"])


@record
class QuestionResponse(ScopeResponse):
    id: JsonId
    question: str
    status: Annotated[str, Field(description="pending, ready or failed")]
    error: FailureText
    error_code: FailureName
    answered: Annotated[bool | None, Field(description="False if the entries do not answer it; null while pending.")]
    told: Annotated[bool | None, Field(description="The same as `answered`, under its name in 0.1.")]
    model: str
    built_in: Annotated[bool, Field(description="The claims are sentences of the entries; no model was used.")]
    fallback: Annotated[bool, Field(description="The model failed; the built-in extract was used.")]
    entries: Annotated[int, Field(description="Number of entries read for the answer.")]
    dropped: Annotated[int, Field(description="Number of claims left out because no entry supported them.")]
    created_at: Timestamp
    finished_at: Timestamp | None
    claims: list[SentenceResponse]
    sources: list[CitedSourceResponse]
    nearest: Annotated[
        list[CitedSourceResponse], Field(description="If the entries do not answer it: those that come closest.")
    ]
    watched_at: Annotated[
        Timestamp | None, Field(description="Set while it waits for an entry that answers: when it was asked last.")
    ]
    missing: Annotated[Sequence[str], Field(description="If they do not: words of the question that none of them has.")]
    ask_next: Annotated[Sequence[str], Field(description="Names in the answer that can be asked about next.")]


@router.get("", summary="List questions, newest first")
async def list_all(
    runtime: CurrentRuntime, caller: CurrentCaller, limit: PageLimit = None, cursor: PageCursor = None
) -> Json[ListPage[QuestionResponse]]:
    size, before = page_limit(limit), before_of(cursor, _CURSOR_VIEW)
    async with runtime.db.read() as tx:
        rows = await questions.newest(tx, caller.user_id, limit=size + 1, before=before)
    return newest_first(rows, size, _CURSOR_VIEW, _question_response)


@router.post(
    "",
    status_code=202,
    summary="Ask a question about your entries",
    description=(
        "Returns a pending question. `progress` events with `kind` question and its `question_id` report "
        "the `stage`: searching, reading, answering (with one `claim` each) and done."
    ),
)
async def ask(
    runtime: CurrentRuntime, caller: CurrentCaller, _: SearchLimit, body: QuestionRequest
) -> Json[QuestionResponse]:
    question = await ask_question(runtime, caller.user, storable(body.question), scope_of(body))
    return Json(_question_response(question), 202)


@router.get("/{question_id}", summary="Get a question")
async def get(runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Json[QuestionResponse]:
    return Json(_question_response(await get_question(runtime, caller.user_id, question_id)))


@router.put(
    "/{question_id}/watch",
    summary="Be told when an entry answers it",
    description=(
        "For a question without an answer: it is asked again, without a model, as entries arrive. The first answer "
        "is stored, sent as a push notification, and published as a `notice` event with `event` answered."
    ),
)
async def watch(runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Json[QuestionResponse]:
    return Json(_question_response(await watch_question(runtime, caller.user_id, question_id, on=True)))


@router.delete("/{question_id}/watch", status_code=204, summary="No longer wait for an answer")
async def unwatch(runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Response:
    await watch_question(runtime, caller.user_id, question_id, on=False)
    return Response(status_code=204)


@router.delete("/{question_id}", status_code=204, summary="Delete a question and its answer")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Response:
    await delete_question(runtime, caller.user_id, question_id)
    return Response(status_code=204)


def _question_response(question: Question) -> QuestionResponse:
    answer = question.answer
    answered = bool(answer.claims) if question.status == "ready" else None
    return QuestionResponse.of(
        question,
        answer,
        question.scope,
        answered=answered,
        told=answered,
        built_in=question.model == EXTRACT,
        ask_next=names_to_ask(question),
        entries=answer.read,
        claims=list(map(SentenceResponse.of, answer.claims)),
        sources=[CitedSourceResponse.of(source, feed_title=source.feed) for source in answer.sources],
        nearest=[CitedSourceResponse.of(source, feed_title=source.feed) for source in answer.nearest],
    )
