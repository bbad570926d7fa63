"""Write entries as Atom 1.0, Google Reader Atom and JSON Feed 1.1; the output is always well-formed."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from lxml import etree

from reedbed.domain.reader_apps import state_name
from reedbed.domain.records import record
from reedbed.domain.text import writable
from reedbed.domain.times import SECOND, Instant, rfc3339
from reedbed.store.entries.read import EntryText

ATOM = "http://www.w3.org/2005/Atom"
# The lxml type stubs do not allow a namespace without a prefix.
_NAMESPACES: Any = {None: ATOM}
_READER = "http://www.google.com/schemas/reader/atom/"
_READER_STATES = "http://www.google.com/reader/"
_READ, _FRESH = state_name("read"), state_name("fresh")
_XML = "http://www.w3.org/XML/1998/namespace"


@record
class FeedHeader:
    """Metadata of a feed that we write."""

    id: str
    title: str
    self_url: str
    home_url: str
    updated: Instant
    entry_id_base: str
    """Prefix of entry ids, so an entry has the same id in every feed."""


def as_atom(header: FeedHeader, entries: Sequence[EntryText]) -> bytes:
    root = etree.Element(f"{{{ATOM}}}feed", nsmap=_NAMESPACES)
    _add_element(root, "id", header.id)
    _add_element(root, "title", header.title)
    _add_element(root, "updated", rfc3339(header.updated))
    _add_element(root, "generator", "Reedbed")
    _add_link(root, header.self_url, rel="self", type="application/atom+xml")
    _add_link(root, header.home_url, rel="alternate", type="text/html")
    for entry in entries:
        _add_atom_entry(root, header, entry)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def as_reader_atom(stream: Mapping[str, Any], self_url: str) -> bytes:
    """Write Google Reader items as Atom. newsboat reads the read state from category labels."""
    root = etree.Element(f"{{{ATOM}}}feed", nsmap={**_NAMESPACES, "gr": _READER})
    _add_element(root, "id", f"tag:google.com,2005:reader/{stream['id']}")
    _add_element(root, "title", stream["title"])
    _add_element(root, "updated", rfc3339(stream["updated"] * SECOND))
    _add_link(root, self_url, rel="self", type="application/atom+xml")
    if "continuation" in stream:
        etree.SubElement(root, f"{{{_READER}}}continuation").text = stream["continuation"]
    for item in stream["items"]:
        _add_reader_entry(root, item)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _add_reader_entry(root: Any, item: Mapping[str, Any]) -> None:
    element = etree.SubElement(root, f"{{{ATOM}}}entry")
    _add_element(element, "id", item["id"])
    _add_element(element, "title", item["title"])
    _add_element(element, "published", rfc3339(item["published"] * SECOND))
    _add_element(element, "updated", rfc3339(item["updated"] * SECOND))
    author = etree.SubElement(element, f"{{{ATOM}}}author")
    _add_element(author, "name", item.get("author") or item["origin"]["title"])
    _add_link(element, item["alternate"][0]["href"], rel="alternate", type="text/html")
    for enclosure in item.get("enclosure", ()):
        _add_link(element, enclosure["href"], rel="enclosure", type=writable(enclosure["type"]))
    for term in item["categories"]:
        _add_reader_category(element, term)
    if _READ not in item["categories"]:
        _add_reader_category(element, _FRESH)
    _add_element(element, "content", item["summary"]["content"], type="html")
    source = etree.SubElement(element, f"{{{ATOM}}}source")
    _add_element(source, "id", f"tag:google.com,2005:reader/{item['origin']['streamId']}")
    _add_element(source, "title", item["origin"]["title"])
    _add_link(source, item["origin"]["htmlUrl"], rel="alternate", type="text/html")


def _add_reader_category(element: Any, term: str) -> None:
    """Only states get the scheme, so a tag called "read" does not change the read state."""
    kind, _, label = term.partition("/-/")[2].partition("/")
    if kind == "label":
        _add_element(element, "category", "", term=writable(term), label=writable(label))
    else:
        _add_element(element, "category", "", term=term, label=term.rpartition("/")[2], scheme=_READER_STATES)


def as_json_feed(header: FeedHeader, entries: Sequence[EntryText]) -> bytes:
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": header.title,
            "home_page_url": header.home_url,
            "feed_url": header.self_url,
            "items": [_json_item(header, entry) for entry in entries],
        }
    )


def _add_atom_entry(root: Any, header: FeedHeader, entry: EntryText) -> None:
    element = etree.SubElement(root, f"{{{ATOM}}}entry")
    if entry.language:
        element.set(f"{{{_XML}}}lang", writable(entry.language))
    _add_element(element, "id", f"{header.entry_id_base}{entry.id}")
    _add_element(element, "title", entry.title)
    _add_element(element, "updated", rfc3339(_updated_at(entry)))
    _add_element(element, "published", rfc3339(entry.sort_at))
    author = etree.SubElement(element, f"{{{ATOM}}}author")
    _add_element(author, "name", entry.author or entry.feed_title)
    if entry.url:
        _add_link(element, entry.url, rel="alternate", type="text/html")
    _add_source(element, header, entry)
    _add_element(element, "content", entry.content, type="html")


def _add_source(element: Any, header: FeedHeader, entry: EntryText) -> None:
    source = etree.SubElement(element, f"{{{ATOM}}}source")
    _add_element(source, "id", f"{header.entry_id_base}feed-{entry.feed_id}")
    _add_element(source, "title", entry.feed_title)
    _add_element(source, "updated", rfc3339(_updated_at(entry)))


def _json_item(header: FeedHeader, entry: EntryText) -> dict[str, Any]:
    fields = {
        "id": f"{header.entry_id_base}{entry.id}",
        "url": entry.url,
        "title": entry.title,
        "content_html": entry.content,
        "summary": entry.summary or None,
        "date_published": rfc3339(entry.sort_at),
        "date_modified": None if entry.changed_at is None else rfc3339(entry.changed_at),
        "authors": [{"name": entry.author or entry.feed_title}],
        "language": entry.language,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _updated_at(entry: EntryText) -> Instant:
    return entry.sort_at if entry.changed_at is None else max(entry.sort_at, entry.changed_at)


def _add_element(parent: Any, name: str, text: str, **attributes: str) -> None:
    element = etree.SubElement(parent, f"{{{ATOM}}}{name}")
    element.text = writable(text) or None
    for key, value in attributes.items():
        element.set(key, value)


def _add_link(parent: Any, href: str, **attributes: str) -> None:
    _add_element(parent, "link", "", href=writable(href), **attributes)
