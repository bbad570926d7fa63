"""The AI queue for operators: status, costs, failures, pause and retry."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from reedbed.domain.ai import MILLIONTHS, Budget, Usage
from reedbed.domain.times import Instant
from reedbed.http.auth import CurrentAdmin, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.responses import json_response, moment
from reedbed.services.ai import AiStatus, ai_status, reprocess, retry_all, set_paused
from reedbed.store import ai, summaries
from reedbed.store.ai import QueuedRow

router = APIRouter(prefix="/api/v1/admin/ai", tags=["operator"])

MAX_LINES = 200


class PauseRequest(ApiModel):
    paused: bool


class ReprocessRequest(ApiModel):
    content_hash: str = Field(pattern="^[0-9a-f]{64}$", examples=["0" * 64])


class UsageResponse(ApiModel):
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float


class DayResponse(UsageResponse):
    day: str


class QueueResponse(ApiModel):
    waiting: int
    running: int
    cooling: int
    failures: int


class AiResponse(ApiModel):
    model: str
    fallback: str | None
    paused: bool
    circuit_breaker: str = Field(examples=["CLOSED"])
    consecutive_failures: int
    last_failure_at: str | None
    last_success_at: str | None
    rate_limited_until: str | None
    queue: QueueResponse
    today: UsageResponse
    month: UsageResponse
    budget: dict[str, float | None]
    days: list[DayResponse]


class QueuedTextResponse(ApiModel):
    content_hash: str
    model: str
    priority: int
    attempts: int
    last_error: str | None
    error_type: str | None
    locked_at: str | None
    cooldown_until: str | None
    created_at: str


class QueuedTextList(ApiModel):
    items: list[QueuedTextResponse]
    next_cursor: str | None


class FailureResponse(ApiModel):
    content_hash: str
    last_error: str | None
    failed_at: str


class FailureList(ApiModel):
    items: list[FailureResponse]
    next_cursor: str | None


@router.get(
    "", summary="Get the queue, circuit breaker, costs and budgets", responses={200: {"model": AiResponse}}
)
async def status(runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    return json_response(_status_json(await ai_status(runtime)))


@router.get(
    "/queue", summary="List queued texts in processing order", responses={200: {"model": QueuedTextList}}
)
async def queue(runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    async with runtime.db.read() as tx:
        rows = await ai.list_queued(tx, most=MAX_LINES)
    return json_response({"items": [_queued_json(row) for row in rows], "next_cursor": None})


@router.get(
    "/failures",
    summary="List texts that failed for good, newest first",
    description="After `POST …/reprocess` with its hash, a text is summarised when it is opened next.",
    responses={200: {"model": FailureList}},
)
async def failures(runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    async with runtime.db.read() as tx:
        rows = await summaries.newest_failures(tx, most=MAX_LINES)
    items = [{**asdict(row), "failed_at": moment(row.failed_at)} for row in rows]
    return json_response({"items": items, "next_cursor": None})


@router.put("/paused", summary="Pause or resume the model", responses={200: {"model": AiResponse}})
async def pause(runtime: CurrentRuntime, caller: CurrentAdmin, body: PauseRequest) -> Response:
    await set_paused(runtime, paused=body.paused)
    return json_response(_status_json(await ai_status(runtime)))


@router.post("/retry", summary="Retry texts now that wait after a failure")
async def retry(runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    return json_response({"ok": True, "queued": await retry_all(runtime)})


@router.post("/reprocess", summary="Delete the stored results of a text")
async def reprocess_text(runtime: CurrentRuntime, caller: CurrentAdmin, body: ReprocessRequest) -> Response:
    return json_response({"ok": True, "forgotten": await reprocess(runtime, body.content_hash)})


def _status_json(status: AiStatus) -> dict[str, Any]:
    breaker = status.breaker
    return {
        "model": status.model,
        "fallback": status.fallback,
        "paused": status.paused,
        "circuit_breaker": status.state,
        "consecutive_failures": breaker.failures,
        "last_failure_at": moment(breaker.last_failure_at),
        "last_success_at": moment(breaker.last_success_at),
        "rate_limited_until": moment(breaker.rate_limited_until),
        "queue": {**asdict(status.queue), "failures": status.failures},
        "today": _usage_json(status.today),
        "month": _usage_json(status.month),
        "budget": _budget_json(status.budget),
        "days": [_day_json(day, used) for day, used in status.days],
    }


def _usage_json(usage: Usage) -> dict[str, Any]:
    return {**asdict(usage), "cost": usage.cost / MILLIONTHS}


def _day_json(day: Instant, usage: Usage) -> dict[str, Any]:
    return {"day": (moment(day) or "")[:10], **_usage_json(usage)}


def _budget_json(budget: Budget) -> dict[str, float | None]:
    limits: dict[str, int | None] = asdict(budget)
    return {
        name: limit / MILLIONTHS if limit is not None and name.endswith("cost") else limit
        for name, limit in limits.items()
    }


def _queued_json(queued: QueuedRow) -> dict[str, Any]:
    time_fields = ("locked_at", "cooldown_until", "created_at")
    row = {**asdict(queued), **{name: moment(getattr(queued, name)) for name in time_fields}}
    row.pop("id")
    return row
