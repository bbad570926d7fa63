"""Build the view of one article: its content, enclosures, highlights, neighbours and summary."""

from datetime import tzinfo
from urllib.parse import urlencode

from fastapi import Request
from markupsafe import Markup, escape

from reedbed.domain.articles import shown_content, video_at
from reedbed.domain.entries import Entry, EntryRow
from reedbed.domain.feeds import Enclosure as EntryEnclosure
from reedbed.domain.highlights import Highlight as KeptHighlight
from reedbed.domain.highlights import mark_words_in_html, mark_words_in_text
from reedbed.domain.images import print_title_texts
from reedbed.domain.playback import Recording, play_url, recordings_of
from reedbed.domain.subscriptions import SubscribedFeedRow
from reedbed.domain.summaries import EXTRACT, MIN_WORDS, ModelWait, SummaryState
from reedbed.domain.text import text_direction
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller, User
from reedbed.services.ai import variant_for_feed
from reedbed.services.images import Pictures
from reedbed.services.runtime import Runtime
from reedbed.services.summaries import one_lines_for, shown_summary
from reedbed.services.users import preferences_of
from reedbed.store.engine.database import Tx
from reedbed.store.playback import recordings
from reedbed.web.entries.lists import ReadingList
from reedbed.web.formats import format_future_time, full_time, seen
from reedbed.web.i18n import enumerated, explain, ngettext, translate
from reedbed.web.views.entries import (
    ArticleView,
    CategoryLink,
    EnclosureView,
    FullText,
    HighlightView,
    Neighbour,
    SummaryView,
    VideoLink,
)
from reedbed.web.views.layout import feed_mark

WORDS_PER_MINUTE = 230
BYTES_PER_MB = 1_000_000
MAX_OF_ENTRY = 200
"""Highlights shown with an entry."""


def build_article(
    entry: Entry,
    feed: SubscribedFeedRow | None,
    *,
    place: ReadingList | None,
    pictures: Pictures,
    now: Instant,
    zone: tzinfo,
    around: tuple[EntryRow | None, EntryRow | None] = (None, None),
    show_full: bool | None = None,
    full_failed: str = "",
    marked_words: str = "",
) -> ArticleView:
    row = entry.row
    title = feed.title if feed else ""
    when = full_time(row.sort_at, now, zone)
    content = _content(entry, feed, show_full=show_full)
    return ArticleView(
        id=row.id,
        title=row.title or translate("Without a title"),
        feed_name=title,
        feed_url=f"/feed/{feed.subscription_id}" if feed else "/all",
        mark=feed_mark(title, row.feed_id, feed.icon_id if feed else None),
        when=when if row.published_at is not None else seen(when),
        body=_body(content, pictures, marked_words),
        marked_title=Markup(mark_words_in_text(marked_words, row.title) or ""),  # noqa: S704  escaped before
        list_url=place.list_address() if place else "/all",
        feed_id=row.feed_id,
        original_url=row.url or entry.external_url or "",
        language=row.language or "",
        direction=text_direction(f"{row.title} {row.summary}", row.language or ""),
        author=row.author or "",
        categories=tuple(_category_link(name) for name in entry.categories),
        comments_url=_web_address(entry.comments_url),
        minutes=_minutes(row.words),
        minutes_to_read=round(row.words / WORDS_PER_MINUTE),
        read=row.states.read,
        starred=row.states.starred,
        later=row.states.later,
        tags=row.states.tags,
        full=FullText(shown=content != entry.content, failed=full_failed) if row.url else None,
        video=_video(row.url, content, pictures),
        enclosures=_enclosures(entry),
        cover=_cover(entry, content, pictures),
        versions=row.version - 1,
        changed=full_time(row.changed_at, now, zone) if row.changed_at else None,
        previous=_neighbour(around[0], place),
        next=_neighbour(around[1], place),
    )


def _body(content: str, pictures: Pictures, marked_words: str) -> Markup:
    shown = pictures.in_html(print_title_texts(content))
    return Markup(mark_words_in_html(marked_words, shown))  # noqa: S704  sanitised when stored


def _content(entry: Entry, feed: SubscribedFeedRow | None, *, show_full: bool | None) -> str:
    """`show_full` is what the user just requested; None means the feed's full-text mode decides."""
    if show_full is None:
        return shown_content(entry, feed.full_text if feed else "never")
    return (show_full and entry.full_content) or entry.content


def marked_words_of(request: Request) -> str:
    caller = _caller(request)
    return preferences_of(caller.user).marked_words if caller else ""


def _category_link(name: str) -> CategoryLink:
    quoted = name.replace('"', " ").strip()
    query = urlencode({"q": f'category:"{quoted}"'})
    return CategoryLink(name, f"/search?{query}")


def _web_address(url: str | None) -> str:
    return url if url and url.startswith(("http://", "https://")) else ""


def _video(url: str | None, content: str, pictures: Pictures) -> VideoLink | None:
    """The video of an entry from a video site, unless its text shows it already."""
    video = video_at(url)
    if video is None or f'href="{video.page_url}"' in content:
        return None
    return VideoLink(video.page_url, video.site, pictures.of_video(video.picture_url))


def _minutes(words: int) -> str:
    if words < WORDS_PER_MINUTE // 2:
        return ""
    return ngettext("%(num)s min", "%(num)s min", max(1, round(words / WORDS_PER_MINUTE)))


