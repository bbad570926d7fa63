"""Changes of what one follows. htmx gets 204 and a trigger, or the errors for a place of their own;
a plain form goes back to where it came from, with what was typed."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl, urlsplit

import structlog
from fastapi import APIRouter, Depends, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.errors import Conflict, Invalid, NotFound, ReedbedError
from reedbed.domain.records import record
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.text import shown_line
from reedbed.domain.unset import UNSET, Unset
from reedbed.domain.urls import MAX_NAME, feed_name
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import RefreshLimit
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, path_id
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.discover import several_addresses, typed_login, without_credentials
from reedbed.services.subscriptions.manage import (
    NO_SUCH,
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    refresh_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.store import subscriptions
from reedbed.web.feeds.add import show_refused, show_several
from reedbed.web.feeds.views import (
    RequestedFeeds,
    chosen_number,
    chosen_words,
    read_edit,
    read_list,
    read_page,
    read_statuses,
    read_wanted,
)
from reedbed.web.formats import coming_time, zone_of
from reedbed.web.forms import Text, Ticked, flag_in, text_in
from reedbed.web.i18n import marked, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import FeedForm, FeedsPage
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)

LIST_PLACE = {"HX-Retarget": "#feed-list-container", "HX-Reswap": "innerHTML"}


def _wanted(request: Request) -> RequestedFeeds | None:
    """None: the filters make no sense."""
    try:
        return read_wanted(request)
    except Invalid:
        return None


Filters = Annotated[RequestedFeeds | None, Depends(_wanted)]


@router.get("/dashboard")
async def show_dashboard(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, wanted: Filters
) -> Response:
    """The page with empty places; its own requests fill them."""
    shown = await read_page(request, runtime, caller.user_id, wanted or RequestedFeeds(), with_list=False)
    error = "" if wanted else marked("Invalid filter parameters")
    shown = replace(shown, digest=True, error=error)
    return await app_page(request, runtime, caller, "feeds/page.html", shown, status=200 if wanted else 400)


@router.get("/feeds")
async def show_feeds(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, wanted: Filters
) -> Response:
    if wanted is None:
        return await _refuse_filters(request, runtime, caller)
    if not is_htmx(request):
        shown = await read_page(request, runtime, caller.user_id, wanted)
        return await app_page(request, runtime, caller, "feeds/page.html", shown)
    async with runtime.db.read() as tx:
        listed = await read_list(request, runtime, tx, caller.user_id, wanted)
        statuses = await read_statuses(tx, caller.user_id, wanted)
    shown = FeedsPage(wanted.search, statuses, listed)
    return await page(request, "feeds/list.html", shown, refreshed=True)


@router.get("/feeds/{subscription_id}/edit")
async def show_edit(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Response:
    shown = await read_edit(request, runtime, caller.user_id, subscription_id)
    if shown is None and is_htmx(request):
        return await page(
            request, "feeds/errors.html", None, status=404, errors=FeedForm(general_error=NO_SUCH)
        )
    if shown is None:
        raise NotFound(NO_SUCH)
    if is_htmx(request):
        return await page(request, "feeds/edit.html", shown, block="form", inline=True)
    return await app_page(request, runtime, caller, "feeds/edit.html", shown)


async def _refuse_filters(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    message = "Invalid query parameters"
    if is_htmx(request):
        refused = FeedForm(general_error=message)
        return await page(
            request, "feeds/errors.html", None, status=400, headers=LIST_PLACE, errors=refused
        )
    shown = await read_page(request, runtime, caller.user_id, RequestedFeeds())
    return await app_page(
        request, runtime, caller, "feeds/page.html", replace(shown, error=message), status=400
    )


log = structlog.get_logger()
changes_router = APIRouter(include_in_schema=False)

REFRESH_LIST = {"HX-Trigger": "refreshFeedList"}


@record
class FormError:
    status: int
    errors: FeedForm


@changes_router.post("/feeds")
async def add_feed(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    form = await request.form()
    name, url, next_ = text_in(form, "name"), text_in(form, "url") or "", text_in(form, "next") or "/feeds"
    made = _misspelt(name, url) or await _attempt(
        subscribe(runtime, caller.user_id, _wish(form, name, url)),
        "Failed to add feed. Please try again.",
    )
    if isinstance(made, Subscription):
        if is_htmx(request):
            return Response(status_code=204, headers=REFRESH_LIST)
        # Its own name is known here only after its first check; the page has just shown it.
        called = shown_line(text_in(form, "shown_as") or "")[:MAX_NAME] or made.title
        toast = Toast(translate("You follow %(name)s now.", name=called))
        if several_addresses(asked := text_in(form, "asked") or ""):
            return await show_several(request, runtime, caller, asked, toast)
        return see_other(request, _after_adding(next_, made), toast=toast)
    if is_htmx(request):
        return await _errors(request, made, "#feed-add-form-errors")
    if next_.startswith("/add"):
        return await show_refused(request, runtime, caller, url, _first(made.errors), made.status)
    shown = await read_page(request, runtime, caller.user_id, RequestedFeeds())
    shown = replace(shown, add_name=name or "", add_url=without_credentials(url), add_errors=made.errors)
    return await app_page(request, runtime, caller, "feeds/page.html", shown, status=made.status)


@changes_router.patch("/feeds/{subscription_id}")
@changes_router.post("/feeds/{subscription_id}")
async def change_feed(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Response:
    form = await request.form()
    name, url = text_in(form, "name"), text_in(form, "url")
    changed = _misspelt(name, url) or await _attempt(
        _change(runtime, caller.user_id, subscription_id, form), "Failed to update feed"
    )
    if isinstance(changed, Subscription):
        if is_htmx(request):
            return Response(status_code=204, headers=REFRESH_LIST)
        return see_other(request, _after_editing(form), toast=Toast(translate("Saved.")))
    if is_htmx(request):
        return await _errors(request, changed, f"#feed-edit-form-errors-{subscription_id}")
    return await _edit_again(request, runtime, caller, subscription_id, form, changed)


@changes_router.delete("/feeds/{subscription_id}")
@changes_router.post("/feeds/{subscription_id}/delete")
async def leave_feed(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Response:
    left = await _attempt(unsubscribe(runtime, caller.user_id, subscription_id), "Failed to delete feed")
    if isinstance(left, FormError):
        if is_htmx(request):
            return await _errors(request, left, f"#feed-item-{subscription_id}-errors")
        raise NotFound(NO_SUCH) if left.status == 404 else ReedbedError(_first(left.errors))
    if is_htmx(request):
        return Response(status_code=204, headers=REFRESH_LIST)
    toast = Toast(translate("Unsubscribed. Follow it again and what you read is still marked."))
    return see_other(request, _after_editing(await request.form()), toast=toast)


@changes_router.post("/feeds/{subscription_id}/pause")
async def pause_feed(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    subscription_id: IdPath,
    value: Ticked,
    next: Text = "/feeds",
) -> Response:
    changed = await change_subscription(
        runtime, caller.user_id, subscription_id, SubscriptionChange(paused=value)
    )
    if is_htmx(request):
        return Response(status_code=204, headers=REFRESH_LIST)
    said = (
        translate("%(name)s is paused.", name=changed.title)
        if value
        else translate("%(name)s is looked at again.", name=changed.title)
    )
    return see_other(request, next, toast=Toast(said))


@changes_router.post("/feeds/{subscription_id}/refresh")
async def refresh_feed(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    subscription_id: IdPath,
    _: RefreshLimit,
    next: Text = "/feeds",
) -> Response:
    refused = await refresh_subscription(runtime, caller.user_id, subscription_id)
    if is_htmx(request):
        return Response(status_code=204, headers=REFRESH_LIST)
    words = translate(refused.reason) if refused else translate("Looking at it now.")
    if refused and refused.retry_at:
        when = coming_time(refused.retry_at, runtime.now(), zone_of(request))
        words = f"{words} {translate('Next try at %(when)s.', when=when)}"
    return see_other(request, next, toast=Toast(words))


def _wish(form: FormData, name: str | None, url: str) -> SubscribeOptions:
    return SubscribeOptions(
        url,
        _folder(form),
        name,
        username=text_in(form, "username"),
        password=text_in(form, "password"),
    )


T = TypeVar("T")


async def _attempt(work: Awaitable[T], otherwise: str) -> T | FormError:
    """What the form's contract answers for each way it can go wrong; `otherwise` for the unforeseen."""
    try:
        return await work
    except (Invalid, Conflict) as error:
        return FormError(status_of(error), _by_field(error.field, error.message))
    except NotFound as error:
        return FormError(404, FeedForm(general_error=error.message))
    except ReedbedError:
        raise
    except Exception:
        log.exception("a change of a subscription failed")
        return FormError(500, FeedForm(general_error=otherwise))


