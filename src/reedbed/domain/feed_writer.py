"""Writes feeds: Atom 1.0, RSS 2.0, JSON Feed 1.1 and OPDS catalogues. The XML is well-formed for any input."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from email.utils import format_datetime
from typing import Literal

from reedbed.domain.listening import Spoken, show_notes
from reedbed.domain.records import record
from reedbed.domain.text import writable
from reedbed.domain.times import Instant, rfc3339, to_datetime

ATOM = "http://www.w3.org/2005/Atom"
READER = "http://www.google.com/schemas/reader/atom/"
JSON_FEED = "https://jsonfeed.org/version/1.1"
JsonFields = dict[str, object]


@record
class FeedSource:
    """The feed that an item was taken from."""

    title: str
    id: str = ""
    updated: Instant | None = None
    feed_url: str = ""
    home_url: str = ""


@record
class Category:
    term: str
    label: str = ""
    scheme: str = ""


@record
class FeedItem:
    id: str
    title: str
    content_html: str
    published: Instant
    source: FeedSource
    updated: Instant | None = None
    url: str | None = None
    author: str | None = None
    language: str | None = None
    summary: str = ""
    categories: Sequence[Category] = ()
    enclosures: Sequence[tuple[str, str]] = ()
    """URL and media type of each."""
    extensions: Sequence[tuple[str, str]] = ()
    """Further elements of RSS, each with the prefix of a namespace of the feed."""


@record
class FeedDocument:
    title: str
    self_url: str
    updated: Instant
    id: str = ""
    home_url: str | None = None
    description: str = ""
    language: str | None = None
    continuation: str = ""
    """Where the next page of the Google Reader API begins."""
    namespaces: Mapping[str, str] = field(default_factory=dict[str, str])


# --- Atom


def write_atom(feed: FeedDocument, items: Iterable[FeedItem]) -> bytes:
    parts = (
        _element("id", feed.id),
        _element("title", feed.title),
        _element("updated", rfc3339(feed.updated)),
        _element("generator", "Reedbed"),
        _link(feed.self_url, "self", "application/atom+xml"),
        *([_link(feed.home_url, "alternate", "text/html")] if feed.home_url else ()),
        *([_element("gr:continuation", feed.continuation)] if feed.continuation else ()),
        *map(_atom_entry, items),
    )
    root = {"xmlns": ATOM, **{f"xmlns:{prefix}": url for prefix, url in feed.namespaces.items()}}
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{_parent('feed', parts, **root)}".encode()


def _atom_entry(item: FeedItem) -> str:
    parts = (
        _element("id", item.id),
        _element("title", item.title),
        _element("updated", rfc3339(item.published if item.updated is None else item.updated)),
        _element("published", rfc3339(item.published)),
        _parent("author", [_element("name", item.author or item.source.title)]),
        *([_link(item.url, "alternate", "text/html")] if item.url else ()),
        *(_link(url, "enclosure", type_) for url, type_ in item.enclosures),
        *(_element("category", **_attributes(category)) for category in item.categories),
        _parent("source", _atom_source(item.source)),
        _element("content", item.content_html, type="html"),
    )
    return _parent("entry", parts, **({"xml:lang": item.language} if item.language else {}))


def _atom_source(source: FeedSource) -> Iterator[str]:
    yield _element("id", source.id)
    yield _element("title", source.title)
    if source.updated is not None:
        yield _element("updated", rfc3339(source.updated))
    if source.home_url:
        yield _link(source.home_url, "alternate", "text/html")


def _attributes(category: Category) -> dict[str, str]:
    values = {"term": category.term, "label": category.label, "scheme": category.scheme}
    return {name: value for name, value in values.items() if value or name == "term"}


def _link(href: str, rel: str, type_: str) -> str:
    return _element("link", href=href, rel=rel, type=type_)


# --- RSS


def write_rss(feed: FeedDocument, items: Iterable[FeedItem]) -> bytes:
    atom_link = _element("atom:link", href=feed.self_url, rel="self", type="application/rss+xml")
    channel = (
        *_optional("title", feed.title),
        *_optional("link", feed.home_url),
        *_optional("description", feed.description),
        *_optional("language", feed.language),
        _element("lastBuildDate", _rss_date(feed.updated)),
        _element("generator", "Reedbed"),
        _element("docs", "https://www.rssboard.org/rss-specification"),
        atom_link,
        *map(_rss_item, items),
    )
    namespaces = {"atom": ATOM, "dc": "http://purl.org/dc/elements/1.1/", **feed.namespaces}
    root = {"version": "2.0", **{f"xmlns:{prefix}": url for prefix, url in namespaces.items()}}
    document = _parent("rss", [_parent("channel", channel)], **root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'.encode()


def _rss_item(item: FeedItem) -> str:
    parts = (
        *_optional("title", item.title),
        *_optional("link", item.url),
        _element("guid", item.id, isPermaLink="true" if item.id == item.url else "false"),
        _element("pubDate", _rss_date(item.published)),
        *_optional("dc:creator", item.author),
        *(part for category in item.categories for part in _optional("category", category.term)),
        *_optional("description", item.content_html),
        _element("source", item.source.title, url=item.source.feed_url),
        *(part for name, text in item.extensions for part in _optional(name, text)),
    )
    return _parent("item", parts)


def _rss_date(timestamp: Instant) -> str:
    return format_datetime(to_datetime(timestamp), usegmt=True)


# --- JSON Feed


def to_json_feed(feed: FeedDocument, items: Iterable[FeedItem]) -> JsonFields:
    return json_feed(map(_json_item, items), title=feed.title, home_page_url=feed.home_url, feed_url=feed.self_url)


def _json_item(item: FeedItem) -> JsonFields:
    return {
        "id": item.id,
        "url": item.url,
        "title": item.title,
        "content_html": item.content_html,
        "summary": item.summary or None,
        "date_published": rfc3339(item.published),
        "date_modified": None if item.updated is None else rfc3339(item.updated),
        "authors": [{"name": item.author or item.source.title}],
        "language": item.language,
    }


def json_feed(items: Iterable[JsonFields], **fields: object) -> JsonFields:
    """A document of JSON Feed, without fields that are empty; an item may have an empty title or content."""
    without_none = ({name: value for name, value in item.items() if value is not None} for item in items)
    return {"version": JSON_FEED, **without_empty(**fields), "items": list(without_none)}


def without_empty(**fields: object) -> JsonFields:
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


# --- OPDS 1.2

_OPDS, _DUBLIN_CORE = "http://opds-spec.org/2010/catalog", "http://purl.org/dc/terms/"
_ACQUISITION = "http://opds-spec.org/acquisition"
CatalogueKind = Literal["navigation", "acquisition"]


def catalogue_type(kind: CatalogueKind) -> str:
    return f"application/atom+xml;profile=opds-catalog;kind={kind}"


@record
class CatalogueEntry:
    """A book, or a page of the catalogue (`leads_to`)."""

    id: str
    title: str
    updated: Instant
    url: str
    leads_to: CatalogueKind | None = None
    text: str = ""
    language: str = ""
    length: int = 0
    """Bytes of a book, if it is made."""
    media_type: str = "application/epub+zip"


@record
class CataloguePage:
    id: str
    title: str
    updated: Instant
    kind: CatalogueKind
    self_url: str
    start_url: str
    next_url: str = ""


def write_catalogue(page: CataloguePage, entries: Iterable[CatalogueEntry]) -> bytes:
    parts = (
        _element("id", page.id),
        _element("title", page.title),
        _element("updated", rfc3339(page.updated)),
        _parent("author", [_element("name", "Reedbed")]),
        _link(page.self_url, "self", catalogue_type(page.kind)),
        _link(page.start_url, "start", catalogue_type("navigation")),
        *([_link(page.start_url, "up", catalogue_type("navigation"))] if page.self_url != page.start_url else ()),
        *([_link(page.next_url, "next", catalogue_type(page.kind))] if page.next_url else ()),
        *map(_catalogue_entry, entries),
    )
    root = {"xmlns": ATOM, "xmlns:dc": _DUBLIN_CORE, "xmlns:opds": _OPDS}
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{_parent('feed', parts, **root)}".encode()


def _catalogue_entry(entry: CatalogueEntry) -> str:
    if entry.leads_to:
        link = _link(entry.url, "subsection", catalogue_type(entry.leads_to))
    else:
        length = {"length": str(entry.length)} if entry.length else {}
        link = _element("link", href=entry.url, rel=_ACQUISITION, type=entry.media_type, **length)
    parts = (
        _element("id", entry.id),
        _element("title", entry.title),
        _element("updated", rfc3339(entry.updated)),
        *_optional("dc:language", entry.language),
        *([_element("content", entry.text, type="text")] if entry.text else ()),
        link,
    )
    return _parent("entry", parts)


# --- XML


def _element(name: str, text: str = "", **attributes: str) -> str:
    return _parent(name, [_escape(text)] if text else (), **attributes)


def _optional(name: str, text: str | None) -> tuple[str, ...]:
    return (_element(name, text),) if text and text.strip() else ()


def _parent(name: str, parts: Iterable[str], **attributes: str) -> str:
    start = "".join((name, *(f' {key}="{_escape_attribute(value)}"' for key, value in attributes.items())))
    content = "".join(parts)
    return f"<{start}>{content}</{name}>" if content else f"<{start}/>"


def _escape(text: str) -> str:
    text = writable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def _escape_attribute(value: str) -> str:
    return _escape(value).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


# --- Podcasts

_ITUNES, _PODCAST = "http://www.itunes.com/dtds/podcast-1.0.dtd", "https://podcastindex.org/namespace/1.0"


def write_podcast(title: str, self_url: str, home_url: str, base_url: str, episodes: Sequence[Spoken]) -> bytes:
    """A podcast that directories must not list. The files of an episode are below `base_url`."""
    channel = (
        _element("title", title),
        _element("link", home_url),
        _element("description", title),
        *_optional("language", episodes[0].language if episodes else None),
        _element("generator", "Reedbed"),
        _element("itunes:block", "yes"),
        _element("itunes:explicit", "false"),
        _element("podcast:locked", "yes"),
        _element("atom:link", href=self_url, rel="self", type="application/rss+xml"),
        *(_episode(episode, f"{base_url}/{episode.id}") for episode in episodes),
    )
    namespaces = {"xmlns:atom": ATOM, "xmlns:itunes": _ITUNES, "xmlns:podcast": _PODCAST}
    document = _parent("rss", [_parent("channel", channel)], version="2.0", **namespaces)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'.encode()


def _episode(episode: Spoken, url: str) -> str:
    ending = "mp3" if episode.media_type == "audio/mpeg" else "wav"
    sound = {"url": f"{url}/sound?as=.{ending}", "length": str(episode.length), "type": episode.media_type}
    parts = (
        _element("title", episode.title),
        _element("guid", url, isPermaLink="false"),
        _element("pubDate", _rss_date(episode.created_at)),
        _element("description", show_notes(episode)),
        _element("enclosure", **sound),
        _element("itunes:duration", str(episode.seconds)),
        _element("podcast:chapters", url=f"{url}/chapters.json", type="application/json+chapters"),
        _element("podcast:transcript", url=f"{url}/transcript.vtt", type="text/vtt"),
    )
    return _parent("item", parts)
