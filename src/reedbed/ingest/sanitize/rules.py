"""Which elements and attributes clean markup may contain, and which URLs; attributes.py checks their values."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urljoin
from xml.parsers import expat

from reedbed.domain.records import record

# --- Elements

_GLOBAL_ATTRIBUTES = frozenset(("dir", "lang", "id"))
_ATTRIBUTES = {
    "a": "href title name",
    "abbr": "title",
    "audio": "src",
    "blockquote": "cite",
    "code": "class",
    "col": "span",
    "colgroup": "span",
    "del": "cite datetime",
    "details": "open",
    "dfn": "title",
    "img": "src srcset sizes alt title width height data-http-src",
    "ins": "cite datetime",
    "li": "value",
    "ol": "start type reversed",
    "pre": "class",
    "q": "cite",
    "source": "src srcset sizes media type",
    "td": "colspan rowspan align",
    "th": "colspan rowspan align scope",
    "time": "datetime",
    "video": "src poster width height",
}
_INLINE = (
    "a abbr audio b bdi bdo cite code del dfn em i ins kbd mark picture q rp rt ruby s samp small "
    "span strong "
    "sub sup time u var video"
)
_BLOCK = "blockquote dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 li ol p pre summary table ul"
_TABLE_PARTS = "caption colgroup tbody td tfoot th thead tr"
_VOID = "br col hr img source wbr"
# Formulas: the part of MathML that draws. Nothing in it links, loads or holds HTML; see formulas.py.
_FORMULA_TOKENS = "mi mn mo ms mtext"
_FORMULA_GROUPS = (
    "math merror mfrac mmultiscripts mover mphantom mprescripts mroot mrow mspace msqrt mstyle msub "
    "msubsup msup mtable mtd mtr munder munderover"
)
_FORMULA_ATTRIBUTES = {
    "math": "display displaystyle",
    "mfrac": "linethickness",
    "mi": "mathvariant",
    "mo": "accent fence form largeop lspace movablelimits rspace separator stretchy symmetric",
    "mover": "accent",
    "mspace": "width",
    "mstyle": "displaystyle",
    "mtd": "columnspan rowspan",
    "munder": "accentunder",
    "munderover": "accent accentunder",
}
# Page structure rather than text structure: written as <div>.
_TREATED_AS_DIV = (
    "address", "article", "aside", "center", "fieldset", "footer", "header", "hgroup", "main", "nav",
    "section",
)  # fmt: skip

FORMULA_TOKENS: frozenset[str] = frozenset(_FORMULA_TOKENS.split())
FORMULA_ELEMENTS: frozenset[str] = FORMULA_TOKENS | frozenset(_FORMULA_GROUPS.split())
_FORMULA_PARTS: frozenset[str] = FORMULA_ELEMENTS - {"math"}

_TABLE_CONTEXT: dict[str, frozenset[str]] = {
    "table": frozenset(("caption", "colgroup", "thead", "tbody", "tfoot")),
    "thead": frozenset(("tr",)),
    "tbody": frozenset(("tr",)),
    "tfoot": frozenset(("tr",)),
    "tr": frozenset(("td", "th")),
    "colgroup": frozenset(("col",)),
}
CONTEXT = _TABLE_CONTEXT | dict.fromkeys(FORMULA_ELEMENTS - FORMULA_TOKENS, _FORMULA_PARTS)
"""Allowed direct children of parts of tables, from which an HTML parser moves everything else out, and of formulas."""
_PARENTS = {
    "caption": frozenset(("table",)),
    "col": frozenset(("colgroup",)),
    "colgroup": frozenset(("table",)),
    "tbody": frozenset(("table",)),
    "td": frozenset(("tr",)),
    "tfoot": frozenset(("table",)),
    "th": frozenset(("tr",)),
    "thead": frozenset(("table",)),
    "tr": frozenset(("thead", "tbody", "tfoot")),
}
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_EXPECTED_PARENTS = {"dd": frozenset(("dl",)), "dt": frozenset(("dl",)), "li": frozenset(("ol", "ul"))} | dict.fromkeys(
    HEADINGS, frozenset(("", "blockquote", "div"))
)


@record
class Element:
    name: str
    attributes: frozenset[str] = _GLOBAL_ATTRIBUTES
    parents: frozenset[str] | None = None
    at_home: frozenset[str] = frozenset()
    """Parents in which no parser would move it."""
    void: bool = False
    block: bool = False
    """Its start tag closes an open paragraph."""
    removable: bool = True
    """Removed if empty."""
    particular: bool = False
    """A part of a table or formula, or an element whose start tag may close another one of the same kind."""
    skeleton: bool = False
    """Part of a table or formula that must not contain text."""
    strict: bool = False
    """Contains no elements but those in `CONTEXT`."""
    end: str = ""


def _elements() -> dict[str, Element]:
    elements = {name: _element(name) for name in f"{_INLINE} {_BLOCK} {_TABLE_PARTS} {_VOID}".split()}
    formulas = {name: _formula_element(name) for name in FORMULA_ELEMENTS}
    return elements | dict.fromkeys(_TREATED_AS_DIV, elements["div"]) | formulas


def _element(name: str) -> Element:
    return Element(
        name,
        attributes=_GLOBAL_ATTRIBUTES | frozenset(_ATTRIBUTES.get(name, "").split()),
        parents=_PARENTS.get(name),
        at_home=_PARENTS.get(name) or _EXPECTED_PARENTS.get(name, frozenset()),
        void=name in _VOID.split(),
        block=name in _BLOCK.split() or name == "hr",
        removable=name not in _TABLE_PARTS.split(),
        particular=name in _PARENTS or name in _CLOSES_SAME_KIND,
        skeleton=name in CONTEXT,
        strict=name in CONTEXT,
        end="" if name in _VOID.split() else f"</{name}>",
    )


def _formula_element(name: str) -> Element:
    parents = None if name == "math" else FORMULA_ELEMENTS - FORMULA_TOKENS
    return Element(
        name,
        attributes=frozenset(("dir", *_FORMULA_ATTRIBUTES.get(name, "").split())),
        parents=parents,
        at_home=parents or frozenset(),
        removable=name == "math",  # the others count by their place: the second of <msup> is the exponent
        particular=parents is not None,
        skeleton=name not in FORMULA_TOKENS,
        strict=True,
        end=f"</{name}>",
    )


_CLOSES_SAME_KIND = HEADINGS | {"a", "li", "dd", "dt", "rp", "rt"}
ELEMENTS = _elements()
# Elements at which the search for an open <li>, <dd> or <dt>, or for an open link, stops.
LIST_BARRIERS = frozenset(f"{_BLOCK} {_TABLE_PARTS}".split()) - {"div", "p"}
LINK_BARRIERS = frozenset(("td", "th", "caption"))
# Dropped with their content: nothing to read, or not HTML.
DROPPED_WITH_CONTENT = frozenset(
    (
        "script", "style", "svg", "annotation", "annotation-xml", "template", "title", "head", "noembed", "noframes",
        "textarea", "select", "option", "button", "canvas", "applet", "frameset", "xmp", "plaintext",
        "map", "dialog",
    )
)  # fmt: skip


# --- URLs

MAX_URL_LENGTH = 4_096
MAX_DATA_IMAGE = 300_000

# Characters that the URL standard strips from both ends, and those it removes anywhere.
_STRIPPED_CHARS = "".join(map(chr, range(0x21)))
_REMOVED_CHARS = {ord(char): None for char in "\t\n\r"}
_TO_PERCENT_ENCODE = re.compile(r"[\x00-\x20\x7f-\x9f\"<>`\u2028\u2029]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_PLAIN = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?=%+,;@!$*()&#\-]*\Z")
# Paths that can be appended to the page's origin without further normalization.
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9_.~:=%+,@!$*()&\-][A-Za-z0-9_.~:=%+,@!$*()&/?\-]*)?(?<!\?)\Z")
# Brackets may contain only an IPv6 address; not every Python version rejects other content.
_WEB = re.compile(r"https?://(?:(?![^/?#\\]*[\[\]])[^/?#\\]|[^/?#\\\[\]]*\[[0-9a-f:.]+\](?:[:/?#]|\Z))", re.IGNORECASE)
_MAILTO = re.compile(r"mailto:[^\s<>]+\Z", re.IGNORECASE)
_DATA_IMAGE = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif);base64,[A-Za-z0-9+/=]+\Z", re.IGNORECASE)
_DESCRIPTOR = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?[wx])?(?:,(\S*))?\Z")
MAX_CANDIDATES = 24
MAX_SRCSET = 16_384


def absolute_web_url(value: str, base: str | None) -> str | None:
    """The absolute http(s) URL that a browser would open, or None for anything else."""
    if len(value) > MAX_URL_LENGTH:
        return None
    if _PLAIN.match(value):
        return value
    if base and _PLAIN_PATH.match(value) and "/." not in value:
        return (origin := _origin(base)) and f"{origin}{value}"
    value = value.strip(_STRIPPED_CHARS).translate(_REMOVED_CHARS)
    if not _WEB.match(value):
        value = _absolute(value, base)
    if not _WEB.match(value):
        return None
    scheme, remaining = value.split(":", 1)
    return _TO_PERCENT_ENCODE.sub(_percent, f"{scheme.lower()}:{remaining}")


def absolute_link_url(value: str, base: str | None) -> str | None:
    if value.startswith("http"):
        return absolute_web_url(value, base)
    trimmed = value.strip(_STRIPPED_CHARS)
    if _MAILTO.match(trimmed) and len(trimmed) <= MAX_URL_LENGTH:
        return trimmed
    return absolute_web_url(value, base)


def safe_image_url(value: str, base: str | None) -> str | None:
    """An https URL or an inline raster image. A page served over TLS cannot load plain http images."""
    if value[:5].lower() == "data:":
        return data_image(value)
    url = absolute_web_url(value, base)
    return url if url and url.startswith("https:") else None


def data_image(value: str) -> str | None:
    if len(value) > MAX_DATA_IMAGE:
        return None
    if value.startswith(SVG_PREFIX):
        return value if _is_written_drawing(value) else None
    return value if _DATA_IMAGE.match(value) else None


# --- Drawings: inline SVG is shown as an image, in which a browser runs no script and loads nothing

SVG_PREFIX = "data:image/svg+xml;base64,"
_SHAPE = re.compile(r"<(?:path|rect|circle|ellipse|line|polyline|polygon|text|use)[\s/>]")
_ACTIVE = re.compile(r"<(?:script|foreignobject|iframe|embed|handler|[!?])|\son[a-z]+\s*=|javascript:", re.IGNORECASE)


def drawing_image(svg: str) -> str | None:
    """The data URL of an SVG document that draws something and holds nothing active; None for any other."""
    if not _SHAPE.search(svg) or _ACTIVE.search(svg) or not _is_xml(svg):
        return None
    url = SVG_PREFIX + b64encode(svg.encode()).decode()
    return url if len(url) <= MAX_DATA_IMAGE else None


def _is_written_drawing(url: str) -> bool:
    """Whether `drawing_image` could have written it: a placeholder of a site draws nothing."""
    try:
        svg = b64decode(url[len(SVG_PREFIX) :], validate=True).decode()
    except ValueError:
        return False
    return drawing_image(svg) == url


def _is_xml(document: str) -> bool:
    parser = expat.ParserCreate(namespace_separator=" ")
    try:
        parser.Parse(document, True)
    except expat.ExpatError:
        return False
    return True


def https_media_url(value: str, base: str | None) -> str | None:
    """Audio and video over https; browsers upgrade plain http ones anyway."""
    url = absolute_web_url(value, base)
    if url and url.startswith("http:"):
        return f"https:{url[5:]}"
    return url


def srcset(value: str, base: str | None) -> str | None:
    """The candidates that may be loaded, or None if there are none."""
    parts = [f"{url} {size}".rstrip() for url, size in _loadable(value, base)]
    return ", ".join(parts) or None


def largest(value: str, base: str | None) -> str | None:
    """The URL of the widest candidate, whatever its scheme."""
    best, best_size = None, -1.0
    for url, size in candidates(value, base):
        width = float(size[:-1]) if size else 1.0
        if width > best_size:
            best, best_size = url, width
    return best


def candidates(value: str, base: str | None) -> Iterator[tuple[str, str]]:
    """Yield (URL, "800w" or "2x" or "") in order. URLs may contain commas; only white space ends them."""
    for source, size in _pairs(value[:MAX_SRCSET].split()[: 2 * MAX_CANDIDATES]):
        if url := absolute_web_url(source.strip(","), base):
            yield url, size


def _pairs(tokens: list[str]) -> Iterator[tuple[str, str]]:
    source = ""
    for token in tokens:
        descriptor = _DESCRIPTOR.match(token) if source else None
        if descriptor:
            yield source, descriptor[1] or ""
            source = descriptor[2] or ""
            continue
        if source:
            yield source, ""
        source = token
        if token.endswith(","):
            yield token, ""
            source = ""
    if source:
        yield source, ""


def _loadable(value: str, base: str | None) -> Iterator[tuple[str, str]]:
    for url, size in candidates(value, base):
        if url.startswith("https:"):
            # A comma inside a URL would end the candidate when the list is parsed again.
            yield url.replace(",", "%2C"), size


def _absolute(value: str, base: str | None) -> str:
    if value.startswith(("//", "\\\\", "/\\", "\\/")):
        return f"{_scheme_of(base)}://{value[2:]}"
    if base is None or not value or _SCHEME.match(value):
        return ""
    try:
        return urljoin(base, value)
    except ValueError:
        return ""


@lru_cache(maxsize=32)
def _origin(base: str) -> str | None:
    """Scheme and host of a page."""
    root = absolute_web_url(_absolute("/", base), None)
    return root and root.removesuffix("/")


def _scheme_of(base: str | None) -> str:
    """URLs without a scheme take the page's scheme; without a page, https."""
    return "http" if base and base[:5].lower() == "http:" else "https"


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))
