"""One field takes anything: an address, a page with a feed, words to look for in what is there."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request, Response

from reedbed.domain.errors import Invalid
from reedbed.domain.subscriptions import Discovery, FeedCandidate, SubscriptionFilter
from reedbed.domain.users import Caller
from reedbed.http.auth import CurrentCaller, CurrentRuntime
from reedbed.http.dependencies import spend_refresh, spend_search
from reedbed.services.runtime import Runtime
from reedbed.services.search import search_entries
from reedbed.services.subscriptions.discover import (
    Address,
    FeedPreview,
    find_feeds,
    is_address,
    preview_found,
    several_addresses,
    typed_login,
    without_credentials,
)
from reedbed.store import folders, subscriptions
from reedbed.web.feeds.views import folder_choices
from reedbed.web.formats import dated_time, zone_of
from reedbed.web.forms import text_in
from reedbed.web.i18n import marked, ngettext, translate, translate_failure, unknown_names
from reedbed.web.pages import is_htmx, page, see_other
from reedbed.web.sidebar import app_page
from reedbed.web.views.feeds import (
    AddPage,
    FoundEntryView,
    FoundFeedView,
    LoginView,
    Offered,
    OtherFeed,
    Sample,
)
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

LONGEST = 2_048
MAX_HITS = 50
MAX_NAMED = 5
MAX_OTHERS = 5
MAX_AT_ONCE = 50

SEARCHED_BY = frozenset({"feed", "folder", "tag", "is", "title", "author", "lang", "after", "before"})

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


@router.get("/add")
async def show_add(
    request: Request,
    runtime: CurrentRuntime,
    caller: CurrentCaller,
    url: str = "",
    text: str = "",
    start: str = "",
) -> Response:
    asked = (url or _shared(text)).strip()[:LONGEST]
    if (without := without_credentials(asked)) != asked:
        # The address bar, the history and logs are no place for a password.
        return see_other(request, _here(without))
    shown = await _look(request, runtime, caller, asked) if asked else AddPage()
    if is_htmx(request):
        return await page(request, "feeds/add.html", shown, block="found")
    if not asked and (start == "samples" or not await _follows(runtime, caller.user_id)):
        shown = AddPage(offered=await _samples(runtime, caller.user_id))
    return await app_page(request, runtime, caller, "feeds/add.html", shown)


@router.post("/add")
async def look_at(request: Request, runtime: CurrentRuntime, caller: CurrentCaller) -> Response:
    """What is typed comes this way, because it may hold a password; the address bar shows it without."""
    form = await request.form()
    asked = (text_in(form, "url") or "").strip()[:LONGEST]
    username, password = text_in(form, "username"), text_in(form, "password")
    here = _here(without_credentials(asked))
    if not is_htmx(request) and not username and here == _here(asked):
        return see_other(request, here)
    try:
        shown = await _look(request, runtime, caller, asked, username, password) if asked else AddPage()
    except Invalid as error:
        shown = AddPage(without_credentials(asked), error.message)
    if is_htmx(request):
        return await page(request, "feeds/add.html", shown, block="found", headers={"HX-Push-Url": here})
    return await app_page(request, runtime, caller, "feeds/add.html", shown)


async def show_several(
    request: Request, runtime: Runtime, caller: Caller, asked: str, toast: Toast
) -> Response:
    """After one of several was followed: the others with their passwords, which no address may hold."""
    shown = await _look(request, runtime, caller, asked[:LONGEST])
    return await app_page(request, runtime, caller, "feeds/add.html", shown, toast=toast)


async def show_refused(
    request: Request, runtime: Runtime, caller: Caller, asked: str, message: str, status: int
) -> Response:
    """After a feed could not be followed: what was asked for stays in the field."""
    shown = AddPage(asked=without_credentials(asked), error=message)
    return await app_page(request, runtime, caller, "feeds/add.html", shown, status=status)


async def _look(
    request: Request,
    runtime: Runtime,
    caller: Caller,
    asked: str,
    username: str | None = None,
    password: str | None = None,
) -> AddPage:
    shown_as = without_credentials(asked)
    if several := several_addresses(asked)[:MAX_AT_ONCE]:
        offered = await _several(runtime, caller.user_id, several)
        return AddPage(shown_as, offered=replace(offered, asked=asked if shown_as != asked else ""))
    if _are_words(asked):
        return await _search(runtime, caller, without_credentials(asked))
    if not is_address(asked):
        return AddPage(asked, translate("This is not the address of a page or feed."))
    login = typed_login(asked, username, password)
    await spend_refresh(runtime, caller)
    found = await find_feeds(runtime, asked, username=login.username, password=login.password)
    if not found.candidates:
        return AddPage(
            shown_as,
            translate_failure(found.reason or "") or translate("No feed was found at this address."),
            page_url=shown_as,
            silent_url=login.url if found.unreachable else "",
            locked_url=login.url if found.locked else "",
            login=_shown_login(login),
        )
    try:
        preview = await preview_found(runtime, caller.user_id, login, found)
    except Invalid as error:
        return AddPage(shown_as, error.message, page_url=shown_as)
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    return AddPage(
        shown_as,
        page_url="" if login.url in _either(preview.url) else shown_as,
        found=_found(request, runtime, preview, found),
        folders=folder_choices(rows, None),
        login=_shown_login(login.at(preview.url)),
    )


async def _search(runtime: Runtime, caller: Caller, words: str) -> AddPage:
    """No address: perhaps something among what is followed already."""
    await spend_search(runtime, caller)
    hits = await search_entries(runtime, caller.user_id, words, limit=MAX_HITS)
    async with runtime.db.read() as tx:
        named = await subscriptions.page(
            tx, caller.user_id, SubscriptionFilter(search=words), limit=MAX_NAMED, offset=0
        )
    count = len(hits.rows)
    found = bool(count or hits.next)
    error = (
        ""
        if found or named
        else unknown_names(hits.unknown) or translate("This is no address, and no entry has these words.")
    )
    if hits.next and count < MAX_HITS:  # there may be others, or not
        said = translate("Search for these words")
    elif hits.next:
        said = translate("More than %(num)s entries have these words", num=count)
    else:
        said = ngettext("%(num)s entry has these words", "%(num)s entries have these words", count)
    return AddPage(
        words,
        error,
        hits_url=f"/search?q={quote(words, safe='')}" if found else "",
        hits=said,
        followed=tuple(OtherFeed(f"/feed/{one.id}", one.title) for one in named),
    )


async def _follows(runtime: Runtime, user_id: int) -> bool:
    async with runtime.db.read() as tx:
        return await subscriptions.count(tx, user_id) > 0


async def _samples(runtime: Runtime, user_id: int) -> Offered:
    known = await _known(runtime, user_id)
    lines = tuple(Sample(url, name, translate(about), url in known) for url, name, about in SAMPLES)
    return Offered(translate("A few to try"), lines, "/add?start=samples")


async def _several(runtime: Runtime, user_id: int, typed: Sequence[str]) -> Offered:
    known = await _known(runtime, user_id)
    lines: list[Sample] = []
    for text in typed:
        login, shown = typed_login(text), without_credentials(text)
        lines.append(Sample(shown, "", "", login.url in known, _shown_login(login)))
    here = _here(" ".join(line.url for line in lines))
    return Offered(translate("Several addresses"), tuple(lines), here)


async def _known(runtime: Runtime, user_id: int) -> set[str]:
    async with runtime.db.read() as tx:
        followed = await subscriptions.every(tx, user_id)
    return {address for one in followed for address in (one.asked_url, one.feed.url)}


def _found(request: Request, runtime: Runtime, preview: FeedPreview, found: Discovery) -> FoundFeedView:
    now, zone = runtime.now(), zone_of(request)
    entries = tuple(
        FoundEntryView(
            one.title or one.summary or translate("Without a title"),
            dated_time(one.published, now, zone) if one.published is not None else None,
            preview.language or "",
        )
        for one in preview.entries[:MAX_NAMED]
    )
    return FoundFeedView(
        url=preview.url,
        name=preview.title,
        mark=feed_mark(preview.title, len(preview.url)),
        facts=_facts(preview),
        entries=entries,
        others=tuple(_other(one) for one in found.candidates[1 : MAX_OTHERS + 1]),
        followed_url=f"/feed/{preview.subscription_id}" if preview.subscription_id else "",
    )


def _facts(preview: FeedPreview) -> str:
    host = urlsplit(preview.site_url or preview.url).hostname or ""
    facts = [translate("Found on %(site)s.", site=host)] if host else []
    if preview.daily is not None and preview.daily >= 1:
        facts.append(
            ngettext("About %(num)s entry a day.", "About %(num)s entries a day.", round(preview.daily))
        )
    elif preview.daily is not None and preview.daily >= 1 / 7:
        weekly = round(7 * preview.daily)
        facts.append(ngettext("About %(num)s entry a week.", "About %(num)s entries a week.", weekly))
    elif preview.total:
        facts.append(ngettext("It holds %(num)s entry.", "It holds %(num)s entries.", preview.total))
    else:
        facts.append(translate("It is empty now."))
    return " ".join(facts)


def _other(one: FeedCandidate) -> OtherFeed:
    return OtherFeed(_here(one.url), one.title or one.url)


def _either(url: str) -> tuple[str, str]:
    """The same address on either scheme: who typed none did not mean another page."""
    rest = url.partition("://")[2]
    return f"https://{rest}", f"http://{rest}"


def _are_words(text: str) -> bool:
    """To look for: several, one that can be no address, or one that the search knows, as `feed:name`."""
    if len(text.split()) > 1:
        return True
    if is_address(text):
        return False
    return not any(sign in text for sign in ".:@/") or text.partition(":")[0].lower() in SEARCHED_BY


def _here(asked: str) -> str:
    return f"/add?url={quote(asked, safe='')}" if asked else "/add"


def _shown_login(address: Address) -> LoginView | None:
    return LoginView(address.username, address.password or "") if address.username is not None else None


def _shared(text: str) -> str:
    """What a share menu hands over: often a title with the address behind it."""
    found = _ADDRESS.search(text)
    return found.group(0) if found else text
