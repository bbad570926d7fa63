"""Bookmarks (saved copies of entries): list and show them, bookmark an entry, delete a copy."""

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from reedbed.domain.bookmarks import BookmarkRow
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.bookmarks import bookmark_entry, delete_bookmark, get_bookmark
from reedbed.services.entries import get_entry
from reedbed.services.images import image_urls_for_page
from reedbed.services.runtime import Runtime
from reedbed.store import bookmarks
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import FormFlag, Text
from reedbed.web.i18n import translate
from reedbed.web.pages import is_htmx, see_other
from reedbed.web.sidebar import KeysetPage, app_page
from reedbed.web.views.feeds import BookmarkPage, BookmarksPage, BookmarkView
from reedbed.web.views.layout import TimeView, Toast

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 50


@router.get("/bookmarks")
async def show_bookmarks(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    paging = KeysetPage.of(request.query_params, PAGE_SIZE)
    async with runtime.db.read() as tx:
        total = await bookmarks.count(tx, caller.user_id)
        newest = await bookmarks.newest(tx, caller.user_id, before=paging.before, limit=PAGE_SIZE + 1)
    rows, last = paging.cut(newest)
    lines = tuple(_bookmark_view(request, runtime, row) for row in rows)
    view = BookmarksPage(lines, paging.pages("/bookmarks", len(lines), total, last))
    return await app_page(request, runtime, caller, "bookmarks/list.html", view)


@router.get("/bookmarks/{bookmark_id}")
async def show_bookmark(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, bookmark_id: IdPath
) -> Response:
    bookmark = await get_bookmark(runtime, caller.user_id, bookmark_id)
    view = BookmarkPage(
        id=bookmark.row.id,
        title=bookmark.row.title or translate("Without a title"),
        source=bookmark.row.feed_title,
        saved=_saved_time(request, runtime, bookmark.row),
        body=Markup(image_urls_for_page(runtime).in_html(bookmark.content)),  # noqa: S704  sanitised when it was stored
        original_url=bookmark.row.url or "",
    )
    return await app_page(request, runtime, caller, "bookmarks/one.html", view)


@router.post("/bookmarks/{bookmark_id}/delete")
async def remove_bookmark(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, bookmark_id: IdPath, next: Text = "/bookmarks"
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
    value: FormFlag,
    next: Text = "/",
) -> Response:
    if value:
        await bookmark_entry(runtime, caller.user_id, entry_id)
    else:
        await _delete_copy(runtime, caller.user_id, entry_id)
    if is_htmx(request):
        return Response(status_code=204)
    message = translate("A copy is kept in your bookmarks.") if value else translate("The copy is gone.")
    return see_other(request, next, toast=Toast(message))


async def _delete_copy(runtime: Runtime, user_id: int, entry_id: int) -> None:
    """The copy may be of another entry with the same URL."""
    entry = await get_entry(runtime, user_id, entry_id)
    async with runtime.db.read() as tx:
        copies = await bookmarks.newest(tx, user_id, limit=1, entry_id=entry_id)
        bookmark_id = copies[0].id if copies else await bookmarks.known_as(tx, user_id, entry.row.url or "")
    if bookmark_id is not None:
        await delete_bookmark(runtime, user_id, bookmark_id)


def _bookmark_view(request: Request, runtime: Runtime, row: BookmarkRow) -> BookmarkView:
    return BookmarkView(
        id=row.id,
        url=f"/bookmarks/{row.id}",
        title=row.title or translate("Without a title"),
        source=row.feed_title,
        saved=_saved_time(request, runtime, row),
        original_url=row.url or "",
        gone=row.entry_id is None,
    )


def _saved_time(request: Request, runtime: Runtime, row: BookmarkRow) -> TimeView:
    return dated_time(row.created_at, runtime.now(), zone_of(request))
