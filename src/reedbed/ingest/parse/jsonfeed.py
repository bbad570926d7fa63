"""Read JSON Feed documents, and write a parsed feed as JSON Feed 1.1."""

import hashlib
import json
import re
from collections.abc import Callable
from typing import cast

import orjson

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feed_writer import JsonFields, json_feed, without_empty
from reedbed.domain.feeds import Author, Enclosure, NotAFeed, ParsedEntry, ParsedFeed
from reedbed.domain.text import storable
from reedbed.domain.times import Instant, rfc3339
from reedbed.ingest.parse.charset import decode_leniently
from reedbed.ingest.parse.dates import instant
from reedbed.ingest.parse.feed import newest
from reedbed.ingest.parse.markup import (
    absolute,
    html_of_text,
    may_contain_relative_urls,
    normalize_language_tag,
    one_line,
    resolve_markup_urls,
    text_of_html,
)
from reedbed.ingest.parse.xml import MAX_CONTENT, MAX_GUID, MAX_LIST, MAX_NAME, MAX_TITLE

# --- Reading

_ITEMS = re.compile(r"\"items\"\s*:\s*\[")
_SEPARATOR = re.compile(r"[\s,]*")
_NOT_JSON = NotAFeed(Failure(FailureCode.DOCUMENT_JSON_DAMAGED))
_NOT_A_FEED = NotAFeed(Failure(FailureCode.DOCUMENT_OTHER_JSON))

Fields = dict[str, object]


def read_json_feed(body: bytes, *, url: str) -> ParsedFeed | NotAFeed:
    try:
        document: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _read_damaged(decode_leniently(body), url)
    return _read_document(document, url, truncated=False)


def _read_damaged(text: str, url: str) -> ParsedFeed | NotAFeed:
    """Read the complete part of a document with invalid UTF-8 or a missing end."""
    try:
        return _read_document(orjson.loads(text), url, truncated=False)
    except (orjson.JSONDecodeError, UnicodeError):
        pass
    start = _ITEMS.search(text)
    if not start:
        return _NOT_JSON
    head = _head(text[: start.start()])
    return _read_document(head | {"items": _complete_items(text, start.end())}, url, truncated=True)


def _head(text: str) -> Fields:
    try:
        return _fields(orjson.loads(text.rstrip(" \t\r\n,") + "}"))
    except (orjson.JSONDecodeError, UnicodeError):
        return {}


def _complete_items(text: str, position: int) -> list[object]:
    decoder = json.JSONDecoder()
    items: list[object] = []
    while True:
        separator = _SEPARATOR.match(text, position)
        try:
            item, position = decoder.raw_decode(text, separator.end() if separator else position)
        except (ValueError, RecursionError):  # damaged, a number of a thousand digits, or too deep
            return items
        items.append(item)


def _read_document(document: object, url: str, *, truncated: bool) -> ParsedFeed | NotAFeed:
    feed = _fields(document)
    items = feed.get("items")
    if not isinstance(items, list) or not _is_json_feed(feed, truncated=truncated):
        return _NOT_A_FEED
    base = url or _text(feed, "feed_url") or _text(feed, "home_page_url") or ""
    entries = [_entry(fields, base) for fields in map(_fields, cast(list[object], items)) if fields]
    return ParsedFeed(
        format="json",
        title=one_line(_text(feed, "title") or "")[:MAX_TITLE],
        entries=tuple(newest(entries)),
        site_url=absolute(_text(feed, "home_page_url"), base),
        self_url=absolute(_text(feed, "feed_url"), base),
        hub_url=_hub(feed, base),
        description=_text(feed, "description"),
        language=normalize_language_tag(_text(feed, "language")),
        icon=absolute(_text(feed, "favicon"), base),
        image=absolute(_text(feed, "icon"), base),
        authors=_authors(feed, base),
        truncated=truncated,
    )


def _is_json_feed(feed: Fields, *, truncated: bool) -> bool:
    version = _text(feed, "version") or ""
    return "jsonfeed.org/version" in version or (not version and ("title" in feed or truncated))


def _entry(item: Fields, base: str) -> ParsedEntry:
    url = absolute(_text(item, "url"), base)
    inner_base = url or base
    content = _content(item)
    return ParsedEntry(
        guid=_item_guid(item),
        url=url,
        title=text_of_html(_text(item, "title") or "")[:MAX_TITLE],
        content=(resolve_markup_urls(content, inner_base) if may_contain_relative_urls(content) else content)[
            :MAX_CONTENT
        ],
        summary=_summary(item),
        external_url=absolute(_text(item, "external_url"), base),
        published=instant(_text(item, "date_published") or _text(item, "date_modified")),
        updated=instant(_text(item, "date_modified")),
        authors=_authors(item, base),
        categories=_tags(item),
        image=absolute(_text(item, "image") or _text(item, "banner_image"), inner_base),
        language=normalize_language_tag(_text(item, "language")),
        enclosures=_attachments(item, inner_base),
    )


def _item_guid(item: Fields) -> str | None:
    value = item.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return storable(str(value)).strip()[:MAX_GUID] or None


