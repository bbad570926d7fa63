"""Feed pages: list, add, edit, pause, refresh and unsubscribe.

htmx requests get 204 with a trigger, or the errors for their own target element. Plain forms redirect back;
on an error they show the form again with the submitted values.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl, urlsplit

import structlog
from fastapi import APIRouter, Depends, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.errors import Conflict, Invalid, NotFound, ReedbedError
from reedbed.domain.failures import untranslated
from reedbed.domain.records import UNSET, Unset, record
from reedbed.domain.subscriptions import STATUS_FILTERS, Subscription, SubscriptionFilter
from reedbed.domain.text import clean_line
from reedbed.domain.urls import MAX_NAME, feed_name
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.errors import status_of
from reedbed.http.params import IdPath, RefreshLimit, path_id
from reedbed.services.folders import file_in_new_folder
from reedbed.services.runtime import Runtime
from reedbed.services.subscriptions.bulk import change_many, list_ids, refresh_subscription
from reedbed.services.subscriptions.discover import parse_feed_login, parse_url_list, without_credentials
from reedbed.services.subscriptions.manage import (
    NO_SUCH,
    SubscribeOptions,
    SubscriptionChange,
    change_subscription,
    subscribe,
    unsubscribe,
)
from reedbed.store import subscriptions
from reedbed.web.feeds.add import show_add_error, show_several
from reedbed.web.feeds.form import parse_summary_words, read_edit
from reedbed.web.feeds.views import (
    FeedListFilters,
    failure_card,
    parse_bulk,
    read_feed_filters,
    read_list,
    read_page,
    read_statuses,
)
from reedbed.web.formats import format_future_time, zone_of
from reedbed.web.forms import FormFlag, Text, form_flag, form_text, parse_optional_number
from reedbed.web.i18n import explain, marked, ngettext, translate
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page, parse_mute
from reedbed.web.views.feeds import FeedForm, FeedsPage
from reedbed.web.views.layout import Toast

router = APIRouter(include_in_schema=False)

LIST_TARGET = {"HX-Retarget": "#feed-list-container", "HX-Reswap": "innerHTML"}


def _read_filters(request: Request) -> FeedListFilters | None:
    """None if the filters are invalid."""
    try:
        return read_feed_filters(request)
    except Invalid:
        return None


Filters = Annotated[FeedListFilters | None, Depends(_read_filters)]


@router.get("/dashboard")
async def show_dashboard(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, filters: Filters
) -> Response:
    """The page without its list and digest; it loads them with requests of its own."""
    view = await read_page(request, runtime, caller.user_id, filters or FeedListFilters(), with_list=False)
    error = "" if filters else marked("Invalid filter parameters")
    view = replace(view, digest=True, error=error)
    return await app_page(request, runtime, caller, "feeds/page.html", view, status=200 if filters else 400)


@router.get("/feeds")
async def show_feeds(request: Request, runtime: CurrentRuntime, caller: CurrentCaller, filters: Filters) -> Response:
    if filters is None:
        return await _reject_filters(request, runtime, caller)
    if not is_htmx(request):
        view = await read_page(request, runtime, caller.user_id, filters)
        return await app_page(request, runtime, caller, "feeds/page.html", view)
    async with runtime.db.read() as tx:
        feed_list = await read_list(request, runtime, tx, caller.user_id, filters)
        statuses = await read_statuses(tx, caller.user_id, filters)
    view = FeedsPage(filters.search, statuses, feed_list)
    return await page(request, "feeds/list.html", view, refreshed=True)


@router.post("/feeds/change")
async def change_chosen(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """Change the chosen feeds, or all that the filter shows."""
    form = await request.form()
    search, status = form_text(form, "search") or "", form_text(form, "status") or "all"
    place = FeedListFilters(search, status if status in STATUS_FILTERS else "all").address()
    bulk = parse_bulk(form_text(form, "change") or "")
    ids = [path_id(str(value)) for value in form.getlist("ids")]
    if form_flag(form, "every") is True:
        ids = await list_ids(runtime, caller.user_id, SubscriptionFilter(search, status))
    changed = await change_many(runtime, caller.user_id, ids, bulk)
    message = ngettext("%(num)s feed was changed.", "%(num)s feeds were changed.", changed)
    return see_other(request, place, toast=Toast(message))


@router.get("/feeds/{subscription_id}/edit")
async def show_edit(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Response:
    view = await read_edit(request, runtime, caller.user_id, subscription_id)
    if view is None and is_htmx(request):
        return await page(
            request, "feeds/errors.html", None, status=404, errors=FeedForm(general_error=translate(NO_SUCH))
        )
    if view is None:
        raise NotFound(NO_SUCH)
    if is_htmx(request):
        return await page(request, "feeds/edit.html", view, block="form", inline=True)
    return await app_page(request, runtime, caller, "feeds/edit.html", view)


@router.get("/feeds/{subscription_id}/trouble")
async def show_failure(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Response:
    """The card of a failing feed; without a script, its list, which shows the same."""
    if not is_htmx(request):
        return see_other(request, f"/feed/{subscription_id}")
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, caller.user_id, subscription_id)
        if subscription is None:
            raise NotFound(NO_SUCH)
    view = failure_card(subscription, runtime.now(), zone_of(request))
    return await page(request, "feeds/failure.html", view)


async def _reject_filters(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    message = translate("Invalid query parameters")
    if is_htmx(request):
        errors = FeedForm(general_error=message)
        return await page(request, "feeds/errors.html", None, status=400, headers=LIST_TARGET, errors=errors)
    view = await read_page(request, runtime, caller.user_id, FeedListFilters())
    return await app_page(request, runtime, caller, "feeds/page.html", replace(view, error=message), status=400)


# --- Changes

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
    name, url, next_ = (form_text(form, "name"), form_text(form, "url") or "", form_text(form, "next") or "/feeds")
    result = _field_errors(name, url) or await _attempt(
        subscribe(runtime, caller.user_id, _subscribe_options(form, name, url)),
        marked("Failed to add feed. Please try again."),
    )
    if isinstance(result, Subscription):
        if new_folder := clean_line(form_text(form, "new_folder") or ""):
            await file_in_new_folder(runtime, caller.user_id, result.id, new_folder)
        if is_htmx(request):
            return Response(status_code=204, headers=REFRESH_LIST)
        # The feed's own title is unknown until its first check, but the preview page has just shown it.
        title = clean_line(form_text(form, "shown_as") or "")[:MAX_NAME] or result.title
        toast = Toast(translate("You follow %(name)s now.", name=title))
        if parse_url_list(typed := form_text(form, "asked") or ""):
            return await show_several(request, runtime, caller, typed, toast)
        return see_other(request, _after_adding(next_, result), toast=toast)
    if is_htmx(request):
        return await _error_response(request, result, "#feed-add-form-errors")
    if next_.startswith("/add"):
        return await show_add_error(request, runtime, caller, url, _first_error(result.errors), result.status)
    view = await read_page(request, runtime, caller.user_id, FeedListFilters())
    view = replace(view, add_name=name or "", add_url=without_credentials(url), add_errors=result.errors)
    return await app_page(request, runtime, caller, "feeds/page.html", view, status=result.status)


@changes_router.patch("/feeds/{subscription_id}")
@changes_router.post("/feeds/{subscription_id}")
async def change_feed(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Response:
    form = await request.form()
    name, url = form_text(form, "name"), form_text(form, "url")
    result = _field_errors(name, url) or await _attempt(
        _change(request, runtime, caller.user_id, subscription_id, form), marked("Failed to update feed")
    )
    if isinstance(result, Subscription):
        if is_htmx(request):
            return Response(status_code=204, headers=REFRESH_LIST)
        return see_other(request, _after_editing(form), toast=Toast(translate("Saved.")))
    if is_htmx(request):
        return await _error_response(request, result, f"#feed-edit-form-errors-{subscription_id}")
    return await _edit_again(request, runtime, caller, subscription_id, form, result)


@changes_router.delete("/feeds/{subscription_id}")
@changes_router.post("/feeds/{subscription_id}/delete")
async def unsubscribe_feed(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, subscription_id: IdPath
) -> Response:
    result = await _attempt(unsubscribe(runtime, caller.user_id, subscription_id), marked("Failed to delete feed"))
    if isinstance(result, FormError):
        if is_htmx(request):
            return await _error_response(request, result, f"#feed-item-{subscription_id}-errors")
        raise NotFound(NO_SUCH) if result.status == 404 else ReedbedError(untranslated(_first_error(result.errors)))
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
    value: FormFlag,
    next: Text = "/feeds",
) -> Response:
    changed = await change_subscription(runtime, caller.user_id, subscription_id, SubscriptionChange(paused=value))
    if is_htmx(request):
        return Response(status_code=204, headers=REFRESH_LIST)
    message = (
        translate("%(name)s is paused.", name=changed.title)
        if value
        else translate("%(name)s is checked again.", name=changed.title)
    )
    return see_other(request, next, toast=Toast(message))


@changes_router.post("/feeds/{subscription_id}/refresh")
async def refresh_feed(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    subscription_id: IdPath,
    _: RefreshLimit,
    next: Text = "/feeds",
) -> Response:
    rejection = await refresh_subscription(runtime, caller.user_id, subscription_id)
    if is_htmx(request):
        return Response(status_code=204, headers=REFRESH_LIST)
    message = explain(rejection.reason) if rejection else translate("Looking at it now.")
    if rejection and rejection.retry_at:
        when = format_future_time(rejection.retry_at, runtime.now(), zone_of(request))
        message = f"{message} {translate('Next try at %(when)s.', when=when)}"
    return see_other(request, next, toast=Toast(message))


def _subscribe_options(form: FormData, name: str | None, url: str) -> SubscribeOptions:
    return SubscribeOptions(
        url, _folder(form), name, username=form_text(form, "username"), password=form_text(form, "password")
    )


T = TypeVar("T")


async def _attempt(operation: Awaitable[T], default_message: str) -> T | FormError:
    """Turn errors into the form's error response; `otherwise` is the message for unexpected ones."""
    try:
        return await operation
    except (Invalid, Conflict) as error:
        return FormError(status_of(error), _by_field(error.field, explain(error)))
    except NotFound as error:
        return FormError(404, FeedForm(general_error=explain(error)))
    except ReedbedError:
        raise
    except Exception:
        log.exception("a change of a subscription failed")
        return FormError(500, FeedForm(general_error=translate(default_message)))


