"""Moving in from another reader, by file or from a Miniflux."""

from collections.abc import Awaitable
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.domain.libraries import LibraryReport
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.errors import status_of
from reedbed.http.files import received_file
from reedbed.services.libraries import import_file, import_miniflux
from reedbed.services.runtime import Runtime
from reedbed.web.opml import MOST_LINES
from reedbed.web.pages import is_htmx, page
from reedbed.web.shell import app_page
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import Count
from reedbed.web.views.managing import AddPage, ImportLine, ImportProgress

router = APIRouter(include_in_schema=False)


@router.post("/import")
async def bring_file(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    """The live stream tells how far it is; the answer is the report."""
    try:
        async with received_file(request) as (name, path):
            return await _show(request, runtime, caller, name, import_file(runtime, caller.user_id, path))
    except Invalid as error:
        return await _refused(request, runtime, caller, error)


@router.post("/import/miniflux")
async def bring_miniflux(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    url: Annotated[str, Form(max_length=2_048)] = "",
    token: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    bringing = import_miniflux(runtime, caller.user_id, url, token)
    return await _show(request, runtime, caller, "Miniflux", bringing)


async def _show(
    request: Request, runtime: Runtime, caller: CallerOf, name: str, bringing: Awaitable[LibraryReport]
) -> Response:
    try:
        shown = AddPage(progress=progress_of(name, await bringing))
    except ReedbedError as error:
        return await _refused(request, runtime, caller, error)
    if is_htmx(request):
        return await page(request, "manage/add.html", shown, block="progress")
    return await app_page(request, runtime, caller, "manage/add.html", shown)


async def _refused(request: Request, runtime: Runtime, caller: CallerOf, error: ReedbedError) -> Response:
    """Swapped in as well: it stands where the report would."""
    shown, status = AddPage(import_error=error.message), status_of(error)
    if is_htmx(request):
        headers = {"HX-Retarget": "#import", "HX-Reswap": "innerHTML"}
        return await page(request, "manage/add.html", shown, block="progress", status=status, headers=headers)
    return await app_page(request, runtime, caller, "manage/add.html", shown, status=status)


def progress_of(name: str, report: LibraryReport) -> ImportProgress:
    total = report.imported + report.skipped + len(report.errors)
    counted = (
        (report.imported, "%(num)s feed added", "%(num)s feeds added"),
        (report.skipped, "%(num)s was there already", "%(num)s were there already"),
        (report.starred, "%(num)s star", "%(num)s stars"),
        (report.tagged, "%(num)s entry with tags", "%(num)s entries with tags"),
        (report.bookmarked, "%(num)s bookmark", "%(num)s bookmarks"),
        (report.read, "%(num)s mark of what was read", "%(num)s marks of what was read"),
        (len(report.errors), "%(num)s needs a look", "%(num)s need a look"),
    )
    parts = [ngettext(one, many, count) for count, one, many in counted if count]
    lines = tuple(ImportLine(one.title, one.url, one.message) for one in report.errors[:MOST_LINES])
    said = ", ".join(parts) or translate("nothing new")
    return ImportProgress(
        name or report.source,
        Count(total),
        Count(total),
        translate("From %(source)s: %(parts)s", source=report.source, parts=said),
        lines,
    )
