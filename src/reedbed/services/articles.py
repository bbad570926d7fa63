"""Fetch full articles of entries, set the article selectors of a feed, and save any page by its URL."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.articles import (
    FEED_URL,
    FIRST_WAIT,
    GIVE_UP_AFTER,
    MAX_TITLE,
    ArticleSelectors,
    SavedPage,
    check_selectors,
    is_shorter,
    title_from_url,
)
from reedbed.domain.entries import StateChange
from reedbed.domain.errors import Forbidden, Invalid, NotFound, Unavailable
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import Author, ParsedEntry, ParsedFeed
from reedbed.domain.live import ChangeEvent
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import change_hash
from reedbed.domain.refresh.outcomes import TEMPORARY, Failed, Fetched
from reedbed.domain.search.forms import KnownWords
from reedbed.domain.search.indexing import search_words
from reedbed.domain.subscriptions import Subscription
from reedbed.domain.text import clean_line, storable
from reedbed.domain.times import DAY, SECOND, Instant
from reedbed.domain.urls import has_userinfo, host_of, normalize_url
from reedbed.domain.users import User
from reedbed.ingest.article.selectors import check_selector
from reedbed.ingest.discovery import urls_from_typed
from reedbed.services.email import texts_of
from reedbed.services.entries import change_entry
from reedbed.services.jobs import Done, Later, try_again, wake_jobs
from reedbed.services.live import publish_subscriptions
from reedbed.services.refresh.check import host_slot
from reedbed.services.refresh.diff import words_of
from reedbed.services.rules.match import ARTICLES_JOB
from reedbed.services.runtime import Runtime
from reedbed.services.search.forms import learn_words
from reedbed.services.search.upkeep import reindex
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
from reedbed.store.subscriptions import subscribe_to_own_feed
from reedbed.store.visibility import lock_feed

COOLDOWN = DAY
EXTRACT_SECONDS = 20.0
MAX_ADDRESS_LENGTH = 4_096
BATCH_SIZE = 20
"""Entries processed per run of a job, before other jobs get their turn."""

_TIMED_OUT = Failure(FailureCode.ARTICLE_TIMEOUT)


@record
class FullArticle:
    content: str | None
    """Sanitized HTML, or None."""
    failed: Failure | None = None
    """Why the article could not be fetched."""


async def read_full_article(
    runtime: Runtime, user_id: int, entry_id: int, *, within: float | None = None
) -> FullArticle:
    """The full article of an entry this user can see. Fetched now unless it was read with these selectors.

    `within`: seconds for the fetch; None for the fetcher's own timeout.
    """
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user_id, entry_id)
        tried = (await articles.selector_status(tx, entry_id)).tried_at
    if entry is None:
        raise NotFound("There is no such entry.")
    if entry.full_content is not None and tried is not None:
        return FullArticle(entry.full_content)
    if entry.row.url is None:
        return FullArticle(None, Failure(FailureCode.ARTICLE_NO_ADDRESS))
    if tried is not None and runtime.now() < tried + COOLDOWN:
        return FullArticle(None, _cooldown(runtime.now(), tried))
    article = await _fetch(runtime, entry_id, entry.row.url, within)
    return article if article.content is not None else replace(article, content=entry.full_content)


async def open_article(runtime: Runtime, user_id: int, url: str) -> str:
    """The article at a URL, which must be the URL of an entry this user can see."""
    normalized = normalize_url(storable(url)) if len(url) <= MAX_ADDRESS_LENGTH else None
    async with runtime.db.read() as tx:
        entry_id = await articles.seen_at(tx, user_id, normalized) if normalized else None
    if entry_id is None:
        raise NotFound("None of your entries has this address.")
    article = await read_full_article(runtime, user_id, entry_id, within=runtime.images.timeout)
    if article.content is None:
        raise Unavailable(article.failed or _TIMED_OUT)
    return article.content


async def fetch_articles(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: fetch articles of new entries in feeds for which a user has full text enabled."""
    async with runtime.db.read() as tx:
        waiting = await articles.never_tried(tx, _entry_ids(job))
    for entry_id, url in waiting[:BATCH_SIZE]:
        await fetch_throttled(runtime, entry_id, url)
    return Later(runtime.now()) if len(waiting) > BATCH_SIZE else Done({"articles": len(waiting)})


