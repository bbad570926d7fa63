"""The "add feed" page. One field accepts a URL, several URLs, or search text."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.search.suggestions import OPERATORS
from reedbed.domain.subscriptions import Discovery, FeedCandidate, SubscriptionFilter
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.params import spend_refresh, spend_search
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import search_entries
from reedbed.services.subscriptions.discover import (
    Address,
    FeedPreview,
    find_feeds,
    looks_like_url,
    parse_feed_login,
    parse_url_list,
    preview_found,
    without_credentials,
)
from reedbed.services.subscriptions.manage import AlreadySubscribed, SubscribeOptions, subscribe
from reedbed.store import folders, subscriptions
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import folder_options, form_text
from reedbed.web.i18n import explain, marked, ngettext, translate, unknown_names
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import AddPage, FoundEntryView, FoundFeedView, LoginView, Offered, OtherFeed, Sample
from reedbed.web.views.layout import Toast, feed_mark

SAMPLES: Final = (
    ("https://www.nasa.gov/feed/", "NASA", marked("Space")),
    ("https://apod.nasa.gov/apod.rss", "Astronomy Picture of the Day", marked("Space, in pictures")),
    ("https://www.theguardian.com/world/rss", "The Guardian: World", marked("News")),
    ("https://www.tagesschau.de/index~rss2.xml", "tagesschau", marked("News, in German")),
    ("https://www.lemonde.fr/rss/une.xml", "Le Monde", marked("News, in French")),
    ("https://hnrss.org/frontpage", "Hacker News", marked("Technology")),
    ("https://lwn.net/headlines/rss", "LWN", marked("Free software")),
    ("https://xkcd.com/atom.xml", "xkcd", marked("A comic")),
)


router = APIRouter(include_in_schema=False)

MAX_LENGTH = 2_048
MAX_HITS = 50
MAX_NAMED = 5
MAX_OTHERS = 5
MAX_URLS = 50

_URL = re.compile(r"(?:https?|feed)://\S+", re.IGNORECASE)


@router.get("/add")
async def show_add(
    request: Request, runtime: CurrentRuntime, caller: CurrentCaller, url: str = "", text: str = "", start: str = ""
) -> Response:
    typed = (url or _shared_url(text)).strip()[:MAX_LENGTH]
    if (cleaned := without_credentials(typed)) != typed:
        # Keep passwords out of the address bar, the history and logs.
        return see_other(request, _add_url(cleaned))
    view = await _build_page(request, runtime, caller, typed) if typed else AddPage()
    if is_htmx(request):
        return await page(request, "feeds/add.html", view, block="found")
    if not typed and (start == "samples" or not await _has_subscriptions(runtime, caller.user_id)):
        view = AddPage(offered=await _samples(runtime, caller.user_id))
    return await app_page(request, runtime, caller, "feeds/add.html", view)


@router.post("/add")
async def look_at(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """The form uses POST because the typed URL may hold a password; the address bar shows it without."""
    form = await request.form()
    typed = (form_text(form, "url") or "").strip()[:MAX_LENGTH]
    username, password = form_text(form, "username"), form_text(form, "password")
    public_url = _add_url(without_credentials(typed))
    if not is_htmx(request) and not username and public_url == _add_url(typed):
        return see_other(request, public_url)
    try:
        view = await _build_page(request, runtime, caller, typed, username, password) if typed else AddPage()
    except Invalid as error:
        view = AddPage(without_credentials(typed), explain(error))
    if is_htmx(request):
        return await page(request, "feeds/add.html", view, block="found", headers={"HX-Push-Url": public_url})
    return await app_page(request, runtime, caller, "feeds/add.html", view)


@router.post("/add/samples")
async def follow_samples(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """Follow all samples in one press. The worker fetches them, so nothing here waits for a site."""
    followed = await _subscribed_urls(runtime, caller.user_id)
    chosen = [(url, name) for url, name, _ in SAMPLES if url not in followed]
    for url, name in chosen:
        with suppress(AlreadySubscribed):  # pressed twice
            await subscribe(runtime, caller.user_id, SubscribeOptions(url, title=name, looked=True))
    message = ngettext(
        "You follow %(num)s feed now. Its entries come in a few seconds.",
        "You follow %(num)s feeds now. Their entries come in a few seconds.",
        len(chosen),
    )
    return see_other(request, "/unread", toast=Toast(message))


async def show_several(request: Request, runtime: Runtime, caller: Caller, typed: str, toast: Toast) -> Response:
    """After subscribing to one of several feeds, show the others with their passwords.

    A redirect cannot do this, because a URL must not hold passwords.
    """
    view = await _build_page(request, runtime, caller, typed[:MAX_LENGTH])
    return await app_page(request, runtime, caller, "feeds/add.html", view, toast=toast)


async def show_add_error(
    request: Request, runtime: Runtime, caller: Caller, typed: str, message: str, status: int
) -> Response:
    """Show why subscribing failed; the typed URL stays in the field."""
    view = AddPage(asked=without_credentials(typed), error=message)
    return await app_page(request, runtime, caller, "feeds/add.html", view, status=status)


async def _build_page(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    typed: str,
    username: str | None = None,
    password: str | None = None,
) -> AddPage:
    shown_as = without_credentials(typed)
    if urls := parse_url_list(typed)[:MAX_URLS]:
        offered = await _several_urls(runtime, caller.user_id, urls)
        return AddPage(shown_as, offered=replace(offered, asked=typed if shown_as != typed else ""))
    if _is_search_text(typed):
        return await _search(runtime, caller, without_credentials(typed))
    if not looks_like_url(typed):
        return AddPage(typed, translate("This is not the address of a page or feed."))
    login = parse_feed_login(typed, username, password)
    await spend_refresh(runtime, caller)
    discovery = await find_feeds(runtime, typed, username=login.username, password=login.password)
    if not discovery.candidates:
        answered_url = discovery.answered_url or login.url
        return AddPage(
            shown_as,
            explain(discovery.reason or Failure(FailureCode.NO_FEED_FOUND)),
            page_url=shown_as,
            list_url=_list_url(discovery, shown_as, login),
            silent_url=answered_url if discovery.unreachable else "",
            locked_url=answered_url if discovery.locked else "",
            login=_login_view(login),
        )
    try:
        preview = await preview_found(runtime, caller.user_id, login, discovery)
    except Invalid as error:
        return AddPage(shown_as, explain(error), page_url=shown_as)
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    return AddPage(
        shown_as,
        page_url="" if login.url in _both_schemes(preview.url) else shown_as,
        found=_found_feed(request, runtime, preview, discovery),
        folders=folder_options(rows, None),
        login=_login_view(login.at(preview.url)),
    )


def _list_url(discovery: Discovery, shown_as: str, login: Address) -> str:
    """Empty for a page that did not answer or needs a password."""
    if discovery.unreachable or discovery.nowhere or discovery.failure is not None or login.secret:
        return ""
    return f"/make-a-feed?url={quote(shown_as, safe='')}"


async def _search(runtime: Runtime, caller: Caller, text: str) -> AddPage:
    """The text is no URL: search the user's entries and feed names for it."""
    await spend_search(runtime, caller)
    hits = await search_entries(runtime, caller.user_id, text, limit=MAX_HITS, excerpts=False)
    async with runtime.db.read() as tx:
        feeds = await subscriptions.page(tx, caller.user_id, SubscriptionFilter(search=text), limit=MAX_NAMED, offset=0)
    count = len(hits.rows)
    has_hits = bool(count or hits.next)
    error = (
        ""
        if has_hits or feeds
        else unknown_names(hits.unknown) or translate("This is not an address, and no entry has these words.")
    )
    if hits.next and count < MAX_HITS:  # there may be more matches, or none
        label = translate("Search for these words")
    elif hits.next:
        label = translate("More than %(num)s entries have these words", num=count)
    else:
        label = ngettext("%(num)s entry has these words", "%(num)s entries have these words", count)
    return AddPage(
        text,
        error,
        hits_url=f"/search?q={quote(text, safe='')}" if has_hits else "",
        hits=label,
        followed=tuple(OtherFeed(f"/feed/{feed.id}", feed.title) for feed in feeds),
    )


