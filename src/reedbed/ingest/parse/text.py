"""Telling text from markup, and turning the one into the other."""

import html
import re
from html.entities import html5

from lxml import etree

from reedbed.ingest.parse.tree import Element

_TAG_NAMES = """
a abbr acronym address area article aside audio b bdi bdo big blockquote br button canvas caption center
cite code col colgroup data dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font
footer form h1 h2 h3 h4 h5 h6 header hr i iframe img input ins kbd label legend li link main map mark menu
nav nobr noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script
section select small source span strike strong style sub summary sup svg table tbody td textarea tfoot th
thead time tr track tt u ul var video wbr
"""
_HTML_TAGS = frozenset(_TAG_NAMES.split())
_CLOSED_OR_VOID = re.compile(r"</\w+>|&#?\w+;|<(?:br|img|hr)\b", re.IGNORECASE)
_TAG_NAME = re.compile(r"</?([a-zA-Z]\w*)")
_ENTITY_NAME = re.compile(r"&([a-zA-Z]\w*);")
_UNSEEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/h\d)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_PLAIN_TYPES = frozenset({"text", "text/plain", "plain"})


def looks_like_html(text: str) -> bool:
    """Whether text that should be plain is HTML after all; in doubt it is not."""
    if "<" not in text and "&" not in text:
        return False
    if not _CLOSED_OR_VOID.search(text):
        return False
    if any(tag.lower() not in _HTML_TAGS for tag in _TAG_NAME.findall(text)):
        return False
    return all(f"{name};" in html5 for name in _ENTITY_NAME.findall(text))


def text_of_html(markup: str) -> str:
    """One line of plain text."""
    if "<" in markup:
        markup = _TAG.sub("", _BREAK.sub(" ", _UNSEEN.sub("", markup)))
    return one_line(html.unescape(markup) if "&" in markup else markup)


def html_of_text(text: str) -> str:
    return html.escape(text, quote=False).replace("\n", "<br>\n")


def one_line(text: str) -> str:
    return " ".join(text.split())


def text_of(element: Element) -> str:
    """The element's text without surrounding space, whatever markup stands inside."""
    if len(element):
        return "".join(str(part) for part in element.itertext()).strip()
    text = element.text
    return text.strip() if text else ""


def title_of(element: Element, *, strict: bool) -> str:
    """A title as one line. `strict` believes the type attribute, as Atom asks; else the look decides."""
    if len(element):
        return text_of_html(inner_markup(element))
    raw = element.text
    if not raw:
        return ""
    if "&" not in raw and "<" not in raw:
        return one_line(raw)
    kind = (element.get("type") or "text").lower()
    is_html = "html" in kind if strict else looks_like_html(raw)
    return text_of_html(raw) if is_html else one_line(raw)


def markup_of(element: Element, *, default: str) -> str:
    """The element's content as HTML, by its declared type, else the default one (`html` or `text`)."""
    if len(element):
        return inner_markup(element)
    raw = element.text
    if not raw or raw.isspace():
        return ""
    kind = element.get("type")
    if kind is None and default == "html":
        return raw
    if element.get("mode") == "base64" or (kind is not None and "/" in kind and _is_packed(kind)):
        raw = _unpacked(raw)
    if (kind or default).lower() not in _PLAIN_TYPES or looks_like_html(raw):
        return raw
    return html_of_text(raw.strip())


def inner_markup(element: Element) -> str:
    """What stands inside the element, as HTML; a single wrapping `div` is left out."""
    _forget_namespaces(element)
    source = element
    if len(element) == 1 and element[0].tag == "div" and _blank(element.text) and _blank(element[0].tail):
        source = element[0]
    # Moved out of the document, so that its namespaces are not written again on every element.
    moved = etree.Element("div")
    moved.text = source.text
    moved.extend(list(source))
    written = etree.tostring(moved, encoding="unicode", method="html", with_tail=False)
    return written.removeprefix("<div>").removesuffix("</div>").strip()


def _forget_namespaces(element: Element) -> None:
    """`<xhtml:p>` is a `p`: HTML knows no prefixes."""
    for inner in element.iter("*"):
        if inner is not element:
            inner.tag = inner.tag.rpartition("}")[2].rpartition(":")[2].lower()
    etree.cleanup_namespaces(element)


def _blank(text: str | None) -> bool:
    return not text or text.isspace()


def _is_packed(kind: str) -> bool:
    """Atom packs in base64 what is neither text nor XML."""
    lowered = kind.lower()
    return not (lowered.startswith("text/") or lowered.endswith(("+xml", "/xml")) or "html" in lowered)


def _unpacked(raw: str) -> str:
    import base64
    import binascii

    try:
        return base64.b64decode(raw, validate=False).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return raw
