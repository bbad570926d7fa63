"""The page of saved searches and tags: kept, renamed, put in order, deleted."""

from collections.abc import Awaitable, Mapping
from dataclasses import field
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.records import record
from reedbed.domain.searches import UnreadMatches
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.errors import status_of
from reedbed.http.ids import IdPath
from reedbed.services.runtime import Runtime
from reedbed.services.searches import (
    change_search,
    delete_search,
    list_searches,
    reorder_searches,
    save_search,
    unread_matches,
)
from reedbed.services.tags import delete_tag, list_tags, rename_tag
from reedbed.web.form_values import Text
from reedbed.web.pages import see_other
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.steps import stepped
from reedbed.web.views.frame import Count, Toast
from reedbed.web.views.managing import SearchesPage, SearchLine, TagLine

router = APIRouter(include_in_schema=False)


@record
class _Typed:
    """What somebody typed, and what is wrong with it; `names` and `wrong` go by the line: `tag:3`."""

    query: str = ""
    name: str = ""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    wrong: Mapping[str, str] = field(default_factory=dict[str, str])


@router.get("/searches")
async def show_searches(request: Request, runtime: RuntimeOf, caller: CallerOf) -> Response:
    return await _show(request, runtime, caller)


@router.post("/searches")
async def keep_search(
    request: Request, runtime: RuntimeOf, caller: CallerOf, query: Text = "", name: Text = ""
) -> Response:
    try:
        saved = await save_search(runtime, caller.user_id, name or query[:100], query)
    except (Invalid, Conflict) as error:
        at = "name" if error.field == "name" else "query"  # a filter in it may have a field of its own
        typed = _Typed(query, name, {at: error.message})
        return await _show(request, runtime, caller, typed, status_of(error))
    toast = Toast(translate("%(name)s is kept.", name=saved.name))
    return see_other(request, f"/saved/{saved.id}", toast=toast)


@router.post("/searches/{search_id}")
async def rename_saved(
    request: Request, runtime: RuntimeOf, caller: CallerOf, search_id: IdPath, name: Text = ""
) -> Response:
    work = change_search(runtime, caller.user_id, search_id, name=name)
    return await _renamed(request, runtime, caller, work, f"search:{search_id}", name)


@router.post("/searches/{search_id}/move")
async def move_search(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    search_id: IdPath,
    to: Text = "",
    next: Text = "/searches",
) -> Response:
    ids = [saved.id for saved in await list_searches(runtime, caller.user_id)]
    await reorder_searches(runtime, caller.user_id, stepped(ids, search_id, to))
    return see_other(request, next)


@router.post("/searches/{search_id}/delete")
async def remove_search(
    request: Request, runtime: RuntimeOf, caller: CallerOf, search_id: IdPath, next: Text = "/searches"
) -> Response:
    await delete_search(runtime, caller.user_id, search_id)
    back = "/searches" if next.startswith("/saved/") else next
    return see_other(request, back, toast=Toast(translate("The search is gone.")))


@router.post("/searches/tags/{tag_id}")
async def rename_one(
    request: Request, runtime: RuntimeOf, caller: CallerOf, tag_id: IdPath, name: Text = ""
) -> Response:
    work = rename_tag(runtime, caller.user_id, tag_id, name)
    return await _renamed(request, runtime, caller, work, f"tag:{tag_id}", name)


@router.post("/searches/tags/{tag_id}/delete")
async def remove_tag(
    request: Request, runtime: RuntimeOf, caller: CallerOf, tag_id: IdPath, next: Text = "/searches"
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
        return await _show(request, runtime, caller, typed, status_of(error))
    return see_other(request, "/searches")


async def _show(
    request: Request, runtime: Runtime, caller: Caller, typed: _Typed | None = None, status: int = 200
) -> Response:
    typed = typed or _Typed()
    saved = await list_searches(runtime, caller.user_id)
    unread = await unread_matches(runtime, caller.user_id, saved)
    searches = tuple(
        SearchLine(
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
        TagLine(
            id=one.id,
            url=f"/tag/{quote(one.name, safe='')}",
            name=typed.names.get(f"tag:{one.id}", one.name),
            entries=Count(one.entries),
            error=typed.wrong.get(f"tag:{one.id}", ""),
        )
        for one in await list_tags(runtime, caller.user_id)
    )
    shown = SearchesPage(searches, tags, typed.name, typed.query, typed.errors)
    return await app_page(request, runtime, caller, "manage/searches.html", shown, status=status)


def _unread(matches: UnreadMatches | None) -> str:
    if matches is None or not matches.count:
        return ""
    shown = str(Count(matches.count))
    return f"{shown}+" if matches.more else shown
