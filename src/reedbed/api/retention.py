"""Retention: the cleanup log for operators, and the notice to users whose unread entries were removed."""

from typing import Any

from fastapi import APIRouter, Response

from reedbed.domain.pagination import page_limit
from reedbed.http.auth import CurrentAdmin, CurrentCaller, CurrentRuntime
from reedbed.http.models import ApiModel
from reedbed.http.params import PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import json_response, moment
from reedbed.services.retention import dismiss_notice, enqueue_cleanup, notice_for
from reedbed.store import retention
from reedbed.store.retention import Cleanup

router = APIRouter()

_CURSOR_VIEW = "cleanups"


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
    summary="List the cleanups of the last 90 days, newest first",
    responses={200: {"model": CleanupList}},
)
async def list_cleanups(
    runtime: CurrentRuntime,
    caller: CurrentAdmin,
    limit: PageLimit = None,
    cursor: PageCursor = None,
) -> Response:
    size, before = page_limit(limit), before_of(cursor, _CURSOR_VIEW)
    async with runtime.db.read() as tx:
        rows = await retention.list_cleanups(tx, limit=size + 1, before=before)
    return newest_first(rows, size, _CURSOR_VIEW, _cleanup_json)


@router.post("/api/v1/admin/cleanups", status_code=202, tags=["operator"], summary="Start a cleanup")
async def start_cleanup(runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    return json_response({"job_id": str(await enqueue_cleanup(runtime, caller.user))}, 202)


@router.get(
    "/api/v1/cleanup-notice",
    tags=["entries"],
    summary="Get the number of your unread entries removed because of their age",
    responses={200: {"model": NoticeResponse}},
)
async def get_notice(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    notice = await notice_for(runtime, caller.user_id)
    if notice is None:
        return json_response({"unread_removed": 0, "removed_at": None})
    return json_response({"unread_removed": notice.unread_removed, "removed_at": moment(notice.removed_at)})


@router.delete(
    "/api/v1/cleanup-notice", status_code=204, tags=["entries"], summary="Dismiss the cleanup notice"
)
async def delete_notice(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await dismiss_notice(runtime, caller.user_id)
    return Response(status_code=204)


def _cleanup_json(cleanup: Cleanup) -> dict[str, Any]:
    duration = None if cleanup.finished_at is None else (cleanup.finished_at - cleanup.started_at) / 1000
    return {
        "id": str(cleanup.id),
        "started_at": moment(cleanup.started_at),
        "finished_at": moment(cleanup.finished_at),
        "posts_removed": cleanup.entries_removed,
        "unread_removed": cleanup.unread_removed,
        "full_content_cleared": cleanup.articles_cleared,
        "summaries_cleared": cleanup.failures_removed,
        "feeds_removed": cleanup.feeds_removed,
        "bytes_freed": cleanup.bytes_freed,
        "duration_seconds": duration,
        "age_days": cleanup.age_days,
        "notes": cleanup.notes,
    }
