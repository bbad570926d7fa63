"""Turn a fetched document into a check result: parse, compare with stored entries, clean the new ones."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

import orjson

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import NotAFeed, ParsedEntry, ParsedFeed
from reedbed.domain.playback import recordings_of
from reedbed.domain.records import record
from reedbed.domain.refresh.dedupe import (
    COLLISIONS_TO_DISTRUST,
    ChangedEntry,
    ExistingEntry,
    FilteredEntries,
    IncomingEntry,
    NewEntry,
    Traits,
    WritePlan,
    filter_entries,
    newest,
    plan_rest,
)
from reedbed.domain.refresh.outcomes import Failed, Fetched
from reedbed.domain.refresh.state import DueFeed, FeedMetadata, FetchState, Terms, after_document
from reedbed.domain.retention import keys_of, with_removed
from reedbed.domain.search.indexing import search_words
from reedbed.domain.text import clean_line
from reedbed.domain.urls import normalize_url
from reedbed.ingest.language import entry_language
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.text import cut, digest_content
from reedbed.services.runtime import Runtime
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries.write import EntryUpdate, NewEntryRow, NewEntryText
from reedbed.store.feeds.feeds import FetchStats
from reedbed.store.refresh import CheckResult

# --- Entry text

_MAX_AUTHOR = 300
_MAX_TITLE_FROM_TEXT = 80
_UNTITLED = "Untitled"
_LANGUAGE_SAMPLE = 300


def words_of(entry: ParsedEntry, feed: ParsedFeed) -> NewEntryText:
    content = clean_html(entry.content or entry.summary or "", entry.url or feed.site_url)
    digest = digest_content(content)
    title = clean_line(entry.title) or cut(digest.text, _MAX_TITLE_FROM_TEXT) or entry.url or _UNTITLED
    author = _author(entry, feed)
    return NewEntryText(
        title=title,
        content=content,
        plain=digest.text,
        author=author,
        summary=digest.preview,
        image=entry.image or digest.image,
        language=entry_language(entry.language or feed.language, digest.text[:_LANGUAGE_SAMPLE]),
        words=digest.words,
        extra=_extra(entry),
        search=search_words(title, digest.text, author, entry.categories),
        recordings=recordings_of(entry.enclosures) if entry.enclosures else (),
    )


def _author(entry: ParsedEntry, feed: ParsedFeed) -> str | None:
    names = [author.name for author in entry.authors or feed.authors if author.name]
    return clean_line(", ".join(names))[:_MAX_AUTHOR] or None


def _extra(entry: ParsedEntry) -> str:
    """Fields that are only shown on the entry page, as JSON without empty values."""
    parts = {
        "authors": entry.authors,
        "categories": entry.categories,
        "enclosures": entry.enclosures,
        "comments_url": entry.comments_url,
        "external_url": entry.external_url,
        "texts": entry.texts,
    }
    present = {name: value for name, value in parts.items() if value}
    return orjson.dumps(present).decode() if present else "{}"


# --- Comparing with stored entries

HASHES_COMPARED = 2_000
"""How many recent entries are compared by content hash, for entries without guid and URL."""

_MAX_KEY_LENGTH = 2_000
"""In bytes. PostgreSQL cannot index a value longer than a third of a page."""

N = TypeVar("N", NewEntry, ChangedEntry)
R = TypeVar("R")

_MAX_UNPAUSED = 32_000
"""Characters of markup cleaned without a pause. More would delay HTTP requests."""
_PAUSE_SECONDS = 0.001
"""The pause after each text while HTTP requests are being served."""

# One thread: several would not clean faster, but would all compete with the event loop for the GIL.
_long_text_pool = ThreadPoolExecutor(1, thread_name_prefix="long-texts")


@record
class Check:
    """A check in progress."""

    due: DueFeed
    terms: Terms
    stats: FetchStats


def body_hash(body: bytes) -> str:
    return sha256(body).hexdigest()[:32]


async def read_document(runtime: Runtime, check: Check, fetched: Fetched, digest: str) -> CheckResult | Failed:
    """`digest` is the hash of the body. The caller has already compared it with the previous one."""
    parsed = None
    if check.due.owner_id is not None:
        from reedbed.services.refresh.pages import read_page  # imported late: few have feeds that are made from pages

        parsed = await read_page(runtime, check.due, fetched)
    if parsed is None:
        parsed = await parse_safely(fetched.body, content_type=fetched.content_type, url=fetched.url)
    if isinstance(parsed, NotAFeed):
        return Failed("permanent_error", parsed.reason, fetched.status)
    if parsed.truncated and not parsed.entries:
        return Failed("permanent_error", Failure(FailureCode.FEED_UNREADABLE), fetched.status)
    arriving: Sequence[ParsedEntry] = parsed.entries
    if runtime.plugins:
        from reedbed.services.plugins import pass_entries  # imported late: few have plugins

        arriving = await pass_entries(runtime, fetched.url, arriving)
    entries = [_with_short_keys(entry) for entry in newest(arriving, check.terms.now)]
    plan = await _plan(runtime, check, entries)
    new_rows, updates = await _build_rows(runtime, check, plan, parsed)
    if new_rows and check.due.hub_was_watched:
        # The hub did not send these, so poll the feed at its own interval until the hub sends something.
        check = replace(check, terms=replace(check.terms, pushed=False))
    stats = replace(check.stats, new_entries=len(new_rows), bytes=len(fetched.body))
    metadata = _metadata(check.due.about, parsed, fetched, plan)
    return CheckResult(
        check.due,
        _state(check, fetched, digest, parsed, changed=bool(new_rows or updates)),
        stats,
        about=None if metadata == check.due.about else metadata,
        news=new_rows,
        rewrites=updates,
        listed=(*plan.unchanged, *(change.entry_id for change in plan.changed)),
        removed=tuple(key for entry in plan.forgotten for key in keys_of(entry)),
    )


async def _plan(runtime: Runtime, check: Check, entries: Sequence[ParsedEntry]) -> WritePlan:
    due = check.due
    traits = Traits(
        collisions=due.about.guid_collisions,
        unreliable=due.about.guid_unreliable,
        allow_duplicate_urls=due.allow_duplicate_urls,
        first_fetch=due.first_fetch,
    )
    if due.first_fetch:
        return plan_rest(filter_entries(entries, {}, traits), ExistingEntry(), traits, check.terms.now)
    async with runtime.db.read() as tx:
        guids = [entry.guid for entry in entries if entry.guid]
        by_guid = await entry_writes.entries_by_guid(tx, due.id, guids) if guids else {}
        filtered = filter_entries(entries, by_guid, traits)
        urls = _normalized_urls(filtered)
        by_url = await entry_writes.entries_by_url(tx, due.id, urls) if urls else {}
        existing = ExistingEntry(by_guid, by_url)
        if _needs_hashes(filtered, existing, traits):
            recent = await entry_writes.newest_by_key(tx, due.id, HASHES_COMPARED)
            existing = replace(existing, by_hash=recent.by_hash)
        existing = (
            with_removed(filtered, existing, await _removed_keys(tx, due.id, filtered)) if filtered.rest else existing
        )
    return plan_rest(filtered, existing, traits, check.terms.now)


async def _removed_keys(tx: Tx, feed_id: int, filtered: FilteredEntries) -> set[int]:
    return await entry_writes.known(
        tx, feed_id, [key for candidate in filtered.rest for key in keys_of(candidate.entry)]
    )


def _normalized_urls(filtered: FilteredEntries) -> list[str]:
    urls = (candidate.entry.url for candidate in filtered.rest)
    return [key for url in urls if url and (key := normalize_url(url))]


def _needs_hashes(filtered: FilteredEntries, existing: ExistingEntry, traits: Traits) -> bool:
    """Whether some entry can be identified only by its content, as neither guid nor URL are usable or known."""
    if filtered.rest and not (filtered.unchanged or existing.by_guid or existing.by_url):
        return True
    # The most collisions that this comparison can add, after which guids are no longer trusted.
    collisions = sum(1 for candidate in filtered.rest if candidate.entry.guid in existing.by_guid)
    trusted = not traits.unreliable and traits.collisions + collisions < COLLISIONS_TO_DISTRUST
    return any(_lacks_key(candidate, existing, traits, trusted) for candidate in filtered.rest)


def _lacks_key(candidate: IncomingEntry, existing: ExistingEntry, traits: Traits, trusted: bool) -> bool:
    entry = candidate.entry
    if trusted and entry.guid:
        return False
    if not entry.url or traits.allow_duplicate_urls:
        return True
    return not trusted and normalize_url(entry.url) not in existing.by_url


# --- Building rows


async def _build_rows(
    runtime: Runtime, check: Check, plan: WritePlan, parsed: ParsedFeed
) -> tuple[list[NewEntryRow], list[EntryUpdate]]:
    if not plan.new and not plan.changed:
        return [], []
    async with runtime.cleaning:
        cleaner = Writing(runtime, check, parsed)
        new_rows = [await cleaner.out(_entry_row, new) for new in plan.new]
        updates = [await cleaner.out(_entry_update, changed) for changed in plan.changed]
    return new_rows, updates


class Writing:
    """Clean texts on the event loop, with pauses, and more slowly while HTTP requests are served.

    A thread for all texts would block the loop just as much and take a tenth longer, because data moved
    between cores misses both caches. Only long texts, which cannot be paused, go to a thread.
    """

    def __init__(self, runtime: Runtime, check: Check, parsed: ParsedFeed) -> None:
        self._metrics = runtime.metrics
        self._check, self._parsed = check, parsed
        self._since_pause = 0

    async def out(self, build: Callable[[Check, N, ParsedFeed], R], item: N) -> R:
        size = len(item.entry.content or item.entry.summary or "")
        if size > _MAX_UNPAUSED:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(_long_text_pool, build, self._check, item, self._parsed)
        await self._pause_before(size)
        return build(self._check, item, self._parsed)

    async def _pause_before(self, size: int) -> None:
        self._since_pause += size
        if self._metrics.requests_in_progress:
            await asyncio.sleep(_PAUSE_SECONDS)
        elif self._since_pause > _MAX_UNPAUSED:
            await asyncio.sleep(0)
        else:
            return
        self._since_pause = size


def _entry_row(check: Check, new: NewEntry, parsed: ParsedFeed) -> NewEntryRow:
    return NewEntryRow(
        feed_id=check.due.id,
        guid=new.guid,
        url=new.entry.url,
        normalized_url=new.url,
        change_hash=new.change_hash,
        published_at=new.entry.published,
        fetched_at=check.terms.now,
        sort_at=new.sort_at,
        text=words_of(new.entry, parsed),
    )


def _entry_update(check: Check, changed: ChangedEntry, parsed: ParsedFeed) -> EntryUpdate:
    return EntryUpdate(
        entry_id=changed.entry_id,
        feed_id=check.due.id,
        url=changed.entry.url,
        normalized_url=changed.url,
        change_hash=changed.change_hash,
        changed_at=check.terms.now,
        text=words_of(changed.entry, parsed),
    )


def _state(check: Check, fetched: Fetched, digest: str, parsed: ParsedFeed, *, changed: bool) -> FetchState:
    state = after_document(
        check.due.state,
        fetched.hints,
        fetched.redirected,
        fetched.status,
        check.terms,
        body_hash=digest,
        times=[entry.published for entry in parsed.entries if entry.published is not None],
        rhythm=parsed.rhythm,
        damaged=parsed.truncated,
    )
    return replace(state, last_changed_at=check.terms.now) if changed else state


def _metadata(before: FeedMetadata, parsed: ParsedFeed, fetched: Fetched, plan: WritePlan) -> FeedMetadata:
    """Metadata of the feed. Fields missing in this document keep their previous value."""
    header = dict(fetched.links)
    return FeedMetadata(
        title=clean_line(parsed.title) or before.title,
        description=parsed.description or before.description,
        site_url=parsed.site_url or before.site_url,
        self_url=header.get("self") or parsed.self_url,
        hub_url=header.get("hub") or parsed.hub_url,
        language=parsed.language or before.language,
        icon_url=parsed.icon or parsed.image or before.icon_url,
        guid_unreliable=plan.unreliable,
        guid_collisions=plan.collisions,
    )


def _with_short_keys(entry: ParsedEntry) -> ParsedEntry:
    """Replace a guid or URL that is too long for an index by its hash."""
    guid, url = entry.guid, entry.url
    if (not guid or len(guid) <= _MAX_KEY_LENGTH // 4) and (not url or len(url) <= _MAX_KEY_LENGTH // 4):
        return entry
    if guid and len(guid.encode()) > _MAX_KEY_LENGTH:
        guid = f"sha256:{body_hash(guid.encode())}"
    if url and len(url.encode()) > _MAX_KEY_LENGTH:
        guid, url = guid or f"sha256:{body_hash(url.encode())}", None
    return entry._replace(guid=guid, url=url)
