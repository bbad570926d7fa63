"""Reading pages: entry lists and single entries."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import tzinfo
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from reedbed.domain.entries import Entry, EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.folders import descendants
from reedbed.domain.highlights import HighlightFilter
from reedbed.domain.pagination import Cursor
from reedbed.domain.records import record
from reedbed.domain.subscriptions import SubscribedFeedRow, feed_problem
from reedbed.domain.text import storable
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import path_id
from reedbed.services.entries import picture_sizes, posts_of
from reedbed.services.images import image_urls_for_page
from reedbed.services.interest import keep_ranking
from reedbed.services.runtime import Runtime
from reedbed.services.users import preferences_of
from reedbed.store import bookmarks, folders, highlights, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.entries import read as list_settings
from reedbed.store.interest import Ranking
from reedbed.store.read_state.counts import reading_day
from reedbed.store.sidebar import list_by_ids, sidebar_feeds
from reedbed.store.tags import names as tag_names
from reedbed.web.entries.article import (
    MAX_OF_ENTRY,
    WORDS_PER_MINUTE,
    build_article,
    marked_words_of,
    one_line_summaries,
    recording_lengths,
    shown_highlight,
    summary_above,
    user_of,
)
from reedbed.web.entries.lists import (
    PAGE_SIZE,
    EntryListBuilder,
    ListChoice,
    ReadingList,
    all_read,
    build_suggestion,
    empty_feed,
    feed_reading_list,
    folder_reading_list,
    preferred_order,
    read_cursor,
    settings_name,
    smart_reading_list,
    tag_reading_list,
)
from reedbed.web.entries.translations import titles_in_list, with_translation
from reedbed.web.feeds.views import FeedRowBuilder
from reedbed.web.formats import format_future_time, start_of_day, zone_of
from reedbed.web.framing import list_framing, with_framing
from reedbed.web.i18n import name_key, translate
from reedbed.web.interest import entries_of_list, with_why
from reedbed.web.newsletters import with_confirmations, with_mail
from reedbed.web.pages import is_htmx, page, see_other, theme_of
from reedbed.web.sidebar import build_sidebar
from reedbed.web.stories import list_stories, with_story
from reedbed.web.views.entries import AllReadView, ArticleView, EntryListView, HighlightView, ReadingPage
from reedbed.web.views.layout import Count, Sidebar


@record
class ListRequest:
    """What the routes of all entry lists need from a request, and the responses they give."""

    request: Request
    runtime: Runtime
    caller: Caller
    entry_id: int | None
    order: str | None
    cursor: str | None
    rankings: list[Ranking] = field(default_factory=list[Ranking])
    """What the next pages of the list follow; kept after the page was read."""

    @property
    def user_id(self) -> int:
        return self.caller.user_id

    async def choice(self, tx: Tx, name: str) -> ListChoice:
        kept = await list_settings.of_list(tx, self.user_id, storable(name))
        has_interest = preferences_of(self.caller.user).interest
        default = "interest" if name == "priority" else preferred_order(self.caller.user)
        return ListChoice(kept, default, self.order, has_interest)

    @property
    def wants(self) -> str:
        """The part of the page that htmx requests, by the id of its target; empty means the whole page."""
        return self.request.headers.get("hx-target", "") if is_htmx(self.request) else ""

    async def done(self, response: Response) -> Response:
        for ranking in self.rankings:
            await keep_ranking(self.runtime, self.user_id, ranking)
        return response

    async def sidebar(self, tx: Tx, address: str) -> Sidebar:
        return await build_sidebar(tx, self.user_id, address, theme_of(self.request), self.runtime.now())

    async def show_article(self, article: ArticleView) -> Response:
        view = ReadingPage(article.title, article=article)
        return await page(self.request, "entries/page.html", view, block="article")

    async def show_list(self, title: str, entry_list: EntryListView, *, status: int = 200) -> Response:
        """The list, or only its next rows if `rows` is requested."""
        view = ReadingPage(title, entry_list)
        if self.wants == "rows":
            return await page(self.request, "entries/rows.html", view, status=status)
        return await page(self.request, "entries/page.html", view, block="list", status=status)

    async def show_page(
        self, title: str, entry_list: EntryListView, article: ArticleView | None, sidebar: Sidebar, *, status: int = 200
    ) -> Response:
        pane = self.request.query_params.get("pane")
        shows = "nav" if pane == "nav" else "article" if article else "list"
        view = ReadingPage(article.title if article else title, entry_list, article, shows)
        return await page(self.request, "entries/page.html", view, sidebar=sidebar, status=status)


def _list_request(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    order: Annotated[str | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> ListRequest:
    entry_id = request.path_params.get("entry_id")
    return ListRequest(request, runtime, caller, path_id(entry_id) if entry_id is not None else None, order, cursor)


CurrentListRequest = Annotated[ListRequest, Depends(_list_request)]


router = APIRouter(include_in_schema=False)


@router.get("/folder/{text}")
@router.get("/folder/{text}/entry/{entry_id}")
async def show_folder(list_request: CurrentListRequest, text: str) -> Response:
    async with list_request.runtime.db.read() as tx:
        choice = await list_request.choice(tx, f"folder:{text}")
        reading_list = await folder_reading_list(tx, list_request.user_id, text, choice)
        response = await _show(list_request, tx, reading_list)
    return await list_request.done(response)


@router.get("/feed/{text}")
@router.get("/feed/{text}/entry/{entry_id}")
async def show_feed(list_request: CurrentListRequest, text: str) -> Response:
    async with list_request.runtime.db.read() as tx:
        choice = await list_request.choice(tx, f"feed:{text}")
        reading_list = await feed_reading_list(tx, list_request.user_id, text, choice)
        response = await _show(list_request, tx, reading_list)
    return await list_request.done(response)


@router.get("/tag/{name}")
@router.get("/tag/{name}/entry/{entry_id}")
async def show_tag(list_request: CurrentListRequest, name: str) -> Response:
    async with list_request.runtime.db.read() as tx:
        tag = storable(name)
        choice = await list_request.choice(tx, f"tag:{tag}")
        response = await _show(list_request, tx, tag_reading_list(tag, choice))
    return await list_request.done(response)


@router.get("/unread")
@router.get("/priority")
@router.get("/all")
@router.get("/starred")
@router.get("/later")
@router.get("/history")
@router.get("/unread/entry/{entry_id}")
@router.get("/priority/entry/{entry_id}")
@router.get("/all/entry/{entry_id}")
@router.get("/starred/entry/{entry_id}")
@router.get("/later/entry/{entry_id}")
@router.get("/history/entry/{entry_id}")
async def show_smart(list_request: CurrentListRequest) -> Response:
    name = list_request.request.url.path.split("/")[1]
    if name == "priority" and not preferences_of(list_request.caller.user).interest:
        return see_other(list_request.request, "/interest")
    async with list_request.runtime.db.read() as tx:
        choice = await list_request.choice(tx, settings_name(f"/{name}"))
        response = await _show(list_request, tx, smart_reading_list(name, choice))
    return await list_request.done(response)


@router.get("/entry/{entry_id}")
async def show_alone(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: str) -> Response:
    async with runtime.db.read() as tx:
        article = await read_article(request, runtime, tx, caller.user_id, path_id(entry_id), place=None)
        view = ReadingPage(article.title, article=article, shows="article")
        if is_htmx(request):
            return await page(request, "entries/page.html", view, block="article")
        sidebar = await build_sidebar(tx, caller.user_id, "", theme_of(request), runtime.now())
    return await page(request, "entries/page.html", view, sidebar=sidebar)


async def _show(list_request: ListRequest, tx: Tx, reading_list: ReadingList) -> Response:
    """The whole page, or the requested part of it."""
    if list_request.wants == "article" and list_request.entry_id is not None:
        return await list_request.show_article(await _article(list_request, tx, reading_list, list_request.entry_id))
    if list_request.wants in ("rows", "list"):
        return await list_request.show_list(
            reading_list.title, await _build_list(list_request, tx, reading_list, count=None)
        )
    sidebar = await list_request.sidebar(tx, reading_list.address)
    entry_list = await _build_list(list_request, tx, reading_list, count=_count(reading_list, sidebar))
    entry_list = await with_confirmations(
        list_request.runtime, tx, list_request.user_id, reading_list.query.view, entry_list
    )
    article = (
        None if list_request.entry_id is None else await _article(list_request, tx, reading_list, list_request.entry_id)
    )
    return await list_request.show_page(reading_list.title, entry_list, article, sidebar)


async def _build_list(
    list_request: ListRequest, tx: Tx, reading_list: ReadingList, *, count: int | None
) -> EntryListView:
    request, runtime = list_request.request, list_request.runtime
    start = read_cursor(reading_list, list_request.cursor)
    user, query = list_request.caller.user, reading_list.query
    entry_page, interest = await entries_of_list(tx, user, query, start, PAGE_SIZE, runtime.now())
    if entry_page is None:
        raise NotFound("There is no such list.")
    list_request.rankings.extend([interest.to_keep] if interest.to_keep else ())
    feeds = await feeds_of_entries(tx, list_request.user_id, entry_page.rows)
    ids = [row.id for row in entry_page.rows]
    lines, framing = await one_line_summaries(request, runtime, tx, ids), await list_framing(request, tx, ids)
    stories = await list_stories(tx, list_request.caller.user, reading_list.query.view, entry_page.rows)
    maker = EntryListBuilder(
        reading_list,
        feeds,
        theme_of(request),
        runtime.now(),
        zone_of(request),
        pictures=image_urls_for_page(runtime),
        lines=lines,
        framing=framing,
        translations=await titles_in_list(runtime, tx, list_request.caller.user, ids),
        stories=stories,
        marked_words=marked_words_of(request),
        lengths=await recording_lengths(tx, list_request.user_id, ids),
        interest=interest,
        posts=await posts_of(tx, list_request.user_id, entry_page.rows),
    )
    if maker.layout(entry_page) in ("magazine", "pictures"):
        maker.sizes = await picture_sizes(tx, list_request.user_id, entry_page.rows)
    visible = (
        entry_page
        if _shows_all(list_request, reading_list)
        else framing.without_hidden(entry_page, list_request.entry_id)
    )
    grouped = stories.fold(visible, list_request.entry_id)
    view = maker.make(grouped, count=count, current=list_request.entry_id, after=start.sort_at if start else None)
    if reading_list.subscription_id is not None and start is None and _needs_feed_status(entry_page, feeds):
        view = await _with_feed_status(view, list_request, tx, reading_list.subscription_id)
    if not entry_page.rows and feeds and reading_list.query.view == "unread":
        empty = all_read(await _feeds_in_list(tx, list_request.user_id, reading_list, feeds))
        view = replace(view, empty=empty)
        # With feeds that cannot be read, the list says so instead.
        if reading_list.settings_name == "everything" and empty.icon == "check" and not empty.action_url:
            view = replace(view, all_read=await _all_read(list_request, tx, feeds))
    return _with_hidden(view, len(entry_page.rows) - len(visible.rows), list_request, reading_list)


async def _all_read(list_request: ListRequest, tx: Tx, feeds: Mapping[int, SubscribedFeedRow]) -> AllReadView:
    """What was read today, the next check, and the entry that has waited longest in Later."""
    now, zone = list_request.runtime.now(), zone_of(list_request.request)
    day = await reading_day(tx, list_request.user_id, start_of_day(now, zone))
    oldest = await entries.page(tx, list_request.user_id, ViewQuery("later", "oldest"), None, 1)
    return AllReadView(
        next_check=translate("The next check is at %(time)s.", time=format_future_time(day.next_check_at, now, zone))
        if day.next_check_at and day.next_check_at > now
        else "",
        read=Count(day.read),
        minutes=Count(round(day.words / WORDS_PER_MINUTE)),
        starred=Count(day.starred),
        suggestion=build_suggestion(oldest.rows[0], feeds, image_urls_for_page(list_request.runtime), now)
        if oldest and oldest.rows
        else None,
    )


async def _with_feed_status(
    view: EntryListView, list_request: ListRequest, tx: Tx, subscription_id: int
) -> EntryListView:
    subscription = await subscriptions.get(tx, list_request.user_id, subscription_id)
    if subscription is None:
        return view
    (row,) = FeedRowBuilder(list_request.runtime.now(), zone_of(list_request.request)).lines([subscription])
    return replace(view, empty=empty_feed(row)) if view.empty else replace(view, failing_feed=row)


def _needs_feed_status(entry_page: EntryPage, feeds: Mapping[int, SubscribedFeedRow]) -> bool:
    """Whether a feed's list shows the status of the feed: it has no entries, or it fails."""
    return not entry_page.rows or any(map(feed_problem, feeds.values()))


