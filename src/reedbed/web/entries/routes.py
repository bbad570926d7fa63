"""What an entry said before, and what was changed of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from reedbed.domain.entries import Entry, EntryPage, EntryRow
from reedbed.domain.errors import NotFound
from reedbed.domain.folders import descendants
from reedbed.domain.pagination import Cursor, Order
from reedbed.domain.records import record
from reedbed.domain.subscriptions import FollowedFeedRow, trouble_of
from reedbed.domain.text import Difference, storable
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath, path_id
from reedbed.services.entries import Revision, get_entry, get_revisions
from reedbed.services.images import pictures_for_page
from reedbed.services.runtime import Runtime
from reedbed.store import bookmarks, folders, highlights, subscriptions
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.tags import names as tag_names
from reedbed.web.entries.article import build_article, lines_for, shown_highlight, summary_above
from reedbed.web.entries.lists import (
    PAGE_SIZE,
    ListMaker,
    ReadingList,
    all_read,
    empty_feed,
    feed_place,
    folder_place,
    read_cursor,
    smart_place,
    tag_place,
    usual_order,
)
from reedbed.web.feeds.views import LineMaker
from reedbed.web.formats import full_time, zone_of
from reedbed.web.framing import list_framing, with_framing
from reedbed.web.i18n import translate
from reedbed.web.newsletters import with_confirmations, with_mail
from reedbed.web.pages import is_htmx, look_of, page
from reedbed.web.sidebar import app_page, build_sidebar
from reedbed.web.stories import list_stories, with_story
from reedbed.web.views.entries import (
    ArticleView,
    EntryListView,
    ReadingPage,
    Version,
    VersionChange,
    VersionsPage,
)
from reedbed.web.views.layout import Sidebar


@record
class ListRequest:
    request: Request
    runtime: Runtime
    caller: Caller
    entry_id: int | None
    order: str | None
    cursor: str | None

    @property
    def user_id(self) -> int:
        return self.caller.user_id

    @property
    def usual(self) -> Order:
        return usual_order(self.caller.user)

    @property
    def wants(self) -> str:
        """The part of the page that the script asked for by its target; empty: all of it."""
        return self.request.headers.get("hx-target", "") if is_htmx(self.request) else ""

    async def sidebar(self, tx: Tx, address: str) -> Sidebar:
        return await build_sidebar(tx, self.user_id, address, look_of(self.request), self.runtime.now())

    async def show_article(self, article: ArticleView) -> Response:
        view = ReadingPage(article.title, article=article)
        return await page(self.request, "entries/page.html", view, block="article")

    async def show_list(self, title: str, listed: EntryListView, *, status: int = 200) -> Response:
        """The list or, for `rows`, only its next rows."""
        view = ReadingPage(title, listed)
        if self.wants == "rows":
            return await page(self.request, "entries/rows.html", view, status=status)
        return await page(self.request, "entries/page.html", view, block="list", status=status)

    async def show_page(
        self,
        title: str,
        listed: EntryListView,
        article: ArticleView | None,
        sidebar: Sidebar,
        *,
        status: int = 200,
    ) -> Response:
        pane = self.request.query_params.get("pane")
        shows = "nav" if pane == "nav" else "article" if article else "list"
        view = ReadingPage(article.title if article else title, listed, article, shows)
        return await page(self.request, "entries/page.html", view, sidebar=sidebar, status=status)


def _visit(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    order: Annotated[str | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> ListRequest:
    entry_id = request.path_params.get("entry_id")
    return ListRequest(
        request, runtime, caller, path_id(entry_id) if entry_id is not None else None, order, cursor
    )


CurrentListRequest = Annotated[ListRequest, Depends(_visit)]


router = APIRouter(include_in_schema=False)


@router.get("/folder/{text}")
@router.get("/folder/{text}/entry/{entry_id}")
async def show_folder(visit: CurrentListRequest, text: str) -> Response:
    async with visit.runtime.db.read() as tx:
        place = await folder_place(tx, visit.user_id, text, visit.order, visit.usual)
        return await _show(visit, tx, place)


@router.get("/feed/{text}")
@router.get("/feed/{text}/entry/{entry_id}")
async def show_feed(visit: CurrentListRequest, text: str) -> Response:
    async with visit.runtime.db.read() as tx:
        place = await feed_place(tx, visit.user_id, text, visit.order, visit.usual)
        return await _show(visit, tx, place)


@router.get("/tag/{name}")
@router.get("/tag/{name}/entry/{entry_id}")
async def show_tag(visit: CurrentListRequest, name: str) -> Response:
    async with visit.runtime.db.read() as tx:
        return await _show(visit, tx, tag_place(storable(name), visit.order, visit.usual))


@router.get("/unread")
@router.get("/all")
@router.get("/starred")
@router.get("/later")
@router.get("/history")
@router.get("/unread/entry/{entry_id}")
@router.get("/all/entry/{entry_id}")
@router.get("/starred/entry/{entry_id}")
@router.get("/later/entry/{entry_id}")
@router.get("/history/entry/{entry_id}")
async def show_smart(visit: CurrentListRequest) -> Response:
    name = visit.request.url.path.split("/")[1]
    async with visit.runtime.db.read() as tx:
        return await _show(visit, tx, smart_place(name, visit.order, visit.usual))


@router.get("/entry/{entry_id}")
async def show_alone(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: str
) -> Response:
    async with runtime.db.read() as tx:
        article = await read_article(request, runtime, tx, caller.user_id, path_id(entry_id), place=None)
        view = ReadingPage(article.title, article=article, shows="article")
        if is_htmx(request):
            return await page(request, "entries/page.html", view, block="article")
        sidebar = await build_sidebar(tx, caller.user_id, "", look_of(request), runtime.now())
    return await page(request, "entries/page.html", view, sidebar=sidebar)


async def _show(visit: ListRequest, tx: Tx, place: ReadingList) -> Response:
    """The whole page, or the part of it that was asked for."""
    if visit.wants == "article" and visit.entry_id is not None:
        return await visit.show_article(await _article(visit, tx, place, visit.entry_id))
    if visit.wants in ("rows", "list"):
        return await visit.show_list(place.title, await _list(visit, tx, place, count=None))
    sidebar = await visit.sidebar(tx, place.address)
    listed = await _list(visit, tx, place, count=_count(place, sidebar))
    listed = await with_confirmations(visit.runtime, tx, visit.user_id, place.query.view, listed)
    article = None if visit.entry_id is None else await _article(visit, tx, place, visit.entry_id)
    return await visit.show_page(place.title, listed, article, sidebar)


async def _list(visit: ListRequest, tx: Tx, place: ReadingList, *, count: int | None) -> EntryListView:
    request, runtime = visit.request, visit.runtime
    start = read_cursor(place, visit.cursor)
    found = await entries.page(tx, visit.user_id, place.query, start, PAGE_SIZE)
    if found is None:
        raise NotFound("There is no such list.")
    followed = await feeds_behind(tx, visit.user_id, found.rows)
    ids = [row.id for row in found.rows]
    lines, framing = await lines_for(request, runtime, tx, ids), await list_framing(request, tx, ids)
    stories = await list_stories(tx, visit.caller.user, place.query.view, found.rows)
    maker = ListMaker(
        place,
        followed,
        look_of(request),
        runtime.now(),
        zone_of(request),
        pictures=pictures_for_page(runtime),
        lines=lines,
        framing=framing,
        stories=stories,
    )
    shown = found if _shows_all(visit, place) else framing.without_hidden(found, visit.entry_id)
    told = stories.fold(shown, visit.entry_id)
    made = maker.make(told, count=count, current=visit.entry_id, after=start.sort_at if start else None)
    if place.subscription_id is not None and start is None and _needs_words(found, followed):
        made = await _with_standing(made, visit, tx, place.subscription_id)
    if not found.rows and followed and place.query.view == "unread":
        made = replace(made, empty=all_read(await _feeds_here(tx, visit.user_id, place, followed)))
    return _with_hidden(made, len(found.rows) - len(shown.rows), visit, place)


async def _with_standing(
    made: EntryListView, visit: ListRequest, tx: Tx, subscription_id: int
) -> EntryListView:
    followed = await subscriptions.get(tx, visit.user_id, subscription_id)
    if followed is None:
        return made
    (line,) = LineMaker(visit.runtime.now(), zone_of(visit.request)).lines([followed])
    return replace(made, empty=empty_feed(line)) if made.empty else replace(made, trouble=line)


def _needs_words(found: EntryPage, followed: Mapping[int, FollowedFeedRow]) -> bool:
    """Whether a feed's list must say how the feed is: it has no entries, or it fails."""
    return not found.rows or any(map(trouble_of, followed.values()))


