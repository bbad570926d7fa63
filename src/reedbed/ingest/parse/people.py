"""Authors, as the many ways of naming one."""

import re
from collections.abc import Iterable

from reedbed.domain.feeds import Author
from reedbed.ingest.parse.context import Context
from reedbed.ingest.parse.limits import MAX_LIST, MAX_NAME
from reedbed.ingest.parse.text import one_line, text_of, text_of_html
from reedbed.ingest.parse.tree import Element

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


def person(element: Element, context: Context) -> Author | None:
    """An Atom person with parts, or one line of text such as `mark@example.com (Mark)`."""
    if not len(element):
        return person_from_text(element.text or "")
    parts: dict[str, str] = {}
    for part in element:
        parts.setdefault(context.names.of(part).rpartition(":")[2], text_of(part))
    name = one_line(parts.get("name", ""))
    email = parts.get("email") or None
    url = context.address(parts.get("uri") or parts.get("url") or parts.get("homepage"), element)
    if not parts:
        return person_from_text(text_of(element))
    return _author(name or email or "", url, email)


def person_from_text(text: str) -> Author | None:
    text = text_of_html(text)[: MAX_NAME * 2]
    found = _EMAIL.search(text) if "@" in text else None
    if not found:
        return Author(text[:MAX_NAME]) if text else None
    rest = (text[: found.start()] + text[found.end() :]).replace("mailto:", "")
    name = rest.replace("()", "").replace("<>", "").strip(" \t()<>,;")
    return _author(name or found[0], None, found[0])


def distinct(authors: Iterable[Author]) -> tuple[Author, ...]:
    """Each name once, the fullest account of it."""
    by_name: dict[str, Author] = {}
    for author in authors:
        known = by_name.get(author.name)
        if known is None or (known.url is None and known.email is None):
            by_name[author.name] = author
    return tuple(by_name.values())[:MAX_LIST]


def _author(name: str, url: str | None, email: str | None) -> Author | None:
    name = name[:MAX_NAME]
    return Author(name, url, email) if name else None