async def _change(
    request: Request, runtime: Runtime, user_id: int, subscription_id: int, form: FormData
) -> Subscription:
    async with runtime.db.read() as tx:
        current = await subscriptions.get(tx, user_id, subscription_id)
    if current is None:
        raise NotFound(NO_SUCH)
    name, url, interval = form_text(form, "name"), form_text(form, "url"), form_text(form, "interval")
    change = SubscriptionChange(
        title=UNSET if name is None or name.strip() == current.title else name,
        folder_id=_folder(form) if "folder_id" in form else UNSET,
        folder_ids=_folders(form),
        url=UNSET if url is None else url,
        username=_changed_username(form, current.feed.username),
        password=form_text(form, "password") or UNSET,
        paused=form_flag(form, "paused"),
        interval=UNSET if interval is None else _milliseconds(interval),
        full_text=_full_text(form, current.full_text),
        notify=form_flag(form, "notify"),
        keep_entries=_number(form, "keep_entries"),
        keep_days=_number(form, "keep_days"),
        keep_unread_days=_number(form, "keep_unread_days"),
        summary_words=_summary_words(form),
        local_only=form_flag(form, "local_only"),
        muted_until=parse_mute(form_text(form, "mute"), zone_of(request), runtime.now()),
        unread_display=form_text(form, "unread_display") or UNSET,
        in_unread=form_flag(form, "in_unread"),
        unread_limit=_number(form, "unread_limit"),
        without_shorts=form_flag(form, "without_shorts"),
    )
    return await change_subscription(runtime, user_id, subscription_id, change)


