"""Saved searches: the page of them, keeping and deleting."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.errors import Conflict, Invalid
from reedbed.domain.searches import UnreadMatches
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.errors import status_of
from reedbed.http.ids import IdPath
from reedbed.services.runtime import Runtime
from reedbed.services.searches import delete_search, list_searches, save_search, unread_matches
from reedbed.web.pages import see_other
from reedbed.web.shell import app_page
from reedbed.web.speech import translate
from reedbed.web.views.frame import Count, Toast
from reedbed.web.views.managing import SearchesPage, SearchLine

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Form()]


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
        errors = {error.field or "query": error.message}
        return await _show(request, runtime, caller, query, name, errors, status_of(error))
    toast = Toast(translate("%(name)s is kept.", name=saved.name))
    return see_other(request, f"/saved/{saved.id}", toast=toast)


@router.post("/searches/{search_id}/delete")
async def remove_search(
    request: Request, runtime: RuntimeOf, caller: CallerOf, search_id: IdPath, next: Text = "/searches"
) -> Response:
    await delete_search(runtime, caller.user_id, search_id)
    back = "/searches" if next.startswith("/saved/") else next
    return see_other(request, back, toast=Toast(translate("The search is gone.")))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    query: str = "",
    name: str = "",
    errors: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    saved = await list_searches(runtime, caller.user_id)
    unread = await unread_matches(runtime, caller.user_id, saved)
    lines = tuple(
        SearchLine(one.id, f"/saved/{one.id}", one.name, one.query, _unread(unread.get(one.id)))
        for one in saved
    )
    shown = SearchesPage(lines, name, query, errors or {})
    return await app_page(request, runtime, caller, "manage/searches.html", shown, status=status)


def _unread(matches: UnreadMatches | None) -> str:
    if matches is None or not matches.count:
        return ""
    shown = str(Count(matches.count))
    return f"{shown}+" if matches.more else shown
