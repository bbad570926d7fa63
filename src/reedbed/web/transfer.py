"""Moving in from another reader, by file or from a Miniflux."""

from collections.abc import Awaitable, Sequence
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.transfer import ImportLine as ReportedLine
from reedbed.domain.transfer import ImportReport, LineStatus
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime, check_reads_passwords
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath
from reedbed.http.uploads import received_bytes, received_file
from reedbed.services.runtime import Runtime
from reedbed.services.transfer.jobs import Import, get_import, start_file, start_miniflux
from reedbed.services.transfer.opml import export_opml, import_opml
from reedbed.web.i18n import marked, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import AddPage, ImportLineView, ImportProgress
from reedbed.web.views.layout import Count

router = APIRouter(include_in_schema=False)

MAX_LINES = 2_000
"""Shown of a report."""
_STATUS: dict[LineStatus, tuple[str, str]] = {
    "error": (marked("Not added"), "bad"),
    "skipped": (marked("Skipped"), ""),
    "duplicate": (marked("Listed twice"), ""),
    "moved": (marked("Moved"), ""),
    "followed": (marked("There already"), ""),
    "added": (marked("Added"), "good"),
}


@router.get("/opml")
async def take_out(runtime: CurrentRuntime, caller: CurrentCaller, credentials: bool = False) -> Response:
    if credentials:
        check_reads_passwords(caller)
    headers = {
        "Content-Disposition": 'attachment; filename="reedbed.opml"',
        "Cache-Control": "private, no-store",
    }
    written = await export_opml(runtime, caller.user_id, with_credentials=credentials)
    return Response(written, 200, headers, "text/x-opml; charset=utf-8")


@router.post("/opml")
async def bring_in(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """The live stream tells how far it is; the answer is the report."""
    status = 200
    try:
        name, body = await received_bytes(request)
        report = await import_opml(runtime, caller.user_id, body)
        shown = AddPage(progress=progress_of(name, report))
    except Invalid as error:
        shown, status = AddPage(import_error=error.message), 400
    if is_htmx(request):
        # A refusal is swapped in as well: it stands where the report would.
        headers = {"HX-Retarget": "#import", "HX-Reswap": "innerHTML"} if status == 400 else None
        return await page(request, "feeds/add.html", shown, block="progress", status=status, headers=headers)
    return await app_page(request, runtime, caller, "feeds/add.html", shown, status=status)


def progress_of(name: str, report: ImportReport) -> ImportProgress:
    total = len(report.lines)
    parts = [
        ngettext("%(num)s added", "%(num)s added", report.imported),
        ngettext("%(num)s was there already", "%(num)s were there already", report.skipped),
    ]
    if report.errors:
        parts.append(ngettext("%(num)s needs a look", "%(num)s need a look", len(report.errors)))
    return ImportProgress(
        name or translate("The list"),
        Count(total),
        Count(total),
        translate("Report: %(parts)s", parts=", ".join(parts)),
        lines_of(report.lines),
    )


def lines_of(lines: Sequence[ReportedLine]) -> tuple[ImportLineView, ...]:
    """Those that need a look first: a long report is cut."""
    ordered = sorted(lines, key=lambda line: list(_STATUS).index(line.status))
    return tuple(
        ImportLineView(line.title, line.url, translate(word), kind, line.message)
        for line in ordered[:MAX_LINES]
        for word, kind in (_STATUS[line.status],)
    )


imports_router = APIRouter(include_in_schema=False)


@imports_router.post("/import")
async def bring_file(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    try:
        async with received_file(request) as (name, path):
            return await _begin(request, runtime, caller, start_file(runtime, caller.user_id, name, path))
    except Invalid as error:
        return await _refused(request, runtime, caller, error)


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
    """The addresses that forms are sent to, opened anew: where the forms are."""
    return see_other(request, "/add")


@imports_router.get("/import/{import_id}")
async def look(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, import_id: IdPath
) -> Response:
    """How far it is; the page asks again until it has ended."""
    return await _show(request, runtime, caller, await get_import(runtime, caller.user_id, import_id))


async def _begin(request: Request, runtime: Runtime, caller: Caller, starting: Awaitable[Import]) -> Response:
    try:
        started = await starting
    except ReedbedError as error:
        return await _refused(request, runtime, caller, error)
    if is_htmx(request):
        return await _show(request, runtime, caller, started)
    return see_other(request, f"/import/{started.id}")


async def _show(request: Request, runtime: Runtime, caller: Caller, found: Import) -> Response:
    shown = AddPage(import_error=found.error) if found.error else AddPage(progress=import_progress(found))
    if is_htmx(request):
        return await page(request, "feeds/add.html", shown, block="progress")
    return await app_page(request, runtime, caller, "feeds/add.html", shown)


async def _refused(request: Request, runtime: Runtime, caller: Caller, error: ReedbedError) -> Response:
    """Swapped in as well: it stands where the report would."""
    shown, status = AddPage(import_error=error.message), status_of(error)
    if is_htmx(request):
        headers = {"HX-Retarget": "#import", "HX-Reswap": "innerHTML"}
        return await page(request, "feeds/add.html", shown, block="progress", status=status, headers=headers)
    return await app_page(request, runtime, caller, "feeds/add.html", shown, status=status)


def import_progress(found: Import) -> ImportProgress:
    report = found.report
    counted = (
        (report.imported, "%(num)s feed added", "%(num)s feeds added"),
        (report.skipped, "%(num)s was there already", "%(num)s were there already"),
        (report.starred, "%(num)s star", "%(num)s stars"),
        (report.tagged, "%(num)s entry with tags", "%(num)s entries with tags"),
        (report.bookmarked, "%(num)s bookmark", "%(num)s bookmarks"),
        (report.read, "%(num)s mark of what was read", "%(num)s marks of what was read"),
        (found.problems, "%(num)s needs a look", "%(num)s need a look"),
    )
    parts = [ngettext(one, many, count) for count, one, many in counted if count]
    running = found.status in ("pending", "running")
    nothing = translate("nothing yet") if running else translate("nothing new")
    return ImportProgress(
        found.name,
        Count(found.done),
        Count(found.total),
        translate("From %(source)s: %(parts)s", source=report.source, parts=", ".join(parts) or nothing),
        lines_of(report.lines),
        again_url=f"/import/{found.id}" if running else "",
    )
