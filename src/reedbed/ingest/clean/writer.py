"""Writes clean markup from markup that is already well-formed, or refuses.

Everything written is text without `<`, or a tag of a known element whose attributes were judged one by
one, so the output is harmless whatever the input was. What is not certain to be read by a browser just as it
stands here (stray or crossed tags, a paragraph in a paragraph, text loose in a table) is refused with None;
the caller then lets a real HTML parser put it in order first.
"""

import re
from html import escape, unescape

from reedbed.ingest.clean.attributes import RULES, Page
from reedbed.ingest.clean.elements import (
    ELEMENTS,
    HEADINGS,
    LINK_BARRIERS,
    LIST_BARRIERS,
    TABLE_CONTEXT,
    Element,
)
from reedbed.ingest.clean.images import settled_image, settled_source
from reedbed.ingest.clean.markup import read_attributes
from reedbed.ingest.clean.paragraphs import LINK_END, PARAGRAPHS, PLAIN_ADDRESS, are_plain, with_safe_links

MAX_DEPTH = 96

_TAG = re.compile(
    r"([a-zA-Z][a-zA-Z0-9\-]*+)"
    r"((?:[ \t\n\f]++[^ \t\n\f\"'<>/=]++(?:[ \t\n\f]*+=[ \t\n\f]*+(?:\"[^\"]*+\"|'[^']*+'))?+)*+)"
    r"[ \t\n\f]*+/?\Z"
)
_COMMENT = re.compile(r"!--(?!-?\Z)[^-]*+(?:-[^-]++)*+--\Z")
_WRITTEN_ALWAYS = {
    "audio": ' controls="" preload="none"',
    "img": ' loading="lazy" decoding="async"',
    "video": ' controls="" preload="none"',
}
_A, _P, _BARE = ELEMENTS["a"], ELEMENTS["p"], ELEMENTS["font"]
# The commonest link of all, with nothing in its address that would have to be written otherwise.
_LINK = re.compile(rf"a href=\"({PLAIN_ADDRESS})\"\Z")
# An element that is a place to go to, or has something to play, is not empty.
_SHOWN = (' id="', ' name="', ' src="')
_IMPLIED_ENDS = frozenset(("rt", "rp", "p", "li", "dd", "dt"))
_TO_ESCAPE = re.compile(r"[&<>\"']")
_PLAIN = {
    name: (f"/{name}", element, f"<{element.name}>" if element.name else "")
    for name, element in ELEMENTS.items()
    if not element.always_attributed
} | {"span": ("/span", _BARE, ""), "br/": ("", ELEMENTS["br"], ""), "br /": ("", ELEMENTS["br"], "")}


Stack = list[tuple[str, Element, int, int]]
"""Open elements: (the end tag that must come, element, its place in the output, the weight before it)."""


class _Refused(Exception):
    pass


def write_clean(html: str, page: Page) -> str | None:
    try:
        return _Writer(page).written(html)
    except _Refused:
        return None