def _content(item: Fields) -> str:
    markup = _text(item, "content_html")
    if markup:
        return markup
    text = _text(item, "content_text")
    if text:
        return html_of_text(text)
    return html_of_text(_text(item, "summary") or "")


def _summary(item: Fields) -> str | None:
    has_content = _text(item, "content_html") or _text(item, "content_text")
    summary = _text(item, "summary")
    return html_of_text(summary) if summary and has_content else None


def _authors(fields: Fields, base: str) -> tuple[Author, ...]:
    """Version 1.1 has a list of authors, 1.0 a single author."""
    authors = [_fields(author) for author in _list(fields, "authors")] or [_fields(fields.get("author"))]
    result: list[Author] = []
    for author in authors[:MAX_LIST]:
        name, url = _text(author, "name"), absolute(_text(author, "url"), base)
        if name or url:
            result.append(Author(one_line(name or url or "")[:MAX_NAME], url))
    return tuple(result)


def _tags(item: Fields) -> tuple[str, ...]:
    names = [one_line(storable(tag))[:MAX_NAME] for tag in _list(item, "tags") if isinstance(tag, str)]
    return tuple(dict.fromkeys(name for name in names if name))[:MAX_LIST]


def _attachments(item: Fields, base: str) -> tuple[Enclosure, ...]:
    enclosures: list[Enclosure] = []
    for fields in map(_fields, _list(item, "attachments")[:MAX_LIST]):
        url = absolute(_text(fields, "url"), base)
        if url:
            size, duration = _number(fields, "size_in_bytes"), _number(fields, "duration_in_seconds")
            enclosures.append(Enclosure(url, _text(fields, "mime_type"), size, _text(fields, "title"), duration))
    return tuple(enclosures)


def _hub(feed: Fields, base: str) -> str | None:
    hubs = [absolute(_text(_fields(hub), "url"), base) for hub in _list(feed, "hubs")]
    return next((hub for hub in hubs if hub), None)


def _fields(value: object) -> Fields:
    return cast(Fields, value) if isinstance(value, dict) else {}


def _list(fields: Fields, key: str) -> list[object]:
    value = fields.get(key)
    return cast(list[object], value) if isinstance(value, list) else []


def _text(fields: Fields, key: str) -> str | None:
    """Stripped text or None. Unlike XML, JSON can escape characters that no database can store."""
    value = fields.get(key)
    return storable(value).strip() or None if isinstance(value, str) else None


def _number(fields: Fields, key: str) -> int | None:
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1 << 53:
        return None
    return int(value)


# --- Writing

Cleaner = Callable[[str, str | None], str]


def as_json_feed(feed: ParsedFeed, *, url: str) -> JsonFields:
    """The feed as JSON Feed 1.1 with sanitized content."""
    from reedbed.ingest.sanitize import clean_html
    from reedbed.ingest.sanitize.media import standalone_html

    def clean(html: str, base: str | None) -> str:
        return standalone_html(clean_html(html, base))

    base = feed.site_url or url or None
    return json_feed(
        (_item(entry, base, clean) for entry in feed.entries),
        title=feed.title or feed.site_url or url or "Untitled",
        home_page_url=feed.site_url,
        feed_url=feed.self_url or url or None,
        description=feed.description,
        icon=feed.image,
        favicon=feed.icon,
        language=feed.language,
        authors=[_author(author) for author in feed.authors],
        hubs=[{"type": "WebSub", "url": feed.hub_url}] if feed.hub_url else None,
        _reedbed=without_empty(format=feed.format, truncated=feed.truncated or None),
    )


def _item(entry: ParsedEntry, base: str | None, clean: Cleaner) -> JsonFields:
    content = clean(entry.content, entry.url or base)
    return without_empty(
        id=entry.guid or entry.url or _content_id(entry),
        url=entry.url or uri_from_guid(entry.guid),
        external_url=entry.external_url,
        title=entry.title,
        summary=text_of_html(entry.summary) if entry.summary else None,
        image=entry.image,
        date_published=_format_time(entry.published if entry.published is not None else entry.updated),
        date_modified=_format_time(entry.updated),
        authors=[_author(author) for author in entry.authors],
        tags=list(entry.categories),
        language=entry.language,
        attachments=[_attachment(enclosure) for enclosure in entry.enclosures],
    ) | {"content_html": content}


def uri_from_guid(guid: str | None) -> str | None:
    """An entry without a URL can still be identified by an id that is a URI, such as `urn:uuid:…`."""
    return guid if guid and guid.startswith(("urn:", "tag:")) else None


def _author(author: Author) -> JsonFields:
    return without_empty(name=author.name, url=author.url or (f"mailto:{author.email}" if author.email else None))


def _attachment(enclosure: Enclosure) -> JsonFields:
    return without_empty(
        url=enclosure.url,
        mime_type=enclosure.type or "application/octet-stream",
        title=enclosure.title,
        size_in_bytes=enclosure.length,
        duration_in_seconds=enclosure.duration,
    )


def _format_time(time: Instant | None) -> str | None:
    return None if time is None else rfc3339(time)


def _content_id(entry: ParsedEntry) -> str:
    return "sha256:" + hashlib.sha256(f"{entry.title}\n{entry.content}".encode("utf-8", "replace")).hexdigest()
