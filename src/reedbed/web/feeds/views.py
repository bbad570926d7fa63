"""View models of the feed list: its filters, its pages, the status of each feed, and changes of many at once."""

from collections.abc import Collection, Iterator, Sequence
from datetime import tzinfo
from urllib.parse import quote, urlencode

from fastapi import Request

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderRow
from reedbed.domain.records import record
from reedbed.domain.refresh.schedule import IntervalRule
from reedbed.domain.retention import RetentionOverride
from reedbed.domain.subscriptions import GONE, STATUS_FILTERS, Subscription, SubscriptionFilter
from reedbed.domain.times import Instant
from reedbed.http.params import path_id
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.bulk import DEFAULTS, BulkChange
from reedbed.services.subscriptions.manage import SubscriptionChange
from reedbed.store import folders, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.web.formats import ago, format_future_time, format_interval, full_time, zone_of
from reedbed.web.forms import folder_options, parse_optional_number
from reedbed.web.i18n import enumerated, explain, name_key, ngettext, sentence, translate
from reedbed.web.views.feeds import FailureCard, FeedList, FeedRowView, FeedsPage
from reedbed.web.views.layout import Count, Pages, SelectOption, feed_mark


@record
class _Status:
    """The status of a feed as its row shows it, with the action that may help."""

    state: str
    label: str
    why: str
    act_url: str = ""
    act: str = ""
    by_link: bool = False


class FeedRowBuilder:
    """Builds the rows of the feed list, with the status of each feed and its reason."""

    def __init__(self, now: Instant, zone: tzinfo) -> None:
        self._now = now
        self._zone = zone

    def lines(self, subscribed: Sequence[Subscription]) -> tuple[FeedRowView, ...]:
        return tuple(self._row(subscription) for subscription in subscribed)

    def _row(self, subscription: Subscription) -> FeedRowView:
        status = self._status(subscription)
        return FeedRowView(
            id=subscription.id,
            url=f"/feed/{subscription.id}",
            name=subscription.title,
            address=short_url(subscription.url) if "://" in subscription.url else "",
            mark=feed_mark(subscription.title, subscription.feed.id, subscription.feed.icon_id),
            state=status.state,
            state_word=status.label,
            why=status.why,
            act_url=status.act_url,
            act=status.act,
            act_by_link=status.by_link,
            language=subscription.feed.language or "",
            paused=subscription.paused,
            differs=enumerated(_differences(subscription)),
        )

    def _status(self, subscription: Subscription) -> _Status:
        state = subscription.feed.state
        if not subscription.feed.enabled:
            why = translate("The operator of this server has turned this feed off.")
            return _Status("waiting", translate("Turned off"), why)
        if subscription.feed.kind == "mail":
            return self._by_mail(subscription)
        if subscription.feed.kind == "saved":
            why = translate("Pages you save by their address come here.")
            return _Status("good", translate("Working"), why)
        if subscription.paused:
            why = translate("You have paused it. Nothing new arrives until you resume.")
            return _Status("waiting", translate("Paused"), why)
        if state.stopped_at is not None:
            return self._stopped(subscription)
        match state.status:
            case "success" if state.last_error:
                why = f"{explain(state.last_error)} {self._check_text(subscription)}"
                return _Status("waiting", translate("Damaged"), why)
            case "success":
                return _Status("good", translate("Working"), self._check_text(subscription))
            case "pending":
                return _Status("waiting", translate("Pending"), self._pending_text(subscription))
            case "unauthorized":
                return self._locked(subscription)
            case _:
                return self._failing(subscription)

    def _by_mail(self, subscription: Subscription) -> _Status:
        at = subscription.feed.state.last_changed_at
        why = translate("By mail.")
        if at is not None:
            why = f"{why} {translate('The last %(when)s.', when=ago(at, self._now))}"
        newsletters = "/settings/newsletters"
        return _Status("good", translate("Working"), why, newsletters, translate("Newsletters"), by_link=True)

    def _stopped(self, subscription: Subscription) -> _Status:
        state = subscription.feed.state
        why = sentence(explain(state.stop_reason or state.last_error))
        if state.last_http_status == GONE:
            add_url = f"/add?url={quote(subscription.feed.site_url or subscription.url, safe='')}"
            return _Status("bad", translate("Stopped"), why, add_url, translate("Look for a new address"), by_link=True)
        return _Status("bad", translate("Stopped"), why, _refresh_url(subscription), translate("Start again"))

    def _locked(self, subscription: Subscription) -> _Status:
        error = sentence(explain(subscription.feed.state.last_error))
        advice = translate("Give its name and password in the settings of the feed.")
        return _Status(
            "bad",
            translate("Error"),
            f"{error} {advice} {self._next_try_text(subscription)}".strip(),
            f"/feeds/{subscription.id}/edit",
            translate("Give the password"),
            by_link=True,
        )

    def _failing(self, subscription: Subscription) -> _Status:
        state = subscription.feed.state
        error = sentence(explain(state.last_error))
        if state.consecutive_failures > 1:
            times = ngettext("%(num)s time in a row.", "%(num)s times in a row.", state.consecutive_failures)
            error = f"{error.rstrip('.')}, {times}"
        why = f"{error} {self._next_try_text(subscription)}".strip()
        return _Status("bad", translate("Error"), why, _refresh_url(subscription), translate("Try now"))

    def _next_try_text(self, subscription: Subscription) -> str:
        at = subscription.feed.state.next_check_at
        if at is None:
            return ""
        if at <= self._now:
            return translate("Next try in a few seconds.")
        return translate("Next try at %(when)s.", when=format_future_time(at, self._now, self._zone))

    def _pending_text(self, subscription: Subscription) -> str:
        added = translate("Added %(when)s.", when=ago(subscription.subscribed_at, self._now))
        at = subscription.feed.state.next_check_at
        if at is None or at <= self._now:
            return f"{added} {translate('First check in a few seconds.')}"
        when = format_future_time(at, self._now, self._zone)
        return f"{added} {translate('First check at %(when)s.', when=when)}"

    def _check_text(self, subscription: Subscription) -> str:
        state = subscription.feed.state
        checked = ""
        if state.last_checked_at is not None:
            checked = translate("Checked %(when)s.", when=ago(state.last_checked_at, self._now))
        if state.next_check_at is None:
            return checked
        if state.next_check_at <= self._now:
            return f"{checked} {translate('Next check in a few seconds.')}"
        when = format_future_time(state.next_check_at, self._now, self._zone)
        reason = _interval_reason(state.next_check_rule or "", state.next_check_delay or 0)
        if not reason:
            return f"{checked} {translate('Next about %(when)s.', when=when)}"
        return f"{checked} {translate('Next about %(when)s, because %(reason)s.', when=when, reason=reason)}"


