"""Hostile markup becomes reading: a small, stable subset of HTML without script, style or counting pixels.

One walk judges every tag and every attribute value (`writer`). Markup that is well-formed takes it as it is;
everything else first passes nh3, a real HTML parser that puts it in order and keeps only known elements.
Cleaning is stable: clean markup comes back unchanged, which means that a browser reads what was judged.
"""

import re

import nh3

from reedbed.ingest.clean.attributes import Page
from reedbed.ingest.clean.bounds import MAX_CHARS, bounded
from reedbed.ingest.clean.elements import DROPPED_WITH_CONTENT, ELEMENTS
from reedbed.ingest.clean.embeds import embeds_to_links
from reedbed.ingest.clean.images import LAZY_ATTRIBUTES, unwrap_noscript
from reedbed.ingest.clean.writer import write_clean

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