class _Writer:
    __slots__ = ("open", "out", "page", "paragraphs", "silent", "weight")

    def __init__(self, page: Page) -> None:
        self.page = page
        self.out: list[str] = []
        self.open: Stack = []
        self.weight = 0
        """Grows with everything a reader could see; what adds none between its tags is empty."""
        self.paragraphs = 0
        self.silent = ""

    def written(self, html: str) -> str:
        in_row = False
        for part in PARAGRAPHS.split(html):
            if in_row and are_plain(part) and self._takes_paragraphs():
                self.weight += 1
                self.out.append(with_safe_links(part))
            elif part:
                self._walk(part)
            in_row = not in_row
        if self.open or self.silent:
            raise _Refused
        return "".join(self.out)

    def _takes_paragraphs(self) -> bool:
        """Where paragraphs with their links and inline elements may stand, whatever is open."""
        if not self.open:
            return not self.silent
        if self.silent or self.paragraphs or len(self.open) + 2 > MAX_DEPTH or self._parent().skeleton:
            return False
        return _may_open_link(self.open, "")

    def _walk(self, html: str) -> None:
        # The crawl's hottest loop: what most tags need stands here without a further call.
        stack, out = self.open, self.out
        first, *pieces = html.split("<")
        if first:
            self._text(first)
        for piece in pieces:
            tag, closed, text = piece.partition(">")
            if not closed:
                raise _Refused
            if stack and tag == stack[-1][0]:
                self._close()
            elif plain := _PLAIN.get(tag):
                self._open(plain)
            else:
                self._tag(tag)
            if text:
                if "&" in text or ">" in text or text.isspace() or self.silent or not stack:
                    self._text(text)
                elif stack[-1][1].skeleton:
                    raise _Refused
                else:
                    self.weight += 1
                    out.append(text)

    def _tag(self, tag: str) -> None:
        if self.silent:
            if tag != self.silent:
                raise _Refused
            self.silent = ""
        elif link := _LINK.match(tag):
            self._check_place(_A)
            self._push("/a", _A, f'<a href="{link[1]}"{LINK_END}>')
        elif tag[:1] == "/":
            self._close_loosely(tag)
        elif tag[:1] == "!":
            self._comment(tag)
        else:
            self._open_attributed(tag)

    def _text(self, text: str) -> None:
        if self.silent:
            return
        if "&" in text or ">" in text:
            text = escape(unescape(text), quote=False).replace("\r", "\n")
        if not text.isspace():
            if not text:
                return
            if self.open and self.open[-1][1].skeleton:
                raise _Refused
            self.weight += 1
        self.out.append(text)

    def _comment(self, tag: str) -> None:
        if not _COMMENT.match(tag):
            raise _Refused

    def _close_loosely(self, tag: str) -> None:
        if not self.open or self.open[-1][0] != tag.rstrip(" \t\n\f").lower():
            raise _Refused
        self._close()

    def _close(self) -> None:
        _, element, place, weight = self.open.pop()
        if element is _P:
            self.paragraphs -= 1
        if weight == self.weight and element.removable:
            self._remove_empty(element, place)
        else:
            self.out.append(element.end)

    def _remove_empty(self, element: Element, place: int) -> None:
        """Of an empty inline element the space it made between words stays."""
        space = not element.block and any(piece.isspace() for piece in self.out[place:])
        self.out[place:] = [" "] if space else []

    def _open(self, plain: tuple[str, Element, str]) -> None:
        closing, element, written = plain
        self._check_place(element)
        if element.void:
            self._void(element, "")
        else:
            self._push(closing, element, written)

    def _open_attributed(self, tag: str) -> None:
        match = _TAG.match(tag)
        if match is None:
            raise _Refused
        name = match[1].lower()
        element = ELEMENTS.get(name)
        if element is None:
            self._fall_silent(name)
            return
        self._check_place(element)
        if element.name == "img":
            self._image(match[2])
        elif element.name == "source":
            self._source(match[2])
        else:
            self._element(name, element, match[2])

    def _fall_silent(self, name: str) -> None:
        """Scripts and styles go with their text, which ends at the next tag or is refused."""
        if name not in {"script", "style"}:
            raise _Refused
        self.silent = f"/{name}"

    def _element(self, name: str, element: Element, source: str) -> None:
        attributes = self._judged(element, read_attributes(source)) if source else ""
        if element.void:
            self._void(element, attributes)
            return
        if element is _A:
            if ' href="' in attributes and ' href="#' not in attributes:
                attributes += LINK_END
        else:
            attributes += _WRITTEN_ALWAYS.get(element.name, "")
        if not attributes and element.name in {"", "span"}:
            self._push(f"/{name}", _BARE, "")
            return
        self._push(f"/{name}", element, f"<{element.name}{attributes}>")
        if element.always_attributed or self.page.keeps_anchors:
            self.weight += any(mark in attributes for mark in _SHOWN)

    def _judged(self, element: Element, attributes: dict[str, str]) -> str:
        page, tag, known = self.page, element.name, element.attributes
        written = ""
        for name, value in attributes.items():
            if name in known and (kept := RULES[name](page, tag, value)) is not None:
                written += f' {name}="{_quoted(kept)}"'
        return written

    def _image(self, source: str) -> None:
        attributes = settled_image(read_attributes(source), self.page.base)
        if attributes is None:
            return
        written = self._judged(ELEMENTS["img"], attributes)
        if ' src="' in written or ' data-http-src="' in written:
            self.weight += 1
            self.out.append(f"<img{written}{_WRITTEN_ALWAYS['img']}>")

    def _source(self, source: str) -> None:
        written = self._judged(ELEMENTS["source"], settled_source(read_attributes(source)))
        holder = self.open[-1][1].name if self.open else ""
        if holder in {"audio", "video"} and ' src="' in written:
            self.weight += 1
            self.out.append(f"<source{written}>")
        elif holder == "picture" and ' srcset="' in written:
            self.out.append(f"<source{written}>")

    def _void(self, element: Element, attributes: str) -> None:
        if element.name == "hr":
            self.weight += 1
        self.out.append(f"<{element.name}{attributes}>")

    def _push(self, closing: str, element: Element, written: str) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise _Refused
        self.open.append((closing, element, len(self.out), self.weight))
        self.out.append(written)
        if element is _P:
            self.paragraphs += 1

    def _check_place(self, element: Element) -> None:
        """Would a parser leave this element where it stands?"""
        if element.block and self.paragraphs:
            raise _Refused
        parent = self._parent()
        if element.parents and parent.name not in element.parents:
            raise _Refused
        if parent.skeleton and element.name not in TABLE_CONTEXT[parent.name]:
            raise _Refused
        if element.guarded and not _GUARDS[element.name](self.open, parent.name):
            raise _Refused

    def _parent(self) -> Element:
        """The element the next one will stand in: those that are read through do not count."""
        for _, element, _, _ in reversed(self.open):
            if element is not _BARE:
                return element
        return _BARE


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
    for _, element, _, _ in reversed(stack):
        if element.name == name:
            return True
        if element.name in barriers:
            return False
    return False


def _quoted(value: str) -> str:
    return escape(value) if _TO_ESCAPE.search(value) else value


_GUARDS = {
    "a": _may_open_link,
    "dd": _may_open_term,
    "dt": _may_open_term,
    "li": _may_open_item,
    "rp": _may_open_ruby_text,
    "rt": _may_open_ruby_text,
} | dict.fromkeys(HEADINGS, _may_open_heading)