def _interval_reason(rule: str, delay: int) -> str:
    match rule:
        case IntervalRule.RHYTHM:
            return translate("it publishes about every %(span)s", span=format_interval(2 * delay))
        case IntervalRule.QUIET:
            return translate("nothing has been published for a while")
        case IntervalRule.BASE:
            return translate("it has no history yet")
        case IntervalRule.OPERATOR:
            return translate("the operator set its interval")
        case IntervalRule.PUSH:
            return translate("its hub sends new entries at once")
        case IntervalRule.SUBSCRIBER:
            return translate("a reader requested it")
        case IntervalRule.BUSY:
            return translate("it publishes often")
        case IntervalRule.SLOW:
            return translate("it publishes rarely")
        case IntervalRule.HINT:
            return translate("the feed asks for it")
        case IntervalRule.SKIP:
            return translate("the feed asks not to be read before then")
        case IntervalRule.RETRY_AFTER:
            return translate("the site asked to wait")
        case IntervalRule.FRESHNESS:
            return translate("the site says its answer stays fresh that long")
        case IntervalRule.CAP:
            return translate("that is the longest Reedbed waits")
        case _:
            return ""


def _refresh_url(subscription: Subscription) -> str:
    return f"/feeds/{subscription.id}/refresh"


def _differences(subscription: Subscription) -> Iterator[str]:
    """The settings that differ from the default."""
    named = (
        (subscription.paused, translate("Paused")),
        (subscription.interval is not None, translate("Interval")),
        (subscription.full_text == "always", translate("Full article")),
        (subscription.full_text == "never", translate("Never the full article")),
        (subscription.notify, translate("Tells about new entries")),
        (subscription.keep != RetentionOverride(), translate("How much is kept")),
        (subscription.unread_limit is not None, translate("Only the newest stay unread")),
        (subscription.summary_words is not None, translate("Summaries")),
        (subscription.local_only, translate("No model of others")),
        (subscription.muted_until is not None, translate("Muted")),
        (subscription.unread_display != "number", translate("Show unread as")),
        (not subscription.in_unread, translate("Kept out of Unread")),
    )
    return (name for differs, name in named if differs)


