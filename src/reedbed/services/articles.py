"""Any page, kept for later by its address: safe at once, its article fetched right after."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.articles import (
    FEED_TITLE,
    FEED_URL,
    FIRST_WAIT,
    GIVE_UP_AFTER,
    MAX_TITLE,
    ArticleSelectors,
    SavedPage,
    is_shorter,
    tidy_selectors,
    title_from_address,
)
from reedbed.domain.entries import StateChange
from reedbed.domain.errors import Forbidden, Invalid, NotFound, Unavailable
from reedbed.domain.feeds import Author, ParsedEntry, ParsedFeed
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import change_hash
from reedbed.domain.refresh.outcomes import Fetched
from reedbed.domain.search import search_words
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.text import shown_line, storable
from reedbed.domain.times import DAY, SECOND, Instant
from reedbed.domain.urls import has_userinfo, host_of, normalize_url
from reedbed.domain.users import User
from reedbed.ingest.article.selectors import check_selector
from reedbed.ingest.discovery import typed_addresses
from reedbed.ingest.http.failures import TEMPORARY
from reedbed.services.entries import change_entry
from reedbed.services.jobs import Done, Later, try_again
from reedbed.services.refresh.check import turn_at
from reedbed.services.refresh.diff import words_of
from reedbed.services.rules.match import ARTICLES_JOB
from reedbed.services.runtime import Runtime
from reedbed.services.search import reindex
from reedbed.services.subscriptions.manage import NO_SUCH
from reedbed.store import articles, jobs, search, subscriptions, users
from reedbed.store.engine.database import Tx
from reedbed.store.entries import read as entries
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries.write import NewEntryRow, NewEntryText
from reedbed.store.feeds import feeds
from reedbed.store.jobs import Job
from reedbed.store.read_state import stars as marks
from reedbed.store.read_state import unread
from reedbed.store.read_state.unread import Arrival
from reedbed.store.search import texts
from reedbed.store.subscriptions import follow_own
from reedbed.store.visibility import lock_feed

COOLDOWN = DAY
EXTRACT_SECONDS = 20.0
MAX_ADDRESS_LENGTH = 4_096
AT_ONCE = 20
"""Entries of one job before it makes room for others."""

_NO_ADDRESS = "This entry has no address to read the article from."
_SHORTER = "The site's page holds less of this text than the feed gives."
_TOO_HARD = "The article could not be read in time."


@record
class FullArticle:
    content: str | None
    """Sanitised HTML; None when there is none."""
    failed: str = ""
    """One plain sentence, when it could not be had."""


async def read_full_article(
    runtime: Runtime, user_id: int, entry_id: int, *, within: float | None = None
) -> FullArticle:
    """The whole article of an entry this user sees, fetched now if it was never had as it is wanted.

    `within` so many seconds, or in the time that any fetch has.
    """
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user_id, entry_id)
        tried = (await articles.selector_status(tx, entry_id)).tried_at
    if entry is None:
        raise NotFound("There is no such entry.")
    if entry.full_content is not None and tried is not None:
        return FullArticle(entry.full_content)
    if entry.row.url is None:
        return FullArticle(None, _NO_ADDRESS)
    if tried is not None and runtime.now() < tried + COOLDOWN:
        return FullArticle(None, _tried_lately(runtime.now(), tried))
    found = await _fetch(runtime, entry_id, entry.row.url, within)
    return found if found.content is not None else replace(found, content=entry.full_content)


async def open_article(runtime: Runtime, user_id: int, url: str) -> str:
    """The article at the address of an entry that this user sees; at no other address."""
    address = normalize_url(storable(url)) if len(url) <= MAX_ADDRESS_LENGTH else None
    async with runtime.db.read() as tx:
        entry_id = await articles.seen_at(tx, user_id, address) if address else None
    if entry_id is None:
        raise NotFound("None of your entries has this address.")
    found = await read_full_article(runtime, user_id, entry_id, within=runtime.images.timeout)
    if found.content is None:
        raise Unavailable(found.failed)
    return found.content


async def fetch_articles(runtime: Runtime, job: Job) -> Done | Later:
    """The job: entries that arrived in a feed whose articles somebody always wants whole."""
    async with runtime.db.read() as tx:
        waiting = await articles.never_tried(tx, _ids(job))
    for entry_id, url in waiting[:AT_ONCE]:
        await fetch_politely(runtime, entry_id, url)
    return Later(runtime.now()) if len(waiting) > AT_ONCE else Done({"articles": len(waiting)})


async def fetch_politely(runtime: Runtime, entry_id: int, url: str) -> FullArticle:
    """When it is this host's turn."""
    async with turn_at(runtime, host_of(url) or ""):
        return await _fetch(runtime, entry_id, url)