async def fetch_throttled(runtime: Runtime, entry_id: int, url: str) -> FullArticle:
    """Fetch after waiting for a request slot of this host."""
    async with host_slot(runtime, host_of(url) or ""):
        return await _fetch(runtime, entry_id, url)


async def _fetch(runtime: Runtime, entry_id: int, url: str, within: float | None = None) -> FullArticle:
    async with runtime.db.read() as tx:
        selectors = (await articles.selector_status(tx, entry_id)).selectors
        feed_content = await articles.given(tx, entry_id)
    selectors = selectors or runtime.recipes.current.article_selectors(url) or selectors
    article = await _extract(runtime, url, selectors, within)
    # Selectors were chosen by a person who has seen the pages, so trust them.
    if article.content is not None and not selectors and is_shorter(article.content, feed_content):
        article = FullArticle(None, Failure(FailureCode.ARTICLE_SHORTER))
    async with runtime.db.write() as tx:
        if article.content is None:
            await articles.record_attempt(tx, entry_id, runtime.now())
        else:
            needs_old_text = search.needs_text_to_delete(tx.engine)
            old_texts = await texts.possibly_indexed(tx, [entry_id]) if needs_old_text else []
            await articles.save(tx, entry_id, article.content, runtime.now())
            await reindex(tx, runtime.known_words, [entry_id], old_texts)
    return article


async def _extract(runtime: Runtime, url: str, selectors: ArticleSelectors, within: float | None) -> FullArticle:
    try:
        async with asyncio.timeout(within):
            page = await runtime.fetcher.fetch_page(url)
        if not isinstance(page, Fetched):
            return FullArticle(None, page.failure)
        async with asyncio.timeout(EXTRACT_SECONDS):
            return await asyncio.to_thread(_extract_content, page.body, page.url, selectors)
    except TimeoutError:
        return FullArticle(None, _TIMED_OUT)


def _extract_content(body: bytes, url: str, selectors: ArticleSelectors) -> FullArticle:
    # Imported here, because loading the extractor is slow.
    from reedbed.ingest.article.extract import ExtractedArticle, extract_article

    result = extract_article(body, url, keep=", ".join(selectors.keep), drop=", ".join(selectors.drop))
    return (
        FullArticle(result.content_html) if isinstance(result, ExtractedArticle) else FullArticle(None, result.reason)
    )


