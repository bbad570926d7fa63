"""The operator's view of the database: what takes how much room, and the copies that are kept."""

import asyncio
from collections.abc import Sequence
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed import __version__
from reedbed.domain.times import SECOND, Instant
from reedbed.domain.users import LoggedEvent
from reedbed.http.auth import AdminOf, CurrentRuntime
from reedbed.services.instance import reported
from reedbed.services.runtime import Runtime
from reedbed.store import instance, jobs, startup, users
from reedbed.store.feeds import feeds as feed_status
from reedbed.store.instance import FailingFeed, Queue, Size, SlowFeed
from reedbed.store.jobs import Process, RunningJob
from reedbed.store.users import Member
from reedbed.web.formats import ago, coming_time, full_time, zone_of
from reedbed.web.i18n import decimal, marked, ngettext, translate, translate_failure
from reedbed.web.plots import SPANS, fetch_plot, figure, news_plot, span_choices, success_plot, unchanged_plot
from reedbed.web.sidebar import app_page
from reedbed.web.users import event_words
from reedbed.web.views import instance as views
from reedbed.web.views.instance import DatabasePage, OperatorPage, Plot, Progress, Sheet
from reedbed.web.views.layout import Count

MEGABYTE = 1_000_000
WORK_NAMES = {
    # jobs
    "articles": marked("Fetching whole articles"),
    "digest": marked("Writing digests"),
    "digest_mail": marked("Mailing digests"),
    "framing": marked("Reading for framing"),
    "import": marked("Imports"),
    "mail": marked("Mails about accounts"),
    "newsletter_leaving": marked("Leaving newsletters"),
    "notify": marked("Notices of rules"),
    "push": marked("Push messages"),
    "push_news": marked("Push messages about new entries"),
    "question": marked("Answering questions"),
    "refresh": marked("Progress of refreshes"),
    "rules": marked("Rules on existing entries"),
    "saved_page": marked("Reading saved pages"),
    "share": marked("Sharing"),
    "webhook": marked("Calling webhooks"),
    # leases
    "cleanup": marked("Removing old entries"),
    "digests": marked("Scheduled digests"),
    "health": marked("Health checks"),
    "hubs": marked("Subscriptions at hubs"),
    "icons": marked("Finding icons"),
    "mailboxes": marked("Looking into mailboxes"),
    "new summaries": marked("Summaries of new entries"),
    "stories": marked("Grouping stories"),
    "sweeping": marked("Tidying the database"),
}
"""What people call a kind of job, and what one process does for all."""


def work_name(name: str) -> str:
    return translate(WORK_NAMES.get(name, name))


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


def under_way(found: Sequence[RunningJob], now: Instant) -> tuple[Progress, ...]:
    return tuple(
        Progress(
            f"{work_name(one.kind)} · {ago(one.created_at, now)}", round(100 * min(max(one.progress, 0), 1))
        )
        for one in found
    )


def size_words(size: int) -> str:
    if size < MEGABYTE:
        return f"{size / 1024:.0f} KB"
    return f"{decimal(size / MEGABYTE, 1)} MB"


def _in_hand(one: Process) -> str:
    held = sum(one.in_hand.values())
    parts = [ngettext("%(num)s in hand", "%(num)s in hand", held)] if held else []
    return ", ".join([*parts, *map(work_name, one.chores)])


router = APIRouter(include_in_schema=False)

MAX_TROUBLED = 50
MAX_MEMBERS = 100
MAX_EVENTS = 20
MAX_SLOW = 10


@router.get("/admin")
async def show_overview(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, span: str = "day"
) -> Response:
    spans = span_choices(span, "/admin")
    now, zone = runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        hours = await instance.list_hours(tx, SPANS[span].begin(now))
        counted = await feed_status.list_statuses(tx)
        size = await instance.size_in_bytes(tx)
        troubled = await instance.failing_feeds(tx, limit=MAX_TROUBLED)
        queues, leases = await instance.list_queues(tx), await instance.list_leases(tx)
        due, oldest = await instance.count_due(tx, now)
        members = await users.list_members(tx, after=0, limit=MAX_MEMBERS)
        slow = await instance.slowest_feeds(tx, SPANS[span].begin(now), limit=MAX_SLOW)
        alive, jobs_now = await jobs.list_processes(tx), await jobs.under_way(tx)
        problems = await reported(tx)
        lately = await users.list_events(tx, limit=MAX_EVENTS)
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
        progress=under_way(jobs_now, now),
        sheets=(
            processes(alive, now),
            slow_feeds(slow),
        ),
    )
    return await app_page(request, runtime, caller, "instance/overview.html", shown)


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


