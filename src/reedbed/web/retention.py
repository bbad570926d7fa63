"""The admin page of cleanups, and dismissing the notice that unread entries were removed."""

from collections.abc import Iterator
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.failures import load_failure
from reedbed.domain.times import DAY, SECOND, Instant
from reedbed.http.auth import CurrentAdmin, CurrentCaller, CurrentRuntime
from reedbed.services.retention import dismiss_notice, enqueue_cleanup
from reedbed.services.runtime import Runtime
from reedbed.store import instance
from reedbed.store.retention.cleanups import Cleanup, list_cleanups
from reedbed.web.formats import full_time, zone_of
from reedbed.web.i18n import decimal, explain, ngettext, translate
from reedbed.web.pages import is_htmx, local_path, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.instance import CleanupsPage, CleanupView
from reedbed.web.views.layout import Count, Toast

router = APIRouter(include_in_schema=False)

MAX_SHOWN = 90
MEGABYTE = 1_000_000
MEBIBYTE = 1024 * 1024  # the unit of the setting


@router.get("/admin/cleanup")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    now, zone = runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        cleanups = await list_cleanups(tx, limit=MAX_SHOWN)
        warnings = [await instance.get_setting(tx, key) for key in ("db_size_warning", "backup_warning")]
    view = CleanupsPage(
        rules=_rules(runtime),
        warnings=tuple(explain(load_failure(warning)) for warning in warnings if warning),
        lines=tuple(_cleanup_view(cleanup, now, zone) for cleanup in cleanups),
    )
    return await app_page(request, runtime, caller, "retention/cleanups.html", view)


@router.post("/admin/cleanup")
async def start(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    await enqueue_cleanup(runtime, caller.user)
    message = translate("Cleaning up. What was removed appears here when it is done.")
    return see_other(request, "/admin/cleanup", toast=Toast(message))


@router.post("/cleanup-notice/dismiss")
async def dismiss(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    await dismiss_notice(runtime, caller.user_id)
    if is_htmx(request):
        return Response(status_code=200)
    form = await request.form()
    return see_other(request, local_path(str(form.get("next") or "/"), "/"))


def _rules(runtime: Runtime) -> tuple[str, ...]:
    """The retention settings as sentences."""
    keeping, limits = runtime.keeping, runtime.keeping.limits
    rules: list[str] = []
    if limits.age is not None:
        days = limits.age // DAY
        rules.append(_age_rule(days))
    if limits.entries is not None:
        rules.append(
            ngettext(
                "Of each feed the newest entry stays.", "Of each feed the newest %(num)s entries stay.", limits.entries
            )
        )
    if limits.unread_age is not None:
        days = limits.unread_age // DAY
        rules.append(ngettext("Unread entries stay for %(num)s day.", "Unread entries stay for %(num)s days.", days))
    if keeping.size is not None:
        rules.append(translate("The database may have %(size)s MB.", size=keeping.size // MEBIBYTE))
    return tuple(rules)


def _cleanup_view(cleanup: Cleanup, now: Instant, zone: tzinfo) -> CleanupView:
    took = None if cleanup.finished_at is None else (cleanup.finished_at - cleanup.started_at) / SECOND
    return CleanupView(
        when=full_time(cleanup.started_at, now, zone).words,
        took=translate("not finished") if took is None else f"{decimal(took, 1)} s",
        removed=Count(cleanup.entries_removed),
        unread=Count(cleanup.unread_removed),
        articles=Count(cleanup.articles_cleared),
        feeds=Count(cleanup.feeds_removed),
        freed=translate("%(size)s MB", size=decimal(cleanup.bytes_freed / MEGABYTE, 1)),
        notes=" ".join(_notes(cleanup)),
    )


def _notes(cleanup: Cleanup) -> Iterator[str]:
    if cleanup.age_days is not None:
        yield _age_rule(cleanup.age_days)
    yield from map(explain, cleanup.problems)


def _age_rule(days: int) -> str:
    return ngettext("Read entries stay for %(num)s day.", "Read entries stay for %(num)s days.", days)
