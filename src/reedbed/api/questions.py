"""Questions over one's own entries, each claim of the answer with the entries that say it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from reedbed.domain.digests import Scope, Source
from reedbed.domain.paging import page_limit
from reedbed.domain.questions import Claim, Question
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.texts import storable
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath, JsonId
from reedbed.http.json import json_response, moment, text_id
from reedbed.http.keysets import before_of, cursor_after
from reedbed.http.limits import SearchLimit
from reedbed.services.questions import ask_question, delete_question, get_question
from reedbed.store import questions

router = APIRouter(prefix="/api/v1/questions", tags=["questions"])

_LIST = "questions"


class QuestionBody(BaseModel):
    """Without a scope: over everything you can read."""

    question: str = Field(max_length=2_000, examples=["What did the council say about the bridge?"])
    folder_id: JsonId | None = None
    tag: str | None = Field(default=None, max_length=200)
    q: str | None = Field(default=None, max_length=500, description="Only among what this search finds.")


class ClaimOut(BaseModel):
    text: str
    entry_ids: list[str]


class SourceOut(BaseModel):
    entry_id: str
    title: str
    feed_title: str
    at: str


class QuestionOut(BaseModel):
    id: str
    question: str
    status: str = Field(description="pending, ready or failed")
    error: str | None
    told: bool | None = Field(description="False: the entries do not tell. Null while it is pending.")
    model: str
    built_in: bool = Field(description="The claims are sentences of the entries; no model wrote them.")
    fallback: bool = Field(description="A model was to be asked, but did not answer.")
    entries: int = Field(description="Entries that were read for the answer.")
    dropped: int = Field(description="Claims left out because no entry supported them.")
    folder_id: str | None
    tag: str | None
    q: str | None
    created_at: str
    finished_at: str | None
    claims: list[ClaimOut]
    sources: list[SourceOut]


class QuestionList(BaseModel):
    items: list[QuestionOut]
    next_cursor: str | None


@router.get("", summary="Your questions, newest first", responses={200: {"model": QuestionList}})
async def list_all(
    runtime: RuntimeOf,
    caller: CallerOf,
    limit: Annotated[str | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    size, before = page_limit(limit), before_of(cursor, _LIST)
    async with runtime.db.read() as tx:
        found = await questions.newest(tx, caller.user_id, limit=size + 1, before=before)
    last = found[size - 1].id if len(found) > size else None
    items = [_question(one) for one in found[:size]]
    return json_response({"items": items, "next_cursor": cursor_after(last, _LIST)})


@router.post(
    "",
    status_code=202,
    summary="Ask a question over your entries",
    description=(
        "202 and a pending question. `progress` events with `kind` question and its `question_id` tell the "
        "`stage`: searching, reading, answering (with one `claim` each) and done."
    ),
    responses={202: {"model": QuestionOut}},
)
async def ask(runtime: RuntimeOf, caller: CallerOf, _: SearchLimit, body: QuestionBody) -> Response:
    made = await ask_question(runtime, caller.user, storable(body.question), _scope(body))
    return json_response(_question(made), 202)


@router.get("/{question_id}", summary="One question", responses={200: {"model": QuestionOut}})
async def get(runtime: RuntimeOf, caller: CallerOf, question_id: IdPath) -> Response:
    return json_response(_question(await get_question(runtime, caller.user_id, question_id)))


@router.delete("/{question_id}", status_code=204, summary="Delete a question and its answer")
async def delete(runtime: RuntimeOf, caller: CallerOf, question_id: IdPath) -> Response:
    await delete_question(runtime, caller.user_id, question_id)
    return Response(status_code=204)


def _scope(body: QuestionBody) -> Scope:
    tag, q = (storable(text).strip() or None if text else None for text in (body.tag, body.q))
    return Scope(body.folder_id, tag, q)


def _question(question: Question) -> dict[str, Any]:
    answer, scope = question.answer, question.scope
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
        "folder_id": text_id(scope.folder_id),
        "tag": scope.tag,
        "q": scope.q,
        "created_at": moment(question.created_at),
        "finished_at": moment(question.finished_at),
        "claims": [_claim(one) for one in answer.claims],
        "sources": [_source(one) for one in answer.sources],
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {"text": claim.text, "entry_ids": list(map(str, claim.entry_ids))}


def _source(source: Source) -> dict[str, Any]:
    return {
        "entry_id": str(source.entry_id),
        "title": source.title,
        "feed_title": source.feed,
        "at": moment(source.at),
    }
