"""Status of the instance."""

from typing import Annotated

from pydantic import Field

from reedbed.domain.records import record
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ResponseModel
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.instance import current_status

router = ApiRouter(prefix="/api/v1/status", tags=["health"])


@record
class ProblemResponse(ResponseModel):
    check: Annotated[str, Field(examples=["disk"])]
    text: str
    alarm: Annotated[bool, Field(description="Severe: feeds are not updated or nothing can be saved.")]


@record
class StatusResponse(ResponseModel):
    feeds_count: int
    posts_count: int
    unread_count: int
    queue_size: int
    circuit_breaker: Annotated[str, Field(examples=["CLOSED"])]
    health_warning: str | None
    db_size_mb: Annotated[float | None, Field(description="For operators; null for others.")]
    problems: Annotated[
        list[ProblemResponse] | None,
        Field(description="Current problems and how to fix them. For operators; null for others."),
    ]
    version: str


@router.get("", summary="Get counts, queue, circuit breaker, warnings and version")
async def get(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[StatusResponse]:
    status = await current_status(runtime, caller.user)
    problems = None if status.problems is None else [ProblemResponse.of(problem) for problem in status.problems]
    return Json(StatusResponse.of(status, problems=problems))
