"""View models of the feed pages: the filtered list with the status of each feed, and the edit form."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import tzinfo
from urllib.parse import quote, urlencode

from fastapi import Request

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderNode, FolderRow, build_tree
from reedbed.domain.page_feeds import PageFeed
from reedbed.domain.records import record
from reedbed.domain.refresh.schedule import IntervalRule
from reedbed.domain.retention import RetentionOverride
from reedbed.domain.subscriptions import GONE, STATUS_FILTERS, Subscription, SubscriptionFilter
from reedbed.domain.summaries import NEVER
from reedbed.domain.times import HOUR, MINUTE, Instant
from reedbed.domain.users import Caller, User
from reedbed.domain.websub import HubStatus
from reedbed.services.articles import selectors_of
from reedbed.services.runtime import Runtime
from reedbed.services.websub import HubView, hub_status
from reedbed.store import folders, page_feeds, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.store.newsletters import inbound
from reedbed.web.formats import ago, format_future_time, format_interval, full_time, zone_of
from reedbed.web.framing import feed_framing
from reedbed.web.i18n import explain, ngettext, sentence, translate
from reedbed.web.newsletters import sender_facts
from reedbed.web.sidebar import display_options, icon_address, mute_options
from reedbed.web.views.feeds import FeedArticles, FeedEdit, FeedList, FeedRowView, FeedsPage, RetentionOptions
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
            address=short_url(subscription.url),
            mark=feed_mark(subscription.title, subscription.feed.id, icon_address(subscription.feed.icon_id)),
            state=status.state,
            state_word=status.label,
            why=status.why,
            act_url=status.act_url,
            act=status.act,
            act_by_link=status.by_link,
            language=subscription.feed.language or "",
            paused=subscription.paused,
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
            why = translate("You have paused it. Nothing new comes until you go on.")
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
            return f"{added} {translate('First look in a few seconds.')}"
        when = format_future_time(at, self._now, self._zone)
        return f"{added} {translate('First look at %(when)s.', when=when)}"

    def _check_text(self, subscription: Subscription) -> str:
        state = subscription.feed.state
        checked = ""
        if state.last_checked_at is not None:
            checked = translate("Checked %(when)s.", when=ago(state.last_checked_at, self._now))
        if state.next_check_at is None:
            return checked
        if state.next_check_at <= self._now:
            return f"{checked} {translate('Next look in a few seconds.')}"
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
            return translate("its hub sends news as they happen")
        case IntervalRule.SUBSCRIBER:
            return translate("a reader asked for it")
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
        return translate("No feed fits. Take the filter away to see all.") if filtered else nothing


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


# --- WebSub hub


def hub_facts(hub: HubView, now: Instant, zone: tzinfo) -> list[tuple[str, str]]:
    """Facts about the feed's WebSub hub; empty if the feed names none."""
    if hub.hub_url is None:
        return []
    facts = [(translate("Hub"), f"{hub.hub_url} · {_hub_state(hub)}")]
    if hub.standing is not None and (hub.standing.pushes or hub.standing.missed):
        facts.append((translate("What the hub sent"), _push_stats(hub.standing, now, zone)))
    return facts


def _hub_state(hub: HubView) -> str:
    if hub.relied_on:
        return translate("It sends news as they happen; one check a day makes sure that none is lost.")
    match hub.status:
        case "off":
            return f"{translate('Not asked.')} {explain(hub.failure)}"
        case "active":
            return translate("It missed news, so the feed is checked in its own rhythm until it sends some.")
        case "new":
            return translate("It will be asked within a minute.")
        case "asked":
            return translate("It was asked and has not confirmed yet.")
        case _:
            return f"{explain(hub.failure)} {translate('The feed is checked in its own rhythm.')}"


def _push_stats(hub: HubStatus, now: Instant, zone: tzinfo) -> str:
    parts = [
        ngettext("%(num)s push.", "%(num)s pushes.", hub.pushes),
        ngettext("%(num)s entry came that way.", "%(num)s entries came that way.", hub.entries),
    ]
    if hub.missed:
        parts.append(ngettext("%(num)s was missed.", "%(num)s were missed.", hub.missed))
    if hub.last_push_at is not None:
        when = full_time(hub.last_push_at, now, zone).words
        parts.append(translate("Last: %(when)s.", when=when))
    return " ".join(parts)


