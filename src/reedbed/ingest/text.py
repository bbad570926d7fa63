"""Plain text, previews, lead images and content hashes of entries.

`content_hash` is the key under which model output about a text is cached, so that equal texts are processed
only once. It ignores advertising and boilerplate, so that the same article with another banner has the same
key.
"""

import hashlib
import re
from html import unescape
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from reedbed.domain.images import title_text
from reedbed.ingest.sanitize.cleaner import bounded
from reedbed.ingest.sanitize.rules import FORMULA_ELEMENTS, absolute_web_url

# --- Text and previews

PREVIEW_LENGTH = 300
_PREVIEWED_MARKUP = 1_000
"""Characters of markup that usually hold the text of a preview."""

_INLINE = (
    "a", "abbr", "audio", "b", "bdi", "bdo", "cite", "code", "del", "dfn", "em", "i", "img", "ins", "kbd",
    "mark",
    "picture", "q", "rp", "rt", "ruby", "s", "samp", "small", "source", "span", "strong", "sub", "sup",
    "time", "u",
    "var", "video", "wbr",
)  # fmt: skip
_BLOCKS = (
    "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6",
    "hr", "li", "ol", "p", "pre", "table", "td", "th", "tr", "ul",
)  # fmt: skip
# The numbers of a fraction are no number together.
_GAPS = ((_INLINE, ""), (_BLOCKS, "\n"), (FORMULA_ELEMENTS, " "))
# Replacement for each tag. Only common blocks are listed; unknown tags also become a line break.
_TAG_REPLACEMENTS = {f"{slash}{name}": gap for names, gap in _GAPS for name in names for slash in ("", "/")}
_IMAGE = re.compile(r"<img([^>]*)>")
_SOURCE = re.compile(r' (?:data-http-)?src="(https?:[^"]*)"')
_SMALL_SIDE = re.compile(r' (?:width|height)="[0-9]{1,2}"')
_DECORATION = re.compile(r"gravatar\.com/|/emoji/|/smilies/|s\.w\.org/images/core|/avatars?/|feedburner")
_CAPTION = re.compile(r"<figcaption[ >][^<]*(?:<(?!/figcaption>)[^<]*)*</figcaption>")
# A linked or bracketed number. A bare one may be an exponent.
_FOOTNOTE_MARK = re.compile(
    r"<sup[^<>]*>\s*(?:<a[^<>]*>\s*\[?\w{1,3}\]?\s*</a>|\[(?:<a[^<>]*>)?\w{1,3}(?:</a>)?\])\s*</sup>"
    r"|<a[^<>]*>\s*<sup[^<>]*>\s*\[?\w{1,3}\]?\s*</sup>\s*</a>"
)
# Of any markup, each character is read once.
_FORMULA = re.compile(r"<math(?: [^>]*)?>([^<]*(?:<(?!/?math[ >])[^<]*)*)</math>")
_FORMULA_TAG = re.compile(r"<[^>]*>")
# The link that stands for a player, see sanitize/media.py.
_PLAYER = re.compile(r"▶ [^<]{1,80}</a>")
# Of every element, clean markup has both tags; Python finds some of these strings much faster than others.
_END_OF_PRE = "/pre>"
_PREFORMATTED = re.compile(r"(<pre[ >].*?</pre>)", re.DOTALL)
# Clean markup escapes no other characters.
_ESCAPED_CHARS = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ESCAPED_CHAR = re.compile("&(?:lt|gt|amp);")
# Scripts without spaces between words: one character counts as a word.
_SPACELESS_SCRIPTS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+")
# All white space between words other than a single space: quick to search for, and rare.
_IRREGULAR_ASCII_SPACE = ("  ", *"\t\v\f\r\x1c\x1d\x1e\x1f")
_IRREGULAR_SPACE = (
    *_IRREGULAR_ASCII_SPACE,
    *"\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000",
    *map(chr, range(0x2000, 0x200B)),
)
# The last is a copy of a formula, for browsers without MathML.
_HIDDEN_ELEMENTS = (
    "script,style,template,noscript,svg,annotation,annotation-xml,head,title,textarea,iframe,object,.katex-html"
)


class ContentDigest(NamedTuple):
    text: str
    """One line per block."""
    preview: str
    image: str | None
    words: int


def digest_content(clean_html: str) -> ContentDigest:
    lines = _lines(clean_html)
    text = "\n".join(lines)
    first = _first_words(clean_html, text)
    # Spaces are already collapsed, so the preview needs no more than its own length.
    preview = _cut_line(first[: PREVIEW_LENGTH + 1].replace("\n", " "), PREVIEW_LENGTH)
    words = text.count(" ") + len(lines) + _words_without_spaces(text)
    return ContentDigest(text, preview, lead_image(clean_html), words)


