"""Sanitize untrusted HTML to a small, stable subset without scripts, styles or tracking pixels.

`serializer.write_clean` checks every tag and every attribute value in one pass over well-formed markup.
Markup that it rejects is first parsed by nh3, a real HTML parser that normalizes it and keeps only known
elements. Cleaning is idempotent: clean markup comes back unchanged, so a browser sees what was checked.
"""

import re
from collections import Counter

import nh3

from reedbed.ingest.sanitize.attributes import Page
from reedbed.ingest.sanitize.formulas import boxes_to_text, rewrite_formulas
from reedbed.ingest.sanitize.media import (
    LAZY_ATTRIBUTES,
    MAX_ATTRIBUTES,
    NAME_ENDS,
    drawings_to_images,
    embeds_to_links,
    find_tag_end,
    read_attributes,
    unwrap_noscript,
    write_tag,
)
from reedbed.ingest.sanitize.rules import DROPPED_WITH_CONTENT, ELEMENTS, FORMULA_ELEMENTS
from reedbed.ingest.sanitize.serializer import write_clean

# --- Size and nesting limits

MAX_CHARS = 1_000_000
MAX_TAGS = 60_000
MAX_DEPTH = 96
MAX_FORMATTING = 8

# Below these limits no document takes more than a few milliseconds, whatever it contains.
_HARMLESS_CHARS = 30_000
_HARMLESS_TAGS = 600
_LONG_ATTRIBUTES = 2_000

_TOKEN = re.compile(
    r"<(?:!--(?:-?>|.*?(?:--!?>|\Z))|[!?][^>]*(?:>|\Z)|/[^a-zA-Z>][^>]*(?:>|\Z)|/>"
    r"|(?P<close>/?)(?P<name>[a-zA-Z][^ \t\n\f\r/>]*))",
    re.DOTALL,
)
_RAW_TEXT_ENDS = {
    name: re.compile(rf"</{name}{NAME_ENDS}", re.IGNORECASE)
    for name in (
        "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "plaintext",
    )
}  # fmt: skip
_VOID = frozenset(
    (
        "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param",
        "source", "track", "wbr", "bgsound", "basefont", "frame", "image",
    )
)  # fmt: skip
_FORMATTING = frozenset(
    (
        "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
    )
)  # fmt: skip


def bounded(html: str) -> str:
    """Drop tags and attributes beyond the limits, so that parsing the result is cheap."""
    if len(html) <= _HARMLESS_CHARS and html.count("<") <= _HARMLESS_TAGS:
        return html
    return _Limiter().limit(html[:MAX_CHARS])


class _Limiter:
    def __init__(self) -> None:
        self.open: Counter[str] = Counter()
        self.depth = 0
        self.formatting = 0
        self.tags = 0

    def limit(self, html: str) -> str:
        parts: list[str] = []
        end = 0
        while token := _TOKEN.search(html, end):
            parts.append(html[end : token.start()].replace("<", "&lt;"))
            end = token.end()
            if token["name"]:
                tag_end = find_tag_end(html, end)
                if tag_end == -1 or self.tags > MAX_TAGS:
                    return "".join(parts)
                name, attributes, end = token["name"].lower(), html[end:tag_end], tag_end + 1
                if token["close"]:
                    parts.append(self._close_tag(name))
                elif name in _RAW_TEXT_ENDS:
                    parts.append(f"<iframe{attributes}></iframe>" if name == "iframe" else "")
                    end = _end_of_raw_text(html, name, end)
                else:
                    parts.append(self._tag(name, attributes))
        parts.append(html[end:].replace("<", "&lt;"))
        return "".join(parts)

    def _tag(self, name: str, attributes: str) -> str:
        self.tags += 1
        if len(attributes) > _LONG_ATTRIBUTES and attributes.count("=") + attributes.count(" ") > MAX_ATTRIBUTES:
            tag = write_tag(name, read_attributes(attributes))
        else:
            tag = f"<{name}{attributes}>"
        return tag if name in _VOID or self._open_tag(name) else ""

    def _open_tag(self, name: str) -> bool:
        formatting = name in _FORMATTING
        if self.depth >= MAX_DEPTH or (formatting and self.formatting >= MAX_FORMATTING):
            return False
        self.depth += 1
        self.formatting += formatting
        self.open[name] += 1
        return True

    def _close_tag(self, name: str) -> str:
        self.tags += 1
        if not self.open[name]:
            # Drop stray end tags. Only </p> and </br> would create an element; the others have no effect.
            return ""
        self.depth -= 1
        self.formatting -= name in _FORMATTING
        self.open[name] -= 1
        return f"</{name}>"


