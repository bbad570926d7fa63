"""A visit to a list of the reading page: who asks, for which part of it, and which entry is open."""

from typing import Annotated

from fastapi import Depends, Query, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.paging import Order
from reedbed.domain.records import record
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import path_id
from reedbed.services.runtime import Runtime
from reedbed.store.database import Tx
from reedbed.web.pages import is_htmx, look_of, page
from reedbed.web.places import usual_order
from reedbed.web.sidebar import build_sidebar
from reedbed.web.views.reading import Article, EntryList, ReadingPage
from reedbed.web.views.sidebar import Sidebar


@record
class Visit:
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

    async def show_article(self, article: Article) -> Response:
        view = ReadingPage(article.title, article=article)
        return await page(self.request, "reading/page.html", view, block="article")

    async def show_list(self, title: str, listed: EntryList, *, status: int = 200) -> Response:
        """The list or, for `rows`, only its next rows."""
        view = ReadingPage(title, listed)
        if self.wants == "rows":
            return await page(self.request, "reading/rows.html", view, status=status)
        return await page(self.request, "reading/page.html", view, block="list", status=status)

    async def show_page(
        self, title: str, listed: EntryList, article: Article | None, sidebar: Sidebar, *, status: int = 200
    ) -> Response:
        pane = self.request.query_params.get("pane")
        shows = "nav" if pane == "nav" else "article" if article else "list"
        view = ReadingPage(article.title if article else title, listed, article, shows)
        return await page(self.request, "reading/page.html", view, sidebar=sidebar, status=status)


def _visit(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    order: Annotated[str | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Visit:
    entry_id = request.path_params.get("entry_id")
    return Visit(request, runtime, caller, path_id(entry_id) if entry_id is not None else None, order, cursor)


VisitOf = Annotated[Visit, Depends(_visit)]
