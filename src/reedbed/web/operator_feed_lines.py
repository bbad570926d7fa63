"""A feed in words for its operator: how it stands, who follows it, what went wrong, when it runs next."""

from collections.abc import Mapping
from datetime import tzinfo

from reedbed.domain.times import Instant
from reedbed.store.operator_feeds import STANDINGS, OperatorFeed
from reedbed.web.feed_filters import Wanted
from reedbed.web.feed_lines import short_address
from reedbed.web.moments import ago, coming_moment, full_moment
from reedbed.web.sentences import retell, sentence
from reedbed.web.sidebar import icon_address
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import Choice, Count, feed_mark
from reedbed.web.views.operator_feeds import OperatorFeedLine

_STATES = {"working": "good", "damaged": "waiting", "pending": "waiting", "off": "waiting"}


def feed_line(one: OperatorFeed, now: Instant, zone: tzinfo) -> OperatorFeedLine:
    name = one.title or one.url
    words = (_trouble(one), _followers(one), _checked(one, now), _next_run(one, now, zone))
    return OperatorFeedLine(
        id=one.id,
        name=name,
        url=one.url,
        address=short_address(one.url),
        mark=feed_mark(name, one.id, icon_address(one.icon_id)),
        state=_STATES.get(one.standing, "bad"),
        state_word=standing_words()[one.standing],
        why=" ".join(filter(None, words)),
        enabled=one.enabled,
        language=one.language or "",
    )


def feed_facts(one: OperatorFeed, now: Instant, zone: tzinfo) -> tuple[tuple[str, str], ...]:
    checked = "" if one.last_checked_at is None else full_moment(one.last_checked_at, now, zone).words
    facts = (
        (translate("Who follows"), _followers(one)),
        (translate("Last checked"), checked),
        (translate("Last trouble"), _trouble(one) or sentence(retell(one.last_error or ""))),
        (translate("Next run"), _next_run(one, now, zone)),
    )
    return tuple((name, words) for name, words in facts if words)


def status_choices(counted: Mapping[str, int], wanted: Wanted) -> tuple[Choice, ...]:
    counts = {"all": sum(counted.values()), **{name: counted.get(name, 0) for name in STANDINGS}}
    names = {"all": translate("All"), **standing_words()}
    return tuple(
        Choice(value, names[value], value == wanted.status, wanted.address(status=value), Count(count))
        for value, count in counts.items()
    )


def standing_words() -> dict[str, str]:
    return {
        "working": translate("Working"),
        "damaged": translate("Damaged"),
        "pending": translate("Pending"),
        "error": translate("Error"),
        "stopped": translate("Stopped"),
        "off": translate("Turned off"),
    }


def _followers(one: OperatorFeed) -> str:
    if not one.followers:
        return translate("Nobody follows it.")
    return ngettext("%(num)s reader follows it.", "%(num)s readers follow it.", one.followers)


def _trouble(one: OperatorFeed) -> str:
    if one.standing not in ("damaged", "error", "stopped"):
        return ""
    told = sentence(retell(one.stop_reason or one.last_error or ""))
    if one.standing != "error" or one.failures < 2:
        return told
    times = ngettext("%(num)s time in a row.", "%(num)s times in a row.", one.failures)
    return f"{told.rstrip('.')}, {times}"


def _checked(one: OperatorFeed, now: Instant) -> str:
    return (
        ""
        if one.last_checked_at is None
        else translate("Checked %(when)s.", when=ago(one.last_checked_at, now))
    )


def _next_run(one: OperatorFeed, now: Instant, zone: tzinfo) -> str:
    if not one.enabled or one.next_run_at is None:
        return translate("No run is planned.")
    if one.next_run_at <= now:
        return translate("Next look in a few seconds.")
    return translate("Next about %(when)s.", when=coming_moment(one.next_run_at, now, zone))