def _first_words(clean_html: str, text: str) -> str:
    """What a row shows: without captions, marks of footnotes and players; of a lone picture, its caption or title."""
    if any(map(clean_html.__contains__, ("</figcaption>", "sup>", "▶ "))):
        prose = _prose_markup(_PLAYER.sub("</a>", clean_html))
        return _first_text(prose) or text
    if not text and (image := _IMAGE.search(clean_html)) and (title := title_text(image[0])):
        return clean_text(title)
    return text


def clean_text(clean_html: str) -> str:
    """The text of clean markup, one line per block."""
    return "\n".join(_lines(clean_html))


def prose_text(clean_html: str) -> str:
    """The text of clean markup without captions and the marks of footnotes, for whoever quotes its sentences."""
    return clean_text(_prose_markup(clean_html))


def _prose_markup(clean_html: str) -> str:
    html = clean_html
    if "<figcaption" in html:
        html = _CAPTION.sub("", html)
    if "<sup" in html:
        html = _FOOTNOTE_MARK.sub("", html)
    return html


def _first_text(clean_html: str) -> str:
    """The text, of long markup only as much of its beginning as a preview needs."""
    end = clean_html.rfind("<", 0, _PREVIEWED_MARKUP)
    if len(clean_html) > _PREVIEWED_MARKUP and end > 0 and _END_OF_PRE not in clean_html:
        text = clean_text(clean_html[:end])
        if len(text) > PREVIEW_LENGTH:
            return text
    return clean_text(clean_html)


_UNSPOKEN = re.compile(r"<(?:pre|table|del|s|rt|rp)[ >]")
_HEADING = re.compile(r"<h[1-6](?: [^>]*)?>(.*?)</h[1-6]>", re.DOTALL)
_BREAK, _BROKEN = re.compile(r"<br(?: [^>]*)?>"), "\ue000"
WRAPPED = 50
"""A line of so many characters before a `<br>` was broken because it was full."""


def spoken_sections(clean_html: str) -> list[tuple[str, str]]:
    """Headings, each with the prose below it, of what can be read aloud; the first heading is empty.

    Without code, tables, captions, what is struck out and how ruby is pronounced. Short code inside a sentence stays.
    """
    html = _without_unspoken(clean_html) if _UNSPOKEN.search(clean_html) else clean_html
    beginning, *rest = _HEADING.split(_BREAK.sub(_BROKEN, html.replace(_BROKEN, "")))
    sections = zip(rest[::2], rest[1::2], strict=True)
    return [
        ("", _unwrapped(beginning)),
        *((" ".join(_unwrapped(name).split()), _unwrapped(text)) for name, text in sections),
    ]


def _unwrapped(html: str) -> str:
    first, *rest = prose_text(html).split(_BROKEN)
    parts = [first]
    for piece in rest:
        line = parts[-1].rpartition("\n")[2]
        parts.append(f"{' ' if len(line.strip()) >= WRAPPED else chr(10)}{piece.strip()}")
    return "".join(parts)


def _without_unspoken(clean_html: str) -> str:
    tree = LexborHTMLParser(bounded(clean_html))
    _remove(tree, "pre,table,del,s,rt,rp")
    return (tree.body.inner_html if tree.body else None) or ""


def _lines(clean_html: str) -> list[str]:
    """Non-empty lines with single spaces between words."""
    text = _without_tags(clean_html) if "<" in clean_html else clean_html
    if "&" in text:
        text = _ESCAPED_CHAR.sub(lambda match: _ESCAPED_CHARS[match[0]], text)
    lines = text.split("\n")
    if any(map(text.__contains__, _IRREGULAR_ASCII_SPACE if text.isascii() else _IRREGULAR_SPACE)):
        return [collapsed for line in lines if (collapsed := " ".join(line.split()))]
    return [stripped for line in lines if (stripped := line.strip())]


def _without_tags(clean_html: str) -> str:
    if "<math" in clean_html:
        clean_html = _FORMULA.sub(_formula_text, clean_html)
    replacements = _TAG_REPLACEMENTS
    first, *chunks = (_join_source_lines(clean_html) if "\n" in clean_html else clean_html).split("<")
    parts = [first]
    for chunk in chunks:
        tag, _, text = chunk.partition(">")
        replacement = replacements.get(tag)
        if replacement is None:
            replacement = replacements.get(tag.partition(" ")[0], "\n")
        parts.append(replacement + text)
    return "".join(parts)


