"""Stories on the page: the list, and one of them side by side."""

from fastapi import APIRouter, Request, Response

from reedbed.domain.entries import Marked, Selection
from reedbed.domain.paging import Cursor, decode_cursor, encode_cursor
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.ids import IdPath
from reedbed.services.marking import mark
from reedbed.services.stories import get_story, mark_all_stories, mark_story, split_entry
from reedbed.store import stories
from reedbed.web.moments import zone_of
from reedbed.web.pages import look_of, page, see_other
from reedbed.web.shell import app_page
from reedbed.web.sidebar import build_sidebar
from reedbed.web.speech import ngettext, translate
from reedbed.web.story_views import story_page, story_row
from reedbed.web.views.frame import Toast
from reedbed.web.views.stories import StoriesPage

router = APIRouter(include_in_schema=False)

PAGE_SIZE = 30


@router.get("/stories")
async def show_all(
    request: Request, runtime: RuntimeOf, caller: CallerOf, cursor: str = "", unread: str = ""
) -> Response:
    only_unread, now, zone = unread == "1", runtime.now(), zone_of(request)
    view = f"stories:{only_unread}"
    place = decode_cursor(cursor[:200], "newest", view) if cursor else None
    async with runtime.db.read() as tx:
        found = await stories.page(
            tx, caller.user_id, cursor=place, limit=PAGE_SIZE + 1, now=now, only_unread=only_unread
        )
        sidebar = await build_sidebar(tx, caller.user_id, "/stories", look_of(request), now)
    following = Cursor(found[PAGE_SIZE - 1].newest_at, found[PAGE_SIZE - 1].id) if found[PAGE_SIZE:] else None
    listed = StoriesPage(
        rows=tuple(story_row(one, now, zone) for one in found[:PAGE_SIZE]),
        next_url=_address(following, view, only_unread=only_unread) if following else "",
        only_unread=only_unread,
        any_unread=any(one.unread for one in found),
    )
    return await page(request, "story/list.html", listed, sidebar=sidebar)


@router.post("/stories/read")
async def mark_all(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    marked = await mark_all_stories(runtime, caller.user_id)
    return see_other(request, "/stories", toast=_said(marked))


@router.get("/stories/{story_id}")
async def show(request: Request, runtime: RuntimeOf, caller: CallerOf, story_id: IdPath) -> Response:
    story = await get_story(runtime, caller.user_id, story_id)
    if story.id != story_id:
        return see_other(request, f"/stories/{story.id}")
    view = story_page(story, runtime.now(), zone_of(request))
    return await app_page(request, runtime, caller, "story/page.html", view)


@router.post("/stories/{story_id}/read")
async def mark_one(request: Request, runtime: RuntimeOf, caller: CallerOf, story_id: IdPath) -> Response:
    marked = await mark_story(runtime, caller.user_id, story_id)
    return see_other(request, f"/stories/{story_id}", toast=_said(marked))


@router.post("/stories/{story_id}/entries/{entry_id}/read")
async def mark_entry(
    request: Request, runtime: RuntimeOf, caller: CallerOf, story_id: IdPath, entry_id: IdPath
) -> Response:
    marked = await mark(runtime, caller.user_id, Selection(ids=(entry_id,)))
    return see_other(request, f"/stories/{story_id}", toast=_said(marked))


@router.post("/stories/{story_id}/entries/{entry_id}/split")
async def split(
    request: Request, runtime: RuntimeOf, caller: CallerOf, story_id: IdPath, entry_id: IdPath
) -> Response:
    await split_entry(runtime, caller.user_id, story_id, entry_id)
    said = Toast(translate("Set apart. The entry stays in your lists."))
    return see_other(request, f"/stories/{story_id}", toast=said)


@router.post("/stories/{story_id}/entries/{entry_id}/join")
async def join(
    request: Request, runtime: RuntimeOf, caller: CallerOf, story_id: IdPath, entry_id: IdPath
) -> Response:
    await split_entry(runtime, caller.user_id, story_id, entry_id, apart=False)
    return see_other(request, f"/stories/{story_id}", toast=Toast(translate("Back in the story.")))


def _address(cursor: Cursor, view: str, *, only_unread: bool) -> str:
    more = "&unread=1" if only_unread else ""
    return f"/stories?cursor={encode_cursor(cursor.sort_at, cursor.id, 'newest', view)}{more}"


def _said(marked: Marked) -> Toast:
    if not marked.count:
        return Toast(translate("Nothing was unread."))
    return Toast(
        ngettext("%(num)s entry marked read", "%(num)s entries marked read", marked.count), marked.undo
    )
