"""One field takes anything: an address, a page with a feed, words to look for in what is there."""

import re
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request, Response

from reedbed.domain.accounts import Caller
from reedbed.domain.discovery import Candidate, Discovery
from reedbed.domain.errors import Invalid
from reedbed.domain.subscriptions import SubscriptionFilter
from reedbed.http.caller import CallerOf, RuntimeOf
from reedbed.http.limits import spend_refresh, spend_search
from reedbed.services.feed_preview import FeedPreview, find_feeds, preview_found
from reedbed.services.runtime import Runtime
from reedbed.services.search import search_entries
from reedbed.store import folders, subscriptions
from reedbed.web.feed_pages import folder_choices
from reedbed.web.moments import dated_moment, zone_of
from reedbed.web.pages import is_htmx, page
from reedbed.web.samples import SAMPLES
from reedbed.web.sentences import retell
from reedbed.web.shell import app_page
from reedbed.web.speech import ngettext, translate
from reedbed.web.views.frame import feed_mark
from reedbed.web.views.managing import AddPage, FoundEntry, FoundFeed, Offered, OtherFeed, Sample

router = APIRouter(include_in_schema=False)

LONGEST = 2_048
MOST_HITS = 50
MOST_NAMED = 5
MOST_OTHERS = 5
MOST_AT_ONCE = 50

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


@router.get("/add")
async def show_add(
    request: Request,
    runtime: RuntimeOf,
    caller: CallerOf,
    url: str = "",
    text: str = "",
    start: str = "",
) -> Response:
    asked = (url or _shared(text)).strip()[:LONGEST]
    shown = await _look(request, runtime, caller, asked) if asked else AddPage()
    if is_htmx(request):
        return await page(request, "manage/add.html", shown, block="found")
    if not asked and (start == "samples" or not await _follows(runtime, caller.user_id)):
        shown = AddPage(offered=await _samples(runtime, caller.user_id))
    return await app_page(request, runtime, caller, "manage/add.html", shown)


async def show_refused(
    request: Request, runtime: Runtime, caller: Caller, asked: str, message: str, status: int
) -> Response:
    """After a feed could not be followed: what was asked for stays in the field."""
    shown = AddPage(asked=asked, error=message)
    return await app_page(request, runtime, caller, "manage/add.html", shown, status=status)


async def _look(request: Request, runtime: Runtime, caller: Caller, asked: str) -> AddPage:
    if several := several_addresses(asked):
        return AddPage(asked, offered=await _several(runtime, caller.user_id, several))
    if _are_words(asked):
        return await _search(runtime, caller, asked)
    await spend_refresh(runtime, caller)
    found = await find_feeds(runtime, asked)
    if not found.candidates:
        return AddPage(
            asked,
            retell(found.reason or "") or translate("No feed was found at this address."),
            page_url="" if found.nowhere else asked,
            silent_url=_with_scheme(asked) if found.unreachable else "",
        )
    try:
        preview = await preview_found(runtime, caller.user_id, found)
    except Invalid as error:
        return AddPage(asked, error.message, page_url=asked)
    async with runtime.db.read() as tx:
        rows = await folders.of_user(tx, caller.user_id)
    return AddPage(
        asked,
        page_url="" if _with_scheme(asked) in _either(preview.url) else asked,
        found=_found(request, runtime, asked, preview, found),
        folders=folder_choices(rows, None),
    )


async def _search(runtime: Runtime, caller: Caller, words: str) -> AddPage:
    """No address: perhaps something among what is followed already."""
    await spend_search(runtime, caller)
    hits = await search_entries(runtime, caller.user_id, words, limit=MOST_HITS)
    async with runtime.db.read() as tx:
        named = await subscriptions.page(
            tx, caller.user_id, SubscriptionFilter(search=words), limit=MOST_NAMED, offset=0
        )
    count = len(hits.rows)
    found = bool(count or hits.next)
    error = "" if found or named else translate("This is no address, and no entry has these words.")
    if hits.next and count < MOST_HITS:  # there may be others, or not
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


async def _several(runtime: Runtime, user_id: int, addresses: Sequence[str]) -> Offered:
    known = await _known(runtime, user_id)
    lines = tuple(Sample(url, "", "", url in known) for url in addresses)
    return Offered(translate("Several addresses"), lines, f"/add?url={quote(' '.join(addresses), safe='')}")


async def _known(runtime: Runtime, user_id: int) -> set[str]:
    async with runtime.db.read() as tx:
        followed = await subscriptions.every(tx, user_id)
    return {address for one in followed for address in (one.url, one.feed.url)}


def _found(
    request: Request, runtime: Runtime, asked: str, preview: FeedPreview, found: Discovery
) -> FoundFeed:
    now, zone = runtime.now(), zone_of(request)
    entries = tuple(
        FoundEntry(
            one.title or one.summary or translate("Without a title"),
            dated_moment(one.published, now, zone) if one.published is not None else None,
            preview.language or "",
        )
        for one in preview.entries[:MOST_NAMED]
    )
    return FoundFeed(
        url=preview.url,
        name=preview.title,
        mark=feed_mark(preview.title, len(preview.url)),
        facts=_facts(preview),
        entries=entries,
        others=tuple(_other(one) for one in found.candidates[1 : MOST_OTHERS + 1]),
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


def _other(one: Candidate) -> OtherFeed:
    return OtherFeed(f"/add?url={quote(one.url, safe='')}", one.title or one.url)


def several_addresses(text: str) -> tuple[str, ...]:
    """A list that was pasted: addresses and nothing else. One of them is no list."""
    words = dict.fromkeys(word.strip(",;") for word in text.split())
    are = len(words) > 1 and all(_ADDRESS.fullmatch(word) for word in words)
    return tuple(words)[:MOST_AT_ONCE] if are else ()


def _with_scheme(asked: str) -> str:
    return asked if "://" in asked else f"https://{asked}"


def _either(url: str) -> tuple[str, str]:
    """The same address on either scheme: who typed none did not mean another page."""
    rest = url.partition("://")[2]
    return f"https://{rest}", f"http://{rest}"


def _are_words(text: str) -> bool:
    """An address has no spaces, and a dot, a colon or an at-sign somewhere in it."""
    return " " in text or not any(sign in text for sign in ".:@/")


def _shared(text: str) -> str:
    """What a share menu hands over: often a title with the address behind it."""
    found = _ADDRESS.search(text)
    return found.group(0) if found else text
