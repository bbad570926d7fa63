"""Admin pages of the instance: overview (charts, jobs, processes, events) and database."""

import asyncio
from collections.abc import Sequence
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed import __version__
from reedbed.domain.times import SECOND, Instant
from reedbed.domain.users import LoggedEvent
from reedbed.http.auth import CurrentAdmin, CurrentRuntime
from reedbed.services.instance import reported
from reedbed.services.runtime import Runtime
from reedbed.store import instance, jobs, startup, users
from reedbed.store.feeds import feeds as feed_status
from reedbed.store.instance import FailingFeed, Queue, Size, SlowFeed
from reedbed.store.jobs import Process, RunningJob
from reedbed.store.users import Member
from reedbed.web.formats import ago, format_future_time, format_size, full_time, zone_of
from reedbed.web.i18n import decimal, enumerated, explain, grouped, marked, ngettext, sentence, translate
from reedbed.web.plots import SPANS, fetch_plot, figure, new_entries_plot, span_options, success_plot, unchanged_plot
from reedbed.web.sidebar import app_page
from reedbed.web.users import event_words
from reedbed.web.views import instance as views
from reedbed.web.views.instance import DatabasePage, InstancePage, Plot, Progress, Sheet
from reedbed.web.views.layout import Count

MEGABYTE = 1_000_000
JOB_LABELS = {
    # jobs
    "articles": marked("Fetching whole articles"),
    "book": marked("Making books"),
    "book_mail": marked("Mailing books"),
    "broken_feeds": marked("Weekly lists of broken feeds"),
    "digest": marked("Writing digests"),
    "digest_mail": marked("Mailing digests"),
    "feed_stopped": marked("Notices about stopped feeds"),
    "framing": marked("Reading for framing"),
    "import": marked("Imports"),
    "listening": marked("Reading texts aloud"),
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
    "mailboxes": marked("Checking mailboxes"),
    "new summaries": marked("Summaries of new entries"),
    "stories": marked("Grouping stories"),
    "story pairs": marked("Asking a model about doubtful pairs"),
    "sweeping": marked("Tidying the database"),
}
"""Labels for kinds of jobs, and for the tasks that one process holds a lease for."""


def job_label(name: str) -> str:
    return translate(JOB_LABELS.get(name, name))


def processes(rows: Sequence[Process], now: Instant) -> Sheet:
    return Sheet(
        "processes",
        translate("Processes"),
        (translate("Name"), translate("Role"), translate("Version"), translate("Started"), translate("Does")),
        tuple(
            (process.name, process.role, process.version, ago(process.started_at, now), _current_work(process))
            for process in rows
        ),
        translate("No process has said that it lives."),
    )


def slow_feeds(feeds: Sequence[SlowFeed]) -> Sheet:
    return Sheet(
        "slow",
        translate("Slowest feeds"),
        (translate("Feed"), translate("Seconds for a check"), translate("Checks")),
        tuple((feed.title, decimal(feed.took / SECOND, 1), str(Count(feed.checks))) for feed in feeds),
        translate("None was checked."),
        numbers=2,
    )


def under_way(running: Sequence[RunningJob], now: Instant) -> tuple[Progress, ...]:
    return tuple(
        Progress(f"{job_label(job.kind)} · {ago(job.created_at, now)}", round(100 * min(max(job.progress, 0), 1)))
        for job in running
    )


def _current_work(process: Process) -> str:
    count = sum(process.in_hand.values())
    parts = [ngettext("%(num)s in progress", "%(num)s in progress", count)] if count else []
    return enumerated([*parts, *map(job_label, process.chores)])


# --- Overview

router = APIRouter(include_in_schema=False)

MAX_FAILING = 50
MAX_MEMBERS = 100
MAX_EVENTS = 20
MAX_SLOW = 10


@router.get("/admin")
async def show_overview(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, span: str = "day") -> Response:
    spans = span_options(span, "/admin")
    now, zone = runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        hours = await instance.list_hours(tx, SPANS[span].begin(now))
        counts = await feed_status.list_statuses(tx)
        size = await instance.size_in_bytes(tx)
        failing = await instance.failing_feeds(tx, limit=MAX_FAILING)
        queues, leases = await instance.list_queues(tx), await instance.list_leases(tx)
        due, oldest = await instance.count_due(tx, now)
        members = await users.list_members(tx, after=0, limit=MAX_MEMBERS)
        slow = await instance.slowest_feeds(tx, SPANS[span].begin(now), limit=MAX_SLOW)
        live_processes, running_jobs = await jobs.list_processes(tx), await jobs.under_way(tx)
        problems = await reported(tx)
        events = await users.list_events(tx, limit=MAX_EVENTS)
    view = InstancePage(
        running=_status_line(runtime, counts),
        spans=spans,
        plots=(
            fetch_plot(hours, SPANS[span], now, zone),
            success_plot(hours, SPANS[span], now, zone),
            unchanged_plot(hours, SPANS[span], now, zone),
            new_entries_plot(hours, SPANS[span], now, zone),
            _database(size),
        ),
        failing=tuple(_failing_feed(feed, now, zone) for feed in failing),
        jobs=(
            _feeds_due(due, oldest, now),
            *(_queue(queue, now) for queue in queues),
            *(_lease(lease, now) for lease in leases),
        ),
        events=tuple(_event(event, members, now) for event in events),
        problems=tuple(translate(problem.text) for problem in problems),
        progress=under_way(running_jobs, now),
        sheets=(processes(live_processes, now), slow_feeds(slow)),
    )
    return await app_page(request, runtime, caller, "instance/overview.html", view)


