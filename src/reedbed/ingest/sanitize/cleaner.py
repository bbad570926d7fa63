"""Hostile markup becomes reading: a small, stable subset of HTML without script, style or counting pixels.

One walk judges every tag and every attribute value (`writer`). Markup that is well-formed takes it as it is;
everything else first passes nh3, a real HTML parser that puts it in order and keeps only known elements.
Cleaning is stable: clean markup comes back unchanged, which means that a browser reads what was judged.
"""

import re
from collections import Counter

import nh3

from reedbed.ingest.sanitize.media import (
    LAZY_ATTRIBUTES,
    MAX_ATTRIBUTES,
    NAME_ENDS,
    embeds_to_links,
    find_tag_end,
    read_attributes,
    unwrap_noscript,
    write_tag,
)
from reedbed.ingest.sanitize.rules import DROPPED_WITH_CONTENT, ELEMENTS, Page
from reedbed.ingest.sanitize.serializer import write_clean

MAX_CHARS = 1_000_000
MAX_TAGS = 60_000
MAX_DEPTH = 96
MAX_FORMATTING = 8

# Under these a document cannot cost more than some milliseconds, whatever it says.
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
    if len(html) <= _HARMLESS_CHARS and html.count("<") <= _HARMLESS_TAGS:
        return html
    return _Walk().through(html[:MAX_CHARS])


class _Walk:
    def __init__(self) -> None:
        self.open: Counter[str] = Counter()
        self.depth = 0
        self.formatting = 0
        self.tags = 0

    def through(self, html: str) -> str:
        kept: list[str] = []
        end = 0
        while token := _TOKEN.search(html, end):
            kept.append(html[end : token.start()].replace("<", "&lt;"))
            end = token.end()
            if token["name"]:
                tag_end = find_tag_end(html, end)
                if tag_end == -1 or self.tags > MAX_TAGS:
                    return "".join(kept)
                name, attributes, end = token["name"].lower(), html[end:tag_end], tag_end + 1
                if token["close"]:
                    kept.append(self._closed(name))
                elif name in _RAW_TEXT_ENDS:
                    kept.append(f"<iframe{attributes}></iframe>" if name == "iframe" else "")
                    end = _past_raw_text(html, name, end)
                else:
                    kept.append(self._tag(name, attributes))
        kept.append(html[end:].replace("<", "&lt;"))
        return "".join(kept)

    def _tag(self, name: str, attributes: str) -> str:
        self.tags += 1
        if (
            len(attributes) > _LONG_ATTRIBUTES
            and attributes.count("=") + attributes.count(" ") > MAX_ATTRIBUTES
        ):
            tag = write_tag(name, read_attributes(attributes))
        else:
            tag = f"<{name}{attributes}>"
        return tag if name in _VOID or self._opened(name) else ""

    def _opened(self, name: str) -> bool:
        formatting = name in _FORMATTING
        if self.depth >= MAX_DEPTH or (formatting and self.formatting >= MAX_FORMATTING):
            return False
        self.depth += 1
        self.formatting += formatting
        self.open[name] += 1
        return True

    def _closed(self, name: str) -> str:
        self.tags += 1
        if not self.open[name]:
            # A stray </p> or </br> makes an element; no other stray end tag does anything.
            return ""
        self.depth -= 1
        self.formatting -= name in _FORMATTING
        self.open[name] -= 1
        return f"</{name}>"


def _past_raw_text(html: str, name: str, start: int) -> int:
    """Where the text after a raw text element begins: behind its end tag, or at the end of the document."""
    closing = _RAW_TEXT_ENDS[name].search(html, start)
    end = find_tag_end(html, closing.end()) if closing else -1
    return len(html) if end == -1 else end + 1


_ATTRIBUTES = {name: set(element.attributes) for name, element in ELEMENTS.items()}
_ATTRIBUTES["img"] |= LAZY_ATTRIBUTES | {"style"}
_ATTRIBUTES["source"] |= LAZY_ATTRIBUTES


def _parser(tags: set[str]) -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=tags,
        clean_content_tags=set(DROPPED_WITH_CONTENT),
        attributes={name: _ATTRIBUTES[name] for name in tags},
        link_rel=None,
        url_schemes={"http", "https", "mailto", "data"},
    )


# The walk takes spans without attributes away, which can leave a heading in a heading; then all of them go.
_PARSERS = (_parser(set(ELEMENTS)), *[_parser(set(ELEMENTS) - {"span"})] * 4)
_TEXT_PARSER = _parser(set())

_NOSCRIPT_OR_EMBED = re.compile(r"<(?:noscript|iframe|embed|object|amp-youtube)", re.IGNORECASE)
_LINE_FEEDS_AFTER_PRE = re.compile(r"(<pre(?: [^>]*)?>)\n+")
_BREAKS = re.compile(r"<br>\s*<br>\s*<br>\s*(?:<br>\s*)*")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")


def clean_html(html: str, base_url: str | None) -> str:
    """`base_url` is the page the markup stands on: relative addresses resolve against it."""
    html = _readable(html[:MAX_CHARS])
    if "<" not in html and "&" not in html:
        return _tidied(html.replace(">", "&gt;"))
    page = Page(base_url, keeps_anchors=_links_within(html, base_url))
    clean = _cleaned(html, page)
    if page.keeps_anchors and ' href="#' not in clean:
        clean = _cleaned(html, Page(base_url, keeps_anchors=False))
    return clean


def _readable(html: str) -> str:
    """Line ends, null characters and half characters as an HTML parser would treat them."""
    if "\r" in html:
        html = html.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in html:
        html = html.replace("\0", "")
    if not html.isascii():
        html = html.encode("utf-8", "replace").decode()
    return html


def _links_within(html: str, base: str | None) -> bool:
    return "#" in html and _links_to_places(html, base)


def _links_to_places(html: str, base: str | None) -> bool:
    return '="#' in html or "='#" in html or bool(base and f"{base}#" in html)


def _prepared(html: str, base: str | None) -> str:
    html = bounded(html)
    if _NOSCRIPT_OR_EMBED.search(html):
        html = embeds_to_links(unwrap_noscript(html), base)
    return html


def _cleaned(html: str, page: Page) -> str:
    written = write_clean(html, page)
    if written is None:
        html = _prepared(html, page.base)
        for parser in _PARSERS:
            html = _parsed(html, parser)
            if (written := write_clean(html, page)) is not None:
                break
    return _tidied(_parsed(html, _TEXT_PARSER) if written is None else written)


def _parsed(html: str, parser: nh3.Cleaner) -> str:
    return parser.clean(html).replace("\r", "\n").replace("&nbsp;", "\xa0")


def _tidied(html: str) -> str:
    if "<pre" in html:
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
    """Plain text keeps its blank lines."""
    parts = _BLANK_LINE.split(text)
    return text if len(parts) == 1 else "\n".join(f"<p>{part}</p>" for part in parts)