async def _feeds_in_list(
    tx: Tx, user_id: int, reading_list: ReadingList, feeds: Mapping[int, SubscribedFeedRow]
) -> list[SubscribedFeedRow]:
    """The subscriptions whose entries this list shows."""
    if reading_list.query.folder_id is None:
        return list(feeds.values())
    folder_ids = descendants(await folders.of_user(tx, user_id), reading_list.query.folder_id)
    return [feed for feed in feeds.values() if not folder_ids.isdisjoint(feed.folder_ids)]


def _shows_all(list_request: ListRequest, reading_list: ReadingList) -> bool:
    """Only the unread and all-entries lists hide loud entries, unless the user asks to see them."""
    return reading_list.query.view not in ("unread", "all") or list_request.request.query_params.get("loud") == "show"


def _with_hidden(
    view: EntryListView, hidden: int, list_request: ListRequest, reading_list: ReadingList
) -> EntryListView:
    if list_request.request.query_params.get("loud") == "show" and view.more_url:
        view = replace(view, more_url=_with_loud_entries(view.more_url))
    return replace(view, hidden=hidden, hidden_url=_with_loud_entries(reading_list.list_address())) if hidden else view


def _with_loud_entries(url: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}loud=show"


async def _article(list_request: ListRequest, tx: Tx, reading_list: ReadingList, entry_id: int) -> ArticleView:
    return await read_article(
        list_request.request, list_request.runtime, tx, list_request.user_id, entry_id, place=reading_list
    )


