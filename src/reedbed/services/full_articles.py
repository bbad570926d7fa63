"""Truncated feeds become whole articles: on demand, or for every entry of a feed that somebody wants so."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from reedbed.domain.article_selectors import ArticleSelectors
from reedbed.domain.errors import NotFound, Unavailable
from reedbed.domain.fetching import Fetched
from reedbed.domain.full_articles import is_shorter
from reedbed.domain.records import record
from reedbed.domain.texts import storable
from reedbed.domain.times import DAY, SECOND, Instant
from reedbed.domain.urls import host_of, normalize_url
from reedbed.services.crawl import turn_at
from reedbed.services.jobs import Done, Later
from reedbed.services.runtime import Runtime
from reedbed.services.search_upkeep import reindex
from reedbed.store import article_selectors, entries, full_articles, search
from reedbed.store.jobs import Job
from reedbed.store.search import texts

COOLDOWN = DAY
EXTRACT_SECONDS = 20.0
LONGEST_ADDRESS = 4_096
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
        tried = (await article_selectors.standing(tx, entry_id)).tried_at
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
    address = normalize_url(storable(url)) if len(url) <= LONGEST_ADDRESS else None
    async with runtime.db.read() as tx:
        entry_id = await full_articles.seen_at(tx, user_id, address) if address else None
    if entry_id is None:
        raise NotFound("None of your entries has this address.")
    found = await read_full_article(runtime, user_id, entry_id, within=runtime.images.timeout)
    if found.content is None:
        raise Unavailable(found.failed)
    return found.content


async def fetch_articles(runtime: Runtime, job: Job) -> Done | Later:
    """The job: entries that arrived in a feed whose articles somebody always wants whole."""
    async with runtime.db.read() as tx:
        waiting = await full_articles.never_tried(tx, _ids(job))
    for entry_id, url in waiting[:AT_ONCE]:
        await fetch_politely(runtime, entry_id, url)
    return Later(runtime.now()) if len(waiting) > AT_ONCE else Done({"articles": len(waiting)})


async def fetch_politely(runtime: Runtime, entry_id: int, url: str) -> FullArticle:
    """When it is this host's turn."""
    async with turn_at(runtime, host_of(url) or ""):
        return await _fetch(runtime, entry_id, url)


async def _fetch(runtime: Runtime, entry_id: int, url: str, within: float | None = None) -> FullArticle:
    async with runtime.db.read() as tx:
        selectors = (await article_selectors.standing(tx, entry_id)).selectors
        given = await full_articles.given(tx, entry_id)
    found = await _extract(runtime, url, selectors, within)
    # With selectors, somebody has looked at the pages and chosen what is the article.
    if found.content is not None and not selectors and is_shorter(found.content, given):
        found = FullArticle(None, _SHORTER)
    async with runtime.db.write() as tx:
        if found.content is None:
            await full_articles.note_attempt(tx, entry_id, runtime.now())
        else:
            forgets = search.needs_words_to_forget(tx.engine)
            before = await texts.possibly_indexed(tx, [entry_id]) if forgets else []
            await full_articles.keep(tx, entry_id, found.content, runtime.now())
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
    from reedbed.ingest.article import Article, extract_article  # loads the extractor at its first use

    found = extract_article(body, url, keep=", ".join(selectors.keep), drop=", ".join(selectors.drop))
    return FullArticle(found.content_html) if isinstance(found, Article) else FullArticle(None, found.reason)


def _tried_lately(now: Instant, tried: Instant) -> str:
    hours = max(1, (tried + COOLDOWN - now) // (3_600 * SECOND))
    return f"The article could not be read from the site. The next try is possible in {hours} h."


def _ids(job: Job) -> Sequence[int]:
    return [int(one) for one in job.payload.get("entry_ids", ())]
