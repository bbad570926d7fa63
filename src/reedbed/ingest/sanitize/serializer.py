"""Write clean markup from well-formed markup in one pass, or reject it.

The output consists of text without `<` and tags of known elements with checked attributes, so it is safe
whatever the input was. `write_clean` returns None for markup that a browser might read differently (crossed
or unclosed tags other than `<p>`, text directly in a table, values without quotes). The caller
then lets nh3 parse it and passes the result of nh3 here.
"""

import re
from html import escape, unescape
from itertools import chain

from reedbed.ingest.sanitize.attributes import RULES, Page
from reedbed.ingest.sanitize.media import resolve_image_attributes, resolve_source_attributes
from reedbed.ingest.sanitize.rules import (
    CONTEXT,
    ELEMENTS,
    FORMULA_ELEMENTS,
    HEADINGS,
    LINK_BARRIERS,
    LIST_BARRIERS,
    MAX_URL_LENGTH,
    Element,
)

MAX_DEPTH = 96

_ATTRIBUTE = re.compile(r' ([a-z\-]+)="([^"]*)"')
_UNESCAPED_AMPERSAND = re.compile("&(?!amp;|lt;|gt;)")
_REFERENCE = re.compile(r"&(?:amp|lt|gt|quot|nbsp|#[0-9]{1,6});")
# In an attribute, `&copy=` is not a reference, and `&copy` without a semicolon follows special rules.
_UNCERTAIN_REFERENCE = re.compile(rf"(?!{_REFERENCE.pattern})&(?![A-Za-z0-9]+=)[A-Za-z0-9#]")
# The most common kind of link: its URL needs no change.
_PLAIN_LINK = re.compile(r'a href="https?://[A-Za-z0-9][A-Za-z0-9._~:/?=%+,;@!$*()&\-]*"\Z')
_LINK_END = ' target="_blank" rel="noopener noreferrer"'
_ADDED_ATTRIBUTES = {
    "audio": ' controls="" preload="none"',
    "img": ' loading="lazy" decoding="async"',
    "video": ' controls="" preload="none"',
}
_A, _P = ELEMENTS["a"], ELEMENTS["p"]
# An element whose tags are not written, and one whose text is dropped as well.
_UNWRITTEN = Element("", attributes=frozenset())
_SUPPRESSED = Element("", attributes=frozenset(), skeleton=True, strict=True)
_IMPLIED_ENDS = frozenset(("rt", "rp", "p", "li", "dd", "dt"))
# Elements that end a paragraph by their start tag, and those that end one inside them by their end tag.
_END_PARAGRAPHS = HEADINGS | {"blockquote", "div", "dl", "figure", "hr", "ol", "p", "pre", "ul"}
_HOLD_PARAGRAPHS = frozenset(("blockquote", "dd", "div", "dt", "figcaption", "figure", "li"))
_TO_ESCAPE = re.compile(r"[&<>\"']")

Start = tuple[str, Element, str, int]
"""A start tag: (matching end tag, element, output, visible weight)."""
Stack = list[tuple[str, Element, Element, int, int]]
"""Open elements: (expected end tag, element, parent, position in the output, weight before it)."""

_NOTHING: Start = ("", _UNWRITTEN, "", 0)
# Tags with a fixed output, and tags that are never written.
_PLAIN_STARTS: dict[str, Start] = {
    name: (f"/{name}", element, f"<{element.name}>", 0)
    for name, element in ELEMENTS.items()
    if not element.void and name not in _ADDED_ATTRIBUTES
} | {
    "br": ("", ELEMENTS["br"], "<br>", 0),
    "br/": ("", ELEMENTS["br"], "<br>", 0),
    "br /": ("", ELEMENTS["br"], "<br>", 0),
    "script": ("/script", _SUPPRESSED, "", 0),
    "span": ("/span", _UNWRITTEN, "", 0),
    "style": ("/style", _SUPPRESSED, "", 0),
}
# Start tags seen before whose attributes mean the same on every page.
_known_starts: dict[str, Start] = {}
_MAX_REMEMBERED, _MAX_REMEMBERED_TAG = 1_000, 200
_PAGE_ATTRIBUTES = frozenset(("cite", "href", "id", "name", "poster", "src", "srcset"))


