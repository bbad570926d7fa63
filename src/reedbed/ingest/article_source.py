"""A page as text: decoded and bounded."""

import re
from urllib.parse import urljoin

from lxml import html

from reedbed.ingest.clean.markup import MAX_ATTRIBUTES, find_tag_end, read_attributes

_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_\-]{2,40})""", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_TAG_NAME = re.compile(r"<[a-zA-Z][^ \t\n\f\r/>]*")
_MONSTER = 4_000
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def page_source(page: str | bytes, limit: int) -> str | None:
    """None when it is longer than `limit`."""
    if len(page) > limit:
        return None
    text = page if isinstance(page, str) else _decoded(page)
    # lxml refuses text that declares an encoding, and characters XML does not know.
    return _without_monsters(_NOT_IN_XML.sub("", _XML_DECLARATION.sub("", text, count=1)))


def _without_monsters(source: str) -> str:
    """Tags with thousands of attributes cost a parser the square of their number."""
    monsters: list[tuple[int, int]] = []
    end = 0
    while name := _TAG_NAME.search(source, end):
        end = find_tag_end(source, name.end()) + 1
        if end == 0:
            break
        if (
            end - name.start() > _MONSTER
            and len(read_attributes(source[name.end() : end - 1])) == MAX_ATTRIBUTES
        ):
            monsters.append((name.start(), end))
    for start, end in reversed(monsters):
        source = source[:start] + source[end:]
    return source


def _decoded(page: bytes) -> str:
    for encoding in ("utf-8-sig", _declared(page)):
        try:
            return page.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return page.decode("windows-1252", "replace")


def _declared(page: bytes) -> str:
    found = _CHARSET.search(page[:4_096])
    return found[1].decode("ascii").lower() if found else "utf-8"


def base_of(tree: html.HtmlElement, url: str) -> str:
    for element in tree.iter("base"):
        href = element.get("href")
        if href:
            try:
                return urljoin(url, href)
            except ValueError:
                break
    return url
