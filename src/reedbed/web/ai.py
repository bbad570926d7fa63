"""Admin page of the AI model: state, queue, token and cost charts, and actions to pause, resume and retry."""

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.ai import MILLIONTHS
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import DAY, Instant
from reedbed.http.auth import CurrentAdmin, CurrentRuntime
from reedbed.services.ai import DAYS_SHOWN, AiStatus, ai_status, retry_all, set_paused
from reedbed.store.summaries import SummaryFailure, newest_failures
from reedbed.web.formats import full_time, zone_of
from reedbed.web.i18n import decimal, explain, ngettext, translate
from reedbed.web.pages import see_other
from reedbed.web.plots import HIGH, WIDE
from reedbed.web.sidebar import app_page
from reedbed.web.views.digests import AbandonedDigest, AiPage
from reedbed.web.views.instance import Bar, Plot
from reedbed.web.views.layout import Count, Toast

router = APIRouter(include_in_schema=False)


MAX_FAILURES = 200


@router.get("/admin/ai")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    status, now, zone = await ai_status(runtime), runtime.now(), zone_of(request)
    failed_at = status.breaker.last_failure_at
    async with runtime.db.read() as tx:
        failures = await newest_failures(tx, limit=MAX_FAILURES)
    view = AiPage(
        model=translate("Built-in extract") if status.model == EXTRACT else status.model,
        built_in=status.model == EXTRACT,
        state=status.state,
        paused=status.paused,
        failed=full_time(failed_at, now, zone).words if failed_at else "",
        waiting=Count(status.queue.waiting),
        running=Count(status.queue.running),
        cooling=Count(status.queue.cooling),
        failures=Count(status.failures),
        plots=(_token_plot(status, now), _cost_plot(status, now)),
        given_up=_failure_groups(failures, now, zone),
    )
    return await app_page(request, runtime, caller, "ai/admin.html", view)


@router.post("/admin/ai/pause")
async def pause(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    await set_paused(runtime, paused=True)
    return see_other(request, "/admin/ai", toast=Toast(translate("The model is not asked any more.")))


@router.post("/admin/ai/resume")
async def resume(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    await set_paused(runtime, paused=False)
    return see_other(request, "/admin/ai", toast=Toast(translate("The model is asked again.")))


@router.post("/admin/ai/retry")
async def retry(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    waiting = await retry_all(runtime)
    message = ngettext("%(num)s summary waits", "%(num)s summaries wait", waiting)
    return see_other(request, "/admin/ai", toast=Toast(message))


def _failure_groups(failures: Sequence[SummaryFailure], now: Instant, zone: tzinfo) -> tuple[AbandonedDigest, ...]:
    """Failures grouped by reason, most frequent first."""
    newest = {failure.last_error: failure.failed_at for failure in reversed(failures)}
    return tuple(
        AbandonedDigest(
            explain(why) or translate("For no known reason."),
            translate(
                "%(texts)s, the last %(when)s",
                texts=ngettext("%(num)s text", "%(num)s texts", number),
                when=full_time(newest[why], now, zone).words,
            ),
        )
        for why, number in Counter(failure.last_error for failure in failures).most_common()
    )


def _token_plot(status: AiStatus, now: Instant) -> Plot:
    daily = {day: used.tokens for day, used in status.days}
    today, limit = Count(status.today.tokens), status.budget.daily_tokens
    return Plot(
        title=translate("Tokens"),
        figure=str(today),
        note=translate("today of %(limit)s", limit=Count(limit)) if limit else translate("today"),
        finding=translate("%(number)s tokens today", number=today),
        axis=_axis(),
        bars=_bars(daily, now, limit),
        bar_width=_width(),
        limit=limit is not None,
    )


def _cost_plot(status: AiStatus, now: Instant) -> Plot:
    daily = {day: used.cost for day, used in status.days}
    month = decimal(status.month.cost / MILLIONTHS, 2)
    limit = status.budget.monthly_cost
    note = translate("this month")
    if limit:
        note = translate("this month of %(limit)s", limit=decimal(limit / MILLIONTHS, 2))
    return Plot(
        title=translate("Cost"),
        figure=month,
        note=note,
        finding=translate("%(cost)s this month", cost=month),
        axis=_axis(),
        bars=_bars(daily, now, status.budget.daily_cost),
        bar_width=_width(),
        limit=status.budget.daily_cost is not None,
    )


def _bars(daily: dict[Instant, int], now: Instant, limit: int | None) -> tuple[Bar, ...]:
    """One bar per day; full height is the limit or the busiest day, whichever is higher."""
    first = now - now % DAY - (DAYS_SHOWN - 1) * DAY
    top = max(limit or 0, *daily.values(), 1) if daily else 1
    bars: list[Bar] = []
    for index in range(DAYS_SHOWN):
        used = daily.get(first + index * DAY, 0)
        height = HIGH * used / top
        if used:
            bars.append(Bar(f"{index * WIDE / DAYS_SHOWN:.2f}", f"{HIGH - height:.2f}", f"{height:.2f}"))
    return tuple(bars)


def _axis() -> tuple[str, ...]:
    return (ngettext("%(num)s day ago", "%(num)s days ago", DAYS_SHOWN - 1), translate("Today"))


def _width() -> str:
    return f"{0.8 * WIDE / DAYS_SHOWN:.2f}"
