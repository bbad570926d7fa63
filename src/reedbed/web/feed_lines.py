"""A followed feed as a line for people: its state in a word, why, when it is looked at next, what to do."""

from collections.abc import Sequence
from datetime import tzinfo
from urllib.parse import quote

from reedbed.domain.records import record
from reedbed.domain.schedule import Rule
from reedbed.domain.shelf import GONE
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.times import Instant
from reedbed.web.moments import ago, coming_moment, span_words
from reedbed.web.sentences import retell, sentence
from reedbed.web.sidebar import icon_address
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import feed_mark
from reedbed.web.views.managing import FeedLine


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

    def lines(self, followed: Sequence[Subscription]) -> tuple[FeedLine, ...]:
        return tuple(self._line(one) for one in followed)

    def _line(self, one: Subscription) -> FeedLine:
        standing = self._standing(one)
        return FeedLine(
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
                why = f"{retell(state.last_error)} {self._working(one)}"
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
        why = sentence(retell(state.stop_reason or state.last_error or ""))
        if state.last_http_status == GONE:
            look = f"/add?url={quote(one.feed.site_url or one.url, safe='')}"
            return _Standing(
                "bad", translate("Stopped"), why, look, translate("Look for a new address"), by_link=True
            )
        return _Standing("bad", translate("Stopped"), why, _refresh(one), translate("Start again"))

    def _locked(self, one: Subscription) -> _Standing:
        told = sentence(retell(one.feed.state.last_error or ""))
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
        told = sentence(retell(state.last_error or ""))
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
        return translate("Next try at %(when)s.", when=coming_moment(at, self._now, self._zone))

    def _pending(self, one: Subscription) -> str:
        added = translate("Added %(when)s.", when=ago(one.subscribed_at, self._now))
        at = one.feed.state.next_check_at
        if at is None or at <= self._now:
            return f"{added} {translate('First look in a few seconds.')}"
        return (
            f"{added} {translate('First look at %(when)s.', when=coming_moment(at, self._now, self._zone))}"
        )

    def _working(self, one: Subscription) -> str:
        state = one.feed.state
        checked = ""
        if state.last_checked_at is not None:
            checked = translate("Checked %(when)s.", when=ago(state.last_checked_at, self._now))
        if state.next_check_at is None:
            return checked
        if state.next_check_at <= self._now:
            return f"{checked} {translate('Next look in a few seconds.')}"
        when = coming_moment(state.next_check_at, self._now, self._zone)
        reason = _reason(state.next_check_rule or "", state.next_check_delay or 0)
        if not reason:
            return f"{checked} {translate('Next about %(when)s.', when=when)}"
        return f"{checked} {translate('Next about %(when)s, because %(reason)s.', when=when, reason=reason)}"


def _reason(rule: str, delay: int) -> str:
    match rule:
        case Rule.RHYTHM:
            return translate("it publishes about every %(span)s", span=span_words(2 * delay))
        case Rule.QUIET:
            return translate("nothing has been published for a while")
        case Rule.BASE:
            return translate("it has no history yet")
        case Rule.OPERATOR:
            return translate("the operator set its interval")
        case Rule.PUSH:
            return translate("its hub sends news as they happen")
        case Rule.WISH:
            return translate("a reader asked for it")
        case Rule.BUSY:
            return translate("it publishes often")
        case Rule.SLOW:
            return translate("it publishes rarely")
        case Rule.HINT:
            return translate("the feed asks for it")
        case Rule.SKIP:
            return translate("the feed asks not to be read before then")
        case Rule.RETRY_AFTER:
            return translate("the site asked to wait")
        case Rule.FRESHNESS:
            return translate("the site says its answer stays fresh that long")
        case Rule.CAP:
            return translate("that is the longest Reedbed waits")
        case _:
            return ""


def _refresh(one: Subscription) -> str:
    return f"/feeds/{one.id}/refresh"


def short_address(url: str) -> str:
    return url.partition("://")[2].rstrip("/") or url