# --- Options of the edit form: retention and automatic summaries

DAYS = (30, 90, 180, 365, 1_095)
UNREAD_DAYS = (7, 30, 90, 365)
ENTRIES = (50, 100, 500, 1_000, 5_000)


def retention_options(override: RetentionOverride) -> RetentionOptions:
    return RetentionOptions(
        days=_number_options(override.days, DAYS, _days_label, translate("For ever")),
        unread_days=_number_options(override.unread_days, UNREAD_DAYS, _days_label, translate("For ever")),
        entries=_number_options(override.entries, ENTRIES, _newest_label, translate("All")),
    )


def parse_optional_number(text: str, field: str) -> int | None:
    """None means the server's default limit."""
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Invalid("%(name)s must be a number", field=field, name=field)
    return int(text)


def _number_options(
    chosen: int | None, defaults: Sequence[int], label: Callable[[int], str], no_limit: str
) -> tuple[SelectOption, ...]:
    numbers = sorted({*defaults, *((chosen,) if chosen else ())})
    return (
        SelectOption("", translate("As the server does"), chosen is None),
        *(SelectOption(str(number), label(number), number == chosen) for number in numbers),
        SelectOption("0", no_limit, chosen == 0),
    )


def _days_label(count: int) -> str:
    return ngettext("%(num)s day", "%(num)s days", count)


def _newest_label(count: int) -> str:
    return ngettext("The newest %(num)s", "The newest %(num)s", count)


WORDS = (200, 500, 1_000)


def summary_options(chosen: int | None, default_label: str) -> tuple[SelectOption, ...]:
    numbers = sorted({*WORDS, *((chosen,) if chosen and chosen > 0 else ())})
    return (
        SelectOption("", default_label, chosen is None),
        SelectOption(str(NEVER), translate("Never"), chosen == NEVER),
        SelectOption("0", translate("All of them"), chosen == 0),
        *(SelectOption(str(number), _at_least_label(number), number == chosen) for number in numbers),
    )


def parse_summary_words(text: str) -> int | None:
    """None means the setting of the enclosing folder or the user."""
    if not text:
        return None
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise Invalid("summary_words must be a whole number.", field="summary_words")
    return int(text)


def _at_least_label(word_count: int) -> str:
    return ngettext("From %(num)s word on", "From %(num)s words on", word_count)


# --- The list page and the edit form

INTERVALS = (15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR)


async def read_list(request: Request, runtime: Runtime, tx: Tx, user_id: int, filters: FeedListFilters) -> FeedList:
    query = SubscriptionFilter(filters.search, filters.status)
    total = await subscriptions.count_listed(tx, user_id, query)
    subscribed = await subscriptions.page(tx, user_id, query, limit=PAGE_SIZE, offset=filters.offset)
    rows = FeedRowBuilder(runtime.now(), zone_of(request)).lines(subscribed)
    empty = filters.empty_words(translate("Nothing followed yet. Add a site you like."))
    return FeedList(rows, filters.pages(len(rows), total), empty)


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


def edit_form(
    request: Request, runtime: Runtime, subscription: Subscription, rows: list[FolderRow], hub: HubView
) -> FeedEdit:
    model = runtime.ai.model
    return FeedEdit(
        id=subscription.id,
        title=subscription.title,
        name=subscription.title,
        url=subscription.url,
        username=subscription.feed.username or "",
        has_password=subscription.feed.has_password,
        locked=subscription.feed.state.status == "unauthorized",
        mark=feed_mark(subscription.title, subscription.feed.id, icon_address(subscription.feed.icon_id)),
        folders=folder_options(rows, subscription.folder_id),
        intervals=interval_options(subscription.interval),
        paused=subscription.paused,
        full_text=subscription.full_text == "always",
        notify=subscription.notify,
        keep=retention_options(subscription.keep),
        summaries=summary_options(subscription.summary_words, translate("As the folder says")),
        model=model.name if model is not None and model.is_remote else "",
        local_only=subscription.local_only,
        mutes=mute_options(subscription.muted_until, zone_of(request), runtime.now()),
        unread_displays=display_options(subscription.unread_display),
        facts=_facts(request, runtime, subscription, hub),
        by_mail=subscription.feed.kind != "web",
    )


