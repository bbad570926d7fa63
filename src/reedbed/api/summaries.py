"""Summaries of entries."""

from typing import Annotated

from pydantic import Field

from reedbed.domain.records import record
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import FailureName, FailureText, ResponseModel, Timestamp
from reedbed.http.params import IdPath
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import get_summary

router = ApiRouter(prefix="/api/v1/entries", tags=["summaries"])


@record
class WaitResponse(ResponseModel):
    cause: Annotated[
        str,
        Field(
            description="paused (by the operator), budget (used up) or silence (the model does not respond)",
            examples=["paused"],
        ),
    ]
    until: Annotated[Timestamp | None, Field(description="Time of the next try, if known.")]


@record
class SummaryResponse(ResponseModel):
    status: Annotated[str, Field(description="ready, pending or failed", examples=["ready"])]
    summary: str | None
    one_line_summary: Annotated[str | None, Field(description="At most 140 characters.")]
    language: str | None
    model: Annotated[
        str, Field(description="The model that wrote or will write it; `extract` is built in.", examples=["extract"])
    ]
    built_in: Annotated[bool, Field(description="Made of sentences from the article; nothing was sent to a model.")]
    fallback: Annotated[
        bool, Field(description="The built-in extract replaces a model that failed (`error`) or waits (`waiting`).")
    ]
    needed: Annotated[
        bool, Field(description="False: the text is short or its opening says it all, so there is no summary.")
    ]
    error: FailureText
    error_code: FailureName
    waiting: Annotated[WaitResponse | None, Field(description="Why the model is not used now.")]


@router.get(
    "/{entry_id}/summary",
    summary="Get the summary; requests one if there is none",
    description="Returns at once; if the status is `pending`, an `entry_updated` event follows.",
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[SummaryResponse]:
    return Json(await _summary_response(runtime, caller, entry_id))


@router.post("/{entry_id}/summary", status_code=202, summary="Retry a failed summary")
async def again(runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Json[SummaryResponse]:
    return Json(await _summary_response(runtime, caller, entry_id, again=True), 202)


async def _summary_response(runtime: Runtime, caller: Caller, entry_id: int, *, again: bool = False) -> SummaryResponse:
    state = await get_summary(runtime, caller.user, entry_id, again=again)
    summary = state.summary
    return SummaryResponse.of(
        state,
        summary=summary and summary.text,
        one_line_summary=summary and summary.one_line,
        language=summary and (summary.language or None),
        built_in=state.model == EXTRACT,
        waiting=state.wait and WaitResponse.of(state.wait),
    )
