"""What the reader of an element must know about the document around it."""

import html
import re
from html.entities import html5
from urllib.parse import urljoin

from lxml import etree

from reedbed.ingest.parse.xml import MAX_URL, Element, Names

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


_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_OPENABLE = frozenset({"http", "https", "ftp", "gemini", "gopher", "magnet"})
_LINK_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_ATTRIBUTE = re.compile(
    r"(\s(?:href|src|poster|cite|action|longdesc|background|data)\s*=\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s\"'<>]+)",
    re.IGNORECASE,
)
# Found by its `=`, for which the expression engine searches fast: most markup holds no relative address, and
# that must cost next to nothing.
_MAYBE_RELATIVE = re.compile(
    r"=(?:(?<=[hH][rR][eE][fF]=)|(?<=[sS][rR][cC]=)|(?<=[sS][rR][cC][sS][eE][tT]=)|(?<=poster=)|(?<=cite=)"
    r"|(?<=\s=))"
    r"(?!\"https?:)"
)
_SRCSET = re.compile(r"(\ssrcset\s*=\s*)(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_CANDIDATE = re.compile(r"(\s*)([^\s,]\S*[^\s,]|[^\s,])((?:\s+[^,]*)?(?:,|$))")
_SPACE = re.compile(r"[\t\r\n]+")


def absolute(address: str | None, base: str) -> str | None:
    """An address one may open, or None. Without a base a relative one stays: there is nothing better."""
    if not address:
        return None
    address = address.strip()
    if not address.startswith(("http://", "https://")):
        address = _joined(base, address)
    if not address or len(address) > MAX_URL:
        return None
    if "\n" in address or "\t" in address or "\r" in address:
        address = _SPACE.sub("", address)
    scheme = _SCHEME.match(address)
    return address if not scheme or scheme[1].lower() in _OPENABLE else None


def is_absolute(address: str | None) -> bool:
    return address is not None and address.startswith(("http://", "https://"))


def may_hold_relative(markup: str) -> bool:
    return _MAYBE_RELATIVE.search(markup) is not None


def resolved_markup(markup: str, base: str) -> str:
    """The markup with relative `href`, `src`, `srcset` and the like made absolute."""
    if not is_absolute(base):
        return markup
    return _LINK_TAG.sub(lambda tag: _resolved_tag(tag[0], base), markup)


def _resolved_tag(tag: str, base: str) -> str:
    if "=" not in tag:
        return tag
    tag = _ATTRIBUTE.sub(lambda found: found[1] + _quoted(found[2], base), tag)
    return _SRCSET.sub(lambda found: found[1] + _quoted_set(found[2], base), tag)


def _quoted(value: str, base: str) -> str:
    quote, address = _unquoted(value)
    if not address or _SCHEME.match(address):
        return value
    return f"{quote}{_joined(base, address.strip())}{quote}"


def _quoted_set(value: str, base: str) -> str:
    quote, addresses = _unquoted(value)
    return quote + _CANDIDATE.sub(lambda one: one[1] + _joined(base, one[2]) + one[3], addresses) + quote


def _unquoted(value: str) -> tuple[str, str]:
    return (value[0], value[1:-1]) if value[:1] in "\"'" else ('"', value)


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address) if base else address
    except ValueError:
        return "" if not _SCHEME.match(address) else address


_XML = "{http://www.w3.org/XML/1998/namespace}"
_LANG = f"{_XML}lang"
_BASE = f"{_XML}base"


class Context:
    __slots__ = ("atom", "base", "names")

    def __init__(self, *, base: str, atom: bool) -> None:
        self.names = Names()
        self.base = base
        self.atom = atom

    def own_base(self, element: Element) -> str | None:
        """The address that `xml:base` on or around the element sets, if it does."""
        bases = [
            value for parent in _outwards(element) if (value := parent.get(_BASE) or parent.get("xml:base"))
        ]
        if not bases:
            return None
        resolved = self.base
        for value in reversed(bases):
            try:
                resolved = urljoin(resolved, value.strip())
            except ValueError:
                continue
        return resolved

    def address(self, written: str | None, element: Element) -> str | None:
        """The address an element names; the way up to an `xml:base` is only walked for a relative one."""
        if not written:
            return None
        if is_absolute(written):
            tidy = written.isprintable() and len(written) <= MAX_URL and written[-1] != " "
            return written if tidy else absolute(written, "")
        return absolute(written, self.own_base(element) or self.base)


def language_of(element: Element) -> str | None:
    return tidy_language(element.get(_LANG))


def tidy_language(tag: str | None) -> str | None:
    """`en_US` to `en-US`; None for what is no language tag."""
    tag = (tag or "").strip().replace("_", "-")
    return tag if 2 <= len(tag) <= 35 and tag.replace("-", "").isalnum() and tag.isascii() else None


def _outwards(element: Element) -> list[Element]:
    return [element, *element.iterancestors()]
