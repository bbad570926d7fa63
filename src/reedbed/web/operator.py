"""The operator's overview: what is fetched, what fails, what waits, who reads."""

from collections.abc import Sequence
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed import __version__
from reedbed.domain.accounts import LoggedEvent
from reedbed.domain.times import Instant
from reedbed.http.caller import AdminOf, RuntimeOf
from reedbed.services.health import reported
from reedbed.services.runtime import Runtime
from reedbed.store import events, feed_status, jobs, overview, processes, status, users
from reedbed.store.overview import Queue, TroubledFeed
from reedbed.store.users import Member
from reedbed.web import operator_sheets
from reedbed.web.event_words import event_words
from reedbed.web.moments import ago, coming_moment, zone_of
from reedbed.web.plots import (
    SPANS,
    fetch_plot,
    figure,
    news_plot,
    span_choices,
    success_plot,
    unchanged_plot,
)
from reedbed.web.sentences import retell
from reedbed.web.shell import app_page
from reedbed.web.speech import ngettext, translate
from reedbed.web.views import operator as views
from reedbed.web.views.frame import Count
from reedbed.web.views.operator import OperatorPage, Plot

router = APIRouter(include_in_schema=False)

MEGABYTE = 1_000_000
MOST_TROUBLED = 50
MOST_MEMBERS = 100
MOST_EVENTS = 20
MOST_SLOW = 10


@router.get("/admin")
async def show_overview(request: Request, runtime: RuntimeOf, caller: AdminOf, span: str = "day") -> Response:
    spans = span_choices(span, "/admin")
    now, zone = runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        hours = await overview.hours(tx, SPANS[span].begin(now))
        counted = await feed_status.of_all(tx)
        size = await status.size_in_bytes(tx)
        troubled = await overview.troubled(tx, limit=MOST_TROUBLED)
        queues, leases = await overview.queues(tx), await overview.held_leases(tx)
        due, oldest = await overview.due(tx, now)
        members = await users.members(tx, after=0, limit=MOST_MEMBERS)
        slow = await overview.slowest(tx, SPANS[span].begin(now), limit=MOST_SLOW)
        alive, jobs_now = await processes.everyone(tx), await jobs.under_way(tx)
        problems = await reported(tx)
        lately = await events.newest(tx, limit=MOST_EVENTS)
    shown = OperatorPage(
        running=_running(runtime, counted),
        spans=spans,
        plots=(
            fetch_plot(hours, SPANS[span], now, zone),
            success_plot(hours, SPANS[span], now, zone),
            unchanged_plot(hours, SPANS[span], now, zone),
            news_plot(hours, SPANS[span], now, zone),
            _database(size),
        ),
        troubled=tuple(_troubled(one, now, zone) for one in troubled),
        jobs=(
            _feeds_due(due, oldest, now),
            *(_queue(one, now) for one in queues),
            *(_lease(one, now) for one in leases),
        ),
        events=tuple(_event(one, members, now) for one in lately),
        problems=tuple(translate(one.text) for one in problems),
        progress=operator_sheets.under_way(jobs_now, now),
        sheets=(
            operator_sheets.processes(alive, now),
            operator_sheets.slow_feeds(slow),
        ),
    )
    return await app_page(request, runtime, caller, "operator/overview.html", shown)


def _running(runtime: Runtime, counted: dict[str, int]) -> str:
    engine = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[runtime.db.engine]
    total, working, pending = sum(counted.values()), counted.get("success", 0), counted.get("pending", 0)
    parts = [
        ngettext("%(num)s feed", "%(num)s feeds", total),
        ngettext("%(num)s working", "%(num)s working", working),
        ngettext("%(num)s pending", "%(num)s pending", pending),
        ngettext("%(num)s in trouble", "%(num)s in trouble", total - working - pending),
    ]
    version = translate("Reedbed %(version)s on %(engine)s.", version=__version__, engine=engine)
    return f"{version} {', '.join(parts)}."


def _database(size: int) -> Plot:
    return figure(translate("Database"), f"{size / MEGABYTE:,.0f} MB".replace(",", "\u202f"))


def _troubled(one: TroubledFeed, now: Instant, zone: tzinfo) -> views.TroubledFeed:
    next_try = coming_moment(one.next_check_at, now, zone) if one.next_check_at else translate("stopped")
    return views.TroubledFeed(
        id=one.id,
        name=one.title,
        wrong=retell(one.stop_reason or one.last_error or one.status),
        failures=Count(one.failures),
        readers=Count(one.readers),
        next_try=next_try,
        language=one.language or "",
    )


def _feeds_due(due: int, oldest: Instant | None, now: Instant) -> views.Job:
    return views.Job(
        name=translate("Feeds that are due"),
        held_by="",
        waiting=Count(due),
        oldest=ago(oldest, now) if oldest else "",
        state="waiting" if due else "good",
        state_word=translate("Waiting") if due else translate("Up to date"),
    )


def _queue(one: Queue, now: Instant) -> views.Job:
    return views.Job(
        name=operator_sheets.work_name(one.kind),
        held_by=ngettext("%(num)s running", "%(num)s running", one.running) if one.running else "",
        waiting=Count(one.waiting),
        oldest=ago(one.oldest_at, now) if one.oldest_at <= now else "",
        state="waiting",
        state_word=translate("Running") if one.running else translate("Waiting"),
    )


def _lease(one: overview.HeldLease, now: Instant) -> views.Job:
    alive = one.expires_at > now
    return views.Job(
        name=operator_sheets.work_name(one.name),
        held_by=one.holder,
        waiting=Count(0),
        oldest="",
        state="good" if alive else "bad",
        state_word=translate("Alive %(when)s", when=ago(one.heartbeat_at, now))
        if alive
        else translate("Silent since %(when)s", when=ago(one.heartbeat_at, now)),
    )


def _event(one: LoggedEvent, members: Sequence[Member], now: Instant) -> views.Event:
    who = next((member.user.email for member in members if member.user.id == one.user_id), "")
    return views.Event(ago(one.at, now), event_words(one.kind), who)
