"""What the pages about feeds show: the filtered list, the filters, the form of one feed."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import tzinfo
from urllib.parse import quote, urlencode

from fastapi import Request

from reedbed.domain.errors import Invalid
from reedbed.domain.folders import FolderNode, FolderRow, build_tree
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
from reedbed.store import folders, newsletters, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.web.formats import ago, coming_time, full_time, span_words, zone_of
from reedbed.web.framing import feed_framing
from reedbed.web.i18n import ngettext, sentence, translate, translate_failure
from reedbed.web.newsletters import sender_facts
from reedbed.web.sidebar import icon_address
from reedbed.web.views.feeds import FeedArticles, FeedEdit, FeedList, FeedRowView, FeedsPage, RetentionOptions
from reedbed.web.views.layout import Count, Pages, SelectOption, feed_mark


@record
class _Standing:
    """What the state of a feed comes to for its reader."""

    state: str
    word: str
    why: str
    act_url: str = ""
    act: str = ""
    by_link: bool = False


class LineMaker:
    def __init__(self, now: Instant, zone: tzinfo) -> None:
        self._now = now
        self._zone = zone

    def lines(self, followed: Sequence[Subscription]) -> tuple[FeedRowView, ...]:
        return tuple(self._line(one) for one in followed)

    def _line(self, one: Subscription) -> FeedRowView:
        standing = self._standing(one)
        return FeedRowView(
            id=one.id,
            url=f"/feed/{one.id}",
            name=one.title,
            address=short_address(one.url),
            mark=feed_mark(one.title, one.feed.id, icon_address(one.feed.icon_id)),
            state=standing.state,
            state_word=standing.word,
            why=standing.why,
            act_url=standing.act_url,
            act=standing.act,
            act_by_link=standing.by_link,
            language=one.feed.language or "",
            paused=one.paused,
        )

    def _standing(self, one: Subscription) -> _Standing:
        state = one.feed.state
        if not one.feed.enabled:
            why = translate("The operator of this server has turned this feed off.")
            return _Standing("waiting", translate("Turned off"), why)
        if one.feed.kind == "mail":
            return self._by_mail(one)
        if one.feed.kind == "saved":
            why = translate("Pages you save by their address come here.")
            return _Standing("good", translate("Working"), why)
        if one.paused:
            why = translate("You have paused it. Nothing new comes until you go on.")
            return _Standing("waiting", translate("Paused"), why)
        if state.stopped_at is not None:
            return self._stopped(one)
        match state.status:
            case "success" if state.last_error:
                why = f"{translate_failure(state.last_error)} {self._working(one)}"
                return _Standing("waiting", translate("Damaged"), why)
            case "success":
                return _Standing("good", translate("Working"), self._working(one))
            case "pending":
                return _Standing("waiting", translate("Pending"), self._pending(one))
            case "unauthorized":
                return self._locked(one)
            case _:
                return self._failing(one)

    def _by_mail(self, one: Subscription) -> _Standing:
        at = one.feed.state.last_changed_at
        why = translate("By mail.")
        if at is not None:
            why = f"{why} {translate('The last %(when)s.', when=ago(at, self._now))}"
        newsletters = "/settings/newsletters"
        return _Standing(
            "good", translate("Working"), why, newsletters, translate("Newsletters"), by_link=True
        )

    def _stopped(self, one: Subscription) -> _Standing:
        state = one.feed.state
        why = sentence(translate_failure(state.stop_reason or state.last_error or ""))
        if state.last_http_status == GONE:
            look = f"/add?url={quote(one.feed.site_url or one.url, safe='')}"
            return _Standing(
                "bad", translate("Stopped"), why, look, translate("Look for a new address"), by_link=True
            )
        return _Standing("bad", translate("Stopped"), why, _refresh(one), translate("Start again"))

    def _locked(self, one: Subscription) -> _Standing:
        told = sentence(translate_failure(one.feed.state.last_error or ""))
        asked = translate("Give its name and password in the settings of the feed.")
        return _Standing(
            "bad",
            translate("Error"),
            f"{told} {asked} {self._next_try(one)}".strip(),
            f"/feeds/{one.id}/edit",
            translate("Give the password"),
            by_link=True,
        )

    def _failing(self, one: Subscription) -> _Standing:
        state = one.feed.state
        told = sentence(translate_failure(state.last_error or ""))
        if state.consecutive_failures > 1:
            times = ngettext("%(num)s time in a row.", "%(num)s times in a row.", state.consecutive_failures)
            told = f"{told.rstrip('.')}, {times}"
        why = f"{told} {self._next_try(one)}".strip()
        return _Standing("bad", translate("Error"), why, _refresh(one), translate("Try now"))

    def _next_try(self, one: Subscription) -> str:
        at = one.feed.state.next_check_at
        if at is None:
            return ""
        if at <= self._now:
            return translate("Next try in a few seconds.")
        return translate("Next try at %(when)s.", when=coming_time(at, self._now, self._zone))

    def _pending(self, one: Subscription) -> str:
        added = translate("Added %(when)s.", when=ago(one.subscribed_at, self._now))
        at = one.feed.state.next_check_at
        if at is None or at <= self._now:
            return f"{added} {translate('First look in a few seconds.')}"
        return f"{added} {translate('First look at %(when)s.', when=coming_time(at, self._now, self._zone))}"

    def _working(self, one: Subscription) -> str:
        state = one.feed.state
        checked = ""
        if state.last_checked_at is not None:
            checked = translate("Checked %(when)s.", when=ago(state.last_checked_at, self._now))
        if state.next_check_at is None:
            return checked
        if state.next_check_at <= self._now:
            return f"{checked} {translate('Next look in a few seconds.')}"
        when = coming_time(state.next_check_at, self._now, self._zone)
        reason = _reason(state.next_check_rule or "", state.next_check_delay or 0)
        if not reason:
            return f"{checked} {translate('Next about %(when)s.', when=when)}"
        return f"{checked} {translate('Next about %(when)s, because %(reason)s.', when=when, reason=reason)}"


def _reason(rule: str, delay: int) -> str:
    match rule:
        case IntervalRule.RHYTHM:
            return translate("it publishes about every %(span)s", span=span_words(2 * delay))
        case IntervalRule.QUIET:
            return translate("nothing has been published for a while")
        case IntervalRule.BASE:
            return translate("it has no history yet")
        case IntervalRule.OPERATOR:
            return translate("the operator set its interval")
        case IntervalRule.PUSH:
            return translate("its hub sends news as they happen")
        case IntervalRule.WISH:
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


def _refresh(one: Subscription) -> str:
    return f"/feeds/{one.id}/refresh"


def short_address(url: str) -> str:
    return url.partition("://")[2].rstrip("/") or url


PAGE_SIZE = 20
MAX_SEARCH_LENGTH = 255


@record
class RequestedFeeds:
    """The filters as the address gives them."""

    search: str = ""
    status: str = "all"
    page: int = 1
    place: str = "/feeds"

    @property
    def offset(self) -> int:
        return (self.page - 1) * PAGE_SIZE

    def address(self, *, status: str | None = None, page: int = 1) -> str:
        wanted = {"search": self.search, "status": status or self.status, "page": str(page)}
        plain = {"search": "", "status": "all", "page": "1"}
        changed = {name: value for name, value in wanted.items() if value != plain[name]}
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
        """Why the list is empty; `nothing` where there is no feed at all."""
        if self.page > 1:
            return translate("This page is empty.")
        narrowed = self.search or self.status != "all"
        return translate("No feed fits. Take the filter away to see all.") if narrowed else nothing


def read_wanted(
    request: Request, *, place: str = "/feeds", statuses: Collection[str] = STATUS_FILTERS
) -> RequestedFeeds:
    params = request.query_params
    search, status = params.get("search", "").strip(), params.get("status") or "all"
    page = params.get("page") or "1"
    whole = page.isascii() and page.isdigit() and len(page) <= 6 and int(page) >= 1
    if not whole or status not in statuses or len(search) > MAX_SEARCH_LENGTH or "\x00" in search:
        raise Invalid("Invalid query parameters")
    return RequestedFeeds(search, status, int(page), place)


def hub_facts(hub: HubView, now: Instant, zone: tzinfo) -> list[tuple[str, str]]:
    """Nothing for a feed that names no hub."""
    if hub.hub_url is None:
        return []
    facts = [(translate("Hub"), f"{hub.hub_url} · {_why(hub)}")]
    if hub.standing is not None and (hub.standing.pushes or hub.standing.missed):
        facts.append((translate("What the hub sent"), _record(hub.standing, now, zone)))
    return facts


def _why(hub: HubView) -> str:
    if hub.relied_on:
        return translate("It sends news as they happen; one check a day makes sure that none is lost.")
    match hub.status:
        case "off":
            return f"{translate('Not asked.')} {translate_failure(hub.reason)}"
        case "active":
            return translate("It missed news, so the feed is checked in its own rhythm until it sends some.")
        case "new":
            return translate("It will be asked within a minute.")
        case "asked":
            return translate("It was asked and has not confirmed yet.")
        case _:
            return f"{translate_failure(hub.reason)} {translate('The feed is checked in its own rhythm.')}"


def _record(standing: HubStatus, now: Instant, zone: tzinfo) -> str:
    said = [
        ngettext("%(num)s push.", "%(num)s pushes.", standing.pushes),
        ngettext("%(num)s entry came that way.", "%(num)s entries came that way.", standing.entries),
    ]
    if standing.missed:
        said.append(ngettext("%(num)s was missed.", "%(num)s were missed.", standing.missed))
    if standing.last_push_at is not None:
        when = full_time(standing.last_push_at, now, zone).words
        said.append(translate("Last: %(when)s.", when=when))
    return " ".join(said)


DAYS = (30, 90, 180, 365, 1_095)
UNREAD_DAYS = (7, 30, 90, 365)
ENTRIES = (50, 100, 500, 1_000, 5_000)


def keep_choices(wish: RetentionOverride) -> RetentionOptions:
    return RetentionOptions(
        days=_choices(wish.days, DAYS, _days, translate("For ever")),
        unread_days=_choices(wish.unread_days, UNREAD_DAYS, _days, translate("For ever")),
        entries=_choices(wish.entries, ENTRIES, _newest, translate("All")),
    )


def chosen_number(text: str, field: str) -> int | None:
    """Nothing chosen is the server's own limit."""
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Invalid(f"{field} must be a number", field=field)
    return int(text)