def _cooldown(now: Instant, tried_at: Instant) -> Failure:
    hours = max(1, (tried_at + COOLDOWN - now) // (3_600 * SECOND))
    return Failure(FailureCode.ARTICLE_COOLDOWN, {"hours": hours})


def _entry_ids(job: Job) -> Sequence[int]:
    return [int(id_) for id_ in job.payload.get("entry_ids", ())]


# --- Article selectors of a feed

REFETCH_LIMIT = 20
"""Articles fetched again right after the selectors change; others are fetched when opened."""
NOT_YOURS = "Others follow this feed as well: only an operator may change what its articles are made of."


@record
class FeedSelectors:
    selectors: ArticleSelectors
    may_change: bool
    newest: int | None = None
    """An entry to preview the effect on."""


async def selectors_of(runtime: Runtime, user: User, subscription_id: int) -> FeedSelectors:
    async with runtime.db.read() as tx:
        subscription = await subscriptions.get(tx, user.id, subscription_id)
        if subscription is None:
            raise NotFound(NO_SUCH)
        return FeedSelectors(
            await articles.get_selectors(tx, subscription.feed.id),
            _may_change(user, subscription),
            await articles.newest_with_url(tx, subscription.feed.id),
        )


async def set_selectors(
    runtime: Runtime, user: User, subscription_id: int, *, keep: Sequence[str], drop: Sequence[str]
) -> FeedSelectors:
    """Check and save the selectors. Articles read with the old ones are fetched again."""
    current = await selectors_of(runtime, user, subscription_id)
    if not current.may_change:
        raise Forbidden(NOT_YOURS)
    selectors = ArticleSelectors(check_selectors(keep, "keep"), check_selectors(drop, "drop"))
    await asyncio.to_thread(_check_selectors, selectors)
    if selectors != current.selectors:
        await _save_selectors(runtime, user, subscription_id, selectors)
    return await selectors_of(runtime, user, subscription_id)


async def _save_selectors(runtime: Runtime, user: User, subscription_id: int, selectors: ArticleSelectors) -> None:
    now = runtime.now()
    async with runtime.db.write() as tx:
        subscription = await subscriptions.get(tx, user.id, subscription_id)
        if subscription is None:
            raise NotFound(NO_SUCH)
        if subscription.feed.kind != "web":
            raise Invalid("The texts of this feed come by mail or by hand, not from pages.")
        await articles.set_selectors(tx, subscription.feed.id, selectors, now)
        await users.record_event(tx, now, "selectors_changed", user.id, {"feed_id": subscription.feed.id})
        entry_ids = await articles.read_before(tx, subscription.feed.id, limit=REFETCH_LIMIT)
        if entry_ids:
            await jobs.add(tx, ARTICLES_JOB, {"entry_ids": list(entry_ids)}, now=now)
    await wake_jobs(runtime)


def _check_selectors(selectors: ArticleSelectors) -> None:
    for values, field in ((selectors.keep, "keep"), (selectors.drop, "drop")):
        for selector in values:
            check_selector(selector, field)


def _may_change(user: User, subscription: Subscription) -> bool:
    return subscription.feed.kind == "web" and (user.operates or subscription.feed.private)


# --- Saved pages

SAVED_JOB = "saved_page"

_NO_PAGE_URL = "This is not the address of a page. It should look like https://example.org/article."
_HAS_CREDENTIALS = "The address holds a name or a password. Leave that part out."


async def save_page(runtime: Runtime, user_id: int, typed: str, title: str = "") -> SavedPage:
    """Save a page for later. It is stored when this returns; its article is fetched by a job."""
    url, normalized = _parse_page_url(typed)
    async with runtime.db.read() as tx:
        existing_id = await articles.get_saved_by_url(tx, user_id, normalized)
    if existing_id is not None:
        await change_entry(runtime, user_id, existing_id, StateChange(later=True))
        return SavedPage(existing_id, new=False)
    feed_title = (await texts_of(runtime, user_id)).translate("Saved pages")
    async with runtime.db.write() as tx:
        feed_id, subscribed = await _own_feed(tx, user_id, feed_title, runtime.now())
        entry_id = await _store_page(tx, runtime.now(), user_id, _row(feed_id, url, normalized, title, runtime.now()))
    if subscribed:
        await publish_subscriptions(runtime, user_id)
    if entry_id is None:  # the same page was saved concurrently
        return await save_page(runtime, user_id, typed, title)
    await runtime.bus.publish(_entry_event("new_entry", feed_id, entry_id))
    return SavedPage(entry_id, new=True)


async def read_saved_page(runtime: Runtime, job: Job) -> Done | Later:
    """Job handler: fetch the article of a saved page."""
    user_id, entry_id = job.user_id or 0, int(job.payload["entry_id"])
    async with runtime.db.read() as tx:
        entry = await entries.get(tx, user_id, entry_id)
    if entry is None or not entry.row.url or entry.content:
        return Done({})
    outcome = await _read_page(runtime, entry.row.url)
    if isinstance(outcome, str | None):
        return await _record_failed_read(runtime, job, entry_id, outcome)
    async with runtime.db.write() as tx:
        await _save_text(tx, runtime.known_words, entry_id, entry.row.title, outcome)
    await runtime.bus.publish(_entry_event("entry_updated", entry.row.feed_id, entry_id))
    return Done({"words": outcome.words})


def _entry_event(topic: str, feed_id: int, entry_id: int) -> ChangeEvent:
    return ChangeEvent(topic, feed_id=feed_id, data={"feed_id": str(feed_id), "ids": [str(entry_id)]})


def _parse_page_url(typed: str) -> tuple[str, str]:
    """The URL to open, and its normalized form."""
    urls = urls_from_typed(storable(typed).strip())
    normalized = normalize_url(urls[0]) if urls else None
    if not urls or normalized is None:
        raise Invalid(_NO_PAGE_URL, field="url")
    if has_userinfo(urls[0]):
        raise Invalid(_HAS_CREDENTIALS, field="url")
    return urls[0], normalized


async def _own_feed(tx: Tx, user_id: int, title: str, now: Instant) -> tuple[int, bool]:
    feed_id, _ = await feeds.find_or_add(tx, FEED_URL, now, owner_id=user_id, kind="saved", title=title)
    await lock_feed(tx, feed_id)
    return feed_id, await subscribe_to_own_feed(tx, now, user_id, feed_id)


def _row(feed_id: int, url: str, normalized: str, title: str, now: Instant) -> NewEntryRow:
    shown_title = clean_line(title)[:MAX_TITLE] or title_from_url(url)
    text = NewEntryText(title=shown_title, content="", search=search_words(shown_title, ""))
    return NewEntryRow(
        feed_id=feed_id,
        guid=normalized,
        url=url,
        normalized_url=normalized,
        change_hash=change_hash(shown_title, ""),
        published_at=None,
        fetched_at=now,
        sort_at=now,
        text=text,
    )


async def _store_page(tx: Tx, now: Instant, user_id: int, row: NewEntryRow) -> int | None:
    stored = await entry_writes.insert_new(tx, [row])
    if not stored:
        return None
    entry_id = stored[0][0]
    await learn_words(tx, [(row.text.language, row.text.search)])
    await search.index(tx, [(entry_id, row.text.search)])
    # It is listed under "later" and is not new to the user, so it arrives as read.
    await unread.fan_out(tx, [Arrival(row.feed_id, [entry_id], silent={user_id: {entry_id}})])
    await marks.set_flag(tx, user_id, "later", [entry_id], now)
    await jobs.add(tx, SAVED_JOB, {"entry_id": entry_id}, now=now, user_id=user_id)
    return entry_id


async def _read_page(runtime: Runtime, url: str) -> NewEntryText | str | None:
    """The text of the page, or the kind of fetch failure, or None if the page has no article."""
    async with host_slot(runtime, host_of(url) or ""):
        page = await runtime.fetcher.fetch_page(url)
    if not isinstance(page, Fetched):
        return page.kind if isinstance(page, Failed) else TEMPORARY
    try:
        async with asyncio.timeout(EXTRACT_SECONDS):
            known = runtime.recipes.current.article_selectors(url) or ArticleSelectors()
            return await asyncio.to_thread(_extract_text, page.body, page.url, known)
    except TimeoutError:
        return None


def _extract_text(body: bytes, url: str, selectors: ArticleSelectors) -> NewEntryText | None:
    # Imported here, because loading the extractor is slow.
    from reedbed.ingest.article.extract import ExtractedArticle, extract_article

    result = extract_article(body, url, keep=", ".join(selectors.keep), drop=", ".join(selectors.drop))
    if not isinstance(result, ExtractedArticle):
        return None
    entry = ParsedEntry(
        guid=None,
        url=url,
        title=result.title or "",
        content=result.content_html,
        published=result.published,
        authors=(Author(result.byline),) if result.byline else (),
        image=result.image,
        language=result.lang,
    )
    return words_of(entry, ParsedFeed("html", "", ()))


async def _save_text(tx: Tx, known: KnownWords, entry_id: int, old_title: str, text: NewEntryText) -> None:
    await search.forget(tx, [(entry_id, [search_words(old_title, "")])])
    await articles.fill_saved(tx, entry_id, text, change_hash(text.title, text.content))
    await reindex(tx, known, [entry_id])


async def _record_failed_read(runtime: Runtime, job: Job, entry_id: int, failure: str | None) -> Done | Later:
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER, min_wait=FIRST_WAIT)
    if failure == TEMPORARY and later is not None:
        return later
    async with runtime.db.write() as tx:
        await articles.record_attempt(tx, entry_id, runtime.now())
    return Done({"failed": failure or "no article"})
