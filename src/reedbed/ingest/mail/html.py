"""A newsletter's markup before and after cleaning.

Before: layout tables become blocks, hidden teasers go, pictures inside the mail get an address that cleaning
lets pass. After, on clean markup, where patterns suffice: those addresses become ours, and links that count
clicks become the addresses they lead to.
"""

import re
from collections.abc import Mapping
from html import escape, unescape
from itertools import islice

from reedbed.domain.newsletters import MailLink
from reedbed.domain.urls import untracked
from reedbed.ingest.sanitize.cleaner import MAX_CHARS

_PLACEHOLDER = "https://inside-this-mail.invalid/"
_CID = re.compile(r"(\ssrc[ ]{0,3}=[ ]{0,3}[\"']?)cid:([^\"'\s<>]{1,500})", re.IGNORECASE)
_PLACED = re.compile(rf'"{re.escape(_PLACEHOLDER)}([0-9]{{1,3}})"')
_IMAGE_PLACED = re.compile(rf"<img [^>]*{re.escape(_PLACEHOLDER)}[^>]*>")
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
_ONLINE = re.compile(
    r"\b(?:(?:view|read|open|see)\b.{0,20}\b(?:online|browser|web|website|app)|web version|"
    r"(?:im|online|im web)[- ]?(?:browser)? (?:ansehen|lesen|öffnen|anzeigen)|"
    r"version en ligne|dans (?:le|votre) navigateur|en (?:el|tu) navegador|nel browser|"
    r"bekijk .{0,20}(?:online|browser))",
    re.IGNORECASE,
)


def prepared(html: str, cids: Mapping[str, int]) -> str:
    """`cids` numbers the pictures of the mail; a picture that is not in it goes with cleaning."""
    html = _HIDDEN.sub("", html[:MAX_CHARS])
    if not _HEADING_CELL.search(html):
        html = _LAYOUT.sub(r"<\1div", html)
    return _CID.sub(lambda found: _placed(found, cids), html)


def settled(clean_html: str, addresses: Mapping[int, str]) -> str:
    """The clean markup with our own addresses of its pictures, and links that lead to their target."""
    clean_html = _PLACED.sub(lambda found: _own(found, addresses), clean_html)
    if _PLACEHOLDER in clean_html:  # written by the sender and not in the mail
        clean_html = _IMAGE_PLACED.sub("", clean_html)
    return _HREF.sub(lambda found: f'{found[1]}{_straight(found[2])}"', clean_html)


def is_placed(address: str | None) -> bool:
    return bool(address) and str(address).startswith(_PLACEHOLDER)


def used(clean_html: str) -> set[int]:
    """The numbers of the pictures that the markup shows."""
    return {int(number) for number in _PLACED.findall(clean_html)}


def links_of(clean_html: str) -> list[MailLink]:
    found = islice(_LINK.finditer(clean_html), _MAX_LINKS)
    return [MailLink(unescape(each[1]), _words(each[2])) for each in found]


def online_version(links: list[MailLink]) -> str | None:
    """The page that shows this mail, where the mail links to one."""
    return next(
        (link.url for link in links if link.url[:4] == "http" and _ONLINE.search(link.text[:100])), None
    )


def from_plain(text: str) -> str:
    """Plain text as markup: paragraphs, line ends and links."""
    blocks = _BLANK_LINES.split(text[:MAX_CHARS].strip())
    return "\n".join(f"<p>{_lines(block)}</p>" for block in blocks if block.strip())


def _placed(found: re.Match[str], cids: Mapping[str, int]) -> str:
    number = cids.get(unescape(found[2]))
    return found[0] if number is None else f"{found[1]}{_PLACEHOLDER}{number}"


def _own(found: re.Match[str], addresses: Mapping[int, str]) -> str:
    address = addresses.get(int(found[1]))
    return found[0] if address is None else f'"{escape(address)}"'


def _straight(href: str) -> str:
    return escape(untracked(unescape(href)))


def _words(markup: str) -> str:
    said = unescape(_TAG.sub(" ", _ALT.sub(r" \1 ", markup)))
    return " ".join(said.split())[:300]


def _lines(block: str) -> str:
    return "<br>".join(_linked(line.strip()) for line in block.split("\n"))


def _linked(line: str) -> str:
    written: list[str] = []
    end = 0
    for found in _TYPED_LINK.finditer(line):
        url = _TRAILING.sub("", found[0])
        written += [escape(line[end : found.start()]), f'<a href="{escape(url)}">{escape(url)}</a>']
        end = found.start() + len(url)
    return "".join([*written, escape(line[end:])])
