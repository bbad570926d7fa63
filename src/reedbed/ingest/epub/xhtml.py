"""Turn the clean HTML of an entry into XHTML as strict as e-readers want it.

The markup is read into a tree, whatever it is; the tree is fitted to the content model of HTML (what may stand in
what), and written again with every name and attribute checked. So the result is well-formed for any input.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape, unescape

from reedbed.domain.records import record
from reedbed.domain.text import writable
from reedbed.ingest.sanitize.rules import ELEMENTS, FORMULA_ELEMENTS, FORMULA_TOKENS, HEADINGS


@dataclass(slots=True)
class XhtmlElement:
    name: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    children: "list[XhtmlElement | str]" = field(default_factory=list["XhtmlElement | str"])


@record
class XhtmlPicture:
    url: str
    alt: str


@record
class XhtmlBody:
    """Markup in which each picture is a mark; `with_pictures` replaces the marks."""

    markup: str
    pictures: tuple[XhtmlPicture, ...]


_MARK = re.compile("\0([0-9]+)\0")


def xhtml_body(html: str, prefix: str, recording: str = "") -> XhtmlBody:
    """`prefix` begins all ids, so that they are unique in the book; `recording` names links to audio and video."""
    return _Fitting(prefix, recording).body(_tree(html))


def with_pictures(body: XhtmlBody, files: Mapping[str, str]) -> str:
    """`files` holds the file in the book for each URL. A picture that has none leaves its alternative text."""

    def picture(found: re.Match[str]) -> str:
        one = body.pictures[int(found[1])]
        file = files.get(one.url)
        if file is not None:
            return f'<img src="{escape(file)}" alt="{escape(one.alt)}"/>'
        return f'<span class="alt">[{escape(one.alt)}]</span>' if one.alt else ""

    return _MARK.sub(picture, body.markup)


# --- Reading

_VOID = frozenset(("br", "hr", "img", "wbr", "col", "source"))
_DROPPED = re.compile(r"<(script|style|svg|template|iframe|object)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<[!?][^>]*>?"
    r"|<(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*)(?P<rest>(?:[^>\"']|\"[^\"]*\"|'[^']*')*)>"
    r"|(?P<text>[^<]+|<)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([a-zA-Z][a-zA-Z0-9-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_MAX_DEPTH = 100


def _tree(html: str) -> XhtmlElement:
    root = XhtmlElement("body")
    open_elements = [root]
    for token in _TOKEN.finditer(_DROPPED.sub("", html)):
        if token["text"] is not None:
            open_elements[-1].children.append(writable(unescape(token["text"])))
        elif token["name"] is None:
            continue
        elif token["close"]:
            _close(open_elements, token["name"].lower())
        else:
            name = token["name"].lower()
            element = XhtmlElement(name, _attributes(token["rest"]))
            open_elements[-1].children.append(element)
            if name not in _VOID and len(open_elements) < _MAX_DEPTH:
                open_elements.append(element)
    return root


def _close(open_elements: list[XhtmlElement], name: str) -> None:
    for place in range(len(open_elements) - 1, 0, -1):
        if open_elements[place].name == name:
            del open_elements[place:]
            return


def _attributes(rest: str) -> dict[str, str]:
    return {
        name.lower(): writable(unescape(double or single or bare))
        for name, double, single, bare in _ATTRIBUTE.findall(rest)
    }


# --- Fitting to the content model

_BLOCKS = frozenset(
    (
        "blockquote", "div", "dl", "dt", "dd", "figcaption", "figure", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol",
        "p", "pre", "table", "ul",
    )
)  # fmt: skip
_PHRASING_ONLY = frozenset(
    (
        "abbr", "b", "bdi", "bdo", "cite", "code", "dfn", "em", "i", "kbd", "mark", "q", "ruby", "rt", "s", "samp",
        "small", "span", "strong", "sub", "sup", "time", "u", "var", "p", "pre", "h2", "h3", "h4", "h5", "h6",
    )
)  # fmt: skip
_TRANSPARENT = frozenset(("a", "del", "ins"))
_TABLE_PARTS = frozenset(("caption", "thead", "tbody", "tfoot", "tr", "td", "th"))
_KNOWN = _BLOCKS | _PHRASING_ONLY | _TRANSPARENT | HEADINGS | _TABLE_PARTS | {"br", "wbr", "img"}
_HOMES = {
    "li": ("ol", "ul"),
    "dt": ("dl",),
    "dd": ("dl",),
    "figcaption": ("figure",),
    "rt": ("ruby",),
    "caption": ("table",),
    "thead": ("table",),
    "tbody": ("table",),
    "tfoot": ("table",),
    "tr": ("table", "thead", "tbody", "tfoot"),
    "td": ("tr",),
    "th": ("tr",),
}


@record
class _Inside:
    link: bool = False
    no_headings: bool = False
    no_tables: bool = False


class _Fitting:
    def __init__(self, prefix: str, recording: str) -> None:
        self._prefix, self._recording = prefix, recording
        self._ids: set[str] = set()
        self._pictures: list[XhtmlPicture] = []

    def body(self, root: XhtmlElement) -> XhtmlBody:
        children = list(self._fitted(root.children, "body", _Inside()))
        _keep_known_anchors(children, self._ids)
        return XhtmlBody("".join(map(_written, children)), tuple(self._pictures))

    def _fitted(
        self, children: "Iterable[XhtmlElement | str]", parent: str, inside: _Inside
    ) -> "Iterator[XhtmlElement | str]":
        for child in children:
            if isinstance(child, str):
                yield child
            else:
                yield from self._element(child, parent, inside)

    def _element(self, element: XhtmlElement, parent: str, inside: _Inside) -> "Iterator[XhtmlElement | str]":
        name = element.name
        if name in ("rp", "source", "col", "colgroup"):
            return
        if name == "img":
            yield self._picture(element)
            return
        if name == "math":
            yield _formula(element)
            return
        if name in ("audio", "video"):
            yield self._medium(element, inside)
            return
        name = self._fitting_name(element, parent, inside)
        if name == "":
            yield from self._fitted(element.children, parent, inside)
            return
        within = _Inside(
            link=inside.link or name == "a",
            no_headings=inside.no_headings or name in ("dt", "th", "caption"),
            no_tables=inside.no_tables or name == "caption",
        )
        fitted = XhtmlElement(name, self._attributes(element, name, parent))
        fitted.children = list(self._fitted(element.children, name, within))
        if name == "a" and "href" not in fitted.attributes and "id" not in fitted.attributes:
            yield from fitted.children
            return
        yield from _shaped(fitted)

    def _fitting_name(self, element: XhtmlElement, parent: str, inside: _Inside) -> str:
        """The name that may stand here; empty to keep only the content."""
        name = element.name
        if name == "details":
            return "div"
        if name == "summary":
            return "p"
        if name in HEADINGS:
            return "p" if inside.no_headings else "h2" if name == "h1" else name
        if (name == "a" and inside.link) or name not in _KNOWN or (name == "dfn" and parent == "dfn"):
            return "" if name in _TRANSPARENT or name not in _KNOWN else "span"
        if name in _HOMES and parent not in _HOMES[name]:
            return "span" if name == "rt" else "div"
        if name == "bdo" and element.attributes.get("dir") not in ("ltr", "rtl"):
            return "bdi"
        if name == "table" and inside.no_tables:
            return ""
        return name

    def _attributes(self, element: XhtmlElement, name: str, parent: str) -> dict[str, str]:
        given, kept = element.attributes, dict[str, str]()
        anchor = self._id(given.get("id") or (given.get("name", "") if name == "a" else ""))
        if anchor:
            kept["id"] = anchor
        if given.get("dir") in ("ltr", "rtl", "auto"):
            kept["dir"] = given["dir"]
        language = given.get("lang", "").replace("_", "-")
        if _LANGUAGE.fullmatch(language):
            kept["lang"] = kept["xml:lang"] = language
        if name == "a" and "href" in given:
            href = self._href(given["href"])
            if href:
                kept["href"] = href
        for attribute, rule in _RULES.get(name, {}).items():
            value = given.get(attribute)
            if value is not None and rule(value.strip()):
                kept[attribute] = value.strip() if attribute != "reversed" else "reversed"
        if name == "li" and parent == "ol" and _NUMBER.fullmatch(given.get("value", "")):
            kept["value"] = given["value"]
        if name in ("td", "th") and given.get("align") in ("left", "right", "center"):
            kept["class"] = f"align-{given['align']}"
        if element.name == "summary":
            kept["class"] = "summary"
        return kept

    def _id(self, value: str) -> str:
        name = self._anchor(value)
        if not name or name in self._ids:
            return ""
        self._ids.add(name)
        return name

    def _anchor(self, value: str) -> str:
        """The same for the same value, and a name as XML wants it."""
        return f"{self._prefix}{_NOT_NAME.sub(_code, value)}" if value and len(value) <= 200 else ""

    def _href(self, value: str) -> str:
        if value.startswith("#"):
            return f"#{self._anchor(value[1:])}" if len(value) > 1 else ""
        return safe_href(value)

    def _picture(self, element: XhtmlElement) -> str:
        given = element.attributes
        url = given.get("src") or given.get("data-http-src") or given.get("srcset", "").strip().split(" ")[0]
        self._pictures.append(XhtmlPicture(url, " ".join(given.get("alt", "").split())[:500]))
        return f"\0{len(self._pictures) - 1}\0"

    def _medium(self, element: XhtmlElement, inside: _Inside) -> "XhtmlElement | str":
        sources = [element, *(child for child in element.children if isinstance(child, XhtmlElement))]
        href = next((safe for one in sources if (safe := safe_href(one.attributes.get("src", "")))), "")
        if not href or inside.link:
            return ""
        return XhtmlElement("a", {"href": href}, [f"▶ {self._recording or href}"])


def _keep_known_anchors(children: "Iterable[XhtmlElement | str]", ids: set[str]) -> None:
    """A link to a place that is not in this text leads nowhere, so it is no link."""
    for child in children:
        if isinstance(child, XhtmlElement):
            href = child.attributes.get("href", "")
            if href.startswith("#") and href[1:] not in ids:
                del child.attributes["href"]
            _keep_known_anchors(child.children, ids)


# --- The shape of elements that allow only certain children


_MATHML = "http://www.w3.org/1998/Math/MathML"


def _formula(element: XhtmlElement) -> XhtmlElement:
    allowed = ELEMENTS[element.name].attributes
    fitted = XhtmlElement(element.name, {"xmlns": _MATHML} if element.name == "math" else {})
    fitted.attributes |= {name: value for name, value in element.attributes.items() if name in allowed}
    inside = FORMULA_ELEMENTS - {"math"} if element.name not in FORMULA_TOKENS else frozenset[str]()
    fitted.children = [
        child if isinstance(child, str) else _formula(child)
        for child in element.children
        if (not child.strip() or not inside if isinstance(child, str) else child.name in inside)
    ]
    return fitted


def _shaped(element: XhtmlElement) -> "Iterator[XhtmlElement | str]":
    name = element.name
    if name in ("ul", "ol"):
        element.children = list(_only(element.children, ("li",), "li"))
    elif name == "dl":
        element.children = list(_only(element.children, ("dt", "dd"), "dd"))
        if not _is_dl(element.children):
            element.name = "div"
            for child in element.children:
                if isinstance(child, XhtmlElement):
                    child.name = "div"
    elif name == "table":
        yield from _table(element)
        return
    elif name == "figure":
        _fit_figure(element)
    elif name == "ruby" and (not _is_ruby(element) or _has_block(element)):
        _unruby(element)
    if element.name in _PHRASING_ONLY and _has_block(element):
        element.name = "div"
        for attribute in ("title", "datetime"):
            element.attributes.pop(attribute, None)
    yield element


def _only(
    children: "Iterable[XhtmlElement | str]", allowed: tuple[str, ...], otherwise: str
) -> "Iterator[XhtmlElement]":
    for child in children:
        if isinstance(child, XhtmlElement) and child.name in allowed:
            yield child
        elif isinstance(child, XhtmlElement) or child.strip():
            yield XhtmlElement(otherwise, children=[child])


def _is_dl(children: "list[XhtmlElement | str]") -> bool:
    names = "".join("t" if child.name == "dt" else "d" for child in children if isinstance(child, XhtmlElement))
    return re.fullmatch("(?:t+d+)+", names) is not None


def _is_ruby(ruby: XhtmlElement) -> bool:
    """Words and their readings by turns."""
    parts = [child for child in ruby.children if isinstance(child, XhtmlElement) or child.strip()]
    kinds = "".join("r" if isinstance(child, XhtmlElement) and child.name == "rt" else "w" for child in parts)
    return re.fullmatch("(?:w+r)+", kinds) is not None


def _unruby(ruby: XhtmlElement) -> None:
    ruby.name = "span"
    for child in ruby.children:
        if isinstance(child, XhtmlElement) and child.name == "rt":
            child.name = "span"
            child.children = ["(", *child.children, ")"]


def _fit_figure(figure: XhtmlElement) -> None:
    """One caption, at the beginning or the end."""
    parts = [child for child in figure.children if isinstance(child, XhtmlElement) or child.strip()]
    captions = [child for child in parts if isinstance(child, XhtmlElement) and child.name == "figcaption"]
    kept = captions[0] if captions and captions[0] in (parts[0], parts[-1]) else None
    for caption in captions:
        if caption is not kept:
            caption.name = "div"
    figure.children = list(parts)


def _table(table: XhtmlElement) -> "Iterator[XhtmlElement | str]":
    """Caption, head, rows and foot in this order; what stands between the cells comes before the table."""
    rows: dict[str, list[XhtmlElement | str]] = {"thead": [], "tbody": [], "tfoot": []}
    captions: list[XhtmlElement] = []
    for child in table.children:
        if isinstance(child, XhtmlElement) and child.name == "caption":
            captions.append(child)
        elif isinstance(child, XhtmlElement) and child.name in rows:
            section = child.name if not rows[child.name] else "tbody"
            rows[section].extend(_rows_in(child))
        elif isinstance(child, XhtmlElement) and child.name == "tr":
            rows["tbody"].extend(_rows_in(XhtmlElement("tbody", children=[child])))
        elif isinstance(child, XhtmlElement) or child.strip():
            yield child
    if not any(rows.values()):
        return
    children: list[XhtmlElement | str] = []
    if captions:
        caption = captions[0]
        children.append(XhtmlElement("caption", caption.attributes, caption.children))
    children += [XhtmlElement(name, children=found) for name, found in rows.items() if found]
    yield XhtmlElement("table", table.attributes, children)


def _rows_in(section: XhtmlElement) -> "Iterator[XhtmlElement]":
    for child in section.children:
        if not isinstance(child, XhtmlElement):
            continue
        if child.name == "tr":
            cells: list[XhtmlElement | str] = [
                cell for cell in child.children if isinstance(cell, XhtmlElement) and cell.name in ("td", "th")
            ]
            if cells:
                yield XhtmlElement("tr", child.attributes, cells)


def _has_block(element: XhtmlElement) -> bool:
    return any(
        isinstance(child, XhtmlElement) and (child.name in _BLOCKS or _has_block(child)) for child in element.children
    )


# --- Attributes

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}")
_NUMBER = re.compile(r"-?[0-9]{1,6}")
_SPAN = re.compile(r"[1-9][0-9]{0,2}")
_NOT_NAME = re.compile(r"[^A-Za-z0-9.\-]")
_UNSAFE = re.compile(r"""[\x00-\x20"<>\\^`{|}\x7f-\x9f]|%(?![0-9A-Fa-f]{2})""")


