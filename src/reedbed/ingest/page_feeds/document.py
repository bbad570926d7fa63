"""A page as a tree, numbered in the order of the document, with the data in its scripts and its links."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import unescape
from typing import Any, cast
from urllib.parse import urlsplit

from lxml import etree, html
from selectolax.lexbor import LexborHTMLParser

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.records import record
from reedbed.ingest.article.extract import base_of, page_source
from reedbed.ingest.sanitize.cleaner import MAX_CHARS, bounded
from reedbed.ingest.sanitize.rules import absolute_web_url

MAX_BYTES = 10_000_000
"""As large as a page may be, in bytes; this size is already too much."""
_TOO_LARGE = Failure(FailureCode.LIST_PAGE_TOO_LARGE, {"size": MAX_BYTES // 1_000_000})
_MAX_ELEMENTS = 40_000
_MAX_SCRIPTS = 80
_MAX_SCRIPT_CHARS = 4_000_000
_MAX_TEXT = 2_000
_MAX_DEPTH = 200
_NO_END = frozenset(
    (
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "p", "li",
        "dt", "dd", "td", "th", "tr", "tbody", "thead", "tfoot", "option", "html", "head", "body",
    )
)  # fmt: skip
_NESTING = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)")
_SELECTED = "data-selected-"
_SENTENCE = 30
"""Characters of a text before a link in it."""

_SCRIPT = re.compile(r"<script\b([^>]{0,3000})>(.*?)(?:</script\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_INVISIBLE = re.compile(
    r"<(script|style|svg|template)\b[^>]{0,3000}>.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL
)
BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "footer",
        "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "section",
        "table", "td", "th", "tr", "ul",
    )
)  # fmt: skip
_LANGUAGE = re.compile(r"<html[^>]{0,500}?\slang\s*=\s*[\"']?([\w-]{2,20})", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w:.-]{2,40})", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]{0,200}>([^<]{0,1000})", re.IGNORECASE)


@record
class PageLink:
    index: int
    """Of its element."""
    url: str
    text: str


@record
class DataScript:
    kind: str
    """The type attribute, in lower case."""
    text: str


class PageDocument:
    """Elements are known by their number in document order; `ends[n]` is the first number after the subtree."""

    def __init__(self, tree: html.HtmlElement, url: str, source: str) -> None:
        self.tree = tree
        self.url = url
        self.source = source
        self.base = base_of(tree, url)
        self.elements = list(tree.iter(etree.Element))
        numbers = {element: number for number, element in enumerate(self.elements)}
        self.numbers = numbers
        self.parents = [-1] * len(self.elements)
        self.ends = [number + 1 for number in range(len(self.elements))]
        self.tags = [str(element.tag) for element in self.elements]
        self.paths = [0] * len(self.elements)
        ids: dict[tuple[int, str], int] = {}
        for number, element in enumerate(self.elements):
            parent = element.getparent()
            above = numbers.get(parent, -1) if parent is not None else -1
            self.parents[number] = above
            step = (self.paths[above] if above >= 0 else -1, self.tags[number])
            self.paths[number] = ids.setdefault(step, len(ids))
        for number in range(len(self.elements) - 1, 0, -1):
            above = self.parents[number]
            if above >= 0 and self.ends[number] > self.ends[above]:
                self.ends[above] = self.ends[number]
        self._texts: dict[int, str] = {}

    @cached_property
    def scripts(self) -> tuple[DataScript, ...]:
        return _scripts(self.source)

    @cached_property
    def title(self) -> str:
        match = _TITLE.search(self.source)
        return " ".join(unescape(match[1]).split()) if match else ""

    @cached_property
    def language(self) -> str | None:
        match = _LANGUAGE.search(self.source[:5_000])
        return match[1] if match else None

    @cached_property
    def links(self) -> list[PageLink]:
        own = self.url.partition("#")[0]
        found: list[PageLink] = []
        for number, tag in enumerate(self.tags):
            href = self.elements[number].get("href") if tag == "a" else None
            if not href or href.startswith(("#", "javascript:", "mailto:")):
                continue
            url = page_url(href, self.base)
            if url is not None and url != own:
                found.append(PageLink(number, url, self.text(number) or self.label(number)))
        return found

    @cached_property
    def link_numbers(self) -> list[int]:
        return [link.index for link in self.links]

    def links_in(self, start: int, end: int) -> list[PageLink]:
        numbers = self.link_numbers
        return self.links[bisect_left(numbers, start) : bisect_left(numbers, end)]

    def text(self, number: int) -> str:
        """The text of the element on one line; blocks are separated by a space."""
        text = self._texts.get(number)
        if text is None:
            text = self._texts[number] = self._read_text(number)
        return text

    def label(self, number: int) -> str:
        """What an element without text is called: its label, or the one of the image in it."""
        for inner in range(number, self.ends[number]):
            for name in ("aria-label", "title", "alt"):
                if value := self.elements[inner].get(name):
                    return " ".join(value.split())[:_MAX_TEXT]
        return ""

    def _read_text(self, number: int) -> str:
        element, end = self.elements[number], self.ends[number]
        if end == number + 1:
            return " ".join((element.text or "").split())[:_MAX_TEXT]
        between = "" if BLOCKS.isdisjoint(self.tags[number + 1 : end]) else " "
        return " ".join(between.join(str(part) for part in element.itertext()).split())[:_MAX_TEXT]

    def selected(self, name: str) -> list[int]:
        """The elements that the CSS selector of this name matched."""
        return [number for number, element in enumerate(self.elements) if element.get(_SELECTED + name) is not None]

    def attribute(self, number: int, name: str) -> str:
        return self.elements[number].get(name) or ""

    def ancestor(self, number: int, levels: int) -> int:
        for _ in range(levels):
            number = self.parents[number]
        return number

    def contains(self, outer: int, inner: int) -> bool:
        return outer <= inner < self.ends[outer]

    def siblings_after(self, number: int) -> int:
        """The next element sibling, or -1."""
        above = self.parents[number]
        following = self.ends[number]
        return following if above >= 0 and following < self.ends[above] else -1


def page_url(href: str, base: str) -> str | None:
    """Without the fragment, which is a place in the page; with it if it is a route of an application."""
    url = absolute_web_url(href, base)
    if url is None:
        return None
    address, _, fragment = url.partition("#")
    return url if fragment.startswith(("/", "!/")) else address


def read_document(
    body: bytes, url: str, *, content_type: str | None = None, css: Mapping[str, str] | None = None
) -> PageDocument | Failure:
    """A failure instead of the document if it cannot be read.

    What the selectors in `css` match is found with `selected`, by the name of the selector.
    """
    if len(body) >= MAX_BYTES:
        return _TOO_LARGE
    source = page_source(_decoded(body, content_type), MAX_BYTES)
    if source is None:
        return _TOO_LARGE
    tree = _tree(_INVISIBLE.sub("", source), css or {})
    if tree is None:
        return Failure(FailureCode.PAGE_NOT_HTML)
    return PageDocument(tree, url, source)


def _decoded(body: bytes, content_type: str | None) -> str | bytes:
    match = _CHARSET.search(content_type or "")
    if match is None or match[1].lower() in ("utf-8", "utf8"):
        return body
    try:
        return body.decode(match[1], "replace")
    except LookupError:
        return body


def _scripts(source: str) -> tuple[DataScript, ...]:
    found: list[DataScript] = []
    total = 0
    for match in _SCRIPT.finditer(source):
        kind = re.search(r"type\s*=\s*[\"']?([\w/+.-]+)", match[1][:500], re.IGNORECASE)
        name = kind[1].lower() if kind else ""
        total += len(match[2])
        if len(found) >= _MAX_SCRIPTS or total > _MAX_SCRIPT_CHARS:
            break
        if "json" in name or re.search(r"=\s*[{\[]|JSON\.parse\(", match[2][:20_000]):
            found.append(DataScript(name, match[2]))
    return tuple(found)


def _is_deep(markup: str) -> bool:
    """Whether elements nest deeper than on any honest page. Tags that need no end tag do not count."""
    if len(markup) > MAX_CHARS:
        return True
    depth = 0
    for close, name in _NESTING.findall(markup):
        if name.lower() not in _NO_END:
            depth = max(0, depth - 1) if close else depth + 1
            if depth > _MAX_DEPTH:
                return True
    return False


def _tree(markup: str, css: Mapping[str, str]) -> html.HtmlElement | None:
    # lexbor nests elements as browsers do and knows CSS; lxml then answers XPath on the same tree.
    page = LexborHTMLParser(bounded(markup) if _is_deep(markup) else markup)
    for name, selector in css.items():
        for node in page.css(selector):
            node.attrs[_SELECTED + name] = ""
    clean = page.html or ""
    try:
        tree = cast(Any, etree.fromstring(clean, html.HTMLParser(remove_comments=True, remove_pis=True)))
    except (etree.XMLSyntaxError, ValueError):
        return None
    if tree is None or cast("float", tree.xpath("count(//*)")) > _MAX_ELEMENTS:
        return None
    return tree


# --- Links


def link_pattern(urls: Sequence[str]) -> str:
    """`https://example.org/2026/*/*`: the parts of the paths that all links share; empty for links to many sites."""
    hosts = Counter(urlsplit(url).netloc for url in urls)
    if not hosts:
        return ""
    host, count = hosts.most_common(1)[0]
    if count < 0.8 * len(urls):
        return ""
    paths = [urlsplit(url).path.strip("/").split("/") for url in urls if urlsplit(url).netloc == host]
    length = Counter(map(len, paths)).most_common(1)[0][0]
    same = [path for path in paths if len(path) == length]
    if len(same) < 0.8 * len(paths):
        same, length = paths, min(map(len, paths))
    steps = [next(iter(values)) if len(values := {path[at] for path in same}) == 1 else "*" for at in range(length)]
    return f"//{host}/" + "/".join(steps)


def link_shape(url: str) -> str:
    """The address with `#` in place of each number; empty if it has none."""
    shape = re.sub(r"\d+", "#", url.partition("//")[2].partition("#")[0])
    return shape if "#" in shape else ""


def common_shape(urls: Sequence[str], *, share: float = 0.9) -> str:
    """The shape of nine of ten links; empty if they differ."""
    shapes = Counter(map(link_shape, urls))
    shape, count = shapes.most_common(1)[0] if shapes else ("", 0)
    return shape if count >= share * len(urls) else ""


def fits(url: str, pattern: str) -> bool:
    host, _, path = pattern.removeprefix("//").partition("/")
    parts = urlsplit(url)
    if parts.netloc != host:
        return False
    steps, own = path.split("/"), parts.path.strip("/").split("/")
    return len(own) >= len(steps) and all(step in ("*", part) for step, part in zip(steps, own, strict=False))


def is_in_sentence(page: PageDocument, link: PageLink) -> bool:
    """Whether the link is a few words of a text that goes on behind it, not the way to an entry."""
    element = page.elements[link.index]
    before, after = element.getprevious(), (element.tail or "").strip()
    start = (element.getparent().text if before is None else before.tail) or ""
    return page.tags[page.parents[link.index]] == "p" and len(start.strip()) >= _SENTENCE and bool(after)


def is_file(url: str) -> bool:
    return url.partition("?")[0].lower().endswith((".pdf", ".zip", ".mp3", ".doc", ".docx", ".jpg", ".png"))
