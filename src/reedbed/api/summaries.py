"""The summary of an entry."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from reedbed.domain.summaries import EXTRACT, SummaryState
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.http.json import json_response
from reedbed.services.summaries import get_summary

router = APIRouter(prefix="/api/v1/entries", tags=["summaries"])


class SummaryOut(BaseModel):
    status: str = Field(description="ready, pending or failed", examples=["ready"])
    summary: str | None
    one_line_summary: str | None = Field(description="At most 140 characters.")
    language: str | None
    model: str = Field(
        description="Who wrote it, or is asked to; `extract` is built in.", examples=["extract"]
    )
    built_in: bool = Field(description="Sentences of the article itself; nothing was sent anywhere.")
    error: str | None


@router.get(
    "/{entry_id}/summary",
    summary="The summary, which is asked for where there is none",
    description="Answers at once; while it is `pending`, an `entry_updated` event tells when to look again.",
    responses={200: {"model": SummaryOut}},
)
async def get(runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath) -> Response:
    return json_response(_summary(await get_summary(runtime, caller.user, entry_id)))


@router.post(
    "/{entry_id}/summary",
    status_code=202,
    summary="Try a failed one again",
    responses={202: {"model": SummaryOut}},
)
async def again(runtime: RuntimeOf, caller: CallerOf, entry_id: IdPath) -> Response:
    return json_response(_summary(await get_summary(runtime, caller.user, entry_id, again=True)), 202)


def _summary(state: SummaryState) -> dict[str, Any]:
    found = state.summary
    return {
        "status": state.status,
        "summary": found.text if found else None,
        "one_line_summary": found.one_line if found else None,
        "language": found.language or None if found else None,
        "model": state.model,
        "built_in": state.model == EXTRACT,
        "error": state.error,
    }
