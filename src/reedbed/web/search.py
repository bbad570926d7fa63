"""Search pages: search results, saved searches, and renaming or deleting tags."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup, escape

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.pagination import Cursor, Order, decode_cursor, encode_cursor
from reedbed.domain.records import record
from reedbed.domain.search.query import SearchQuery, UnreadMatches
from reedbed.domain.search.results import VISIBLE, Span, highlight
from reedbed.domain.search.suggestions import MatchCount, filters_in
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, SearchLimit, path_id
from reedbed.services.entries import delete_tag, list_tags, rename_tag
from reedbed.services.images import image_urls_for_page
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import Matched, SearchOrder, SearchPage, count_matches, search_entries
from reedbed.services.search.saved import (
    change_search,
    delete_search,
    get_search,
    list_searches,
    reorder_searches,
    save_search,
    unread_matches,
)
from reedbed.store.engine.database import Tx
from reedbed.web.entries.article import one_line_summaries
from reedbed.web.entries.lists import PAGE_SIZE, EntryListBuilder, ReadingList
from reedbed.web.entries.routes import CurrentListRequest, ListRequest, feeds_of_entries, read_article
from reedbed.web.formats import zone_of
from reedbed.web.forms import Text, stepped
from reedbed.web.i18n import explain, name_key, ngettext, translate, unknown_names
from reedbed.web.pages import see_other, theme_of
from reedbed.web.sidebar import app_page
from reedbed.web.views.entries import ArticleView, Day, Empty, EntryListView, SearchBox, SearchChip
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
    """The URL of a saved search holds its id; the URL of a typed search holds its text."""

    def list_address(self, *, cursor: str = "") -> str:
        return self._url(self.address, self.by, cursor)

    def entry_address(self, entry_id: int) -> str:
        return self._url(f"{self.address}/entry/{entry_id}", self.by)

    def _url(self, path: str, order: str, cursor: str = "") -> str:
        values = {"q": "" if self.saved else self.words, "order": order, "cursor": cursor}
        params = {name: value for name, value in values.items() if value and value != "newest"}
        return f"{path}?{urlencode(params)}" if params else path

    @property
    def cursor_name(self) -> str:
        return f"search {self.by} {self.words}"


@router.get("/search")
@router.get("/search/entry/{entry_id}")
async def show_search(list_request: CurrentListRequest, _: SearchLimit, q: Words = "") -> Response:
    text = " ".join(q.split())
    title = text or translate("Search")
    reading_list = SearchReadingList("/search", title, ViewQuery("all"), words=text, by=_order(list_request.order))
    return await _show(list_request, reading_list)


@router.get("/search/count")
async def show_count(runtime: CurrentRuntime, caller: CurrentCaller, _: SearchLimit, q: Words = "") -> Response:
    """How many entries a search finds, as text that the page asks for when its list is there."""
    try:
        matches = await count_matches(runtime, caller.user_id, q)
    except Invalid:
        return Response(media_type="text/html")
    return Response(_count_text(matches), media_type="text/html")


def _count_text(matches: MatchCount) -> Markup:
    entries = ngettext("%(num)s entry", "%(num)s entries", matches.count)
    bold = Markup("<strong>%s</strong>") % entries
    if matches.is_estimate:
        return escape(translate("About %(entries)s")) % {"entries": bold}
    if not matches.feeds:
        return bold
    text = ngettext("{entries} in %(num)s feed", "{entries} in %(num)s feeds", matches.feeds)
    return escape(text).format(entries=bold)


@router.get("/saved/{search_id}")
@router.get("/saved/{search_id}/entry/{entry_id}")
async def show_saved(list_request: CurrentListRequest, _: SearchLimit, search_id: str) -> Response:
    saved = await get_search(list_request.runtime, list_request.user_id, path_id(search_id))
    reading_list = SearchReadingList(
        f"/saved/{saved.id}",
        saved.name,
        ViewQuery("all"),
        f"saved:{saved.id}",
        words=saved.query,
        by=_order(list_request.order),
        saved=True,
    )
    return await _show(list_request, reading_list)


async def _show(list_request: ListRequest, reading_list: SearchReadingList) -> Response:
    """Like the reading pages, but the search runs before anything else is read."""
    if list_request.wants == "article" and list_request.entry_id is not None:
        async with list_request.runtime.db.read() as tx:
            return await list_request.show_article(
                await _article(list_request, tx, reading_list, list_request.entry_id)
            )
    results, error = await _run_search(list_request.runtime, list_request.user_id, reading_list, list_request.cursor)
    status = 400 if error else 200
    async with list_request.runtime.db.read() as tx:
        kept = (await list_request.choice(tx, "search")).kept
        reading_list = replace(reading_list, settings_name="search", layout=kept.layout)
        entry_list = await _build_list(list_request, tx, reading_list, results, error)
        if list_request.wants in ("rows", "list"):
            return await list_request.show_list(reading_list.title, entry_list, status=status)
        sidebar = await list_request.sidebar(tx, reading_list.address)
        article = (
            None
            if list_request.entry_id is None
            else await _article(list_request, tx, reading_list, list_request.entry_id)
        )
    return await list_request.show_page(reading_list.title, entry_list, article, sidebar, status=status)


async def _build_list(
    list_request: ListRequest, tx: Tx, reading_list: SearchReadingList, results: SearchPage, error: str
) -> EntryListView:
    request, runtime = list_request.request, list_request.runtime
    feeds = await feeds_of_entries(tx, list_request.user_id, results.rows)
    maker = SearchListBuilder(
        reading_list,
        feeds,
        theme_of(request),
        runtime.now(),
        zone_of(request),
        pictures=image_urls_for_page(runtime),
        lines=await one_line_summaries(request, runtime, tx, [row.id for row in results.rows]),
    )
    maker.matched, maker.error = results.matched, error or unknown_names(results.unknown)
    maker.meant, maker.query = results.did_you_mean, results.query
    is_first = list_request.cursor is None or reading_list.by == "relevance"
    after = None if is_first else _cursor(reading_list, list_request.cursor or "").sort_at
    return maker.make(results, count=None, current=list_request.entry_id, after=after)


async def _article(list_request: ListRequest, tx: Tx, reading_list: SearchReadingList, entry_id: int) -> ArticleView:
    return await read_article(
        list_request.request,
        list_request.runtime,
        tx,
        list_request.user_id,
        entry_id,
        place=reading_list,
        neighbours=False,
    )


async def _run_search(
    runtime: Runtime, user_id: int, reading_list: SearchReadingList, cursor: str | None
) -> tuple[SearchPage, str]:
    """The results, or a message that says what is wrong with the query."""
    if not reading_list.words:
        return NOTHING_FOUND, ""
    start = _cursor(reading_list, cursor) if cursor is not None else None
    try:
        results = await search_entries(
            runtime, user_id, reading_list.words, order=reading_list.by, cursor=start, limit=PAGE_SIZE
        )
    except Invalid as error:
        return NOTHING_FOUND, explain(error)
    return results, ""


def _order(text: str | None) -> SearchOrder:
    match text:
        case None | "" | "newest":
            return "newest"
        case "oldest" | "relevance":
            return text
        case _:
            raise Invalid("The order is newest, oldest or relevance.", field="order")


def _cursor(reading_list: SearchReadingList, text: str) -> Cursor:
    return decode_cursor(text, _keyset(reading_list.by), reading_list.cursor_name)


def _keyset(order: SearchOrder) -> Order:
    return "oldest" if order == "oldest" else "newest"


class SearchListBuilder(EntryListBuilder):
    """Rows with highlighted matches, and the query in a field above them."""

    matched: Mapping[int, Matched]
    error: str
    meant: str
    query: SearchQuery

    def make(self, page: EntryPage, *, count: int | None, current: int | None, after: Instant | None) -> EntryListView:
        view = super().make(page, count=count, current=current, after=after)
        search = self._search_list
        box = SearchBox(
            search.words,
            can_save=bool(page.rows) and not search.saved,
            chips=tuple(_chips(search.words)),
            count_url=_search_url(search.words, "/search/count"),
            meant=self.meant,
            meant_url=_search_url(self.meant),
        )
        if view.empty and view.more_url:
            view = replace(view, empty=_nothing_so_far(view.more_url))
        return replace(view, search=box, can_mark=False)

    @property
    def _search_list(self) -> SearchReadingList:
        assert isinstance(self._reading_list, SearchReadingList)
        return self._reading_list

    def _days(
        self, rows: Sequence[EntryRow], current: int | None, after: Instant | None, layout: str
    ) -> tuple[Day, ...]:
        if self._search_list.by != "relevance":
            return super()._days(rows, current, after, layout)
        best = tuple(self._row(row, current) for row in rows)
        return (Day("best", translate("Best first"), best),) if best else ()

    def _title(self, row: EntryRow) -> str | Markup:
        hit = self.matched.get(row.id)
        return _highlighted(row.title, hit.title) if hit and row.title else super()._title(row)

    def _text(self, row: EntryRow) -> str | Markup:
        """The one-line summary, unless only the excerpt shows a match where it is seen."""
        hit, line = self.matched.get(row.id), self._summaries.get(row.id)
        if hit is None:
            return super()._text(row)
        spans = highlight(line, self.query) if line else ()
        if line and (not hit.excerpt.spans or (spans and spans[0][1] <= VISIBLE)):
            return _highlighted(line, spans)
        return _highlighted(hit.excerpt.text, hit.excerpt.spans)

    def _more_url(self, page: EntryPage) -> str:
        if page.next is None:
            return ""
        search = self._search_list
        cursor = encode_cursor(page.next.sort_at, page.next.id, _keyset(search.by), search.cursor_name)
        return search.list_address(cursor=cursor)

    def _orders(self) -> tuple[SelectOption, ...]:
        search = self._search_list
        options: tuple[tuple[SearchOrder, str, str], ...] = (
            ("newest", translate("Newest first"), translate("Newest")),
            ("oldest", translate("Oldest first"), translate("Oldest")),
            ("relevance", translate("Best first"), translate("Best first")),
        )
        return tuple(
            SelectOption(order, name, order == search.by, replace(search, by=order).list_address(), short=short)
            for order, name, short in options
        )

    def _empty(self) -> Empty:
        if self.error:
            return Empty("alert", translate("That could not be searched"), self.error)
        if not self._search_list.words:
            return Empty(
                "search",
                translate("What are you looking for?"),
                translate("Words, a phrase in quotes, -without; feed:, folder:, tag:, is:unread, after:7d."),
            )
        return Empty("search", translate("Nothing found"), translate("Try fewer words, or other ones."))


_OFFERED = ("is:unread", "is:starred", "is:later", "has:picture", "after:30d")


def _chips(words: str) -> Iterator[SearchChip]:
    chosen = filters_in(words)
    for text, without in chosen:
        yield SearchChip(text, _search_url(without), chosen=True)
    for text in _OFFERED:
        if text not in dict(chosen):
            yield SearchChip(text, _search_url(f"{words} {text}"))


def _search_url(words: str, path: str = "/search") -> str:
    return f"{path}?{urlencode({'q': words})}"


def _nothing_so_far(more_url: str) -> Empty:
    return Empty(
        "search",
        translate("Nothing found so far"),
        translate("Not all entries have been checked yet."),
        more_url,
        translate("Go on"),
    )


def _highlighted(text: str, spans: Sequence[Span]) -> Markup:
    return Markup("").join(_highlight_parts(text, spans))


def _highlight_parts(text: str, spans: Sequence[Span]) -> Iterator[Markup]:
    position = 0
    for start, end in spans:
        yield escape(text[position:start])
        yield Markup("<mark>%s</mark>") % text[start:end]
        position = end
    yield escape(text[position:])


# --- Saved searches and tags

saved_router = APIRouter(include_in_schema=False)


@record
class _FormState:
    """Submitted values and their errors. Keys of `row_names` and `row_errors` are rows: `tag:3`."""

    query: str = ""
    name: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    row_names: Mapping[str, str] = field(default_factory=dict[str, str])
    row_errors: Mapping[str, str] = field(default_factory=dict[str, str])


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
        # A filter in the query may name another field.
        error_field = "name" if error.field == "name" else "query"
        state = _FormState(query, name, {error_field: explain(error)})
        return await _show_saved(request, runtime, caller, state, status_of(error))
    toast = Toast(translate("%(name)s is kept.", name=saved.name))
    return see_other(request, f"/saved/{saved.id}", toast=toast)


@saved_router.post("/searches/{search_id}")
async def rename_saved(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath, name: Text = ""
) -> Response:
    operation = change_search(runtime, caller.user_id, search_id, name=name)
    return await _rename(request, runtime, caller, operation, f"search:{search_id}", name)


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
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, search_id: IdPath, next: Text = "/searches"
) -> Response:
    await delete_search(runtime, caller.user_id, search_id)
    back = "/searches" if next.startswith("/saved/") else next
    return see_other(request, back, toast=Toast(translate("The search is gone.")))


@saved_router.post("/searches/tags/{tag_id}")
async def rename_one(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath, name: Text = ""
) -> Response:
    operation = rename_tag(runtime, caller.user_id, tag_id, name)
    return await _rename(request, runtime, caller, operation, f"tag:{tag_id}", name)


@saved_router.post("/searches/tags/{tag_id}/delete")
async def remove_tag(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, tag_id: IdPath, next: Text = "/searches"
) -> Response:
    await delete_tag(runtime, caller.user_id, tag_id)
    return see_other(request, next, toast=Toast(translate("The tag is gone; its entries are still here.")))


async def _rename(
    request: Request, runtime: Runtime, caller: Caller, operation: Awaitable[Any], row_key: str, name: str
) -> Response:
    try:
        await operation
    except (Invalid, Conflict) as error:
        state = _FormState(row_names={row_key: name}, row_errors={row_key: explain(error)})
        return await _show_saved(request, runtime, caller, state, status_of(error))
    return see_other(request, "/searches")


async def _show_saved(
    request: Request, runtime: Runtime, caller: Caller, state: _FormState | None = None, status: int = 200
) -> Response:
    state = state or _FormState()
    saved = await list_searches(runtime, caller.user_id)
    unread = await unread_matches(runtime, caller.user_id, saved)
    searches = tuple(
        SavedSearchView(
            id=search.id,
            url=f"/saved/{search.id}",
            name=state.row_names.get(f"search:{search.id}", search.name),
            query=search.query,
            unread=_unread_text(unread.get(search.id)),
            error=state.row_errors.get(f"search:{search.id}", ""),
        )
        for search in saved
    )
    tags = tuple(
        TagView(
            id=tag.id,
            url=f"/tag/{quote(tag.name, safe='')}",
            name=state.row_names.get(f"tag:{tag.id}", tag.name),
            entries=Count(tag.entries),
            error=state.row_errors.get(f"tag:{tag.id}", ""),
        )
        for tag in sorted(await list_tags(runtime, caller.user_id), key=lambda tag: name_key(tag.name))
    )
    view = SearchesPage(searches, tags, state.name, state.query, state.errors)
    return await app_page(request, runtime, caller, "search/saved.html", view, status=status)


def _unread_text(matches: UnreadMatches | None) -> str:
    if matches is None or not matches.count:
        return ""
    text = str(Count(matches.count))
    return f"{text}+" if matches.more else text