async def _feeds_here(
    tx: Tx, user_id: int, place: ReadingList, followed: Mapping[int, FollowedFeedRow]
) -> list[FollowedFeedRow]:
    """Of all that is followed, what this list shows."""
    if place.query.folder_id is None:
        return list(followed.values())
    inside = descendants(await folders.of_user(tx, user_id), place.query.folder_id)
    return [one for one in followed.values() if one.folder_id in inside]


def _shows_all(visit: ListRequest, place: ReadingList) -> bool:
    """What a user has put aside, and what they ask to see, is never hidden from them."""
    return place.query.view not in ("unread", "all") or visit.request.query_params.get("loud") == "show"


def _with_hidden(made: EntryListView, hidden: int, visit: ListRequest, place: ReadingList) -> EntryListView:
    if visit.request.query_params.get("loud") == "show" and made.more_url:
        made = replace(made, more_url=_showing_loud(made.more_url))
    return replace(made, hidden=hidden, hidden_url=_showing_loud(place.list_address())) if hidden else made


def _showing_loud(address: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}loud=show"


async def _article(visit: ListRequest, tx: Tx, place: ReadingList, entry_id: int) -> ArticleView:
    return await read_article(visit.request, visit.runtime, tx, visit.user_id, entry_id, place=place)


def _count(place: ReadingList, sidebar: Sidebar) -> int | None:
    if place.count_key == "unread":
        return int(sidebar.unread)
    shown = [*sidebar.smart, *sidebar.kept]
    return next((int(link.count) for link in shown if link.key == place.count_key), None)


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
    """`neighbours`: whether the entries around it are those of the place's own list."""
    entry = await entries.get(tx, user_id, entry_id)
    if entry is None:
        raise NotFound("There is no such entry.")
    followed = await feeds_behind(tx, user_id, [entry.row])
    now, zone = runtime.now(), zone_of(request)
    kept = [
        shown_highlight(one, now, zone)
        for one in await highlights.newest(tx, user_id, limit=200, entry_id=entry_id)
    ]
    around: tuple[EntryRow | None, EntryRow | None] = (None, None)
    if place is not None and neighbours and not is_htmx(request):
        around = await _around(tx, user_id, place, entry)
    article = build_article(
        entry,
        followed.get(entry.row.feed_id),
        place=place,
        pictures=pictures_for_page(runtime),
        now=now,
        zone=zone,
        known_tags=tuple(await tag_names(tx, user_id)),
        highlights=tuple(reversed(kept)),
        bookmarked=bool(entry.row.url) and await bookmarks.is_known(tx, user_id, entry.row.url or ""),
        around=around,
        summary=await summary_above(request, runtime, tx, entry),
        show_full=show_full,
        full_failed=full_failed,
    )
    article = await with_mail(tx, user_id, article, entry)
    article = await with_story(tx, user_id, article, entry_id)
    address = place.entry_address(entry_id) if place else f"/entry/{entry_id}"
    return await with_framing(request, runtime, tx, article, entry.row, address)


