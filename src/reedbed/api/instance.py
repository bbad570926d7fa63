"""Status of the instance."""

from dataclasses import asdict

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.responses import json_response
from reedbed.services.instance import current_status

router = APIRouter(prefix="/api/v1/status", tags=["health"])


class ProblemResponse(ApiModel):
    check: str = Field(examples=["disk"])
    text: str
    alarm: bool = Field(description="Severe: feeds are not updated or nothing can be saved.")


class StatusResponse(ApiModel):
    feeds_count: int
    posts_count: int
    unread_count: int
    queue_size: int
    circuit_breaker: str = Field(examples=["CLOSED"])
    health_warning: str | None
    db_size_mb: float | None = Field(description="For operators; null for others.")
    problems: list[ProblemResponse] | None = Field(
        description="Current problems and how to fix them. For operators; null for others."
    )
    version: str


@router.get(
    "",
    summary="Get counts, queue, circuit breaker, warnings and version",
    responses={200: {"model": StatusResponse}},
)
async def get(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return json_response(asdict(await current_status(runtime, caller.user)))
