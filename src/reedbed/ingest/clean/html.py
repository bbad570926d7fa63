"""Hostile markup becomes reading: a small, stable subset of HTML without script, style or counting pixels.

Well-formed markup is read and written anew in one walk (`writer`). Everything else first passes nh3, a
real HTML parser that puts it in order and keeps only known elements; its output then takes the same walk, so
every attribute value has one judge. Cleaning is stable: clean markup comes back unchanged, which means that a
browser reads what was judged.
"""

import re
from html import escape

import nh3

from reedbed.ingest.clean.attributes import Page
from reedbed.ingest.clean.bounds import MAX_CHARS, bounded
from reedbed.ingest.clean.elements import DROPPED_WITH_CONTENT, ELEMENTS, READ_AS_BLOCK
from reedbed.ingest.clean.embeds import embeds_to_links
from reedbed.ingest.clean.images import LAZY_ATTRIBUTES, unwrap_noscript
from reedbed.ingest.clean.writer import write_clean

_TAGS = {name for name, element in ELEMENTS.items() if element.name == name}
_parser = nh3.Cleaner(
    tags=_TAGS,
    clean_content_tags=set(DROPPED_WITH_CONTENT),
    attributes={name: set(ELEMENTS[name].attributes) for name in _TAGS}
    | {"img": ELEMENTS["img"].attributes | LAZY_ATTRIBUTES | {"style"}}
    | {"source": ELEMENTS["source"].attributes | LAZY_ATTRIBUTES},
    link_rel=None,
    url_schemes={"http", "https", "mailto", "data"},
)

_EMBED = re.compile(r"<(?:iframe|embed|object|amp-youtube)", re.IGNORECASE)
_PAGE_PART = re.compile(rf"<(/?)(?:{'|'.join(READ_AS_BLOCK)})(?=[ \t\n\f/>])", re.IGNORECASE)
_MAX_ROUNDS = 5
_PRE_OR_BREAK = re.compile("<(?:pre|br)")
_LINE_FEEDS_AFTER_PRE = re.compile(r"(<pre(?: [^>]*)?>)\n+")
_BREAKS = re.compile(r"(?:<br>\s*){3,}")
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


def _cleaned(html: str, page: Page) -> str:
    written = write_clean(html, page)
    if written is None:
        html = _prepared(html, page.base)
    for _ in range(_MAX_ROUNDS):
        if written is not None:
            return _tidied(written)
        html = _parser.clean(html).replace("\r", "\n")
        written = write_clean(html, page)
    return _tidied(escape(nh3.clean_text(html)))


def _prepared(html: str, base: str | None) -> str:
    html = bounded(html)
    if "<noscript" in html or "<NOSCRIPT" in html:
        html = unwrap_noscript(html)
    if _EMBED.search(html):
        html = embeds_to_links(html, base)
    return _PAGE_PART.sub(r"<\1div", html)


def _tidied(html: str) -> str:
    if _PRE_OR_BREAK.search(html):
        html = _LINE_FEEDS_AFTER_PRE.sub(r"\1", html)
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
