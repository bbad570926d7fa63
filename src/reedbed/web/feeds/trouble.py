"""The card of a feed in trouble: what happened, since when, what stays, and the one action that helps."""

from datetime import tzinfo

from reedbed.domain.subscriptions import GONE, Subscription
from reedbed.domain.times import Instant
from reedbed.web.feeds.views import FeedRowBuilder
from reedbed.web.formats import full_time
from reedbed.web.i18n import translate
from reedbed.web.views.feeds import TroubleCard


def trouble_card(subscription: Subscription, now: Instant, zone: tzinfo) -> TroubleCard:
    state = subscription.feed.state
    stopped = state.stopped_at is not None
    facts: list[str] = []
    if state.last_success_at is not None:
        facts.append(translate("It last answered properly %(when)s.", when=_when(state.last_success_at, now, zone)))
    elif stopped:
        facts.append(translate("It has never answered properly."))
    facts.append(translate("Its entries stay."))
    if stopped:
        facts.append(translate("Reedbed no longer asks for it."))
    icon, title = _kind(subscription)
    return TroubleCard(
        feed=FeedRowBuilder(now, zone).lines([subscription])[0],
        icon=icon,
        title=title,
        facts=tuple(facts),
        may_leave=stopped,
    )


def _kind(subscription: Subscription) -> tuple[str, str]:
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


def _when(moment: Instant, now: Instant, zone: tzinfo) -> str:
    return full_time(moment, now, zone).words