async def _has_subscriptions(runtime: Runtime, user_id: int) -> bool:
    async with runtime.db.read() as tx:
        return await subscriptions.count(tx, user_id) > 0


async def _samples(runtime: Runtime, user_id: int) -> Offered:
    subscribed_urls = await _subscribed_urls(runtime, user_id)
    lines = tuple(Sample(url, name, translate(about), url in subscribed_urls) for url, name, about in SAMPLES)
    return Offered(translate("A few to try"), lines, "/add?start=samples", all_url="/add/samples")


async def _several_urls(runtime: Runtime, user_id: int, urls: Sequence[str]) -> Offered:
    subscribed_urls = await _subscribed_urls(runtime, user_id)
    lines: list[Sample] = []
    for url in urls:
        login, public_url = parse_feed_login(url), without_credentials(url)
        meant = (login.url,) if "://" in url else _both_schemes(login.url)
        lines.append(Sample(public_url, "", "", not subscribed_urls.isdisjoint(meant), _login_view(login)))
    list_url = _add_url(" ".join(line.url for line in lines))
    return Offered(translate("Several addresses"), tuple(lines), list_url)


async def _subscribed_urls(runtime: Runtime, user_id: int) -> set[str]:
    async with runtime.db.read() as tx:
        subscribed = await subscriptions.every(tx, user_id)
    return {url for subscription in subscribed for url in (subscription.asked_url, subscription.feed.url)}


