"""The words of one entry as they are stored: sanitised, previewed, counted."""

import orjson

from reedbed.domain.feeds import ParsedEntry, ParsedFeed
from reedbed.domain.search_words import search_words
from reedbed.domain.texts import shown_line
from reedbed.ingest.clean import clean_html
from reedbed.ingest.language import entry_language
from reedbed.ingest.text import cut, digest_content
from reedbed.store.entry_writes import EntryText

_MAX_AUTHOR = 300
_TITLE_FROM_TEXT = 80
_UNTITLED = "Untitled"
_LANGUAGE_FROM = 300


def words_of(entry: ParsedEntry, feed: ParsedFeed) -> EntryText:
    content = clean_html(entry.content or entry.summary or "", entry.url or feed.site_url)
    digest = digest_content(content)
    title = shown_line(entry.title) or cut(digest.text, _TITLE_FROM_TEXT) or entry.url or _UNTITLED
    author = _author(entry, feed)
    return EntryText(
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
