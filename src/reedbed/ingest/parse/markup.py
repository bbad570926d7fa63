"""Text, HTML, URLs and languages of feed elements."""

import html
import re
from html.entities import html5
from urllib.parse import urljoin

from lxml import etree

from reedbed.ingest.parse.xml import MAX_URL, Element, Names

# --- Text and HTML

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
_INVISIBLE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/h\d)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_PLAIN_TYPES = frozenset({"text", "text/plain", "plain"})


def looks_like_html(text: str) -> bool:
    """Whether text that should be plain is actually HTML; False in case of doubt."""
    if "<" not in text and "&" not in text:
        return False
    if not _CLOSED_OR_VOID.search(text):
        return False
    if any(tag.lower() not in _HTML_TAGS for tag in _TAG_NAME.findall(text)):
        return False
    return all(f"{name};" in html5 for name in _ENTITY_NAME.findall(text))


def text_of_html(markup: str) -> str:
    """Convert HTML to one line of plain text."""
    if "<" in markup:
        markup = _TAG.sub("", _BREAK.sub(" ", _INVISIBLE.sub("", markup)))
    return one_line(html.unescape(markup) if "&" in markup else markup)


def html_of_text(text: str) -> str:
    return html.escape(text, quote=False).replace("\n", "<br>\n")


def one_line(text: str) -> str:
    return " ".join(text.split())


def text_of(element: Element) -> str:
    """The stripped text of the element, including text in child elements."""
    if len(element):
        return "".join(str(part) for part in element.itertext()).strip()
    text = element.text
    return text.strip() if text else ""


def title_of(element: Element, *, strict: bool) -> str:
    """A title as one line. `strict` trusts the type attribute, as in Atom; otherwise the content decides."""
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
    """The element's content as HTML, by its declared type or else `default` (`html` or `text`)."""
    if len(element):
        return inner_markup(element)
    raw = element.text
    if not raw or raw.isspace():
        return ""
    kind = element.get("type")
    if kind is None and default == "html":
        return raw
    if element.get("mode") == "base64" or (kind is not None and "/" in kind and _is_base64(kind)):
        raw = _decode_base64(raw)
    if (kind or default).lower() not in _PLAIN_TYPES or looks_like_html(raw):
        return raw
    return html_of_text(raw.strip())


def inner_markup(element: Element) -> str:
    """The content of the element as HTML, without a single wrapping `div`."""
    _remove_namespaces(element)
    source = element
    if len(element) == 1 and element[0].tag == "div" and _is_blank(element.text) and _is_blank(element[0].tail):
        source = element[0]
    # Moved to a new element, so that namespaces of the document are not repeated on every element.
    moved = etree.Element("div")
    moved.text = source.text
    moved.extend(list(source))
    written = etree.tostring(moved, encoding="unicode", method="html", with_tail=False)
    return written.removeprefix("<div>").removesuffix("</div>").strip()


def _remove_namespaces(element: Element) -> None:
    """`<xhtml:p>` becomes `p`: HTML has no prefixes."""
    for inner in element.iter("*"):
        if inner is not element:
            inner.tag = inner.tag.rpartition("}")[2].rpartition(":")[2].lower()
    etree.cleanup_namespaces(element)


def _is_blank(text: str | None) -> bool:
    return not text or text.isspace()


def _is_base64(kind: str) -> bool:
    """Atom encodes content that is neither text nor XML in base64."""
    lowered = kind.lower()
    return not (lowered.startswith("text/") or lowered.endswith(("+xml", "/xml")) or "html" in lowered)


def _decode_base64(raw: str) -> str:
    import base64
    import binascii

    try:
        return base64.b64decode(raw, validate=False).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return raw


