"""Numbers over time as drawings on a canvas of 100 by 40, each with its finding in a sentence."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from reedbed.domain.errors import Invalid
from reedbed.domain.records import record
from reedbed.domain.times import DAY, HOUR, Instant, Millis
from reedbed.store.feeds.feeds import FetchStats
from reedbed.store.instance import HourOfAll
from reedbed.web.formats import short_time
from reedbed.web.i18n import decimal, ngettext, translate
from reedbed.web.views.instance import Bar, Plot
from reedbed.web.views.layout import Count, SelectOption

HIGH = 40.0
WIDE = 100.0
FILLED = 0.7
"""How much of its place a bar takes."""


@record
class PlotSpan:
    length: Millis
    pieces: int

    def begin(self, now: Instant) -> Instant:
        """The start of the first piece; the last one is under way."""
        return (now // HOUR + 1) * HOUR - self.length

    @property
    def piece(self) -> Millis:
        return self.length // self.pieces


SPANS = {"day": PlotSpan(DAY, 24), "week": PlotSpan(7 * DAY, 28), "month": PlotSpan(30 * DAY, 30)}


@record
class ImportBatch:
    checks: int = 0
    failures: int = 0
    new_entries: int = 0
    unchanged: int = 0


def fetch_plot(hours: Sequence[HourOfAll | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    pieces = _pieces(hours, span, now)
    checks, failures = sum(one.checks for one in pieces), sum(one.failures for one in pieces)
    tallest = max((one.checks for one in pieces), default=0)
    good = [_bar(place, one.checks, tallest, span) for place, one in enumerate(pieces) if one.checks]
    bad = [
        _bar(place, one.failures, tallest, span, bad=True) for place, one in enumerate(pieces) if one.failures
    ]
    failed = ngettext("%(num)s failed", "%(num)s failed", failures)
    return Plot(
        title=translate("Fetches"),
        figure=str(Count(checks)),
        note=failed,
        finding=translate("%(checks)s fetches, %(failed)s.", checks=Count(checks), failed=failed),
        axis=_axis(span, now, zone),
        bars=(*good, *bad),
        bar_width=f"{FILLED * WIDE / span.pieces:.2f}",
    )


def success_plot(hours: Sequence[HourOfAll | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    pieces = _pieces(hours, span, now)
    checks, failures = sum(one.checks for one in pieces), sum(one.failures for one in pieces)
    rate = f"{decimal(100 * (checks - failures) / checks, 1)}\u00a0%" if checks else "–"
    shares = [(place, 1 - one.failures / one.checks) for place, one in enumerate(pieces) if one.checks]
    return Plot(
        title=translate("Success rate"),
        figure=rate,
        note=translate("scale 0 to 100"),
        finding=translate("%(rate)s of all fetches worked.", rate=rate),
        axis=_axis(span, now, zone),
        line=line([(place, HIGH * (1 - share)) for place, share in shares], span),
    )


def unchanged_plot(
    hours: Sequence[HourOfAll | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo
) -> Plot:
    """Checks that brought no document: what conditional requests save."""
    pieces = _pieces(hours, span, now)
    checks, unchanged = sum(one.checks for one in pieces), sum(one.unchanged for one in pieces)
    rate = f"{decimal(100 * unchanged / checks, 1)}\u00a0%" if checks else "–"
    shares = [(place, one.unchanged / one.checks) for place, one in enumerate(pieces) if one.checks]
    return Plot(
        title=translate("Unchanged"),
        figure=rate,
        note=translate("scale 0 to 100"),
        finding=translate("%(rate)s of all fetches found nothing changed.", rate=rate),
        axis=_axis(span, now, zone),
        line=line([(place, HIGH * (1 - share)) for place, share in shares], span),
    )


def news_plot(hours: Sequence[HourOfAll | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo) -> Plot:
    pieces = _pieces(hours, span, now)
    total, tallest = sum(one.new_entries for one in pieces), max(one.new_entries for one in pieces)
    return Plot(
        title=translate("New entries"),
        figure=str(Count(total)),
        note="",
        finding=ngettext("%(num)s new entry.", "%(num)s new entries.", total),
        axis=_axis(span, now, zone),
        bars=tuple(
            _bar(place, one.new_entries, tallest, span) for place, one in enumerate(pieces) if one.new_entries
        ),
        bar_width=f"{FILLED * WIDE / span.pieces:.2f}",
    )


def frequency_plot(
    hours: Sequence[HourOfAll | FetchStats], span: PlotSpan, now: Instant, zone: tzinfo
) -> Plot:
    """How often one feed brings something new."""
    plot = news_plot(hours, span, now, zone)
    total = sum(one.new_entries for one in hours)
    a_day = translate("%(number)s a day", number=decimal(total * DAY / span.length, 1))
    return replace(plot, title=translate("Update frequency"), figure=a_day, note=plot.finding)


def span_choices(chosen: str, place: str) -> tuple[SelectOption, ...]:
    if chosen not in SPANS:
        raise Invalid("The span is day, week or month.", field="span")
    names = {"day": translate("Day"), "week": translate("Week"), "month": translate("Month")}
    return tuple(
        SelectOption(name, words, name == chosen, f"{place}?span={name}") for name, words in names.items()
    )


def figure(title: str, number: str) -> Plot:
    """A number without a history."""
    return Plot(title, number, "", f"{title}: {number}", ())


def _pieces(hours: Sequence[HourOfAll | FetchStats], span: PlotSpan, now: Instant) -> list[ImportBatch]:
    sums = [[0, 0, 0, 0] for _ in range(span.pieces)]
    for one in hours:
        place = (one.hour - span.begin(now)) // span.piece
        if 0 <= place < span.pieces:
            for which, value in enumerate((one.checks, one.failures, one.new_entries, one.unchanged)):
                sums[place][which] += value
    return [ImportBatch(*four) for four in sums]


def _bar(place: int, value: int, tallest: int, span: PlotSpan, *, bad: bool = False) -> Bar:
    height = HIGH * value / max(tallest, 1)
    left = WIDE * place / span.pieces + (1 - FILLED) / 2 * WIDE / span.pieces
    return Bar(f"{left:.2f}", f"{HIGH - height:.2f}", f"{height:.2f}", bad)


def line(points: Sequence[tuple[int, float]], span: PlotSpan) -> str:
    """From the start of the first piece to the end of the last, so that even one piece is a line."""
    if not points:
        return ""
    width = WIDE / span.pieces
    (first, start), (last, end) = points[0], points[-1]
    inner = [(width * (place + 0.5), height) for place, height in points]
    whole = [(width * first, start), *inner, (width * (last + 1), end)]
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in whole)


def _axis(span: PlotSpan, now: Instant, zone: tzinfo) -> tuple[str, ...]:
    begin = span.begin(now)
    half = begin + span.length // 2
    if span.length <= DAY:
        return short_time(begin, now, zone).words, short_time(half, now, zone).words, translate("now")
    return _day(begin, now, zone), _day(half, now, zone), translate("today")


def _day(moment: Instant, now: Instant, zone: tzinfo) -> str:
    return short_time(moment, now, zone).words
