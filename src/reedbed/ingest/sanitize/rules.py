"""The judge of every attribute value that may stand in clean markup."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from urllib.parse import urljoin

from reedbed.domain.records import record

_EVERYWHERE = frozenset(("dir", "lang", "id"))
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
# Structure of a page rather than of a text: read as plain blocks.
_READ_AS_BLOCK = (
    "address", "article", "aside", "center", "fieldset", "footer", "header", "hgroup", "main", "nav",
    "section",
)  # fmt: skip

TABLE_CONTEXT: dict[str, frozenset[str]] = {
    "table": frozenset(("caption", "colgroup", "thead", "tbody", "tfoot")),
    "thead": frozenset(("tr",)),
    "tbody": frozenset(("tr",)),
    "tfoot": frozenset(("tr",)),
    "tr": frozenset(("td", "th")),
    "colgroup": frozenset(("col",)),
}
"""What may stand directly in the skeleton of a table; a parser moves everything else out of it."""
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
_AT_HOME = {
    "dd": frozenset(("dl",)),
    "dt": frozenset(("dl",)),
    "li": frozenset(("ol", "ul")),
} | dict.fromkeys(HEADINGS, frozenset(("", "blockquote", "div")))


@record
class Element:
    name: str
    attributes: frozenset[str] = _EVERYWHERE
    parents: frozenset[str] | None = None
    at_home: frozenset[str] = frozenset()
    """Parents in which it always stands as it is written."""
    void: bool = False
    block: bool = False
    """Its start tag ends an open paragraph."""
    removable: bool = True
    """Goes when nothing is in it."""
    particular: bool = False
    """A part of a table, or an element whose start tag may end another of its kind."""
    skeleton: bool = False
    """Part of a table that holds no text."""
    end: str = ""


def _elements() -> dict[str, Element]:
    known = {name: _element(name) for name in f"{_INLINE} {_BLOCK} {_TABLE_PARTS} {_VOID}".split()}
    return known | dict.fromkeys(_READ_AS_BLOCK, known["div"])


def _element(name: str) -> Element:
    return Element(
        name,
        attributes=_EVERYWHERE | frozenset(_ATTRIBUTES.get(name, "").split()),
        parents=_PARENTS.get(name),
        at_home=_PARENTS.get(name) or _AT_HOME.get(name, frozenset()),
        void=name in _VOID.split(),
        block=name in _BLOCK.split() or name == "hr",
        removable=name not in _TABLE_PARTS.split(),
        particular=name in _PARENTS or name in _ENDS_ITS_KIND,
        skeleton=name in TABLE_CONTEXT,
        end="" if name in _VOID.split() else f"</{name}>",
    )


_ENDS_ITS_KIND = HEADINGS | {"a", "li", "dd", "dt", "rp", "rt"}
ELEMENTS = _elements()
# Where the search for an open <li>, <dd> or <dt> ends, and where an open link is forgotten.
LIST_BARRIERS = frozenset(f"{_BLOCK} {_TABLE_PARTS}".split()) - {"div", "p"}
LINK_BARRIERS = frozenset(("td", "th", "caption"))
# Dropped with what they hold: not reading matter, or another language than HTML.
DROPPED_WITH_CONTENT = frozenset(
    (
        "script", "style", "svg", "math", "template", "title", "head", "noembed", "noframes",
        "textarea", "select", "option", "button", "canvas", "applet", "frameset", "xmp", "plaintext",
        "map", "dialog",
    )
)  # fmt: skip


MAX_ADDRESS = 4_096
MAX_DATA_IMAGE = 300_000

# What the URL standard strips from both ends, and what it removes anywhere.
_ENDS = "".join(map(chr, range(0x21)))
_ANYWHERE = {ord(char): None for char in "\t\n\r"}
_UNWRITTEN = re.compile(r"[\x00-\x20\x7f-\x9f\"<>`\u2028\u2029]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_PLAIN = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?=%+,;@!$*()&#\-]*\Z")
# Joined to a page's address just by writing it behind the host.
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9_.~:=%+,@!$*()&\-][A-Za-z0-9_.~:=%+,@!$*()&/?\-]*)?(?<!\?)\Z")
# Brackets hold an IPv6 address and nothing else; not every Python refuses others by itself.
_WEB = re.compile(
    r"https?://(?:(?![^/?#\\]*[\[\]])[^/?#\\]|[^/?#\\\[\]]*\[[0-9a-f:.]+\](?:[:/?#]|\Z))", re.IGNORECASE
)
_MAILTO = re.compile(r"mailto:[^\s<>]+\Z", re.IGNORECASE)
_DATA_IMAGE = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif);base64,[A-Za-z0-9+/=]+\Z", re.IGNORECASE)
_DESCRIPTOR = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?[wx])?(?:,(\S*))?\Z")
MAX_CANDIDATES = 24
MAX_SRCSET = 16_384


def web_address(value: str, base: str | None) -> str | None:
    """The absolute http(s) address a browser would go to, or None for anything else."""
    if len(value) > MAX_ADDRESS:
        return None
    if _PLAIN.match(value):
        return value
    if base and _PLAIN_PATH.match(value) and "/." not in value:
        return (origin := _origin(base)) and f"{origin}{value}"
    value = value.strip(_ENDS).translate(_ANYWHERE)
    if not _WEB.match(value):
        value = _absolute(value, base)
    if not _WEB.match(value):
        return None
    scheme, rest = value.split(":", 1)
    return _UNWRITTEN.sub(_percent, f"{scheme.lower()}:{rest}")


def link_address(value: str, base: str | None) -> str | None:
    if value.startswith("http"):
        return web_address(value, base)
    trimmed = value.strip(_ENDS)
    if _MAILTO.match(trimmed) and len(trimmed) <= MAX_ADDRESS:
        return trimmed
    return web_address(value, base)


def image_address(value: str, base: str | None) -> str | None:
    """An https address or an inline raster image. Plain http is not loaded from a page served over TLS."""
    if value[:5].lower() == "data:":
        return data_image(value)
    address = web_address(value, base)
    return address if address and address.startswith("https:") else None


def data_image(value: str) -> str | None:
    return value if len(value) <= MAX_DATA_IMAGE and _DATA_IMAGE.match(value) else None


def media_address(value: str, base: str | None) -> str | None:
    """Sound and film over https; browsers ask for plain http ones over https anyway."""
    address = web_address(value, base)
    if address and address.startswith("http:"):
        return f"https:{address[5:]}"
    return address


def srcset(value: str, base: str | None) -> str | None:
    """The candidates that may be loaded, or None when there are none."""
    kept = [f"{address} {size}".rstrip() for address, size in _loadable(value, base)]
    return ", ".join(kept) or None


def largest(value: str, base: str | None) -> str | None:
    """The address of the widest candidate, whatever its scheme."""
    best, best_size = None, -1.0
    for address, size in candidates(value, base):
        width = float(size[:-1]) if size else 1.0
        if width > best_size:
            best, best_size = address, width
    return best


def candidates(value: str, base: str | None) -> Iterator[tuple[str, str]]:
    """(address, "800w" or "2x" or "") in order. Addresses may hold commas; only white space ends them."""
    for source, size in _pairs(value[:MAX_SRCSET].split()[: 2 * MAX_CANDIDATES]):
        if address := web_address(source.strip(","), base):
            yield address, size


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    source = ""
    for word in words:
        descriptor = _DESCRIPTOR.match(word) if source else None
        if descriptor:
            yield source, descriptor[1] or ""
            source = descriptor[2] or ""
            continue
        if source:
            yield source, ""
        source = word
        if word.endswith(","):
            yield word, ""
            source = ""
    if source:
        yield source, ""


def _loadable(value: str, base: str | None) -> Iterator[tuple[str, str]]:
    for address, size in candidates(value, base):
        if address.startswith("https:"):
            # A comma inside an address would end the candidate when the list is read again.
            yield address.replace(",", "%2C"), size


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
    """The scheme and host of a page on the web."""
    root = web_address(_absolute("/", base), None)
    return root and root.removesuffix("/")


def _scheme_of(base: str | None) -> str:
    """Addresses without a scheme take the page's; without a page, the safe one."""
    return "http" if base and base[:5].lower() == "http:" else "https"


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


