"""Which elements clean markup may contain, and where an HTML parser lets each of them stand."""

from dataclasses import dataclass

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
READ_AS_BLOCK = (
    "address", "article", "aside", "center", "fieldset", "footer", "header", "hgroup", "main", "nav",
    "section",
)  # fmt: skip
# Their tags say nothing to a reader; what they hold stays.
_READ_THROUGH = "big font form label strike tt"

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


@dataclass(frozen=True, slots=True)
class Element:
    name: str
    """As written; empty when only the content is kept."""
    attributes: frozenset[str] = _EVERYWHERE
    parents: frozenset[str] | None = None
    void: bool = False
    block: bool = False
    """Its start tag ends an open paragraph."""
    removable: bool = True
    """Goes when nothing is in it."""
    always_attributed: bool = False
    """Has attributes to write even when the source gives none."""
    guarded: bool = False
    """Its start tag may end an element of its own kind."""
    skeleton: bool = False
    """Part of a table that holds no text."""
    end: str = ""


def _elements() -> dict[str, Element]:
    known = {name: _element(name) for name in f"{_INLINE} {_BLOCK} {_TABLE_PARTS} {_VOID}".split()}
    for name in READ_AS_BLOCK:
        known[name] = known["div"]
    return known | dict.fromkeys(_READ_THROUGH.split(), Element("", attributes=frozenset()))


def _element(name: str) -> Element:
    return Element(
        name,
        attributes=_EVERYWHERE | frozenset(_ATTRIBUTES.get(name, "").split()),
        parents=_PARENTS.get(name),
        void=name in _VOID.split(),
        block=name in _BLOCK.split() or name == "hr",
        removable=name not in _TABLE_PARTS.split(),
        always_attributed=name in {"a", "audio", "img", "source", "video"},
        guarded=name in _GUARDED,
        skeleton=name in TABLE_CONTEXT,
        end="" if name in _VOID.split() else f"</{name}>",
    )


HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_GUARDED = HEADINGS | {"a", "li", "dd", "dt", "rp", "rt"}
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
