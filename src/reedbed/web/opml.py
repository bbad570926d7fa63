"""Lists of feeds as files: in and out."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Invalid
from reedbed.domain.opml import ImportLine as ReportedLine
from reedbed.domain.opml import ImportReport, LineStatus
from reedbed.http.caller import CallerOf, RuntimeOf, check_reads_passwords
from reedbed.http.files import received_bytes
from reedbed.services.opml import export_opml, import_opml
from reedbed.web.pages import is_htmx, page
from reedbed.web.shell import app_page
from reedbed.web.speech import marked, ngettext, translate
from reedbed.web.views.frame import Count
from reedbed.web.views.managing import AddPage, ImportLine, ImportProgress

router = APIRouter(include_in_schema=False)

MOST_LINES = 2_000
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
async def take_out(runtime: RuntimeOf, caller: CallerOf, credentials: bool = False) -> Response:
    if credentials:
        check_reads_passwords(caller)
    headers = {
        "Content-Disposition": 'attachment; filename="reedbed.opml"',
        "Cache-Control": "private, no-store",
    }
    written = await export_opml(runtime, caller.user_id, with_credentials=credentials)
    return Response(written, 200, headers, "text/x-opml; charset=utf-8")


@router.post("/opml")
async def bring_in(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
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
        return await page(request, "manage/add.html", shown, block="progress", status=status, headers=headers)
    return await app_page(request, runtime, caller, "manage/add.html", shown, status=status)


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


def lines_of(lines: Sequence[ReportedLine]) -> tuple[ImportLine, ...]:
    """Those that need a look first: a long report is cut."""
    ordered = sorted(lines, key=lambda line: list(_STATUS).index(line.status))
    return tuple(
        ImportLine(line.title, line.url, translate(word), kind, line.message)
        for line in ordered[:MOST_LINES]
        for word, kind in (_STATUS[line.status],)
    )