def _formula_text(formula: re.Match[str]) -> str:
    """Spaces between its parts alone, as a comma or a bracket often stands right beside a formula."""
    text = " ".join(_FORMULA_TAG.sub(" ", formula[1]).split())
    return f" {text} " if formula[0].startswith('<math display="block"') else text


def _join_source_lines(clean_html: str) -> str:
    """A line end in the source is a line end in the text only inside <pre>."""
    if _END_OF_PRE not in clean_html:
        return clean_html.replace("\n", " ")
    parts = _PREFORMATTED.split(clean_html)
    parts[::2] = [part.replace("\n", " ") for part in parts[::2]]
    return "".join(parts)


def plain_text(html: str) -> str:
    """The text of any markup, however hostile, as one line."""
    if "<" not in html:
        return " ".join(unescape(html).split())
    tree = LexborHTMLParser(bounded(html))
    for node in tree.css(_HIDDEN_ELEMENTS):
        node.decompose()
    body = tree.body
    return " ".join(body.text(separator=" ").split()) if body else ""


def preview(html_or_text: str, limit: int = PREVIEW_LENGTH) -> str:
    return cut(plain_text(html_or_text), limit)


def cut(text: str, limit: int) -> str:
    """At most `limit` characters on one line, ending with a whole word and an ellipsis."""
    # Collapsing spaces only shortens the text, so a few times the limit is enough.
    return _cut_line(" ".join(text[: 4 * limit].split()), limit)


def _cut_line(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    if line[limit - 1] != " " and (space := head.rfind(" ")) > limit // 2:
        head = head[:space]
    return f"{head.rstrip(' ,;:.–—-')}…"


def lead_image(clean_html: str, base: str | None = None) -> str | None:
    """The first image worth showing beside a title."""
    for image in _IMAGE.finditer(clean_html):
        attributes = image[1]
        source = _SOURCE.search(attributes)
        if source is None or _DECORATION.search(source[1].lower()) or _SMALL_SIDE.search(attributes):
            continue
        return absolute_web_url(unescape(source[1]), base)
    return None


def _words_without_spaces(text: str) -> int:
    """Number of words that counting spaces misses."""
    try:
        text.encode("latin-1")  # much faster than the regular expression, and enough for most texts
    except UnicodeEncodeError as error:
        return sum(len(run) - 1 for run in _SPACELESS_SCRIPTS.findall(text, error.start))
    return 0


# --- Content hash

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
MIN_HASHED_TEXT = 400
WHOLE_BYTES = 200 * 1024
EDGE_BYTES = 100 * 1024

_HASHED_BLOCKS = (
    "p,div,h1,h2,h3,h4,h5,h6,li,ul,ol,dl,dt,dd,blockquote,pre,figure,figcaption,table,tr,td,th,section,article,"
    "header,footer,aside,nav,main,hr,br"
)
_UNHASHED = "script,style,template,noscript,svg,math,head"
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
    """SHA-256 in hex of the normalized text of an article's own markup (never of a whole page)."""
    data = normalized_text(html).encode("utf-8", "replace")
    if len(data) > WHOLE_BYTES:
        data = data[:EDGE_BYTES] + data[-EDGE_BYTES:]
    return hashlib.sha256(data).hexdigest()


def normalized_text(html: str) -> str:
    """Text without advertising and boilerplate. Case is kept, so that different texts do not get the same
    hash.
    """
    aggressive = _text_without(html, (*SAFE_AD_SELECTORS, *AGGRESSIVE_AD_SELECTORS))
    if len(aggressive) >= MIN_HASHED_TEXT:
        return aggressive
    safe = _text_without(html, SAFE_AD_SELECTORS)
    return max(aggressive, safe, key=len)


def _text_without(html: str, selectors: tuple[str, ...]) -> str:
    return _without_boilerplate(_text(html, selectors))


def _text(html: str, selectors: tuple[str, ...]) -> str:
    if "<" not in html and "&" not in html:
        return html
    tree = LexborHTMLParser(bounded(html))
    _remove(tree, ",".join((_UNHASHED, *selectors)))
    body = tree.body
    if body is None:
        return ""
    for block in body.css(_HASHED_BLOCKS):
        block.insert_before("\n")
        block.insert_after("\n")
    return body.text()


def _remove(tree: LexborHTMLParser, selector: str) -> None:
    nodes: list[LexborNode] = tree.css(selector)
    for node in nodes:
        node.decompose()


def _without_boilerplate(text: str) -> str:
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return " ".join(line for line in lines if line and not _is_boilerplate(line))


def _is_boilerplate(line: str) -> bool:
    return _DATED_LINE.match(line) is not None or line.rstrip(" .…:»>→").lower() in _BOILERPLATE
