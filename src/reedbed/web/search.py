"""The page of saved searches and tags: kept, renamed, put in order, deleted."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup, escape

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.pagination import Cursor, Order, decode_cursor, encode_cursor
from reedbed.domain.records import record
from reedbed.domain.search import SearchQuery, Span, UnreadMatches, highlight, parse_search
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import SearchLimit
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.entries import delete_tag, list_tags, rename_tag
from reedbed.services.images import pictures_for_page
from reedbed.services.runtime import Runtime
from reedbed.services.search import (
    Matched,
    SearchOrder,
    SearchPage,
    change_search,
    delete_search,
    get_search,
    list_searches,
    reorder_searches,
    save_search,
    search_entries,
    unread_matches,
)
from reedbed.store.engine.database import Tx
from reedbed.web.entries.article import lines_for
from reedbed.web.entries.lists import PAGE_SIZE, ListMaker, ReadingList
from reedbed.web.entries.routes import CurrentListRequest, ListRequest, feeds_behind, read_article
from reedbed.web.formats import zone_of
from reedbed.web.forms import Text, stepped
from reedbed.web.i18n import translate, unknown_names
from reedbed.web.pages import look_of, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.entries import ArticleView, Day, Empty, EntryListView, SearchBox
from reedbed.web.views.feeds import SavedSearchView, SearchesPage, TagView
from reedbed.web.views.layout import Count, SelectOption, Toast

router = APIRouter(include_in_schema=False)

Words = Annotated[str, Query(max_length=2_000)]
NOTHING_FOUND = SearchPage((), None, {})


@record
class SearchReadingList(ReadingList):
    words: str = ""
    by: SearchOrder = "newest"
    saved: bool = False
    """A saved search has its words behind its address, a typed one in it."""

    def list_address(self, *, cursor: str = "", order: Order | None = None) -> str:
        return self._address(self.address, order or self.by, cursor)

    def entry_address(self, entry_id: int) -> str:
        return self._address(f"{self.address}/entry/{entry_id}", self.by)

    def _address(self, path: str, order: str, cursor: str = "") -> str:
        wanted = {"q": "" if self.saved else self.words, "order": order, "cursor": cursor}
        params = {name: value for name, value in wanted.items() if value and value != "newest"}
        return f"{path}?{urlencode(params)}" if params else path

    @property
    def cursor_name(self) -> str:
        return f"search {self.by} {self.words}"


@router.get("/search")
@router.get("/search/entry/{entry_id}")
async def show_search(visit: CurrentListRequest, _: SearchLimit, q: Words = "") -> Response:
    words = " ".join(q.split())
    title = words or translate("Search")
    place = SearchReadingList("/search", title, ViewQuery("all"), words=words, by=_order(visit.order))
    return await _show(visit, place)


@router.get("/saved/{search_id}")
@router.get("/saved/{search_id}/entry/{entry_id}")
async def show_saved(visit: CurrentListRequest, _: SearchLimit, search_id: str) -> Response:
    saved = await get_search(visit.runtime, visit.user_id, path_id(search_id))
    place = SearchReadingList(
        f"/saved/{saved.id}",
        saved.name,
        ViewQuery("all"),
        f"saved:{saved.id}",
        words=saved.query,
        by=_order(visit.order),
        saved=True,
    )
    return await _show(visit, place)


async def _show(visit: ListRequest, place: SearchReadingList) -> Response:
    """As the reading page does it; the search itself runs before anything else is read."""
    if visit.wants == "article" and visit.entry_id is not None:
        async with visit.runtime.db.read() as tx:
            return await visit.show_article(await _article(visit, tx, place, visit.entry_id))
    found, trouble = await _find(visit.runtime, visit.user_id, place, visit.cursor)
    status = 400 if trouble else 200
    async with visit.runtime.db.read() as tx:
        listed = await _list(visit, tx, place, found, trouble)
        if visit.wants in ("rows", "list"):
            return await visit.show_list(place.title, listed, status=status)
        sidebar = await visit.sidebar(tx, place.address)
        article = None if visit.entry_id is None else await _article(visit, tx, place, visit.entry_id)
    return await visit.show_page(place.title, listed, article, sidebar, status=status)


async def _list(
    visit: ListRequest, tx: Tx, place: SearchReadingList, found: SearchPage, trouble: str
) -> EntryListView:
    request, runtime = visit.request, visit.runtime
    followed = await feeds_behind(tx, visit.user_id, found.rows)
    maker = SearchListMaker(
        place,
        followed,
        look_of(request),
        runtime.now(),
        zone_of(request),
        pictures=pictures_for_page(runtime),
        lines=await lines_for(request, runtime, tx, [row.id for row in found.rows]),
    )
    maker.matched, maker.trouble = found.matched, trouble or unknown_names(found.unknown)
    begins = visit.cursor is None or place.by == "relevance"
    after = None if begins else _cursor(place, visit.cursor or "").sort_at
    return maker.make(found, count=None, current=visit.entry_id, after=after)


async def _article(visit: ListRequest, tx: Tx, place: SearchReadingList, entry_id: int) -> ArticleView:
    return await read_article(
        visit.request, visit.runtime, tx, visit.user_id, entry_id, place=place, neighbours=False
    )


async def _find(
    runtime: Runtime, user_id: int, place: SearchReadingList, cursor: str | None
) -> tuple[SearchPage, str]:
    """What was found, or one sentence about what is wrong with the words."""
    if not place.words:
        return NOTHING_FOUND, ""
    start = _cursor(place, cursor) if cursor is not None else None
    try:
        found = await search_entries(
            runtime, user_id, place.words, order=place.by, cursor=start, limit=PAGE_SIZE
        )
    except Invalid as error:
        return NOTHING_FOUND, translate(error.message)
    return found, ""


def _order(text: str | None) -> SearchOrder:
    match text:
        case None | "" | "newest":
            return "newest"
        case "oldest" | "relevance":
            return text
        case _:
            raise Invalid("The order is newest, oldest or relevance.", field="order")


def _cursor(place: SearchReadingList, text: str) -> Cursor:
    return decode_cursor(text, _keyset(place.by), place.cursor_name)


def _keyset(order: SearchOrder) -> Order:
    return "oldest" if order == "oldest" else "newest"


class SearchListMaker(ListMaker):
    """Rows with what was searched for marked, and the words in a field above them."""

    matched: Mapping[int, Matched]
    trouble: str

    def make(
        self, page: EntryPage, *, count: int | None, current: int | None, after: Instant | None
    ) -> EntryListView:
        made = super().make(page, count=count, current=current, after=after)
        place = self._search
        box = SearchBox(place.words, can_save=bool(page.rows) and not place.saved)
        if made.empty and made.more_url:
            made = replace(made, empty=_not_yet(made.more_url))
        return replace(made, search=box, can_mark=False)

    @property
    def _search(self) -> SearchReadingList:
        assert isinstance(self._place, SearchReadingList)
        return self._place

    def _days(self, rows: Sequence[EntryRow], current: int | None, after: Instant | None) -> tuple[Day, ...]:
        if self._search.by != "relevance":
            return super()._days(rows, current, after)
        best = tuple(self._row(row, current) for row in rows)
        return (Day("best", translate("Best first"), best),) if best else ()

    def _title(self, row: EntryRow) -> str | Markup:
        hit = self.matched.get(row.id)
        return _marked(row.title, hit.title) if hit and row.title else super()._title(row)

    def _text(self, row: EntryRow) -> str | Markup:
        """The line that sums it up, unless only the text itself shows what was searched for."""
        hit, line = self.matched.get(row.id), self._lines.get(row.id)
        if hit is None:
            return super()._text(row)
        spans = highlight(line, self._query) if line else ()
        if line and (spans or not hit.excerpt.spans):
            return _marked(line, spans)
        return _marked(hit.excerpt.text, hit.excerpt.spans)

    @cached_property
    def _query(self) -> SearchQuery:
        return parse_search(self._search.words, self._now)

    def _more(self, page: EntryPage) -> str:
        if page.next is None:
            return ""
        place = self._search
        cursor = encode_cursor(page.next.sort_at, page.next.id, _keyset(place.by), place.cursor_name)
        return place.list_address(cursor=cursor)

    def _orders(self) -> tuple[SelectOption, ...]:
        place = self._search
        named: tuple[tuple[SearchOrder, str], ...] = (
            ("newest", translate("Newest first")),
            ("oldest", translate("Oldest first")),
            ("relevance", translate("Best first")),
        )
        return tuple(
            SelectOption(order, name, order == place.by, replace(place, by=order).list_address())
            for order, name in named
        )

    def _empty(self) -> Empty:
        if self.trouble:
            return Empty("alert", translate("That could not be searched"), self.trouble)
        if not self._search.words:
            return Empty(
                "search",
                translate("What are you looking for?"),
                translate("Words, a phrase in quotes, -without; feed:, folder:, tag:, is:unread, after:7d."),
            )
        return Empty("search", translate("Nothing found"), translate("Try fewer words, or other ones."))


def _not_yet(more_url: str) -> Empty:
    return Empty(
        "search",
        translate("Nothing found so far"),
        translate("Not all entries have been looked at yet."),
        more_url,
        translate("Go on"),
    )


def _marked(text: str, spans: Sequence[Span]) -> Markup:
    return Markup("").join(_pieces(text, spans))


def _pieces(text: str, spans: Sequence[Span]) -> Iterator[Markup]:
    done = 0
    for start, end in spans:
        yield escape(text[done:start])
        yield Markup("<mark>%s</mark>") % text[start:end]
        done = end
    yield escape(text[done:])


saved_router = APIRouter(include_in_schema=False)


@record
class _Typed:
    """What somebody typed, and what is wrong with it; `names` and `wrong` go by the line: `tag:3`."""

    query: str = ""
    name: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    wrong: Mapping[str, str] = field(default_factory=dict[str, str])


@saved_router.get("/searches")
async def show_searches(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    return await _show_saved(request, runtime, caller)


@saved_router.post("/searches")
async def keep_search(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, query: Text = "", name: Text = ""
) -> Response:
    try:
        saved = await save_search(runtime, caller.user_id, name or query[:100], query)
    except (Invalid, Conflict) as error:
        at = "name" if error.field == "name" else "query"  # a filter in it may have a field of its own
        typed = _Typed(query, name, {at: error.message})
        return await _show_saved(request, runtime, caller, typed, status_of(error))
    toast = Toast(translate("%(name)s is kept.", name=saved.name))
    return see_other(request, f"/saved/{saved.id}", toast=toast)


@saved_router.post("/searches/{search_id}")
async def rename_saved(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath, name: Text = ""
) -> Response:
    work = change_search(runtime, caller.user_id, search_id, name=name)
    return await _renamed(request, runtime, caller, work, f"search:{search_id}", name)


@saved_router.post("/searches/{search_id}/move")
async def move_search(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    search_id: IdPath,
    to: Text = "",
    next: Text = "/searches",
) -> Response:
    ids = [saved.id for saved in await list_searches(runtime, caller.user_id)]
    await reorder_searches(runtime, caller.user_id, stepped(ids, search_id, to))
    return see_other(request, next)


@saved_router.post("/searches/{search_id}/delete")
async def remove_search(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    search_id: IdPath,
    next: Text = "/searches",
) -> Response:
    await delete_search(runtime, caller.user_id, search_id)
    back = "/searches" if next.startswith("/saved/") else next
    return see_other(request, back, toast=Toast(translate("The search is gone.")))


@saved_router.post("/searches/tags/{tag_id}")
async def rename_one(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath, name: Text = ""
) -> Response:
    work = rename_tag(runtime, caller.user_id, tag_id, name)
    return await _renamed(request, runtime, caller, work, f"tag:{tag_id}", name)


@saved_router.post("/searches/tags/{tag_id}/delete")
async def remove_tag(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath, next: Text = "/searches"
) -> Response:
    await delete_tag(runtime, caller.user_id, tag_id)
    return see_other(request, next, toast=Toast(translate("The tag is gone; its entries are still here.")))


async def _renamed(
    request: Request, runtime: Runtime, caller: Caller, work: Awaitable[Any], line: str, name: str
) -> Response:
    try:
        await work
    except (Invalid, Conflict) as error:
        typed = _Typed(names={line: name}, wrong={line: error.message})
        return await _show_saved(request, runtime, caller, typed, status_of(error))
    return see_other(request, "/searches")


async def _show_saved(
    request: Request, runtime: Runtime, caller: Caller, typed: _Typed | None = None, status: int = 200
) -> Response:
    typed = typed or _Typed()
    saved = await list_searches(runtime, caller.user_id)
    unread = await unread_matches(runtime, caller.user_id, saved)
    searches = tuple(
        SavedSearchView(
            id=one.id,
            url=f"/saved/{one.id}",
            name=typed.names.get(f"search:{one.id}", one.name),
            query=one.query,
            unread=_unread(unread.get(one.id)),
            error=typed.wrong.get(f"search:{one.id}", ""),
        )
        for one in saved
    )
    tags = tuple(
        TagView(
            id=one.id,
            url=f"/tag/{quote(one.name, safe='')}",
            name=typed.names.get(f"tag:{one.id}", one.name),
            entries=Count(one.entries),
            error=typed.wrong.get(f"tag:{one.id}", ""),
        )
        for one in await list_tags(runtime, caller.user_id)
    )
    shown = SearchesPage(searches, tags, typed.name, typed.query, typed.errors)
    return await app_page(request, runtime, caller, "search/saved.html", shown, status=status)


def _unread(matches: UnreadMatches | None) -> str:
    if matches is None or not matches.count:
        return ""
    shown = str(Count(matches.count))
    return f"{shown}+" if matches.more else shown
