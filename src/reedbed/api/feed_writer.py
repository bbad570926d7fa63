"""Entries written as a feed: Atom 1.0 and JSON Feed 1.1, well-formed whatever the entries hold."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from lxml import etree

from reedbed.domain.reader_apps import state_name
from reedbed.domain.records import record
from reedbed.domain.text import writable
from reedbed.domain.times import SECOND, Instant, rfc3339
from reedbed.store.entries.read import EntryWords

ATOM = "http://www.w3.org/2005/Atom"
# The stubs of lxml know no namespace without a prefix.
_NAMESPACES: Any = {None: ATOM}
_READER = "http://www.google.com/schemas/reader/atom/"
_READER_STATES = "http://www.google.com/reader/"
_READ, _FRESH = state_name("read"), state_name("fresh")
_XML = "http://www.w3.org/XML/1998/namespace"


@record
class FeedHeader:
    """What a written feed says of itself."""

    id: str
    title: str
    self_url: str
    home_url: str
    updated: Instant
    entry_id_base: str
    """An entry's own name is this and its id: the same in every feed it appears in."""


def as_atom(head: FeedHeader, entries: Sequence[EntryWords]) -> bytes:
    root = etree.Element(f"{{{ATOM}}}feed", nsmap=_NAMESPACES)
    _say(root, "id", head.id)
    _say(root, "title", head.title)
    _say(root, "updated", rfc3339(head.updated))
    _say(root, "generator", "Reedbed")
    _link(root, head.self_url, rel="self", type="application/atom+xml")
    _link(root, head.home_url, rel="alternate", type="text/html")
    for entry in entries:
        _atom_entry(root, head, entry)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def as_reader_atom(stream: Mapping[str, Any], self_url: str) -> bytes:
    """Google Reader items as Atom. newsboat takes the read state from the labels of categories."""
    root = etree.Element(f"{{{ATOM}}}feed", nsmap={**_NAMESPACES, "gr": _READER})
    _say(root, "id", f"tag:google.com,2005:reader/{stream['id']}")
    _say(root, "title", stream["title"])
    _say(root, "updated", rfc3339(stream["updated"] * SECOND))
    _link(root, self_url, rel="self", type="application/atom+xml")
    if "continuation" in stream:
        etree.SubElement(root, f"{{{_READER}}}continuation").text = stream["continuation"]
    for item in stream["items"]:
        _reader_entry(root, item)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _reader_entry(root: Any, item: Mapping[str, Any]) -> None:
    element = etree.SubElement(root, f"{{{ATOM}}}entry")
    _say(element, "id", item["id"])
    _say(element, "title", item["title"])
    _say(element, "published", rfc3339(item["published"] * SECOND))
    _say(element, "updated", rfc3339(item["updated"] * SECOND))
    author = etree.SubElement(element, f"{{{ATOM}}}author")
    _say(author, "name", item.get("author") or item["origin"]["title"])
    _link(element, item["alternate"][0]["href"], rel="alternate", type="text/html")
    for enclosure in item.get("enclosure", ()):
        _link(element, enclosure["href"], rel="enclosure", type=writable(enclosure["type"]))
    for term in item["categories"]:
        _reader_category(element, term)
    if _READ not in item["categories"]:
        _reader_category(element, _FRESH)
    _say(element, "content", item["summary"]["content"], type="html")
    source = etree.SubElement(element, f"{{{ATOM}}}source")
    _say(source, "id", f"tag:google.com,2005:reader/{item['origin']['streamId']}")
    _say(source, "title", item["origin"]["title"])
    _link(source, item["origin"]["htmlUrl"], rel="alternate", type="text/html")


def _reader_category(element: Any, term: str) -> None:
    """Only states are in the scheme of the labels: a tag called "read" says nothing about the read state."""
    kind, _, label = term.partition("/-/")[2].partition("/")
    if kind == "label":
        _say(element, "category", "", term=writable(term), label=writable(label))
    else:
        _say(element, "category", "", term=term, label=term.rpartition("/")[2], scheme=_READER_STATES)


def as_json_feed(head: FeedHeader, entries: Sequence[EntryWords]) -> bytes:
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": head.title,
            "home_page_url": head.home_url,
            "feed_url": head.self_url,
            "items": [_json_item(head, entry) for entry in entries],
        }
    )


def _atom_entry(root: Any, head: FeedHeader, entry: EntryWords) -> None:
    element = etree.SubElement(root, f"{{{ATOM}}}entry")
    if entry.language:
        element.set(f"{{{_XML}}}lang", writable(entry.language))
    _say(element, "id", f"{head.entry_id_base}{entry.id}")
    _say(element, "title", entry.title)
    _say(element, "updated", rfc3339(_updated(entry)))
    _say(element, "published", rfc3339(entry.sort_at))
    author = etree.SubElement(element, f"{{{ATOM}}}author")
    _say(author, "name", entry.author or entry.feed_title)
    if entry.url:
        _link(element, entry.url, rel="alternate", type="text/html")
    _source(element, head, entry)
    _say(element, "content", entry.content, type="html")


def _source(element: Any, head: FeedHeader, entry: EntryWords) -> None:
    source = etree.SubElement(element, f"{{{ATOM}}}source")
    _say(source, "id", f"{head.entry_id_base}feed-{entry.feed_id}")
    _say(source, "title", entry.feed_title)
    _say(source, "updated", rfc3339(_updated(entry)))


def _json_item(head: FeedHeader, entry: EntryWords) -> dict[str, Any]:
    said = {
        "id": f"{head.entry_id_base}{entry.id}",
        "url": entry.url,
        "title": entry.title,
        "content_html": entry.content,
        "summary": entry.summary or None,
        "date_published": rfc3339(entry.sort_at),
        "date_modified": None if entry.changed_at is None else rfc3339(entry.changed_at),
        "authors": [{"name": entry.author or entry.feed_title}],
        "language": entry.language,
    }
    return {name: value for name, value in said.items() if value is not None}


def _updated(entry: EntryWords) -> Instant:
    return entry.sort_at if entry.changed_at is None else max(entry.sort_at, entry.changed_at)


def _say(parent: Any, name: str, text: str, **attributes: str) -> None:
    element = etree.SubElement(parent, f"{{{ATOM}}}{name}")
    element.text = writable(text) or None
    for key, value in attributes.items():
        element.set(key, value)


def _link(parent: Any, href: str, **attributes: str) -> None:
    _say(parent, "link", "", href=writable(href), **attributes)
