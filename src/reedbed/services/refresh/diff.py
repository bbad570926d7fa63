"""From a document to what it changes: parse, compare with what is known, clean only what is new."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from typing import TypeVar

import orjson

from reedbed.domain.feeds import NotAFeed, ParsedEntry, ParsedFeed
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
from reedbed.domain.search import search_words
from reedbed.domain.text import shown_line
from reedbed.domain.urls import normalize_url
from reedbed.ingest.language import entry_language
from reedbed.ingest.parse import parse_safely
from reedbed.ingest.sanitize import clean_html
from reedbed.ingest.text import cut, digest_content
from reedbed.services.runtime import Runtime
from reedbed.store.engine.database import Tx
from reedbed.store.entries import write as entry_writes
from reedbed.store.entries import write as removed
from reedbed.store.entries.write import EntryUpdate, NewEntryRow, NewEntryText
from reedbed.store.feeds.feeds import FetchStats
from reedbed.store.refresh import CheckResult

_MAX_AUTHOR = 300
_TITLE_FROM_TEXT = 80
_UNTITLED = "Untitled"
_LANGUAGE_FROM = 300


def words_of(entry: ParsedEntry, feed: ParsedFeed) -> NewEntryText:
    content = clean_html(entry.content or entry.summary or "", entry.url or feed.site_url)
    digest = digest_content(content)
    title = shown_line(entry.title) or cut(digest.text, _TITLE_FROM_TEXT) or entry.url or _UNTITLED
    author = _author(entry, feed)
    return NewEntryText(
        title=title,
        content=content,
        plain=digest.text,
        author=author,
        summary=digest.preview,
        image=entry.image or digest.image,
        language=entry_language(entry.language or feed.language, digest.text[:_LANGUAGE_FROM]),
        words=digest.words,
        extra=_extra(entry),
        search=search_words(title, digest.text, author),
    )


def _author(entry: ParsedEntry, feed: ParsedFeed) -> str | None:
    names = [author.name for author in entry.authors or feed.authors if author.name]
    return shown_line(", ".join(names))[:_MAX_AUTHOR] or None


def _extra(entry: ParsedEntry) -> str:
    """What only an opened entry shows, as JSON; empty parts are left out."""
    parts = {
        "authors": entry.authors,
        "categories": entry.categories,
        "enclosures": entry.enclosures,
        "comments_url": entry.comments_url,
        "external_url": entry.external_url,
    }
    said = {name: part for name, part in parts.items() if part}
    return orjson.dumps(said).decode() if said else "{}"


HASHES_COMPARED = 2_000
"""How far back an entry without guid and address is looked for by its words."""

_NOTHING_READABLE = "The feed is damaged, and none of its entries could be read."
_MAX_KEY_LENGTH = 2_000
"""Bytes; PostgreSQL indexes no value of more than a third of a page."""

N = TypeVar("N", NewEntry, ChangedEntry)
R = TypeVar("R")

_STRETCH = 32_000
"""Characters of markup that are cleaned without a pause; more would keep pages waiting."""
_GIVE_WAY_SECONDS = 0.001
"""The pause after each text while somebody waits for an answer."""

# One thread: several would not clean faster, but all stand in the way of the event loop for their turn.
_long_texts = ThreadPoolExecutor(1, thread_name_prefix="long-texts")


@record
class Check:
    """One check under way."""

    due: DueFeed
    terms: Terms
    tally: FetchStats


def body_hash(body: bytes) -> str:
    return sha256(body).hexdigest()[:32]


async def read_document(
    runtime: Runtime, check: Check, fetched: Fetched, digest: str
) -> CheckResult | Failed:
    """`digest` is the hash of the body, which the caller has compared with the last one."""
    parsed = await parse_safely(fetched.body, content_type=fetched.content_type, url=fetched.url)
    if isinstance(parsed, NotAFeed):
        return Failed("permanent_error", parsed.reason, fetched.status)
    if parsed.truncated and not parsed.entries:
        return Failed("permanent_error", _NOTHING_READABLE, fetched.status)
    entries = [_with_short_keys(entry) for entry in newest(parsed.entries, check.terms.now)]
    plan = await _plan(runtime, check, entries)
    news, rewrites = await _written_out(runtime, check, plan, parsed)
    if news and check.due.hub_was_watched:
        # The hub has not sent these: until it sends something, the feed is looked at in its own rhythm.
        check = replace(check, terms=replace(check.terms, pushed=False))
    tally = replace(check.tally, new_entries=len(news), bytes=len(fetched.body))
    about = _about(check.due.about, parsed, fetched, plan)
    return CheckResult(
        check.due,
        _state(check, fetched, digest, parsed, changed=bool(news or rewrites)),
        tally,
        about=None if about == check.due.about else about,
        news=news,
        rewrites=rewrites,
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
        by_guid = await entry_writes.known_guids(tx, due.id, guids) if guids else {}
        sifted = filter_entries(entries, by_guid, traits)
        urls = _addresses(sifted)
        by_url = await entry_writes.known_urls(tx, due.id, urls) if urls else {}
        known = ExistingEntry(by_guid, by_url)
        if _needs_words(sifted, known, traits):
            every = await entry_writes.known_all(tx, due.id, HASHES_COMPARED)
            known = replace(known, by_hash=every.by_hash)
        known = with_removed(sifted, known, await _removed(tx, due.id, sifted)) if sifted.rest else known
    return plan_rest(sifted, known, traits, check.terms.now)


async def _removed(tx: Tx, feed_id: int, sifted: FilteredEntries) -> set[int]:
    return await removed.known(tx, feed_id, [key for each in sifted.rest for key in keys_of(each.entry)])


def _addresses(sifted: FilteredEntries) -> list[str]:
    given = (candidate.entry.url for candidate in sifted.rest)
    return [key for url in given if url and (key := normalize_url(url))]


def _needs_words(sifted: FilteredEntries, known: ExistingEntry, traits: Traits) -> bool:
    """Neither a guid nor an address may tell some entry apart, so its words must."""
    # As many as may lose the guids our trust while they are compared.
    used = sum(1 for candidate in sifted.rest if candidate.entry.guid in known.by_guid)
    trusted = not traits.unreliable and traits.collisions + used < COLLISIONS_TO_DISTRUST
    return any(_lacks_key(candidate, known, traits, trusted) for candidate in sifted.rest)


def _lacks_key(candidate: IncomingEntry, known: ExistingEntry, traits: Traits, trusted: bool) -> bool:
    entry = candidate.entry
    if trusted and entry.guid:
        return False
    if not entry.url or traits.allow_duplicate_urls:
        return True
    return not trusted and normalize_url(entry.url) not in known.by_url


async def _written_out(
    runtime: Runtime, check: Check, plan: WritePlan, parsed: ParsedFeed
) -> tuple[list[NewEntryRow], list[EntryUpdate]]:
    if not plan.new and not plan.changed:
        return [], []
    async with runtime.cleaning:
        writing = Writing(runtime, check, parsed)
        news = [await writing.out(_entry_row, new) for new in plan.new]
        rewrites = [await writing.out(_rewrite, changed) for changed in plan.changed]
    return news, rewrites


class Writing:
    """Texts are cleaned on the event loop, a stretch at a time, and more slowly while pages are asked for.

    A thread for all of them would get in the loop's way no less, and cost a tenth more: what two cores hand
    each other is in the caches of neither. It is left the long ones, which cannot be paused.
    """

    def __init__(self, runtime: Runtime, check: Check, parsed: ParsedFeed) -> None:
        self._meters = runtime.meters
        self._check, self._parsed = check, parsed
        self._since_pause = 0

    async def out(self, write: Callable[[Check, N, ParsedFeed], R], news: N) -> R:
        size = len(news.entry.content or news.entry.summary or "")
        if size > _STRETCH:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(_long_texts, write, self._check, news, self._parsed)
        await self._pause_before(size)
        return write(self._check, news, self._parsed)

    async def _pause_before(self, size: int) -> None:
        self._since_pause += size
        if self._meters.being_answered:
            await asyncio.sleep(_GIVE_WAY_SECONDS)
        elif self._since_pause > _STRETCH:
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


def _rewrite(check: Check, changed: ChangedEntry, parsed: ParsedFeed) -> EntryUpdate:
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


def _about(before: FeedMetadata, parsed: ParsedFeed, fetched: Fetched, plan: WritePlan) -> FeedMetadata:
    """What the feed says of itself; where it falls silent, what it said before is kept."""
    header = dict(fetched.links)
    return FeedMetadata(
        title=shown_line(parsed.title) or before.title,
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
    """A guid or address too long for an index stands under its hash."""
    guid, url = entry.guid, entry.url
    if (not guid or len(guid) <= _MAX_KEY_LENGTH // 4) and (not url or len(url) <= _MAX_KEY_LENGTH // 4):
        return entry
    if guid and len(guid.encode()) > _MAX_KEY_LENGTH:
        guid = f"sha256:{body_hash(guid.encode())}"
    if url and len(url.encode()) > _MAX_KEY_LENGTH:
        guid, url = guid or f"sha256:{body_hash(url.encode())}", None
    return entry._replace(guid=guid, url=url)
