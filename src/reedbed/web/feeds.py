"""The feeds one follows: the dashboard, the list with its filters, the form of one feed."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from reedbed.domain.errors import Invalid, NotFound
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.services.subscriptions import NO_SUCH
from reedbed.web.feed_filters import Wanted, read_wanted
from reedbed.web.feed_pages import read_edit, read_list, read_page, read_statuses
from reedbed.web.pages import is_htmx, page
from reedbed.web.shell import app_page
from reedbed.web.speech import marked
from reedbed.web.views.managing import FeedForm, FeedsPage

router = APIRouter(include_in_schema=False)

LIST_PLACE = {"HX-Retarget": "#feed-list-container", "HX-Reswap": "innerHTML"}


def _wanted(request: Request) -> Wanted | None:
    """None: the filters make no sense."""
    try:
        return read_wanted(request)
    except Invalid:
        return None


Filters = Annotated[Wanted | None, Depends(_wanted)]


@router.get("/dashboard")
async def show_dashboard(request: Request, runtime: RuntimeOf, caller: CallerOf, wanted: Filters) -> Response:
    """The page with empty places; its own requests fill them."""
    shown = await read_page(request, runtime, caller.user_id, wanted or Wanted(), with_list=False)
    error = "" if wanted else marked("Invalid filter parameters")
    shown = replace(shown, digest=True, error=error)
    return await app_page(request, runtime, caller, "manage/feeds.html", shown, status=200 if wanted else 400)


@router.get("/feeds")
async def show_feeds(request: Request, runtime: RuntimeOf, caller: CallerOf, wanted: Filters) -> Response:
    if wanted is None:
        return await _refuse_filters(request, runtime, caller)
    if not is_htmx(request):
        shown = await read_page(request, runtime, caller.user_id, wanted)
        return await app_page(request, runtime, caller, "manage/feeds.html", shown)
    async with runtime.db.read() as tx:
        listed = await read_list(request, runtime, tx, caller.user_id, wanted)
        statuses = await read_statuses(tx, caller.user_id, wanted)
    shown = FeedsPage(wanted.search, statuses, listed)
    return await page(request, "manage/feed_list.html", shown, refreshed=True)


@router.get("/feeds/{subscription_id}/edit")
async def show_edit(
    request: Request, runtime: RuntimeOf, caller: CallerOf, subscription_id: IdPath
) -> Response:
    shown = await read_edit(request, runtime, caller.user_id, subscription_id)
    if shown is None and is_htmx(request):
        return await page(
            request, "manage/feed_errors.html", None, status=404, errors=FeedForm(general_error=NO_SUCH)
        )
    if shown is None:
        raise NotFound(NO_SUCH)
    if is_htmx(request):
        return await page(request, "manage/feed_edit.html", shown, block="form", inline=True)
    return await app_page(request, runtime, caller, "manage/feed_edit.html", shown)


async def _refuse_filters(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    message = "Invalid query parameters"
    if is_htmx(request):
        refused = FeedForm(general_error=message)
        return await page(
            request, "manage/feed_errors.html", None, status=400, headers=LIST_PLACE, errors=refused
        )
    shown = await read_page(request, runtime, caller.user_id, Wanted())
    return await app_page(
        request, runtime, caller, "manage/feeds.html", replace(shown, error=message), status=400
    )
