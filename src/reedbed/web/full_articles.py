"""The switch between what the feed sends and the whole article."""

from fastapi import APIRouter, Request, Response

from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.http.limits import RefreshLimit
from reedbed.services.full_articles import read_full_article
from reedbed.web.form_values import Ticked
from reedbed.web.pages import is_htmx, look_of, page
from reedbed.web.reading import read_article
from reedbed.web.sentences import retell
from reedbed.web.sidebar import build_sidebar
from reedbed.web.views.reading import ReadingPage

router = APIRouter(include_in_schema=False)


@router.post("/entry/{entry_id}/full")
async def switch(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    entry_id: IdPath,
    _: RefreshLimit,
    value: Ticked = True,
) -> Response:
    failed = (await read_full_article(runtime, caller.user_id, entry_id)).failed if value else ""
    async with runtime.db.read() as tx:
        article = await read_article(
            request,
            runtime,
            tx,
            caller.user_id,
            entry_id,
            place=None,
            show_full=value,
            full_failed=retell(failed),
        )
        view = ReadingPage(article.title, article=article, shows="article")
        if is_htmx(request):
            return await page(request, "reading/page.html", view, block="article")
        sidebar = await build_sidebar(tx, caller.user_id, "", look_of(request), runtime.now())
    return await page(request, "reading/page.html", view, sidebar=sidebar)