# In-page targets carry this prefix, and no element of our own pages does.
ANCHOR_PREFIX = "fn-"


@record
class Page:
    """Of which page the markup is a part, and whether it links to places within itself."""

    base: str | None
    keeps_anchors: bool


Rule = Callable[[Page, str, str], str | None]

_ANCHOR = re.compile(r"[A-Za-z0-9_:.\-]{1,80}\Z")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}\Z")
_CODE_CLASS = re.compile(r"(?:language|lang|highlight-source|brush)[-:]\s*([A-Za-z0-9+#_.\-]{1,30})")
_SIZE = re.compile(r"([0-9]{1,4})(?:\.[0-9]*)?(?:px)?\Z")
_SMALL_NUMBER = re.compile(r"-?[0-9]{1,6}\Z")
_MOMENT = re.compile(r"[0-9A-Za-z :.,+\-]{1,40}\Z")
_MEDIA_TYPE = re.compile(r"[a-z]+/[A-Za-z0-9.+\-]+\Z")
_MEDIA_QUERY = re.compile(r"[A-Za-z0-9 ():,.%+*\-]{1,200}\Z")
_ONE_OF = {
    "dir": frozenset(("ltr", "rtl", "auto")),
    "align": frozenset(("left", "right", "center")),
    "scope": frozenset(("row", "col", "rowgroup", "colgroup")),
}
MAX_SPAN = 100
MAX_TITLE = 1_000