async def _change(runtime: Runtime, user_id: int, subscription_id: int, form: FormData) -> Subscription:
    async with runtime.db.read() as tx:
        current = await subscriptions.get(tx, user_id, subscription_id)
    if current is None:
        raise NotFound(NO_SUCH)
    name, url, interval = text_in(form, "name"), text_in(form, "url"), text_in(form, "interval")
    change = SubscriptionChange(
        title=UNSET if name is None or name.strip() == current.title else name,
        folder_id=_folder(form) if "folder_id" in form else UNSET,
        url=UNSET if url is None else url,
        username=_changed_username(form, current.feed.username),
        password=text_in(form, "password") or UNSET,
        paused=flag_in(form, "paused"),
        interval=UNSET if interval is None else _milliseconds(interval),
        full_text=_full_text(form, current.full_text),
        notify=flag_in(form, "notify"),
        keep_entries=_number(form, "keep_entries"),
        keep_days=_number(form, "keep_days"),
        keep_unread_days=_number(form, "keep_unread_days"),
        summary_words=_words(form),
        local_only=flag_in(form, "local_only"),
    )
    return await change_subscription(runtime, user_id, subscription_id, change)


async def _edit_again(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    subscription_id: int,
    form: FormData,
    trouble: FormError,
) -> Response:
    shown = await read_edit(request, runtime, caller.user_id, subscription_id)
    if shown is None:
        raise NotFound(NO_SUCH)
    typed = replace(
        shown,
        name=text_in(form, "name") or "",
        url=text_in(form, "url") or "",
        username=text_in(form, "username") or "",
        errors=trouble.errors,
        folders=tuple(replace(one, chosen=one.value == text_in(form, "folder_id")) for one in shown.folders),
        intervals=tuple(
            replace(one, chosen=one.value == text_in(form, "interval")) for one in shown.intervals
        ),
        paused=flag_in(form, "paused") is True,
        full_text=flag_in(form, "full_text") is True,
        notify=flag_in(form, "notify") is True,
        summaries=tuple(
            replace(one, chosen=one.value == text_in(form, "summary_words")) for one in shown.summaries
        ),
        local_only=flag_in(form, "local_only") is True,
    )
    return await app_page(request, runtime, caller, "feeds/edit.html", typed, status=trouble.status)