def _status_line(runtime: Runtime, counts: dict[str, int]) -> str:
    engine = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[runtime.db.engine]
    total, working, pending = sum(counts.values()), counts.get("success", 0), counts.get("pending", 0)
    parts = [
        ngettext("%(num)s feed", "%(num)s feeds", total),
        ngettext("%(num)s working", "%(num)s working", working),
        ngettext("%(num)s pending", "%(num)s pending", pending),
        ngettext("%(num)s in trouble", "%(num)s in trouble", total - working - pending),
    ]
    version = translate("Reedbed %(version)s on %(engine)s.", version=__version__, engine=engine)
    return f"{version} {sentence(enumerated(parts))}"


def _database(size: int) -> Plot:
    return figure(translate("Database"), translate("%(size)s MB", size=grouped(round(size / MEGABYTE))))


def _failing_feed(feed: FailingFeed, now: Instant, zone: tzinfo) -> views.FailingFeedView:
    next_try = format_future_time(feed.next_check_at, now, zone) if feed.next_check_at else translate("stopped")
    return views.FailingFeedView(
        id=feed.id,
        name=feed.title,
        wrong=explain(feed.stop_reason or feed.last_error) or feed.status,
        failures=Count(feed.failures),
        readers=Count(feed.readers),
        next_try=next_try,
        language=feed.language or "",
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


def _queue(queue: Queue, now: Instant) -> views.JobView:
    return views.JobView(
        name=job_label(queue.kind),
        held_by=ngettext("%(num)s running", "%(num)s running", queue.running) if queue.running else "",
        waiting=Count(queue.waiting),
        oldest=ago(queue.oldest_at, now) if queue.oldest_at <= now else "",
        state="waiting",
        state_word=translate("Running") if queue.running else translate("Waiting"),
    )


def _lease(lease: instance.HeldLease, now: Instant) -> views.JobView:
    alive = lease.expires_at > now
    return views.JobView(
        name=job_label(lease.name),
        held_by=lease.holder,
        waiting=Count(0),
        oldest="",
        state="good" if alive else "bad",
        state_word=translate("Alive %(when)s", when=ago(lease.heartbeat_at, now))
        if alive
        else translate("Silent since %(when)s", when=ago(lease.heartbeat_at, now)),
    )


def _event(event: LoggedEvent, members: Sequence[Member], now: Instant) -> views.EventView:
    who = next((member.user.email for member in members if member.user.id == event.user_id), "")
    return views.EventView(ago(event.at, now), event_words(event.kind), who)


# --- Database

database_router = APIRouter(include_in_schema=False)


@database_router.get("/admin/database")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    async with runtime.db.read() as tx:
        total, used = await instance.size_in_bytes(tx), await instance.bytes_in_use(tx)
        largest = await instance.largest_tables(tx)
    view = DatabasePage(
        whole=format_size(total),
        used=format_size(used),
        sheets=(_sizes(largest), await _backups(runtime, runtime.now(), zone_of(request))),
    )
    return await app_page(request, runtime, caller, "instance/database.html", view)


def _sizes(largest: list[Size]) -> Sheet:
    return Sheet(
        "sizes",
        translate("Largest tables and indexes"),
        (translate("Name"), translate("Size")),
        tuple((_size_name(item), format_size(item.size)) for item in largest),
        numbers=1,
    )


def _size_name(size: Size) -> str:
    return size.name if size.name == size.table else f"{size.name} ({size.table})"


async def _backups(runtime: Runtime, now: Instant, zone: tzinfo) -> Sheet:
    """Nightly copies of the SQLite database; PostgreSQL has its own backup tools."""
    policy = runtime.backups
    copies = await asyncio.to_thread(startup.copies, policy) if policy else []
    return Sheet(
        "copies",
        translate("Nightly copies"),
        (translate("When"), translate("File"), translate("Size")),
        tuple((full_time(at, now, zone).words, name, format_size(size)) for at, name, size in copies),
        translate("None yet. The first one is due tonight.")
        if policy
        else translate("No copies are made: PostgreSQL has its own tools, or they are turned off."),
        numbers=1,
    )
