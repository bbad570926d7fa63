"""Read and write the formats in which subscriptions and entries move between feed readers.

OPML files, a Miniflux server over its API, and starred entries as JSON (Google Reader, FreshRSS and others).
All of it is untrusted: sizes, counts and nesting are limited.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlencode

import orjson
from lxml import etree

from reedbed.domain.errors import Invalid
from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.refresh.outcomes import Failed, Fetched, FetchRequest
from reedbed.domain.text import writable
from reedbed.domain.times import LATEST, SECOND, Instant, from_datetime
from reedbed.domain.transfer import (
    MAX_CONTENT_LENGTH,
    MAX_FEEDS,
    MAX_KEPT,
    MAX_READS,
    MAX_TEXT_LENGTH,
    PAGE_RECIPE,
    STARRED_JSON,
    ImportedEntry,
    ImportedFeed,
    Library,
    OpmlDocument,
    OpmlOutline,
    ReadMark,
)
from reedbed.ingest.http.client import Fetcher
from reedbed.ingest.http.headers import RequestTarget, parse_target
from reedbed.ingest.parse.prolog import without_doctype
from reedbed.ingest.parse.xml import MAX_ATTRIBUTES

# --- OPML

MAX_BYTES = 10_000_000
MAX_DEPTH = 32
MAX_OUTLINES = 50_000
MAX_TEXT = 2_048
MAX_RECIPE = 32_000
"""Six selectors, fingerprints and what JSON adds to them."""

_NOT_OPML = "This is not an OPML file. Export the subscriptions from your other reader as OPML and try again."
_OTHER_EXPORT = "This is not an OPML file. Import other exports under Settings, Your data."
_OTHER_EXPORTS = (b"PK\x03\x04", b"SQLite format 3\0", b"{", b"[")
# References to characters that XML forbids; lxml would silently drop the element that contains them.
_FORBIDDEN_REFERENCE = re.compile(rb"&#(?:0*(?:[0-8]|1[1-24-9]|2[0-9]|3[01])|[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]));")
_OPML_END = re.compile(rb"</(?:[\w.-]+:)?opml\s*>", re.IGNORECASE)
_OUTLINE_ATTRIBUTES = frozenset({"text", "title", "xmlurl", "htmlurl", "type"})


def read_opml(body: bytes) -> OpmlDocument:
    """Raise `Invalid` with a readable message if the bytes are not OPML."""
    if len(body) > MAX_BYTES:
        raise Invalid("The file is larger than 10 MB.", field="file")
    if body.startswith(_OTHER_EXPORTS):
        raise Invalid(_OTHER_EXPORT, field="file")
    root = _parse(body)
    if root is None or _local_name(root) != "opml":
        raise Invalid(_NOT_OPML, field="file")
    head = next((child for child in root if _local_name(child) == "head"), None)
    bodies = [child for child in root if _local_name(child) == "body"]
    reader = _OpmlReader()
    outlines = tuple(outline for element in bodies for outline in reader.outlines(element, 1))
    return OpmlDocument(_head_title(head), outlines, _head_pairs(head), cut_off=_is_cut_off(body))


def write_opml(document: OpmlDocument) -> bytes:
    root = etree.Element("opml", version="2.0")
    head = etree.SubElement(root, "head")
    etree.SubElement(head, "title").text = writable(document.title)
    for name, value in document.head:
        etree.SubElement(head, name).text = writable(value)
    body = etree.SubElement(root, "body")
    _append_outlines(body, document.outlines)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


class _OpmlReader:
    def __init__(self) -> None:
        self._count = 0

    def outlines(self, parent: Any, depth: int) -> Iterable[OpmlOutline]:
        if depth > MAX_DEPTH:
            return
        for element in parent:
            if _local_name(element) != "outline":
                continue
            self._count += 1
            if self._count > MAX_OUTLINES:
                raise Invalid("The file lists more than %(limit)s outlines.", field="file", limit=MAX_OUTLINES)
            yield self._outline(element, depth)

    def _outline(self, element: Any, depth: int) -> OpmlOutline:
        # lxml searches the attributes linearly for each lookup: a hundred thousand would take minutes.
        if len(element.attrib) > MAX_ATTRIBUTES:
            raise Invalid("An outline has more than %(limit)s attributes.", field="file", limit=MAX_ATTRIBUTES)
        attributes = {
            str(name): str(value)[: MAX_RECIPE if name == PAGE_RECIPE else MAX_TEXT].strip()
            for name, value in element.attrib.items()
        }
        standard = {name.lower(): value for name, value in attributes.items() if _is_standard(name)}
        others = tuple((name, value) for name, value in attributes.items() if not _is_standard(name))
        return OpmlOutline(
            title=standard.get("title") or standard.get("text") or "",
            xml_url=standard.get("xmlurl") or None,
            html_url=standard.get("htmlurl") or None,
            type=standard.get("type") or None,
            attributes=others,
            children=tuple(self.outlines(element, depth + 1)),
        )


def _is_standard(attribute: str) -> bool:
    return attribute.lower() in _OUTLINE_ATTRIBUTES


def _parse(body: bytes) -> Any:
    # Remove the doctype before lxml sees it, so that no entity is ever expanded.
    stripped = _FORBIDDEN_REFERENCE.sub(b"", without_doctype(body.lstrip(b"\xef\xbb\xbf \t\r\n")))
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(stripped, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _is_cut_off(body: bytes) -> bool:
    """Whether the closing tag is missing. Zero bytes are removed first, so this works for UTF-16 too."""
    return _OPML_END.search(body.replace(b"\0", b"")) is None


def _local_name(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _head_title(head: Any) -> str:
    return next((value for name, value in _head_texts(head) if name == "title"), "")


def _head_pairs(head: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in _head_texts(head) if name != "title" and name.isidentifier())


def _head_texts(head: Any) -> list[tuple[str, str]]:
    if head is None:
        return []
    return [(_local_name(child), (child.text or "").strip()[:MAX_TEXT]) for child in head if _local_name(child)]


def _append_outlines(parent: Any, outlines: Iterable[OpmlOutline]) -> None:
    for outline in outlines:
        element = etree.SubElement(parent, "outline", text=writable(outline.title), title=writable(outline.title))
        for name, value in (
            ("type", outline.type),
            ("xmlUrl", outline.xml_url),
            ("htmlUrl", outline.html_url),
            *outline.attributes,
        ):
            if value and _is_attribute_name(name):
                element.set(name, writable(value))
        _append_outlines(element, outline.children)


def _is_attribute_name(name: str) -> bool:
    """Accept plain names, and `{namespace}name` as lxml writes them."""
    return re.fullmatch(r"(\{[^{}\s]+\})?[A-Za-z_][\w.\-]*", name) is not None


# --- JSON values of unknown type


def text(value: Any) -> str:
    return value[:MAX_TEXT_LENGTH] if isinstance(value, str) else ""


def listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


# --- Miniflux

BATCH_SIZE = 200
MAX_STARRED = 10_000
MAX_READ = 5_000
_MAX_RESPONSE_BYTES = 20_000_000
_NO_MINIFLUX = "There is no Miniflux at this address."


async def read_miniflux(fetcher: Fetcher, url: str, token: str) -> Library:
    """Raise `Invalid` with the reason if the library cannot be read."""
    client = _miniflux_client(fetcher, url, token)
    feeds = tuple(_miniflux_feed(mapping(feed)) for feed in (await client.feeds())[:MAX_FEEDS])
    titles = {feed.key: feed.title for feed in feeds}
    starred = await client.entries({"starred": "true"}, MAX_STARRED)
    read = await client.entries({"status": "read"}, MAX_READ)
    return Library(
        "Miniflux",
        feeds,
        tuple(_starred_entries(starred, titles)),
        tuple(ReadMark(_miniflux_feed_key(entry), None, text(entry.get("url")) or None) for entry in read),
    )


async def check_miniflux(fetcher: Fetcher, url: str, token: str) -> None:
    """Raise `Invalid` if there is no Miniflux at this URL or it rejects the token."""
    await _miniflux_client(fetcher, url, token).feeds()


def _miniflux_client(fetcher: Fetcher, url: str, token: str) -> "_MinifluxClient":
    if not token.strip():
        raise Invalid("Miniflux needs a token: make one under Settings, API Keys.", field="token")
    return _MinifluxClient(fetcher, _base_url(url), token.strip())


class _MinifluxClient:
    def __init__(self, fetcher: Fetcher, base: str, token: str) -> None:
        self._fetcher = fetcher
        self._base_url = base
        self._token = token

    async def feeds(self) -> list[Any]:
        response = await self._get("/v1/feeds")
        if not isinstance(response, list):
            raise Invalid(_NO_MINIFLUX, field="url")
        return listed(response)

    async def entries(self, filters: Mapping[str, str], limit: int) -> list[Mapping[str, Any]]:
        fetched: list[Mapping[str, Any]] = []
        size = 0
        while len(fetched) < limit:
            query = {**filters, "order": "id", "direction": "desc", "limit": BATCH_SIZE, "offset": len(fetched)}
            response = await self._get(f"/v1/entries?{urlencode(query)}")
            batch = [mapping(entry) for entry in listed(mapping(response).get("entries"))]
            fetched += batch
            size += sum(len(text(entry.get("content"))) for entry in batch)
            if len(batch) < BATCH_SIZE or size > MAX_CONTENT_LENGTH:
                break
        return fetched[:limit]

    async def _get(self, path: str) -> Any:
        request = FetchRequest(
            self._base_url + path,
            accept="application/json",
            max_bytes=_MAX_RESPONSE_BYTES,
            token=("X-Auth-Token", self._token),
        )
        outcome = await self._fetcher.fetch(request)
        if isinstance(outcome, Fetched):
            try:
                return orjson.loads(outcome.body)
            except orjson.JSONDecodeError as error:
                raise Invalid(_NO_MINIFLUX, field="url") from error
        if isinstance(outcome, Failed) and outcome.kind == "unauthorized":
            raise Invalid("Miniflux does not know this token.", field="token")
        raise Invalid(Failure(FailureCode.MINIFLUX_UNREACHABLE, cause=outcome.failure), field="url")


def _base_url(url: str) -> str:
    if not isinstance(parse_target(url.strip()), RequestTarget):
        raise Invalid("The address must start with http:// or https://", field="url")
    return url.strip().rstrip("/").removesuffix("/v1")


def _miniflux_feed(feed: Mapping[str, Any]) -> ImportedFeed:
    folder = text(mapping(feed.get("category")).get("title"))
    path = (folder,) if folder and folder != "All" else ()
    return ImportedFeed(str(feed.get("id")), text(feed.get("feed_url")), text(feed.get("title")), path)


def _starred_entries(entries: list[Mapping[str, Any]], titles: Mapping[str, str]) -> Iterator[ImportedEntry]:
    for entry in entries:
        yield ImportedEntry(
            feed_key=_miniflux_feed_key(entry),
            feed_title=titles.get(_miniflux_feed_key(entry), ""),
            guid=None,
            url=text(entry.get("url")) or None,
            title=text(entry.get("title")),
            content=text(entry.get("content")),
            author=text(entry.get("author")) or None,
            published=_parse_timestamp(entry.get("published_at")),
        )


def _miniflux_feed_key(entry: Mapping[str, Any]) -> str:
    return str(entry.get("feed_id"))


def _parse_timestamp(value: Any) -> int | None:
    try:
        return from_datetime(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except ValueError:
        return None


# --- Starred entries as JSON

_NOT_STARRED = "This JSON file holds no list of starred entries."
_MILLISECONDS_FROM = 100_000_000_000
"""Larger timestamps are in milliseconds: as seconds, this would be the year 5138."""
_LABEL = "/label/"
_MAX_LABELS = 20
_STATE = "/state/com.google/"
_STARRED = "starred"
_OTHER_LISTS = ("like", "broadcast", "created", "unread")
"""States of other lists: liked, shared and own entries, and all entries of a feed."""
_FEED_LIST = "/state/org.freshrss/feed/"


class NothingStarred(Invalid):
    pass


def read_starred(body: bytes) -> Library:
    try:
        document: Any = orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise Invalid("This file is not a complete JSON document.", field="file") from error
    items = [mapping(item) for item in listed(mapping(document).get("items", document))]
    only_marked = _FEED_LIST in text(mapping(document).get("id"))
    entries = tuple(_marked_entries(items, only_marked=only_marked, some_marked=_has_states(items)))
    reads = tuple(_read_marks(items))
    if not entries and not reads:
        raise NothingStarred(_NOT_STARRED, field="file")
    return Library(STARRED_JSON, _source_feeds(items, entries), entries, reads)


def _has_states(items: Iterable[Mapping[str, Any]]) -> bool:
    """Whether entries are marked as starred or not. Without such marks all of them are starred."""
    states = {state for item in items for state in _states(item)}
    return not states.isdisjoint((_STARRED, *_OTHER_LISTS))


def _states(item: Mapping[str, Any]) -> Iterator[str]:
    return (stream.partition(_STATE)[2] for stream in _streams(item) if _STATE in stream)


def _streams(item: Mapping[str, Any]) -> list[str]:
    return [stream for stream in listed(item.get("categories")) if isinstance(stream, str)]


def _marked_entries(
    items: Iterable[Mapping[str, Any]], *, only_marked: bool, some_marked: bool
) -> Iterator[ImportedEntry]:
    count, size = 0, 0
    for item in items:
        states = set(_states(item))
        unmarked = not only_marked and not (some_marked and states)
        entry = _entry(item, starred=unmarked or _STARRED in states)
        if entry is None or not (entry.starred or entry.tags):
            continue
        count, size = count + 1, size + len(entry.content)
        if count > MAX_KEPT or size > MAX_CONTENT_LENGTH:
            raise Invalid(
                "This file holds too much: at most %(limit)s entries are taken.", field="file", limit=MAX_KEPT
            )
        yield entry


def _entry(item: Mapping[str, Any], *, starred: bool) -> ImportedEntry | None:
    url = _entry_url(item)
    title = text(item.get("title"))
    if url is None and not title:
        return None
    return ImportedEntry(
        feed_key=_feed_key(item),
        feed_title=text(mapping(item.get("origin")).get("title")),
        guid=_guid(item),
        url=url,
        title=title,
        content=_content(item),
        author=text(item.get("author")) or None,
        published=_parse_unix_time(item.get("published")),
        starred=starred,
        tags=_labels(item),
    )


def _feed_key(item: Mapping[str, Any]) -> str:
    origin = mapping(item.get("origin"))
    stream = text(origin.get("feedUrl")) or text(origin.get("streamId")).removeprefix("feed/")
    return stream if stream.startswith(("http://", "https://")) else ""


def _guid(item: Mapping[str, Any]) -> str | None:
    return text(item.get("guid")) or text(item.get("originId")) or None


def _read_marks(items: Iterable[Mapping[str, Any]]) -> Iterator[ReadMark]:
    count = 0
    for item in items:
        mark = ReadMark(_feed_key(item), _guid(item), _entry_url(item))
        if "read" in _states(item) and mark.feed_key and (mark.guid or mark.url) and count < MAX_READS:
            count += 1
            yield mark


def _entry_url(item: Mapping[str, Any]) -> str | None:
    for name in ("canonical", "alternate"):
        for link in listed(item.get(name)):
            if href := text(mapping(link).get("href")):
                return href
    return text(item.get("canonicalUrl")) or text(item.get("url")) or None


def _content(item: Mapping[str, Any]) -> str:
    for name in ("content", "summary"):
        part = item.get(name)
        if content := text(part) or text(mapping(part).get("content")):
            return content
    return ""


def _labels(item: Mapping[str, Any]) -> tuple[str, ...]:
    tags = [tag if isinstance(tag, str) else text(mapping(tag).get("label")) for tag in listed(item.get("tags"))]
    folder = _folder(item)
    labels = [name.partition(_LABEL)[2] for name in _streams(item) if _LABEL in name and name != folder]
    return tuple(dict.fromkeys(label for label in (*labels, *tags) if label and "/" not in label))[:_MAX_LABELS]


def _folder(item: Mapping[str, Any]) -> str | None:
    """FreshRSS writes the category of the feed as the first label, right after the reading list."""
    streams = _streams(item)
    if len(streams) > 1 and streams[0] == "user/-/state/com.google/reading-list":
        return streams[1] if streams[1].startswith("user/-/label/") else None
    return None


def _source_feeds(items: Iterable[Mapping[str, Any]], entries: Iterable[ImportedEntry]) -> tuple[ImportedFeed, ...]:
    """The feeds of these entries. Starring an entry does not subscribe to its feed: `follow` is False."""
    folders = {_feed_key(item): _folder(item) for item in items}
    titles = dict.fromkeys(key for key in folders if key) | {
        entry.feed_key: entry.feed_title for entry in entries if entry.feed_key
    }
    return tuple(
        ImportedFeed(key, key, title or "", _folder_path(folders.get(key)), follow=False)
        for key, title in list(titles.items())[:MAX_FEEDS]
    )


def _folder_path(folder: str | None) -> tuple[str, ...]:
    return (folder.partition(_LABEL)[2],) if folder else ()


def _parse_unix_time(value: Any) -> Instant | None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= LATEST:
        return None
    return value * SECOND if value < _MILLISECONDS_FROM else value
