"""Bookmarks: the page of them, one of them to read, keeping and removing the copy of an entry."""

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from reedbed.domain.bookmarks import BookmarkRow
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.bookmarks import delete_bookmark, get_bookmark, keep_entry
from reedbed.services.entries import get_entry
from reedbed.services.images import pictures_for_page
from reedbed.services.runtime import Runtime
from reedbed.store import bookmarks
from reedbed.web.formats import short_time, zone_of
from reedbed.web.forms import Text, Ticked
from reedbed.web.i18n import translate
from reedbed.web.pages import is_htmx, see_other
from reedbed.web.sidebar import KeysetPage, app_page
from reedbed.web.views.feeds import BookmarkPage, BookmarksPage, BookmarkView
from reedbed.web.views.layout import TimeView, Toast

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 50


@router.get("/bookmarks")
async def show_bookmarks(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    here = KeysetPage.of(request.query_params, PAGE_SIZE)
    async with runtime.db.read() as tx:
        total = await bookmarks.count(tx, caller.user_id)
        found = await bookmarks.newest(tx, caller.user_id, before=here.before, limit=PAGE_SIZE + 1)
    rows, last = here.cut(found)
    lines = tuple(_line(request, runtime, row) for row in rows)
    shown = BookmarksPage(lines, here.pages("/bookmarks", len(lines), total, last))
    return await app_page(request, runtime, caller, "bookmarks/list.html", shown)


@router.get("/bookmarks/{bookmark_id}")
async def show_bookmark(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, bookmark_id: IdPath
) -> Response:
    kept = await get_bookmark(runtime, caller.user_id, bookmark_id)
    shown = BookmarkPage(
        id=kept.row.id,
        title=kept.row.title or translate("Without a title"),
        source=kept.row.feed_title,
        saved=_saved(request, runtime, kept.row),
        body=Markup(pictures_for_page(runtime).in_html(kept.content)),  # noqa: S704  sanitised when it was stored
        original_url=kept.row.url or "",
    )
    return await app_page(request, runtime, caller, "bookmarks/one.html", shown)


@router.post("/bookmarks/{bookmark_id}/delete")
async def remove_bookmark(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    bookmark_id: IdPath,
    next: Text = "/bookmarks",
) -> Response:
    await delete_bookmark(runtime, caller.user_id, bookmark_id)
    back = "/bookmarks" if next.startswith("/bookmarks/") else next
    return see_other(request, back, toast=Toast(translate("The copy is gone.")))


@router.post("/entry/{entry_id}/bookmark")
async def set_bookmark(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    entry_id: IdPath,
    value: Ticked,
    next: Text = "/",
) -> Response:
    if value:
        await keep_entry(runtime, caller.user_id, entry_id)
    else:
        await _forget(runtime, caller.user_id, entry_id)
    if is_htmx(request):
        return Response(status_code=204)
    said = translate("A copy is kept in your bookmarks.") if value else translate("The copy is gone.")
    return see_other(request, next, toast=Toast(said))


async def _forget(runtime: Runtime, user_id: int, entry_id: int) -> None:
    """The copy may have been made of another entry with the same address."""
    entry = await get_entry(runtime, user_id, entry_id)
    async with runtime.db.read() as tx:
        own = await bookmarks.newest(tx, user_id, limit=1, entry_id=entry_id)
        kept = own[0].id if own else await bookmarks.known_as(tx, user_id, entry.row.url or "")
    if kept is not None:
        await delete_bookmark(runtime, user_id, kept)


def _line(request: Request, runtime: Runtime, row: BookmarkRow) -> BookmarkView:
    return BookmarkView(
        id=row.id,
        url=f"/bookmarks/{row.id}",
        title=row.title or translate("Without a title"),
        source=row.feed_title,
        saved=_saved(request, runtime, row),
        original_url=row.url or "",
        gone=row.entry_id is None,
    )


def _saved(request: Request, runtime: Runtime, row: BookmarkRow) -> TimeView:
    return short_time(row.created_at, runtime.now(), zone_of(request))
