"""The operator's pages about feeds: all shared ones, one with its settings, and what can be done to it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData

from reedbed.domain.errors import Invalid
from reedbed.domain.times import Instant
from reedbed.domain.unset import UNSET, Unset
from reedbed.domain.users import Caller
from reedbed.http.auth import AdminOf, CurrentRuntime
from reedbed.http.params import IdPath
from reedbed.services.feeds import FeedSettings, change_feed, disable_feed, enable_feed, find_feed, sync_feed
from reedbed.services.runtime import Runtime
from reedbed.store.feeds import admin as operator_feeds
from reedbed.store.feeds import feeds as feed_history
from reedbed.store.feeds.admin import STANDINGS, AdminFeed, FeedFilter
from reedbed.web.feeds.views import PAGE_SIZE, RequestedFeeds, interval_choices, read_wanted, short_address
from reedbed.web.formats import ago, coming_time, full_time, zone_of
from reedbed.web.forms import Text, flag_in, text_in
from reedbed.web.i18n import ngettext, sentence, translate, translate_failure
from reedbed.web.pages import see_other
from reedbed.web.plots import SPANS, frequency_plot, span_choices, success_plot
from reedbed.web.sidebar import app_page, icon_address
from reedbed.web.views.feeds import AdminFeedView, OperatorFeedForm, OperatorFeedPage, OperatorFeedsPage
from reedbed.web.views.layout import Count, SelectOption, Toast, feed_mark

TEXTS = ("proxy", "user_agent", "username", "max_failures", "root_domain", "prompt")
FLAGS = ("polling", "allow_duplicate_urls", "deframe", "enforce_domain")
IMPOSSIBLE = -1
"""Stands for what is no number; the checks below refuse it in their own words."""


def form_of(feed: AdminFeed, runtime: Runtime) -> OperatorFeedForm:
    fetching = feed.fetching
    return OperatorFeedForm(
        intervals=interval_choices(fetching.interval),
        proxy=fetching.shown_proxy or "",
        user_agent=fetching.user_agent or "",
        username=fetching.username or "",
        has_password=fetching.has_password,
        max_failures="" if fetching.max_failures is None else str(fetching.max_failures),
        usual_failures=str(runtime.fetching.max_failures),
        polling=feed.polling,
        allow_duplicate_urls=fetching.allow_duplicate_urls,
        deframe=feed.deframe,
        root_domain=feed.root_domain or "",
        enforce_domain=feed.enforce_domain,
        prompt=feed.prompt or "",
    )


def settings_of(form: FormData) -> FeedSettings:
    """What the form does not hold stays; an empty text is taken back, but an empty password stays."""
    return FeedSettings(
        proxy=_text(form, "proxy"),
        user_agent=_text(form, "user_agent"),
        username=_text(form, "username"),
        password=_password(form),
        interval=_number(form, "interval"),
        max_failures=_number(form, "max_failures"),
        polling=flag_in(form, "polling"),
        allow_duplicate_urls=flag_in(form, "allow_duplicate_urls"),
        deframe=flag_in(form, "deframe"),
        root_domain=_text(form, "root_domain"),
        enforce_domain=flag_in(form, "enforce_domain"),
        prompt=_text(form, "prompt"),
    )


def typed_form(feed: AdminFeed, form: FormData, error: Invalid, runtime: Runtime) -> OperatorFeedForm:
    known = form_of(feed, runtime)
    typed = {
        **{name: _text(form, name) for name in TEXTS},
        **{name: flag_in(form, name) for name in FLAGS},
        "intervals": _chosen(known.intervals, _text(form, "interval")),
        "errors": {error.field or "": translate_failure(error.message)},
    }
    return replace(known, **{name: value for name, value in typed.items() if value is not UNSET})


def _text(form: FormData, name: str) -> str | Unset:
    value = text_in(form, name)
    return UNSET if value is None else value


def _password(form: FormData) -> str | Unset | None:
    if flag_in(form, "forget_password") is True:
        return None
    return _text(form, "password") or UNSET


def _number(form: FormData, name: str) -> int | Unset | None:
    text = _text(form, name)
    if isinstance(text, Unset) or not text.strip():
        return UNSET if isinstance(text, Unset) else None
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else IMPOSSIBLE


def _chosen(choices: tuple[SelectOption, ...], value: str | Unset) -> tuple[SelectOption, ...]:
    if isinstance(value, Unset):
        return choices
    return tuple(replace(one, chosen=one.value == value) for one in choices)


_STATES = {"working": "good", "damaged": "waiting", "pending": "waiting", "off": "waiting"}


def feed_line(one: AdminFeed, now: Instant, zone: tzinfo) -> AdminFeedView:
    name = one.title or one.url
    words = (_trouble(one), _followers(one), _checked(one, now), _next_run(one, now, zone))
    return AdminFeedView(
        id=one.id,
        name=name,
        url=one.url,
        address=short_address(one.url),
        mark=feed_mark(name, one.id, icon_address(one.icon_id)),
        state=_STATES.get(one.standing, "bad"),
        state_word=standing_words()[one.standing],
        why=" ".join(filter(None, words)),
        enabled=one.enabled,
        language=one.language or "",
    )


def feed_facts(one: AdminFeed, now: Instant, zone: tzinfo) -> tuple[tuple[str, str], ...]:
    checked = "" if one.last_checked_at is None else full_time(one.last_checked_at, now, zone).words
    facts = (
        (translate("Who follows"), _followers(one)),
        (translate("Last checked"), checked),
        (translate("Last trouble"), _trouble(one) or sentence(translate_failure(one.last_error or ""))),
        (translate("Next run"), _next_run(one, now, zone)),
    )
    return tuple((name, words) for name, words in facts if words)


def status_choices(counted: Mapping[str, int], wanted: RequestedFeeds) -> tuple[SelectOption, ...]:
    counts = {"all": sum(counted.values()), **{name: counted.get(name, 0) for name in STANDINGS}}
    names = {"all": translate("All"), **standing_words()}
    return tuple(
        SelectOption(value, names[value], value == wanted.status, wanted.address(status=value), Count(count))
        for value, count in counts.items()
    )


def standing_words() -> dict[str, str]:
    return {
        "working": translate("Working"),
        "damaged": translate("Damaged"),
        "pending": translate("Pending"),
        "error": translate("Error"),
        "stopped": translate("Stopped"),
        "off": translate("Turned off"),
    }


def _followers(one: AdminFeed) -> str:
    if not one.followers:
        return translate("Nobody follows it.")
    return ngettext("%(num)s reader follows it.", "%(num)s readers follow it.", one.followers)


def _trouble(one: AdminFeed) -> str:
    if one.standing not in ("damaged", "error", "stopped"):
        return ""
    told = sentence(translate_failure(one.stop_reason or one.last_error or ""))
    if one.standing != "error" or one.failures < 2:
        return told
    times = ngettext("%(num)s time in a row.", "%(num)s times in a row.", one.failures)
    return f"{told.rstrip('.')}, {times}"


def _checked(one: AdminFeed, now: Instant) -> str:
    return (
        ""
        if one.last_checked_at is None
        else translate("Checked %(when)s.", when=ago(one.last_checked_at, now))
    )


def _next_run(one: AdminFeed, now: Instant, zone: tzinfo) -> str:
    if not one.enabled or one.next_run_at is None:
        return translate("No run is planned.")
    if one.next_run_at <= now:
        return translate("Next look in a few seconds.")
    return translate("Next about %(when)s.", when=coming_time(one.next_run_at, now, zone))


router = APIRouter(include_in_schema=False)

PLACE = "/admin/feeds"


@router.get("/admin/feeds")
async def show_all(request: Request, runtime: CurrentRuntime, caller: AdminOf) -> Response:
    wanted = read_wanted(request, place=PLACE, statuses=("all", *STANDINGS))
    asked, now, zone = FeedFilter(wanted.search, wanted.status), runtime.now(), zone_of(request)
    async with runtime.db.read() as tx:
        counted = await operator_feeds.counted(tx, asked)
        total = await operator_feeds.how_many(tx, asked)
        found = await operator_feeds.page(tx, asked, now, limit=PAGE_SIZE, offset=wanted.offset)
    view = OperatorFeedsPage(
        search=wanted.search,
        statuses=status_choices(counted, wanted),
        lines=tuple(feed_line(one, now, zone) for one in found),
        pages=wanted.pages(len(found), total),
        empty=wanted.empty_words(translate("Nobody follows a feed yet.")),
    )
    return await app_page(request, runtime, caller, "feeds/admin_list.html", view)


@router.get("/admin/feeds/{feed_id}")
async def show_one(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, feed_id: IdPath, span: str = "month"
) -> Response:
    return await _show(request, runtime, caller, feed_id, span=span)


@router.post("/admin/feeds/{feed_id}")
async def change(request: Request, runtime: CurrentRuntime, caller: AdminOf, feed_id: IdPath) -> Response:
    form = await request.form()
    try:
        await change_feed(runtime, str(feed_id), settings_of(form))
    except Invalid as error:
        feed = await find_feed(runtime, str(feed_id))
        return await _show(request, runtime, caller, feed_id, typed_form(feed, form, error, runtime))
    return see_other(request, f"{PLACE}/{feed_id}", toast=Toast(translate("Saved.")))


@router.post("/admin/feeds/{feed_id}/sync")
async def sync(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await sync_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("Looking at it now.")))


@router.post("/admin/feeds/{feed_id}/enable")
async def enable(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await enable_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("The feed is turned on.")))


@router.post("/admin/feeds/{feed_id}/disable")
async def disable(
    request: Request, runtime: CurrentRuntime, caller: AdminOf, feed_id: IdPath, next: Text = PLACE
) -> Response:
    await disable_feed(runtime, str(feed_id))
    return see_other(request, next, toast=Toast(translate("The feed is turned off.")))


async def _show(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    feed_id: int,
    refused: OperatorFeedForm | None = None,
    span: str = "month",
) -> Response:
    feed, now, zone = await find_feed(runtime, str(feed_id)), runtime.now(), zone_of(request)
    spans = span_choices(span, f"{PLACE}/{feed_id}")
    async with runtime.db.read() as tx:
        hours = await feed_history.stats_of_feed(tx, feed.id, SPANS[span].begin(now))
    view = OperatorFeedPage(
        feed=feed_line(feed, now, zone),
        facts=feed_facts(feed, now, zone),
        form=refused or form_of(feed, runtime),
        spans=spans,
        plots=(
            success_plot(hours, SPANS[span], now, zone),
            frequency_plot(hours, SPANS[span], now, zone),
        ),
    )
    status = 400 if refused else 200
    return await app_page(request, runtime, caller, "feeds/admin.html", view, status=status)