# Every tag of every entry passes here, so the common cases are inlined.
def write_clean(html: str, page: Page) -> str | None:
    first, *chunks = html.split("<")
    out = [_text(first)]
    stack: Stack = []
    end_tag: str | None = None
    parent = _UNWRITTEN
    paragraphs = weight = 0  # weight counts visible content: an element that adds none is empty
    for chunk in chunks:
        tag, closed, text = chunk.partition(">")
        if tag == end_tag and closed:
            _, element, parent, position, before = stack.pop()
            end_tag = stack[-1][0] if stack else None
            paragraphs -= element is _P
            if before == weight and element.removable:
                _remove_empty(out, position, element)
            else:
                out.append(element.end)
        else:
            if parent is _SUPPRESSED:  # in a script, "1 < 2" is no tag
                if chunk.startswith(("/", "!")):
                    return None
                continue
            start = _PLAIN_STARTS.get(tag) or _known_starts.get(tag) or _start(tag, parent, page)
            if closed and paragraphs and (start is None or start[1].block) and _ends_paragraph(stack, tag, start):
                start, parent = _end_paragraph(stack, out, weight, start)
                end_tag, paragraphs = stack[-1][0] if stack else None, paragraphs - 1
            if start is None or not closed:
                return None
            closing, element, written, seen = start
            stays = not (element.particular or parent.strict) or parent.name in element.at_home
            if (element.block and paragraphs) or not (stays or _fits(element, parent, stack)):
                return None
            weight += seen
            if closing:
                if len(stack) >= MAX_DEPTH and element is not _SUPPRESSED:
                    element, written = _UNWRITTEN, ""
                stack.append((closing, element, parent, len(out), weight - seen))
                end_tag = closing
                if element is not _UNWRITTEN:
                    parent = element
                    paragraphs += element is _P
            out.append(written)
        if text and parent is not _SUPPRESSED:
            text = _text(text) if "&" in text or ">" in text else text
            out.append(text)
            if text and not text.isspace():
                weight += 1
                if parent.skeleton:
                    return None
    return "".join(out) if _is_complete(stack, out, weight) else None


def _ends_paragraph(stack: Stack, tag: str, start: Start | None) -> bool:
    """Whether this tag ends the paragraph that is open, as its end tag may be missing: `<p>One<p>Two</div>`."""
    if stack[-1][1] is not _P:
        return False
    if start is not None:
        return start[1].name in _END_PARAGRAPHS
    return len(stack) > 1 and stack[-2][0] == tag and stack[-2][1].name in _HOLD_PARAGRAPHS


def _end_paragraph(stack: Stack, out: list[str], weight: int, start: Start | None) -> tuple[Start, Element]:
    """End it, and without a start tag also the element around it; return what to write next, and its parent."""
    parent = _close(stack, out, weight)
    return (start, parent) if start else (_NOTHING, _close(stack, out, weight))


def _is_complete(stack: Stack, out: list[str], weight: int) -> bool:
    """Whether nothing is open at the end but a last paragraph."""
    if stack and stack[-1][1] is _P:
        _close(stack, out, weight)
    return not stack


def _close(stack: Stack, out: list[str], weight: int) -> Element:
    """End the innermost element; return its parent."""
    _, element, parent, position, before = stack.pop()
    if before == weight and element.removable:
        _remove_empty(out, position, element)
    else:
        out.append(element.end)
    return parent


def _text(text: str) -> str:
    if ">" in text or _UNESCAPED_AMPERSAND.search(text):
        return escape(unescape(text), quote=False).replace("\r", "\n")
    return text


def _remove_empty(out: list[str], position: int, element: Element) -> None:
    """Remove an empty element; an empty inline element leaves the space it made between words."""
    space = not element.block and any(part.isspace() for part in out[position:])
    out[position:] = [" "] if space else []


def _start(tag: str, parent: Element, page: Page) -> Start | None:
    if _PLAIN_LINK.match(tag) and tag.count("&") == tag.count("&amp;") and len(tag) < MAX_URL_LENGTH:
        return "/a", _A, f"<{tag}{_LINK_END}>", 0
    if tag.startswith("!--") and tag.endswith("--"):
        return _NOTHING
    name, _, source = tag.removesuffix("/").rstrip(" ").partition(" ")
    attributes = _attributes(f" {source}") if source else {}
    element = ELEMENTS.get(name)
    if tag.endswith("/") and name in FORMULA_ELEMENTS:
        return None  # only in formulas does the slash end an element
    if attributes is None or element is None:
        return _PLAIN_STARTS[name] if attributes is not None and name in {"script", "style"} else None
    match element.name:
        case "img":
            return _image(element, attributes, page)
        case "source":
            return _source(element, attributes, parent, page)
        case _ if element.void:
            return ("", element, f"<{element.name}{_checked(element, attributes, page)}>", element.name == "hr")
        case _:
            start = _element(name, element, _checked(element, attributes, page))
            if len(tag) <= _MAX_REMEMBERED_TAG and _PAGE_ATTRIBUTES.isdisjoint(attributes):
                _remember(tag, start)
            return start