async def _edit_again(
    request: Request, runtime: Runtime, caller: Caller, subscription_id: int, form: FormData, error: FormError
) -> Response:
    view = await read_edit(request, runtime, caller.user_id, subscription_id)
    if view is None:
        raise NotFound(NO_SUCH)
    edited = replace(
        view,
        name=form_text(form, "name") or "",
        url=form_text(form, "url") or "",
        username=form_text(form, "username") or "",
        errors=error.errors,
        folders=tuple(replace(option, chosen=option.value == form_text(form, "folder_id")) for option in view.folders),
        intervals=tuple(
            replace(option, chosen=option.value == form_text(form, "interval")) for option in view.intervals
        ),
        paused=form_flag(form, "paused") is True,
        full_text=form_flag(form, "full_text") is True,
        notify=form_flag(form, "notify") is True,
        summaries=tuple(
            replace(option, chosen=option.value == form_text(form, "summary_words")) for option in view.summaries
        ),
        local_only=form_flag(form, "local_only") is True,
        in_unread=form_flag(form, "in_unread") is True,
    )
    return await app_page(request, runtime, caller, "feeds/edit.html", edited, status=error.status)


async def _error_response(request: Request, error: FormError, target: str) -> Response:
    return await page(
        request,
        "feeds/errors.html",
        None,
        status=error.status,
        headers={"HX-Retarget": target, "HX-Reswap": "innerHTML"},
        errors=error.errors,
    )