async def _around(
    tx: Tx, user_id: int, place: ReadingList, entry: Entry
) -> tuple[EntryRow | None, EntryRow | None]:
    """The entries before and after this one in the list; the script finds them in the page itself."""
    turned = replace(place.query, order="oldest" if place.query.order == "newest" else "newest")
    here = Cursor(entry.row.sort_at, entry.row.id)
    before = await entries.page(tx, user_id, turned, here, 1)
    after = await entries.page(tx, user_id, place.query, here, 1)
    return _first(before), _first(after)


def _first(found: EntryPage | None) -> EntryRow | None:
    return found.rows[0] if found and found.rows else None


async def feeds_behind(tx: Tx, user_id: int, rows: Sequence[EntryRow]) -> dict[int, FollowedFeedRow]:
    """By id, the feeds these entries came from; without entries all that is followed, if anything is."""
    ids = {row.feed_id for row in rows}
    found = (
        await subscriptions.list_by_ids(tx, user_id, ids)
        if ids
        else await subscriptions.sidebar_feeds(tx, user_id)
    )
    return {one.feed_id: one for one in found}


versions_router = APIRouter(include_in_schema=False)


@versions_router.get("/entry/{entry_id}/versions")
async def show_versions(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, entry_id: IdPath, version: str = ""
) -> Response:
    entry = await get_entry(runtime, caller.user_id, entry_id)
    revisions = await get_revisions(runtime, caller.user_id, entry_id)
    chosen = _chosen(revisions, version)
    now, zone = runtime.now(), zone_of(request)
    shown = VersionsPage(
        entry_url=f"/entry/{entry_id}",
        title=chosen.version.title,
        language=entry.row.language or "",
        versions=tuple(_versions(entry, revisions, chosen, now, zone)),
        compared=_compared(revisions, chosen),
        title_changes=tuple(VersionChange(one.kind, one.text) for one in chosen.title),
        paragraphs=_paragraphs(chosen.text),
    )
    return await app_page(request, runtime, caller, "entries/versions.html", shown)


