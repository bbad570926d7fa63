"""Ways to read a feed in one line."""

from pathlib import Path

from reedbed.domain.feeds import NotAFeed, ParsedEntry, ParsedFeed
from reedbed.ingest.parse import parse_feed

DATA = Path(__file__).parents[2] / "data" / "feeds"
URL = "https://site.example/feed.xml"


def read(body: bytes | str, *, content_type: str | None = None, url: str = URL) -> ParsedFeed:
    outcome = attempt(body, content_type=content_type, url=url)
    assert isinstance(outcome, ParsedFeed), outcome
    return outcome


def attempt(body: bytes | str, *, content_type: str | None = None, url: str = URL) -> ParsedFeed | NotAFeed:
    raw = body.encode() if isinstance(body, str) else body
    return parse_feed(raw, content_type=content_type, url=url)


def sample(name: str, *, url: str = URL) -> ParsedFeed:
    return read((DATA / name).read_bytes(), url=url)


def rss(*items: str, head: str = "<title>T</title>") -> str:
    inner = "".join(f"<item>{item}</item>" for item in items)
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{head}{inner}</channel></rss>'


def item(markup: str) -> ParsedEntry:
    (entry,) = read(rss(markup)).entries
    return entry
