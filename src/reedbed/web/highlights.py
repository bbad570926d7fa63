"""Highlights: list them all, create one on an entry, edit its note, delete it."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.highlights import Highlight
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.highlights import change_note, create_highlight, delete_highlight, get_highlight
from reedbed.services.runtime import Runtime
from reedbed.store import highlights
from reedbed.store.entries import read as entries
from reedbed.web.entries.article import shown_highlight
from reedbed.web.formats import short_time, zone_of
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import KeysetPage, app_page
from reedbed.web.views.entries import HighlightsAnswer
from reedbed.web.views.feeds import HighlightRowView, HighlightsPage
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 50
MAX_OF_ENTRY = 200


@router.get("/highlights")
async def show_highlights(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    paging = KeysetPage.of(request.query_params, PAGE_SIZE)
    async with runtime.db.read() as tx:
        total = await highlights.count(tx, caller.user_id)
        newest = await highlights.newest(tx, caller.user_id, before=paging.before, limit=PAGE_SIZE + 1)
    rows, last = paging.cut(newest)
    lines = tuple(_highlight_row(request, runtime, highlight) for highlight in rows)
    view = HighlightsPage(lines, paging.pages("/highlights", len(lines), total, last))
    return await app_page(request, runtime, caller, "highlights/list.html", view)


@router.post("/entry/{entry_id}/highlights")
async def make_highlight(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    quote: Text = "",
    before: Text = "",
    after: Text = "",
    next: Text = "/",
) -> Response:
    await create_highlight(runtime, caller.user_id, entry_id, quote, prefix=before, suffix=after)
    return await _respond(request, runtime, caller, entry_id, next)


@router.post("/highlights/{highlight_id}")
async def change_highlight(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    highlight_id: IdPath,
    note: Text = "",
    removed: FormFlag = False,
    next: Text = "/highlights",
) -> Response:
    highlight = await get_highlight(runtime, caller.user_id, highlight_id)
    if removed:
        await delete_highlight(runtime, caller.user_id, highlight_id)
    else:
        await change_note(runtime, caller.user_id, highlight_id, note)
    return await _respond(request, runtime, caller, highlight.entry_id, next)


@router.post("/highlights/{highlight_id}/delete")
async def remove_highlight(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    highlight_id: IdPath,
    next: Text = "/highlights",
) -> Response:
    await delete_highlight(runtime, caller.user_id, highlight_id)
    return see_other(request, next, toast=Toast(translate("The highlight is gone.")))


async def _respond(
    request: Request, runtime: Runtime, caller: Caller, entry_id: int | None, next_: str
) -> Response:
    if not is_htmx(request) or entry_id is None:
        return see_other(request, next_)
    async with runtime.db.read() as tx:
        newest = await highlights.newest(tx, caller.user_id, limit=MAX_OF_ENTRY, entry_id=entry_id)
        rows = await entries.rows_by_ids(tx, caller.user_id, [entry_id])
    now, zone = runtime.now(), zone_of(request)
    views = tuple(shown_highlight(highlight, now, zone) for highlight in reversed(newest))
    language = (rows[0].language or "") if rows else ""
    view = HighlightsAnswer(entry_id, language, views)
    return await page(request, "entries/highlights.html", None, article=view)


def _highlight_row(request: Request, runtime: Runtime, highlight: Highlight) -> HighlightRowView:
    return HighlightRowView(
        id=highlight.id,
        quote=highlight.passage.quote,
        note=highlight.note,
        entry_url=f"/entry/{highlight.entry_id}"
        if highlight.entry_id is not None
        else highlight.entry_url or "",
        entry_title=highlight.entry_title or translate("Without a title"),
        when=short_time(highlight.created_at, runtime.now(), zone_of(request)),
    )
