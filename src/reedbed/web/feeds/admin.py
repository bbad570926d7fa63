"""Admin pages for feeds: list all shared feeds, show and edit one, sync it, turn it on or off."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.errors import Invalid
from reedbed.domain.records import UNSET, Unset
from reedbed.domain.times import Instant
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentAdmin, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.feeds import FeedSettings, change_feed, disable_feed, enable_feed, find_feed, sync_feed
from reedbed.services.runtime import Runtime
from reedbed.store.feeds import admin as operator_feeds
from reedbed.store.feeds import feeds as feed_history
from reedbed.store.feeds.admin import FEED_STATUSES, AdminFeed, FeedFilter
from reedbed.web.feeds.form import interval_options
from reedbed.web.feeds.views import PAGE_SIZE, FeedListFilters, read_feed_filters, short_url
from reedbed.web.formats import ago, format_future_time, full_time, zone_of
from reedbed.web.forms import Text, form_flag, form_text
from reedbed.web.i18n import explain, ngettext, sentence, translate
from reedbed.web.pages import see_other
from reedbed.web.plots import SPANS, frequency_plot, span_options, success_plot
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import AdminFeedForm, AdminFeedPage, AdminFeedsPage, AdminFeedView
from reedbed.web.views.layout import Count, SelectOption, Toast, feed_mark

TEXTS = ("proxy", "user_agent", "username", "max_failures", "root_domain", "prompt")
FLAGS = ("polling", "allow_duplicate_urls", "deframe", "enforce_domain")
NOT_A_NUMBER = -1
"""Stands for text that is not a number; the service rejects it with its own message."""


def form_of(feed: AdminFeed, runtime: Runtime) -> AdminFeedForm:
    fetching = feed.fetching
    return AdminFeedForm(
        intervals=interval_options(fetching.interval),
        proxy=fetching.shown_proxy or "",
        user_agent=fetching.user_agent or "",
        username=fetching.username or "",
        has_password=fetching.has_password,
        max_failures="" if fetching.max_failures is None else str(fetching.max_failures),
        default_failures=str(runtime.fetching.max_failures),
        polling=feed.polling,
        allow_duplicate_urls=fetching.allow_duplicate_urls,
        deframe=feed.deframe,
        root_domain=feed.root_domain or "",
        enforce_domain=feed.enforce_domain,
        prompt=feed.prompt or "",
    )


def settings_of(form: FormData) -> FeedSettings:
    """Absent fields stay unchanged; an empty text resets its setting, but an empty password keeps it."""
    return FeedSettings(
        proxy=_text(form, "proxy"),
        user_agent=_text(form, "user_agent"),
        username=_text(form, "username"),
        password=_password(form),
        interval=_number(form, "interval"),
        max_failures=_number(form, "max_failures"),
        polling=form_flag(form, "polling"),
        allow_duplicate_urls=form_flag(form, "allow_duplicate_urls"),
        deframe=form_flag(form, "deframe"),
        root_domain=_text(form, "root_domain"),
        enforce_domain=form_flag(form, "enforce_domain"),
        prompt=_text(form, "prompt"),
    )


def typed_form(feed: AdminFeed, form: FormData, error: Invalid, runtime: Runtime) -> AdminFeedForm:
    current = form_of(feed, runtime)
    submitted = {
        **{name: _text(form, name) for name in TEXTS},
        **{name: form_flag(form, name) for name in FLAGS},
        "intervals": _with_choice(current.intervals, _text(form, "interval")),
        "errors": {error.field or "": explain(error)},
    }
    return replace(current, **{name: value for name, value in submitted.items() if value is not UNSET})


def _text(form: FormData, name: str) -> str | Unset:
    value = form_text(form, name)
    return UNSET if value is None else value


def _password(form: FormData) -> str | Unset | None:
    if form_flag(form, "forget_password") is True:
        return None
    return _text(form, "password") or UNSET


def _number(form: FormData, name: str) -> int | Unset | None:
    text = _text(form, name)
    if isinstance(text, Unset) or not text.strip():
        return UNSET if isinstance(text, Unset) else None
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else NOT_A_NUMBER


def _with_choice(choices: tuple[SelectOption, ...], value: str | Unset) -> tuple[SelectOption, ...]:
    if isinstance(value, Unset):
        return choices
    return tuple(replace(option, chosen=option.value == value) for option in choices)


_STATES = {"working": "good", "damaged": "waiting", "pending": "waiting", "off": "waiting"}


def feed_line(feed: AdminFeed, now: Instant, zone: tzinfo) -> AdminFeedView:
    name = feed.title or feed.url
    parts = (_problem(feed), _followers(feed), _last_check(feed, now), _next_run(feed, now, zone))
    return AdminFeedView(
        id=feed.id,
        name=name,
        url=feed.url,
        address=short_url(feed.url),
        mark=feed_mark(name, feed.id, feed.icon_id),
        state=_STATES.get(feed.standing, "bad"),
        state_word=status_labels()[feed.standing],
        why=" ".join(filter(None, parts)),
        enabled=feed.enabled,
        language=feed.language or "",
    )


def feed_facts(feed: AdminFeed, now: Instant, zone: tzinfo) -> tuple[tuple[str, str], ...]:
    checked = "" if feed.last_checked_at is None else full_time(feed.last_checked_at, now, zone).words
    facts = (
        (translate("Who follows"), _followers(feed)),
        (translate("Last checked"), checked),
        (translate("Last error"), _problem(feed) or sentence(explain(feed.last_error))),
        (translate("Next run"), _next_run(feed, now, zone)),
    )
    return tuple((name, value) for name, value in facts if value)


def status_options(counted_statuses: Mapping[str, int], filters: FeedListFilters) -> tuple[SelectOption, ...]:
    counts = {"all": sum(counted_statuses.values()), **{name: counted_statuses.get(name, 0) for name in FEED_STATUSES}}
    names = {"all": translate("All"), **status_labels()}
    return tuple(
        SelectOption(value, names[value], value == filters.status, filters.address(status=value), Count(count))
        for value, count in counts.items()
    )


def status_labels() -> dict[str, str]:
    return {
        "working": translate("Working"),
        "damaged": translate("Damaged"),
        "pending": translate("Pending"),
        "error": translate("Error"),
        "stopped": translate("Stopped"),
        "off": translate("Turned off"),
    }


def _followers(feed: AdminFeed) -> str:
    if not feed.followers:
        return translate("Nobody follows it.")
    return ngettext("%(num)s reader follows it.", "%(num)s readers follow it.", feed.followers)


def _problem(feed: AdminFeed) -> str:
    if feed.standing not in ("damaged", "error", "stopped"):
        return ""
    error = sentence(explain(feed.stop_reason or feed.last_error))
    if feed.standing != "error" or feed.failures < 2:
        return error
    times = ngettext("%(num)s time in a row.", "%(num)s times in a row.", feed.failures)
    return f"{error.rstrip('.')}, {times}"


def _last_check(feed: AdminFeed, now: Instant) -> str:
    return "" if feed.last_checked_at is None else translate("Checked %(when)s.", when=ago(feed.last_checked_at, now))


def _next_run(feed: AdminFeed, now: Instant, zone: tzinfo) -> str:
    if not feed.enabled or feed.next_run_at is None:
        return translate("No run is planned.")
    if feed.next_run_at <= now:
        return translate("Next check in a few seconds.")
    return translate("Next about %(when)s.", when=format_future_time(feed.next_run_at, now, zone))


router = APIRouter(include_in_schema=False)

PLACE = "/admin/feeds"


@router.get("/admin/feeds")
async def show_all(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin) -> Response:
    filters = read_feed_filters(request, place=PLACE, statuses=("all", *FEED_STATUSES))
    feed_filter, now, zone = FeedFilter(filters.search, filters.status), runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        counted_statuses = await operator_feeds.counted(tx, feed_filter)
        total = await operator_feeds.how_many(tx, feed_filter)
        feeds = await operator_feeds.page(tx, feed_filter, now, limit=PAGE_SIZE, offset=filters.offset)
    view = AdminFeedsPage(
        search=filters.search,
        statuses=status_options(counted_statuses, filters),
        lines=tuple(feed_line(feed, now, zone) for feed in feeds),
        pages=filters.pages(len(feeds), total),
        empty=filters.empty_words(translate("Nobody follows a feed yet.")),
    )
    return await app_page(request, runtime, caller, "feeds/admin_list.html", view)


@router.get("/admin/feeds/{feed_id}")
async def show_one(
    request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath, span: str = "month"
) -> Response:
    return await _show(request, runtime, caller, feed_id, span=span)


@router.post("/admin/feeds/{feed_id}")
async def change(request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath) -> Response:
    form = await request.form()
    try:
        await change_feed(runtime, str(feed_id), settings_of(form))
    except Invalid as error:
        feed = await find_feed(runtime, str(feed_id))
        return await _show(request, runtime, caller, feed_id, typed_form(feed, form, error, runtime))
    return see_other(request, f"{PLACE}/{feed_id}", toast=Toast(translate("Saved.")))


@router.post("/admin/feeds/{feed_id}/sync")
async def sync(
    request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await sync_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("Looking at it now.")))


@router.post("/admin/feeds/{feed_id}/enable")
async def enable(
    request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await enable_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("The feed is turned on.")))


@router.post("/admin/feeds/{feed_id}/disable")
async def disable(
    request: Request, runtime: CurrentRuntime, caller: CurrentAdmin, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await disable_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("The feed is turned off.")))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    feed_id: int,
    rejected_form: AdminFeedForm | None = None,
    span: str = "month",
) -> Response:
    feed, now, zone = await find_feed(runtime, str(feed_id)), runtime.now(), zone_of(request)
    spans = span_options(span, f"{PLACE}/{feed_id}")
    async with runtime.db.read() as tx:
        hours = await feed_history.stats_of_feed(tx, feed.id, SPANS[span].begin(now))
    view = AdminFeedPage(
        feed=feed_line(feed, now, zone),
        facts=feed_facts(feed, now, zone),
        form=rejected_form or form_of(feed, runtime),
        spans=spans,
        plots=(success_plot(hours, SPANS[span], now, zone), frequency_plot(hours, SPANS[span], now, zone)),
    )
    status = 400 if rejected_form else 200
    return await app_page(request, runtime, caller, "feeds/admin.html", view, status=status)
