"""A parsed feed as a JSON Feed 1.1 document with clean content."""

import hashlib
from collections.abc import Callable

from reedbed.domain.feeds import Author, Enclosure, ParsedEntry, ParsedFeed
from reedbed.domain.times import Instant, rfc3339
from reedbed.ingest.parse.text import text_of_html

Fields = dict[str, object]
Cleaner = Callable[[str, str | None], str]


def as_json_feed(feed: ParsedFeed, *, url: str) -> Fields:
    from reedbed.ingest.clean import clean_html
    from reedbed.ingest.clean.images import standing_alone

    def clean(html: str, base: str | None) -> str:
        return standing_alone(clean_html(html, base))

    base = feed.site_url or url or None
    return _said(
        version="https://jsonfeed.org/version/1.1",
        title=feed.title or feed.site_url or url or "Untitled",
        home_page_url=feed.site_url,
        feed_url=feed.self_url or url or None,
        description=feed.description,
        icon=feed.image,
        favicon=feed.icon,
        language=feed.language,
        authors=[_author(author) for author in feed.authors],
        hubs=[{"type": "WebSub", "url": feed.hub_url}] if feed.hub_url else None,
        _reedbed=_said(format=feed.format, truncated=feed.truncated or None),
    ) | {"items": [_item(entry, base, clean) for entry in feed.entries]}


def _item(entry: ParsedEntry, base: str | None, clean: Cleaner) -> Fields:
    content = clean(entry.content, entry.url or base)
    return _said(
        id=entry.guid or entry.url or _content_id(entry),
        url=entry.url or named_by(entry.guid),
        external_url=entry.external_url,
        title=entry.title,
        summary=text_of_html(entry.summary) if entry.summary else None,
        image=entry.image,
        date_published=_moment(entry.published if entry.published is not None else entry.updated),
        date_modified=_moment(entry.updated),
        authors=[_author(author) for author in entry.authors],
        tags=list(entry.categories),
        language=entry.language,
        attachments=[_attachment(one) for one in entry.enclosures],
    ) | {"content_html": content}


def named_by(guid: str | None) -> str | None:
    """An entry without an address is still named by an id that is a URI, such as `urn:uuid:…`."""
    return guid if guid and guid.startswith(("urn:", "tag:")) else None


def _author(author: Author) -> Fields:
    return _said(name=author.name, url=author.url or (f"mailto:{author.email}" if author.email else None))


def _attachment(enclosure: Enclosure) -> Fields:
    return _said(
        url=enclosure.url,
        mime_type=enclosure.type or "application/octet-stream",
        title=enclosure.title,
        size_in_bytes=enclosure.length,
        duration_in_seconds=enclosure.duration,
    )


def _moment(moment: Instant | None) -> str | None:
    return None if moment is None else rfc3339(moment)


def _content_id(entry: ParsedEntry) -> str:
    return (
        "sha256:" + hashlib.sha256(f"{entry.title}\n{entry.content}".encode("utf-8", "replace")).hexdigest()
    )


def _said(**fields: object) -> Fields:
    """Only what the feed says: nothing empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [])}
