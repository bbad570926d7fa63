"""Questions about the user's entries. Every claim of an answer cites its entries."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.api.digests import (
    CitedSourceResponse,
    ScopeRequest,
    ScopeResponse,
    SentenceResponse,
    scope_json,
    scope_of,
    sentence_json,
    source_json,
)
from reedbed.domain.pagination import page_limit
from reedbed.domain.questions import Question
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.text import storable
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import SearchLimit
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath, PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import json_response, moment
from reedbed.services.questions import ask_question, delete_question, get_question
from reedbed.store import questions

router = APIRouter(prefix="/api/v1/questions", tags=["questions"])

_CURSOR_VIEW = "questions"


class QuestionRequest(ScopeRequest):
    question: str = Field(max_length=2_000, examples=["What did the council say about the bridge?"])


class QuestionResponse(ScopeResponse):
    id: str
    question: str
    status: str = Field(description="pending, ready or failed")
    error: str | None
    told: bool | None = Field(description="False if the entries do not answer it; null while pending.")
    model: str
    built_in: bool = Field(description="The claims are sentences of the entries; no model was used.")
    fallback: bool = Field(description="The model failed; the built-in extract was used.")
    entries: int = Field(description="Number of entries read for the answer.")
    dropped: int = Field(description="Number of claims left out because no entry supported them.")
    created_at: str
    finished_at: str | None
    claims: list[SentenceResponse]
    sources: list[CitedSourceResponse]


class QuestionList(ApiModel):
    items: list[QuestionResponse]
    next_cursor: str | None


@router.get("", summary="List questions, newest first", responses={200: {"model": QuestionList}})
async def list_all(
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, before = page_limit(limit), before_of(cursor, _CURSOR_VIEW)
    async with runtime.db.read() as tx:
        rows = await questions.newest(tx, caller.user_id, limit=size + 1, before=before)
    return newest_first(rows, size, _CURSOR_VIEW, _question_json)


@router.post(
    "",
    status_code=202,
    summary="Ask a question about your entries",
    description=(
        "Returns a pending question. `progress` events with `kind` question and its `question_id` report "
        "the `stage`: searching, reading, answering (with one `claim` each) and done."
    ),
    responses={202: {"model": QuestionResponse}},
)
async def ask(
    runtime: CurrentRuntime, caller: CurrentCaller, _: SearchLimit, body: QuestionRequest
) -> Response:
    question = await ask_question(runtime, caller.user, storable(body.question), scope_of(body))
    return json_response(_question_json(question), 202)


@router.get("/{question_id}", summary="Get a question", responses={200: {"model": QuestionResponse}})
async def get(runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Response:
    return json_response(_question_json(await get_question(runtime, caller.user_id, question_id)))


@router.delete("/{question_id}", status_code=204, summary="Delete a question and its answer")
async def delete(runtime: CurrentRuntime, caller: CurrentCaller, question_id: IdPath) -> Response:
    await delete_question(runtime, caller.user_id, question_id)
    return Response(status_code=204)


def _question_json(question: Question) -> dict[str, Any]:
    answer = question.answer
    return {
        "id": str(question.id),
        "question": question.question,
        "status": question.status,
        "error": question.error,
        "told": bool(answer.claims) if question.status == "ready" else None,
        "model": question.model,
        "built_in": question.model == EXTRACT,
        "fallback": answer.fallback,
        "entries": answer.read,
        "dropped": answer.dropped,
        **scope_json(question.scope),
        "created_at": moment(question.created_at),
        "finished_at": moment(question.finished_at),
        "claims": [sentence_json(claim) for claim in answer.claims],
        "sources": [source_json(source) for source in answer.sources],
    }
