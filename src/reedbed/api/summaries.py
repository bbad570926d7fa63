"""The summary of an entry."""

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
        description="paused (by the operator), budget (used up), silence (of the model)",
        examples=["paused"],
    )
    until: str | None = Field(description="The next try, where it is known.")


class SummaryResponse(ApiModel):
    status: str = Field(description="ready, pending or failed", examples=["ready"])
    summary: str | None
    one_line_summary: str | None = Field(description="At most 140 characters.")
    language: str | None
    model: str = Field(
        description="Who wrote it, or is asked to; `extract` is built in.", examples=["extract"]
    )
    built_in: bool = Field(description="Sentences of the article itself; nothing was sent anywhere.")
    fallback: bool = Field(
        description="The built-in extract stands in for a model that failed (`error`) or waits (`waiting`)."
    )
    error: str | None
    waiting: WaitResponse | None = Field(description="Why the model is not asked now.")


@router.get(
    "/{entry_id}/summary",
    summary="The summary, which is asked for where there is none",
    description="Answers at once; while it is `pending`, an `entry_updated` event tells when to look again.",
    responses={200: {"model": SummaryResponse}},
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(await _summary(runtime, caller, entry_id))


@router.post(
    "/{entry_id}/summary",
    status_code=202,
    summary="Try a failed one again",
    responses={202: {"model": SummaryResponse}},
)
async def again(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    return json_response(await _summary(runtime, caller, entry_id, again=True), 202)


async def _summary(runtime: Runtime, caller: Caller, entry_id: int, *, again: bool = False) -> dict[str, Any]:
    state = await get_summary(runtime, caller.user, entry_id, again=again)
    found, wait = state.summary, state.wait
    return {
        "status": state.status,
        "summary": found.text if found else None,
        "one_line_summary": found.one_line if found else None,
        "language": found.language or None if found else None,
        "model": state.model,
        "built_in": state.model == EXTRACT,
        "fallback": state.fallback,
        "error": state.error,
        "waiting": {"cause": wait.cause, "until": moment(wait.until)} if wait else None,
    }