async def _errors(request: Request, trouble: FormError, place: str) -> Response:
    return await page(
        request,
        "feeds/errors.html",
        None,
        status=trouble.status,
        headers={"HX-Retarget": place, "HX-Reswap": "innerHTML"},
        errors=trouble.errors,
    )


def _misspelt(name: str | None, url: str | None) -> FormError | None:
    """Both fields are looked at before anything is done, so that both errors are told at once."""
    found = FeedForm(name_error=_error_of(feed_name, name), url_error=_error_of(typed_login, url))
    return None if found == FeedForm() else FormError(400, found)


def _error_of(check: Callable[[str], object], text: str | None) -> str:
    if text is None:
        return ""
    try:
        check(text)
    except Invalid as error:
        return error.message
    return ""


def _by_field(field: str | None, message: str) -> FeedForm:
    match field:
        case "title":
            return FeedForm(name_error=message)
        case "url":
            return FeedForm(url_error=message)
        case "username":
            return FeedForm(username_error=message)
        case "password":
            return FeedForm(password_error=message)
        case _:
            return FeedForm(general_error=message)


def _first(errors: FeedForm) -> str:
    return (
        errors.name_error
        or errors.url_error
        or errors.username_error
        or errors.password_error
        or errors.general_error
    )


def _after_adding(next_: str, made: Subscription) -> str:
    """From looking at one feed to the feed itself; from a list of several, back to the list."""
    if not next_.startswith("/add"):
        return next_
    asked = dict(parse_qsl(urlsplit(next_).query))
    listed = "start" in asked or several_addresses(asked.get("url", ""))
    return next_ if listed else f"/feed/{made.id}"


def _after_editing(form: FormData) -> str:
    """The page of the form is no place to come back to: the subscription may have another id now."""
    next_ = text_in(form, "next") or "/feeds"
    return "/feeds" if next_.startswith("/feeds/") else next_


def _full_text(form: FormData, current: str) -> str | Unset:
    """The box knows two of the three modes; unticked, `never` stays `never`."""
    match flag_in(form, "full_text"):
        case True:
            return "always"
        case False if current == "always":
            return "auto"
        case _:
            return UNSET


def _changed_username(form: FormData, current: str | None) -> str | Unset | None:
    """The form shows the name it had, which is no change; an empty one takes the password away, too."""
    name = text_in(form, "username")
    return UNSET if name is None or name.strip() == (current or "") else name.strip() or None


def _number(form: FormData, name: str) -> int | Unset | None:
    text = text_in(form, name)
    return UNSET if text is None else chosen_number(text, name)


def _words(form: FormData) -> int | Unset | None:
    text = text_in(form, "summary_words")
    return UNSET if text is None else chosen_words(text)


def _folder(form: FormData) -> int | None:
    text = text_in(form, "folder_id")
    return path_id(text) if text else None


def _milliseconds(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise Invalid("The interval must be between 15 minutes and 24 hours", field="interval")
    return int(text)