def _count(reading_list: ReadingList, sidebar: Sidebar) -> int | None:
    if reading_list.count_key == "unread":
        return int(sidebar.unread)
    links = [*sidebar.smart, *sidebar.kept, *sidebar.searches]
    for link in links:
        if link.key == reading_list.count_key:
            return int(link.count)
    feeds, branches = [*sidebar.lines.feeds], [*sidebar.lines.folders]
    while branches:
        folder = branches.pop()
        if folder.url == reading_list.address:
            return int(folder.count)
        feeds += folder.feeds
        branches += folder.folders
    return next((int(feed.count) for feed in feeds if feed.url == reading_list.address), None)


# --- One article


async def read_article(
    request: Request,
    runtime: Runtime,
    tx: Tx,
    user_id: int,
    entry_id: int,
    *,
    place: ReadingList | None,
    neighbours: bool = True,
    show_full: bool | None = None,
    full_failed: str = "",
) -> ArticleView:
    """`neighbours`: whether to link the previous and next entry of the list."""
    entry = await entries.get(tx, user_id, entry_id)
    if entry is None:
        raise NotFound("There is no such entry.")
    feed = (await feeds_of_entries(tx, user_id, [entry.row])).get(entry.row.feed_id)
    now, zone, pictures = runtime.now(), zone_of(request), image_urls_for_page(runtime)
    around: tuple[EntryRow | None, EntryRow | None] = (None, None)
    if place is not None and neighbours and not is_htmx(request):
        around = await _neighbours(tx, user_id, place, entry)
    article = build_article(
        entry,
        feed,
        place=place,
        pictures=pictures,
        now=now,
        zone=zone,
        around=around,
        show_full=show_full,
        full_failed=full_failed,
        marked_words=marked_words_of(request),
    )
    article = replace(
        article,
        known_tags=tuple(sorted(await tag_names(tx, user_id), key=name_key)),
        highlights=await _highlights(tx, user_id, entry_id, now, zone),
        bookmarked=bool(entry.row.url) and await bookmarks.is_known(tx, user_id, entry.row.url or ""),
        can_listen=runtime.speech.speaker is not None and not article.enclosures,
        summary=await summary_above(request, runtime, tx, entry),
    )
    if post := (await posts_of(tx, user_id, [entry.row])).get(entry_id):
        article = replace(article, post=True, boosted_from=post.boosted_from)
    article = await with_mail(tx, user_id, article, entry)
    if runtime.ai.translator is not None and (caller := getattr(request.state, "caller", None)) is not None:
        article = await with_translation(request, runtime, tx, article, entry, caller.user, pictures)
    article = await with_story(tx, user_id, article, entry_id)
    article = await with_why(tx, user_of(request), article, entry.row)
    url = place.entry_address(entry_id) if place else f"/entry/{entry_id}"
    return await with_framing(request, runtime, tx, article, entry.row, url)


