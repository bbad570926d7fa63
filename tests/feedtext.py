"""Writes feed documents: the same entries as RSS 2.0, Atom 1.0 or JSON Feed 1.1."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from typing import Literal

Format = Literal["rss", "atom", "json"]

CONTENT_TYPES: dict[Format, str] = {
    "rss": "application/rss+xml; charset=utf-8",
    "atom": "application/atom+xml; charset=utf-8",
    "json": "application/feed+json",
}


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    title: str
    url: str
    content: str
    published: datetime
    author: str | None = None
    tags: tuple[str, ...] = ()
    more: str = ""
    """Further elements of an RSS item, such as enclosures."""


@dataclass(frozen=True, slots=True)
class Channel:
    title: str
    home: str
    address: str


def render(form: Format, channel: Channel, entries: Sequence[Entry]) -> bytes:
    write = {"rss": _rss, "atom": _atom, "json": _json}[form]
    return write(channel, entries).encode()


def _rss(channel: Channel, entries: Sequence[Entry]) -> str:
    items = "".join(map(_rss_item, entries))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
        ' xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:psc="http://podlove.org/simple-chapters"'
        "><channel>\n"
        f"<title>{escape(channel.title)}</title><link>{escape(channel.home)}</link>"
        f"<description>{escape(channel.title)}</description>\n{items}</channel></rss>\n"
    )


def _rss_item(entry: Entry) -> str:
    author = f"<dc:creator>{escape(entry.author)}</dc:creator>" if entry.author else ""
    tags = "".join(f"<category>{escape(tag)}</category>" for tag in entry.tags)
    return (
        f"<item><title>{escape(entry.title)}</title><link>{escape(entry.url)}</link>"
        f'<guid isPermaLink="false">{escape(entry.key)}</guid>'
        f"<pubDate>{format_datetime(entry.published.astimezone(UTC), usegmt=True)}</pubDate>{author}{tags}"
        f"<content:encoded>{escape(entry.content)}</content:encoded>{entry.more}</item>\n"
    )


def _atom(channel: Channel, entries: Sequence[Entry]) -> str:
    updated = max((entry.published for entry in entries), default=datetime(2026, 1, 1, tzinfo=UTC))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{escape(channel.title)}</title><id>{escape(channel.address)}</id>"
        f'<updated>{updated.isoformat()}</updated><link href="{escape(channel.home)}"/>'
        f'<link rel="self" href="{escape(channel.address)}"/>\n{"".join(map(_atom_entry, entries))}</feed>\n'
    )


def _atom_entry(entry: Entry) -> str:
    author = f"<author><name>{escape(entry.author)}</name></author>" if entry.author else ""
    tags = "".join(f'<category term="{escape(tag)}"/>' for tag in entry.tags)
    moment = entry.published.isoformat()
    return (
        f"<entry><title>{escape(entry.title)}</title><id>{escape(entry.key)}</id>"
        f'<link href="{escape(entry.url)}"/><published>{moment}</published><updated>{moment}</updated>'
        f'{author}{tags}<content type="html">{escape(entry.content)}</content></entry>\n'
    )


def _json(channel: Channel, entries: Sequence[Entry]) -> str:
    document = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": channel.title,
        "home_page_url": channel.home,
        "feed_url": channel.address,
        "items": [_json_item(entry) for entry in entries],
    }
    return json.dumps(document, ensure_ascii=False)


def _json_item(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.key,
        "url": entry.url,
        "title": entry.title,
        "content_html": entry.content,
        "date_published": entry.published.isoformat(),
        "authors": [{"name": entry.author}] if entry.author else [],
        "tags": list(entry.tags),
    }