def _enclosures(entry: Entry) -> tuple[EnclosureView, ...]:
    found = {recording.url: recording for recording in recordings_of(entry.enclosures)}
    return tuple(_enclosure(entry.row.id, enclosure, found.get(enclosure.url)) for enclosure in entry.enclosures)


def _cover(entry: Entry, content: str, pictures: Pictures) -> str:
    url = entry.row.image
    if not url or not recordings_of(entry.enclosures) or escape(url) in content:
        return ""
    return pictures.one(url) or ""


def _enclosure(entry_id: int, enclosure: EntryEnclosure, recording: Recording | None) -> EnclosureView:
    facts: list[str] = []
    if enclosure.duration:
        facts.append(ngettext("%(num)s min", "%(num)s min", max(1, round(enclosure.duration / 60))))
    if enclosure.length and enclosure.length > BYTES_PER_MB // 10:
        facts.append(
            f"{enclosure.length / BYTES_PER_MB:.0f}\u00a0MB" if enclosure.length > BYTES_PER_MB else "<1\u00a0MB"
        )
    is_image = (enclosure.type or "").startswith("image/") and enclosure.url.startswith("https:")
    return EnclosureView(
        url=enclosure.url if recording is None else play_url(entry_id, recording.number, recording.url),
        kind=recording.kind if recording else "image" if is_image else "file",
        name=enclosure.title or enclosure.url.rpartition("/")[2].partition("?")[0] or enclosure.url,
        type=enclosure.type or "",
        facts=enumerated(facts),
        recording=f"{entry_id}:{recording.number}" if recording else "",
    )


def length_text(seconds: int | None, position: int = 0) -> str:
    """`33 min`, or what is left of a recording that was started."""
    if not seconds:
        return ""
    left = max(0, seconds - position)
    minutes = max(1, round(left / 60))
    if position and left:
        return ngettext("%(num)s min left", "%(num)s min left", minutes)
    return ngettext("%(num)s min", "%(num)s min", max(1, round(seconds / 60)))


async def recording_lengths(tx: Tx, user_id: int, ids: list[int]) -> dict[int, str]:
    """What a list says about the audio and video of its entries."""
    found = await recordings.listed(tx, user_id, ids)
    return {
        entry_id: translate("Played") if item.done else length_text(item.seconds, item.position or 0)
        for entry_id, item in found.items()
    }


def _neighbour(row: EntryRow | None, reading_list: ReadingList | None) -> Neighbour | None:
    if row is None or reading_list is None:
        return None
    return Neighbour(reading_list.entry_address(row.id), row.title or translate("Without a title"), row.language or "")


def shown_highlight(highlight: KeptHighlight, now: Instant, zone: tzinfo) -> HighlightView:
    when = full_time(highlight.created_at, now, zone)
    passage = highlight.passage
    return HighlightView(
        highlight.id, passage.quote, highlight.note, when, passage.prefix, passage.suffix, highlight.color
    )


# --- Summary

SECONDS = 4
SECONDS_BUILT_IN = 1


async def summary_above(request: Request, runtime: Runtime, tx: Tx, entry: Entry) -> SummaryView | None:
    """The stored summary; if none was requested yet, the block requests it once it is visible."""
    caller = _caller(request)
    if caller is None or (entry.row.words < MIN_WORDS and not entry.full_content):
        return None
    variant = await variant_for_feed(tx, runtime, caller.user, entry.row.feed_id)
    state = await shown_summary(tx, entry, variant)
    if state is None:
        return summary_view(SummaryState("pending", model=variant.model), asked=False)
    return summary_view(state) if state.needed else None


async def one_line_summaries(request: Request, runtime: Runtime, tx: Tx, ids: list[int]) -> dict[int, str]:
    caller = _caller(request)
    return {} if caller is None else await one_lines_for(tx, runtime, caller.user, ids)


def summary_view(state: SummaryState, *, asked: bool = True, why: str = "") -> SummaryView:
    if not state.needed:
        return SummaryView("unneeded")
    built_in = state.model == EXTRACT
    if state.status == "ready" and state.summary is not None:
        by = translate("Built-in extract") if built_in else state.model
        fallback_reason = (why or explain(state.error)) if state.fallback else ""
        return SummaryView(
            "ready", text=state.summary.text, by=by, language=state.summary.language, why=fallback_reason
        )
    if state.status == "failed" or (why and not state.fallback):
        return SummaryView("unavailable", why=why or explain(state.error))
    return SummaryView("pending", asked=asked, seconds=SECONDS_BUILT_IN if built_in else SECONDS)


def wait_message(wait: ModelWait | None, now: Instant, zone: tzinfo) -> str:
    match wait:
        case None:
            return ""
        case ModelWait("paused"):
            return translate("Summaries are paused by the operator. Reading is not affected.")
        case ModelWait("silence", since, until) if since is not None and until is not None:
            return translate(
                "Summaries are paused. The model stopped answering at %(since)s. "
                "Reading is not affected; the next try is at %(until)s.",
                since=format_future_time(since, now, zone),
                until=format_future_time(until, now, zone),
            )
        case _:
            return translate("Summaries wait: the budget for the model is used up. Reading is not affected.")


def user_of(request: Request) -> User | None:
    caller = _caller(request)
    return caller.user if caller else None


def _caller(request: Request) -> Caller | None:
    return getattr(request.state, "caller", None)
