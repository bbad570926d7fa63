"""The key under which what a model wrote about a text is kept: equal texts cost nothing twice.

Advertising and boilerplate are left out first, so that the same article with another banner is the same text.
Case is kept, so that different texts do not fall together.
"""

import hashlib
import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from reedbed.ingest.clean.bounds import bounded

SAFE_AD_SELECTORS = (
    ".ad", ".ads", ".advertisement", ".advertising",
    ".sponsored", ".promo", ".promotion",
    ".social-share", ".share-buttons",
    ".newsletter-signup", ".subscribe-box",
)  # fmt: skip
AGGRESSIVE_AD_SELECTORS = (
    '[class*="ad-"]', '[class*="ads-"]',
    '[id*="ad-"]', '[id*="ads-"]',
    ".related-posts", ".recommended",
)  # fmt: skip
POOR_TEXT = 400
WHOLE_BYTES = 200 * 1024
EDGE_BYTES = 100 * 1024

_BLOCKS = (
    "p,div,h1,h2,h3,h4,h5,h6,li,ul,ol,dl,dt,dd,blockquote,pre,figure,figcaption,table,tr,td,th,section,article,"
    "header,footer,aside,nav,main,hr,br"
)
_HIDDEN = "script,style,template,noscript,svg,math,head"
_SPACES = re.compile(r"[^\S\n]+")
_DATED_LINE = re.compile(r"\d{4}-\d{2}-\d{2}.*\Z")
_BOILERPLATE = frozenset(
    (
        "read more", "read more...", "continue reading", "continues after ad",
        "continues after advertisement",
        "continues after the ad", "advertisement", "advertising", "sponsored", "share", "share this",
        "share this article",
        "tweet", "subscribe", "sign up", "newsletter", "related", "related articles", "leia mais",
        "continua após a publicidade",
        "publicidade", "weiterlesen", "anzeige", "lire la suite", "publicité", "leer más", "publicidad",
    )
)  # fmt: skip


def content_hash(html: str) -> str:
    """SHA-256 in hex of the normalised text of an article's own markup (never of a whole page)."""
    data = normalised_text(html).encode("utf-8", "replace")
    if len(data) > WHOLE_BYTES:
        data = data[:EDGE_BYTES] + data[-EDGE_BYTES:]
    return hashlib.sha256(data).hexdigest()


def normalised_text(html: str) -> str:
    thorough = _text_without(html, (*SAFE_AD_SELECTORS, *AGGRESSIVE_AD_SELECTORS))
    if len(thorough) >= POOR_TEXT:
        return thorough
    careful = _text_without(html, SAFE_AD_SELECTORS)
    return max(thorough, careful, key=len)


def _text_without(html: str, selectors: tuple[str, ...]) -> str:
    return _without_boilerplate(_text(html, selectors))


def _text(html: str, selectors: tuple[str, ...]) -> str:
    if "<" not in html and "&" not in html:
        return html
    tree = LexborHTMLParser(bounded(html))
    _remove(tree, ",".join((_HIDDEN, *selectors)))
    body = tree.body
    if body is None:
        return ""
    for block in body.css(_BLOCKS):
        block.insert_before("\n")
        block.insert_after("\n")
    return body.text()


def _remove(tree: LexborHTMLParser, selector: str) -> None:
    doomed: list[LexborNode] = tree.css(selector)
    for node in doomed:
        node.decompose()


def _without_boilerplate(text: str) -> str:
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return " ".join(line for line in lines if line and not _is_boilerplate(line))


def _is_boilerplate(line: str) -> bool:
    return _DATED_LINE.match(line) is not None or line.rstrip(" .…:»>→").lower() in _BOILERPLATE