async def _fetch(runtime: Runtime, entry_id: int, url: str, within: float | None = None) -> FullArticle:
    async with runtime.db.read() as tx:
        selectors = (await articles.selector_status(tx, entry_id)).selectors
        given = await articles.given(tx, entry_id)
    found = await _extract(runtime, url, selectors, within)
    # With selectors, somebody has looked at the pages and chosen what is the article.
    if found.content is not None and not selectors and is_shorter(found.content, given):
        found = FullArticle(None, _SHORTER)
    async with runtime.db.write() as tx:
        if found.content is None:
            await articles.record_attempt(tx, entry_id, runtime.now())
        else:
            forgets = search.needs_words_to_forget(tx.engine)
            before = await texts.possibly_indexed(tx, [entry_id]) if forgets else []
            await articles.save(tx, entry_id, found.content, runtime.now())
            await reindex(tx, [entry_id], before)
    return found


async def _extract(
    runtime: Runtime, url: str, selectors: ArticleSelectors, within: float | None
) -> FullArticle:
    try:
        async with asyncio.timeout(within):
            page = await runtime.fetcher.fetch_page(url)
        if not isinstance(page, Fetched):
            return FullArticle(None, getattr(page, "message", _TOO_HARD))
        async with asyncio.timeout(EXTRACT_SECONDS):
            return await asyncio.to_thread(_read, page.body, page.url, selectors)
    except TimeoutError:
        return FullArticle(None, _TOO_HARD)


def _read(body: bytes, url: str, selectors: ArticleSelectors) -> FullArticle:
    from reedbed.ingest.article.extract import (
        ExtractedArticle,
        extract_article,  # loads the extractor at its first use
    )

    found = extract_article(body, url, keep=", ".join(selectors.keep), drop=", ".join(selectors.drop))
    return (
        FullArticle(found.content_html)
        if isinstance(found, ExtractedArticle)
        else FullArticle(None, found.reason)
    )


