"""Show or request the summary above an article."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import get_summary
from reedbed.web.entries.article import summary_view, wait_message
from reedbed.web.formats import zone_of
from reedbed.web.forms import Text
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.views.entries import SummaryAnswer

router = APIRouter(include_in_schema=False)


@router.get("/entry/{entry_id}/summary")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    if not is_htmx(request):
        return see_other(request, f"/entry/{entry_id}")
    return await _block(request, runtime, caller, entry_id, again=False)


@router.post("/entry/{entry_id}/summary")
async def ask(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, next: Text = "/"
) -> Response:
    if is_htmx(request):
        return await _block(request, runtime, caller, entry_id, again=True)
    await get_summary(runtime, caller.user, entry_id, again=True)
    return see_other(request, next if next != "/" else f"/entry/{entry_id}")


async def _block(request: Request, runtime: Runtime, caller: Caller, entry_id: int, *, again: bool) -> Response:
    state = await get_summary(runtime, caller.user, entry_id, again=again)
    why = wait_message(state.wait, runtime.now(), zone_of(request))
    view = SummaryAnswer(entry_id, summary_view(state, why=why))
    return await page(request, "entries/summary.html", None, article=view)
