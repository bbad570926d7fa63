"""The page that makes a feed from another page: from its list, or from the changes of its text."""

from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Form, Query, Request, Response

from reedbed.domain.errors import Conflict, Invalid, ReedbedError
from reedbed.domain.page_feeds import (
    WATCH,
    PageEntry,
    PageList,
    PageLists,
    PageRecipe,
    PageSelectors,
    WatchedPage,
    recipe_from_fields,
)
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import spend_refresh
from reedbed.http.errors import status_of
from reedbed.http.params import path_id
from reedbed.services.page_feeds import follow_page, preview_page
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import without_credentials
from reedbed.services.subscriptions.manage import AlreadySubscribed
from reedbed.store import folders
from reedbed.web.feeds.form import folder_options
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import Text
from reedbed.web.i18n import explain, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import FoundEntryView
from reedbed.web.views.layout import SelectOption, Toast
from reedbed.web.views.page_feeds import MakeFeedPage, PageListView, WatchedTextView

router = APIRouter(include_in_schema=False)

SHOWN_LISTS = 3
SHOWN_ENTRIES = 6

PageUrl = Annotated[str, Query(max_length=2_048)]
Selector = Annotated[str, Query(max_length=500)]


@router.get("/make-a-feed")
async def show(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    url: PageUrl = "",
    mode: Literal["list", "watch"] = "list",
    item: Selector = "",
    title: Selector = "",
    link: Selector = "",
    date: Selector = "",
    image: Selector = "",
    teaser: Selector = "",
) -> Response:
    if (cleaned := without_credentials(url.strip())) != url.strip():
        return see_other(request, _make_url(cleaned, mode))
    selectors = PageSelectors(*(text.strip() for text in (item, title, link, date, image, teaser)))
    view = MakeFeedPage(_modes(mode), cleaned, selectors=selectors, watching=mode == WATCH)
    if cleaned:
        view = await _read(request, runtime, caller, view)
    if is_htmx(request):
        return await page(request, "page_feeds/make.html", view, block="lists")
    return await app_page(request, runtime, caller, "page_feeds/make.html", view)


@router.post("/make-a-feed")
async def follow(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    url: Annotated[str, Form(max_length=2_048)],
    recipe: Annotated[str, Form(max_length=32_000)],
    folder_id: Text = "",
) -> Response:
    await spend_refresh(runtime, caller)
    try:
        folder = path_id(folder_id) if folder_id else None
        subscription = await follow_page(runtime, caller.user_id, url, _recipe(recipe), folder_id=folder)
    except AlreadySubscribed as error:
        return see_other(request, f"/feed/{error.subscription_id}", toast=Toast(explain(error)))
    except (Invalid, Conflict) as error:
        view = MakeFeedPage(_modes("list"), url, explain(error))
        return await app_page(request, runtime, caller, "page_feeds/make.html", view, status=status_of(error))
    message = translate("You follow %(name)s now.", name=subscription.title)
    return see_other(request, f"/feed/{subscription.id}", toast=Toast(message))


async def _read(request: Request, runtime: Runtime, caller: Caller, view: MakeFeedPage) -> MakeFeedPage:
    await spend_refresh(runtime, caller)
    try:
        preview = await preview_page(runtime, view.url, _recipe_of(view))
    except ReedbedError as error:
        return replace(view, error=explain(error))
    view = replace(view, name=preview.title)
    if preview.reason is not None:
        return replace(view, error=explain(preview.reason))
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    view = replace(view, url=preview.url, folders=folder_options(rows, None))
    if preview.watched is not None:
        return replace(view, watched=_watched_view(view, preview.watched))
    lists = tuple(_list_view(request, runtime, preview.lists, one) for one in preview.lists.lists[:SHOWN_LISTS])
    shown = view.selectors if view.selectors.item else preview.lists.lists[0].recipe.selectors
    return replace(view, lists=lists, selectors=shown, watch_url=_make_url(view.url, WATCH))


def _recipe_of(view: MakeFeedPage) -> PageRecipe | None:
    """What was asked for; None to find the lists of the page."""
    if view.watching:
        return PageRecipe(WATCH, PageSelectors(view.selectors.item))
    return PageRecipe("markup", view.selectors) if view.selectors.item else None


def _modes(chosen: str) -> tuple[SelectOption, ...]:
    return (
        SelectOption("list", translate("Follow the list"), chosen == "list"),
        SelectOption(WATCH, translate("Watch this page for changes"), chosen == WATCH),
    )


def _make_url(url: str, mode: str) -> str:
    return f"/make-a-feed?url={quote(url, safe='')}" + ("&mode=watch" if mode == WATCH else "")


def _watched_view(view: MakeFeedPage, found: WatchedPage) -> WatchedTextView:
    recipe = PageRecipe(WATCH, PageSelectors(view.selectors.item))
    return WatchedTextView(found.passages, orjson.dumps(recipe).decode(), found.language or "")


def _list_view(request: Request, runtime: Runtime, lists: PageLists, found: PageList) -> PageListView:
    entries = tuple(_entry_view(request, runtime, lists, entry) for entry in found.entries[:SHOWN_ENTRIES])
    return PageListView(len(found.entries), entries, orjson.dumps(found.recipe).decode(), found.recipe.selectors.item)


def _entry_view(request: Request, runtime: Runtime, lists: PageLists, entry: PageEntry) -> FoundEntryView:
    when = dated_time(entry.published, runtime.now(), zone_of(request)) if entry.published is not None else None
    return FoundEntryView(entry.title, when, lists.language or "")


def _recipe(text: str) -> PageRecipe:
    try:
        return recipe_from_fields(orjson.loads(text))
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid("The recipe for this page is damaged.") from error
