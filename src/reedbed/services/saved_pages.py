"""Any page, kept for later by its address: safe at once, its article fetched right after."""

import asyncio

from reedbed.domain.dedupe import change_hash
from reedbed.domain.entries import Change
from reedbed.domain.errors import Invalid
from reedbed.domain.feeds import Author, ParsedEntry, ParsedFeed
from reedbed.domain.fetching import Fetched
from reedbed.domain.hints import Hint
from reedbed.domain.saved_pages import (
    FEED_TITLE,
    FEED_URL,
    FIRST_WAIT,
    GIVE_UP_AFTER,
    MAX_TITLE,
    SavedPage,
    title_from_address,
)
from reedbed.domain.search_words import search_words
from reedbed.domain.texts import shown_line, storable
from reedbed.domain.times import Instant
from reedbed.domain.urls import has_userinfo, host_of, normalize_url
from reedbed.ingest.failures import TEMPORARY
from reedbed.ingest.typed_address import typed_addresses
from reedbed.services.crawl import turn_at
from reedbed.services.entries import change_entry
from reedbed.services.full_articles import EXTRACT_SECONDS
from reedbed.services.jobs import Done, Later, try_again
from reedbed.services.private_feeds import follow_own
from reedbed.services.refresh_words import words_of
from reedbed.services.runtime import Runtime
from reedbed.services.search_upkeep import reindex
from reedbed.store import (
    entries,
    entry_writes,
    feeds,
    full_articles,
    jobs,
    marks,
    saved_pages,
    search,
    unread,
)
from reedbed.store.alive import lock_feed
from reedbed.store.database import Tx
from reedbed.store.entry_writes import EntryRow, EntryText
from reedbed.store.jobs import Job
from reedbed.store.unread import Arrival

SAVED_JOB = "saved_page"

_NO_ADDRESS = "This is not the address of a page. It should look like https://example.org/article."
_SECRETS = "The address holds a name or a password. Leave that part out."


async def save_page(runtime: Runtime, user_id: int, typed: str, title: str = "") -> SavedPage:
    """Mark the page for later; when this returns it is kept, whatever becomes of its article."""
    url, address = _page_address(typed)
    async with runtime.db.read() as tx:
        known = await saved_pages.by_address(tx, user_id, address)
    if known is not None:
        await change_entry(runtime, user_id, known, Change(later=True))
        return SavedPage(known, new=False)
    async with runtime.db.write() as tx:
        feed_id, followed = await _own_feed(tx, user_id, runtime.now())
        entry_id = await _keep(tx, runtime.now(), user_id, _row(feed_id, url, address, title, runtime.now()))
    if followed:
        await runtime.bus.publish(Hint("subscriptions", user_id=user_id))
    if entry_id is None:  # the same page, saved a moment ago from elsewhere
        return await save_page(runtime, user_id, typed, title)
    data = {"feed_id": str(feed_id), "ids": [str(entry_id)]}
    await runtime.bus.publish(Hint("new_entry", feed_id=feed_id, data=data))
    return SavedPage(entry_id, new=True)


async def read_saved_page(runtime: Runtime, job: Job) -> Done | Later:
    """The job: the words of a page that was saved by its address."""
    user_id, entry_id = job.user_id or 0, int(job.payload["entry_id"])
    async with runtime.db.read() as tx:
        found = await entries.get(tx, user_id, entry_id)
    if found is None or not found.row.url or found.content:
        return Done({})
    outcome = await _read(runtime, found.row.url)
    if isinstance(outcome, str | None):
        return await _missed(runtime, job, entry_id, outcome)
    async with runtime.db.write() as tx:
        await _fill(tx, entry_id, found.row.title, outcome)
    data = {"feed_id": str(found.row.feed_id), "ids": [str(entry_id)]}
    await runtime.bus.publish(Hint("entry_updated", feed_id=found.row.feed_id, data=data))
    return Done({"words": outcome.words})


def _page_address(typed: str) -> tuple[str, str]:
    """The address as it is opened, and as it is compared."""
    found = typed_addresses(storable(typed).strip())
    address = normalize_url(found[0]) if found else None
    if not found or address is None:
        raise Invalid(_NO_ADDRESS, field="url")
    if has_userinfo(found[0]):
        raise Invalid(_SECRETS, field="url")
    return found[0], address


async def _own_feed(tx: Tx, user_id: int, now: Instant) -> tuple[int, bool]:
    feed_id, _ = await feeds.find_or_add(tx, FEED_URL, now, owner_id=user_id, kind="saved", title=FEED_TITLE)
    await lock_feed(tx, feed_id)
    return feed_id, await follow_own(tx, now, user_id, feed_id)


def _row(feed_id: int, url: str, address: str, title: str, now: Instant) -> EntryRow:
    name = shown_line(title)[:MAX_TITLE] or title_from_address(url)
    text = EntryText(title=name, content="", search=search_words(name, ""))
    return EntryRow(
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


async def _keep(tx: Tx, now: Instant, user_id: int, row: EntryRow) -> int | None:
    stored = await entry_writes.insert_new(tx, [row])
    if not stored:
        return None
    entry_id = stored[0][0]
    await search.index(tx, [(entry_id, row.text.search)])
    # It waits under "later" and is nobody's news: it arrives as read.
    await unread.fan_out(tx, [Arrival(row.feed_id, [entry_id], silent={user_id: {entry_id}})])
    await marks.put(tx, user_id, "later", [entry_id], now)
    await jobs.add(tx, SAVED_JOB, {"entry_id": entry_id}, now=now, user_id=user_id)
    return entry_id


async def _read(runtime: Runtime, url: str) -> EntryText | str | None:
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


def _words(body: bytes, url: str) -> EntryText | None:
    from reedbed.ingest.article import Article, extract_article  # loads the extractor at its first use

    found = extract_article(body, url)
    if not isinstance(found, Article):
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


async def _fill(tx: Tx, entry_id: int, old_title: str, text: EntryText) -> None:
    await search.forget(tx, [(entry_id, [search_words(old_title, "")])])
    await saved_pages.fill(tx, entry_id, text, change_hash(text.title, text.content))
    await reindex(tx, [entry_id])


async def _missed(runtime: Runtime, job: Job, entry_id: int, failure: str | None) -> Done | Later:
    later = try_again(runtime, job, give_up_after=GIVE_UP_AFTER, least=FIRST_WAIT)
    if failure == TEMPORARY and later is not None:
        return later
    async with runtime.db.write() as tx:
        await full_articles.note_attempt(tx, entry_id, runtime.now())
    return Done({"failed": failure or "no article"})
