"""Import and export: OPML, export files of other readers, and a Miniflux server."""

from collections.abc import Awaitable, Sequence
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.transfer import ImportLine as ReportedLine
from reedbed.domain.transfer import ImportReport, LineStatus
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime, check_reads_passwords
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, received_bytes, received_file
from reedbed.services.auth import check_confirmed
from reedbed.services.runtime import Runtime
from reedbed.services.transfer.jobs import Import, get_import, start_file, start_miniflux
from reedbed.services.transfer.opml import TRUNCATED_FILE, export_opml, import_opml
from reedbed.web.i18n import enumerated, explain, marked, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import AddPage, ImportLineView, ImportProgress
from reedbed.web.views.layout import Count

router = APIRouter(include_in_schema=False)

MAX_LINES = 2_000
"""How many lines of a report are shown."""
_STATUS: dict[LineStatus, tuple[str, str]] = {
    "error": (marked("Not added"), "bad"),
    "skipped": (marked("Skipped"), ""),
    "duplicate": (marked("Listed twice"), ""),
    "moved": (marked("Moved"), ""),
    "followed": (marked("There already"), ""),
    "added": (marked("Added"), "good"),
}


@router.get("/opml")
async def download_opml(runtime: CurrentRuntime, caller: CurrentCaller, credentials: bool = False) -> Response:
    if credentials:
        check_reads_passwords(caller)
        await check_confirmed(runtime, caller)
    headers = {"Content-Disposition": 'attachment; filename="reedbed.opml"', "Cache-Control": "private, no-store"}
    opml = await export_opml(runtime, caller.user_id, with_credentials=credentials)
    return Response(opml, 200, headers, "text/x-opml; charset=utf-8")


@router.post("/opml")
async def upload_opml(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """Respond with the report; the live stream reports the progress meanwhile."""
    try:
        name, body = await received_bytes(request)
        report = await import_opml(runtime, caller.user_id, body)
    except Invalid as error:
        return await _show_error(request, runtime, caller, error)
    view = AddPage(progress=progress_of(name, report))
    if is_htmx(request):
        return await page(request, "feeds/add.html", view, block="progress")
    return await app_page(request, runtime, caller, "feeds/add.html", view)


def progress_of(name: str, report: ImportReport) -> ImportProgress:
    total = len(report.lines)
    parts = [ngettext("%(num)s added", "%(num)s added", report.imported)]
    if report.skipped:
        parts.append(ngettext("%(num)s was there already", "%(num)s were there already", report.skipped))
    if report.errors:
        parts.append(ngettext("%(num)s needs a look", "%(num)s need a look", len(report.errors)))
    return ImportProgress(
        name or translate("The list"),
        Count(total),
        Count(total),
        translate("Report: %(parts)s", parts=enumerated(parts)),
        lines_of(report.lines),
    )


def lines_of(lines: Sequence[ReportedLine]) -> tuple[ImportLineView, ...]:
    """Problems first, because a long report is cut."""
    ordered = sorted(lines, key=lambda line: list(_STATUS).index(line.status))
    return tuple(
        ImportLineView(_title(line), line.url, translate(label), kind, explain(line.failure))
        for line in ordered[:MAX_LINES]
        for label, kind in (_STATUS[line.status],)
    )


def _title(line: ReportedLine) -> str:
    return translate("The rest of the file") if line == TRUNCATED_FILE else line.title


imports_router = APIRouter(include_in_schema=False)


@imports_router.post("/import")
async def bring_file(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    try:
        async with received_file(request) as (name, path):
            return await _begin(request, runtime, caller, start_file(runtime, caller.user_id, name, path))
    except Invalid as error:
        return await _show_error(request, runtime, caller, error)


@imports_router.post("/import/miniflux")
async def bring_miniflux(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    url: Annotated[str, Form(max_length=2_048)] = "",
    token: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    return await _begin(request, runtime, caller, start_miniflux(runtime, caller.user_id, url, token))


@imports_router.get("/import")
@imports_router.get("/import/miniflux")
async def back_to_form(request: Request, _caller: CurrentCaller) -> Response:
    """Opening the target URL of a form shows the page with the form."""
    return see_other(request, "/add")


@imports_router.get("/import/{import_id}")
async def look(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, import_id: IdPath) -> Response:
    """Show the progress; the page polls until the import has finished."""
    return await _show(request, runtime, caller, await get_import(runtime, caller.user_id, import_id))


async def _begin(request: Request, runtime: Runtime, caller: Caller, starting: Awaitable[Import]) -> Response:
    try:
        started = await starting
    except ReedbedError as error:
        return await _show_error(request, runtime, caller, error)
    if is_htmx(request):
        return await _show(request, runtime, caller, started)
    return see_other(request, f"/import/{started.id}")


async def _show(request: Request, runtime: Runtime, caller: Caller, job: Import) -> Response:
    view = AddPage(import_error=explain(job.error)) if job.error else AddPage(progress=import_progress(job))
    if is_htmx(request):
        return await page(request, "feeds/add.html", view, block="progress")
    return await app_page(request, runtime, caller, "feeds/add.html", view)


async def _show_error(request: Request, runtime: Runtime, caller: Caller, error: ReedbedError) -> Response:
    """htmx swaps in the error in place of the report."""
    view, status = AddPage(import_error=explain(error)), status_of(error)
    if is_htmx(request):
        headers = {"HX-Retarget": "#import", "HX-Reswap": "innerHTML"}
        return await page(request, "feeds/add.html", view, block="progress", status=status, headers=headers)
    return await app_page(request, runtime, caller, "feeds/add.html", view, status=status)


def import_progress(job: Import) -> ImportProgress:
    report = job.report
    counts = (
        (report.imported, ngettext("%(num)s feed added", "%(num)s feeds added", report.imported)),
        (report.skipped, ngettext("%(num)s was there already", "%(num)s were there already", report.skipped)),
        (report.starred, ngettext("%(num)s entry starred", "%(num)s entries starred", report.starred)),
        (report.tagged, ngettext("%(num)s entry with tags", "%(num)s entries with tags", report.tagged)),
        (report.bookmarked, ngettext("%(num)s bookmark", "%(num)s bookmarks", report.bookmarked)),
        (report.read, ngettext("%(num)s entry marked read", "%(num)s entries marked read", report.read)),
        (job.problems, ngettext("%(num)s needs a look", "%(num)s need a look", job.problems)),
    )
    parts = [text for count, text in counts if count]
    running = job.status in ("pending", "running")
    nothing = translate("nothing yet") if running else translate("nothing new")
    return ImportProgress(
        job.name,
        Count(job.done),
        Count(job.total),
        translate("From %(source)s: %(parts)s", source=report.source, parts=enumerated(parts) or nothing),
        lines_of(report.lines),
        again_url=f"/import/{job.id}" if running else "",
    )