def _choices(
    chosen: int | None, usual: Sequence[int], say: Callable[[int], str], without: str
) -> tuple[SelectOption, ...]:
    numbers = sorted({*usual, *((chosen,) if chosen else ())})
    return (
        SelectOption("", translate("As the server does"), chosen is None),
        *(SelectOption(str(number), say(number), number == chosen) for number in numbers),
        SelectOption("0", without, chosen == 0),
    )


def _days(count: int) -> str:
    return ngettext("%(num)s day", "%(num)s days", count)


def _newest(count: int) -> str:
    return ngettext("The newest %(num)s", "The newest %(num)s", count)


WORDS = (200, 500, 1_000)


def summary_choices(chosen: int | None, otherwise: str) -> tuple[SelectOption, ...]:
    numbers = sorted({*WORDS, *((chosen,) if chosen and chosen > 0 else ())})
    return (
        SelectOption("", otherwise, chosen is None),
        SelectOption(str(NEVER), translate("Never"), chosen == NEVER),
        SelectOption("0", translate("All of them"), chosen == 0),
        *(SelectOption(str(number), _longer(number), number == chosen) for number in numbers),
    )


def chosen_words(text: str) -> int | None:
    """Nothing chosen is what is around it."""
    if not text:
        return None
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise Invalid("summary_words must be a whole number.", field="summary_words")
    return int(text)