def _troubled(one: FailingFeed, now: Instant, zone: tzinfo) -> views.FailingFeedView:
    next_try = coming_time(one.next_check_at, now, zone) if one.next_check_at else translate("stopped")
    return views.FailingFeedView(
        id=one.id,
        name=one.title,
        wrong=translate_failure(one.stop_reason or one.last_error or one.status),
        failures=Count(one.failures),
        readers=Count(one.readers),
        next_try=next_try,
        language=one.language or "",
    )


def _feeds_due(due: int, oldest: Instant | None, now: Instant) -> views.JobView:
    return views.JobView(
        name=translate("Feeds that are due"),
        held_by="",
        waiting=Count(due),
        oldest=ago(oldest, now) if oldest else "",
        state="waiting" if due else "good",
        state_word=translate("Waiting") if due else translate("Up to date"),
    )


def _queue(one: Queue, now: Instant) -> views.JobView:
    return views.JobView(
        name=work_name(one.kind),
        held_by=ngettext("%(num)s running", "%(num)s running", one.running) if one.running else "",
        waiting=Count(one.waiting),
        oldest=ago(one.oldest_at, now) if one.oldest_at <= now else "",
        state="waiting",
        state_word=translate("Running") if one.running else translate("Waiting"),
    )


def _lease(one: instance.HeldLease, now: Instant) -> views.JobView:
    alive = one.expires_at > now
    return views.JobView(
        name=work_name(one.name),
        held_by=one.holder,
        waiting=Count(0),
        oldest="",
        state="good" if alive else "bad",
        state_word=translate("Alive %(when)s", when=ago(one.heartbeat_at, now))
        if alive
        else translate("Silent since %(when)s", when=ago(one.heartbeat_at, now)),
    )


def _event(one: LoggedEvent, members: Sequence[Member], now: Instant) -> views.EventView:
    who = next((member.user.email for member in members if member.user.id == one.user_id), "")
    return views.EventView(ago(one.at, now), event_words(one.kind), who)


database_router = APIRouter(include_in_schema=False)


@database_router.get("/admin/database")
async def show(request: Request, runtime: CurrentRuntime, caller: AdminOf) -> Response:
    async with runtime.db.read() as tx:
        whole, used = await instance.size_in_bytes(tx), await instance.bytes_in_use(tx)
        largest = await instance.largest_tables(tx)
    view = DatabasePage(
        whole=size_words(whole),
        used=size_words(used),
        sheets=(_sizes(largest), await _copies(runtime, runtime.now(), zone_of(request))),
    )
    return await app_page(request, runtime, caller, "instance/database.html", view)


def _sizes(largest: list[Size]) -> Sheet:
    return Sheet(
        "sizes",
        translate("Largest tables and indexes"),
        (translate("Name"), translate("Size")),
        tuple((_name(one), size_words(one.size)) for one in largest),
        numbers=1,
    )


def _name(one: Size) -> str:
    return one.name if one.name == one.table else f"{one.name} ({one.table})"


async def _copies(runtime: Runtime, now: Instant, zone: tzinfo) -> Sheet:
    """PostgreSQL is copied by its own means."""
    policy = runtime.backups
    kept = await asyncio.to_thread(startup.copies, policy) if policy else []
    return Sheet(
        "copies",
        translate("Copies by night"),
        (translate("When"), translate("File"), translate("Size")),
        tuple((full_time(at, now, zone).words, name, size_words(size)) for at, name, size in kept),
        translate("None yet. The first is by night.")
        if policy
        else translate("None are made: PostgreSQL has its own means, or they are turned off."),
        numbers=1,
    )
