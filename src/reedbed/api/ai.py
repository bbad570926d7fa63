"""The AI queue for operators: status, costs, failures, pause and retry."""

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from reedbed.domain.ai import MILLIONTHS, Usage
from reedbed.domain.records import record
from reedbed.domain.times import rfc3339
from reedbed.http.auth import CurrentAdmin, CurrentRuntime
from reedbed.http.models import ApiModel, FailureName, FailureText, ListPage, ResponseModel, Timestamp
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.ai import AiStatus, ai_status, reprocess, retry_all, set_paused
from reedbed.store import ai, summaries

router = ApiRouter(prefix="/api/v1/admin/ai", tags=["operator"])

MAX_LINES = 200


class PauseRequest(ApiModel):
    paused: bool


class ReprocessRequest(ApiModel):
    content_hash: str = Field(pattern="^[0-9a-f]{64}$", examples=["0" * 64])


@record
class UsageResponse(ResponseModel):
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float


@record
class DayResponse(UsageResponse):
    day: str


@record
class QueueResponse(ResponseModel):
    waiting: int
    running: int
    cooling: int
    failures: int


@record
class AiResponse(ResponseModel):
    model: str
    fallback: str | None
    paused: bool
    circuit_breaker: Annotated[str, Field(examples=["CLOSED"])]
    consecutive_failures: int
    last_failure_at: Timestamp | None
    last_success_at: Timestamp | None
    rate_limited_until: Timestamp | None
    queue: QueueResponse
    today: UsageResponse
    month: UsageResponse
    budget: dict[str, float | None]
    days: list[DayResponse]


@record
class QueuedTextResponse(ResponseModel):
    content_hash: str
    model: str
    priority: int
    attempts: int
    last_error: FailureText
    last_error_code: FailureName
    error_type: str | None
    locked_at: Timestamp | None
    cooldown_until: Timestamp | None
    created_at: Timestamp


@record
class FailureResponse(ResponseModel):
    content_hash: str
    last_error: FailureText
    last_error_code: FailureName
    failed_at: Timestamp


@record
class RetriedResponse(ResponseModel):
    ok: bool
    queued: int


@record
class ReprocessedResponse(ResponseModel):
    ok: bool
    forgotten: bool


@router.get("", summary="Get the queue, circuit breaker, costs and budgets")
async def status(runtime: CurrentRuntime, caller: CurrentAdmin) -> Json[AiResponse]:
    return Json(_status_response(await ai_status(runtime)))


@router.get("/queue", summary="List queued texts in processing order")
async def queue(runtime: CurrentRuntime, caller: CurrentAdmin) -> Json[ListPage[QueuedTextResponse]]:
    async with runtime.db.read() as tx:
        rows = await ai.list_queued(tx, limit=MAX_LINES)
    return Json(ListPage([QueuedTextResponse.of(row) for row in rows]))


@router.get(
    "/failures",
    summary="List texts that failed for good, newest first",
    description="After `POST …/reprocess` with its hash, a text is summarised when it is opened next.",
)
async def failures(runtime: CurrentRuntime, caller: CurrentAdmin) -> Json[ListPage[FailureResponse]]:
    async with runtime.db.read() as tx:
        rows = await summaries.newest_failures(tx, limit=MAX_LINES)
    return Json(ListPage([FailureResponse.of(row) for row in rows]))


@router.put("/paused", summary="Pause or resume the model")
async def pause(runtime: CurrentRuntime, caller: CurrentAdmin, body: PauseRequest) -> Json[AiResponse]:
    await set_paused(runtime, paused=body.paused)
    return Json(_status_response(await ai_status(runtime)))


@router.post("/retry", summary="Retry texts now that wait after a failure")
async def retry(runtime: CurrentRuntime, caller: CurrentAdmin) -> Json[RetriedResponse]:
    return Json(RetriedResponse(ok=True, queued=await retry_all(runtime)))


@router.post("/reprocess", summary="Delete the stored results of a text")
async def reprocess_text(
    runtime: CurrentRuntime, caller: CurrentAdmin, body: ReprocessRequest
) -> Json[ReprocessedResponse]:
    return Json(ReprocessedResponse(ok=True, forgotten=await reprocess(runtime, body.content_hash)))


def _status_response(status: AiStatus) -> AiResponse:
    return AiResponse.of(
        status,
        status.breaker,
        circuit_breaker=status.state,
        consecutive_failures=status.breaker.failures,
        queue=QueueResponse.of(status.queue, failures=status.failures),
        today=_usage_response(status.today),
        month=_usage_response(status.month),
        budget={
            name: limit / MILLIONTHS if limit is not None and name.endswith("cost") else limit
            for name, limit in asdict(status.budget).items()
        },
        days=[DayResponse.of(used, day=rfc3339(day)[:10], cost=used.cost / MILLIONTHS) for day, used in status.days],
    )


def _usage_response(usage: Usage) -> UsageResponse:
    return UsageResponse.of(usage, cost=usage.cost / MILLIONTHS)