def _found_feed(request: Request, runtime: Runtime, preview: FeedPreview, discovery: Discovery) -> FoundFeedView:
    now, zone = runtime.now(), zone_of(request)
    entries = tuple(
        FoundEntryView(
            entry.title or entry.summary or translate("Without a title"),
            dated_time(entry.published, now, zone) if entry.published is not None else None,
            preview.language or "",
        )
        for entry in preview.entries[:MAX_NAMED]
    )
    return FoundFeedView(
        url=preview.url,
        name=preview.title,
        mark=feed_mark(preview.title, len(preview.url)),
        facts=_facts(preview),
        entries=entries,
        others=tuple(_other_feed(candidate) for candidate in discovery.candidates[1 : MAX_OTHERS + 1]),
        followed_url=f"/feed/{preview.subscription_id}" if preview.subscription_id else "",
    )


def _facts(preview: FeedPreview) -> str:
    host = urlsplit(preview.site_url or preview.url).hostname or ""
    facts = [translate("Found on %(site)s.", site=host)] if host else []
    if preview.daily is not None and preview.daily >= 1:
        facts.append(ngettext("About %(num)s entry a day.", "About %(num)s entries a day.", round(preview.daily)))
    elif preview.daily is not None and preview.daily >= 1 / 7:
        weekly = round(7 * preview.daily)
        facts.append(ngettext("About %(num)s entry a week.", "About %(num)s entries a week.", weekly))
    elif preview.total:
        facts.append(ngettext("It holds %(num)s entry.", "It holds %(num)s entries.", preview.total))
    else:
        facts.append(translate("It is empty now."))
    return " ".join(facts)


def _other_feed(candidate: FeedCandidate) -> OtherFeed:
    return OtherFeed(_add_url(candidate.url), candidate.title or candidate.url)


def _both_schemes(url: str) -> tuple[str, str]:
    """The URL with https and with http: a URL typed without a scheme means the same page."""
    rest = url.partition("://")[2]
    return f"https://{rest}", f"http://{rest}"


def _is_search_text(text: str) -> bool:
    """Whether this is search text: several words, one that cannot be a URL, or a filter like `feed:name`."""
    if len(text.split()) > 1:
        return True
    if looks_like_url(text):
        return False
    return not any(char in text for char in ".:@/") or text.partition(":")[0].lower() in OPERATORS


def _add_url(typed: str) -> str:
    return f"/add?url={quote(typed, safe='')}" if typed else "/add"


def _login_view(login: Address) -> LoginView | None:
    return LoginView(login.username, login.password or "") if login.username is not None else None


def _shared_url(text: str) -> str:
    """The URL in the text from a share menu, which is often a title followed by the URL."""
    match = _URL.search(text)
    return match.group(0) if match else text
