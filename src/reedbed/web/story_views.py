"""From a story to what the page shows of it."""

from datetime import tzinfo

from reedbed.domain.stories import Outlet, Source, Story, StoryLine
from reedbed.domain.times import Instant
from reedbed.web.framing_views import framing_view
from reedbed.web.moments import dated_moment, full_moment, short_moment
from reedbed.web.sidebar import icon_address
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import Count, FeedMark, feed_mark
from reedbed.web.views.stories import OutletView, StoryPage, StoryRow

MOST_MARKS = 5


def story_row(line: StoryLine, now: Instant, zone: tzinfo) -> StoryRow:
    headline = line.headline
    firsts = tuple({one.feed_id: one for one in reversed(line.sources)}.values())[::-1]
    return StoryRow(
        url=f"/stories/{line.id}",
        title=headline.title or translate("Without a title"),
        language=headline.language,
        when=short_moment(line.newest_at, now, zone),
        facts=_facts(line),
        marks=tuple(_mark(one) for one in firsts[:MOST_MARKS]),
        names=", ".join(one.feed for one in firsts[:MOST_MARKS]),
        unread=line.unread > 0,
    )


def story_page(story: Story, now: Instant, zone: tzinfo) -> StoryPage:
    headline = story.headline
    return StoryPage(
        id=story.id,
        title=headline.title or translate("Without a title"),
        language=headline.language or "",
        facts=_span(story, now, zone),
        outlets=tuple(_outlet(one, now, zone) for one in story.outlets),
        apart=tuple(_outlet(one, now, zone) for one in story.apart),
        unread=Count(story.unread),
        compared=any(one.analysis for one in story.outlets),
        told_apart=any(one.only_here for one in story.outlets),
    )


def _facts(line: StoryLine) -> str:
    sources = ngettext("%(num)s source", "%(num)s sources", line.feeds)
    if not line.unread:
        return sources
    return f"{sources}, {translate('%(number)s unread', number=Count(line.unread))}"


def _span(story: Story, now: Instant, zone: tzinfo) -> tuple[str, ...]:
    if not story.outlets:
        return ()
    first, last = (story.outlets[place].row.sort_at for place in (0, -1))
    begin, end = dated_moment(first, now, zone).words, dated_moment(last, now, zone).words
    return (
        ngettext("%(num)s outlet you follow", "%(num)s outlets you follow", story.feeds),
        translate("%(first)s to %(last)s", first=begin, last=end) if begin != end else begin,
    )


def _outlet(outlet: Outlet, now: Instant, zone: tzinfo) -> OutletView:
    row, found = outlet.row, outlet.analysis
    return OutletView(
        entry_id=row.id,
        url=f"/entry/{row.id}",
        feed=outlet.feed,
        mark=feed_mark(outlet.feed, row.feed_id, icon_address(outlet.icon_id)),
        title=row.title or translate("Without a title"),
        language=row.language or "",
        when=full_moment(row.sort_at, now, zone),
        first_seen=full_moment(row.fetched_at, now, zone),
        unread=not row.states.read,
        only_here=outlet.only_here,
        neutral=found.title if found else "",
        neutral_reason=found.title_reason if found else "",
        framing=framing_view(found, "") if found else None,
    )


def _mark(source: Source) -> FeedMark:
    return feed_mark(source.feed, source.feed_id, icon_address(source.icon_id))
