"""Parse feed documents of every format and in every condition to a `ParsedFeed`.

`parse_safely` is the entry point for untrusted documents; `parse_feed` parses in this process and rejects
documents that are not safe to parse here.
"""

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.ingest.parse.document import DoubtfulResult, UnsafeDocument, read_body
from reedbed.ingest.parse.sandbox import parse_safely

__all__ = ["parse_feed", "parse_safely"]


def parse_feed(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    """`url` is where the document came from; relative URLs are resolved against it."""
    outcome = read_body(body, content_type=content_type, url=url)
    match outcome:
        case DoubtfulResult():
            return outcome.best
        case UnsafeDocument():
            return NotAFeed(outcome.reason)
        case _:
            return outcome
