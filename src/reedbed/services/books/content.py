"""Which entries a book holds, and what stands in its chapters."""

import re
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from html import escape

from reedbed.domain.books import MAX_COUNTED, BookPlan, BookSource, book_date, unsent
from reedbed.domain.digests import Digest
from reedbed.domain.entries import EntryRow, ViewQuery
from reedbed.domain.errors import NotFound
from reedbed.domain.languages import Texts
from reedbed.domain.pagination import Cursor
from reedbed.domain.text import text_direction, writable
from reedbed.domain.times import DAY, Instant
from reedbed.ingest.epub.writer import EpubChapter
from reedbed.ingest.epub.xhtml import XhtmlBody, safe_href, with_pictures
from reedbed.services.runtime import Runtime
from reedbed.services.search.find import search_entries
from reedbed.store import digests, published_feeds
from reedbed.store.entries import read as entries
from reedbed.store.entries.read import EntryText

_BATCH_SIZE = 200
_LATE = 7 * DAY
"""The longest time between the publication of an entry and its arrival."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_GONE = "There is nothing in this list."


async def is_empty(runtime: Runtime, user_id: int, source: BookSource) -> bool:
    if source.digest_id is not None:
        return False
    if source.digests:
        return await newest_digest(runtime, user_id) is None
    rows, _ = await _page(runtime, user_id, source, await _search_text(runtime, user_id, source), None, 1, None)
    return not rows


async def entry_ids(runtime: Runtime, user_id: int, source: BookSource) -> list[int]:
    """Newest first, at most `MAX_COUNTED`."""
    return [row.id for row in await _rows(runtime, user_id, source, None)]


async def new_entry_ids(runtime: Runtime, plan: BookPlan) -> list[int]:
    """Those that no book of the plan has held; of lists that grow by arrival, only what came since the last book."""
    if not plan.source.grows_by_arrival:
        return unsent(await entry_ids(runtime, plan.user_id, plan.source), plan.sent)
    span = DAY if plan.weekday is None else 7 * DAY
    since = runtime.now() - span if plan.last_at is None else plan.last_at
    rows = await _rows(runtime, plan.user_id, plan.source, since - _LATE)
    return unsent([row.id for row in rows if row.fetched_at >= since], plan.sent)


async def _rows(runtime: Runtime, user_id: int, source: BookSource, since: Instant | None) -> list[EntryRow]:
    text = await _search_text(runtime, user_id, source)
    found: list[EntryRow] = []
    cursor: Cursor | None = None
    while len(found) < MAX_COUNTED:
        rows, cursor = await _page(runtime, user_id, source, text, cursor, _BATCH_SIZE, since)
        found.extend(rows)
        if cursor is None:
            break
    return found[:MAX_COUNTED]


async def _search_text(runtime: Runtime, user_id: int, source: BookSource) -> str | None:
    if source.search_id is None:
        return None
    async with runtime.db.read() as tx:
        text = await published_feeds.search_text(tx, user_id, source.search_id)
    if text is None:
        raise NotFound(_GONE)
    return text


async def _page(
    runtime: Runtime,
    user_id: int,
    source: BookSource,
    text: str | None,
    cursor: Cursor | None,
    limit: int,
    since: Instant | None,
) -> tuple[Sequence[EntryRow], Cursor | None]:
    query = ViewQuery(source.view, feed_id=source.feed_id, folder_id=source.folder_id, tag=source.tag, since=since)
    if text is not None:
        page = await search_entries(
            runtime, user_id, text, within=query, cursor=cursor, limit=limit, thorough=True, excerpts=False
        )
        return page.rows, page.next
    async with runtime.db.read() as tx:
        page = await entries.page(tx, user_id, query, cursor, limit)
    if page is None:
        raise NotFound(_GONE)
    return page.rows, page.next


async def newest_digest(runtime: Runtime, user_id: int) -> Digest | None:
    async with runtime.db.read() as tx:
        found = await digests.newest(tx, user_id, limit=5)
    return next((digest for digest in found if digest.status == "ready"), None)


# --- Chapters


def entry_chapter(
    entry: EntryText, body: XhtmlBody, files: Mapping[str, str], texts: Texts, zone: tzinfo
) -> EpubChapter:
    title = _line(entry.title) or texts.translate("Without a title")
    at = entry.published_at or entry.fetched_at
    facts = [_line(entry.feed_title), _line(entry.author or ""), book_date(at, zone, texts)]
    about = " · ".join(f"<bdi>{escape(fact)}</bdi>" for fact in dict.fromkeys(facts) if fact)
    url = safe_href(entry.url or "")
    link = (
        f'<p class="about"><a href="{escape(url)}">{escape(texts.translate("Original"))}: {escape(_line(url))}</a></p>'
    )
    markup = with_pictures(body, files)
    return EpubChapter(
        title,
        f'<h1>{escape(title)}</h1>\n<p class="about">{about}</p>\n{link if url else ""}\n<div>{markup}</div>',
        language_tag(entry.language),
        text_direction(f"{entry.title} {entry.summary}", entry.language or ""),
    )


def language_tag(code: str | None) -> str:
    """As XML takes it, or nothing: feeds name languages as they like."""
    tag = (code or "").replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else ""


def digest_chapter(digest: Digest, files: Mapping[int, str], title: str, texts: Texts) -> EpubChapter:
    """`files` holds the chapter of each cited entry that is in the book."""
    numbers = {source.entry_id: number for number, source in enumerate(digest.text.sources, 1)}
    parts = [f"<h1>{escape(title)}</h1>"]
    for paragraph in digest.text.paragraphs:
        if paragraph.heading:
            parts.append(f"<h2>{escape(_line(paragraph.heading))}</h2>")
        for sentence in paragraph.sentences:
            cites = " ".join(_cite(numbers[id_], files.get(id_, "")) for id_ in sentence.entry_ids if id_ in numbers)
            parts.append(f'<p dir="auto">{escape(_line(sentence.text))} {cites}</p>')
    items = (
        f"<li>{_link(_line(source.title) or texts.translate('Without a title'), files.get(source.entry_id, ''))}"
        f" <bdi>{escape(_line(source.feed))}</bdi></li>"
        for source in digest.text.sources
    )
    listed = "".join(items)
    if listed:
        parts.append(f"<h2>{escape(texts.translate('Sources'))}</h2>\n<ol>{listed}</ol>")
    text = " ".join(sentence.text for paragraph in digest.text.paragraphs for sentence in paragraph.sentences)
    return EpubChapter(title, "\n".join(parts), language_tag(digest.language), text_direction(text, digest.language))


def _cite(number: int, file: str) -> str:
    return _link(f"[{number}]", file)


def _link(text: str, file: str) -> str:
    return f'<a href="{file}">{escape(text)}</a>' if file else escape(text)


def last_chapter(lines: Sequence[str], title: str, texts: Texts) -> EpubChapter:
    body = "\n".join(f"<p>{escape(line)}</p>" for line in lines)
    return EpubChapter(title, f"<h1>{escape(title)}</h1>\n{body}", texts.language)


def _line(text: str) -> str:
    return " ".join(writable(text).split())