def _end_of_raw_text(html: str, name: str, start: int) -> int:
    """Position after the end tag of a raw text element, or the end of the document."""
    closing = _RAW_TEXT_ENDS[name].search(html, start)
    end = find_tag_end(html, closing.end()) if closing else -1
    return len(html) if end == -1 else end + 1


# --- Cleaning

_ATTRIBUTES = {name: set(element.attributes) for name, element in ELEMENTS.items()}
_ATTRIBUTES["img"] |= LAZY_ATTRIBUTES | {"style"}
_ATTRIBUTES["source"] |= LAZY_ATTRIBUTES


def _nh3_cleaner(tags: set[str]) -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=tags,
        clean_content_tags=set(DROPPED_WITH_CONTENT),
        attributes={name: _ATTRIBUTES[name] for name in tags},
        link_rel=None,
        url_schemes={"http", "https", "mailto", "data"},
    )


# The serializer removes spans without attributes, which can leave a heading inside a heading; the later
# passes then remove all spans, and the last ones what is left of broken formulas.
_PARSERS = (
    _nh3_cleaner(set(ELEMENTS)),
    *[_nh3_cleaner(set(ELEMENTS) - {"span"})] * 2,
    *[_nh3_cleaner(set(ELEMENTS) - {"span"} - FORMULA_ELEMENTS)] * 3,
)
_TEXT_PARSER = _nh3_cleaner(set())

_TO_PREPARE = re.compile(
    # The first letter decides quickly.
    r"<(?=[nieoamNIEOAM])(?:noscript|iframe|embed|object|amp-youtube|input|(?:m|mml|math):math|math)",
    re.IGNORECASE,
)
_LINE_FEEDS_AFTER_PRE = re.compile(r"(<pre(?: [^>]*)?>)\n+")
_BREAKS = re.compile(r"<br>\s*<br>\s*<br>\s*(?:<br>\s*)*")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")


def clean_html(html: str, base_url: str | None) -> str:
    """`base_url` is the page that contains the markup; relative URLs are resolved against it."""
    html = _normalize_chars(html[:MAX_CHARS])
    if "<" not in html and "&" not in html:
        return _normalize_whitespace(html.replace(">", "&gt;"))
    page = Page(base_url, keeps_anchors=_links_to_anchors(html, base_url))
    clean = _clean(html, page)
    if page.keeps_anchors and ' href="#' not in clean:
        clean = _clean(html, Page(base_url, keeps_anchors=False))
    return clean


def _normalize_chars(html: str) -> str:
    """Treat line ends, null characters and lone surrogates as an HTML parser would."""
    if "\r" in html:
        html = html.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in html:
        html = html.replace("\0", "")
    if not html.isascii():
        html = html.encode("utf-8", "replace").decode()
    return html


def _links_to_anchors(html: str, base: str | None) -> bool:
    return "#" in html and ('="#' in html or "='#" in html or bool(base and f"{base}#" in html))


def _prepare(html: str, base: str | None) -> str:
    if "<svg" in html:
        html = drawings_to_images(html)
    if prepared := _TO_PREPARE.search(html) is not None:
        html = boxes_to_text(rewrite_formulas(html))
    html = bounded(html)
    return embeds_to_links(unwrap_noscript(html), base) if prepared else html


def _clean(html: str, page: Page) -> str:
    prepared = "<svg" in html or _TO_PREPARE.search(html) is not None
    if prepared:
        html = _prepare(html, page.base)
    written = write_clean(html, page)
    if written is None:
        html = html if prepared else _prepare(html, page.base)
        for parser in _PARSERS:
            html = _run_nh3(html, parser)
            if "<math" in html:  # the parser may find formulas where none were seen before
                html = rewrite_formulas(html)
            if (written := write_clean(html, page)) is not None:
                break
    return _normalize_whitespace(_run_nh3(html, _TEXT_PARSER) if written is None else written)


def _run_nh3(html: str, parser: nh3.Cleaner) -> str:
    return parser.clean(html).replace("\r", "\n").replace("&nbsp;", "\xa0")


def _normalize_whitespace(html: str) -> str:
    if "/pre>" in html:  # Python finds this twice as fast as `<pre`
        html = _LINE_FEEDS_AFTER_PRE.sub(r"\1", html)
    if "<br>" in html:
        html = _without_outer_breaks(_BREAKS.sub("<br><br>", html))
    html = html.strip()
    if "<" not in html and "\n" in html:
        html = _paragraphs(html)
    return html


def _without_outer_breaks(html: str) -> str:
    while True:
        trimmed = html.strip().removeprefix("<br>").removesuffix("<br>")
        if trimmed == html:
            return html
        html = trimmed


def _paragraphs(text: str) -> str:
    """Plain text with blank lines becomes paragraphs."""
    parts = _BLANK_LINE.split(text)
    return text if len(parts) == 1 else "\n".join(f"<p>{part}</p>" for part in parts)
