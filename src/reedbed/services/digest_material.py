"""What a digest is made of: the newest entries of its scope, each with a line and a few sentences."""

import asyncio
from collections.abc import Mapping, Sequence

from reedbed.domain.budget import Usage
from reedbed.domain.cited import Scope
from reedbed.domain.digests import MOST_ENTRIES, Material
from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.records import record
from reedbed.domain.shelf import ShelfFeed
from reedbed.domain.summaries import EXTRACT, Summary, Variant
from reedbed.domain.times import Instant
from reedbed.ingest.content_hash import content_hash
from reedbed.ingest.text import clean_text
from reedbed.services.runtime import Runtime
from reedbed.services.search import search_entries
from reedbed.services.summaries import MOST_HTML
from reedbed.store import entries, entry_texts, folders, shelf, summaries
from reedbed.store.entry_texts import EntryWords
from reedbed.store.summaries import Made


@record
class _Extracted:
    words: EntryWords
    content_hash: str
    summary: Summary


async def find_entries(runtime: Runtime, user_id: int, scope: Scope, since: Instant) -> Sequence[EntryRow]:
    """The newest ones of the scope, at most a hundred."""
    query = ViewQuery(view="all", folder_id=scope.folder_id, tag=scope.tag, since=since)
    if scope.q:
        found = await search_entries(
            runtime, user_id, scope.q, within=query, limit=MOST_ENTRIES, thorough=True
        )
        return found.rows
    async with runtime.db.read() as tx:
        found = await entries.page(tx, user_id, query, None, MOST_ENTRIES)
    if found is None:
        raise NotFound("There is no such folder.")
    return found.rows


async def gather(
    runtime: Runtime, user_id: int, rows: Sequence[EntryRow], variant: Variant
) -> list[Material]:
    """With the summaries that are there, in the wanted variant first; the rest is extracted and kept."""
    ids = [row.id for row in rows]
    async with runtime.db.read() as tx:
        have = await summaries.texts(tx, ids, Variant(EXTRACT))
        if variant.model != EXTRACT:
            have |= await summaries.texts(tx, ids, variant)
        missing = await entry_texts.seen_by(tx, user_id, [id_ for id_ in ids if id_ not in have])
        feeds = {one.feed_id: one for one in await shelf.feeds_of(tx, user_id)}
        names = {one.id: one.name for one in await folders.of_user(tx, user_id)}
    made = await asyncio.to_thread(_extract_all, missing)
    await _keep(runtime, made, {row.id: row.version for row in rows})
    have |= {one.words.id: (one.summary.text, one.summary.one_line) for one in made}
    return [_material(row, *have.get(row.id, ("", "")), feeds.get(row.feed_id), names) for row in rows]


def _extract_all(found: Sequence[EntryWords]) -> list[_Extracted]:
    return [one for words in found if (one := _extracted(words)) is not None]


def _extracted(words: EntryWords) -> _Extracted | None:
    from reedbed.ai.extractive import extract  # three megabytes of words and patterns, once they are needed

    html = words.content[:MOST_HTML]
    found = extract(words.title, clean_text(html))
    if not found.text:
        return None
    summary = Summary(found.text, found.one_line, EXTRACT, words.language or "")
    return _Extracted(words, content_hash(html), summary)


async def _keep(runtime: Runtime, made: Sequence[_Extracted], versions: Mapping[int, int]) -> None:
    """The next digest, the list and the article find them."""
    if not made:
        return
    variant, now = Variant(EXTRACT), runtime.now()
    async with runtime.db.write() as tx:
        for one in made:
            key = variant.key(one.content_hash)
            await summaries.save(tx, Made(key, one.content_hash, variant.name, one.summary, Usage()), now)
            await summaries.attach(
                tx,
                one.words.id,
                variant,
                key,
                version=versions[one.words.id],
                of_full=one.words.content != one.words.feed_content,
            )


def _material(
    row: EntryRow, text: str, line: str, feed: ShelfFeed | None, folders: Mapping[int, str]
) -> Material:
    folder_id = feed.folder_id if feed else None
    return Material(
        entry_id=row.id,
        title=row.title,
        line=line or row.title,
        text=text or row.summary,
        feed_id=row.feed_id,
        feed=feed.title if feed else "",
        folder=folders.get(folder_id, "") if folder_id is not None else "",
        at=row.sort_at,
        language=row.language or "",
    )
