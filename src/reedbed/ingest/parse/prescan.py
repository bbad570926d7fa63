"""A look at the bytes before the XML parser sees them: cheap for honest feeds, exact for the rest."""

import re

from reedbed.ingest.parse.limits import MAX_ATTRIBUTES, MAX_DEPTH, MAX_TAGS

_SLASH = ord("/")
_NAME_START = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:") | frozenset(
    range(128, 256)
)
_TAG = re.compile(rb"[^\"'>]*+(?:\"[^\"]*+\"[^\"'>]*+|'[^']*+'[^\"'>]*+)*+")
# A tag with more attributes than allowed is at least this long: `a=""` and a space for each.
_LONG_TAG = MAX_ATTRIBUTES * 5


def suspicion(document: bytes) -> str | None:
    """Why this document must not be parsed in this process; None if nothing speaks against it.

    The document is cut at every `<`, which no attribute value may hold, so a tag is always within one piece.
    A `/>` inside an attribute value can hide depth from this count; the parser's own limit then stops it.
    """
    pieces = _without_hidden(document).split(b"<", MAX_TAGS)
    if len(pieces) > MAX_TAGS:
        return "it holds too many elements"
    depth = 0
    for piece in pieces:
        first = piece[0] if piece else 0
        if first == _SLASH:
            depth -= 1
        elif first in _NAME_START:
            if len(piece) > _LONG_TAG and _has_too_many_attributes(piece):
                return "one of its elements carries too many attributes"
            end = piece.find(b">")
            if end < 1 or piece[end - 1] != _SLASH:
                depth += 1
                if depth > MAX_DEPTH:
                    return "its elements are nested too deeply"
    return None


def _without_hidden(document: bytes) -> bytes:
    """The document without comments and CDATA sections, whose tags are only text."""
    seen: list[bytes] = []
    position = bang = 0
    # One character is found at the speed of memory, two are not; so the `<` before it is looked at by hand.
    while (bang := document.find(b"!", bang)) != -1:
        mark = _end_mark(document, bang - 1)
        if mark is None:
            bang += 1
            continue
        seen.append(document[position : bang - 1])
        end = document.find(mark, bang)
        if end == -1:
            return b"".join(seen)
        position = bang = end + len(mark)
    seen.append(document[position:])
    return b"".join(seen)


def _end_mark(document: bytes, start: int) -> bytes | None:
    if document.startswith(b"<![CDATA[", start):
        return b"]]>"
    return b"-->" if document.startswith(b"<!--", start) else None


def _has_too_many_attributes(piece: bytes) -> bool:
    """The tag alone is looked at, not the text behind it; a `>` within quotes does not end it."""
    tag = _TAG.match(piece)
    return tag is not None and tag.end() > _LONG_TAG and tag[0].count(b"=") > MAX_ATTRIBUTES
