"""A process for documents that may hang or crash a parser: `python -m reedbed.ingest.parse.sandbox`.

It reads one line of JSON (content_type, url) and then the body from standard input, and writes the outcome to
standard output. The parent may kill it at any time.
"""

import sys
from typing import cast

import orjson

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.ingest.parse.document import Doubt, Suspect, read_body
from reedbed.ingest.parse.wire import packed
from reedbed.ingest.sandbox_limits import accept_limits

MEMORY = 1 << 29


def main() -> None:
    accept_limits(MEMORY)
    order = cast(dict[str, str | None], orjson.loads(sys.stdin.buffer.readline()))
    body = sys.stdin.buffer.read()
    outcome = read_with_care(body, content_type=order["content_type"], url=order["url"] or "")
    sys.stdout.buffer.write(packed(outcome))


def read_with_care(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    """The normaliser without its look for attacks, and feedparser where it is in doubt."""
    outcome = read_body(body, content_type=content_type, url=url, trusted=True)
    if not isinstance(outcome, Doubt):
        return (
            NotAFeed(f"The document is not read, because {outcome.reason}.")
            if isinstance(outcome, Suspect)
            else outcome
        )
    from reedbed.ingest.parse.fallback import read_with_feedparser

    other = read_with_feedparser(body, content_type=content_type, url=url)
    return _better(outcome.best, other)


def _better(ours: ParsedFeed | NotAFeed, other: ParsedFeed | NotAFeed) -> ParsedFeed | NotAFeed:
    if isinstance(other, NotAFeed):
        return ours
    if isinstance(ours, NotAFeed):
        return other
    return other if len(other.entries) > len(ours.entries) else ours


if __name__ == "__main__":
    main()