# --- URLs

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_ALLOWED_SCHEMES = frozenset({"http", "https", "ftp", "gemini", "gopher", "magnet"})
_LINK_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_ATTRIBUTE = re.compile(
    r"(\s(?:href|src|poster|cite|action|longdesc|background|data)\s*=\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s\"'<>]+)",
    re.IGNORECASE,
)
# Starts with `=`, which the regex engine finds quickly: most markup contains no relative URL, and checking
# that must be cheap.
_MAYBE_RELATIVE = re.compile(
    r"=(?:(?<=[hH][rR][eE][fF]=)|(?<=[sS][rR][cC]=)|(?<=[sS][rR][cC][sS][eE][tT]=)|(?<=poster=)|(?<=cite=)"
    # With white space before the `=`: the ends of these names, so that ` = ` in a script or in prose is none of them.
    r"|(?<=\s\s=)|(?<=(?:[eE][fFtTrR]|[rR][cC]|[tT][eE])\s=))"
    r"(?!\"https?:)"
)
_SRCSET = re.compile(r"(\ssrcset\s*=\s*)(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_CANDIDATE = re.compile(r"(\s*)([^\s,]\S*[^\s,]|[^\s,])((?:\s+[^,]*)?(?:,|$))")
_SPACE = re.compile(r"[\t\r\n]+")


def absolute(url: str | None, base: str) -> str | None:
    """A URL with an allowed scheme, or None. Without a base, a relative URL is returned unchanged."""
    if not url:
        return None
    url = url.strip()
    if not url.startswith(("http://", "https://")):
        url = _join(base, url)
    if not url or len(url) > MAX_URL:
        return None
    if "\n" in url or "\t" in url or "\r" in url:
        url = _SPACE.sub("", url)
    scheme = _SCHEME.match(url)
    return url if not scheme or scheme[1].lower() in _ALLOWED_SCHEMES else None


def is_absolute(url: str | None) -> bool:
    return url is not None and url.startswith(("http://", "https://"))


def may_contain_relative_urls(markup: str) -> bool:
    return _MAYBE_RELATIVE.search(markup) is not None


def resolve_markup_urls(markup: str, base: str) -> str:
    """Make relative URLs in `href`, `src`, `srcset` and similar attributes absolute."""
    if not is_absolute(base):
        return markup
    return _LINK_TAG.sub(lambda tag: _resolve_tag(tag[0], base), markup)


def _resolve_tag(tag: str, base: str) -> str:
    if "=" not in tag:
        return tag
    tag = _ATTRIBUTE.sub(lambda match: match[1] + _resolve_quoted(match[2], base), tag)
    return _SRCSET.sub(lambda match: match[1] + _resolve_quoted_srcset(match[2], base), tag)


def _resolve_quoted(value: str, base: str) -> str:
    quote, url = _unquoted(value)
    if not url or _SCHEME.match(url):
        return value
    return f"{quote}{_join(base, url.strip())}{quote}"


def _resolve_quoted_srcset(value: str, base: str) -> str:
    quote, candidates = _unquoted(value)
    return quote + _CANDIDATE.sub(lambda match: match[1] + _join(base, match[2]) + match[3], candidates) + quote


def _unquoted(value: str) -> tuple[str, str]:
    return (value[0], value[1:-1]) if value[:1] in "\"'" else ('"', value)


def _join(base: str, url: str) -> str:
    try:
        return urljoin(base, url) if base else url
    except ValueError:
        return "" if not _SCHEME.match(url) else url


# --- Context of an element

_XML = "{http://www.w3.org/XML/1998/namespace}"
_LANG = f"{_XML}lang"
_BASE = f"{_XML}base"


class Context:
    """What is known about the document while its elements are read."""

    __slots__ = ("atom", "base", "names")

    def __init__(self, *, base: str, atom: bool) -> None:
        self.names = Names()
        self.base = base
        self.atom = atom

    def own_base(self, element: Element) -> str | None:
        """The base URL set by `xml:base` on the element or its ancestors, or None."""
        bases = [value for parent in _with_ancestors(element) if (value := parent.get(_BASE) or parent.get("xml:base"))]
        if not bases:
            return None
        resolved = self.base
        for value in reversed(bases):
            try:
                resolved = urljoin(resolved, value.strip())
            except ValueError:
                continue
        return resolved

    def address(self, url: str | None, element: Element) -> str | None:
        """The URL in an attribute or text; ancestors are searched for `xml:base` only if it is relative."""
        if not url:
            return None
        if is_absolute(url):
            is_normal = url.isprintable() and len(url) <= MAX_URL and url[-1] != " "
            return url if is_normal else absolute(url, "")
        return absolute(url, self.own_base(element) or self.base)


def language_of(element: Element) -> str | None:
    return normalize_language_tag(element.get(_LANG))


def normalize_language_tag(tag: str | None) -> str | None:
    """Normalize `en_US` to `en-US`; None if it is not a language tag."""
    tag = (tag or "").strip().replace("_", "-")
    return tag if 2 <= len(tag) <= 35 and tag.replace("-", "").isalnum() and tag.isascii() else None


def _with_ancestors(element: Element) -> list[Element]:
    return [element, *element.iterancestors()]
