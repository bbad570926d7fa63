"""From a body to a feed: sniff, decode, check, parse, and mend where it must be."""

import re
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.domain.records import record
from reedbed.ingest.parse.charset import as_utf8, decoded_anyhow, unpacked
from reedbed.ingest.parse.feed import read_feed
from reedbed.ingest.parse.jsonfeed import read_json_feed
from reedbed.ingest.parse.prolog import (
    HTML_ROOTS,
    OpenedDocument,
    Repaired,
    opened,
    repaired,
    with_windows_quotes,
)
from reedbed.ingest.parse.xml import MAX_ATTRIBUTES, MAX_DEPTH, MAX_TAGS, repaired_tree, strict_tree

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


_EMPTY = NotAFeed("The address answered with nothing.")
_BINARY = NotAFeed("The address answered with something that is not text.")
_PLAIN = NotAFeed("The address answered with plain text, not with a feed.")
_HTML = NotAFeed("The address answered with a web page, not with a feed.")
_OTHER_XML = NotAFeed("The address answered with XML, but it is not a feed.")
_BROKEN = NotAFeed("The address answered with XML that is too damaged to read.")


_MENDED_HERE = 1_000_000
"""Bytes. Mending goes through a text sign by sign, and whatever else this process does waits meanwhile."""


@record
class Doubt:
    """The best reading of a document that another parser may read better."""

    best: ParsedFeed | NotAFeed


@record
class Suspect:
    """A document that only a process that can be killed may parse."""

    reason: str


def read_body(
    body: bytes, *, content_type: str | None, url: str, trusted: bool = False
) -> ParsedFeed | NotAFeed | Doubt | Suspect:
    """`trusted` leaves out the look for documents made to hurt the parser."""
    body = unpacked(body)
    document = as_utf8(body, content_type).lstrip(b"\xef\xbb\xbf \t\r\n\x00")
    if not document:
        return _EMPTY
    if document[:1] in (b"{", b"["):
        return read_json_feed(document, url=url)
    found = opened(document)
    refusal = (found.refusal and NotAFeed(found.refusal)) or _refusal(found, document)
    if refusal:
        return refusal
    reason = None if trusted else suspicion(found.document)
    return Suspect(reason) if reason else _read_xml(found, url, trusted=trusted)


def _refusal(found: OpenedDocument, document: bytes) -> NotAFeed | None:
    if found.root in HTML_ROOTS:
        return _HTML
    if found.root:
        return None
    if b"<html" in document[:2000].lower():
        return _HTML
    return _BINARY if _is_binary(document[:2000]) else _PLAIN


def _is_binary(sample: bytes) -> bool:
    odd = sum(byte < 9 or 13 < byte < 27 for byte in sample)
    return odd * 20 > len(sample)


def _read_xml(found: OpenedDocument, url: str, *, trusted: bool) -> ParsedFeed | NotAFeed | Doubt | Suspect:
    root = strict_tree(with_windows_quotes(found.document))
    if root is None:
        if len(found.document) > _MENDED_HERE and not trusted:
            return Suspect("it is damaged and too large to mend here")
        return _read_damaged(found, url)
    return read_feed(root, url=url) or _OTHER_XML


def _read_damaged(found: OpenedDocument, url: str) -> ParsedFeed | NotAFeed | Doubt:
    mended = repaired(decoded_anyhow(found.document), found.root, found.entities)
    root = repaired_tree(with_windows_quotes(mended.document))
    if root is None:
        return Doubt(_BROKEN)
    feed = read_feed(root, url=url)
    if feed is None:
        return _OTHER_XML if not mended.entries else Doubt(_OTHER_XML)
    return _with_doubt(replace(feed, truncated=mended.truncated), mended)


def _with_doubt(feed: ParsedFeed, mended: Repaired) -> ParsedFeed | Doubt:
    """Fewer entries than the markup announces: unclosed tags have swallowed some."""
    return Doubt(feed) if len(feed.entries) < min(mended.entries, 500) else feed
