"""A look at the bytes before the XML parser sees them: cheap for honest feeds, exact for the rest."""

import re
from itertools import accumulate
from operator import itemgetter

from reedbed.ingest.parse.limits import MAX_ATTRIBUTES, MAX_DEPTH, MAX_TAGS

_SLASH = ord("/")
_NAME_START = re.compile(rb"[A-Za-z_:\x80-\xff]")
# How each first byte after a `<` changes the depth.
_STEPS = [-1 if byte == _SLASH else int(bool(_NAME_START.match(bytes([byte])))) for byte in range(256)]
_first_byte = itemgetter(0)
_TAG = re.compile(rb"[^\"'>]*(?:\"[^\"]*\"[^\"'>]*|'[^']*'[^\"'>]*)*")
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
    if any(_has_too_many_attributes(piece) for piece in pieces if len(piece) > _LONG_TAG):
        return "one of its elements carries too many attributes"
    # Elements that close themselves count as left open at first: that overstates the depth, and is cheap.
    if (
        _deepest(pieces) > MAX_DEPTH
        and _deepest([one for one in pieces if not _closes_itself(one)]) > MAX_DEPTH
    ):
        return "its elements are nested too deeply"
    return None


def _deepest(pieces: list[bytes]) -> int:
    return max(accumulate(map(_STEPS.__getitem__, map(_first_byte, filter(None, pieces)))), default=0)


def _closes_itself(piece: bytes) -> bool:
    end = piece.find(b">")
    return end > 0 and piece[end - 1] == _SLASH


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