def _longer(words: int) -> str:
    return ngettext("From %(num)s word on", "From %(num)s words on", words)


INTERVALS = (15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR)


async def read_list(
    request: Request, runtime: Runtime, tx: Tx, user_id: int, wanted: RequestedFeeds
) -> FeedList:
    asked = SubscriptionFilter(wanted.search, wanted.status)
    total = await subscriptions.count_listed(tx, user_id, asked)
    found = await subscriptions.page(tx, user_id, asked, limit=PAGE_SIZE, offset=wanted.offset)
    lines = LineMaker(runtime.now(), zone_of(request)).lines(found)
    empty = wanted.empty_words(translate("Nothing followed yet. Add a site you like."))
    return FeedList(lines, wanted.pages(len(lines), total), empty)


async def read_statuses(tx: Tx, user_id: int, wanted: RequestedFeeds) -> tuple[SelectOption, ...]:
    counted = await subscriptions.count_by_status(tx, user_id, SubscriptionFilter(wanted.search))
    total, working, pending = sum(counted.values()), counted.get("success", 0), counted.get("pending", 0)
    named = (
        ("all", translate("All"), total),
        ("working", translate("Working"), working),
        ("pending", translate("Pending"), pending),
        ("error", translate("Error"), total - working - pending),
    )
    return tuple(
        SelectOption(value, name, value == wanted.status, wanted.address(status=value), Count(count))
        for value, name, count in named
    )


