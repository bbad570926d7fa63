"""Stories: list and show them, mark them read, split entries off, and group entries of a story in lists."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import EntryPage, EntryRow, MarkResult, Selection
from reedbed.domain.framing import score_band
from reedbed.domain.pagination import Cursor, decode_cursor, encode_cursor
from reedbed.domain.records import record
from reedbed.domain.stories.compare import MAX_ONLY_HERE, loud_words, title_parts
from reedbed.domain.stories.story import Outlet, Story, StorySource, StorySummary
from reedbed.domain.stories.words import title_words
from reedbed.domain.subscriptions import SubscribedFeedRow
from reedbed.domain.times import DAY, HOUR, MINUTE, Instant
from reedbed.domain.users import User
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.images import Pictures, image_urls_for_page
from reedbed.services.read_state import mark
from reedbed.services.stories import (
    follow_story,
    get_story,
    join_entries,
    join_stories,
    mark_all_stories,
    mark_story,
    related_entries,
    separate_story,
    split_entry,
)
from reedbed.services.users import preferences_of
from reedbed.store.engine.database import Tx
from reedbed.store.sidebar import list_by_ids
from reedbed.store.stories import read as stories
from reedbed.store.stories.read import StoryNeighbours
from reedbed.web.formats import dated_time, day_of, zone_of
from reedbed.web.forms import Text
from reedbed.web.framing import framing_view
from reedbed.web.i18n import enumerated, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other, theme_of
from reedbed.web.sidebar import app_page, build_sidebar
from reedbed.web.views.entries import ArticleView, EntryRowView, StoryHint
from reedbed.web.views.layout import Count, FeedMark, SelectOption, Toast, feed_mark
from reedbed.web.views.stories import (
    JoinPage,
    OutletView,
    RelatedPage,
    RelatedRow,
    StoriesPage,
    StoryPage,
    StoryPicture,
    StoryRow,
    StorySentence,
    TimelinePoint,
)

MAX_MARKS = 5
MAX_PICTURES = 3
MAX_POINTS = 12
"""Outlets in the timeline."""
SCALE = 20
MIN_LOUD_WORDS = 2
"""Without a model, a title with so many is loud."""
MAX_CHOICES = 30


def story_row(line: StorySummary, now: Instant, zone: tzinfo) -> StoryRow:
    headline = line.headline
    first_per_feed = tuple({source.feed_id: source for source in reversed(line.sources)}.values())[::-1]
    return StoryRow(
        id=line.id,
        url=f"/stories/{line.id}",
        title=headline.title or translate("Without a title"),
        language=headline.language,
        when=dated_time(line.newest_at, now, zone),
        facts=_facts(line),
        marks=tuple(_mark(source) for source in first_per_feed[:MAX_MARKS]),
        names=enumerated(source.feed for source in first_per_feed[:MAX_MARKS]),
        unread=line.unread > 0,
    )


def story_page(story: Story, now: Instant, zone: tzinfo, pictures: Pictures) -> StoryPage:
    plainest = story.plainest
    outlets = tuple(_outlet(outlet, now, zone) for outlet in story.outlets)
    by_entry = {outlet.entry_id: outlet for outlet in outlets}
    return StoryPage(
        id=story.id,
        title=plainest.row.title or translate("Without a title"),
        language=plainest.row.language or "",
        facts=_story_facts(story, now, zone),
        outlets=outlets,
        apart=tuple(_outlet(outlet, now, zone) for outlet in story.apart),
        unread=Count(story.unread),
        opening=plainest.opening,
        written_by=plainest.feed if story.feeds > 1 else "",
        pictures=tuple(_pictures(story, pictures)),
        timeline=tuple(_timeline(story, now, zone)),
        day=_common_day(story, now, zone),
        shared=tuple(
            StorySentence(shared.text, shared.language, tuple(by_entry[id_] for id_ in shared.entry_ids))
            for shared in story.shared
        ),
        alone=tuple(_alone(story, by_entry)),
        joined=tuple(SelectOption(str(one.id), one.title or translate("Without a title")) for one in story.joined),
        followed=story.followed,
        has_scores=any(outlet.analysis for outlet in story.outlets),
    )


def _pictures(story: Story, pictures: Pictures) -> Iterator[StoryPicture]:
    """The pictures of the first few outlets that have one of their own."""
    seen: set[str] = set()
    for outlet in story.outlets:
        url = pictures.one(outlet.row.image) or ""
        if url and not url.startswith("http:") and url not in seen and len(seen) < MAX_PICTURES:
            seen.add(url)
            yield StoryPicture(url, f"/entry/{outlet.row.id}", outlet.feed)


def _timeline(story: Story, now: Instant, zone: tzinfo) -> Iterator[TimelinePoint]:
    """When each feed reported first, to scale."""
    firsts: dict[int, Outlet] = {}
    for outlet in story.outlets:
        firsts.setdefault(outlet.row.feed_id, outlet)
    outlets = list(firsts.values())[:MAX_POINTS]
    whole = outlets[-1].row.sort_at - outlets[0].row.sort_at if outlets else 0
    for outlet, following in zip(outlets, [*outlets[1:], None], strict=False):
        row, gap = outlet.row, following.row.sort_at - outlet.row.sort_at if following else 0
        yield TimelinePoint(
            outlet.feed,
            feed_mark(outlet.feed, row.feed_id, outlet.icon_id),
            dated_time(row.sort_at, row.sort_at if _common_day(story, now, zone) else now, zone),
            _later(row.sort_at - outlets[0].row.sort_at),
            round(SCALE * gap / whole) if whole else 0,
        )


def _later(span: int) -> str:
    if span < MINUTE:
        return translate("first")
    if span < HOUR:
        return ngettext("%(num)s minute later", "%(num)s minutes later", span // MINUTE)
    if span < DAY:
        return ngettext("%(num)s hour later", "%(num)s hours later", round(span / HOUR))
    return ngettext("%(num)s day later", "%(num)s days later", round(span / DAY))


def _common_day(story: Story, now: Instant, zone: tzinfo) -> str:
    days = {day_of(outlet.row.sort_at, now, zone) for outlet in story.outlets}
    return days.pop()[1] if len(days) == 1 else ""


def _alone(story: Story, by_entry: Mapping[int, OutletView]) -> Iterator[StorySentence]:
    """The first sentence of each outlet before the second of any."""
    for place in range(MAX_ONLY_HERE):
        for outlet in story.outlets:
            if place < len(outlet.only_here):
                yield StorySentence(outlet.only_here[place], outlet.row.language or "", (by_entry[outlet.row.id],))


def _facts(line: StorySummary) -> str:
    sources = ngettext("%(num)s source", "%(num)s sources", line.feeds)
    if not line.unread:
        return sources
    return enumerated((sources, ngettext("%(num)s unread", "%(num)s unread", line.unread)))


def _story_facts(story: Story, now: Instant, zone: tzinfo) -> tuple[str, ...]:
    if not story.outlets:
        return ()
    first, last = (story.outlets[index].row.sort_at for index in (0, -1))
    begin, end = dated_time(first, now, zone).words, dated_time(last, now, zone).words
    return (
        ngettext("%(num)s outlet you follow", "%(num)s outlets you follow", story.feeds),
        translate("%(first)s to %(last)s", first=begin, last=end) if begin != end else begin,
    )


def _outlet(outlet: Outlet, now: Instant, zone: tzinfo) -> OutletView:
    row, analysis = outlet.row, outlet.analysis
    title = row.title or translate("Without a title")
    loud = len(loud_words(title))
    band = score_band(analysis.overall.value) if analysis else "loud" if loud >= MIN_LOUD_WORDS else "calm"
    return OutletView(
        entry_id=row.id,
        url=f"/entry/{row.id}",
        feed=outlet.feed,
        mark=feed_mark(outlet.feed, row.feed_id, outlet.icon_id),
        title=title_parts(title),
        plain_title=title,
        language=row.language or "",
        when=dated_time(row.sort_at, now, zone),
        unread=not row.states.read,
        band=band,
        facts=_text_facts(outlet),
        loudness=ngettext("%(num)s loud word", "%(num)s loud words", loud) if loud else translate("No loud words"),
        neutral=analysis.title if analysis else "",
        neutral_reason=analysis.title_reason if analysis else "",
        framing=framing_view(analysis, "") if analysis else None,
    )


def _text_facts(outlet: Outlet) -> str:
    if not outlet.words:
        return ""
    words = ngettext("%(num)s word", "%(num)s words", outlet.words)
    if not outlet.quotations:
        return translate("%(words)s, nobody quoted", words=words)
    quotations = ngettext("%(num)s quotation", "%(num)s quotations", outlet.quotations)
    return enumerated((words, quotations))


def _mark(source: StorySource) -> FeedMark:
    return feed_mark(source.feed, source.feed_id, source.icon_id)


router = APIRouter(include_in_schema=False)

PAGE_SIZE = 30


@router.get("/stories")
async def show_all(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, cursor: str = "", unread: str = ""
) -> Response:
    only_unread, now, zone = unread == "1", runtime.now(), zone_of(request)
    view = f"stories:{only_unread}"
    position = decode_cursor(cursor[:200], "newest", view) if cursor else None
    async with runtime.db.read() as tx:
        lines = await stories.page(
            tx, caller.user_id, cursor=position, limit=PAGE_SIZE + 1, now=now, only_unread=only_unread
        )
        sidebar = await build_sidebar(tx, caller.user_id, "/stories", theme_of(request), now)
    next_position = Cursor(lines[PAGE_SIZE - 1].newest_at, lines[PAGE_SIZE - 1].id) if lines[PAGE_SIZE:] else None
    page_view = StoriesPage(
        rows=tuple(story_row(line, now, zone) for line in lines[:PAGE_SIZE]),
        next_url=_next_url(next_position, view, only_unread=only_unread) if next_position else "",
        only_unread=only_unread,
        any_unread=any(line.unread for line in lines),
    )
    return await page(request, "stories/list.html", page_view, sidebar=sidebar)


@router.post("/stories/read")
async def mark_all(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    result = await mark_all_stories(runtime, caller.user_id)
    return see_other(request, "/stories", toast=_mark_toast(result))


@router.get("/stories/{story_id}")
async def show(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    story = await get_story(runtime, caller.user_id, story_id)
    if story.id != story_id:
        return see_other(request, f"/stories/{story.id}")
    view = story_page(story, runtime.now(), zone_of(request), image_urls_for_page(runtime))
    return await app_page(request, runtime, caller, "stories/page.html", view)


@router.post("/stories/{story_id}/read")
async def mark_one(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    result = await mark_story(runtime, caller.user_id, story_id)
    return see_other(request, f"/stories/{story_id}", toast=_mark_toast(result))


@router.post("/stories/{story_id}/entries/{entry_id}/read")
async def mark_entry(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath
) -> Response:
    result = await mark(runtime, caller.user_id, Selection(ids=(entry_id,)))
    return see_other(request, f"/stories/{story_id}", toast=_mark_toast(result))


@router.post("/stories/{story_id}/entries/{entry_id}/split")
async def split(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath
) -> Response:
    await split_entry(runtime, caller.user_id, story_id, entry_id)
    toast = Toast(translate("Set apart. The entry stays in your lists."))
    return see_other(request, f"/stories/{story_id}", toast=toast)


@router.post("/stories/{story_id}/entries/{entry_id}/join")
async def join(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, entry_id: IdPath
) -> Response:
    await split_entry(runtime, caller.user_id, story_id, entry_id, apart=False)
    return see_other(request, f"/stories/{story_id}", toast=Toast(translate("Back in the story.")))


@router.post("/stories/{story_id}/follow")
async def follow(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, value: Text = "true"
) -> Response:
    on = value == "true"
    now_id = await follow_story(runtime, caller.user_id, story_id, on=on)
    message = (
        translate("You will be notified when an entry joins this story.") if on else translate("No longer followed.")
    )
    return see_other(request, f"/stories/{now_id}", toast=Toast(message))


@router.get("/stories/{story_id}/join")
async def choose(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath) -> Response:
    """Which other story this one is the same as: the newest ones, those with similar titles first."""
    story, now, zone = await get_story(runtime, caller.user_id, story_id), runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        lines = await stories.page(tx, caller.user_id, cursor=None, limit=MAX_CHOICES, now=now)
    words = set(title_words(story.headline.title))
    lines = sorted(
        (line for line in lines if line.id != story.id),
        key=lambda line: -len(words.intersection(title_words(line.headline.title))),
    )
    title = story.headline.title or translate("Without a title")
    view = JoinPage(story.id, title, story.headline.language or "", tuple(story_row(line, now, zone) for line in lines))
    return await app_page(request, runtime, caller, "stories/join.html", view)


@router.post("/stories/{story_id}/joined/{joined_id}")
async def join_other(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, joined_id: IdPath
) -> Response:
    target_id = await join_stories(runtime, caller.user_id, story_id, joined_id)
    return see_other(request, f"/stories/{target_id}", toast=Toast(translate("They are one story for you now.")))


@router.post("/stories/{story_id}/joined/{joined_id}/separate")
async def separate(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath, joined_id: IdPath
) -> Response:
    await separate_story(runtime, caller.user_id, story_id, joined_id)
    return see_other(request, f"/stories/{story_id}", toast=Toast(translate("A story of its own again.")))


def _next_url(cursor: Cursor, view: str, *, only_unread: bool) -> str:
    suffix = "&unread=1" if only_unread else ""
    return f"/stories?cursor={encode_cursor(cursor.sort_at, cursor.id, 'newest', view)}{suffix}"


def _mark_toast(result: MarkResult) -> Toast:
    if not result.count:
        return Toast(translate("Nothing was unread."))
    return Toast(ngettext("%(num)s entry marked read", "%(num)s entries marked read", result.count), result.undo)


# --- Stories in articles and lists


@router.get("/stories/entries/{entry_id}/related")
async def related(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath) -> Response:
    rows, now, zone = await related_entries(runtime, caller.user_id, entry_id), runtime.now(), zone_of(request)
    feed_ids = {row.feed_id for row in rows}
    async with runtime.db.read() as tx:
        feeds = {feed.feed_id: feed for feed in await list_by_ids(tx, caller.user_id, feed_ids)} if rows else {}
    view = RelatedPage(entry_id, tuple(_related(row, feeds, now, zone) for row in rows))
    if is_htmx(request):
        return await page(request, "stories/related.html", view, block="related")
    return await app_page(request, runtime, caller, "stories/related.html", view)


def _related(row: EntryRow, feeds: Mapping[int, SubscribedFeedRow], now: Instant, zone: tzinfo) -> RelatedRow:
    feed = feeds.get(row.feed_id)
    name = feed.title if feed else ""
    return RelatedRow(
        id=row.id,
        url=f"/entry/{row.id}",
        title=row.title or row.summary or translate("Without a title"),
        language=row.language or "",
        feed=name,
        mark=feed_mark(name, row.feed_id, feed.icon_id if feed else None),
        when=dated_time(row.sort_at, now, zone),
    )


@router.post("/stories/entries/{entry_id}/join/{other_entry_id}")
async def join_related(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, other_entry_id: IdPath
) -> Response:
    story_id = await join_entries(runtime, caller.user_id, [entry_id, other_entry_id])
    return see_other(request, f"/stories/{story_id}", toast=Toast(translate("They are one story for you now.")))


MAX_STORY_MARKS = 4


async def with_story(tx: Tx, user_id: int, article: ArticleView, entry_id: int) -> ArticleView:
    story = (await stories.neighbours(tx, user_id, [entry_id])).get(entry_id)
    if story is None:
        return article
    sources = (await stories.sources(tx, user_id, [story.story_id])).get(story.story_id, [])
    others = {source.feed_id: source for source in sources if source.entry_id != entry_id}
    marks = (feed_mark(source.feed, source.feed_id, source.icon_id) for source in others.values())
    label = ngettext("%(num)s outlet you follow reports this", "%(num)s outlets you follow report this", story.feeds)
    return replace(article, alike=StoryHint(label, f"/stories/{story.story_id}", tuple(marks)[:MAX_STORY_MARKS]))


@record
class ListStories:
    """Which entries of a list page belong to the same story."""

    found: Mapping[int, StoryNeighbours] = field(default_factory=dict[int, StoryNeighbours])
    are_folded: bool = False
    """The user wants one row for each story."""

    def fold(self, page: EntryPage, open_id: int | None) -> EntryPage:
        """Keep only the first entry of each story, and the open entry."""
        heads: dict[int, int] = {}
        for row in page.rows:
            if row.id in self.found:
                heads.setdefault(self.found[row.id].story_id, row.id)
        rows = (row for row in page.rows if row.id == open_id or self._is_shown(row, heads))
        return replace(page, rows=tuple(rows))

    def dress(self, row: EntryRowView) -> EntryRowView:
        neighbours = self.found.get(row.id)
        if neighbours is None:
            return row
        return replace(row, outlets=neighbours.feeds, story_url=f"/stories/{neighbours.story_id}")

    def _is_shown(self, row: EntryRow, heads: Mapping[int, int]) -> bool:
        neighbours = self.found.get(row.id)
        return neighbours is None or heads[neighbours.story_id] == row.id


async def list_stories(tx: Tx, user: User, view: str, rows: Sequence[EntryRow]) -> ListStories:
    """Stories are grouped only in the unread list, and only if the user wants it."""
    if view != "unread" or not preferences_of(user).group_stories:
        return ListStories()
    ids = [row.id for row in rows]
    return ListStories(await stories.neighbours(tx, user.id, ids) if ids else {}, are_folded=True)
