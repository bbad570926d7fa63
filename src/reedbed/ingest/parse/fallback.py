"""The last resort: feedparser, which reads even very broken markup. Slow, so only used in the sandbox."""

import calendar
import time
import warnings
from collections.abc import Mapping
from typing import cast

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import Author, Enclosure, NotAFeed, ParsedEntry, ParsedFeed
from reedbed.ingest.parse.attachments import parse_whole_number
from reedbed.ingest.parse.charset import unpacked
from reedbed.ingest.parse.dates import instant
from reedbed.ingest.parse.feed import newest
from reedbed.ingest.parse.markup import absolute, is_absolute, normalize_language_tag, resolve_markup_urls, text_of_html
from reedbed.ingest.parse.xml import MAX_CONTENT, MAX_GUID, MAX_LIST, MAX_NAME, MAX_TITLE

Fields = Mapping[str, object]


def read_with_feedparser(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = _run_feedparser(unpacked(body), content_type, url)
    version = _text(document, "version")
    entries = [_entry(entry, url) for entry in _list(document, "entries")]
    if not version and not entries:
        return NotAFeed(Failure(FailureCode.DOCUMENT_XML_DAMAGED))
    return _feed(_fields(document, "feed"), version, entries, url)


def _run_feedparser(body: bytes, content_type: str | None, url: str) -> Fields:
    import feedparser  # pyright: ignore[reportMissingTypeStubs] - has none
    from feedparser import mixin  # pyright: ignore[reportMissingTypeStubs]

    # An id is a name, not a URL: resolved against the feed's URL, it would differ from the id stored before.
    mixin._FeedParserMixin.can_be_relative_uri.discard("id")  # pyright: ignore[reportPrivateUsage]
    headers = {"content-location": url} | ({"content-type": content_type} if content_type else {})
    # feedparser has no type stubs, so the result has an unknown type.
    parsed = feedparser.parse(  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        body, response_headers=headers, sanitize_html=False
    )
    return cast(Fields, parsed)


def _feed(feed: Fields, version: str, entries: list[ParsedEntry], url: str) -> ParsedFeed:
    kind = "atom" if version.startswith("atom") else "rdf" if version in ("rss10", "rss090") else "rss"
    return ParsedFeed(
        format=kind,
        title=text_of_html(_text(feed, "title"))[:MAX_TITLE],
        entries=tuple(newest(entries)),
        site_url=absolute(_text(feed, "link"), url),
        description=text_of_html(_text(feed, "subtitle")) or None,
        language=normalize_language_tag(_text(feed, "language")),
        image=absolute(_text(_fields(feed, "image"), "href"), url),
        truncated=True,
    )


def _entry(entry: Fields, url: str) -> ParsedEntry:
    link = absolute(_text(entry, "link"), url)
    base = link if is_absolute(link) else url
    full = next((_text(part, "value") for part in _list(entry, "content")), "")
    summary = _text(entry, "summary")
    return ParsedEntry(
        guid=_text(entry, "id").strip()[:MAX_GUID] or None,
        url=link,
        title=text_of_html(_text(entry, "title"))[:MAX_TITLE],
        content=resolve_markup_urls(full or summary, base or "")[:MAX_CONTENT],
        summary=resolve_markup_urls(summary, base or "") if full and summary and summary != full else None,
        published=_timestamp(entry, "published"),
        updated=_timestamp(entry, "updated"),
        authors=_authors(entry),
        categories=tuple(term[:MAX_NAME] for tag in _list(entry, "tags")[:MAX_LIST] if (term := _text(tag, "term"))),
        enclosures=_enclosures(entry, url),
    )


def _timestamp(entry: Fields, key: str) -> int | None:
    """Our own date parser first: it knows more months and time zones."""
    parsed = entry.get(f"{key}_parsed")
    own = instant(_text(entry, key))
    if own is not None or not isinstance(parsed, time.struct_time):
        return own
    return calendar.timegm(parsed) * 1000


def _authors(entry: Fields) -> tuple[Author, ...]:
    names = [(_text(author, "name"), _text(author, "email")) for author in _list(entry, "authors")[:MAX_LIST]]
    return tuple(Author((name or email)[:MAX_NAME], None, email or None) for name, email in names if name or email)


def _enclosures(entry: Fields, url: str) -> tuple[Enclosure, ...]:
    enclosures: list[Enclosure] = []
    for item in _list(entry, "enclosures")[:MAX_LIST]:
        href = absolute(_text(item, "href"), url)
        if href:
            enclosures.append(Enclosure(href, _text(item, "type") or None, parse_whole_number(_text(item, "length"))))
    return tuple(enclosures)


def _fields(fields: Fields, key: str) -> Fields:
    value = fields.get(key)
    return cast(Fields, value) if isinstance(value, Mapping) else {}


def _list(fields: Fields, key: str) -> list[Fields]:
    value = fields.get(key)
    return cast(list[Fields], value) if isinstance(value, list) else []


def _text(fields: Fields, key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""