def short_url(url: str) -> str:
    return url.partition("://")[2].rstrip("/") or url


# --- Filters and paging

PAGE_SIZE = 20
MAX_SEARCH_LENGTH = 255


@record
class FeedListFilters:
    """The filters and the page number from the query string."""

    search: str = ""
    status: str = "all"
    page: int = 1
    place: str = "/feeds"

    @property
    def offset(self) -> int:
        return (self.page - 1) * PAGE_SIZE

    def address(self, *, status: str | None = None, page: int = 1) -> str:
        params = {"search": self.search, "status": status or self.status, "page": str(page)}
        defaults = {"search": "", "status": "all", "page": "1"}
        changed = {name: value for name, value in params.items() if value != defaults[name]}
        return f"{self.place}?{urlencode(changed)}" if changed else self.place

    def pages(self, shown: int, total: int) -> Pages:
        end = self.offset + shown
        return Pages(
            first=Count(self.offset + 1 if shown else 0),
            last=Count(end if shown else 0),
            total=Count(total),
            previous_url=self.address(page=self.page - 1) if self.page > 1 else "",
            next_url=self.address(page=self.page + 1) if shown and end < total else "",
        )

    def empty_words(self, nothing: str) -> str:
        """Why the list is empty; `nothing` if there is no feed at all."""
        if self.page > 1:
            return translate("This page is empty.")
        filtered = self.search or self.status != "all"
        return translate("No feed matches. Remove the filter to see all.") if filtered else nothing


def read_feed_filters(
    request: Request, *, place: str = "/feeds", statuses: Collection[str] = STATUS_FILTERS
) -> FeedListFilters:
    params = request.query_params
    search, status = params.get("search", "").strip(), params.get("status") or "all"
    page = params.get("page") or "1"
    valid_page = page.isascii() and page.isdigit() and len(page) <= 6 and int(page) >= 1
    if not valid_page or status not in statuses or len(search) > MAX_SEARCH_LENGTH or "\x00" in search:
        raise Invalid("Invalid query parameters")
    return FeedListFilters(search, status, int(page), place)


# --- The list page


async def read_list(request: Request, runtime: Runtime, tx: Tx, user_id: int, filters: FeedListFilters) -> FeedList:
    query = SubscriptionFilter(filters.search, filters.status)
    total = await subscriptions.count_listed(tx, user_id, query)
    found = await subscriptions.page(tx, user_id, query, limit=PAGE_SIZE, offset=filters.offset)
    subscribed = sorted(found, key=lambda one: name_key(one.title or one.feed.title))  # pages are cut by the database
    rows = FeedRowBuilder(runtime.now(), zone_of(request)).lines(subscribed)
    empty = filters.empty_words(translate("Nothing followed yet. Add a site you like."))
    choices = bulk_choices(await folders.of_user(tx, user_id))
    return FeedList(rows, filters.pages(len(rows), total), empty, choices, filters.search, filters.status)


async def read_statuses(tx: Tx, user_id: int, filters: FeedListFilters) -> tuple[SelectOption, ...]:
    counts = await subscriptions.count_by_status(tx, user_id, SubscriptionFilter(filters.search))
    total, working, pending = sum(counts.values()), counts.get("success", 0), counts.get("pending", 0)
    options = (
        ("all", translate("All"), total),
        ("working", translate("Working"), working),
        ("pending", translate("Pending"), pending),
        ("error", translate("Error"), total - working - pending),
    )
    return tuple(
        SelectOption(value, name, value == filters.status, filters.address(status=value), Count(count))
        for value, name, count in options
    )