async def read_edit(request: Request, runtime: Runtime, user_id: int, subscription_id: int) -> FeedEdit | None:
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, user_id, subscription_id)
        rows = await folders.of_user(tx, user_id)
        sender = await inbound.sender_of_feed(tx, user_id, subscription.feed.id) if subscription else None
        made = await page_feeds.of_subscription(tx, user_id, subscription_id)
    if subscription is None:
        return None
    form = edit_form(request, runtime, subscription, rows, await hub_status(runtime, subscription.feed.id))
    if sender is not None:
        return replace(form, facts=(*sender_facts(sender), *form.facts))
    if made is not None:
        form = replace(form, facts=(*_page_facts(runtime, made), *form.facts))
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        return form
    return replace(
        form,
        framing=await feed_framing(runtime, caller.user, subscription, zone_of(request)),
        articles=await _articles(runtime, caller.user, subscription),
    )


def _page_facts(runtime: Runtime, made: PageFeed) -> Iterator[tuple[str, str]]:
    """How the list on the page is found, and what changed when the page was rebuilt."""
    if made.recipe.watches:
        yield translate("Watched for changes"), made.recipe.selectors.item or translate("The whole page")
        return
    yield translate("Made from a page"), made.recipe.selectors.item or made.recipe.source
    if made.former is not None and made.rebuilt_at is not None:
        when = ago(made.rebuilt_at, runtime.now())
        before = made.former.selectors.item or made.former.source
        text = translate(
            "%(when)s; the list was found again by its known links. Before: %(item)s", when=when, item=before
        )
        yield translate("Page was rebuilt"), text


async def _articles(runtime: Runtime, user: User, subscription: Subscription) -> FeedArticles | None:
    current = await selectors_of(runtime, user, subscription.id)
    if not current.may_change:
        return None
    keep, drop = "\n".join(current.selectors.keep), "\n".join(current.selectors.drop)
    return FeedArticles(keep, drop, shared=not subscription.feed.private, newest=current.newest)


def folder_options(rows: list[FolderRow], chosen: int | None) -> tuple[SelectOption, ...]:
    """Every folder with its full path; the first option is no folder."""
    return (
        SelectOption("", translate("No folder"), chosen is None),
        *(
            SelectOption(str(id_), name, id_ == chosen)
            for node in build_tree(rows)
            for id_, name in _folder_paths(node, "")
        ),
    )


def interval_options(chosen: int | None) -> tuple[SelectOption, ...]:
    spans = sorted({*INTERVALS, *((chosen,) if chosen else ())})
    return (
        SelectOption("", translate("In its own rhythm"), chosen is None),
        *(
            SelectOption(str(span), translate("Every %(span)s", span=format_interval(span)), span == chosen)
            for span in spans
        ),
    )


def _folder_paths(node: FolderNode, prefix: str) -> list[tuple[int, str]]:
    name = f"{prefix}{node.name}"
    children = [path for child in node.children for path in _folder_paths(child, f"{name} / ")]
    return [(node.id, name), *children]


def _facts(request: Request, runtime: Runtime, subscription: Subscription, hub: HubView) -> tuple[tuple[str, str], ...]:
    state, now, zone = subscription.feed.state, runtime.now(), zone_of(request)
    facts = [
        (translate("Site"), subscription.feed.site_url or ""),
        (
            translate("Added as"),
            subscription.asked_url if subscription.asked_url not in ("", subscription.feed.url) else "",
        ),
        (translate("About itself"), subscription.feed.description or ""),
        (translate("Followed since"), full_time(subscription.subscribed_at, now, zone).words),
        (translate("Last checked"), _time_text(state.last_checked_at, now, zone)),
        (translate("Last good answer"), _time_text(state.last_success_at, now, zone)),
        (translate("Last trouble"), explain(state.last_error)),
        (translate("Next look"), FeedRowBuilder(now, zone).lines([subscription])[0].why),
        *hub_facts(hub, now, zone),
    ]
    return tuple((name, value) for name, value in facts if value)


def _time_text(at: int | None, now: int, zone: tzinfo) -> str:
    return "" if at is None else full_time(at, now, zone).words
