"""Stories: list and show them, mark them read, split entries off, and group entries of a story in lists."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import tzinfo

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import EntryPage, EntryRow, MarkResult, Selection
from reedbed.domain.pagination import Cursor, decode_cursor, encode_cursor
from reedbed.domain.records import record
from reedbed.domain.stories import Outlet, Story, StorySource, StorySummary
from reedbed.domain.times import Instant
from reedbed.domain.users import User
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.read_state import mark
from reedbed.services.stories import get_story, mark_all_stories, mark_story, split_entry
from reedbed.services.users import preferences_of
from reedbed.store import stories
from reedbed.store.engine.database import Tx
from reedbed.store.stories import StoryNeighbours
from reedbed.web.formats import dated_time, full_time, short_time, zone_of
from reedbed.web.framing import framing_view
from reedbed.web.i18n import ngettext, translate
from reedbed.web.pages import page, see_other, theme_of
from reedbed.web.sidebar import app_page, build_sidebar, icon_address
from reedbed.web.views.entries import (
    ArticleView,
    EntryRowView,
    OutletView,
    StoriesPage,
    StoryHint,
    StoryPage,
    StoryRow,
)
from reedbed.web.views.layout import Count, FeedMark, Toast, feed_mark

MAX_MARKS = 5


def story_row(line: StorySummary, now: Instant, zone: tzinfo) -> StoryRow:
    headline = line.headline
    first_per_feed = tuple({source.feed_id: source for source in reversed(line.sources)}.values())[::-1]
    return StoryRow(
        url=f"/stories/{line.id}",
        title=headline.title or translate("Without a title"),
        language=headline.language,
        when=short_time(line.newest_at, now, zone),
        facts=_facts(line),
        marks=tuple(_mark(source) for source in first_per_feed[:MAX_MARKS]),
        names=", ".join(source.feed for source in first_per_feed[:MAX_MARKS]),
        unread=line.unread > 0,
    )


def story_page(story: Story, now: Instant, zone: tzinfo) -> StoryPage:
    headline = story.headline
    return StoryPage(
        id=story.id,
        title=headline.title or translate("Without a title"),
        language=headline.language or "",
        facts=_story_facts(story, now, zone),
        outlets=tuple(_outlet(outlet, now, zone) for outlet in story.outlets),
        apart=tuple(_outlet(outlet, now, zone) for outlet in story.apart),
        unread=Count(story.unread),
        compared=any(outlet.analysis for outlet in story.outlets),
        told_apart=any(outlet.only_here for outlet in story.outlets),
    )


def _facts(line: StorySummary) -> str:
    sources = ngettext("%(num)s source", "%(num)s sources", line.feeds)
    if not line.unread:
        return sources
    return f"{sources}, {translate('%(number)s unread', number=Count(line.unread))}"


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
    return OutletView(
        entry_id=row.id,
        url=f"/entry/{row.id}",
        feed=outlet.feed,
        mark=feed_mark(outlet.feed, row.feed_id, icon_address(outlet.icon_id)),
        title=row.title or translate("Without a title"),
        language=row.language or "",
        when=full_time(row.sort_at, now, zone),
        first_seen=full_time(row.fetched_at, now, zone),
        unread=not row.states.read,
        only_here=outlet.only_here,
        neutral=analysis.title if analysis else "",
        neutral_reason=analysis.title_reason if analysis else "",
        framing=framing_view(analysis, "") if analysis else None,
    )


def _mark(source: StorySource) -> FeedMark:
    return feed_mark(source.feed, source.feed_id, icon_address(source.icon_id))


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
    next_position = (
        Cursor(lines[PAGE_SIZE - 1].newest_at, lines[PAGE_SIZE - 1].id) if lines[PAGE_SIZE:] else None
    )
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
async def show(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath
) -> Response:
    story = await get_story(runtime, caller.user_id, story_id)
    if story.id != story_id:
        return see_other(request, f"/stories/{story.id}")
    view = story_page(story, runtime.now(), zone_of(request))
    return await app_page(request, runtime, caller, "stories/page.html", view)


@router.post("/stories/{story_id}/read")
async def mark_one(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, story_id: IdPath
) -> Response:
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


def _next_url(cursor: Cursor, view: str, *, only_unread: bool) -> str:
    suffix = "&unread=1" if only_unread else ""
    return f"/stories?cursor={encode_cursor(cursor.sort_at, cursor.id, 'newest', view)}{suffix}"


def _mark_toast(result: MarkResult) -> Toast:
    if not result.count:
        return Toast(translate("Nothing was unread."))
    return Toast(
        ngettext("%(num)s entry marked read", "%(num)s entries marked read", result.count), result.undo
    )


# --- Stories in articles and lists

MAX_STORY_MARKS = 4


async def with_story(tx: Tx, user_id: int, article: ArticleView, entry_id: int) -> ArticleView:
    story = (await stories.beside(tx, user_id, [entry_id])).get(entry_id)
    if story is None:
        return article
    sources = (await stories.sources(tx, user_id, [story.story_id])).get(story.story_id, [])
    others = {source.feed_id: source for source in sources if source.entry_id != entry_id}
    marks = (
        feed_mark(source.feed, source.feed_id, icon_address(source.icon_id)) for source in others.values()
    )
    label = ngettext(
        "%(num)s outlet you follow tells of this", "%(num)s outlets you follow tell of this", story.feeds
    )
    return replace(
        article, alike=StoryHint(label, f"/stories/{story.story_id}", tuple(marks)[:MAX_STORY_MARKS])
    )


@record
class ListStories:
    """Which entries of a list page belong to the same story."""

    found: Mapping[int, StoryNeighbours] = field(default_factory=dict[int, StoryNeighbours])

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
    if view != "unread" or not rows or not preferences_of(user).group_stories:
        return ListStories()
    return ListStories(await stories.beside(tx, user.id, [row.id for row in rows]))
