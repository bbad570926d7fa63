"""What a page says about itself in its links: feeds, pictures, and anchors that look like feeds."""

import re
from collections.abc import Mapping
from typing import Any, cast

from reedbed.domain.discovery import Candidate
from reedbed.domain.records import record
from reedbed.ingest.target import Target, parse_target

_MAX_HTML = 2 * 1024 * 1024
_MAX_LINKS = 500
_MAX_ANCHORS = 5000
_MAX_FEEDS = 20
_MAX_TRIES = 5
_MAX_TITLE = 200
_MAX_ANCHOR_TEXT = 60

_FEED_TYPES = {
    "application/rss+xml": "rss",
    "application/rdf+xml": "rdf",
    "application/atom+xml": "atom",
    "application/feed+json": "json",
    "application/rss": "rss",
    "application/atom": "atom",
    "text/rss+xml": "rss",
    "text/rss": "rss",
    "text/atom+xml": "atom",
    "text/xml": "",
    "application/xml": "",
}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w:.-]{2,40})""", re.IGNORECASE)
_CHARSET_IN_TYPE = re.compile(r"charset\s*=\s*[\"']?([\w:.-]{2,40})", re.IGNORECASE)
_FEED_PATH = re.compile(
    r"(?:^|/)(?:rss|atom|feeds?)(?:\.xml|\.json|\.php)?/?$|\.(?:rss|atom|rdf)$|/index\.xml$", re.IGNORECASE
)
_FEED_WORDS = re.compile(r"\s*(?:subscribe (?:by|via|with) )?(?:rss|atom)(?:[ -]?feed)?s?\s*", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,4})x\d{1,4}", re.IGNORECASE)


@record
class PageLinks:
    title: str = ""
    feeds: tuple[Candidate, ...] = ()
    """Named by the page itself, comments last."""
    anchors: tuple[str, ...] = ()
    """Worth a try."""
    icons: tuple[str, ...] = ()
    """The best for a small square first."""


def decode_page(body: bytes, content_type: str | None) -> str:
    declared = _CHARSET_IN_TYPE.search(content_type or "")
    in_page = None if declared else _CHARSET.search(body[:2048])
    charset = declared[1] if declared else in_page[1].decode("ascii") if in_page else "utf-8"
    try:
        return body[:_MAX_HTML].decode(charset, "replace")
    except (LookupError, ValueError):
        return body[:_MAX_HTML].decode("utf-8", "replace")


def read_links(html: str, url: str) -> PageLinks:
    from lxml import etree

    reader = _Reader()
    # The stubs know no target that leaves callbacks out, though lxml does.
    parser = etree.HTMLParser(target=cast(Any, reader), encoding="utf-8")
    try:
        parser.feed(html[:_MAX_HTML].encode("utf-8", "replace"))
        parser.close()
    except etree.LxmlError:
        # A page may be nonsense from its first letter; what was read before stays.
        pass
    return reader.result(url)


class _Reader:
    """Takes tags as they come and builds no tree: on trees, pages exist that take hours to read."""

    def __init__(self) -> None:
        self._base = ""
        self._title = ""
        self._links: list[dict[str, str]] = []
        self._anchors: list[tuple[str, str]] = []
        self._inside = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "link" and len(self._links) < _MAX_LINKS:
            self._links.append(dict(attributes))
        elif tag == "base":
            self._base = self._base or attributes.get("href", "")
        elif tag == "a" and len(self._anchors) < _MAX_ANCHORS:
            self._anchors.append((attributes.get("href", ""), ""))
        if tag in ("a", "title"):
            self._inside = tag

    def end(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def data(self, text: str) -> None:
        if self._inside == "title" and len(self._title) < _MAX_TITLE:
            self._title += text[: 4 * _MAX_TITLE]
        elif self._inside == "a":
            href, before = self._anchors[-1]
            if len(before) < _MAX_ANCHOR_TEXT:
                self._anchors[-1] = (href, before + text[:_MAX_ANCHOR_TEXT])

    def close(self) -> None:
        pass

    def result(self, url: str) -> PageLinks:
        target = parse_target(self._base.strip(), url)
        base = target.href if isinstance(target, Target) else url
        links = [link for attributes in self._links if (link := _Link.read(attributes, base)) is not None]
        return PageLinks(_tidy(self._title), _feeds(links), _anchors(self._anchors, base), _icons(links))


@record
class _Link:
    href: str
    rel: frozenset[str]
    type: str
    title: str
    sizes: str

    @classmethod
    def read(cls, attributes: Mapping[str, str], base: str) -> "_Link | None":
        target = parse_target(attributes.get("href", "").strip(), base)
        if not isinstance(target, Target):
            return None
        return cls(
            href=target.href,
            rel=frozenset(attributes.get("rel", "").lower().split()),
            type=attributes.get("type", "").partition(";")[0].strip().lower(),
            title=_tidy(attributes.get("title", "")),
            sizes=attributes.get("sizes", ""),
        )


def _feeds(links: list[_Link]) -> tuple[Candidate, ...]:
    found: dict[str, Candidate] = {}
    for link in links:
        if _names_a_feed(link):
            found.setdefault(
                link.href, Candidate(link.href, link.title, _FEED_TYPES.get(link.type, "json"), "link")
            )
    ordered = sorted(found.values(), key=lambda feed: "comment" in (feed.url + feed.title).lower())
    return tuple(ordered[:_MAX_FEEDS])


def _names_a_feed(link: _Link) -> bool:
    if "feed" in link.rel:
        return True
    if "alternate" not in link.rel or "stylesheet" in link.rel:
        return False
    # WordPress names its whole interface application/json; only what calls itself a feed is one.
    return link.type in _FEED_TYPES or (link.type == "application/json" and "feed" in link.href.lower())


def _anchors(anchors: list[tuple[str, str]], base: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for href, text in anchors:
        path = href.partition("#")[0].partition("?")[0]
        if not (_FEED_PATH.search(path) or _FEED_WORDS.fullmatch(text)):
            continue
        target = parse_target(href.strip(), base)
        if isinstance(target, Target) and target.href != base:
            found[target.href] = None
        if len(found) == _MAX_TRIES:
            break
    return tuple(found)


def _icons(links: list[_Link]) -> tuple[str, ...]:
    """64 pixels are wanted: what is at least that large first, the smallest of them before the rest."""
    icons = [
        link for link in links if link.rel & {"icon", "apple-touch-icon", "apple-touch-icon-precomposed"}
    ]
    drawn = [link for link in icons if "svg" not in link.type and not link.href.lower().endswith(".svg")]
    return tuple(dict.fromkeys(link.href for link in sorted(drawn, key=_icon_rank)))[:_MAX_TRIES]


def _icon_rank(link: _Link) -> tuple[bool, int]:
    sizes = [int(width) for width in _SIZE.findall(link.sizes)]
    width = max(sizes, default=180 if "apple-touch-icon" in link.rel else 32)
    return (width < 64, abs(width - 64))


def _tidy(text: str) -> str:
    return " ".join(text[: 4 * _MAX_TITLE].split())[:_MAX_TITLE]