def _chosen(revisions: Sequence[Revision], version: str) -> Revision:
    """The newest that changed something, unless one is asked for."""
    if not version:
        return revisions[0]
    for revision in revisions:
        if str(revision.version.version) == version:
            return revision
    raise NotFound("There is no such version.")


def _versions(
    entry: Entry, revisions: Sequence[Revision], chosen: Revision, now: Instant, zone: tzinfo
) -> list[Version]:
    """A version was there from when it replaced the one before it."""
    since = [one.version.replaced_at for one in revisions[1:]]
    began = [*since, entry.row.published_at or entry.row.fetched_at]
    return [
        Version(
            number=one.version.version,
            when=full_time(moment or entry.row.fetched_at, now, zone),
            url=f"/entry/{entry.row.id}/versions?version={one.version.version}",
            current=one is chosen,
        )
        for one, moment in zip(revisions, began, strict=True)
    ]


def _compared(revisions: Sequence[Revision], chosen: Revision) -> str:
    if len(revisions) == 1:
        return translate("Nothing was changed since it came.")
    if chosen is revisions[-1]:
        return translate("The entry as it came.")
    return translate("What was added and taken out against the version before.")


def _paragraphs(changes: Sequence[Difference]) -> tuple[tuple[VersionChange, ...], ...]:
    """The text breaks into paragraphs where it has line breaks, whichever version they are from."""
    paragraphs: list[list[VersionChange]] = [[]]
    for one in changes:
        first, *others = one.text.split("\n")
        paragraphs[-1].append(VersionChange(one.kind, first))
        paragraphs.extend([VersionChange(one.kind, text)] for text in others)
    full = (tuple(piece for piece in paragraph if piece.text) for paragraph in paragraphs)
    return tuple(paragraph for paragraph in full if any(piece.text.strip() for piece in paragraph))
