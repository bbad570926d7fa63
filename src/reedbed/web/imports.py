"""Moving in from another reader, by file or from a Miniflux."""

from collections.abc import Awaitable
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Invalid, ReedbedError
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.errors import status_of
from reedbed.http.files import received_file
from reedbed.http.ids import IdPath
from reedbed.services.library_jobs import Import, get_import, start_file, start_miniflux
from reedbed.services.runtime import Runtime
from reedbed.web.opml import lines_of
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.shell import app_page
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import Count
from reedbed.web.views.managing import AddPage, ImportProgress

router = APIRouter(include_in_schema=False)


@router.post("/import")
async def bring_file(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    try:
        async with received_file(request) as (name, path):
            return await _begin(request, runtime, caller, start_file(runtime, caller.user_id, name, path))
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
    return await _begin(request, runtime, caller, start_miniflux(runtime, caller.user_id, url, token))


@router.get("/import")
@router.get("/import/miniflux")
async def back_to_form(request: Request, _caller: CallerOf) -> Response:
    """The addresses that forms are sent to, opened anew: where the forms are."""
    return see_other(request, "/add")


@router.get("/import/{import_id}")
async def look(request: Request, runtime: RuntimeOf, caller: CallerOf, import_id: IdPath) -> Response:
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
    shown = AddPage(import_error=found.error) if found.error else AddPage(progress=progress_of(found))
    if is_htmx(request):
        return await page(request, "manage/add.html", shown, block="progress")
    return await app_page(request, runtime, caller, "manage/add.html", shown)


async def _refused(request: Request, runtime: Runtime, caller: Caller, error: ReedbedError) -> Response:
    """Swapped in as well: it stands where the report would."""
    shown, status = AddPage(import_error=error.message), status_of(error)
    if is_htmx(request):
        headers = {"HX-Retarget": "#import", "HX-Reswap": "innerHTML"}
        return await page(request, "manage/add.html", shown, block="progress", status=status, headers=headers)
    return await app_page(request, runtime, caller, "manage/add.html", shown, status=status)


def progress_of(found: Import) -> ImportProgress:
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
