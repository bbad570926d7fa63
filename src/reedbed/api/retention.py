"""What retention removed: the log for operators, and a word to those whose unread entries went."""

from typing import Any

from fastapi import APIRouter, Response

from reedbed.domain.pagination import page_limit
from reedbed.http.auth import AdminOf, CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import json_response, moment
from reedbed.services.retention import ask_for_cleanup, dismiss_notice, notice_for
from reedbed.store import retention
from reedbed.store.retention import Cleanup

router = APIRouter()

_LIST = "cleanups"


class CleanupResponse(ApiModel):
    id: str
    started_at: str
    finished_at: str | None
    posts_removed: int
    unread_removed: int
    full_content_cleared: int
    summaries_cleared: int
    feeds_removed: int
    bytes_freed: int
    duration_seconds: float | None
    age_days: int | None
    notes: str


class CleanupList(ApiModel):
    items: list[CleanupResponse]
    next_cursor: str | None


class NoticeResponse(ApiModel):
    unread_removed: int
    removed_at: str | None


@router.get(
    "/api/v1/admin/cleanups",
    tags=["operator"],
    summary="What the cleanups of the last 90 days removed, newest first",
    responses={200: {"model": CleanupList}},
)
async def list_cleanups(
    runtime: CurrentRuntime,
    caller: AdminOf,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, before = page_limit(limit), before_of(cursor, _LIST)
    async with runtime.db.read() as tx:
        found = await retention.list_cleanups(tx, limit=size + 1, before=before)
    return newest_first(found, size, _LIST, _cleanup)


@router.post("/api/v1/admin/cleanups", status_code=202, tags=["operator"], summary="Clean up now")
async def start_cleanup(runtime: CurrentRuntime, caller: AdminOf) -> Response:
    return json_response({"job_id": str(await ask_for_cleanup(runtime, caller.user))}, 202)


@router.get(
    "/api/v1/cleanup-notice",
    tags=["entries"],
    summary="How many of the user's unread entries were removed because of their age",
    responses={200: {"model": NoticeResponse}},
)
async def get_notice(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    found = await notice_for(runtime, caller.user_id)
    if found is None:
        return json_response({"unread_removed": 0, "removed_at": None})
    return json_response({"unread_removed": found.unread_removed, "removed_at": moment(found.removed_at)})


@router.delete("/api/v1/cleanup-notice", status_code=204, tags=["entries"], summary="The user has seen it")
async def delete_notice(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await dismiss_notice(runtime, caller.user_id)
    return Response(status_code=204)


def _cleanup(one: Cleanup) -> dict[str, Any]:
    took = None if one.finished_at is None else (one.finished_at - one.started_at) / 1000
    return {
        "id": str(one.id),
        "started_at": moment(one.started_at),
        "finished_at": moment(one.finished_at),
        "posts_removed": one.entries_removed,
        "unread_removed": one.unread_removed,
        "full_content_cleared": one.articles_cleared,
        "summaries_cleared": one.failures_removed,
        "feeds_removed": one.feeds_removed,
        "bytes_freed": one.bytes_freed,
        "duration_seconds": took,
        "age_days": one.age_days,
        "notes": one.notes,
    }