def _href(page: Page, _tag: str, value: str) -> str | None:
    if "#" in value and (fragment := _fragment(page, value)) is not None:
        return f"#{anchor}" if (anchor := _anchor(page, _tag, fragment)) else None
    return link_address(value, page.base)


def _fragment(page: Page, value: str) -> str | None:
    if value.startswith("#"):
        return value[1:]
    base = page.base
    if base and value.startswith(f"{base}#"):
        return value[len(base) + 1 :]
    return None


def _anchor(page: Page, _tag: str, value: str) -> str | None:
    if not page.keeps_anchors or not _ANCHOR.match(value):
        return None
    return value if value.startswith(ANCHOR_PREFIX) else f"{ANCHOR_PREFIX}{value}"


def _src(page: Page, tag: str, value: str) -> str | None:
    return image_address(value, page.base) if tag == "img" else media_address(value, page.base)


def _srcset(page: Page, _tag: str, value: str) -> str | None:
    return srcset(value, page.base)


def _http_src(_page: Page, _tag: str, value: str) -> str | None:
    return web_address(value, None) if value.startswith("http://") else None


def _poster(page: Page, _tag: str, value: str) -> str | None:
    return image_address(value, page.base)


def _cite(page: Page, _tag: str, value: str) -> str | None:
    return web_address(value, page.base)


def _title(_page: Page, _tag: str, value: str) -> str | None:
    return " ".join(value.split())[:MAX_TITLE].rstrip()


def _class(_page: Page, _tag: str, value: str) -> str | None:
    language = _CODE_CLASS.search(value[:300])
    return f"language-{language[1]}" if language else None


def _size(_page: Page, _tag: str, value: str) -> str | None:
    size = _SIZE.match(value.strip())
    return size[1] if size else None


def _span(_page: Page, _tag: str, value: str) -> str | None:
    value = value.strip()
    if not (value.isascii() and value.isdigit()) or len(value) > 6:
        return None
    return str(min(int(value), MAX_SPAN))


def _flag(_page: Page, _tag: str, _value: str) -> str | None:
    return ""


def _list_type(value: str) -> str | None:
    return value if value in {"1", "a", "A", "i", "I"} else None


def _type(_page: Page, tag: str, value: str) -> str | None:
    return _list_type(value) if tag == "ol" else value if _MEDIA_TYPE.match(value) else None


def _matching(pattern: re.Pattern[str]) -> Rule:
    return lambda _page, _tag, value: value if pattern.match(value) else None


def _one_of(values: frozenset[str]) -> Rule:
    return lambda _page, _tag, value: lowered if (lowered := value.strip().lower()) in values else None


RULES: dict[str, Rule] = {
    "align": _one_of(_ONE_OF["align"]),
    "alt": _title,
    "cite": _cite,
    "class": _class,
    "colspan": _span,
    "data-http-src": _http_src,
    "datetime": _matching(_MOMENT),
    "dir": _one_of(_ONE_OF["dir"]),
    "height": _size,
    "href": _href,
    "id": _anchor,
    "lang": _matching(_LANGUAGE),
    "media": _matching(_MEDIA_QUERY),
    "name": _anchor,
    "open": _flag,
    "poster": _poster,
    "reversed": _flag,
    "rowspan": _span,
    "scope": _one_of(_ONE_OF["scope"]),
    "sizes": _matching(_MEDIA_QUERY),
    "span": _span,
    "src": _src,
    "srcset": _srcset,
    "start": _matching(_SMALL_NUMBER),
    "title": _title,
    "type": _type,
    "value": _matching(_SMALL_NUMBER),
    "width": _size,
}
