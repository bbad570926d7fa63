"""Which elements clean markup may contain, and where an HTML parser lets each of them stand."""

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
