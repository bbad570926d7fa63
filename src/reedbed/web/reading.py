"""The reading page: a list and the article beside it, each with an address of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Entry, EntryPage, EntryRow
from reedbed.domain.errors import NotFound
from reedbed.domain.folders import descendants
from reedbed.domain.paging import Cursor
from reedbed.domain.shelf import ShelfFeed, trouble_of
from reedbed.domain.texts import storable
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import path_id
from reedbed.services.images import pictures_for_page
from reedbed.services.runtime import Runtime
from reedbed.store import bookmarks, entries, folders, highlights, shelf, subscriptions
from reedbed.store.database import Tx
from reedbed.store.tags import names as tag_names
from reedbed.web.articles import build_article, shown_highlight
from reedbed.web.feed_lines import LineMaker
from reedbed.web.framing_views import list_framing, with_framing
from reedbed.web.moments import zone_of
from reedbed.web.newsletter_marks import with_confirmations, with_mail
from reedbed.web.pages import is_htmx, look_of, page
from reedbed.web.places import Place, feed_place, folder_place, smart_place, tag_place
from reedbed.web.reading_list import PAGE_SIZE, ListMaker, all_read, empty_feed, read_cursor
from reedbed.web.sidebar import build_sidebar
from reedbed.web.story_marks import list_stories, with_story
from reedbed.web.summary_block import lines_for, summary_above
from reedbed.web.views.reading import Article, EntryList, ReadingPage
from reedbed.web.views.sidebar import Sidebar
from reedbed.web.visits import Visit, VisitOf

router = APIRouter(include_in_schema=False)


@router.get("/folder/{text}")
@router.get("/folder/{text}/entry/{entry_id}")
async def show_folder(visit: VisitOf, text: str) -> Response:
    async with visit.runtime.db.read() as tx:
        place = await folder_place(tx, visit.user_id, text, visit.order, visit.usual)
        return await _show(visit, tx, place)


@router.get("/feed/{text}")
@router.get("/feed/{text}/entry/{entry_id}")
async def show_feed(visit: VisitOf, text: str) -> Response:
    async with visit.runtime.db.read() as tx:
        place = await feed_place(tx, visit.user_id, text, visit.order, visit.usual)
        return await _show(visit, tx, place)


@router.get("/tag/{name}")
@router.get("/tag/{name}/entry/{entry_id}")
async def show_tag(visit: VisitOf, name: str) -> Response:
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
async def show_smart(visit: VisitOf) -> Response:
    name = visit.request.url.path.split("/")[1]
    async with visit.runtime.db.read() as tx:
        return await _show(visit, tx, smart_place(name, visit.order, visit.usual))


@router.get("/entry/{entry_id}")
async def show_alone(request: Request, runtime: RuntimeOf, caller: CallerOf, entry_id: str) -> Response:
    async with runtime.db.read() as tx:
        article = await read_article(request, runtime, tx, caller.user_id, path_id(entry_id), place=None)
        view = ReadingPage(article.title, article=article, shows="article")
        if is_htmx(request):
            return await page(request, "reading/page.html", view, block="article")
        sidebar = await build_sidebar(tx, caller.user_id, "", look_of(request), runtime.now())
    return await page(request, "reading/page.html", view, sidebar=sidebar)


async def _show(visit: Visit, tx: Tx, place: Place) -> Response:
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


async def _list(visit: Visit, tx: Tx, place: Place, *, count: int | None) -> EntryList:
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


async def _with_standing(made: EntryList, visit: Visit, tx: Tx, subscription_id: int) -> EntryList:
    followed = await subscriptions.get(tx, visit.user_id, subscription_id)
    if followed is None:
        return made
    (line,) = LineMaker(visit.runtime.now(), zone_of(visit.request)).lines([followed])
    return replace(made, empty=empty_feed(line)) if made.empty else replace(made, trouble=line)


def _needs_words(found: EntryPage, followed: Mapping[int, ShelfFeed]) -> bool:
    """Whether a feed's list must say how the feed is: it has no entries, or it fails."""
    return not found.rows or any(map(trouble_of, followed.values()))


async def _feeds_here(
    tx: Tx, user_id: int, place: Place, followed: Mapping[int, ShelfFeed]
) -> list[ShelfFeed]:
    """Of all that is followed, what this list shows."""
    if place.query.folder_id is None:
        return list(followed.values())
    inside = descendants(await folders.of_user(tx, user_id), place.query.folder_id)
    return [one for one in followed.values() if one.folder_id in inside]


def _shows_all(visit: Visit, place: Place) -> bool:
    """What a user has put aside, and what they ask to see, is never hidden from them."""
    return place.query.view not in ("unread", "all") or visit.request.query_params.get("loud") == "show"


def _with_hidden(made: EntryList, hidden: int, visit: Visit, place: Place) -> EntryList:
    if visit.request.query_params.get("loud") == "show" and made.more_url:
        made = replace(made, more_url=_showing_loud(made.more_url))
    return replace(made, hidden=hidden, hidden_url=_showing_loud(place.list_address())) if hidden else made


def _showing_loud(address: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}loud=show"


async def _article(visit: Visit, tx: Tx, place: Place, entry_id: int) -> Article:
    return await read_article(visit.request, visit.runtime, tx, visit.user_id, entry_id, place=place)


def _count(place: Place, sidebar: Sidebar) -> int | None:
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
    place: Place | None,
    neighbours: bool = True,
    show_full: bool | None = None,
    full_failed: str = "",
) -> Article:
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
    tx: Tx, user_id: int, place: Place, entry: Entry
) -> tuple[EntryRow | None, EntryRow | None]:
    """The entries before and after this one in the list; the script finds them in the page itself."""
    turned = replace(place.query, order="oldest" if place.query.order == "newest" else "newest")
    here = Cursor(entry.row.sort_at, entry.row.id)
    before = await entries.page(tx, user_id, turned, here, 1)
    after = await entries.page(tx, user_id, place.query, here, 1)
    return _first(before), _first(after)


def _first(found: EntryPage | None) -> EntryRow | None:
    return found.rows[0] if found and found.rows else None


async def feeds_behind(tx: Tx, user_id: int, rows: Sequence[EntryRow]) -> dict[int, ShelfFeed]:
    """By id, the feeds these entries came from; without entries all that is followed, if anything is."""
    ids = {row.feed_id for row in rows}
    found = await shelf.some(tx, user_id, ids) if ids else await shelf.feeds_of(tx, user_id)
    return {one.feed_id: one for one in found}
