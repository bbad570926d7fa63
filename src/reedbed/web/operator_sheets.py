"""Tables on the operator's pages: processes, slow feeds, work under way."""

from collections.abc import Sequence

from reedbed.domain.times import SECOND, Instant
from reedbed.store.jobs import UnderWay
from reedbed.store.overview import SlowFeed
from reedbed.store.processes import Process
from reedbed.web.moments import ago
from reedbed.web.speech import decimal, marked, ngettext, translate
from reedbed.web.views.frame import Count
from reedbed.web.views.operator import Progress, Sheet

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


def under_way(found: Sequence[UnderWay], now: Instant) -> tuple[Progress, ...]:
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
