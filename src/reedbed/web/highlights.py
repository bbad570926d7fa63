"""Highlights: list and review them, create one on an entry, change its note or colour, delete it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from reedbed.domain.highlights import FIRST_COLOR, REVIEW_AFTER, Highlight, HighlightFilter, Passage, check_color
from reedbed.domain.text import storable
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.highlights import (
    change_highlight,
    create_highlight,
    delete_highlight,
    get_highlight,
    review_highlight,
)
from reedbed.services.runtime import Runtime
from reedbed.store import highlights
from reedbed.store.entries import read as entries
from reedbed.web.entries.article import MAX_OF_ENTRY, shown_highlight
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import KeysetPage, app_page
from reedbed.web.views.entries import HighlightsAnswer
from reedbed.web.views.feeds import HighlightGroup, HighlightRowView, HighlightsPage
from reedbed.web.views.layout import Count, SelectOption, Toast

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 50
REVIEW_SIZE = 5


@router.get("/highlights")
async def show_highlights(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, color: str = "", q: str = "", due: str = ""
) -> Response:
    paging = KeysetPage.of(request.query_params, PAGE_SIZE)
    chosen = HighlightFilter(check_color(color) if color else None, storable(q).strip()[:200])
    seen_before = runtime.now() - REVIEW_AFTER
    async with runtime.db.read() as tx:
        count_due = await highlights.count_due(tx, caller.user_id, seen_before)
        if due:
            total, found = count_due, await highlights.due(tx, caller.user_id, seen_before, REVIEW_SIZE)
        else:
            total = await highlights.count(tx, caller.user_id, chosen)
            found = await highlights.newest(
                tx, caller.user_id, before=paging.before, limit=PAGE_SIZE + 1, chosen=chosen
            )
    rows, last = paging.cut(found)
    lines = [_highlight_row(request, runtime, highlight) for highlight in rows]
    address = _address(chosen)
    view = HighlightsPage(
        groups=tuple(_by_entry(lines)),
        pages=paging.pages(address, len(lines), total, last),
        colors=_color_options(chosen),
        due_url="/highlights?due=1",
        due=Count(count_due),
        text=chosen.text,
        color=color,
        reviewing=bool(due),
    )
    return await app_page(request, runtime, caller, "highlights/list.html", view)


def _by_entry(rows: Sequence[HighlightRowView]) -> Iterator[HighlightGroup]:
    for (url, title), group in groupby(rows, key=lambda row: (row.entry_url, row.entry_title)):
        yield HighlightGroup(url, title, tuple(group))


def _color_options(chosen: HighlightFilter) -> tuple[SelectOption, ...]:
    names = {
        "": translate("All colours"),
        "yellow": translate("Yellow"),
        "green": translate("Green"),
        "blue": translate("Blue"),
        "rose": translate("Rose"),
    }
    current = chosen.color or ""
    return tuple(SelectOption(color, name, color == current) for color, name in names.items())


def _address(chosen: HighlightFilter) -> str:
    query = urlencode([(name, value) for name, value in (("color", chosen.color), ("q", chosen.text)) if value])
    return f"/highlights?{query}" if query else "/highlights"


@router.post("/entry/{entry_id}/highlights")
async def make_highlight(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    quote: Text = "",
    before: Text = "",
    after: Text = "",
    color: Text = FIRST_COLOR,
    next: Text = "/",
) -> Response:
    await create_highlight(runtime, caller.user_id, entry_id, Passage(quote, before, after), color=color)
    return await _respond(request, runtime, caller, entry_id, next)


@router.post("/highlights/{highlight_id}")
async def save_highlight(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    highlight_id: IdPath,
    note: Text = "",
    color: Text = "",
    removed: FormFlag = False,
    next: Text = "/highlights",
) -> Response:
    highlight = await get_highlight(runtime, caller.user_id, highlight_id)
    if removed:
        await delete_highlight(runtime, caller.user_id, highlight_id)
    else:
        await change_highlight(runtime, caller.user_id, highlight_id, note=note, color=color or None)
    return await _respond(request, runtime, caller, highlight.entry_id, next)


@router.post("/highlights/{highlight_id}/review")
async def mark_reviewed(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath
) -> Response:
    await review_highlight(runtime, caller.user_id, highlight_id)
    return see_other(request, "/highlights?due=1")


@router.post("/highlights/{highlight_id}/delete")
async def remove_highlight(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, highlight_id: IdPath, next: Text = "/highlights"
) -> Response:
    await delete_highlight(runtime, caller.user_id, highlight_id)
    return see_other(request, next, toast=Toast(translate("The highlight is gone.")))


async def _respond(request: Request, runtime: Runtime, caller: Caller, entry_id: int | None, next_: str) -> Response:
    if not is_htmx(request) or entry_id is None:
        return see_other(request, next_)
    async with runtime.db.read() as tx:
        newest = await highlights.newest(
            tx, caller.user_id, limit=MAX_OF_ENTRY, chosen=HighlightFilter(entry_id=entry_id)
        )
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
        entry_url=f"/entry/{highlight.entry_id}" if highlight.entry_id is not None else highlight.entry_url or "",
        entry_title=highlight.entry_title or translate("Without a title"),
        when=dated_time(highlight.created_at, runtime.now(), zone_of(request)),
        color=highlight.color,
    )
