"""Feed documents of every format and state of repair, to one value.

`parse_safely` is the door for what comes from the network; `parse_feed` reads in this process or refuses.
"""

from reedbed.domain.feeds import NotAFeed, ParsedFeed
from reedbed.ingest.parse.document import Doubt, Suspect, read_body
from reedbed.ingest.parse.sandbox import parse_safely

__all__ = ["parse_feed", "parse_safely"]


def parse_feed(body: bytes, *, content_type: str | None, url: str) -> ParsedFeed | NotAFeed:
    """The feed in these bytes; `url` is where they came from, for addresses that are relative to it."""
    outcome = read_body(body, content_type=content_type, url=url)
    match outcome:
        case Doubt():
            return outcome.best
        case Suspect():
            return NotAFeed(f"The document is not read, because {outcome.reason}.")
        case _:
            return outcome
