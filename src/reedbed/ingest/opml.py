"""OPML in and out: subscription lists as every reader writes them, broken ones included."""

import re
from collections.abc import Iterable
from typing import Any

from lxml import etree

from reedbed.domain.errors import Invalid
from reedbed.domain.opml import OpmlDocument, OpmlOutline
from reedbed.domain.texts import writable
from reedbed.ingest.parse.limits import MAX_ATTRIBUTES
from reedbed.ingest.parse.prolog import without_doctype

MAX_BYTES = 10_000_000
MAX_DEPTH = 32
MAX_OUTLINES = 50_000
MAX_TEXT = 2_048

_NOT_OPML = "This is not an OPML file. Export the subscriptions from your other reader as OPML and try again."
_OTHER_EXPORT = "This is not an OPML file. Other exports are brought in under Settings, Your data."
_OTHER_EXPORTS = (b"PK\x03\x04", b"SQLite format 3\0", b"{", b"[")
# References to what no XML may hold; lxml would leave out the element they stand in, and say nothing.
_NO_CHARACTER = re.compile(rb"&#(?:0*(?:[0-8]|1[1-24-9]|2[0-9]|3[01])|[xX]0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]));")
_END = re.compile(rb"</(?:[\w.-]+:)?opml\s*>", re.IGNORECASE)
_KNOWN = frozenset({"text", "title", "xmlurl", "htmlurl", "type"})


def read_opml(body: bytes) -> OpmlDocument:
    """Raises `Invalid` with a plain sentence when the bytes are no OPML."""
    if len(body) > MAX_BYTES:
        raise Invalid("The file is larger than 10 MB.", field="file")
    if body.startswith(_OTHER_EXPORTS):
        raise Invalid(_OTHER_EXPORT, field="file")
    root = _parse(body)
    if root is None or _name(root) != "opml":
        raise Invalid(_NOT_OPML, field="file")
    head = next((child for child in root if _name(child) == "head"), None)
    bodies = [child for child in root if _name(child) == "body"]
    reader = _Reader()
    outlines = tuple(outline for part in bodies for outline in reader.outlines(part, 1))
    return OpmlDocument(_head_title(head), outlines, _head_pairs(head), cut_off=_is_cut_off(body))


def write_opml(document: OpmlDocument) -> bytes:
    root = etree.Element("opml", version="2.0")
    head = etree.SubElement(root, "head")
    etree.SubElement(head, "title").text = writable(document.title)
    for name, value in document.head:
        etree.SubElement(head, name).text = writable(value)
    body = etree.SubElement(root, "body")
    _append(body, document.outlines)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


class _Reader:
    def __init__(self) -> None:
        self._count = 0

    def outlines(self, parent: Any, depth: int) -> Iterable[OpmlOutline]:
        if depth > MAX_DEPTH:
            return
        for element in parent:
            if _name(element) != "outline":
                continue
            self._count += 1
            if self._count > MAX_OUTLINES:
                raise Invalid(f"The file lists more than {MAX_OUTLINES} outlines.", field="file")
            yield self._outline(element, depth)

    def _outline(self, element: Any, depth: int) -> OpmlOutline:
        # lxml searches from the first one for each of them: a hundred thousand would take minutes.
        if len(element.attrib) > MAX_ATTRIBUTES:
            raise Invalid(f"An outline has more than {MAX_ATTRIBUTES} attributes.", field="file")
        attributes = {str(name): str(value)[:MAX_TEXT].strip() for name, value in element.attrib.items()}
        known = {name.lower(): value for name, value in attributes.items() if name.lower() in _KNOWN}
        others = tuple((name, value) for name, value in attributes.items() if name.lower() not in _KNOWN)
        return OpmlOutline(
            title=known.get("title") or known.get("text") or "",
            xml_url=known.get("xmlurl") or None,
            html_url=known.get("htmlurl") or None,
            type=known.get("type") or None,
            attributes=others,
            children=tuple(self.outlines(element, depth + 1)),
        )


def _parse(body: bytes) -> Any:
    # No entity is ever expanded: a document type is cut out before lxml sees it.
    stripped = _NO_CHARACTER.sub(b"", without_doctype(body.lstrip(b"\xef\xbb\xbf \t\r\n")))
    parser = etree.XMLParser(
        recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        return etree.fromstring(stripped, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _is_cut_off(body: bytes) -> bool:
    """Without its last tag, in whatever encoding: two bytes a letter leave zeros between."""
    return _END.search(body.replace(b"\0", b"")) is None


def _name(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _head_title(head: Any) -> str:
    return next((value for name, value in _texts(head) if name == "title"), "")


def _head_pairs(head: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in _texts(head) if name != "title" and name.isidentifier())


def _texts(head: Any) -> list[tuple[str, str]]:
    if head is None:
        return []
    return [(_name(child), (child.text or "").strip()[:MAX_TEXT]) for child in head if _name(child)]


def _append(parent: Any, outlines: Iterable[OpmlOutline]) -> None:
    for outline in outlines:
        element = etree.SubElement(
            parent, "outline", text=writable(outline.title), title=writable(outline.title)
        )
        for name, value in (
            ("type", outline.type),
            ("xmlUrl", outline.xml_url),
            ("htmlUrl", outline.html_url),
            *outline.attributes,
        ):
            if value and _is_attribute_name(name):
                element.set(name, writable(value))
        _append(element, outline.children)


def _is_attribute_name(name: str) -> bool:
    """Plain names, and `{namespace}name` as lxml writes them."""
    return re.fullmatch(r"(\{[^{}\s]+\})?[A-Za-z_][\w.\-]*", name) is not None
