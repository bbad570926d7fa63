"""Read the entries of a feed that is made from a page, and find its list again when the page was rebuilt."""

from html import escape

import structlog

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import NotAFeed, ParsedEntry, ParsedFeed
from reedbed.domain.page_feeds import PageChange, PageEntry, PageFeed, PageList, after_reading, looks_rebuilt
from reedbed.domain.refresh.outcomes import Fetched
from reedbed.domain.refresh.state import DueFeed
from reedbed.ingest.page_feeds.sandbox import apply_safely, find_again_safely, watch_safely
from reedbed.ingest.text import cut
from reedbed.services.recipes import find_list_of_recipe
from reedbed.services.runtime import Runtime
from reedbed.store import page_feeds

log = structlog.get_logger()

_MAX_TITLE = 120


async def read_page(runtime: Runtime, due: DueFeed, fetched: Fetched) -> ParsedFeed | NotAFeed | None:
    """None if the feed is not made from a page."""
    async with runtime.db.read() as tx:
        stored = await page_feeds.get(tx, due.id)
        known = await page_feeds.known_keys(tx, due.id) if stored is not None else set[str]()
    if stored is None:
        return None
    if stored.recipe.watches:
        return await _read_watched(runtime, due, stored, fetched)
    now, kind = runtime.now(), fetched.content_type
    lists = await apply_safely(fetched.body, stored.recipe, fetched.url, now=now, content_type=kind)
    entries = lists.lists[0].entries if lists.lists else ()
    if looks_rebuilt({entry.key for entry in entries}, known):
        again = await find_list_of_recipe(runtime, fetched)
        if again is None:
            again = await find_again_safely(fetched.body, stored.recipe, known, fetched.url, now=now, content_type=kind)
        if again is not None:
            await _keep_new_recipe(runtime, due, stored, again)
            entries = again.entries
    if not entries:
        return NotAFeed(lists.reason or Failure(FailureCode.LIST_NOT_FOUND))
    return ParsedFeed("page", lists.title, tuple(map(_parsed_entry, entries)), due.url, language=lists.language)


async def _read_watched(runtime: Runtime, due: DueFeed, stored: PageFeed, fetched: Fetched) -> ParsedFeed | NotAFeed:
    """The last change of the text is the only entry of the feed."""
    selector = stored.recipe.selectors.item
    found = await watch_safely(fetched.body, selector, fetched.url, content_type=fetched.content_type)
    if found.reason is not None:
        return NotAFeed(found.reason)
    state = after_reading(stored.watched, found.passages, runtime.now())
    if state != stored.watched:
        # If the entry cannot be written after this, the next check finds the change here and writes it.
        async with runtime.db.write() as tx:
            await page_feeds.keep_watched(tx, due.id, state)
    entries = (_change_entry(state.change, due.url),) if state.change is not None else ()
    return ParsedFeed("page", found.title, entries, due.url, language=found.language)


def _change_entry(change: PageChange, url: str) -> ParsedEntry:
    content = "".join(
        f"<p><{tag}>{escape(passage)}</{tag}></p>"
        for tag, passages in (("del", change.removed), ("ins", change.added))
        for passage in passages
    )
    return ParsedEntry(change.key, url, cut((*change.added, *change.removed)[0], _MAX_TITLE), content)


async def _keep_new_recipe(runtime: Runtime, due: DueFeed, stored: PageFeed, again: PageList) -> None:
    if again.recipe == stored.recipe:
        return
    log.info("page was rebuilt", feed=due.id, entries=len(again.entries))
    async with runtime.db.write() as tx:
        await page_feeds.replace_recipe(tx, due.id, again.recipe, stored.recipe, runtime.now())


def _parsed_entry(entry: PageEntry) -> ParsedEntry:
    content = f"<p>{escape(entry.teaser)}</p>" if entry.teaser else ""
    return ParsedEntry(entry.key, entry.url, entry.title, content, published=entry.published, image=entry.image)
