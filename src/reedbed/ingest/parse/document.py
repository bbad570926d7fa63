"""From a body to a feed: sniff, decode, check, parse, and mend where it must be."""

from dataclasses import replace

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.domain.records import record
from reedbed.ingest.parse.charset import as_utf8, decoded_anyhow, unpacked
from reedbed.ingest.parse.feed import read_feed
from reedbed.ingest.parse.jsonfeed import read_json_feed
from reedbed.ingest.parse.prescan import suspicion
from reedbed.ingest.parse.prolog import HTML_ROOTS, Opened, opened
from reedbed.ingest.parse.repair import Repaired, repaired, with_windows_quotes
from reedbed.ingest.parse.tree import mended_tree, strict_tree

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


def _refusal(found: Opened, document: bytes) -> NotAFeed | None:
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


def _read_xml(found: Opened, url: str, *, trusted: bool) -> ParsedFeed | NotAFeed | Doubt | Suspect:
    root = strict_tree(with_windows_quotes(found.document))
    if root is None:
        if len(found.document) > _MENDED_HERE and not trusted:
            return Suspect("it is damaged and too large to mend here")
        return _read_damaged(found, url)
    return read_feed(root, url=url) or _OTHER_XML


def _read_damaged(found: Opened, url: str) -> ParsedFeed | NotAFeed | Doubt:
    mended = repaired(decoded_anyhow(found.document), found.root, found.entities)
    root = mended_tree(with_windows_quotes(mended.document))
    if root is None:
        return Doubt(_BROKEN)
    feed = read_feed(root, url=url)
    if feed is None:
        return _OTHER_XML if not mended.entries else Doubt(_OTHER_XML)
    return _with_doubt(replace(feed, truncated=mended.truncated), mended)


def _with_doubt(feed: ParsedFeed, mended: Repaired) -> ParsedFeed | Doubt:
    """Fewer entries than the markup announces: unclosed tags have swallowed some."""
    return Doubt(feed) if len(feed.entries) < min(mended.entries, 500) else feed
