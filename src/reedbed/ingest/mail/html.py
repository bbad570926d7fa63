"""Prepare a newsletter's HTML before cleaning, and finish it after.

Before: layout tables become blocks, hidden preview texts are removed, and images attached to the mail get a
placeholder URL that passes cleaning. After, on clean markup, where regular expressions suffice: placeholders
become our own URLs, and tracking links become their targets.
"""

import re
from collections.abc import Mapping
from html import escape, unescape
from itertools import islice

from reedbed.domain.newsletters import ConfirmationLink
from reedbed.domain.urls import without_tracking
from reedbed.ingest.sanitize.cleaner import MAX_CHARS

_PLACEHOLDER = "https://inside-this-mail.invalid/"
_CID = re.compile(r"(\ssrc[ ]{0,3}=[ ]{0,3}[\"']?)cid:([^\"'\s<>]{1,500})", re.IGNORECASE)
_PLACEHOLDER_URL = re.compile(rf'"{re.escape(_PLACEHOLDER)}([0-9]{{1,3}})"')
_PLACEHOLDER_IMAGE = re.compile(rf"<img [^>]*{re.escape(_PLACEHOLDER)}[^>]*>")
_LAYOUT = re.compile(r"<(/?)(?:table|tbody|thead|tfoot|tr|td|center)(?=[\s/>])", re.IGNORECASE)
_HEADING_CELL = re.compile(r"<th[\s>]", re.IGNORECASE)
_HIDDEN = re.compile(
    r"<(div|span|p|td|font)\b[^<>]*(?:display\s{0,3}:\s{0,3}none|max-height\s{0,3}:\s{0,3}0|mso-hide\s{0,3}:\s{0,3}all)"
    r"[^<>]*>[^<]*</\1\s{0,3}>",
    re.IGNORECASE,
)
_LINK = re.compile(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
_HREF = re.compile(r'(<a [^>]*?href=")(https?:[^"]*)"')
_TAG = re.compile(r"<[^>]*>")
_ALT = re.compile(r'<img [^>]*?alt="([^"]*)"[^>]*>')
_TYPED_LINK = re.compile(r"https?://[^\s<>\"']{3,2000}")
_TRAILING = re.compile(r"[.,;:!?)\]}]+\Z")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_MAX_LINKS = 400
_ONLINE_VERSION = re.compile(
    r"\b(?:(?:view|read|open|see)\b.{0,20}\b(?:online|browser|web|website|app)|web version|"
    r"(?:im|online|im web)[- ]?(?:browser)? (?:ansehen|lesen|öffnen|anzeigen)|"
    r"version en ligne|dans (?:le|votre) navigateur|en (?:el|tu) navegador|nel browser|"
    r"bekijk .{0,20}(?:online|browser))",
    re.IGNORECASE,
)


def prepared(html: str, cids: Mapping[str, int]) -> str:
    """`cids` numbers the images of the mail; cleaning removes images that are not in it."""
    html = _HIDDEN.sub("", html[:MAX_CHARS])
    if not _HEADING_CELL.search(html):
        html = _LAYOUT.sub(r"<\1div", html)
    return _CID.sub(lambda match: _cid_to_placeholder(match, cids), html)


def settled(clean_html: str, urls: Mapping[int, str]) -> str:
    """Clean markup with our own URLs for its images, and with links to their real targets."""
    clean_html = _PLACEHOLDER_URL.sub(lambda match: _placeholder_to_url(match, urls), clean_html)
    if _PLACEHOLDER in clean_html:  # written by the sender; not an image of this mail
        clean_html = _PLACEHOLDER_IMAGE.sub("", clean_html)
    return _HREF.sub(lambda match: f'{match[1]}{escape(without_tracking(unescape(match[2])))}"', clean_html)


def is_placeholder_url(url: str | None) -> bool:
    return bool(url) and str(url).startswith(_PLACEHOLDER)


def used(clean_html: str) -> set[int]:
    """The numbers of the images that appear in the markup."""
    return {int(number) for number in _PLACEHOLDER_URL.findall(clean_html)}


def links_of(clean_html: str) -> list[ConfirmationLink]:
    links = islice(_LINK.finditer(clean_html), _MAX_LINKS)
    return [ConfirmationLink(unescape(link[1]), _link_text(link[2])) for link in links]


def online_version(links: list[ConfirmationLink]) -> str | None:
    """The URL of the web page that shows this mail, if the mail links to one."""
    return next(
        (link.url for link in links if link.url[:4] == "http" and _ONLINE_VERSION.search(link.text[:100])), None
    )


def plain_text_to_html(text: str) -> str:
    """Convert plain text to markup with paragraphs, line breaks and links."""
    blocks = _BLANK_LINES.split(text[:MAX_CHARS].strip())
    return "\n".join(f"<p>{_block_html(block)}</p>" for block in blocks if block.strip())


def _cid_to_placeholder(match: re.Match[str], cids: Mapping[str, int]) -> str:
    number = cids.get(unescape(match[2]))
    return match[0] if number is None else f"{match[1]}{_PLACEHOLDER}{number}"


def _placeholder_to_url(match: re.Match[str], urls: Mapping[int, str]) -> str:
    url = urls.get(int(match[1]))
    return match[0] if url is None else f'"{escape(url)}"'


def _link_text(markup: str) -> str:
    text = unescape(_TAG.sub(" ", _ALT.sub(r" \1 ", markup)))
    return " ".join(text.split())[:300]


def _block_html(block: str) -> str:
    return "<br>".join(_line_html(line.strip()) for line in block.split("\n"))


def _line_html(line: str) -> str:
    parts: list[str] = []
    end = 0
    for match in _TYPED_LINK.finditer(line):
        url = _TRAILING.sub("", match[0])
        parts += [escape(line[end : match.start()]), f'<a href="{escape(url)}">{escape(url)}</a>']
        end = match.start() + len(url)
    return "".join([*parts, escape(line[end:])])