async def read_page(
    request: Request, runtime: Runtime, user_id: int, wanted: RequestedFeeds, *, with_list: bool = True
) -> FeedsPage:
    async with runtime.db.read() as tx:
        statuses = await read_statuses(tx, user_id, wanted)
        listed = await read_list(request, runtime, tx, user_id, wanted) if with_list else None
    return FeedsPage(
        wanted.search,
        statuses,
        listed,
        list_url=wanted.address(page=wanted.page),
        start_url=f"/feeds?page={wanted.page}" if wanted.page > 1 else "/feeds",
    )


def edit_form(
    request: Request, runtime: Runtime, one: Subscription, rows: list[FolderRow], hub: HubView
) -> FeedEdit:
    model = runtime.ai.model
    return FeedEdit(
        id=one.id,
        title=one.title,
        name=one.title,
        url=one.url,
        username=one.feed.username or "",
        has_password=one.feed.has_password,
        locked=one.feed.state.status == "unauthorized",
        mark=feed_mark(one.title, one.feed.id, icon_address(one.feed.icon_id)),
        folders=folder_choices(rows, one.folder_id),
        intervals=interval_choices(one.interval),
        paused=one.paused,
        full_text=one.full_text == "always",
        notify=one.notify,
        keep=keep_choices(one.keep),
        summaries=summary_choices(one.summary_words, translate("As the folder says")),
        model=model.name if model is not None and model.is_remote else "",
        local_only=one.local_only,
        facts=_facts(request, runtime, one, hub),
        by_mail=one.feed.kind != "web",
    )


async def read_edit(
    request: Request, runtime: Runtime, user_id: int, subscription_id: int
) -> FeedEdit | None:
    async with runtime.db.read() as tx:
        one = await subscriptions.get(tx, user_id, subscription_id)
        rows = await folders.of_user(tx, user_id)
        sender = await newsletters.sender_of_feed(tx, user_id, one.feed.id) if one else None
    if one is None:
        return None
    form = edit_form(request, runtime, one, rows, await hub_status(runtime, one.feed.id))
    if sender is not None:
        return replace(form, facts=(*sender_facts(sender), *form.facts))
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        return form
    return replace(
        form,
        framing=await feed_framing(runtime, caller.user, one, zone_of(request)),
        articles=await _articles(runtime, caller.user, one),
    )


async def _articles(runtime: Runtime, user: User, one: Subscription) -> FeedArticles | None:
    found = await selectors_of(runtime, user, one.id)
    if not found.may_change:
        return None
    keep, drop = "\n".join(found.selectors.keep), "\n".join(found.selectors.drop)
    return FeedArticles(keep, drop, shared=not one.feed.private, newest=found.newest)


def folder_choices(rows: list[FolderRow], chosen: int | None) -> tuple[SelectOption, ...]:
    """Every folder under its full way down; the first choice is none."""
    return (
        SelectOption("", translate("No folder"), chosen is None),
        *(
            SelectOption(str(id_), name, id_ == chosen)
            for node in build_tree(rows)
            for id_, name in _ways(node, "")
        ),
    )


def interval_choices(chosen: int | None) -> tuple[SelectOption, ...]:
    spans = sorted({*INTERVALS, *((chosen,) if chosen else ())})
    return (
        SelectOption("", translate("In its own rhythm"), chosen is None),
        *(
            SelectOption(str(span), translate("Every %(span)s", span=span_words(span)), span == chosen)
            for span in spans
        ),
    )


def _ways(node: FolderNode, above: str) -> list[tuple[int, str]]:
    name = f"{above}{node.name}"
    inner = [way for child in node.children for way in _ways(child, f"{name} / ")]
    return [(node.id, name), *inner]


def _facts(
    request: Request, runtime: Runtime, one: Subscription, hub: HubView
) -> tuple[tuple[str, str], ...]:
    state, now, zone = one.feed.state, runtime.now(), zone_of(request)
    facts = [
        (translate("Site"), one.feed.site_url or ""),
        (translate("Added as"), one.asked_url if one.asked_url not in ("", one.feed.url) else ""),
        (translate("About itself"), one.feed.description or ""),
        (translate("Followed since"), full_time(one.subscribed_at, now, zone).words),
        (translate("Last checked"), _moment(state.last_checked_at, now, zone)),
        (translate("Last good answer"), _moment(state.last_success_at, now, zone)),
        (translate("Last trouble"), translate_failure(state.last_error or "")),
        (translate("Next look"), LineMaker(now, zone).lines([one])[0].why),
        *hub_facts(hub, now, zone),
    ]
    return tuple((name, value) for name, value in facts if value)


def _moment(moment: int | None, now: int, zone: tzinfo) -> str:
    return "" if moment is None else full_time(moment, now, zone).words
