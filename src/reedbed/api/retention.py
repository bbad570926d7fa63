"""Retention: the cleanup log for operators, and the notice to users whose unread entries were removed."""

from fastapi import Response

from reedbed.domain.pagination import page_limit
from reedbed.domain.records import record
from reedbed.http.auth import CurrentAdmin, CurrentCaller, CurrentRuntime
from reedbed.http.models import JobResponse, JsonId, ListPage, ResponseModel, Timestamp
from reedbed.http.params import PageCursor, PageLimit, before_of, newest_first
from reedbed.http.responses import ApiRouter, Json
from reedbed.services.retention import dismiss_notice, enqueue_cleanup, notice_for
from reedbed.store.retention import cleanups
from reedbed.store.retention.cleanups import Cleanup

router = ApiRouter()

_CURSOR_VIEW = "cleanups"


@record
class CleanupResponse(ResponseModel):
    id: JsonId
    started_at: Timestamp
    finished_at: Timestamp | None
    posts_removed: int
    unread_removed: int
    full_content_cleared: int
    summaries_cleared: int
    feeds_removed: int
    bytes_freed: int
    duration_seconds: float | None
    age_days: int | None
    notes: str


@record
class NoticeResponse(ResponseModel):
    unread_removed: int
    removed_at: Timestamp | None


@router.get("/api/v1/admin/cleanups", tags=["operator"], summary="List the cleanups of the last 90 days, newest first")
async def list_cleanups(
    runtime: CurrentRuntime, caller: CurrentAdmin, limit: PageLimit = None, cursor: PageCursor = None
) -> Json[ListPage[CleanupResponse]]:
    size, before = page_limit(limit), before_of(cursor, _CURSOR_VIEW)
    async with runtime.db.read() as tx:
        rows = await cleanups.list_cleanups(tx, limit=size + 1, before=before)
    return newest_first(rows, size, _CURSOR_VIEW, _cleanup_response)


@router.post("/api/v1/admin/cleanups", status_code=202, tags=["operator"], summary="Start a cleanup")
async def start_cleanup(runtime: CurrentRuntime, caller: CurrentAdmin) -> Json[JobResponse]:
    return Json(JobResponse(await enqueue_cleanup(runtime, caller.user)), 202)


@router.get(
    "/api/v1/cleanup-notice",
    tags=["entries"],
    summary="Get the number of your unread entries removed because of their age",
)
async def get_notice(runtime: CurrentRuntime, caller: CurrentCaller) -> Json[NoticeResponse]:
    notice = await notice_for(runtime, caller.user_id)
    if notice is None:
        return Json(NoticeResponse(0, None))
    return Json(NoticeResponse.of(notice))


@router.delete("/api/v1/cleanup-notice", status_code=204, tags=["entries"], summary="Dismiss the cleanup notice")
async def delete_notice(runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await dismiss_notice(runtime, caller.user_id)
    return Response(status_code=204)


def _cleanup_response(cleanup: Cleanup) -> CleanupResponse:
    duration = None if cleanup.finished_at is None else (cleanup.finished_at - cleanup.started_at) / 1000
    return CleanupResponse.of(
        cleanup,
        posts_removed=cleanup.entries_removed,
        full_content_cleared=cleanup.articles_cleared,
        summaries_cleared=cleanup.failures_removed,
        duration_seconds=duration,
    )