def _code(found: re.Match[str]) -> str:
    return f"_{ord(found[0]):x}_"


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


_TITLE: Mapping[str, Callable[[str], bool]] = {"title": bool}
_CELL: Mapping[str, Callable[[str], bool]] = {"colspan": _matches(_SPAN), "rowspan": _matches(_SPAN)}
_RULES: Mapping[str, Mapping[str, Callable[[str], bool]]] = {
    "a": _TITLE,
    "abbr": _TITLE,
    "dfn": _TITLE,
    "ol": {
        "start": _matches(_NUMBER),
        "type": lambda value: value in {"1", "a", "A", "i", "I"},
        "reversed": lambda _value: True,
    },
    "td": _CELL,
    "th": {**_CELL, "scope": lambda value: value in {"row", "col", "rowgroup", "colgroup"}},
}


_HOST = re.compile(r"(?:[^\s/?#@<>\"{}|\\^`\[\]%\x00-\x20]*@)?(?:\[[0-9A-Fa-f:.]+\]|[\w.\-]+)(?::[0-9]{1,5})?")
"""What a browser would open; anything else is no address."""


def safe_href(value: str) -> str:
    """A web or mail address as XML Schema takes it, or nothing."""
    trimmed = value.strip()
    if not re.match(r"(?:https?://[^/?#\s]|mailto:[^\s])", trimmed, re.IGNORECASE) or len(trimmed) > 4_096:
        return ""
    begin, hash_, fragment = trimmed.partition("#")
    scheme, _, rest = begin.partition("//")
    host, slash, path = rest.partition("/")
    if rest and not _HOST.fullmatch(host.partition("?")[0]):
        return ""
    path = path.replace("[", "%5B").replace("]", "%5D")
    fragment = fragment.replace("#", "%23").replace("[", "%5B").replace("]", "%5D")
    joined = f"{scheme}//{host}{slash}{path}" if rest else begin
    return _UNSAFE.sub(_percent, f"{joined}{hash_}{fragment}")


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


# --- Writing

_EMPTY = frozenset(("br", "hr", "wbr"))


def _written(child: "XhtmlElement | str") -> str:
    if isinstance(child, str):
        return escape(child, quote=False)
    attributes = "".join(f' {key}="{escape(value)}"' for key, value in child.attributes.items())
    if child.name in _EMPTY:
        return f"<{child.name}{attributes}/>"
    return f"<{child.name}{attributes}>{''.join(map(_written, child.children))}</{child.name}>"