def _field_errors(name: str | None, url: str | None) -> FormError | None:
    """Check both fields before doing anything, so that the form shows both errors at once."""
    errors = FeedForm(name_error=_error_of(feed_name, name), url_error=_error_of(parse_feed_login, url))
    return None if errors == FeedForm() else FormError(400, errors)


def _error_of(check: Callable[[str], object], text: str | None) -> str:
    if text is None:
        return ""
    try:
        check(text)
    except Invalid as error:
        return explain(error)
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


def _first_error(errors: FeedForm) -> str:
    return (
        errors.name_error or errors.url_error or errors.username_error or errors.password_error or errors.general_error
    )


def _after_adding(next_: str, subscription: Subscription) -> str:
    """After adding a previewed feed, show the feed; after adding one of several, go back to the list."""
    if not next_.startswith("/add"):
        return next_
    params = dict(parse_qsl(urlsplit(next_).query))
    from_list = "start" in params or parse_url_list(params.get("url", ""))
    return next_ if from_list else f"/feed/{subscription.id}"


def _after_editing(form: FormData) -> str:
    """Never go back to the edit form: the subscription may have another id now."""
    next_ = form_text(form, "next") or "/feeds"
    return "/feeds" if next_.startswith("/feeds/") else next_


def _full_text(form: FormData, current: str) -> str | Unset:
    """The checkbox covers two of the three modes; if it is unticked, `never` stays `never`."""
    match form_flag(form, "full_text"):
        case True:
            return "always"
        case False if current == "always":
            return "auto"
        case _:
            return UNSET


def _changed_username(form: FormData, current: str | None) -> str | Unset | None:
    """The form is prefilled: the current name is no change. An empty name also removes the password."""
    name = form_text(form, "username")
    return UNSET if name is None or name.strip() == (current or "") else name.strip() or None


def _number(form: FormData, name: str) -> int | Unset | None:
    text = form_text(form, name)
    return UNSET if text is None else parse_optional_number(text, name)


def _summary_words(form: FormData) -> int | Unset | None:
    text = form_text(form, "summary_words")
    return UNSET if text is None else parse_summary_words(text)


def _folder(form: FormData) -> int | None:
    text = form_text(form, "folder_id")
    return path_id(text) if text else None


def _folders(form: FormData) -> tuple[int, ...] | Unset:
    """All folders, where the form has a choice of the further ones."""
    if "other_folders" not in form:
        return UNSET
    first = _folder(form)
    others = [path_id(str(value)) for value in form.getlist("other_folders") if value]
    return tuple(dict.fromkeys(others if first is None else (first, *others)))


def _milliseconds(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise Invalid("The interval must be between 15 minutes and 24 hours", field="interval")
    return int(text)
