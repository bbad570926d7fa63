"""The operator's view of the model: its state, its queue, what it costs, and the switches."""

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.ai import MILLIONTHS
from reedbed.domain.summaries import EXTRACT
from reedbed.domain.times import DAY, Instant
from reedbed.http.auth import AdminOf, CurrentRuntime
from reedbed.services.ai import DAYS_SHOWN, AiStatus, ai_status, retry_all, set_paused
from reedbed.store.summaries import Failure, newest_failures
from reedbed.web.formats import full_time, zone_of
from reedbed.web.i18n import decimal, ngettext, translate, translate_failure
from reedbed.web.pages import see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.digests import AbandonedDigest, AiPage
from reedbed.web.views.instance import Bar, Plot
from reedbed.web.views.layout import Count, Toast

router = APIRouter(include_in_schema=False)

WIDE, HIGH = 100, 40
MAX_FAILURES = 200


@router.get("/admin/ai")
async def show(request: Request, runtime: CurrentRuntime, caller: AdminOf) -> Response:
    found, now, zone = await ai_status(runtime), runtime.now(), zone_of(request)
    failed_at = found.breaker.last_failure_at
    async with runtime.db.read() as tx:
        failures = await newest_failures(tx, most=MAX_FAILURES)
    view = AiPage(
        model=translate("Built-in extract") if found.model == EXTRACT else found.model,
        built_in=found.model == EXTRACT,
        state=found.state,
        paused=found.paused,
        failed=full_time(failed_at, now, zone).words if failed_at else "",
        waiting=Count(found.queue.waiting),
        running=Count(found.queue.running),
        cooling=Count(found.queue.cooling),
        failures=Count(found.failures),
        plots=(_tokens(found, now), _cost(found, now)),
        given_up=_given_up(failures, now, zone),
    )
    return await app_page(request, runtime, caller, "ai/admin.html", view)


@router.post("/admin/ai/pause")
async def pause(request: Request, runtime: CurrentRuntime, caller: AdminOf) -> Response:
    await set_paused(runtime, paused=True)
    return see_other(request, "/admin/ai", toast=Toast(translate("The model is not asked any more.")))


@router.post("/admin/ai/resume")
async def resume(request: Request, runtime: CurrentRuntime, caller: AdminOf) -> Response:
    await set_paused(runtime, paused=False)
    return see_other(request, "/admin/ai", toast=Toast(translate("The model is asked again.")))


@router.post("/admin/ai/retry")
async def retry(request: Request, runtime: CurrentRuntime, caller: AdminOf) -> Response:
    waiting = await retry_all(runtime)
    words = ngettext("%(num)s summary waits", "%(num)s summaries wait", waiting)
    return see_other(request, "/admin/ai", toast=Toast(words))


def _given_up(failures: Sequence[Failure], now: Instant, zone: tzinfo) -> tuple[AbandonedDigest, ...]:
    """The most frequent reason first."""
    newest = {one.last_error or "": one.failed_at for one in reversed(failures)}
    return tuple(
        AbandonedDigest(
            translate_failure(why) or translate("For no known reason."),
            translate(
                "%(texts)s, the last %(when)s",
                texts=ngettext("%(num)s text", "%(num)s texts", number),
                when=full_time(newest[why], now, zone).words,
            ),
        )
        for why, number in Counter(one.last_error or "" for one in failures).most_common()
    )


def _tokens(found: AiStatus, now: Instant) -> Plot:
    daily = {day: used.tokens for day, used in found.days}
    today, limit = Count(found.today.tokens), found.budget.daily_tokens
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


def _cost(found: AiStatus, now: Instant) -> Plot:
    daily = {day: used.cost for day, used in found.days}
    month = decimal(found.month.cost / MILLIONTHS, 2)
    limit = found.budget.monthly_cost
    note = translate("this month")
    if limit:
        note = translate("this month of %(limit)s", limit=decimal(limit / MILLIONTHS, 2))
    return Plot(
        title=translate("Cost"),
        figure=month,
        note=note,
        finding=translate("%(cost)s this month", cost=month),
        axis=_axis(),
        bars=_bars(daily, now, found.budget.daily_cost),
        bar_width=_width(),
        limit=found.budget.daily_cost is not None,
    )


def _bars(daily: dict[Instant, int], now: Instant, limit: int | None) -> tuple[Bar, ...]:
    """One for each of the last days; the top is the limit, or the busiest day."""
    first = now - now % DAY - (DAYS_SHOWN - 1) * DAY
    top = max(limit or 0, *daily.values(), 1) if daily else 1
    bars: list[Bar] = []
    for place in range(DAYS_SHOWN):
        used = daily.get(first + place * DAY, 0)
        height = HIGH * used / top
        if used:
            bars.append(Bar(f"{place * WIDE / DAYS_SHOWN:.2f}", f"{HIGH - height:.2f}", f"{height:.2f}"))
    return tuple(bars)


def _axis() -> tuple[str, ...]:
    return (ngettext("%(num)s day ago", "%(num)s days ago", DAYS_SHOWN - 1), translate("Today"))


def _width() -> str:
    return f"{0.8 * WIDE / DAYS_SHOWN:.2f}"