def _remember(tag: str, start: Start) -> None:
    """Editors write the same classes and styles around every paragraph of a site."""
    if len(_known_starts) >= _MAX_REMEMBERED:
        _known_starts.clear()
    _known_starts[tag] = start


def _attributes(source: str) -> dict[str, str] | None:
    """The attributes of a tag if they are written as nh3 does: lower case, double quotes. Otherwise None."""
    pairs: list[tuple[str, str]] = _ATTRIBUTE.findall(source)
    attributes = dict(pairs)
    if sum(map(len, chain(*pairs))) + 4 * len(attributes) != len(source):
        return None
    if "&" in source:
        if _UNCERTAIN_REFERENCE.search(source):
            return None
        return {name: _REFERENCE.sub(_character, value) for name, value in pairs}
    return attributes


def _character(reference: re.Match[str]) -> str:
    return unescape(reference[0])


def _element(name: str, element: Element, attributes: str) -> Start:
    if element is _A:
        if ' href="' in attributes and ' href="#' not in attributes:
            attributes += _LINK_END
    else:
        attributes += _ADDED_ATTRIBUTES.get(element.name, "")
    if not attributes and element.name == "span":
        return _PLAIN_STARTS["span"]
    # Anchors and media are not empty.
    seen = ' id="' in attributes or ' name="' in attributes or ' src="' in attributes
    return f"/{name}", element, f"<{element.name}{attributes}>", seen


def _image(element: Element, attributes: dict[str, str], page: Page) -> Start:
    resolved = resolve_image_attributes(attributes, page.base)
    written = _checked(element, resolved, page) if resolved else ""
    if ' src="' not in written and ' data-http-src="' not in written:
        return _NOTHING
    return "", element, f"<img{written}{_ADDED_ATTRIBUTES['img']}>", 1


def _source(element: Element, attributes: dict[str, str], parent: Element, page: Page) -> Start:
    written = _checked(element, resolve_source_attributes(attributes), page)
    if parent.name in {"audio", "video"} and ' src="' in written:
        return "", element, f"<source{written}>", 1
    if parent.name == "picture" and ' srcset="' in written:
        return "", element, f"<source{written}>", 0
    return _NOTHING


def _checked(element: Element, attributes: dict[str, str], page: Page) -> str:
    tag, allowed = element.name, element.attributes
    written = ""
    for name, value in attributes.items():
        if name in allowed and (checked := RULES[name](page, tag, value)) is not None:
            written += f' {name}="{_quoted(checked)}"'
    return written


def _fits(element: Element, parent: Element, stack: Stack) -> bool:
    """Whether a parser would leave this element in place."""
    if element.parents and parent.name not in element.parents:
        return False
    if parent.strict and element.name not in CONTEXT.get(parent.name, ()):
        return False
    check = _NESTING_CHECKS.get(element.name)
    return check is None or check(stack, parent.name)


def _may_open_heading(_stack: Stack, parent: str) -> bool:
    return parent not in HEADINGS


def _may_open_link(stack: Stack, _parent: str) -> bool:
    return not _open_before(stack, "a", LINK_BARRIERS)


def _may_open_item(stack: Stack, _parent: str) -> bool:
    return not _open_before(stack, "li", LIST_BARRIERS)


def _may_open_term(stack: Stack, _parent: str) -> bool:
    return not _open_before(stack, "dd", LIST_BARRIERS) and not _open_before(stack, "dt", LIST_BARRIERS)


def _may_open_ruby_text(stack: Stack, parent: str) -> bool:
    return parent not in _IMPLIED_ENDS or not _open_before(stack, "ruby", LINK_BARRIERS)


def _open_before(stack: Stack, name: str, barriers: frozenset[str]) -> bool:
    for _, element, _, _, _ in reversed(stack):
        if element.name == name:
            return True
        if element.name in barriers:
            return False
    return False


def _quoted(value: str) -> str:
    return escape(value) if _TO_ESCAPE.search(value) else value


_NESTING_CHECKS = {
    "a": _may_open_link,
    "dd": _may_open_term,
    "dt": _may_open_term,
    "li": _may_open_item,
    "rp": _may_open_ruby_text,
    "rt": _may_open_ruby_text,
} | dict.fromkeys(HEADINGS, _may_open_heading)