async def _highlights(tx: Tx, user_id: int, entry_id: int, now: Instant, zone: tzinfo) -> tuple[HighlightView, ...]:
    chosen = HighlightFilter(entry_id=entry_id)
    newest = await highlights.newest(tx, user_id, limit=MAX_OF_ENTRY, chosen=chosen)
    return tuple(shown_highlight(highlight, now, zone) for highlight in reversed(newest))


async def _neighbours(
    tx: Tx, user_id: int, reading_list: ReadingList, entry: Entry
) -> tuple[EntryRow | None, EntryRow | None]:
    """The previous and next entry in the list. Only whole pages need them: the script reads the list."""
    if reading_list.query.view == "history" or reading_list.query.order not in ("newest", "oldest"):
        return None, None  # the entry does not tell where it stands in these lists
    reversed_query = replace(reading_list.query, order="oldest" if reading_list.query.order == "newest" else "newest")
    position = Cursor(entry.row.sort_at, entry.row.id)
    before = await entries.page(tx, user_id, reversed_query, position, 1)
    after = await entries.page(tx, user_id, reading_list.query, position, 1)
    return _first_row(before), _first_row(after)


def _first_row(entry_page: EntryPage | None) -> EntryRow | None:
    return entry_page.rows[0] if entry_page and entry_page.rows else None


async def feeds_of_entries(tx: Tx, user_id: int, rows: Sequence[EntryRow]) -> dict[int, SubscribedFeedRow]:
    """The feeds of these entries by id; without entries, all the user's feeds."""
    ids = {row.feed_id for row in rows}
    feeds = await list_by_ids(tx, user_id, ids) if ids else await sidebar_feeds(tx, user_id)
    return {feed.feed_id: feed for feed in feeds}
