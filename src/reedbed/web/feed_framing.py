"""Framing on the page of a feed: the switch, and the averages of its weeks as a drawing."""

from collections.abc import Sequence
from datetime import tzinfo
from urllib.parse import quote

from reedbed.domain.accounts import User
from reedbed.domain.framing import Average, band_of
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.times import Instant
from reedbed.services.framing import WEEK, WEEKS_SHOWN, framing_of_feed
from reedbed.services.runtime import Runtime
from reedbed.web.framing_views import band_word
from reedbed.web.moments import short_moment
from reedbed.web.plots import HIGH, Span, line
from reedbed.web.speech import decimal, ngettext, translate
from reedbed.web.views.managing import FeedFraming
from reedbed.web.views.operator import Plot


async def feed_framing(runtime: Runtime, user: User, one: Subscription, zone: tzinfo) -> FeedFraming:
    found = await framing_of_feed(runtime, user, one.id)
    door = f"/rss?url={quote(one.feed.url, safe='')}" if found.for_everybody else ""
    return FeedFraming(
        on=found.wished,
        for_everybody=found.for_everybody,
        model=found.model or "",
        asks=found.sends and not found.allowed,
        door_url=door,
        plot=averages_plot(found.averages, runtime.now(), zone) if found.averages else None,
    )


def averages_plot(averages: Sequence[Average], now: Instant, zone: tzinfo) -> Plot:
    """Week by week on a scale from calm below to loud above, with the number of articles behind it."""
    span = Span(WEEKS_SHOWN * WEEK, WEEKS_SHOWN)
    begin = now // WEEK * WEEK - (WEEKS_SHOWN - 1) * WEEK
    articles = sum(week.articles for week in averages)
    mean = sum(week.overall * week.articles for week in averages) / articles
    behind = ngettext("%(num)s article", "%(num)s articles", articles)
    points = [((week.since - begin) // WEEK, HIGH * (1 - week.overall)) for week in averages]
    return Plot(
        title=translate("Overall framing, week by week"),
        figure=decimal(mean, 2),
        note=translate("%(articles)s, scale 0 to 1", articles=behind),
        finding=translate(
            "On average %(mean)s (%(word)s) over %(articles)s.",
            mean=decimal(mean, 2),
            word=band_word(band_of(mean)),
            articles=behind,
        ),
        axis=(
            short_moment(begin, now, zone).words,
            short_moment(begin + span.length // 2, now, zone).words,
            translate("this week"),
        ),
        line=line(points, span),
    )
