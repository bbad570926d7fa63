"""Searches as lists of the reading page: typed ones and saved ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from markupsafe import Markup, escape

from reedbed.domain.entries import EntryPage, EntryRow, ViewQuery
from reedbed.domain.errors import Invalid
from reedbed.domain.excerpts import Span, highlight
from reedbed.domain.paging import Cursor, Order, decode_cursor, encode_cursor
from reedbed.domain.records import record
from reedbed.domain.search import SearchQuery, parse_search
from reedbed.domain.times import Instant
from reedbed.http.ids import path_id
from reedbed.http.limits import SearchLimit
from reedbed.services.images import pictures_for_page
from reedbed.services.runtime import Runtime
from reedbed.services.search import Matched, SearchOrder, SearchPage, search_entries
from reedbed.services.searches import get_search
from reedbed.store.database import Tx
from reedbed.web.moments import zone_of
from reedbed.web.pages import look_of
from reedbed.web.places import Place
from reedbed.web.reading import feeds_behind, read_article
from reedbed.web.reading_list import PAGE_SIZE, ListMaker
from reedbed.web.speech import translate
from reedbed.web.summary_block import lines_for
from reedbed.web.views.frame import Choice
from reedbed.web.views.reading import Article, Day, Empty, EntryList, SearchBox
from reedbed.web.visits import Visit, VisitOf

router = APIRouter(include_in_schema=False)

Words = Annotated[str, Query(max_length=2_000)]
NOTHING_FOUND = SearchPage((), None, {})


@record
class SearchPlace(Place):
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
async def show_search(visit: VisitOf, _: SearchLimit, q: Words = "") -> Response:
    words = " ".join(q.split())
    title = words or translate("Search")
    place = SearchPlace("/search", title, ViewQuery("all"), words=words, by=_order(visit.order))
    return await _show(visit, place)


@router.get("/saved/{search_id}")
@router.get("/saved/{search_id}/entry/{entry_id}")
async def show_saved(visit: VisitOf, _: SearchLimit, search_id: str) -> Response:
    saved = await get_search(visit.runtime, visit.user_id, path_id(search_id))
    place = SearchPlace(
        f"/saved/{saved.id}",
        saved.name,
        ViewQuery("all"),
        f"saved:{saved.id}",
        words=saved.query,
        by=_order(visit.order),
        saved=True,
    )
    return await _show(visit, place)


async def _show(visit: Visit, place: SearchPlace) -> Response:
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


async def _list(visit: Visit, tx: Tx, place: SearchPlace, found: SearchPage, trouble: str) -> EntryList:
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
    maker.matched, maker.trouble = found.matched, trouble or unknown_names(found)
    begins = visit.cursor is None or place.by == "relevance"
    after = None if begins else _cursor(place, visit.cursor or "").sort_at
    return maker.make(found, count=None, current=visit.entry_id, after=after)


async def _article(visit: Visit, tx: Tx, place: SearchPlace, entry_id: int) -> Article:
    return await read_article(
        visit.request, visit.runtime, tx, visit.user_id, entry_id, place=place, neighbours=False
    )


async def _find(
    runtime: Runtime, user_id: int, place: SearchPlace, cursor: str | None
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


def unknown_names(found: SearchPage) -> str:
    """A sentence for each feed, folder and tag of the search that does not exist."""
    sentences = {
        "feed": translate("You follow no feed called %(name)s."),
        "folder": translate("There is no folder called %(name)s."),
        "tag": translate("There is no tag called %(name)s."),
    }
    return " ".join(sentences[each.kind] % {"name": each.value} for each in found.unknown)


def _order(text: str | None) -> SearchOrder:
    match text:
        case None | "" | "newest":
            return "newest"
        case "oldest" | "relevance":
            return text
        case _:
            raise Invalid("The order is newest, oldest or relevance.", field="order")


def _cursor(place: SearchPlace, text: str) -> Cursor:
    return decode_cursor(text, _keyset(place.by), place.cursor_name)


def _keyset(order: SearchOrder) -> Order:
    return "oldest" if order == "oldest" else "newest"


class SearchListMaker(ListMaker):
    """Rows with what was searched for marked, and the words in a field above them."""

    matched: Mapping[int, Matched]
    trouble: str

    def make(
        self, page: EntryPage, *, count: int | None, current: int | None, after: Instant | None
    ) -> EntryList:
        made = super().make(page, count=count, current=current, after=after)
        place = self._search
        box = SearchBox(place.words, can_save=bool(page.rows) and not place.saved)
        if made.empty and made.more_url:
            made = replace(made, empty=_not_yet(made.more_url))
        return replace(made, search=box, can_mark=False)

    @property
    def _search(self) -> SearchPlace:
        assert isinstance(self._place, SearchPlace)
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

    def _orders(self) -> tuple[Choice, ...]:
        place = self._search
        named: tuple[tuple[SearchOrder, str], ...] = (
            ("newest", translate("Newest first")),
            ("oldest", translate("Oldest first")),
            ("relevance", translate("Best first")),
        )
        return tuple(
            Choice(order, name, order == place.by, replace(place, by=order).list_address())
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