async def read_page(
    request: Request, runtime: Runtime, user_id: int, filters: FeedListFilters, *, with_list: bool = True
) -> FeedsPage:
    async with runtime.db.read() as tx:
        statuses = await read_statuses(tx, user_id, filters)
        feed_list = await read_list(request, runtime, tx, user_id, filters) if with_list else None
    return FeedsPage(
        filters.search,
        statuses,
        feed_list,
        list_url=filters.address(page=filters.page),
        start_url=f"/feeds?page={filters.page}" if filters.page > 1 else "/feeds",
    )


# --- The card of a failing feed: what happened, since when, what stays, and the one action that helps


def failure_card(subscription: Subscription, now: Instant, zone: tzinfo) -> FailureCard:
    state = subscription.feed.state
    stopped = state.stopped_at is not None
    facts: list[str] = []
    if state.last_success_at is not None:
        facts.append(
            translate("It last answered properly %(when)s.", when=_answered_at(state.last_success_at, now, zone))
        )
    elif stopped:
        facts.append(translate("It has never answered properly."))
    facts.append(translate("Its entries stay."))
    if stopped:
        facts.append(translate("Reedbed no longer asks for it."))
    icon, title = _failure_kind(subscription)
    return FailureCard(
        feed=FeedRowBuilder(now, zone).lines([subscription])[0],
        icon=icon,
        title=title,
        facts=tuple(facts),
        may_leave=stopped,
    )


def _failure_kind(subscription: Subscription) -> tuple[str, str]:
    """The icon, the same as in the sidebar, and the title."""
    state = subscription.feed.state
    if state.stopped_at is not None:
        gone = state.last_http_status == GONE
        return ("gone", translate("Gone for good")) if gone else ("alert", translate("Stopped"))
    match state.status:
        case "unauthorized":
            return "lock", translate("Asks for a password")
        case "permanent_error":
            return "nowhere", translate("No feed at this address")
        case "success":
            return "broken", translate("Damaged")
        case _:
            return "wait", translate("Does not answer now")


def _answered_at(moment: Instant, now: Instant, zone: tzinfo) -> str:
    return full_time(moment, now, zone).words


# --- Changing many feeds at once

UNREAD_LIMITS = (5, 10, 20, 50, 100)


def bulk_choices(rows: Sequence[FolderRow]) -> tuple[SelectOption, ...]:
    """What can be set for many feeds; `parse_bulk` is the inverse."""
    folders = (
        SelectOption(f"folder:{option.value}", translate("Also put into %(folder)s", folder=option.name))
        for option in folder_options(list(rows), None)[1:]
    )
    limits = (SelectOption(f"unread_limit:{number}", _limit_label(number)) for number in UNREAD_LIMITS)
    return (
        SelectOption("paused:true", translate("Pause")),
        SelectOption("paused:false", translate("Go on looking")),
        SelectOption("full_text:always", translate("Always show the full article")),
        SelectOption("full_text:auto", translate("Full article only where the feed is short")),
        SelectOption("notify:true", translate("Tell me about new entries")),
        SelectOption("notify:false", translate("Do not tell me about new entries")),
        SelectOption("in_unread:false", translate("Keep out of Unread")),
        SelectOption("in_unread:true", translate("Show in Unread again")),
        *limits,
        SelectOption("unread_limit:", translate("All stay unread")),
        *folders,
        SelectOption("defaults:", translate("All settings as for a new feed")),
    )


def _limit_label(number: int) -> str:
    return ngettext("Only the newest %(num)s stays unread", "Only the newest %(num)s stay unread", number)


def parse_bulk(choice: str) -> BulkChange:
    name, _, value = choice.partition(":")
    match name:
        case "paused" if value in _FLAGS:
            return BulkChange(SubscriptionChange(paused=_FLAGS[value]))
        case "notify" if value in _FLAGS:
            return BulkChange(SubscriptionChange(notify=_FLAGS[value]))
        case "in_unread" if value in _FLAGS:
            return BulkChange(SubscriptionChange(in_unread=_FLAGS[value]))
        case "full_text":
            return BulkChange(SubscriptionChange(full_text=value))
        case "unread_limit":
            return BulkChange(SubscriptionChange(unread_limit=parse_optional_number(value, name)))
        case "folder":
            return BulkChange(SubscriptionChange(), add_folder=path_id(value))
        case "defaults":
            return BulkChange(DEFAULTS)
        case _:
            raise Invalid("Choose what to change.", field="change")


_FLAGS = {"true": True, "false": False}
