"""Small SVG charts of values over time on a canvas of 100 by 40, each with a text alternative."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import DAY, HOUR, Instant, Millis
from reedbed.store.feeds.feeds import FetchStats
from reedbed.store.instance import FetchHour
from reedbed.web.formats import short_time
from reedbed.web.i18n import decimal, ngettext, percentage, translate
from reedbed.web.views.instance import Bar, Plot
from reedbed.web.views.layout import Count, SelectOption

HIGH = 40.0
WIDE = 100.0
FILLED = 0.7
"""The part of its slot that a bar fills."""


@record
class PlotSpan:
    length: Millis
    steps: int

    def begin(self, now: Instant) -> Instant:
        """The start of the first interval; the last one is not over yet."""
        return (now // HOUR + 1) * HOUR - self.length

    @property
    def step(self) -> Millis:
        return self.length // self.steps


SPANS = {"day": PlotSpan(DAY, 24), "week": PlotSpan(7 * DAY, 28), "month": PlotSpan(30 * DAY, 30)}


@record
class TimeBucket:
    checks: int = 0
    failures: int = 0
    new_entries: int = 0
    unchanged: int = 0


def fetch_plot(hours: Sequence[FetchHour | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    buckets = _buckets(hours, span, now)
    checks, failures = sum(bucket.checks for bucket in buckets), sum(bucket.failures for bucket in buckets)
    tallest = max((bucket.checks for bucket in buckets), default=0)
    good = [_bar(index, bucket.checks, tallest, span) for index, bucket in enumerate(buckets) if bucket.checks]
    bad = [
        _bar(index, bucket.failures, tallest, span, bad=True) for index, bucket in enumerate(buckets) if bucket.failures
    ]
    failed = ngettext("%(num)s failed", "%(num)s failed", failures)
    return Plot(
        title=translate("Fetches"),
        figure=str(Count(checks)),
        note=failed,
        finding=translate("%(checks)s fetches, %(failed)s.", checks=Count(checks), failed=failed),
        axis=_axis(span, now, zone),
        bars=(*good, *bad),
        bar_width=f"{FILLED * WIDE / span.steps:.2f}",
    )


def success_plot(hours: Sequence[FetchHour | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    buckets = _buckets(hours, span, now)
    checks, failures = sum(bucket.checks for bucket in buckets), sum(bucket.failures for bucket in buckets)
    rate = percentage(100 * (checks - failures) / checks, 1) if checks else "–"
    shares = [(index, 1 - bucket.failures / bucket.checks) for index, bucket in enumerate(buckets) if bucket.checks]
    return Plot(
        title=translate("Success rate"),
        figure=rate,
        note=translate("scale 0 to 100"),
        finding=translate("%(rate)s of all fetches worked.", rate=rate),
        axis=_axis(span, now, zone),
        line=line([(index, HIGH * (1 - share)) for index, share in shares], span),
    )


def unchanged_plot(hours: Sequence[FetchHour | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    """The share of checks without a new document: what conditional requests save."""
    buckets = _buckets(hours, span, now)
    checks, unchanged = sum(bucket.checks for bucket in buckets), sum(bucket.unchanged for bucket in buckets)
    rate = percentage(100 * unchanged / checks, 1) if checks else "–"
    shares = [(index, bucket.unchanged / bucket.checks) for index, bucket in enumerate(buckets) if bucket.checks]
    return Plot(
        title=translate("Unchanged"),
        figure=rate,
        note=translate("scale 0 to 100"),
        finding=translate("%(rate)s of all fetches found nothing changed.", rate=rate),
        axis=_axis(span, now, zone),
        line=line([(index, HIGH * (1 - share)) for index, share in shares], span),
    )


def new_entries_plot(hours: Sequence[FetchHour | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    buckets = _buckets(hours, span, now)
    total, tallest = (sum(bucket.new_entries for bucket in buckets), max(bucket.new_entries for bucket in buckets))
    return Plot(
        title=translate("New entries"),
        figure=str(Count(total)),
        note="",
        finding=ngettext("%(num)s new entry.", "%(num)s new entries.", total),
        axis=_axis(span, now, zone),
        bars=tuple(
            _bar(index, bucket.new_entries, tallest, span) for index, bucket in enumerate(buckets) if bucket.new_entries
        ),
        bar_width=f"{FILLED * WIDE / span.steps:.2f}",
    )


def frequency_plot(hours: Sequence[FetchHour | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    """How often a feed publishes new entries."""
    plot = new_entries_plot(hours, span, now, zone)
    total = sum(hour.new_entries for hour in hours)
    a_day = translate("%(number)s a day", number=decimal(total * DAY / span.length, 1))
    return replace(plot, title=translate("Update frequency"), figure=a_day, note=plot.finding)


def span_options(chosen: str, path: str) -> tuple[SelectOption, ...]:
    if chosen not in SPANS:
        raise Invalid("The span is day, week or month.", field="span")
    names = {"day": translate("Day"), "week": translate("Week"), "month": translate("Month")}
    return tuple(SelectOption(name, label, name == chosen, f"{path}?span={name}") for name, label in names.items())


def figure(title: str, number: str) -> Plot:
    """A number without a chart."""
    return Plot(title, number, "", translate("%(label)s: %(text)s", label=title, text=number), ())


def _buckets(hours: Sequence[FetchHour | FetchStats], span: PlotSpan, now: Instant) -> list[TimeBucket]:
    sums = [[0, 0, 0, 0] for _ in range(span.steps)]
    for hour in hours:
        index = (hour.hour - span.begin(now)) // span.step
        if 0 <= index < span.steps:
            for column, value in enumerate((hour.checks, hour.failures, hour.new_entries, hour.unchanged)):
                sums[index][column] += value
    return [TimeBucket(*values) for values in sums]


def _bar(index: int, value: int, tallest: int, span: PlotSpan, *, bad: bool = False) -> Bar:
    height = HIGH * value / max(tallest, 1)
    left = WIDE * index / span.steps + (1 - FILLED) / 2 * WIDE / span.steps
    return Bar(f"{left:.2f}", f"{HIGH - height:.2f}", f"{height:.2f}", bad)


def line(points: Sequence[tuple[int, float]], span: PlotSpan) -> str:
    """An SVG path from the start of the first interval to the end of the last: one point is a line, too."""
    if not points:
        return ""
    width = WIDE / span.steps
    (first, start), (last, end) = points[0], points[-1]
    inner = [(width * (index + 0.5), height) for index, height in points]
    path = [(width * first, start), *inner, (width * (last + 1), end)]
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in path)


def _axis(span: PlotSpan, now: Instant, zone: tzinfo) -> tuple[str, ...]:
    begin = span.begin(now)
    half = begin + span.length // 2
    end = translate("now") if span.length <= DAY else translate("today")
    return short_time(begin, now, zone).words, short_time(half, now, zone).words, end
