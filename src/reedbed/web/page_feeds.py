"""The page that makes a feed from another page: from its list, or from the changes of its text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Form, Query, Request, Response
from markupsafe import Markup

from reedbed.domain.errors import Conflict, Invalid, ReedbedError
from reedbed.domain.failures import Failure, FailureCode
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
from reedbed.domain.records import record
from reedbed.domain.times import DAY
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import path_id, spend_refresh
from reedbed.services.images import Pictures, proxied_images
from reedbed.services.page_feeds import (
    PageChoice,
    choose_by_model,
    follow_page,
    model_may_choose,
    open_page,
    preview_page,
)
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import without_credentials
from reedbed.services.subscriptions.manage import AlreadySubscribed
from reedbed.store import folders
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import Text, folder_options
from reedbed.web.i18n import explain, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import FoundEntryView
from reedbed.web.views.layout import SelectOption, TimeView, Toast

router = APIRouter(include_in_schema=False)


@record
class PageListView:
    """A list on a page that can be followed."""

    total: int
    entries: tuple[FoundEntryView, ...]
    recipe: str
    """As JSON."""
    selector: str


@record
class ListChoiceView:
    """A list found on the page, to choose."""

    name: str
    facts: str
    url: str
    chosen: bool
    dated: bool
    pictured: bool
    language: str


@record
class PartView:
    """A part of an entry that is picked on the page."""

    name: str
    """The name of the form field."""
    label: str
    hint: str
    """The selector in use."""


@record
class ComingEntryView:
    """An entry as it would arrive."""

    title: str
    url: str
    when: TimeView | None
    image: str
    teaser: str
    language: str


@record
class MakerView:
    """Three columns: the lists found, the page to pick in, and the entries that would arrive."""

    lists: tuple[ListChoiceView, ...]
    parts: tuple[PartView, ...]
    entries: tuple[ComingEntryView, ...]
    total: int
    summary: str
    """The number of entries, and the age of the newest."""
    recipe: str
    """As JSON; empty if nothing can be followed."""
    page: Markup = Markup()
    """The page as markup without behaviour."""
    found: str = ""
    """As JSON: the parts and lists of that markup, with their selectors."""
    cut: bool = False
    reason: str = ""
    by_model: bool = False
    """Whether a model may choose among the lists."""


@record
class WatchedTextView:
    """The text of a page as it is now."""

    passages: tuple[str, ...]
    recipe: str
    """As JSON."""
    language: str


@record
class MakeFeedPage:
    modes: tuple[SelectOption, ...]
    url: str = ""
    error: str = ""
    name: str = ""
    lists: tuple[PageListView, ...] = ()
    folders: tuple[SelectOption, ...] = ()
    selectors: PageSelectors = PageSelectors()
    watching: bool = False
    """The text of the page is watched; else its list is followed."""
    watched: WatchedTextView | None = None
    watch_url: str = ""
    pick_url: str = ""
    maker: MakerView | None = None


_IMAGE = re.compile(r"<img [^>]*>")
SHOWN_LISTS = 3
SHOWN_CHOICES = 5
SHOWN_ENTRIES = 6
SHOWN_COMING = 30
SHOWN_TEASER = 160
MIN_RHYTHM = 3

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
    at: Annotated[int, Query(ge=0, le=SHOWN_CHOICES, alias="list")] = 0,
) -> Response:
    if (cleaned := without_credentials(url.strip())) != url.strip():
        return see_other(request, _make_url(cleaned, mode))
    selectors = PageSelectors(*(text.strip() for text in (item, title, link, date, image, teaser)))
    view = MakeFeedPage(_modes(mode), cleaned, selectors=selectors, watching=mode == WATCH)
    picking = request.headers.get("hx-target") == "maker"
    if cleaned and mode == "list" and (picking or not is_htmx(request)):
        view = await _open(request, runtime, caller, view, at)
    elif cleaned:
        view = await _read(request, runtime, caller, view)
    if is_htmx(request):
        return await page(request, "page_feeds/make.html", view, block="maker" if picking else "lists")
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


@router.post("/make-a-feed/choice")
async def choose(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, url: Annotated[str, Form(max_length=2_048)]
) -> Response:
    """Let the model choose among the lists of the page."""
    await spend_refresh(runtime, caller)
    try:
        place = await choose_by_model(runtime, caller.user, url)
    except ReedbedError as error:
        return see_other(request, _make_url(url, "list"), toast=Toast(explain(error)))
    if place is None:
        text = translate("The model gave no answer, so the best list stays chosen.")
        return see_other(request, _make_url(url, "list"), toast=Toast(text))
    text = translate("The model chose this list.")
    return see_other(request, f"{_make_url(url, 'list')}&list={place}", toast=Toast(text))


async def _read(request: Request, runtime: Runtime, caller: Caller, view: MakeFeedPage) -> MakeFeedPage:
    await spend_refresh(runtime, caller)
    try:
        preview = await preview_page(runtime, view.url, _recipe_of(view))
    except ReedbedError as error:
        return replace(view, error=explain(error))
    view = replace(view, name=preview.title, watch_url=_make_url(preview.url, WATCH))
    if preview.reason is not None:
        return replace(view, error=explain(preview.reason))
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    view = replace(view, url=preview.url, folders=folder_options(rows, None))
    if preview.watched is not None:
        return replace(view, watched=_watched_view(view, preview.watched))
    lists = tuple(_list_view(request, runtime, preview.lists, one) for one in preview.lists.lists[:SHOWN_LISTS])
    return replace(view, lists=lists, pick_url=_make_url(view.url, "list"))


async def _open(request: Request, runtime: Runtime, caller: Caller, view: MakeFeedPage, at: int) -> MakeFeedPage:
    await spend_refresh(runtime, caller)
    try:
        opened = await open_page(runtime, caller.user_id, view.url, view.selectors, at=at)
    except ReedbedError as error:
        return replace(view, error=explain(error))
    view = replace(view, name=opened.preview.title, watch_url=_make_url(opened.preview.url, WATCH))
    if not opened.preview.lists.lists and opened.chosen is None:
        return replace(view, error=explain(opened.reason or Failure(FailureCode.LIST_NOT_FOUND)))
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    shown = view.selectors
    if opened.chosen is not None and not shown.item:
        shown = opened.chosen.recipe.selectors
    if not shown.item and opened.blocks is not None:
        shown = replace(shown, item=opened.blocks.item)
    maker = _maker_view(request, runtime, opened, view, at)
    several = len(maker.lists) > 1 and model_may_choose(runtime, caller.user)
    maker = replace(maker, by_model=several)
    return replace(view, url=opened.preview.url, folders=folder_options(rows, None), selectors=shown, maker=maker)


def _maker_view(request: Request, runtime: Runtime, opened: PageChoice, view: MakeFeedPage, at: int) -> MakerView:
    pictures = proxied_images(runtime)
    entries = opened.chosen.entries if opened.chosen is not None else ()
    lists = opened.preview.lists
    choices = tuple(
        _choice_view(lists, found, f"{_make_url(view.url, 'list')}&list={place}", _is_chosen(view, found, place == at))
        for place, found in enumerate(lists.lists)
    )
    coming = tuple(_coming_view(request, runtime, lists, entry, pictures) for entry in entries[:SHOWN_COMING])
    blocks = opened.blocks
    return MakerView(
        choices,
        tuple(_part_views(view.selectors, entries)),
        coming,
        len(entries),
        _summary(request, runtime, entries),
        orjson.dumps(opened.chosen.recipe).decode() if opened.chosen is not None else "",
        _page_markup(blocks.html, pictures) if blocks is not None else Markup(),
        orjson.dumps({"parts": blocks.parts, "lists": blocks.lists, "items": blocks.items}).decode() if blocks else "",
        cut=blocks is not None and blocks.cut,
        reason=explain(opened.reason) if opened.reason is not None else "",
    )


def _is_chosen(view: MakeFeedPage, found: PageList, at_place: bool) -> bool:
    return view.selectors.item == found.recipe.selectors.item if view.selectors.item else at_place


def _choice_view(lists: PageLists, found: PageList, url: str, chosen: bool) -> ListChoiceView:
    count, dated = len(found.entries), sum(entry.published is not None for entry in found.entries)
    facts = ngettext("%(num)s entry", "%(num)s entries", count)
    if dated == count:
        dates = translate("all with dates")
    else:
        dates = translate("%(num)s with dates", num=dated) if dated else translate("no dates")
    pictured = any(entry.image for entry in found.entries)
    name = found.entries[0].title
    return ListChoiceView(name, f"{facts} · {dates}", url, chosen, dated > 0, pictured, lists.language or "")


def _part_views(selectors: PageSelectors, entries: Sequence[PageEntry]) -> Iterator[PartView]:
    parts = (
        ("title", translate("Title"), bool(entries)),
        ("link", translate("Link"), bool(entries)),
        ("date", translate("Date"), any(entry.published is not None for entry in entries)),
        ("image", translate("Picture"), any(entry.image for entry in entries)),
        ("teaser", translate("Teaser"), any(entry.teaser for entry in entries)),
    )
    for name, label, known in parts:
        picked = str(getattr(selectors, name))
        yield PartView(name, label, picked or (translate("found automatically") if known else translate("not found")))


def _page_markup(html: str, pictures: Pictures | None) -> Markup:
    shown = pictures.in_html(html) if pictures is not None else _IMAGE.sub("", html)
    return Markup(shown)  # noqa: S704  written anew, with nothing of the page but escaped texts


def _coming_view(
    request: Request, runtime: Runtime, lists: PageLists, entry: PageEntry, pictures: Pictures | None
) -> ComingEntryView:
    when = dated_time(entry.published, runtime.now(), zone_of(request)) if entry.published is not None else None
    image = (pictures.one(entry.image) or "") if pictures is not None else ""
    return ComingEntryView(entry.title, entry.url, when, image, entry.teaser[:SHOWN_TEASER], lists.language or "")


def _summary(request: Request, runtime: Runtime, entries: Sequence[PageEntry]) -> str:
    """How many entries there are, how new, and how often they come."""
    parts = [ngettext("%(num)s entry", "%(num)s entries", len(entries))]
    times = sorted((entry.published for entry in entries if entry.published is not None), reverse=True)
    if times:
        newest = dated_time(times[0], runtime.now(), zone_of(request)).words
        parts.append(translate("newest %(date)s", date=newest))
    if len(times) > MIN_RHYTHM:
        days = (times[0] - times[-1]) / DAY / (len(times) - 1)
        parts.append(_rhythm(days))
    return " · ".join(parts)


def _rhythm(days: float) -> str:
    """How often entries come, from the days between two."""
    if days < 0.7:
        return translate("several a day")
    if days < 1.5:
        return translate("about one a day")
    if days < 5:
        return translate("one every few days")
    if days < 15:
        return translate("about one a week")
    return translate("about one a month") if days < 60 else translate("seldom")


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
