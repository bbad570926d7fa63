"""Tables on the operator's pages: processes, slow feeds, work under way."""

from collections.abc import Sequence

from reedbed.domain.times import SECOND, Instant
from reedbed.store.jobs import UnderWay
from reedbed.store.overview import SlowFeed
from reedbed.store.processes import Process
from reedbed.web.moments import ago
from reedbed.web.speech import decimal, ngettext, translate
from reedbed.web.views.frame import Count
from reedbed.web.views.operator import Progress, Sheet

MEGABYTE = 1_000_000


def processes(found: Sequence[Process], now: Instant) -> Sheet:
    return Sheet(
        "processes",
        translate("Processes"),
        (translate("Name"), translate("Role"), translate("Version"), translate("Started"), translate("Does")),
        tuple((one.name, one.role, one.version, ago(one.started_at, now), _in_hand(one)) for one in found),
        translate("No process has said that it lives."),
    )


def slow_feeds(found: Sequence[SlowFeed]) -> Sheet:
    return Sheet(
        "slow",
        translate("Slowest feeds"),
        (translate("Feed"), translate("Seconds for a check"), translate("Checks")),
        tuple((one.title, decimal(one.took / SECOND, 1), str(Count(one.checks))) for one in found),
        translate("None was checked."),
        numbers=2,
    )


def under_way(found: Sequence[UnderWay], now: Instant) -> tuple[Progress, ...]:
    return tuple(
        Progress(f"{one.kind} · {ago(one.created_at, now)}", round(100 * min(max(one.progress, 0), 1)))
        for one in found
    )


def size_words(size: int) -> str:
    if size < MEGABYTE:
        return f"{size / 1024:.0f} KB"
    return f"{decimal(size / MEGABYTE, 1)} MB"


def _in_hand(one: Process) -> str:
    held = sum(one.in_hand.values())
    parts = [ngettext("%(num)s in hand", "%(num)s in hand", held)] if held else []
    return ", ".join([*parts, *one.chores])
