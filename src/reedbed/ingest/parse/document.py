"""Parse a response body to a feed: detect the format, decode, check for attacks, parse, repair."""

import re
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter

from reedbed.domain.failures import Failure, FailureCode
from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.domain.records import record
from reedbed.ingest.parse.charset import as_utf8, decode_leniently, unpacked
from reedbed.ingest.parse.feed import read_feed
from reedbed.ingest.parse.jsonfeed import read_json_feed
from reedbed.ingest.parse.prolog import (
    HTML_ROOTS,
    OpenedDocument,
    RepairedDocument,
    opened,
    repaired,
    with_windows_quotes,
)
from reedbed.ingest.parse.xml import MAX_ATTRIBUTES, MAX_DEPTH, MAX_TAGS, repaired_tree, strict_tree

# --- Check for attacks

_SLASH = ord("/")
_NAME_START = re.compile(rb"[A-Za-z_:\x80-\xff]")
# How the first byte after a `<` changes the depth.
_STEPS = [-1 if byte == _SLASH else int(bool(_NAME_START.match(bytes([byte])))) for byte in range(256)]
_first_byte = itemgetter(0)
_TAG = re.compile(rb"[^\"'>]*(?:\"[^\"]*\"[^\"'>]*|'[^']*'[^\"'>]*)*")
# A tag with more attributes than allowed is at least this long: `a=""` and a space for each.
_LONG_TAG = MAX_ATTRIBUTES * 5


def unsafe_reason(document: bytes) -> Failure | None:
    """Why this document must not be parsed in this process; None if it is safe.

    The document is split at every `<`, which no attribute value may contain, so each tag is within one chunk.
    A `/>` inside an attribute value can hide depth from this count; the parser's own limit then stops it.
    """
    chunks = _without_comments_and_cdata(document).split(b"<", MAX_TAGS)
    if len(chunks) > MAX_TAGS:
        return Failure(FailureCode.DOCUMENT_TOO_MANY_ELEMENTS)
    if any(_has_too_many_attributes(chunk) for chunk in chunks if len(chunk) > _LONG_TAG):
        return Failure(FailureCode.DOCUMENT_TOO_MANY_ATTRIBUTES)
    # First count self-closing elements as open: that overestimates the depth, but is cheap.
    if (
        _max_depth(chunks) > MAX_DEPTH
        and _max_depth([chunk for chunk in chunks if not _closes_itself(chunk)]) > MAX_DEPTH
    ):
        return Failure(FailureCode.DOCUMENT_TOO_DEEP)
    return None


def _max_depth(chunks: list[bytes]) -> int:
    return max(accumulate(map(_STEPS.__getitem__, map(_first_byte, filter(None, chunks)))), default=0)


def _closes_itself(chunk: bytes) -> bool:
    end = chunk.find(b">")
    return end > 0 and chunk[end - 1] == _SLASH


def _without_comments_and_cdata(document: bytes) -> bytes:
    """The document without comments and CDATA sections: tags in them are only text."""
    parts: list[bytes] = []
    position = bang = 0
    # Searching for one character is much faster than for two, so the `<` before it is checked separately.
    while (bang := document.find(b"!", bang)) != -1:
        terminator = _terminator(document, bang - 1)
        if terminator is None:
            bang += 1
            continue
        parts.append(document[position : bang - 1])
        end = document.find(terminator, bang)
        if end == -1:
            return b"".join(parts)
        position = bang = end + len(terminator)
    parts.append(document[position:])
    return b"".join(parts)


def _terminator(document: bytes, start: int) -> bytes | None:
    if document.startswith(b"<![CDATA[", start):
        return b"]]>"
    return b"-->" if document.startswith(b"<!--", start) else None


def _has_too_many_attributes(chunk: bytes) -> bool:
    """Checks only the tag, not the text after it; a `>` within quotes does not end it."""
    tag = _TAG.match(chunk)
    return tag is not None and tag.end() > _LONG_TAG and tag[0].count(b"=") > MAX_ATTRIBUTES


# --- Parsing

_EMPTY = NotAFeed(Failure(FailureCode.DOCUMENT_EMPTY))
_BINARY = NotAFeed(Failure(FailureCode.DOCUMENT_BINARY))
_PLAIN = NotAFeed(Failure(FailureCode.DOCUMENT_PLAIN_TEXT))
_HTML = NotAFeed(Failure(FailureCode.DOCUMENT_HTML))
_OTHER_XML = NotAFeed(Failure(FailureCode.DOCUMENT_OTHER_XML))
_BROKEN = NotAFeed(Failure(FailureCode.DOCUMENT_XML_DAMAGED))


_MAX_REPAIR_BYTES = 1_000_000
"""Repairing processes the text character by character and blocks this process meanwhile."""


@record
class DoubtfulResult:
    """The best result for a document that another parser may read better."""

    best: ParsedFeed | NotAFeed


@record
class UnsafeDocument:
    """A document that must only be parsed in a process that can be killed."""

    reason: Failure


def read_body(
    body: bytes, *, content_type: str | None, url: str, trusted: bool = False
) -> ParsedFeed | NotAFeed | DoubtfulResult | UnsafeDocument:
    """`trusted` skips the check for documents that attack the parser."""
    body = unpacked(body)
    document = as_utf8(body, content_type).lstrip(b"\xef\xbb\xbf \t\r\n\x00")
    if not document:
        return _EMPTY
    if document[:1] in (b"{", b"["):
        return read_json_feed(document, url=url)
    source = opened(document)
    rejection = (source.refusal and NotAFeed(source.refusal)) or _rejection(source, document)
    if rejection:
        return rejection
    reason = None if trusted else unsafe_reason(source.document)
    return UnsafeDocument(reason) if reason else _read_xml(source, url, trusted=trusted)


def _rejection(source: OpenedDocument, document: bytes) -> NotAFeed | None:
    if source.root in HTML_ROOTS:
        return _HTML
    if source.root:
        return None
    if b"<html" in document[:2000].lower():
        return _HTML
    return _BINARY if _is_binary(document[:2000]) else _PLAIN


def _is_binary(sample: bytes) -> bool:
    odd = sum(byte < 9 or 13 < byte < 27 for byte in sample)
    return odd * 20 > len(sample)


def _read_xml(
    source: OpenedDocument, url: str, *, trusted: bool
) -> ParsedFeed | NotAFeed | DoubtfulResult | UnsafeDocument:
    root = strict_tree(with_windows_quotes(source.document))
    if root is None:
        if len(source.document) > _MAX_REPAIR_BYTES and not trusted:
            return UnsafeDocument(Failure(FailureCode.DOCUMENT_DAMAGED_AND_LARGE))
        return _read_damaged(source, url)
    return read_feed(root, url=url) or _OTHER_XML


def _read_damaged(source: OpenedDocument, url: str) -> ParsedFeed | NotAFeed | DoubtfulResult:
    result = repaired(decode_leniently(source.document), source.root, source.entities)
    root = repaired_tree(with_windows_quotes(result.document))
    if root is None:
        return DoubtfulResult(_BROKEN)
    feed = read_feed(root, url=url)
    if feed is None:
        return _OTHER_XML if not result.entries else DoubtfulResult(_OTHER_XML)
    return _check_completeness(replace(feed, truncated=result.truncated), result)


def _check_completeness(feed: ParsedFeed, result: RepairedDocument) -> ParsedFeed | DoubtfulResult:
    """Fewer entries than start tags: unclosed tags have swallowed some."""
    return DoubtfulResult(feed) if len(feed.entries) < min(result.entries, 500) else feed
