"""The operator's pages about feeds: all shared ones, one with its settings, and what can be done to it."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Invalid
from reedbed.http.caller import AdminOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.services.operator_feeds import change_feed, disable_feed, enable_feed, find_feed, sync_feed
from reedbed.services.runtime import Runtime
from reedbed.store import feed_history, operator_feeds
from reedbed.store.operator_feeds import STANDINGS, FeedFilter
from reedbed.web.feed_filters import PAGE_SIZE, read_wanted
from reedbed.web.form_values import Text
from reedbed.web.moments import zone_of
from reedbed.web.operator_feed_forms import form_of, settings_of, typed_form
from reedbed.web.operator_feed_lines import feed_facts, feed_line, status_choices
from reedbed.web.pages import see_other
from reedbed.web.plots import SPANS, frequency_plot, span_choices, success_plot
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.frame import Toast
from reedbed.web.views.operator_feeds import OperatorFeedForm, OperatorFeedPage, OperatorFeedsPage

router = APIRouter(include_in_schema=False)

PLACE = "/admin/feeds"


@router.get("/admin/feeds")
async def show_all(request: Request, runtime: RuntimeOf, caller: AdminOf) -> Response:
    wanted = read_wanted(request, place=PLACE, statuses=("all", *STANDINGS))
    asked, now, zone = FeedFilter(wanted.search, wanted.status), runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        counted = await operator_feeds.counted(tx, asked)
        total = await operator_feeds.how_many(tx, asked)
        found = await operator_feeds.page(tx, asked, now, limit=PAGE_SIZE, offset=wanted.offset)
    view = OperatorFeedsPage(
        search=wanted.search,
        statuses=status_choices(counted, wanted),
        lines=tuple(feed_line(one, now, zone) for one in found),
        pages=wanted.pages(len(found), total),
        empty=wanted.empty_words(translate("Nobody follows a feed yet.")),
    )
    return await app_page(request, runtime, caller, "operator/feeds.html", view)


@router.get("/admin/feeds/{feed_id}")
async def show_one(
    request: Request, runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath, span: str = "month"
) -> Response:
    return await _show(request, runtime, caller, feed_id, span=span)


@router.post("/admin/feeds/{feed_id}")
async def change(request: Request, runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath) -> Response:
    form = await request.form()
    try:
        await change_feed(runtime, str(feed_id), settings_of(form))
    except Invalid as error:
        feed = await find_feed(runtime, str(feed_id))
        return await _show(request, runtime, caller, feed_id, typed_form(feed, form, error, runtime))
    return see_other(request, f"{PLACE}/{feed_id}", toast=Toast(translate("Saved.")))


@router.post("/admin/feeds/{feed_id}/sync")
async def sync(
    request: Request, runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await sync_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("Looking at it now.")))


@router.post("/admin/feeds/{feed_id}/enable")
async def enable(
    request: Request, runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await enable_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("The feed is turned on.")))


@router.post("/admin/feeds/{feed_id}/disable")
async def disable(
    request: Request, runtime: RuntimeOf, caller: AdminOf, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await disable_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("The feed is turned off.")))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    feed_id: int,
    refused: OperatorFeedForm | None = None,
    span: str = "month",
) -> Response:
    feed, now, zone = await find_feed(runtime, str(feed_id)), runtime.now(), zone_of(request)
    spans = span_choices(span, f"{PLACE}/{feed_id}")
    async with runtime.db.read() as tx:
        hours = await feed_history.of_feed(tx, feed.id, SPANS[span].begin(now))
    view = OperatorFeedPage(
        feed=feed_line(feed, now, zone),
        facts=feed_facts(feed, now, zone),
        form=refused or form_of(feed, runtime),
        spans=spans,
        plots=(
            success_plot(hours, SPANS[span], now, zone),
            frequency_plot(hours, SPANS[span], now, zone),
        ),
    )
    status = 400 if refused else 200
    return await app_page(request, runtime, caller, "operator/feed.html", view, status=status)
