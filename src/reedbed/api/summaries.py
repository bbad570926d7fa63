"""Summaries of entries."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.summaries import EXTRACT
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import IdPath
from reedbed.http.responses import json_response, moment
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import get_summary

router = APIRouter(prefix="/api/v1/entries", tags=["summaries"])


class WaitResponse(ApiModel):
    cause: str = Field(
        description="paused (by the operator), budget (used up) or silence (the model does not respond)",
        examples=["paused"],
    )
    until: str | None = Field(description="Time of the next try, if known.")


class SummaryResponse(ApiModel):
    status: str = Field(description="ready, pending or failed", examples=["ready"])
    summary: str | None
    one_line_summary: str | None = Field(description="At most 140 characters.")
    language: str | None
    model: str = Field(
        description="The model that wrote or will write it; `extract` is built in.", examples=["extract"]
    )
    built_in: bool = Field(description="Made of sentences from the article; nothing was sent to a model.")
    fallback: bool = Field(
        description="The built-in extract replaces a model that failed (`error`) or waits (`waiting`)."
    )
    error: str | None
    waiting: WaitResponse | None = Field(description="Why the model is not used now.")


@router.get(
    "/{entry_id}/summary",
    summary="Get the summary; requests one if there is none",
    description="Returns at once; if the status is `pending`, an `entry_updated` event follows.",
    responses={200: {"model": SummaryResponse}},
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(await _summary_json(runtime, caller, entry_id))


@router.post(
    "/{entry_id}/summary",
    status_code=202,
    summary="Retry a failed summary",
    responses={202: {"model": SummaryResponse}},
)
async def again(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(await _summary_json(runtime, caller, entry_id, again=True), 202)


async def _summary_json(
    runtime: Runtime, caller: Caller, entry_id: int, *, again: bool = False
) -> dict[str, Any]:
    state = await get_summary(runtime, caller.user, entry_id, again=again)
    summary, wait = state.summary, state.wait
    return {
        "status": state.status,
        "summary": summary.text if summary else None,
        "one_line_summary": summary.one_line if summary else None,
        "language": summary.language or None if summary else None,
        "model": state.model,
        "built_in": state.model == EXTRACT,
        "fallback": state.fallback,
        "error": state.error,
        "waiting": {"cause": wait.cause, "until": moment(wait.until)} if wait else None,
    }