def _tried_lately(now: Instant, tried: Instant) -> str:
    hours = max(1, (tried + COOLDOWN - now) // (3_600 * SECOND))
    return f"The article could not be read from the site. The next try is possible in {hours} h."


def _ids(job: Job) -> Sequence[int]:
    return [int(one) for one in job.payload.get("entry_ids", ())]


READ_ANEW = 20
"""Articles read anew at once when the selectors change; the others when somebody opens them."""
NOT_YOURS = "Others follow this feed as well: only an operator may change what its articles are made of."


@record
class FeedSelectors:
    selectors: ArticleSelectors
    may_change: bool
    newest: int | None = None
    """An entry to see the effect on."""


async def selectors_of(runtime: Runtime, user: User, subscription_id: int) -> FeedSelectors:
    async with runtime.db.read() as tx:
        one = await subscriptions.get(tx, user.id, subscription_id)
        if one is None:
            raise NotFound(NO_SUCH)
        return FeedSelectors(
            await articles.get_selectors(tx, one.feed.id),
            _may_change(user, one),
            await articles.newest_saved(tx, one.feed.id),
        )


async def set_selectors(
    runtime: Runtime, user: User, subscription_id: int, *, keep: Sequence[str], drop: Sequence[str]
) -> FeedSelectors:
    """Checked one by one; what was read with others is read anew."""
    known = await selectors_of(runtime, user, subscription_id)
    if not known.may_change:
        raise Forbidden(NOT_YOURS)
    wanted = ArticleSelectors(tidy_selectors(keep, "keep"), tidy_selectors(drop, "drop"))
    await asyncio.to_thread(_check, wanted)
    if wanted != known.selectors:
        await _change(runtime, user, subscription_id, wanted)
    return await selectors_of(runtime, user, subscription_id)


async def _change(runtime: Runtime, user: User, subscription_id: int, wanted: ArticleSelectors) -> None:
    now = runtime.now()
    async with runtime.db.write() as tx:
        one = await subscriptions.get(tx, user.id, subscription_id)
        if one is None:
            raise NotFound(NO_SUCH)
        if one.feed.kind != "web":
            raise Invalid("The texts of this feed come by mail or by hand, not from pages.")
        await articles.set_selectors(tx, one.feed.id, wanted, now)
        await users.record_event(tx, now, "selectors_changed", user.id, {"feed_id": one.feed.id})
        anew = await articles.read_before(tx, one.feed.id, most=READ_ANEW)
        if anew:
            await jobs.add(tx, ARTICLES_JOB, {"entry_ids": list(anew)}, now=now)
    await runtime.bus.publish(ChangeEvent("wake", data={"for": "jobs"}))


def _check(selectors: ArticleSelectors) -> None:
    for chosen, field in ((selectors.keep, "keep"), (selectors.drop, "drop")):
        for one in chosen:
            check_selector(one, field)


def _may_change(user: User, one: Subscription) -> bool:
    return one.feed.kind == "web" and (user.operates or one.feed.private)


SAVED_JOB = "saved_page"

_NO_PAGE_URL = "This is not the address of a page. It should look like https://example.org/article."
_SECRETS = "The address holds a name or a password. Leave that part out."


async def save_page(runtime: Runtime, user_id: int, typed: str, title: str = "") -> SavedPage:
    """Mark the page for later; when this returns it is kept, whatever becomes of its article."""
    url, address = _page_address(typed)
    async with runtime.db.read() as tx:
        known = await articles.get_saved_by_url(tx, user_id, address)
    if known is not None:
        await change_entry(runtime, user_id, known, StateChange(later=True))
        return SavedPage(known, new=False)
    async with runtime.db.write() as tx:
        feed_id, followed = await _own_feed(tx, user_id, runtime.now())
        entry_id = await _keep(tx, runtime.now(), user_id, _row(feed_id, url, address, title, runtime.now()))
    if followed:
        await runtime.bus.publish(ChangeEvent("subscriptions", user_id=user_id))
    if entry_id is None:  # the same page, saved a moment ago from elsewhere
        return await save_page(runtime, user_id, typed, title)
    data = {"feed_id": str(feed_id), "ids": [str(entry_id)]}
    await runtime.bus.publish(ChangeEvent("new_entry", feed_id=feed_id, data=data))
    return SavedPage(entry_id, new=True)


async def read_saved_page(runtime: Runtime, job: Job) -> Done | Later:
    """The job: the words of a page that was saved by its address."""
    user_id, entry_id = job.user_id or 0, int(job.payload["entry_id"])
    async with runtime.db.read() as tx:
        found = await entries.get(tx, user_id, entry_id)
    if found is None or not found.row.url or found.content:
        return Done({})
    outcome = await _read_page(runtime, found.row.url)
    if isinstance(outcome, str | None):
        return await _missed(runtime, job, entry_id, outcome)
    async with runtime.db.write() as tx:
        await _fill(tx, entry_id, found.row.title, outcome)
    data = {"feed_id": str(found.row.feed_id), "ids": [str(entry_id)]}
    await runtime.bus.publish(ChangeEvent("entry_updated", feed_id=found.row.feed_id, data=data))
    return Done({"words": outcome.words})


def _page_address(typed: str) -> tuple[str, str]:
    """The address as it is opened, and as it is compared."""
    found = typed_addresses(storable(typed).strip())
    address = normalize_url(found[0]) if found else None
    if not found or address is None:
        raise Invalid(_NO_PAGE_URL, field="url")
    if has_userinfo(found[0]):
        raise Invalid(_SECRETS, field="url")
    return found[0], address


async def _own_feed(tx: Tx, user_id: int, now: Instant) -> tuple[int, bool]:
    feed_id, _ = await feeds.find_or_add(tx, FEED_URL, now, owner_id=user_id, kind="saved", title=FEED_TITLE)
    await lock_feed(tx, feed_id)
    return feed_id, await follow_own(tx, now, user_id, feed_id)


def _row(feed_id: int, url: str, address: str, title: str, now: Instant) -> NewEntryRow:
    name = shown_line(title)[:MAX_TITLE] or title_from_address(url)
    text = NewEntryText(title=name, content="", search=search_words(name, ""))
    return NewEntryRow(
        feed_id=feed_id,
        guid=address,
        url=url,
        normalized_url=address,
        change_hash=change_hash(name, ""),
        published_at=None,
        fetched_at=now,
        sort_at=now,
        text=text,
    )


async def _keep(tx: Tx, now: Instant, user_id: int, row: NewEntryRow) -> int | None:
    stored = await entry_writes.insert_new(tx, [row])
    if not stored:
        return None
    entry_id = stored[0][0]
    await search.index(tx, [(entry_id, row.text.search)])
    # It waits under "later" and is nobody's news: it arrives as read.
    await unread.fan_out(tx, [Arrival(row.feed_id, [entry_id], silent={user_id: {entry_id}})])
    await marks.set_flag(tx, user_id, "later", [entry_id], now)
    await jobs.add(tx, SAVED_JOB, {"entry_id": entry_id}, now=now, user_id=user_id)
    return entry_id


async def _read_page(runtime: Runtime, url: str) -> NewEntryText | str | None:
    """The words of the page; or how the fetch failed; None when it holds no article."""
    async with turn_at(runtime, host_of(url) or ""):
        page = await runtime.fetcher.fetch_page(url)
    if not isinstance(page, Fetched):
        return getattr(page, "kind", TEMPORARY)
    try:
        async with asyncio.timeout(EXTRACT_SECONDS):
            return await asyncio.to_thread(_words, page.body, page.url)
    except TimeoutError:
        return None


def _words(body: bytes, url: str) -> NewEntryText | None:
    from reedbed.ingest.article.extract import (
        ExtractedArticle,
        extract_article,  # loads the extractor at its first use
    )

    found = extract_article(body, url)
    if not isinstance(found, ExtractedArticle):
        return None
    entry = ParsedEntry(
        guid=None,
        url=url,
        title=found.title or "",
        content=found.content_html,
        published=found.published,
        authors=(Author(found.byline),) if found.byline else (),
        image=found.image,
        language=found.lang,
    )
    return words_of(entry, ParsedFeed("html", "", ()))


async def _fill(tx: Tx, entry_id: int, old_title: str, text: NewEntryText) -> None:
    await search.forget(tx, [(entry_id, [search_words(old_title, "")])])
    await articles.fill_saved(tx, entry_id, text, change_hash(text.title, text.content))
    await reindex(tx, [entry_id])


async def _missed(runtime: Runtime, job: Job, entry_id: int, failure: str | None) -> Done | Later:
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER, least=FIRST_WAIT)
    if failure == TEMPORARY and later is not None:
        return later
    async with runtime.db.write() as tx:
        await articles.record_attempt(tx, entry_id, runtime.now())
    return Done({"failed": failure or "no article"})
